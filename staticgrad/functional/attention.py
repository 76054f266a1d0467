"""Scaled dot-product attention; `nn/attention_layers.py` has the projections around it."""

from __future__ import annotations

import math
from typing import Any

from ..base.types import Shape, broadcast_shapes, is_number
from ..eager.calls.composites import composite
from ..eager.generator import draw_seed
from ..errors import ArgumentError, ShapeError
from ..operators import F, Tensor, TensorLike, state
from ..ops.attention import attention_softmax
from ..ops.blockwise_attention import attention
from ..ops.settings import operand, size_text


def _differ(a: Any, b: Any) -> bool:
    return a is not None and b is not None and a != b


def _check(query: Shape, key: Shape, value: Shape) -> None:
    if min(len(query), len(key), len(value)) < 2:
        raise ShapeError(
            "Expected query, key, and value to all be at least 2 dimensional, but got "
            f"query.dim: {len(query)} key.dim: {len(key)} and value.dim: {len(value)} instead."
        )
    wrong = ""
    if _differ(query[-1], key[-1]):
        wrong = f"query and key have different sizes of a head, {query[-1]} and {key[-1]}"
    elif _differ(key[-2], value[-2]):
        wrong = f"key and value have different lengths, {key[-2]} and {value[-2]}"
    if wrong:
        raise ShapeError(
            f"scaled_dot_product_attention: {wrong}",
            f"query {size_text(query)}, key {size_text(key)}, value {size_text(value)}",
        )


def check_mask(mask: Any, scores: Shape) -> None:
    """Raises ShapeError for a mask that doesn't broadcast to the scores."""
    try:
        fits = broadcast_shapes(mask.shape, scores)
    except ShapeError:
        fits = ()
    if len(fits) != len(scores) or any(map(_differ, fits, scores)):
        raise ShapeError(
            f"scaled_dot_product_attention: attn_mask {size_text(mask.shape)} doesn't broadcast to the scores "
            f"{size_text(scores)}"
        )


def masked(scores: Any, mask: Any) -> Tensor:
    """Scores with -inf where a query may not look. mask: True where it may, or numbers to add."""
    check_mask(mask, scores.shape)
    return F.where(mask, scores, -math.inf) if mask.dtype.kind == "b" else scores + F.astype(mask, scores.dtype)


def default_scale(name: str, query: Any) -> float:
    """1 / sqrt(number of features). Without features the scores are 0 with any scale. Raises ShapeError where their number is
    unknown."""
    features = query.shape[-1]
    if features is None:
        raise ShapeError(f"{name}: the size of a head is unknown", "give scale=")
    return 1 / math.sqrt(max(features, 1))


def attention_weights(query: Any, key: Any, attn_mask: Any, is_causal: bool, scale: Any) -> Tensor:
    """softmax(query key' * scale), masked; a query that may look nowhere has weights 0."""
    scale = default_scale("scaled_dot_product_attention", query) if scale is None else scale
    scores = F.matmul(query, key.mT)
    if attn_mask is None:
        return attention_softmax(scores, scale, is_causal)
    scores = masked(scores * scale, operand(attn_mask))
    alive = F.amax(scores, -1, keepdims=True) != -math.inf
    return F.where(alive, F.softmax(F.where(alive, scores, 0), -1), 0)


@composite
def scaled_dot_product_attention(
    query: TensorLike, key: TensorLike, value: TensorLike, attn_mask: TensorLike | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(query key' * scale + mask) value.

    Shapes: query (..., l, e), key (..., s, e), value (..., s, v) -> (..., l, v). scale: 1 / sqrt(e) when left out.
    attn_mask: broadcasts to (..., l, s); booleans are True where a query may look, numbers are added. is_causal: query
    i looks at keys 0 to i. enable_gqa: the third axis from the end of query is a multiple of that of key and value.
    Compiled code takes some queries at a time and holds no array of all scores. It leaves out keys that a mask hides from all
    of these. The gradient of a mask of numbers is summed the same way. Raises ShapeError, ArgumentError.
    Source: Vaswani et al., "Attention is all you need", 2017.

    Examples:
        >>> q = k = v = sg.ones((2, 4, 3))
        >>> F.scaled_dot_product_attention(q, k, v, is_causal=True).shape
        torch.Size([2, 4, 3])
    """
    query, key, value = operand(query), operand(key), operand(value)
    _check(query.shape, key.shape, value.shape)
    if attn_mask is not None and is_causal:
        raise ArgumentError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if scale is not None and not is_number(scale):
        raise ArgumentError(f"scaled_dot_product_attention: scale has to be a number, got {scale!r}")
    if scale is None:
        scale = default_scale("scaled_dot_product_attention", query)
    if enable_gqa:
        key, value = _repeated(key, query), _repeated(value, query)
    if scale > 0 and _is_plain(query, key, value, attn_mask, dropout_p):
        mask = None if attn_mask is None else _fitting(operand(attn_mask), query, key)
        return attention(query, key, value, scale, is_causal, mask, dropout_p, draw_seed(query) if dropout_p else None)
    weights = attention_weights(query, key, attn_mask, is_causal, scale)
    return F.matmul(F.dropout(weights, dropout_p), value)


def _is_plain(query: Tensor, key: Tensor, value: Tensor, mask: Any, dropout_p: Any) -> bool:
    """Whether the operands are equally many matrices of one dtype, of known sizes, and dropout is the same for all samples of a
    `vmap`."""
    shapes = [x.shape for x in (query, key, value)]
    shapes += [] if mask is None else [operand(mask).shape]
    known = all(d is not None for shape in shapes for d in shape)
    lead = shapes[0][:-2]
    alike = query.dtype.kind == "f" and query.dtype == key.dtype == value.dtype and all(s[:-2] == lead for s in shapes[:3])
    if not known or not alike or not is_number(dropout_p) or not 0 <= dropout_p < 1:
        return False
    return not dropout_p or not any(level.maps for level in state.levels)


def _fitting(mask: Any, query: Tensor, key: Tensor) -> Any:
    """A mask that broadcasts to the scores, of booleans or of the query's dtype. Raises ShapeError."""
    check_mask(mask, (*query.shape[:-1], key.shape[-2]))
    if mask.dtype.kind == "b":
        return mask
    return mask if mask.dtype == query.dtype else F.astype(mask, query.dtype)


def _repeated(x: Tensor, query: Tensor) -> Tensor:
    """x with each head as often as query has heads for it."""
    heads, held = query.shape[-3] if len(query.shape) > 2 else 1, x.shape[-3] if len(x.shape) > 2 else 1
    if heads is None or held is None or heads % held:
        raise ShapeError(
            "scaled_dot_product_attention: enable_gqa needs the heads of query to be a multiple of those of key and value",
            f"got {heads} and {held}",
        )
    if heads == held:
        return x
    wide = F.broadcast_to(F.expand_dims(x, -3), (*x.shape[:-2], heads // held, *x.shape[-2:]))
    return F.reshape(wide, (*x.shape[:-3], heads, *x.shape[-2:]))
