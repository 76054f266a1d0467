"""Attention layers, with PyTorch's names and layouts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import functional
from ..attention import attention_weights
from ..eager import Tensor
from ..errors import ArgumentError, ShapeError
from ..operators import Array, F
from ..operators import Tensor as AnyTensor
from ..types import DTypeLike
from . import init
from .layers import Dropout, LayerNorm, Linear, _extent, made_kind
from .module import Module
from .parameter import Parameter


class MultiheadAttention(Module):
    """softmax(q k' / sqrt(head) + mask) v for each of `num_heads` heads, between linear projections.

    Parameters: in_proj_weight (3 embed_dim, embed_dim), or q_proj_weight, k_proj_weight (embed_dim, kdim) and
    v_proj_weight (embed_dim, vdim) where kdim or vdim differ; in_proj_bias (3 embed_dim,); out_proj. Raises
    ArgumentError when num_heads does not divide embed_dim.

    Examples:
        >>> attention = nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = sg.zeros((4, 6, 8))
        >>> output, weights = attention(x, x, x)
        >>> output.shape, weights.shape
        ((4, 6, 8), (4, 6, 6))
    """

    in_proj_weight: Tensor | None
    q_proj_weight: Tensor | None
    k_proj_weight: Tensor | None
    v_proj_weight: Tensor | None
    in_proj_bias: Tensor | None

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, kdim: int | None = None,
        vdim: int | None = None, batch_first: bool = False, device: Any = None,
        dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        e = self.embed_dim = _extent("MultiheadAttention", "embed_dim", embed_dim)
        self.num_heads = _extent("MultiheadAttention", "num_heads", num_heads)
        if not e or not self.num_heads:
            raise ArgumentError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads}"
            )
        if e % self.num_heads:
            raise ArgumentError("embed_dim must be divisible by num_heads", f"got {embed_dim} and {num_heads}")
        self.kdim, self.vdim = e if kdim is None else kdim, e if vdim is None else vdim
        self.dropout = Dropout(dropout).p
        self.batch_first = bool(batch_first)
        kind = made_kind(device, dtype)
        same = self.kdim == self.vdim == e
        shapes = (
            ("q_proj_weight", None if same else (e, e)), ("k_proj_weight", None if same else (e, self.kdim)),
            ("v_proj_weight", None if same else (e, self.vdim)), ("in_proj_weight", (3 * e, e) if same else None),
            ("in_proj_bias", (3 * e,) if bias else None),
        )  # fmt: skip
        for name, shape in shapes:
            self.register_parameter(name, None if shape is None else Parameter(np.empty(shape, kind)))
        self.out_proj = Linear(e, e, bias, dtype=dtype)
        self._start()

    def _start(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

    def forward(
        self, query: AnyTensor, key: AnyTensor, value: AnyTensor, key_padding_mask: Array | None = None,
        need_weights: bool = True, attn_mask: Array | None = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[AnyTensor, AnyTensor | None]:  # fmt: skip
        """(result, weights or None).

        Shapes: query (l, n, embed_dim), key (s, n, kdim), value (s, n, vdim) - with batch_first (n, l, ...) and so on,
        unbatched without n - to a result like query, and weights (n, l, s), for each head (n, heads, l, s) unless
        averaged. Masks, as in PyTorch: booleans are True where a query may *not* look, numbers are added; attn_mask
        (l, s) or (n * heads, l, s), key_padding_mask (n, s). is_causal says that attn_mask is the causal one, which
        then is not read. Raises ShapeError, ArgumentError.
        """
        batched = self._check(query, key, value)
        if is_causal and attn_mask is None:
            raise ArgumentError("Need attn_mask if specifying the is_causal hint.")
        same, alike = query is key and key is value, key is value
        query, key, value = (self._batch_first(x, batched) for x in (query, key, value))
        q, k, v = self._heads(query, key, value, same, alike)
        mask = self._mask(attn_mask, key_padding_mask, q, is_causal and key_padding_mask is None and not need_weights)
        causal = is_causal and mask is None
        p = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            weights = attention_weights(q, k, mask, causal, None)
            out = F.matmul(F.dropout(weights, p), v)
            weights = F.mean(weights, 1) if average_attn_weights else weights
        else:
            out = functional.scaled_dot_product_attention(q, k, v, mask, p, causal)
        out = self.out_proj(_merged(F.swapaxes(out, 1, 2), self.embed_dim))
        if not batched:
            return F.squeeze(out, 0), None if weights is None else F.squeeze(weights, 0)
        return out if self.batch_first else F.swapaxes(out, 0, 1), weights

    def _check(self, query: Any, key: Any, value: Any) -> bool:
        n = len(query.shape)
        if n not in (2, 3):
            raise ShapeError(f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor")
        for name, x, extent in (("key", key, self.kdim), ("value", value, self.vdim)):
            if len(x.shape) != n:
                raise ShapeError(
                    f"For {'batched (3-D)' if n == 3 else 'unbatched (2-D)'} `query`, expected `key` and `value` to be "
                    f"{n}-D but found {len(key.shape)}-D and {len(value.shape)}-D tensors respectively"
                )
            if x.shape[-1] is not None and x.shape[-1] != extent:
                raise ShapeError(f"was expecting {name} dimension of {extent}, but got {x.shape[-1]}")
        if query.shape[-1] is not None and query.shape[-1] != self.embed_dim:
            raise ShapeError(f"was expecting embedding dimension of {self.embed_dim}, but got {query.shape[-1]}")
        return n == 3

    def _batch_first(self, x: AnyTensor, batched: bool) -> AnyTensor:
        if not batched:
            return F.expand_dims(x, 0)
        return x if self.batch_first else F.swapaxes(x, 0, 1)

    def _heads(self, query: Any, key: Any, value: Any, same: bool, alike: bool) -> list[Any]:
        """The projections as (n, heads, length, head). Projections of the same tensor are one product."""
        e = self.embed_dim
        weight, bias = self.in_proj_weight, self.in_proj_bias
        if weight is None:
            weights: Any = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)  # given where there is no joined weight
            biases = [None] * 3 if bias is None else F.chunk(bias, 3)
            parts = [functional.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]
        elif same:
            joined = functional.linear(query, weight, bias)
            parts = [joined[..., i * e : (i + 1) * e] for i in range(3)]
        else:
            parts = [
                functional.linear(x, weight[a:b], None if bias is None else bias[a:b])
                for x, a, b in ((query, 0, e), (key, e, 2 * e), (value, 2 * e, 3 * e))
            ]
        return [F.swapaxes(_parted(part, self.num_heads, e // self.num_heads), 1, 2) for part in parts]

    def _mask(self, attn_mask: Any, padding: Any, q: Any, unread: bool) -> Any:
        """One mask over (n, heads, l, s), in the sense of scaled_dot_product_attention."""
        mask = None if attn_mask is None or unread else _allowed(attn_mask)
        if mask is not None and len(mask.shape) == 3:
            mask = F.reshape(mask, (-1, self.num_heads, *mask.shape[1:]))
        if padding is None:
            return mask
        padding = _allowed(padding)
        padding = F.expand_dims(padding, (1, 2) if len(padding.shape) == 2 else (0, 1, 2))
        if mask is None:
            return padding
        if mask.dtype.kind == padding.dtype.kind == "b":
            return F.logical_and(mask, padding)
        return _added(mask, q.dtype) + _added(padding, q.dtype)

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}, dropout={self.dropout}, batch_first={self.batch_first}"


def _parted(x: Any, heads: int, size: int) -> Any:
    """(n, l, heads * size) as (n, l, heads, size)."""
    n, length = x.shape[:2]
    if n is None and length is None:
        raise ShapeError("attention: batch size and length are both unknown", "give the placeholder one of them")
    return F.reshape(x, (-1 if n is None else n, -1 if length is None else length, heads, size))


def _merged(x: AnyTensor, size: int) -> AnyTensor:
    """(n, l, heads, head) as (n, l, size)."""
    n, length = x.shape[:2]
    return F.reshape(x, (-1 if n is None else n, -1 if length is None else length, size))


def _allowed(mask: Any) -> Any:
    """True where a query may look, from True where it may not; numbers as they are."""
    return F.logical_not(mask) if mask.dtype.kind == "b" else mask


def _added(mask: Any, dtype: Any) -> Any:
    """A mask as numbers to add."""
    if mask.dtype.kind != "b":
        return F.astype(mask, dtype)
    return F.where(mask, F.zeros_like(mask, dtype), -math.inf)


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"relu": functional.relu, "gelu": functional.gelu}


class TransformerEncoderLayer(Module):
    """Self-attention and a two-layer network, each with dropout, a sum with its input, and layer_norm.

    The norm comes after the sum, with norm_first before the sublayer. activation: "relu", "gelu" or a function. Raises
    ArgumentError. Source: Vaswani et al., "Attention is all you need", 2017; norm first: Xiong et al., 2020.
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[AnyTensor], AnyTensor] = "relu",
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        if isinstance(activation, str) and activation not in ACTIVATIONS:
            raise ArgumentError(f"activation should be relu/gelu, not {activation}")
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype)
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.norm_first = bool(norm_first)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = ACTIVATIONS[activation] if isinstance(activation, str) else activation

    def forward(
        self, src: AnyTensor, src_mask: Array | None = None, src_key_padding_mask: Array | None = None,
        is_causal: bool = False,
    ) -> AnyTensor:  # fmt: skip
        """Shapes and masks as for `MultiheadAttention`: (l, n, d_model), with batch_first (n, l, d_model)."""

        def attended(x: AnyTensor) -> AnyTensor:
            found = self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)
            return self.dropout1(found[0])

        def fed(x: AnyTensor) -> AnyTensor:
            return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        if self.norm_first:
            x = src + attended(self.norm1(src))
            return x + fed(self.norm2(x))
        x = self.norm1(src + attended(src))
        return self.norm2(x + fed(x))
