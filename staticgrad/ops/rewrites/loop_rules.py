"""Ops that can run once for all iterations of a loop, and sums over iterations that are one op: rules as data.

A rule of `AT_ONCE` gets a node of a body, and returns the same computation on a stack of one operand, the others unchanged.
A rule of `SUMMED` returns the sum of a node over all iterations, given the stacks of its factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ...ir import REGISTRY, Node, Pointwise
from ..indexing import interval_of
from ..operators import F, Symbol, apply


class Rule(NamedTuple):
    """factors: operands whose items are taken from stacks; fixed: operands that have to be the same in every iteration;
    combine(*stacks, *fixed): the result, for all iterations."""

    factors: tuple[Node, ...]
    fixed: tuple[Node, ...]
    combine: Callable[..., Any]


def _rows(stack: Any) -> Any:
    """All axes joined but the last."""
    return F.reshape(stack, (math.prod(stack.shape[:-1]), stack.shape[-1]))


def _product(node: Node) -> Rule | None:
    """x_t @ w for all t is one product of all rows of all x_t."""
    if node.op is not REGISTRY["matmul"] or len(node.inputs[1].type.shape) != 2:
        return None
    shape = node.type.shape
    return Rule(node.inputs[:1], node.inputs[1:], lambda xs, w: F.reshape(F.matmul(_rows(xs), w), (xs.shape[0], *shape)))


def _summed_product(node: Node) -> Rule | None:
    """The sum over t of a_t' @ b_t is one product that sums over the rows of all a_t and b_t."""
    if node.op is not REGISTRY["matmul"] or len(node.type.shape) != 2 or any(i.type.ndim != 2 for i in node.inputs):
        return None
    left, right = node.inputs
    if left.op is not REGISTRY["permute"]:
        return None
    return Rule((left.inputs[0], right), (), lambda a, b: F.matmul(F.swapaxes(_rows(a), 0, 1), _rows(b)))


def _summed_sum(node: Node) -> Rule | None:
    """The sum over t of sums over leading axes is one sum over one more axis."""
    if node.op is not REGISTRY["sum"] or node.type.dtype.kind != "f":
        return None
    axis = node.attrs["axis"]
    if axis != tuple(range(len(axis))):
        return None
    return Rule(node.inputs, (), lambda xs: F.sum(xs, tuple(range(len(axis) + 1))))


def _summed_broadcast(node: Node) -> Rule | None:
    """The same of a sum over the leading axes along which a value was broadcast."""
    if node.op is not REGISTRY["sum_to"] or node.type.dtype.kind != "f":
        return None
    x, shape = node.inputs[0], node.type.shape
    if x.type.shape[x.type.ndim - len(shape) :] != shape:
        return None
    return Rule((x,), (), lambda xs: F.sum(xs, tuple(range(len(xs.shape) - len(shape)))))


AT_ONCE = (_product,)
SUMMED = (_summed_product, _summed_sum, _summed_broadcast)


def terms(node: Node) -> list[Node]:
    """The terms of a value that is a sum."""
    add, found, waiting = REGISTRY["add"], [], [node]
    while waiting:
        term = waiting.pop()
        if term.op is add and term.type == node.type:
            waiting += reversed(term.inputs)
        else:
            found.append(term)
    return found


PART = 8
"""A slice goes before an operation if it takes at least one in so many elements, and at most half of them: else slices
multiply operations, and overlapping slices of overlapping slices do so without bounds."""


def slice_of_elements(node: Node, x: Any) -> Any:
    """A slice of f(a, b) is f of slices, for a cheap f: its readers need not wait for the whole."""
    inner = x.node
    emit = inner.op.emit
    if not isinstance(emit, Pointwise) or emit.cost > 1 or inner.op.shape_only:
        return None
    size, whole = node.type.size, inner.type.size
    if PART * size < whole or 2 * size > whole:
        return None
    if any(i.type.shape not in ((), inner.type.shape, inner.type.shape[-1:]) for i in inner.inputs):
        return None
    slices = node.attrs["slices"]
    if any(isinstance(s, int) for s in slices):
        return None
    return apply(inner.op, *(_sliced(Symbol(x.graph, i), slices, inner.type.ndim) for i in inner.inputs), **inner.attrs)


def part_of_a_concatenation(node: Node, x: Any) -> Any:
    """A slice of a concatenation is an operand, where it is just that."""
    whole, slices = x.node, node.attrs["slices"]
    if whole.op is not REGISTRY["concatenate"] or any(isinstance(s, int) or s[2] not in (None, 1) for s in slices):
        return None
    axis = whole.attrs["axis"]
    ends = [(0 if s[0] is None else s[0], d if s[1] is None else s[1]) for s, d in zip(slices, whole.type.shape, strict=False)]
    if axis >= len(ends) or any(a != axis and end != (0, whole.type.shape[a]) for a, end in enumerate(ends)):
        return None
    begin = 0
    for operand in whole.inputs:
        after = begin + operand.type.shape[axis]
        if ends[axis] == (begin, after):
            return Symbol(x.graph, operand)
        begin = after
    return None


def _sliced(x: Any, slices: Any, ndim: int) -> Any:
    """A slice of an operand that is broadcast against `ndim` axes."""
    own = slices[ndim - len(x.shape) :]
    return apply(REGISTRY["slice"], x, slices=own) if x.shape and own else x


def parts_of_a_whole(node: Node, *inputs: Any) -> Any:
    """The sum of slices put back into zeros is their concatenation, where they fill the whole along one axis."""
    along = _filled(node)
    if along is None or along[1] != node.type.shape[along[0]]:
        return None
    parts = terms(node)
    intervals = [interval_of(part) for part in parts]
    cuts = sorted((*found, i) for i, found in enumerate(intervals) if found is not None)
    if len(cuts) != len(parts) or len({axis for axis, *_ in cuts}) != 1:
        return None
    axis = cuts[0][0]
    starts, stops = [start for _, start, _, _ in cuts], [stop for _, _, stop, _ in cuts]
    if [*starts, node.type.shape[axis]] != [0, *stops]:
        return None
    values = []
    for *_, i in cuts:
        value = Symbol(inputs[0].graph, parts[i].inputs[0])
        values.append(value if len(value.shape) == node.type.ndim else F.expand_dims(value, axis))
    return F.concatenate(values, axis)


_known: WeakKeyDictionary[Node, tuple[int, int] | None] = WeakKeyDictionary()


def _filled(node: Node) -> tuple[int, int] | None:
    """(axis, elements) of a slice put back into zeros, or a sum of such: along which axis, and how much of it they are
    together. Sums of sums ask again and again, so that answers are kept."""
    if node.op is REGISTRY["unslice"]:
        found = interval_of(node)
        return None if found is None else (found[0], found[2] - found[1])
    if node.op is not REGISTRY["add"]:
        return None
    waiting = [node]
    while waiting:
        now = waiting[-1]
        inner = [i for i in now.inputs if i.op is now.op and i not in _known]
        if inner and now not in _known:
            waiting += inner
            continue
        waiting.pop()
        if now not in _known:
            a, b = (_known[i] if i.op is now.op else _filled(i) for i in now.inputs)
            same = a is not None and b is not None and a[0] == b[0] and all(i.type == now.type for i in now.inputs)
            _known[now] = (a[0], a[1] + b[1]) if same else None  # type: ignore[index]
    return _known[node]
