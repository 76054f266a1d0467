"""Linear maps and attention: scaled dot products, several heads from their parameters. `nn/transformer.py` has the layers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...base.types import Shape, broadcast_shapes, is_number, shape_text
from ...eager.calls.composites import composite
from ...eager.generator import draw_seed
from ...errors import ArgumentError, ShapeError
from ...ops.attention import attention, attention_softmax
from ...ops.operands import operand, size_text
from ...ops.operators import F, Tensor, TensorLike, spelled, state
from .checks import fitting, warn_of_widened


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


# linear and bilinear maps --------------------------------------------------------------------------------------------


@spelled
@composite
def linear(input: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Tensor:
    """input @ weight.T + bias, in PyTorch's layout.

    Shapes: input (..., in), weight (out, in), bias (out,) -> (..., out); weight (in,), bias () -> (...). Raises ShapeError.

    Examples:
        >>> F.linear(sg.ones(4, 3), sg.ones(2, 3), sg.zeros(2)).shape
        torch.Size([4, 2])
    """
    x, weight = operand(input), operand(weight)
    warn_of_widened(weight, x)
    rows, columns = x.shape, weight.shape
    if len(columns) == 1 and rows:
        product = F.matmul(x, weight)
        return product if bias is None else product + operand(bias)
    if len(columns) != 2 or not rows:
        raise ShapeError(f"linear: need x (..., in) and weight (out, in), got {shape_text(rows)} and {shape_text(columns)}")
    if not fitting(rows[-1:], columns[1:]):
        given = "x".join("?" if d is None else str(d) for d in (rows if len(rows) > 1 else (1, *rows)))
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({given} and {columns[1]}x{columns[0]})",
            f"linear: x {shape_text(rows)} needs a last extent of {columns[1]}, for weight (out, in) {shape_text(columns)}",
        )
    if bias is None:
        return F.matmul(x, weight.T)
    bias = operand(bias)
    if not fitting(bias.shape, columns[:1]):
        raise ShapeError(f"linear: bias {shape_text(bias.shape)} must be (out,) for weight (out, in) {shape_text(columns)}")
    return F.add(F.matmul(x, weight.T), bias)


@spelled
@composite
def bilinear(input1: TensorLike, input2: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Tensor:
    """y_k = input1' weight_k input2 + bias_k.

    Shapes: inputs (..., in1) and (..., in2), weight (out, in1, in2), bias (out,) -> (..., out). Raises ShapeError.
    """
    a, b, weight = operand(input1), operand(input2), operand(weight)
    if len(weight.shape) != 3 or not a.shape or not b.shape or not fitting(a.shape[:-1], b.shape[:-1]):
        raise ShapeError(
            f"bilinear(): need inputs (..., in1), (..., in2) and weight (out, in1, in2), got {shape_text(a.shape)}, "
            f"{shape_text(b.shape)} and {shape_text(weight.shape)}"
        )
    if not fitting((a.shape[-1], b.shape[-1]), weight.shape[1:]):
        raise ShapeError(
            f"bilinear(): inputs {shape_text(a.shape)} and {shape_text(b.shape)} don't fit the weight "
            f"{shape_text(weight.shape)}"
        )
    y = F.einsum("...i,kij,...j->...k", a, weight, b)
    return y if bias is None else y + operand(bias)


# multi-head attention from its parameters; `nn.MultiheadAttention` holds them ----------------------------------------


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
    return attend(
        q, k, v, num_heads, Projections(*given), (out_proj_weight, out_proj_bias),
        Masks(attn_mask, key_padding_mask, is_causal), dropout_p=dropout_p if training else 0.0, need_weights=need_weights,
        average=average_attn_weights, add_zero=bool(add_zero_attn), batch_first=False, static=(static_k, static_v),
    )  # fmt: skip
