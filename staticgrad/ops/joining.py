"""Tensors one after another or side by side: concatenations, stacks, blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from ..base.types import TensorType, normalize_axis, shape_text
from ..errors import ArgumentError, ArgumentTypeError, ShapeError
from ..ir import Call, Copy, Expand, Layout, Native, Node, Window, define
from . import attributes as at
from .batching import linear
from .leaves import fits
from .operands import dtype_of, extent, ndim_of, operand, several
from .operators import (
    F,
    Operators,
    Tensor,
    TensorLike,
    apply,
    as_array,
    as_images,
    enter_as,
    image_eval,
    numpy_twin,
    public,
    respelled,
    routed,
    spelled,
    torch_function,
)
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
        for i, size in enumerate(t.shape):
            if i == axis:
                total = None if total is None or size is None else total + size  # type: ignore[assignment]
            elif shape[i] is None:
                shape[i] = size
            elif size is not None and shape[i] != size:
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
    for number, part in enumerate(node.inputs):
        parts.append((number, at, at + part.type.shape[axis]))
        at += part.type.shape[axis]
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
    for size, needed in zip(extents, wanted, strict=True):
        stop += size
        slices = (*[(None, None, 1)] * axis, (stop - size, stop, 1))
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
    memory=as_images(all),
    eval=image_eval(all, lambda *xs, axis: np.concatenate(xs, axis)),
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
    parts = [F.expand_dims(x, axis) for x in _several("stack", tensors, axis)]
    try:
        return concatenate(parts, axis)
    except ShapeError:
        shapes = [[*F.squeeze(x, axis).shape] for x in parts]
        i, other = next((i, shape) for i, shape in enumerate(shapes) if shape != shapes[0])
        text = f"stack expects each tensor to be equal size, but got {shapes[0]} at entry 0 and {other} at entry {i}"
        raise ShapeError(text, "pad them to one shape; the samples of a DataLoader, in its collate_fn") from None


# PyTorch's functions that join tensors: made of `concatenate` --------------------------------------------------------


@torch_function(method=False, names=("concat",), cached=routed)
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors one after another along `dim`; dtypes are promoted. Empty 1-D ones are left out, as in PyTorch.

    Examples:
        >>> sg.cat([sg.zeros(2), sg.ones(1)])
        tensor([0., 0., 1.])
    """
    if isinstance(tensors, Operators):
        raise ArgumentTypeError(
            "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor", "write sg.cat([a, b])"
        )
    given: list[Any] = [t if isinstance(t, Operators) else as_array(t) for t in tensors]
    most = max((len(t.shape) for t in given), default=0)
    wanted = [t for t in given if tuple(t.shape) != (0,) or most <= 1]
    if len(wanted) < len(given) and wanted:
        wanted[0] = F.astype(wanted[0], _joint_dtype(given))
    return F.concatenate(wanted, dim)


def _joint_dtype(given: Sequence[Any]) -> np.dtype:
    kind = dtype_of(given[0])
    for t in given[1:]:
        kind = np.promote_types(kind, dtype_of(t))
    return kind


def _stacked(name: str, least: int, axis: Any, twin: Any) -> None:
    def function(*tensors: Any) -> Tensor:
        parts = [_at_least(t, least) for t in several(name, tensors)]
        if not parts:
            raise ArgumentError(f"{name} expects a non-empty TensorList")
        at = axis if isinstance(axis, int) else (0 if len(parts[0].shape) == 1 else 1)
        return F.concatenate(parts, at)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Tensors one after another, each with the axes that it lacks; as NumPy's function of this name."
    enter_as(name, spelled(function), method=False)
    numpy_twin(twin)(getattr(F, name))


def _at_least(x: Any, least: int) -> Any:
    x = operand(x)
    n = len(x.shape)
    if n >= least:
        return x
    if least == 1:
        return F.reshape(x, (1,))
    if least == 2:
        return F.expand_dims(x, tuple(range(2 - n)))
    return F.expand_dims(x, (0, 1, 2) if n == 0 else (0, 2) if n == 1 else (2,))


_stacked("hstack", 1, None, np.hstack)
_stacked("vstack", 2, 0, np.vstack)
_stacked("dstack", 3, 2, np.dstack)
enter_as("row_stack", F.vstack, method=False)


@torch_function(np.column_stack, method=False)
def column_stack(*tensors: Any) -> Tensor:
    """Vectors as columns, and matrices, side by side."""
    parts = [operand(t) for t in several("column_stack", tensors)]
    return F.concatenate([F.reshape(p, (-1, 1)) if len(p.shape) <= 1 else p for p in parts], 1)


for _least in (1, 2, 3):

    @overload
    def _atleast(tensor: TensorLike, /) -> Tensor: ...
    @overload
    def _atleast(*tensors: Any) -> tuple[Tensor, ...]: ...
    def _atleast(*tensors: Any, _least: int = _least) -> Any:
        """Tensors with at least so many axes; a tuple where several are given."""
        if len(tensors) == 1 and isinstance(tensors[0], (Operators, np.ndarray)):
            return _at_least(tensors[0], _least)
        return tuple(_at_least(t, _least) for t in several(f"atleast_{_least}d", tensors))

    respelled(_atleast, f"atleast_{_least}d")
    enter_as(f"atleast_{_least}d", _atleast, method=False)


@torch_function(method=False)
def block_diag(*tensors: Any) -> Tensor:
    """The matrices along the diagonal of one that is 0 elsewhere."""
    blocks = [_at_least(t, 2) for t in (tensors or (np.zeros((1, 0), np.float32),))]
    kind = _joint_dtype(blocks)
    width = sum(extent("block_diag", b, 1) for b in blocks)
    rows, left = [], 0
    for b in blocks:
        h, w = extent("block_diag", b, 0), b.shape[1]
        zeros = [np.zeros((h, left), kind), np.zeros((h, width - left - w), kind)]
        rows.append(F.concatenate([zeros[0], F.astype(b, kind), zeros[1]], 1))
        left += w
    return F.concatenate(rows, 0)
