"""Which rows of an array may be other than 0: noted where a scatter makes it, so that an optimizer can leave the others alone.

Eager gradients are dense arrays. Their sparse origin is kept beside them while they live. `repeated` finds positions that an
index names several times.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.types import TensorType, int64
from ..errors import ShapeError
from ..ir import REGISTRY, Call, Layout, Native, Node, Routine, Scratch, define
from .operators import F, Symbol, apply
from .rules import one_by_one

noted: dict[int, tuple[weakref.ref[np.ndarray], np.ndarray]] = {}
"""By id of the array: the array, and positions of rows, in any order and repeated."""


def note(array: np.ndarray, rows: np.ndarray) -> None:
    """`array` is 0 but for these rows."""
    key, table = id(array), noted  # the module may be gone when the array dies
    table[key] = weakref.ref(array, lambda _: table.pop(key, None)), rows.reshape(-1)


def rows_of(array: np.ndarray) -> np.ndarray | None:
    """The positions of rows that were noted; None for other arrays."""
    found = noted.get(id(array))
    return None if found is None else found[1]


def carry(to: np.ndarray, *parts: np.ndarray) -> np.ndarray:
    """Record for `to`, the sum (or copy) of the parts, the union of their rows; forget it where one of them has no record."""
    if noted:
        rows = [rows_of(part) for part in parts]
        known = [r for r in rows if r is not None]
        if len(known) == len(rows):
            note(to, np.concatenate(known))
        else:
            noted.pop(id(to), None)
    return to


def rows_in_graph(g: Any, p: Any) -> tuple[Any, Any] | None:
    """(values of rows, their positions) of a gradient in a graph, from the node that computes it; None where they are not
    known. p: the table; rows may repeat."""
    op, inputs, attrs = g.node.op, g.node.inputs, g.node.attrs
    operands = [Symbol(g.graph, node) for node in inputs]
    if op is REGISTRY["scatter_add"]:
        if attrs["axis"] != 0 or len(inputs) != 3:
            return None
        values, index = operands[0], F.reshape(operands[2], (-1,))
        return F.reshape(values, (-1, *p.shape[1:])), index
    if op is REGISTRY["add"]:
        left, right = (rows_in_graph(x, p) if x.shape == g.shape else None for x in operands)
        if left is None or right is None:
            return None
        (a, i), (b, j) = left, right
        return F.concatenate([a, b], 0), F.concatenate([i, j], 0)
    if op is REGISTRY["identity"]:
        return rows_in_graph(operands[0], p)
    if op is REGISTRY["neg"] and (found := rows_in_graph(operands[0], p)) is not None:
        return -found[0], found[1]
    if op in (REGISTRY["mul"], REGISTRY["div"]):
        for whole, number in (operands, operands[::-1]) if op is REGISTRY["mul"] else (operands,):
            if all(d == 1 for d in number.shape) and whole.shape == g.shape and (found := rows_in_graph(whole, p)) is not None:
                return apply(op, found[0], F.reshape(number, ())), found[1]
    return None


# positions that an index names several times --------------------------------------------------------------------------


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
    return [Routine("positions", "first_of", 1, (index.size,), 2 * index.size, (places,))]


first_of_op = define(
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
