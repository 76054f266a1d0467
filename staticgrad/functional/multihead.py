"""Multi-head attention from its parameters; `nn.MultiheadAttention` holds them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..errors import ArgumentError, ShapeError
from ..operators import F, Tensor, TensorLike, spelled
from ..ops.settings import operand
from .attention import attention_weights, scaled_dot_product_attention
from .linear_maps import linear


class Projections(NamedTuple):
    """The parameters of the projections: the joined weight (3 e, e), or one for each of query, key and value."""

    joined: Any
    query: Any
    key: Any
    value: Any
    bias: Any
    bias_k: Any = None
    bias_v: Any = None


class Masks(NamedTuple):
    """As PyTorch has them: booleans are True where a query may *not* look, numbers are added."""

    attention: Any
    padding: Any
    is_causal: bool


def check_operands(query: Any, key: Any, value: Any, sizes: tuple[int | None, int | None, int | None]) -> bool:
    """Whether they have a batch. sizes: the last extents of query, key and value. Raises ShapeError."""
    n = len(query.shape)
    if n not in (2, 3):
        raise ShapeError(f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor")
    for name, x, extent in (("key", key, sizes[1]), ("value", value, sizes[2])):
        if len(x.shape) != n:
            raise ShapeError(
                f"For {'batched (3-D)' if n == 3 else 'unbatched (2-D)'} `query`, expected `key` and `value` to be "
                f"{n}-D but found {len(key.shape)}-D and {len(value.shape)}-D tensors respectively"
            )
        if extent is not None and x.shape[-1] is not None and x.shape[-1] != extent:
            raise ShapeError(f"was expecting {name} dimension of {extent}, but got {x.shape[-1]}")
    if query.shape[-1] is not None and query.shape[-1] != sizes[0]:
        raise ShapeError(f"was expecting embedding dimension of {sizes[0]}, but got {query.shape[-1]}")
    return n == 3


def attend(
    query: Any, key: Any, value: Any, heads: int, weights: Projections, out: tuple[Any, Any], masks: Masks, *,
    dropout_p: float, need_weights: bool, average: bool, add_zero: bool, batch_first: bool, static: Any = (None, None),
) -> tuple[Any, Any]:  # fmt: skip
    """(result, weights or None) of operands that were checked. dropout_p: 0 unless training."""
    size, batched = query.shape[-1], len(query.shape) == 3
    same, alike = query is key and key is value, key is value
    query, key, value = (_batch_first(x, batched, batch_first) for x in (query, key, value))
    q, k, v = (_parted(x, heads, size // heads) for x in _projected(query, key, value, weights, same, alike))
    k, v = (own if given is None else _given(given, heads) for own, given in zip((k, v), static, strict=True))
    more = add_zero + (weights.bias_k is not None)
    if add_zero:
        k, v = (F.concatenate([x, F.zeros_like(F.stop_gradient(x[:, :, :1]))], 2) for x in (k, v))
    unread = masks.is_causal and masks.padding is None and not need_weights and not more
    mask = _mask(masks, q, heads, unread, more)
    causal = masks.is_causal and mask is None
    found = None
    if need_weights:
        found = F.dropout(attention_weights(q, k, mask, causal, None), dropout_p)
        result = F.matmul(found, v)
        found = F.mean(found, 1) if average else found
    else:
        result = scaled_dot_product_attention(q, k, v, mask, dropout_p, causal)
    result = linear(_merged(F.swapaxes(result, 1, 2), size), *out)
    if not batched:
        return F.squeeze(result, 0), None if found is None else F.squeeze(found, 0)
    return result if batch_first else F.swapaxes(result, 0, 1), found


def _batch_first(x: Any, batched: bool, batch_first: bool) -> Any:
    if not batched:
        return F.expand_dims(x, 0)
    return x if batch_first else F.swapaxes(x, 0, 1)


def _projected(query: Any, key: Any, value: Any, weights: Projections, same: bool, alike: bool) -> list[Any]:
    """The projections as (n, length, heads * head). Projections of the same tensor are one product."""
    weight, bias = weights.joined, weights.bias
    e = query.shape[-1]
    if weight is None:
        biases = [None] * 3 if bias is None else F.chunk(bias, 3)
        own = (weights.query, weights.key, weights.value)
        parts = [linear(x, w, b) for x, w, b in zip((query, key, value), own, biases, strict=True)]
    elif same:
        joined = linear(query, weight, bias)
        parts = [joined[..., i * e : (i + 1) * e] for i in range(3)]
    else:
        parts = [
            linear(x, weight[a:b], None if bias is None else bias[a:b])
            for x, a, b in ((query, 0, e), (key, e, 2 * e), (value, 2 * e, 3 * e))
        ]
    for i, more in ((1, weights.bias_k), (2, weights.bias_v)):
        if more is not None:
            row = F.stop_gradient(parts[i][:, :1]) * 0 + F.reshape(operand(more), (1, 1, e))
            parts[i] = F.concatenate([parts[i], row], 1)
    return parts


def _parted(x: Any, heads: int, size: int) -> Any:
    """(n, l, heads * size) as (n, heads, l, size)."""
    n, length = x.shape[:2]
    if n is None and length is None:
        raise ShapeError("attention: batch size and length are both unknown", "give the placeholder one of them")
    return F.swapaxes(F.reshape(x, (-1 if n is None else n, -1 if length is None else length, heads, size)), 1, 2)


def _given(x: Any, heads: int) -> Any:
    """A key or value that is projected already, (n * heads, s, head), as (n, heads, s, head)."""
    x = operand(x)
    return F.reshape(x, (-1, heads, *x.shape[1:]))


def _merged(x: Any, size: int) -> Any:
    """(n, l, heads, head) as (n, l, size)."""
    n, length = x.shape[:2]
    return F.reshape(x, (-1 if n is None else n, -1 if length is None else length, size))


def _mask(masks: Masks, q: Any, heads: int, unread: bool, more: int) -> Any:
    """One mask over (n, heads, l, s), in the sense of scaled_dot_product_attention."""
    mask = None if masks.attention is None or unread else _widened(_allowed(operand(masks.attention)), more)
    if mask is not None and len(mask.shape) == 3:
        mask = F.reshape(mask, (-1, heads, *mask.shape[1:])) if mask.shape[0] != 1 else F.expand_dims(mask, 0)
    if masks.padding is None:
        return mask
    padding = _widened(_allowed(operand(masks.padding)), more)
    padding = F.expand_dims(padding, (1, 2) if len(padding.shape) == 2 else (0, 1, 2))
    if mask is None:
        return padding
    if mask.dtype.kind == padding.dtype.kind == "b":
        return F.logical_and(mask, padding)
    return _added(mask, q.dtype) + _added(padding, q.dtype)


def _allowed(mask: Any) -> Any:
    """True where a query may look, from True where it may not; numbers as they are."""
    return F.logical_not(mask) if mask.dtype.kind == "b" else mask


def _widened(mask: Any, more: int) -> Any:
    """With keys that any query may look at."""
    if not more:
        return mask
    column = F.ones_like(mask[..., :1]) if mask.dtype.kind == "b" else F.zeros_like(mask[..., :1])
    return F.concatenate([mask, *[column] * more], len(mask.shape) - 1)


def _added(mask: Any, dtype: Any) -> Any:
    """A mask as numbers to add."""
    if mask.dtype.kind != "b":
        return F.astype(mask, dtype)
    return F.where(mask, F.zeros_like(mask, dtype), -math.inf)


@spelled
def multi_head_attention_forward(
    query: TensorLike, key: TensorLike, value: TensorLike, embed_dim_to_check: int, num_heads: int,
    in_proj_weight: TensorLike | None, in_proj_bias: TensorLike | None, bias_k: TensorLike | None,
    bias_v: TensorLike | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: TensorLike,
    out_proj_bias: TensorLike | None, training: bool = True, key_padding_mask: TensorLike | None = None,
    need_weights: bool = True, attn_mask: TensorLike | None = None, use_separate_proj_weight: bool = False,
    q_proj_weight: TensorLike | None = None, k_proj_weight: TensorLike | None = None,
    v_proj_weight: TensorLike | None = None, static_k: TensorLike | None = None, static_v: TensorLike | None = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """`nn.MultiheadAttention` with its parameters as arguments: (result, weights or None).

    Shapes: query (l, n, e), key (s, n, ...), value (s, n, ...), or all without n, to a result like query and weights
    (n, l, s), for each head (n, heads, l, s) unless averaged. Masks as there. static_k, static_v: (n * heads, s, e / heads),
    a key and a value that are projected already. Raises ShapeError, ArgumentError.
    """
    q, k, v = operand(query), operand(key), operand(value)
    if q is not k and key is query:
        k = q
    if v is not k and value is key:
        v = k
    e = embed_dim_to_check
    check_operands(q, k, v, (e, None, None))
    if e % num_heads:
        raise ArgumentError("embed_dim must be divisible by num_heads", f"got {e} and {num_heads}")
    if is_causal and attn_mask is None:
        raise ArgumentError("Need attn_mask if specifying the is_causal hint.")
    if (bias_k is None) != (bias_v is None):
        raise ArgumentError("bias_k and bias_v have to be given together")
    if use_separate_proj_weight:
        if q_proj_weight is None or k_proj_weight is None or v_proj_weight is None:
            raise ArgumentError("use_separate_proj_weight is True but q_proj_weight, k_proj_weight or v_proj_weight is None")
        in_proj_weight = None
    elif in_proj_weight is None:
        raise ArgumentError("use_separate_proj_weight is False but in_proj_weight is None")
    given = [None if w is None else operand(w) for w in (
        in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias, bias_k, bias_v
    )]  # fmt: skip
    result: tuple[Tensor, Tensor | None] = attend(
        q, k, v, num_heads, Projections(*given), (out_proj_weight, out_proj_bias),
        Masks(attn_mask, key_padding_mask, is_causal), dropout_p=dropout_p if training else 0.0, need_weights=need_weights,
        average=average_attn_weights, add_zero=bool(add_zero_attn), batch_first=False, static=(static_k, static_v),
    )  # fmt: skip
    return result
