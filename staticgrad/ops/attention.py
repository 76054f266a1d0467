"""Attention weights as one op: softmax over the last axis of scaled scores, causal or not."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.dtypes import SHORT
from ..base.types import FLOATING, TensorType, bool_, broadcast_shapes, int64
from ..errors import ShapeError, UnknownExtentError
from ..ir import Call, Clear, Layout, Native, Node, Routine, Scratch, define
from . import rules as at
from .operators import F, Tensor, apply
from .random import uniform_op
from .reductions import sum_op, tops, totals
from .rules import floating, leading, unbroadcast
from .shaping import sum_to


def _infer(x: TensorType, scale: float, causal: bool) -> TensorType:
    if x.ndim < 2:
        raise ShapeError(f"scores need two axes (queries, keys), got {x.ndim}")
    return x


def _eval(x: np.ndarray, scale: float, causal: bool) -> np.ndarray:
    return weigh(np.multiply(x, x.dtype.type(scale), order="C"), causal)


def weigh(scores: np.ndarray, causal: bool) -> np.ndarray:
    """softmax(scores), in their memory."""
    if causal:
        np.copyto(scores, -math.inf, where=unseen(*scores.shape[-2:]))
    if not scores.size:
        return scores
    last = (scores.ndim - 1,)
    scores -= tops(scores, last)
    np.exp(scores, scores)
    scores /= totals(scores, last)
    return scores


@lru_cache(8)
def unseen(queries: int, keys: int) -> np.ndarray:
    """Which keys are later than queries."""
    return ~np.tri(queries, keys, dtype=bool)


def _plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    shape, scale = node.type.shape, node.attrs["scale"]
    if not node.type.size:
        return [Clear()]
    (bits,) = struct.unpack("<q", struct.pack("<d", scale))
    rows, cost = math.prod(shape[:-1]), 6 if node.attrs["causal"] else 12
    sizes = (*shape[-2:], int(node.attrs["causal"]), bits)
    kernel = f"softmax_{SHORT[node.type.dtype]}"
    return [Routine("attention_weights", kernel, rows, sizes, node.type.size * cost)]


attention_softmax_op = define(
    name="attention_softmax",
    batch=leading,
    attrs={"scale": at.positive, "causal": at.flag},
    infer=_infer,
    eval=_eval,
    vjp=(  # as softmax, times the scale: out is 0 where a query doesn't look
        lambda g, node, out, x: (
            out * (g - apply(sum_op, g * out, axis=(len(out.shape) - 1,), keepdims=True)) * node.attrs["scale"]
        ),
    ),
    emit=Native(_plan),
    promote=floating,
    doc="softmax(scale * x) over the last axis, scale > 0; causal: of elements (i, j) only those with j <= i count.",
)


def attention_softmax(scores: Tensor, scale: float, causal: bool) -> Tensor:
    """softmax(scale * scores) over the last axis (..., queries, keys); with `causal`, query i sees keys 0 to i."""
    if scale > 0:
        return apply(attention_softmax_op, scores, scale=float(scale), causal=bool(causal))
    scores = scores * scale  # the row's largest score is not that of the largest product
    if causal:
        n = len(scores.shape)
        scores = F.where(F.index_along(scores, n - 1) <= F.index_along(scores, n - 2), scores, -math.inf)
    return F.softmax(scores, -1)


# attention and its gradient as one op each ----------------------------------------------------------------------------

# Attention and its gradient as one op each: values weighted by a softmax of scores, without an array of all scores.
#
# The cotangents of query, key and value, and that of a mask of numbers where it is wanted (`of_mask`), share their work, so
# they are one op, which holds them one after another in one axis. Native code takes some queries at a time
# (`compiler/kernels/attention_blocks.py`); where all scores are few, the ops are written in products and `attention_softmax`
# instead (`ops/rewrites/layer_rules.py`). Source: Dao et al., "FlashAttention", 2022.


ATTRIBUTES = {"scale": at.positive, "causal": at.flag, "masked": at.flag, "rate": at.rate}
OF_GRADIENT = {**ATTRIBUTES, "of_mask": at.flag}
SPACE = 1 << 20
"""Bytes for the scores of some queries: they stay in the L2 cache."""
VECTOR = 16
"""Elements to which rows of scores are filled up."""
LEAST, MOST = 16, 64
"""Queries at a time. With `causal`, few of them waste fewer keys; many share the copies of keys and values."""
SEED = TensorType((2,), int64)


def _blockwise_infer(q: TensorType, k: TensorType, v: TensorType, *more: TensorType, **attrs: Any) -> TensorType:
    if min(q.ndim, k.ndim, v.ndim) < 2 or not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        raise ShapeError(f"attention needs batches of matrices that are equally many, got {q}, {k} and {v}")
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ShapeError(f"attention: {q}, {k} and {v} don't fit")
    scores = (*q.shape[:-1], k.shape[-2])
    mask, seed = _more(more, attrs)
    if mask is not None and broadcast_shapes(mask.shape, scores) != scores:
        raise ShapeError(f"attention: a mask {mask} doesn't broadcast to {scores}")
    if seed is not None and seed != SEED:
        raise ShapeError(f"attention: a seed is {SEED}, got {seed}")
    return TensorType((*q.shape[:-1], v.shape[-1]), q.dtype)


def _infer_gradient(
    q: TensorType, k: TensorType, v: TensorType, g: TensorType, *more: TensorType, of_mask: bool, **attrs: Any
) -> TensorType:
    out = _blockwise_infer(q, k, v, *more, **attrs)
    if any(None in x.shape for x in (q, k, v, g)):
        raise UnknownExtentError("attention_gradient needs known extents", "give the placeholder known extents")
    if g.shape != out.shape:
        raise ShapeError(f"attention_gradient: the cotangent of {out} is not {g}")
    if of_mask and not (attrs["masked"] and more[0].dtype == q.dtype and more[0].static):
        raise ShapeError(f"attention_gradient: {more[0] if more else 'no mask'} has no cotangent")
    return TensorType((q.size + k.size + v.size + (more[0].size if of_mask else 0),), q.dtype)


def _promoted(count: int) -> Any:
    """Operands take one floating dtype; a mask of booleans, and a seed, keep theirs. count: the operands before these."""

    def promoted(operands: Sequence[Any]) -> list[Any]:
        found: list[Any] = floating(operands[:count])[:1] * count
        kinds = [getattr(operand, "dtype", found[0]).kind for operand in operands[count:]]
        return found + [found[0] if kind in FLOATING else None for kind in kinds]

    return promoted


def _more(more: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Any, Any]:
    """The mask and the seed among the further operands, None for one that is not there."""
    return more[0] if attrs["masked"] else None, more[-1] if attrs["rate"] else None


def weights_of(q: Any, k: Any, mask: Any, attrs: Mapping[str, Any]) -> Any:
    """softmax(scale q k' + mask), written in other ops. A query that sees no key has weights 0."""
    scores = F.matmul(q, k.mT)
    if mask is None:
        return apply(attention_softmax_op, scores, scale=attrs["scale"], causal=attrs["causal"])
    scores = scores * attrs["scale"]
    scores = F.where(mask, scores, -math.inf) if mask.dtype.kind == "b" else scores + mask
    alive = F.amax(scores, -1, keepdims=True) != -math.inf
    return F.where(alive, F.softmax(F.where(alive, scores, 0), -1), 0)


def factors_of(weights: Any, seed: Any, rate: float) -> Any:
    """What each weight is multiplied by: 0 with the probability `rate`, as the seed says."""
    numbers = apply(uniform_op, seed, weights, shape=None, dtype=weights.dtype, index=0)
    return F.astype(numbers >= rate, weights.dtype) * (1 / (1 - rate))


def attended(q: Any, k: Any, v: Any, more: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The result, written in other ops."""
    mask, seed = _more(more, attrs)
    weights = weights_of(q, k, mask, attrs)
    return F.matmul(weights if seed is None else weights * factors_of(weights, seed, attrs["rate"]), v)


def _row_sums(x: Any) -> Any:
    return apply(sum_op, x, axis=(len(x.shape) - 1,), keepdims=True)


def gradients_of(
    q: Any, k: Any, v: Any, g: Any, more: Sequence[Any], attrs: Mapping[str, Any], samples: bool = False
) -> list[Any]:
    """The cotangents of query, key, value and mask, written in other ops. samples: the first axis is one of samples, which have
    the same weights set to 0."""
    mask, seed = _more(more, attrs)
    weights = weights_of(q, k, mask, attrs)
    of_weights, kept = F.matmul(g, v.mT), weights
    if seed is not None:
        factors = factors_of(weights[0] if samples else weights, seed, attrs["rate"])
        of_weights, kept = of_weights * factors, weights * factors
    of_scores = weights * (of_weights - _row_sums(weights * of_weights))
    scores = of_scores * attrs["scale"]
    of_values = F.matmul(kept.mT, g)
    of_mask = unbroadcast(of_scores, mask) if mask is not None and mask.dtype.kind in FLOATING else None
    return [F.matmul(scores, k), F.matmul(scores.mT, q), of_values, of_mask]


def _weights(q: np.ndarray, k: np.ndarray, more: Sequence[np.ndarray], attrs: Mapping[str, Any]) -> tuple[Any, Any]:
    """The weights, and what each is multiplied by."""
    mask, seed = _more(more, attrs)
    scores = np.matmul(q, k.swapaxes(-1, -2))
    scores *= q.dtype.type(attrs["scale"])
    if mask is None:
        weights = weigh(scores, attrs["causal"])
    else:
        scores = np.where(mask, scores, q.dtype.type(-math.inf)) if mask.dtype.kind == "b" else scores + mask
        top = scores.max(-1, keepdims=True, initial=-math.inf)
        weights = np.exp(scores - np.where(top == -math.inf, 0, top).astype(q.dtype))
        total = weights.sum(-1, keepdims=True)
        weights /= np.where(total == 0, 1, total).astype(q.dtype)
    if seed is None:
        return weights, 1
    numbers = uniform_op.eval(seed, shape=weights.shape, dtype=weights.dtype, index=0)
    return weights, np.where(numbers >= q.dtype.type(attrs["rate"]), q.dtype.type(1 / (1 - attrs["rate"])), q.dtype.type(0))


def _blockwise_eval(q: np.ndarray, k: np.ndarray, v: np.ndarray, *more: np.ndarray, **attrs: Any) -> np.ndarray:
    weights, factors = _weights(q, k, more, attrs)
    return np.matmul(weights * factors if attrs["rate"] else weights, v)


def _eval_gradient(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, g: np.ndarray, *more: np.ndarray, of_mask: bool, **attrs: Any
) -> np.ndarray:
    weights, factors = _weights(q, k, more, attrs)
    scores = np.matmul(g, v.swapaxes(-1, -2))
    if attrs["rate"]:
        scores *= factors
    scores -= np.add.reduce(weights * scores, -1, keepdims=True)  # with the bits of `gradients_of`
    scores *= weights
    of_masks = [sum_to.eval(scores, more[0])] if of_mask else []
    scores = np.multiply(scores, q.dtype.type(attrs["scale"]), None if of_mask else scores)  # a cotangent may be in its memory
    kept = weights * factors if attrs["rate"] else weights
    parts = np.matmul(scores, k), np.matmul(scores.swapaxes(-1, -2), q), np.matmul(kept.swapaxes(-1, -2), g), *of_masks
    return np.concatenate([part.reshape(-1) for part in parts])


def _parts(flat: Any, *like: Any) -> list[Any]:
    """The arrays that lie one after another in `flat`, with the shapes of others."""
    result, begin = [], 0
    for x in like:
        size = math.prod(x.shape)
        result.append(F.reshape(flat[begin : begin + size], x.shape))
        begin += size
    return result


def _vjp(g: Any, node: Node, wanted: Sequence[bool], q: Any, k: Any, v: Any, *more: Any) -> list[Any]:
    mask, _ = _more(more, node.attrs)
    of_mask = mask is not None and wanted[3] and mask.dtype.kind in FLOATING
    if any(None in x.shape for x in (q, k, v, g, *([mask] if of_mask else []))):
        parts = gradients_of(q, k, v, g, more, node.attrs)
    else:
        flat = apply(attention_gradient_op, q, k, v, g, *more, of_mask=of_mask, **node.attrs)
        parts = [*_parts(flat, q, k, v, *([mask] if of_mask else [])), None]
    flags = [*wanted[:3], of_mask, False][: 3 + len(more)]
    return [part if flag else None for part, flag in zip([*parts, None], flags, strict=False)]


def _vjp_of_gradient(g: Any, node: Node, wanted: Sequence[bool], q: Any, k: Any, v: Any, c: Any, *more: Any) -> list[Any]:
    """The op is the gradient of <c, attention(q, k, v)>. Times `g`, it is the derivative of that along `g`, of which these are
    the derivatives."""
    scale = node.attrs["scale"]
    mask, seed = _more(more, node.attrs)
    of_mask = node.attrs["of_mask"]
    gq, gk, gv, *gm = _parts(g, q, k, v, *([mask] if of_mask else []))
    weights = weights_of(q, k, mask, node.attrs)
    factors = 1 if seed is None else factors_of(weights, seed, node.attrs["rate"])
    along = (F.matmul(gq, k.mT) + F.matmul(q, gk.mT)) * scale
    along = along + gm[0] if of_mask else along
    of_weights, mean = F.matmul(c, v.mT) * factors, _row_sums(weights * along)
    moved = weights * (along - mean)
    total = _row_sums(weights * of_weights)
    of_scores = weights * (of_weights - total) * scale
    second = F.matmul(c, gv.mT) * factors + of_weights * (along - mean) - total * along
    of_curved = weights * (second - _row_sums(weights * second))
    curved, moved = of_curved * scale, moved * factors
    found = [
        F.matmul(curved, k) + F.matmul(of_scores, gk), F.matmul(curved.mT, q) + F.matmul(of_scores.mT, gq),
        F.matmul(moved.mT, c), F.matmul(moved, v) + F.matmul(weights * factors, gv),
        unbroadcast(of_curved, mask) if mask is not None and wanted[4] else None, None,
    ]  # fmt: skip
    return [x if flag else None for x, flag in zip(found, wanted, strict=False)]


def _blockwise_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    q, k, v = (operand.type.shape for operand in node.inputs[:3])
    items, queries, keys, backward = math.prod(q[:-2]), q[-2], k[-2], node.op is attention_gradient_op
    if not node.type.size or not keys or not queries:
        return [Clear()]
    factors = 4 if backward else 3
    masked, rate, axes = node.attrs["masked"], node.attrs["rate"], len(q) - 2
    row = keys + VECTOR
    rows = min(max(SPACE // (2 * row * node.type.dtype.itemsize) // 8 * 8, LEAST), MOST)
    read = [*range(factors), factors if masked else 0, len(node.inputs) - 1 if rate else 0]
    strided = tuple([i for i in range(factors) if layouts[i].strides[-1] == 1 or layouts[i].shape[-1] == 1])
    places = [layouts[i] if i in strided else Layout.contiguous(layouts[i].shape) for i in range(factors)]
    steps = [(at.strides[-2], *at.strides[:-2]) for at in places]
    kind = step = 0
    if masked:
        at, shape = layouts[factors], node.inputs[factors].type.shape
        if at.strides and shape[-1] != 1 and at.strides[-1] != 1:
            at = Layout.contiguous(shape)
        else:
            strided = (*strided, factors)
        of_axes = [0 if d == 1 else s for d, s in zip(shape, at.strides, strict=True)]
        of_axes = [0] * (len(q) - len(shape)) + of_axes
        kind, step = 1 if node.inputs[factors].type.dtype == bool_ else 2, of_axes[-1]
        steps.append((of_axes[-2], *of_axes[:-2]))
    else:
        steps.append((0,) * (axes + 1))
    room = (2 if backward else 1) * rows * row + (keys * (q[-1] + v[-1]) if backward else 0)
    of_mask = 0
    if backward and node.attrs["of_mask"]:
        shape = node.inputs[factors].type.shape
        whole = math.prod(shape) == items * queries * keys
        of_mask = 1 if whole else 2
        room += 0 if whole else math.prod(shape)
        of_axes = [0 if d == 1 else s for d, s in zip(shape, Layout.contiguous(shape).strides, strict=True)]
        of_axes = [0] * (len(q) - len(shape)) + of_axes
        steps.append((of_axes[-2], *of_axes[:-2]))
    sizes = (
        items, queries, keys, q[-1], v[-1], int(node.attrs["causal"]), _bits(node.attrs["scale"]), rows, row, room, kind, step,
        _bits(rate), of_mask, axes, *q[:-2], *[step for of in steps for step in of],
    )  # fmt: skip
    products = 3 * q[-1] + 2 * v[-1] if backward else q[-1] + v[-1]
    drawing = 60 if rate else 0
    work = items * queries * keys * (products + 12 + drawing) // (2 if node.attrs["causal"] else 1)
    name = "backward" if backward else "forward"
    return [
        Routine(
            "attention_blocks", f"{name}_{SHORT[node.type.dtype]}", items * (-(-queries // rows)), sizes, work,
            (Scratch(room),), why=f"{rows} queries at a time, as there are many scores", name=node.op.name,
            operands=tuple(read), strided=strided,
            join=f"join_{SHORT[node.type.dtype]}" if backward else "",
        )
    ]  # fmt: skip


def _bits(number: float) -> int:
    return struct.unpack("<q", struct.pack("<d", number))[0]


def _spread(samples: Any, node: Node, operands: Sequence[Any], count: int) -> tuple[list[Any], list[Any]]:
    """Query, key, value and the cotangent with an axis of samples, and further operands: a mask that fits, and a seed."""
    given = [samples.each(i, x) for i, x in enumerate(operands[:count])]
    more = [*operands[count:]]
    own = count == 4 and node.attrs["of_mask"]  # each sample has a cotangent of the mask
    if own:
        more[0] = samples.each(count, more[0])
    if node.attrs["masked"] and (own or samples.flags[count]):
        shape = more[0].shape
        more[0] = F.reshape(more[0], (shape[0], *[1] * (len(given[0].shape) - len(shape)), *shape[1:]))
    return given, more


def _batched(samples: Any, node: Node, *operands: Any) -> Any:
    """All samples have the same weights set to 0."""
    given, more = _spread(samples, node, operands, 3)
    if samples.size is not None and not node.attrs["rate"]:
        return apply(attention_op, *given, *more, **node.attrs)
    mask, seed = _more(more, node.attrs)
    q, k, v = given
    weights = weights_of(q, k, mask, node.attrs)
    factors = 1 if seed is None else factors_of(weights[0], seed, node.attrs["rate"])
    return F.matmul(weights * factors, v)


def _batched_gradient(samples: Any, node: Node, *operands: Any) -> Any:
    """The parts of all samples are cut into those of each sample."""
    rows = samples.known()
    given, more = _spread(samples, node, operands, 4)
    q, k, v, g = given
    of_mask = node.attrs["of_mask"]
    if node.attrs["rate"]:
        parts = gradients_of(q, k, v, g, more, node.attrs, samples=True)[: 3 + of_mask]
    else:
        parts = _parts(apply(attention_gradient_op, *given, *more, **node.attrs), q, k, v, *more[:of_mask])
    return F.concatenate([F.reshape(part, (rows, -1)) for part in parts], 1)


attention_op = define(
    name="attention",
    batch=_batched,
    attrs=ATTRIBUTES,
    infer=_blockwise_infer,
    eval=_blockwise_eval,
    vjp=lambda position: _vjp if position < 4 else None,
    vjp_all=_vjp,
    emit=Native(_blockwise_plan),
    promote=_promoted(3),
    backward="ScaledDotProductFlashAttentionForCpuBackward0",
    doc="softmax(scale q k' + mask) v, scale > 0, of query, key, value, a mask (masked) and a seed (rate > 0); causal: "
    "query i sees keys 0 to i; rate: the probability that a weight is set to 0.",
)
attention_gradient_op = define(
    name="attention_gradient",
    batch=_batched_gradient,
    attrs=OF_GRADIENT,
    infer=_infer_gradient,
    eval=_eval_gradient,
    vjp=lambda position: _vjp_of_gradient if position < 5 else None,
    vjp_all=_vjp_of_gradient,
    emit=Native(_blockwise_plan),
    promote=_promoted(4),
    doc="The cotangents of query, key and value, and of the mask (of_mask), one after another, of `attention` with the "
    "cotangent that follows value.",
)


def attention(
    query: Tensor, key: Tensor, value: Tensor, scale: float, causal: bool, mask: Any = None, rate: float = 0.0, seed: Any = None
) -> Tensor:
    """softmax(scale query key' + mask) value, for batches that are equally many, and scale > 0. seed: of the random numbers
    that decide which weights become 0, with the probability `rate`."""
    more = [x for x in (mask, seed) if x is not None]
    attrs = {"scale": float(scale), "causal": bool(causal), "masked": mask is not None, "rate": float(rate)}
    return apply(attention_op, query, key, value, *more, **attrs)
