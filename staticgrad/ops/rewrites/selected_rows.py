"""Rewrite rules by which values that would be taken out, or shifted, are read where they are: rows of a mask, windows of
stencils.

*Rows that a mask selects* have a form with known extents: values for all rows, of which those outside of the mask don't count.
An operation that treats each row by itself has this form where its operands have it. A sum over the rows, the mean, and rows
that are put back in their places leave out what is outside of the mask: whatever an operation gives there, NaN included, comes
no further. So a masked loss and its gradient take no row out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from ...base.types import bool_, int64
from ...ir import REGISTRY, Expand, Native, Node, Pointwise, Reduction, View
from ..gathering import bounded_op, gather_op, index_add_op, index_along_op, scatter_op
from ..indexing import WHOLE, indices_of
from ..operators import F, Symbol, apply
from ..placing import rows_written_op
from ..reductions import count as count_op
from ..reductions import mean_op
from ..rules import compared, elementwise
from ..shaping import broadcast_like_op, sum_to
from ..sized import positions_op
from .layer_rules import zeros
from .loop_rules import terms


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


# stencils: elementwise operations read a padded value where its elements were before the padding ----------------------

# A slice of a padded value, and a slice of a slice's gradient, is a smaller part of the value inside, with zeros beside
# it along one axis or none. A kernel reads such a window in place, with no copy of the whole.

MOST_TERMS = 16
"""Gradients of slices whose sum is rewritten."""
MOST_PARTS = 4
"""Parts of a concatenation that a kernel reads in place."""
ARITHMETIC = ("add", "sub", "mul", "div", "neg", "square", "abs", "maximum", "minimum", "where", "relu")
"""Operations whose operands are rewritten: those of stencils."""


def shifted_operands(node: Node, *inputs: Any) -> Any:
    """f(slice(padded x)) is f of a smaller slice of x beside zeros."""
    moved = [_shifted(i) if i.node.op is REGISTRY["slice"] else None for i in inputs]
    if all(m is None for m in moved):
        return None
    return apply(node.op, *(i if m is None else m for i, m in zip(inputs, moved, strict=True)), **node.attrs)


def _shifted(seen: Any) -> Any:
    """A slice of a padded value as a window on the value inside; None where it is no such."""
    inner = seen.node.inputs[0]
    bounds = _bounds(seen.node.attrs["slices"], inner.type.shape)
    while inner.op is REGISTRY["slice"] and bounds is not None:
        outer = _bounds(inner.attrs["slices"], inner.inputs[0].type.shape)
        inner = inner.inputs[0]
        bounds = None if outer is None else [(o + a, o + b) for (o, _), (a, b) in zip(outer, bounds, strict=True)]
    if bounds is None or not seen.node.type.size:
        return None
    return _part(Symbol(seen.graph, inner), bounds, seen)


Bounds = list[tuple[int, int]]
"""(start, stop) of a slice along each axis."""


def _bounds(slices: Any, shape: tuple[int, ...]) -> Bounds | None:
    """None for slices with gaps, and for numbers."""
    found = []
    for axis, extent in enumerate(shape):
        s = slices[axis] if axis < len(slices) else WHOLE
        if isinstance(s, int):
            return None
        start, stop, step = indices_of(s, extent)
        if step != 1:
            return None
        found.append((start, stop))
    return found


def _part(x: Any, bounds: Bounds, like: Any) -> Any:
    """x within the bounds, as a window; None where it is no padded value. `like`: a value of the shape of the result."""
    if x.node.op is REGISTRY["concatenate"]:
        return _of_concatenation(x, bounds, like)
    if x.node.op is REGISTRY["unslice"]:
        return _of_unslice(x, bounds, like)
    if x.node.op is REGISTRY["add"] and like is not None:
        return _of_sum(x, bounds, like)
    return None


def _of_sum(x: Any, bounds: Bounds, like: Any) -> Any:
    """The sum of several gradients of slices: of each its window. Other terms are no windows, and a slice of them would
    repeat their arithmetic."""
    parts = terms(x.node)
    if len(parts) > MOST_TERMS or any(part.type != x.node.type for part in parts):
        return None
    windows = [_part(Symbol(x.graph, part), bounds, like) for part in parts]
    return None if any(window is None for window in windows) else reduce(add, windows)


def _sliced(x: Any, bounds: Bounds) -> Any:
    if all(b == (0, d) for b, d in zip(bounds, x.shape, strict=True)):
        return x
    return apply(REGISTRY["slice"], x, slices=tuple((start, stop, 1) for start, stop in bounds))


def _of_concatenation(x: Any, bounds: Bounds, like: Any) -> Any:
    axis, at = x.node.attrs["axis"], 0
    start, stop = bounds[axis]
    if any(operand.type.dtype != x.dtype for operand in x.node.inputs):
        return None
    parts: list[tuple[Any, Bounds]] = []
    for operand in x.node.inputs:
        extent = operand.type.shape[axis]
        low, high = max(start, at), min(stop, at + extent)
        if low < high:
            own = [*bounds[:axis], (low - at, high - at), *bounds[axis + 1 :]]
            parts.append((Symbol(x.graph, operand), own))
        at += extent
    if len(parts) == 1:
        [(part, own)] = parts
        window = _part(part, own, like)
        return _sliced(part, own) if window is None else window
    if len(parts) > MOST_PARTS or axis not in (0, len(bounds) - 1):
        return None
    values = []
    for part, own in parts:
        if part.node.op in (REGISTRY["concatenate"], REGISTRY["unslice"]):
            inside = _part(part, own, None)  # without zeros of its own
            if inside is None:
                return None
            values.append(inside)
        else:
            values.append(_sliced(part, own))
    kept = [n for n, (part, _) in enumerate(parts) if not zeros(part.node)]
    if len(kept) != 1 or like is None:
        return F.concatenate(values, axis) if like is not None else None
    before = sum(value.shape[axis] for value in values[: kept[0]])
    place = before, before + values[kept[0]].shape[axis], 1
    return apply(REGISTRY["unslice"], values[kept[0]], like, slices=(*[WHOLE] * axis, place))


def _of_unslice(x: Any, bounds: Bounds, like: Any) -> Any:
    places = _bounds(x.node.attrs["slices"], x.shape)
    if places is None:
        return None
    own: Bounds = []
    slices: list[Any] = []
    for (start, stop), (first, last) in zip(bounds, places, strict=True):
        low, high = max(start, first), min(stop, last)
        if low >= high:
            return None
        own.append((low - first, high - first))
        slices.append(WHOLE if (low, high) == (start, stop) else (low - start, high - start, 1))
    part = _sliced(Symbol(x.graph, x.node.inputs[0]), own)
    beside = [axis for axis, s in enumerate(slices) if s != WHOLE]
    if not beside:
        return part
    if len(beside) > 1 or beside[0] not in (0, len(bounds) - 1) or like is None:
        return None
    return apply(REGISTRY["unslice"], part, like, slices=tuple(slices))
