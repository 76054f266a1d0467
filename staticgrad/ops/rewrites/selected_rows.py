"""Rows that a mask selects, in a form with known extents: values for all rows, of which those outside of the mask don't count.

An operation that treats each row by itself has this form where its operands have it. A sum over the rows, the mean, and rows
that are put back in their places leave out what is outside of the mask: whatever an operation gives there, NaN included, comes
no further. So a masked loss and its gradient take no row out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.types import bool_, int64
from ...ir import Expand, Native, Node, Pointwise, Reduction, View
from ..broadcasting import broadcast_like_op, sum_to
from ..gathering import bounded_op, gather_op, index_add_op, index_along_op, scatter_op
from ..operators import F, Symbol, apply
from ..placing import rows_written_op
from ..reductions import count as count_op
from ..reductions import mean_op
from ..rules import compared, elementwise
from ..sized import positions_op


class Rows(NamedTuple):
    """All rows of a value of which `mask`, a vector, selects some. places: they are the numbers of the rows."""

    mask: Symbol
    full: Symbol
    places: bool = False

    @property
    def number(self) -> int:
        """The number of all rows."""
        return int(self.mask.shape[0])

    def kept(self, value: Any = 0) -> Any:
        """The rows with a number in place of those outside."""
        return F.where(self.wide(), self.full, np.asarray(value, self.full.dtype))

    def wide(self) -> Any:
        """The mask, to be broadcast to the rows."""
        return F.reshape(self.mask, (self.number, *(1,) * (self.full.ndim - 1)))


def selected(node: Node, mask: Any) -> Rows | None:
    """The numbers of the rows that a mask selects, if that is what a node has."""
    if node.op is not positions_op or not node.inputs[0].type.static:
        return None
    flat: Any = F.astype(F.reshape(mask, (-1,)), bool_)
    places: Any = F.reshape(F.index_along(flat, 0), (-1,))
    return Rows(flat, places, places=True)


Operand = Any
"""Rows, or a symbol of known extents."""


def whole(node: Node, operands: Sequence[Operand]) -> Rows | Symbol | None:
    """The form of a node over such operands: rows, or its value where that has known extents. None: it has no such form."""
    masks = {id(x.mask.node): x for x in operands if isinstance(x, Rows)}
    if len(masks) != 1:
        return None
    (rows,) = masks.values()
    rule = RULES.get(node.op, _by_kind)
    found = rule(node, rows, operands)
    if found is None or isinstance(found, Rows):
        return found
    if node.type.static:
        return found if found.node.type == node.type else None
    fits = found.shape[0] == rows.number and found.shape[1:] == node.type.shape[1:] and found.dtype == node.type.dtype
    return Rows(rows.mask, found) if fits and None not in found.shape else None


def _full(x: Operand) -> Any:
    return x.full if isinstance(x, Rows) else x


def _again(node: Node, operands: Sequence[Operand]) -> Any:
    """The operation on all rows."""
    return apply(node.op, *map(_full, operands), **node.attrs)


def _aligned(node: Node, operands: Sequence[Operand]) -> bool:
    """Whether rows are broadcast with rows, and with values that are the same for all rows."""
    n = node.type.ndim
    return all(
        x.full.ndim == n if isinstance(x, Rows) else x.ndim < n or x.shape[0] == 1 for x in operands
    )  # fmt: skip


def _by_kind(node: Node, rows: Rows, operands: Sequence[Operand]) -> Any:
    emit, attrs = node.op.plain.emit, node.attrs
    if node.op.fails or node.op.draws or node.op.stateful:
        return None
    if isinstance(emit, Pointwise) or node.op.infer in (elementwise, compared):
        return _again(node, operands) if _aligned(node, operands) else None
    first = operands[0]
    if not isinstance(first, Rows):
        return None
    if isinstance(emit, Reduction):
        if 0 not in attrs["axis"]:
            return _again(node, operands)
        return (
            apply(node.op, first.kept(emit.start(first.full.dtype)), **attrs) if emit.monoid in ("add", "and", "or") else None
        )
    if isinstance(emit, View):
        return _viewed(node, first, emit)
    axis = attrs.get("axis", 0)
    apart = 0 not in (axis if isinstance(axis, tuple) else (axis,)) and isinstance(emit, (Expand, Native))
    alone = apart and all(isinstance(x, Rows) for x in operands) and node.type.shape[:1] == (None,)
    return _again(node, operands) if alone else None


def _viewed(node: Node, x: Rows, emit: View) -> Any:
    attrs, shape = node.attrs, node.type.shape
    if shape[:1] != (None,):
        return None
    if emit.keeps_order:
        return F.reshape(x.full, (x.number, *shape[1:])) if math.prod(shape[1:]) == math.prod(x.full.shape[1:]) else None
    leads = attrs.get("axes", (1,))[0] == 0 or attrs.get("slices", (0,))[0] == (None, None, 1)
    return _again(node, [x]) if leads else None


def _mean(node: Node, rows: Rows, operands: Sequence[Operand]) -> Any:
    (x,), axis = operands, node.attrs["axis"]
    if 0 not in axis:
        return _again(node, operands)
    total = F.sum(x.kept(), axis=axis, keepdims=node.attrs["keepdims"])
    return total / _number(x, axis, x.full.dtype)


def _number(x: Rows, axis: Sequence[int], dtype: np.dtype) -> Any:
    """How many elements of selected rows there are over axes, the first one among them."""
    others = math.prod(x.full.shape[a] for a in axis if a)
    return F.astype(F.sum(F.astype(x.mask, int64)) * others, dtype)


def _count(node: Node, rows: Rows, operands: Sequence[Operand]) -> Any:
    return _number(operands[0], node.attrs["axis"], node.attrs["dtype"]) if 0 in node.attrs["axis"] else _again(node, operands)


def _bounded(node: Node, rows: Rows, operands: Sequence[Operand]) -> Any:
    index, like = operands
    extent = _full(like).shape[node.attrs["axis"]]
    if not isinstance(index, Rows) or not extent or (isinstance(like, Rows) and not node.attrs["axis"]):
        return None
    if index.places and extent == index.number:
        return index
    return apply(node.op, index.kept(), _full(like), **node.attrs)


def _gather(node: Node, rows: Rows, operands: Sequence[Operand]) -> Any:
    x, *indices = operands
    axis = node.attrs["axis"]
    if len(indices) != 1:
        return None
    (index,) = indices
    if not isinstance(index, Rows):
        return _again(node, operands) if axis else None
    if isinstance(x, Rows) or axis:
        return None
    return x if index.places and x.shape[0] == index.number else apply(node.op, x, index.kept(), axis=0)


def _scatter(node: Node, rows: Rows, operands: Sequence[Operand]) -> Any:
    g, like, *indices = operands
    axis = node.attrs["axis"]
    if len(indices) != 1 or not isinstance(g, Rows):
        return None
    (index,) = indices
    if axis:
        return None if isinstance(index, Rows) or not isinstance(like, Rows) else _again(node, operands)
    if isinstance(like, Rows) or not isinstance(index, Rows):
        return None
    if index.places and like.shape[0] == index.number:
        return g.kept()
    return apply(node.op, g.kept(), like, index.kept(), axis=0)


def _in_place(join: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Of rows that are added to those of x, or replace them."""

    def rule(node: Node, rows: Rows, operands: Sequence[Operand]) -> Any:
        x, values, index = operands
        fits = isinstance(index, Rows) and isinstance(values, Rows) and not isinstance(x, Rows)
        return join(x, values) if fits and index.places and x.shape[0] == index.number else None

    return rule


def _sum_to(node: Node, rows: Rows, operands: Sequence[Operand]) -> Any:
    x, like = operands
    if not isinstance(x, Rows):
        return None
    if isinstance(like, Rows):
        return _again(node, operands) if like.full.ndim == x.full.ndim else None
    return apply(node.op, x.kept(), like) if like.ndim < x.full.ndim or like.shape[0] == 1 else None


def _spread(node: Node, rows: Rows, operands: Sequence[Operand]) -> Any:
    return _again(node, operands) if _aligned(node, operands) else None


def _along(node: Node, rows: Rows, operands: Sequence[Operand]) -> Any:
    return _again(node, operands) if node.attrs["axis"] else None


RULES: dict[Any, Callable[[Node, Rows, Sequence[Operand]], Any]] = {
    mean_op: _mean,
    count_op: _count,
    bounded_op: _bounded,
    gather_op: _gather,
    scatter_op: _scatter,
    index_add_op: _in_place(lambda x, values: x + values.kept()),
    rows_written_op: _in_place(lambda x, values: F.where(values.wide(), values.full, x)),
    sum_to: _sum_to,
    broadcast_like_op: _spread,
    index_along_op: _along,
}
"""Operations that are no rows by their kind alone."""
