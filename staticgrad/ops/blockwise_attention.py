"""Attention and its gradient as one op each: values weighted by a softmax of scores, without an array of all scores.

The cotangents of query, key and value share their work, so they are one op, which holds them one after another in one axis.
Native code takes some queries at a time (`compiler/kernels/attention_blocks.py`); where all scores are few, the ops are written
in products and `attention_softmax` instead (`ops/rewrites/attention_rules.py`). Source: Dao et al., "FlashAttention", 2022.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ShapeError, UnknownExtentError
from ..ir import Call, Clear, Layout, Native, Node, OpDef, Routine, Scratch, define
from ..operators import F, Tensor, apply
from ..types import SHORT, TensorType
from . import attributes as at
from .attention import attention_softmax_op
from .reductions import sum_op
from .rules import floating

ATTRIBUTES = {"scale": at.positive, "causal": at.flag}
SPACE = 1 << 20
"""Bytes for the scores of some queries: they stay in the L2 cache."""
VECTOR = 16
"""Elements to which rows of scores are filled up."""
LEAST, MOST = 16, 64
"""Queries at a time. With `causal`, few of them waste fewer keys; many share the copies of keys and values."""


def _infer(q: TensorType, k: TensorType, v: TensorType, scale: float, causal: bool) -> TensorType:
    if min(q.ndim, k.ndim, v.ndim) < 2 or not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        raise ShapeError(f"attention needs batches of matrices that are equally many, got {q}, {k} and {v}")
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ShapeError(f"attention: {q}, {k} and {v} don't fit")
    return TensorType((*q.shape[:-1], v.shape[-1]), q.dtype)


def _infer_gradient(q: TensorType, k: TensorType, v: TensorType, g: TensorType, scale: float, causal: bool) -> TensorType:
    out = _infer(q, k, v, scale, causal)
    if any(None in x.shape for x in (q, k, v, g)):
        raise UnknownExtentError("attention_gradient needs known extents", "give the placeholder known extents")
    if g.shape != out.shape:
        raise ShapeError(f"attention_gradient: the cotangent of {out} is not {g}")
    return TensorType((q.size + k.size + v.size,), q.dtype)


def weights_of(q: Any, k: Any, attrs: Any) -> Any:
    """softmax(scale q k'), written in other ops."""
    return apply(attention_softmax_op, F.matmul(q, k.mT), **attrs)


def _row_sums(x: Any) -> Any:
    return apply(sum_op, x, axis=(len(x.shape) - 1,), keepdims=True)


def gradients_of(q: Any, k: Any, v: Any, g: Any, attrs: Any) -> list[Any]:
    """The cotangents of query, key and value, written in other ops."""
    weights = weights_of(q, k, attrs)
    of_weights = F.matmul(g, v.mT)
    scores = weights * (of_weights - _row_sums(weights * of_weights)) * attrs["scale"]
    return [F.matmul(scores, k), F.matmul(scores.mT, q), F.matmul(weights.mT, g)]


def _eval(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, causal: bool) -> np.ndarray:
    result: np.ndarray = np.matmul(attention_softmax_op.eval(np.matmul(q, k.swapaxes(-1, -2)), scale, causal), v)
    return result


def _eval_gradient(q: np.ndarray, k: np.ndarray, v: np.ndarray, g: np.ndarray, scale: float, causal: bool) -> np.ndarray:
    weights = attention_softmax_op.eval(np.matmul(q, k.swapaxes(-1, -2)), scale, causal)
    scores = np.matmul(g, v.swapaxes(-1, -2))
    scores -= (weights * scores).sum(-1, keepdims=True)
    scores *= weights
    scores *= q.dtype.type(scale)
    parts = np.matmul(scores, k), np.matmul(scores.swapaxes(-1, -2), q), np.matmul(weights.swapaxes(-1, -2), g)
    return np.concatenate([part.reshape(-1) for part in parts])


def _parts(flat: Any, *like: Any) -> list[Any]:
    """The arrays that lie one after another in `flat`, with the shapes of others."""
    result, begin = [], 0
    for x in like:
        size = math.prod(x.shape)
        result.append(F.reshape(flat[begin : begin + size], x.shape))
        begin += size
    return result


def _vjp(g: Any, node: Node, wanted: Sequence[bool], q: Any, k: Any, v: Any) -> list[Any]:
    if any(None in x.shape for x in (q, k, v, g)):
        parts = gradients_of(q, k, v, g, node.attrs)
    else:
        parts = _parts(apply(attention_gradient_op, q, k, v, g, **node.attrs), q, k, v)
    return [part if flag else None for part, flag in zip(parts, wanted, strict=True)]


def _vjp_of_gradient(g: Any, node: Node, wanted: Sequence[bool], q: Any, k: Any, v: Any, c: Any) -> list[Any]:
    """The op is the gradient of <c, attention(q, k, v)>. Times `g`, it is the derivative of that along `g`, of which these are
    the derivatives."""
    scale = node.attrs["scale"]
    gq, gk, gv = _parts(g, q, k, v)
    weights = weights_of(q, k, node.attrs)
    along = (F.matmul(gq, k.mT) + F.matmul(q, gk.mT)) * scale
    of_weights, mean = F.matmul(c, v.mT), _row_sums(weights * along)
    moved = weights * (along - mean)
    total = _row_sums(weights * of_weights)
    of_scores = weights * (of_weights - total) * scale
    second = F.matmul(c, gv.mT) + of_weights * (along - mean) - total * along
    curved = weights * (second - _row_sums(weights * second)) * scale
    found = (
        F.matmul(curved, k) + F.matmul(of_scores, gk), F.matmul(curved.mT, q) + F.matmul(of_scores.mT, gq),
        F.matmul(moved.mT, c), F.matmul(moved, v) + F.matmul(weights, gv),
    )  # fmt: skip
    return [x if flag else None for x, flag in zip(found, wanted, strict=True)]


def _plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    q, k, v = (operand.type.shape for operand in node.inputs[:3])
    items, queries, keys, backward = math.prod(q[:-2]), q[-2], k[-2], len(node.inputs) == 4
    if not node.type.size or not keys or not queries:
        return [Clear()]
    row = keys + VECTOR
    rows = min(max(SPACE // (2 * row * node.type.dtype.itemsize) // 8 * 8, LEAST), MOST)
    strided = tuple([i for i, at in enumerate(layouts) if at.strides[-1] == 1 or at.shape[-1] == 1])
    places = [at if i in strided else Layout.contiguous(at.shape) for i, at in enumerate(layouts)]
    (bits,) = struct.unpack("<q", struct.pack("<d", node.attrs["scale"]))
    room = (2 if backward else 1) * rows * row
    sizes = (
        items, queries, keys, q[-1], v[-1], int(node.attrs["causal"]), bits, rows, row, room, len(q) - 2, *q[:-2],
        *[step for at in places for step in (at.strides[-2], *at.strides[:-2])],
    )  # fmt: skip
    products = 3 * q[-1] + 2 * v[-1] if backward else q[-1] + v[-1]
    work = items * queries * keys * (products + 12) // (2 if node.attrs["causal"] else 1)
    span = items if backward else items * (-(-queries // rows))
    kernel = f"{'backward' if backward else 'forward'}_{SHORT[node.type.dtype]}"
    why = f"{rows} queries at a time, as there are many scores"
    return [
        Routine("attention_blocks", kernel, span, sizes, work, (Scratch(room),), why=why, name=node.op.name, strided=strided)
    ]


def _batched(samples: Any, node: Node, *operands: Any) -> Any:
    q, k, v = samples.spread(operands)
    if samples.size is None:
        return F.matmul(weights_of(q, k, node.attrs), v)
    return apply(attention_op, q, k, v, **node.attrs)


def _batched_gradient(samples: Any, node: Node, *operands: Any) -> Any:
    """The parts of all samples are cut into those of each sample."""
    given, rows = samples.spread(operands), samples.known()
    flat = apply(attention_gradient_op, *given, **node.attrs)
    return F.concatenate([F.reshape(part, (rows, -1)) for part in _parts(flat, *given[:3])], 1)


attention_op = define(
    OpDef(
        name="attention",
        batch=_batched,
        attrs=ATTRIBUTES,
        infer=_infer,
        eval=_eval,
        vjp=(_vjp,) * 3,
        vjp_all=_vjp,
        emit=Native(_plan),
        promote=floating,
        backward="ScaledDotProductFlashAttentionForCpuBackward0",
        doc="softmax(scale q k') v, scale > 0, of query, key and value; causal: query i sees keys 0 to i.",
    )
)
attention_gradient_op = define(
    OpDef(
        name="attention_gradient",
        batch=_batched_gradient,
        attrs=ATTRIBUTES,
        infer=_infer_gradient,
        eval=_eval_gradient,
        vjp=(_vjp_of_gradient,) * 4,
        vjp_all=_vjp_of_gradient,
        emit=Native(_plan),
        promote=floating,
        doc="The cotangents of query, key and value, one after another, of `attention` with the cotangent that comes last.",
    )
)


def attention(query: Tensor, key: Tensor, value: Tensor, scale: float, causal: bool) -> Tensor:
    """softmax(scale query key') value, for batches that are equally many, and scale > 0."""
    return apply(attention_op, query, key, value, scale=float(scale), causal=bool(causal))
