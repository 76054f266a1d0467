"""Positions that an index names several times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.types import TensorType, int64
from ..errors import ShapeError
from ..ir import Call, Layout, Native, Node, OpDef, Routine, Scratch, define
from .batching import one_by_one


def _eval(index: np.ndarray, like: np.ndarray) -> np.ndarray:
    _, first, inverse = np.unique(index, return_index=True, return_inverse=True)
    return first.astype(np.int64, copy=False)[inverse].reshape(index.shape)


def _infer(index: TensorType, like: TensorType) -> TensorType:
    if not like.ndim:
        raise ShapeError("a table needs an axis of rows, got a 0-d tensor")
    return index


def _plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    index, like = (i.type for i in node.inputs)
    places = Scratch(like.shape[0])
    return [Routine("repeated_entries", "first_of", 1, (index.size,), 2 * index.size, (places,))]


first_of_op = define(
    OpDef(
        name="first_of",
        infer=_infer,
        indexes=lambda types, attrs: [(0, 1, 0)],
        range=lambda types, attrs, index, like: (0, max(types[0].size - 1, 0)),
        eval=_eval,
        vjp=None,
        batch=one_by_one,
        emit=Native(_plan),
        shape_only=(1,),
        promote=lambda operands: [int64, None],
        doc="Where each entry of an index into the rows of `like` (checked: in range) stands first in the index.",
    )
)
