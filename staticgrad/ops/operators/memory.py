"""The memory layout that a value would have in eager mode, on which `is_contiguous`, `stride` and `view` rely.

A plan places values as it likes. A program that asks for the order of elements gets the answer it would get eagerly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ...base.types import shape_text
from ...errors import ShapeError
from ...ir import Layout, Node, Pointwise, View
from .dispatch import F

NONE: Mapping[Node, Node] = MappingProxyType({})


def span_of(extents: Sequence[int], steps: Sequence[int]) -> int:
    """The elements of memory from the first to the last of those at these strides."""
    return 1 + sum((d - 1) * s for d, s in zip(extents, steps, strict=True))


def layout_of(node: Node, known: dict[Node, Layout | None], alike: Mapping[Node, Node] = NONE) -> Layout | None:
    """The layout of a value; None where extents are unknown. known: layouts found before, and those of leaves that are not
    row-major; alike: for values that stand for others, values in whose layout eager mode has them."""
    stack = [node]
    while stack:
        last = stack[-1]
        needed = [alike[last]] if last in alike else () if in_rows(last) else last.inputs
        missing = [i for i in needed if i not in known]
        if last in known:
            stack.pop()
        elif missing:
            stack.extend(missing)
        else:
            known[last] = known[alike[last]] if last in alike else _layout(last, known)
            stack.pop()
    return known[node]


def in_rows(node: Node) -> bool:
    """Whether eager mode has a value in row-major order, whatever its operands' is."""
    emit = node.op.plain.emit
    return emit.memory == "row-major" if isinstance(emit, Pointwise) else not isinstance(emit, View)


def _layout(node: Node, known: dict[Node, Layout | None]) -> Layout | None:
    if not node.type.static:
        return None
    if in_rows(node):
        return Layout.contiguous(node.type.shape)
    operands = [known[i] for i in node.inputs]
    emit = node.op.plain.emit
    if isinstance(emit, View):
        below = operands[0]
        if below is None:
            return None
        return emit.rule(node, below) or reshaped(below, node.type.shape) or Layout.contiguous(node.type.shape)
    if isinstance(emit, Pointwise) and emit.memory == "shared":
        return operands[0]
    return _elementwise(node.type.shape, [o for o in operands if o is not None])


def _elementwise(shape: tuple[int, ...], operands: Sequence[Layout]) -> Layout:
    """The result of NumPy's loops, which keep the order of axes that the operands have: an axis moves after one that every
    operand which has both walks in larger steps. Where they disagree, or have no say, it stays."""
    lead = [(0,) * (len(shape) - len(o.shape)) for o in operands]
    strides = [
        (*more, *(0 if d == 1 else abs(s) for d, s in zip(o.shape, o.strides, strict=True)))
        for more, o in zip(lead, operands, strict=True)
    ]
    order: list[int] = []  # from the fastest axis to the slowest
    for axis in reversed(range(len(shape))):
        at = len(order)
        for place in reversed(range(len(order))):
            votes = [s[order[place]] <= s[axis] for s in strides if s[axis] and s[order[place]]]
            if any(votes):
                break
            if votes:
                at = place
        order.insert(at, axis)
    result, step = [0] * len(shape), 1
    for axis in order:
        result[axis] = step
        step *= shape[axis]
    return Layout(shape, tuple(result), 0)


def reshaped(layout: Layout, shape: Sequence[int]) -> Layout | None:
    """The layout of the same memory in another shape of as many elements; None where only a copy could have it."""
    if 0 in shape:
        return Layout.contiguous(tuple(shape))
    old = [(d, s) for d, s in zip(layout.shape, layout.strides, strict=True) if d != 1]
    strides = [0] * len(shape)
    axis = len(shape) - 1
    while old:
        count, stride = old.pop()
        while old and old[-1][1] == count * stride:  # axes that are contiguous
            count *= old.pop()[0]
        taken = 1
        while axis >= 0 and (taken < count or shape[axis] == 1):
            strides[axis] = stride * taken
            taken *= shape[axis]
            axis -= 1
        if taken != count:
            return None
    return Layout(tuple(shape), tuple(strides), layout.offset)


ORDERS = {"torch.channels_last": (0, 2, 3, 1), "torch.channels_last_3d": (0, 2, 3, 4, 1)}
"""PyTorch's memory formats, and the axes of a tensor in the order in which they lie in memory. Others are row-major."""


def order_of(x: Any, memory_format: object) -> tuple[int, ...] | None:
    """The order of axes of a format, None for row-major. Raises ShapeError for a tensor with another number of axes."""
    order = ORDERS.get(str(memory_format))
    if order is not None and len(x.shape) != len(order):
        raise ShapeError(
            f"required rank {len(order)} tensor to use {str(memory_format).removeprefix('torch.')} format",
            f"got shape {shape_text(x.shape)}",
        )
    return order


def lies_in(x: Any, memory_format: object) -> bool:
    """Whether the elements of x lie in the order of a format."""
    order = order_of(x, memory_format)
    return bool((x if order is None else F.permute(x, order)).is_contiguous())


def in_format(x: Any, memory_format: object) -> Any:
    """A copy of x whose elements lie in the order of a format. Its values and axes are those of x."""
    order = order_of(x, memory_format)
    if order is None:
        return F.clone(x)
    return F.permute(F.clone(F.permute(x, order)), tuple(order.index(axis) for axis in range(len(order))))
