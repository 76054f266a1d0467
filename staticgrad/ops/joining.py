"""Concatenation, and the part of it that came from an operand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base.types import TensorType, normalize_axis, shape_text
from ..errors import ArgumentError, ArgumentTypeError, ShapeError
from ..ir import Call, Copy, Expand, Layout, Native, Node, Window, define
from ..operators import F, Operators, Tensor, TensorLike, apply, numpy_twin, public, routed, spelled
from . import attributes as at
from .batching import linear
from .leaves import fits
from .operands import ndim_of
from .rules import arithmetic, joint
from .slicing import slice_op


def _concatenate_infer(*types: TensorType, axis: int) -> TensorType:
    if not types:
        raise ArgumentError("need at least one operand")
    first, total = types[0], 0
    shape = list(first.shape)
    for t in types:
        if t.ndim != first.ndim:
            raise ShapeError(
                f"all operands need the same number of axes, got {shape_text(first.shape)} and {shape_text(t.shape)}"
            )
        for i, extent in enumerate(t.shape):
            if i == axis:
                total = None if total is None or extent is None else total + extent  # type: ignore[assignment]
            elif shape[i] is None:
                shape[i] = extent
            elif extent is not None and shape[i] != extent:
                raise ShapeError(f"extents differ away from axis {axis}, {shape_text(first.shape)} and {shape_text(t.shape)}")
    shape[axis] = total
    return first.with_shape(tuple(shape))


def _concatenate_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    axis, whole, at = node.attrs["axis"], Layout.contiguous(node.type.shape), 0
    calls: list[Call] = []
    for i, layout in enumerate(layouts):
        calls.append(Copy(i, Layout(layout.shape, whole.strides, at * whole.strides[axis])))
        at += layout.shape[axis]
    return calls


def _concatenate_window(node: Node) -> Window:
    axis, at, parts = node.attrs["axis"], 0, []
    for number, operand in enumerate(node.inputs):
        parts.append((number, at, at + operand.type.shape[axis]))
        at += operand.type.shape[axis]
    return Window(axis, tuple(parts))


def _part_infer(g: TensorType, *likes: TensorType, axis: int, index: int) -> TensorType:
    if index >= len(likes):
        raise ArgumentError(f"there is no part {index} of {len(likes)}")
    whole = _concatenate_infer(*likes, axis=axis)
    if not fits(g.shape, whole.shape):
        raise ShapeError(f"the parts make shape {shape_text(whole.shape)}, got {shape_text(g.shape)}")
    return g.with_shape(likes[index].shape)


def _part_slices(likes: Sequence[Any], axis: int, index: int) -> tuple[slice, ...]:
    start = sum(like.shape[axis] for like in likes[:index])
    return (slice(None),) * axis + (slice(start, start + likes[index].shape[axis]),)


part_op = define(
    name="part",
    stored=True,
    jvp=linear,
    range=lambda types, attrs, g, *likes: g,
    attrs={"axis": at.axis_of(0), "index": at.integer(0)},
    infer=_part_infer,
    eval=lambda g, *likes, axis, index: g[_part_slices(likes, axis, index)],
    vjp=lambda i: (lambda g, node, out, x, *likes: _pad_part(g, node, likes)) if i == 0 else None,
    emit=Expand(lambda node, g, *likes: g[_part_slices(likes, node.attrs["axis"], node.attrs["index"])]),
    shape_only=tuple(range(1, 1024)),
    doc="The slice of a concatenation that came from operand `index`; the other inputs give extents only.",
)


def _pad_part(g: Any, node: Any, likes: Sequence[Any]) -> Any:
    parts = [g if i == node.attrs["index"] else F.zeros_like(like) for i, like in enumerate(likes)]
    return F.concatenate([F.astype(p, g.dtype) for p in parts], node.attrs["axis"])


FEW = 16
"""Operands up to which each part of a concatenation is told the extents of all of them."""


def _together(*args: Any) -> Any:
    raise AssertionError("the cotangents of all operands are computed together")


def _concatenate_vjp(g: Any, node: Any, wanted: Sequence[bool], *inputs: Any) -> Iterator[Any]:
    axis = node.attrs["axis"]
    extents = [x.shape[axis] for x in inputs]
    if None in extents:
        yield from _parts(g, axis, wanted, inputs)
        return
    stop = 0
    for extent, needed in zip(extents, wanted, strict=True):
        stop += extent
        slices = (*[(None, None, 1)] * axis, (stop - extent, stop, 1))
        yield apply(slice_op, g, slices=slices) if needed else None


def _parts(g: Any, axis: int, wanted: Sequence[bool], likes: Sequence[Any]) -> Iterator[Any]:
    """Of many operands whose extents are not known, groups of them first: each operand would need all others."""
    if len(likes) <= FEW:
        for i, needed in enumerate(wanted):
            yield apply(part_op, g, *likes, axis=axis, index=i) if needed else None
        return
    size = -(-len(likes) // FEW)
    runs = [slice(i, i + size) for i in range(0, len(likes), size)]
    wholes = [apply(concatenate_op, *likes[run], axis=axis) for run in runs]  # of which only the shapes are read
    together = _parts(g, axis, [any(wanted[run]) for run in runs], wholes)
    for run, part in zip(runs, together, strict=True):
        yield from [None] * len(likes[run]) if part is None else _parts(part, axis, wanted[run], likes[run])


concatenate_op = define(
    name="concatenate",
    stored=True,
    backward="CatBackward0",
    jvp=linear,
    range=lambda types, attrs, *xs: joint(*xs),
    attrs={"axis": at.axis_of(0)},
    infer=_concatenate_infer,
    eval=lambda *xs, axis: np.concatenate(xs, axis),
    vjp=lambda i: _together,
    vjp_all=_concatenate_vjp,
    emit=Native(_concatenate_plan, fused=_concatenate_window),
    promote=arithmetic,
)

# public functions ------------------------------------------------------------------------------------------------


def _several(name: str, xs: Any, axis: Any) -> list[Any]:
    """The operands as a list. Raises ArgumentError where there are none, or where they are not in one argument."""
    if isinstance(axis, Operators):
        raise ArgumentTypeError(f"{name}: the tensors come in one list, and then the axis", f"write sg.{name}([a, b])")
    if not isinstance(xs, Iterable):
        raise ArgumentError(f"{name}: expected a sequence of tensors, got {type(xs).__name__}")
    operands = list(xs)
    if not operands:
        raise ArgumentError(f"{name}: need at least one operand")
    return operands


@public
@numpy_twin(np.concatenate)
@routed
@spelled
def concatenate(tensors: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """The operands one after another along `axis`; dtypes are promoted. Raises ShapeError."""
    xs = _several("concatenate", tensors, axis)
    return apply(concatenate_op, *xs, axis=normalize_axis(axis, ndim_of(xs[0])))


@public
@numpy_twin(np.stack)
@routed
@spelled
def stack(tensors: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """The operands side by side along a new axis. Raises ShapeError when the shapes differ.

    Examples:
        >>> sg.stack([sg.tensor([1, 2]), sg.tensor([3, 4])], dim=1)
        tensor([[1, 3],
                [2, 4]])
    """
    return concatenate([F.expand_dims(x, axis) for x in _several("stack", tensors, axis)], axis)
