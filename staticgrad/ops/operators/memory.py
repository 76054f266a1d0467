"""The memory layout that a value would have in eager mode, on which `is_contiguous`, `stride` and `view` rely.

A plan places values as it likes. A program that asks for the order of elements gets the answer it would get eagerly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ...base.types import shape_text
from ...errors import ShapeError
from ...ir import IMAGES, REGISTRY, Layout, Node, View
from .dispatch import F, apply

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
    op = node.op.plain
    return node.attrs.get("row_major", op.memory == "rows" and not isinstance(op.emit, View))


def _layout(node: Node, known: dict[Node, Layout | None]) -> Layout | None:
    if not node.type.static:
        return None
    if in_rows(node):
        return Layout.contiguous(node.type.shape)
    operands = [known[i] for i in node.inputs]
    emit, memory = node.op.plain.emit, node.op.plain.memory
    if isinstance(emit, View):
        below = operands[0]
        if below is None:
            return None
        return emit.rule(node, below) or reshaped(below, node.type.shape) or Layout.contiguous(node.type.shape)
    if memory == "shared":
        return operands[0]
    found = [o for o in operands if o is not None]
    if memory == "operands":
        return as_operands(node.type.shape, found)
    return memory(node.type.shape, found) if len(found) == len(operands) else None  # type: ignore[operator]


def as_operands(shape: tuple[int, ...], operands: Sequence[Layout]) -> Layout:
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


def as_images(judge: Callable[[Iterable[bool]], bool]) -> Callable[[tuple[int, ...], Sequence[Layout]], Layout]:
    """The memory of an op of images: the channels are last where those of `any` operand are, or of `all`; else row-major."""

    def layout(shape: tuple[int, ...], operands: Sequence[Layout]) -> Layout:
        last = judge([x.image_order is not None for x in operands]) and len(shape) in IMAGES
        return Layout.ordered(shape, IMAGES[len(shape)]) if last else Layout.contiguous(shape)

    return layout


def copied(array: np.ndarray, row_major: bool = False) -> np.ndarray:
    """A copy, row-major or in the array's own order of axes."""
    if row_major or 0 not in array.strides or not any(array.strides):
        return array.copy("C" if row_major else "K")
    return in_layout(array, as_operands(array.shape, [Layout.of(array)]))


def in_layout(array: np.ndarray, layout: Layout) -> np.ndarray:
    """A copy in a layout without gaps."""
    return with_axes_in(array, order_in_memory(layout))


def with_axes_in(array: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """A copy with its axes in this order in memory, the slowest first."""
    return array.transpose(order).copy().transpose([order.index(axis) for axis in range(array.ndim)])


def image_eval(judge: Callable[[Iterable[bool]], bool], evaluate: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The `eval` of an op whose memory is `as_images(judge)`, from one whose result lies anyhow."""
    memory = as_images(judge)

    def placed(*arrays: np.ndarray, **attrs: Any) -> np.ndarray:
        out = evaluate(*arrays, **attrs)
        if out.ndim not in IMAGES or all(a.flags.c_contiguous for a in arrays):
            return np.asarray(out, order="C")
        layout = memory(out.shape, [*map(Layout.of, arrays)])
        return out if layout.same(Layout.of(out)) else in_layout(out, layout)

    return placed


ORDERS = {"torch.channels_last": IMAGES[4], "torch.channels_last_3d": IMAGES[5]}
"""PyTorch's memory formats, and the axes of a tensor in the order in which they lie in memory. Others are row-major."""


PRESERVING = (None, "torch.preserve_format")
"""Formats of a copy that keeps the order of the axes in memory."""


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
    """A copy of x whose elements lie in the order of a format, row-major for None. Its values and axes are those of x."""
    order = order_of(x, memory_format)
    if order is None:
        return apply(REGISTRY["identity"], x, row_major=True)
    return in_order(x, order)


def in_order(x: Any, order: Sequence[int]) -> Any:
    """A copy of x with its axes in this order in memory, the slowest first."""
    rows = apply(REGISTRY["identity"], F.permute(x, tuple(order)), row_major=True)
    return F.permute(rows, tuple([order.index(axis) for axis in range(len(order))]))


def order_in_memory(layout: Layout) -> list[int]:
    """The axes of a layout in the order in which they lie, the slowest first."""
    return sorted(range(len(layout.shape)), key=lambda axis: -layout.strides[axis])
