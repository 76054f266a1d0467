"""Rules for stencils: elementwise operations read the elements of a padded value where they were before the padding.

A slice of a padded value, and a slice of a slice's gradient, is a smaller part of the value inside, with zeros beside it along
one axis or none. A kernel reads such a window in place, with no copy of the whole.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from ...ir import REGISTRY, Node
from ..operators import F, Symbol, apply
from ..slicing import WHOLE, indices_of
from .layer_rules import zeros
from .loop_rules import terms

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
