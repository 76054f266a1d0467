"""Rows that are replaced by others, in place where nobody else reads them. Of several for one place the last stays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.types import TensorType, int64, shape_text
from ..errors import ShapeError
from ..ir import Call, Copy, Layout, Native, Node, OpDef, Routine, define
from ..operators import F, Tensor, apply
from .batching import linear, replaced
from .gathering import gather_op, rows_infer


def _infer(x: TensorType, values: TensorType, index: TensorType) -> TensorType:
    if index.ndim != 1:
        raise ShapeError(f"rows are written by a 1-d index, got {shape_text(index.shape)}")
    return rows_infer(x, values, index)


def _eval(x: np.ndarray, values: np.ndarray, index: np.ndarray) -> np.ndarray:
    out = x.copy()
    out[index] = values  # of repeated places the last is assigned
    return out


def _plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    """The operand is copied to the result unless it lies there, and rows are written in place."""
    shape, picked = node.type.shape, node.inputs[2].type.size
    inner = math.prod(shape[1:])
    kernel = f"index_copy_i{8 * node.type.dtype.itemsize}"
    write = Routine("row_moves", kernel, 1, (picked, inner), picked * inner, name="index_copy", chunked=False, operands=(1, 2))
    return [Copy(0, Layout.contiguous(shape)), write]


def _of_rows(g: Any, node: Node, out: Any, x: Any, values: Any, index: Any) -> Any:
    """The cotangent of x: where nothing was written."""
    return apply(rows_written_op, g, F.zeros_like(values), index)


def _of_values(g: Any, node: Node, out: Any, x: Any, values: Any, index: Any) -> Any:
    """The cotangent of the values: that of their places, as in PyTorch, also where another value was written afterwards."""
    return apply(gather_op, g, index, axis=0)


rows_written_op: OpDef = define(
    name="index_copy",
    stored=True,
    batch=replaced,
    jvp=linear,
    indexes=lambda types, attrs: [(2, 0, 0)],
    infer=_infer,
    eval=_eval,
    vjp=(_of_rows, _of_values, None),
    emit=Native(_plan, inplace=0),
    promote=lambda operands: [None, None, int64],
    doc="x with its rows at 1-d positions replaced, the last one where several meet; in place where nobody else reads x.",
)


def rows_written(x: Any, values: Any, places: Any) -> Tensor:
    """x with the rows at checked places replaced by values."""
    return apply(rows_written_op, x, values, places)
