"""Attention layers, and transformers: stacks of encoder and decoder layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.types import DTypeLike
from ..eager import Tensor
from ..errors import ArgumentError, ShapeError
from ..namespaces import functional
from ..namespaces.functional.attention import Masks, Projections, attend, check_operands
from ..ops.operators import Array, F
from ..ops.operators import Tensor as AnyTensor
from . import init
from .containers import ModuleList
from .layers import Dropout, LayerNorm, Linear, NonDynamicallyQuantizableLinear, _extent
from .module import Module
from .parameter import Parameter, room_on, tensor_of

__all__ = [
    "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip

# attention layers, with PyTorch's names and layouts ------------------------------------------------------------------


class MultiheadAttention(Module):
    """softmax(q k' / sqrt(head) + mask) v for each of `num_heads` heads, between linear projections.

    Parameters: in_proj_weight (3 embed_dim, embed_dim), or q_proj_weight, k_proj_weight (embed_dim, kdim) and
    v_proj_weight (embed_dim, vdim) where kdim or vdim differ; in_proj_bias (3 embed_dim,); out_proj. add_bias_kv: another
    key and value, bias_k and bias_v (1, 1, embed_dim), in each sequence; add_zero_attn: another of zeros. Raises
    ArgumentError when num_heads does not divide embed_dim.

    Examples:
        >>> attention = nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = sg.zeros((4, 6, 8))
        >>> output, weights = attention(x, x, x)
        >>> output.shape, weights.shape
        (torch.Size([4, 6, 8]), torch.Size([4, 6, 6]))
    """

    in_proj_weight: Tensor | None
    q_proj_weight: Tensor | None
    k_proj_weight: Tensor | None
    v_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Any = None, dtype: DTypeLike | None = None,
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
        self.batch_first, self.add_zero_attn = bool(batch_first), bool(add_zero_attn)
        room = room_on(device, dtype)
        same = self.kdim == self.vdim == e
        shapes = (
            ("q_proj_weight", None if same else (e, e)), ("k_proj_weight", None if same else (e, self.kdim)),
            ("v_proj_weight", None if same else (e, self.vdim)), ("in_proj_weight", (3 * e, e) if same else None),
            ("in_proj_bias", (3 * e,) if bias else None), ("bias_k", (1, 1, e) if add_bias_kv else None),
            ("bias_v", (1, 1, e) if add_bias_kv else None),
        )  # fmt: skip
        for name, shape in shapes:
            self.register_parameter(name, None if shape is None else Parameter(room(shape)))
        self.out_proj = NonDynamicallyQuantizableLinear(e, e, bias, device, dtype)
        self._start()

    def _start(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

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
        check_operands(query, key, value, (self.embed_dim, self.kdim, self.vdim))
        if is_causal and attn_mask is None:
            raise ArgumentError("Need attn_mask if specifying the is_causal hint.")
        weights = Projections(
            self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v,
        )  # fmt: skip
        return attend(
            query, key, value, self.num_heads, weights, (self.out_proj.weight, self.out_proj.bias),
            Masks(attn_mask, key_padding_mask, is_causal), dropout_p=self.dropout if self.training else 0.0,
            need_weights=need_weights, average=average_attn_weights, add_zero=self.add_zero_attn,
            batch_first=self.batch_first,
        )  # fmt: skip


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"relu": functional.relu, "gelu": functional.gelu}


class TransformerEncoderLayer(Module):
    """Self-attention and a two-layer network, each with dropout, a sum with its input, and layer_norm.

    The norm comes after the sum, with norm_first before the sublayer. activation: "relu", "gelu" or a function. Raises
    ArgumentError. Source: Vaswani et al., "Attention is all you need", 2017; norm first: Xiong et al., 2020.

    Examples:
        >>> nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()(sg.randn(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[AnyTensor], AnyTensor] = functional.relu,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        if isinstance(activation, str) and activation not in ACTIVATIONS:
            raise ArgumentError(f"activation should be relu/gelu, not {activation}")
        made: Any = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = bool(norm_first)
        self.norm1, self.norm2 = (LayerNorm(d_model, layer_norm_eps, **made) for _ in range(2))
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


# transformers --------------------------------------------------------------------------------------------------------


def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _get_activation_fn(activation: str) -> Any:
    """The function of a name. Raises ArgumentError."""
    if activation not in ACTIVATIONS:
        raise ArgumentError(f"activation should be relu/gelu, not {activation}")
    return ACTIVATIONS[activation]


class TransformerEncoder(Module):
    """`num_layers` copies of a layer, one after another, and a norm at the end where one is given.

    enable_nested_tensor and mask_check are accepted: they choose between implementations of PyTorch's.
    """

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ):  # fmt: skip
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None) -> AnyTensor:
        """Shapes and masks as for `TransformerEncoderLayer`."""
        x = src
        for layer in self.layers:
            x = layer(x, mask, src_key_padding_mask, bool(is_causal) and mask is not None)
        return x if self.norm is None else self.norm(x)


class TransformerDecoderLayer(Module):
    """Self-attention, attention to `memory` and a two-layer network, each with dropout, a sum with its input, and layer_norm.

    The norm comes after the sum, with norm_first before the sublayer. activation: "relu", "gelu" or a function. Raises
    ArgumentError. Source: Vaswani et al., "Attention is all you need", 2017.
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = functional.relu,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__()
        made = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **made)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = bool(norm_first)
        self.norm1, self.norm2, self.norm3 = (LayerNorm(d_model, layer_norm_eps, **made) for _ in range(3))
        self.dropout1, self.dropout2, self.dropout3 = (Dropout(dropout) for _ in range(3))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> AnyTensor:  # fmt: skip
        """Shapes and masks as for `MultiheadAttention`: tgt (l, n, d_model), memory (s, n, d_model), or batch first."""

        def own(x: Any) -> Any:
            return self.dropout1(self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0])

        def other(x: Any) -> Any:
            found = self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal
            )
            return self.dropout2(found[0])

        def fed(x: Any) -> Any:
            return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        if self.norm_first:
            x = tgt + own(self.norm1(tgt))
            x = x + other(self.norm2(x))
            return x + fed(self.norm3(x))
        x = self.norm1(tgt + own(tgt))
        x = self.norm2(x + other(x))
        return self.norm3(x + fed(x))


class TransformerDecoder(Module):
    """`num_layers` copies of a layer, one after another, and a norm at the end where one is given."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None):
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> AnyTensor:  # fmt: skip
        """Shapes and masks as for `TransformerDecoderLayer`."""
        x, causal = tgt, bool(tgt_is_causal) and tgt_mask is not None
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, causal, memory_is_causal)
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder of `src` and a decoder of `tgt` that attends to it, each with a norm at the end; matrices start
    xavier_uniform_. custom_encoder, custom_decoder: modules in their place. Raises ArgumentError, ShapeError.
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = functional.relu, custom_encoder: Any = None,
        custom_decoder: Any = None, layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__()
        settings = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*settings), num_encoder_layers, norm())
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*settings), num_decoder_layers, norm())
        for p in self.parameters():
            if len(p.shape) > 1:
                init.xavier_uniform_(p)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, bool(batch_first)

    def forward(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
        src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> AnyTensor:  # fmt: skip
        """Shapes: src (s, n, d_model), tgt (l, n, d_model), or batch first -> like tgt. Masks as for the layers."""
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ShapeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """(sz, sz) of 0 where a position may look, up to itself, and -inf elsewhere."""
        return F.triu(tensor_of(room_on(device, dtype)((sz, sz), -np.inf)), 1)
