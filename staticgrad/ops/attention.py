"""Attention weights as one op: softmax over the last axis of scaled scores, causal or not."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ..base.dtypes import SHORT
from ..base.types import TensorType
from ..errors import ShapeError
from ..ir import Call, Clear, Layout, Native, Node, Routine, define
from ..operators import F, Tensor, apply
from . import attributes as at
from .batching import leading
from .reductions import sum_op, tops, totals
from .rules import floating


def _infer(x: TensorType, scale: float, causal: bool) -> TensorType:
    if x.ndim < 2:
        raise ShapeError(f"scores need two axes (queries, keys), got {x.ndim}")
    return x


def _eval(x: np.ndarray, scale: float, causal: bool) -> np.ndarray:
    return weigh(x * x.dtype.type(scale), causal)


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
