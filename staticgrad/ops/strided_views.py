"""Views at other strides: diagonals, windows along an axis, and `as_strided`, which is made of windows; copies of views."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.types import TensorType, as_shape, normalize_axis
from ..errors import ArgumentError, ShapeError
from ..ir import Attribute, Layout, Node, View, define
from . import attributes as at
from .gathering import bounded, scatter_op
from .operands import extent, integer, ndim_of
from .operators import F, Tensor, apply, enter_as, frontends, in_format, numpy_twin, span_of, torch_function
from .rearranging import movedim
from .settings import operand
from .slicing import cut

# records --------------------------------------------------------------------------------------------------------------


def _are_two_axes(value: Any, ndim: int) -> bool:
    return value.__class__ is tuple and len(value) == 2 and value[0] != value[1] and all(at.whole(a, 0, ndim) for a in value)


two_axes = Attribute(
    "two different axes of operand 0",
    lambda value, types: _are_two_axes(value, types[0].ndim),
    shifted=lambda axes: (axes[0] + 1, axes[1] + 1),
)


def _length(rows: int, columns: int, offset: int) -> int:
    return max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)


def _diagonal_infer(x: TensorType, axes: tuple[int, int], offset: int) -> TensorType:
    rows, columns = (x.shape[a] for a in axes)
    length = None if rows is None or columns is None else _length(rows, columns, offset)
    return x.with_shape((*[d for a, d in enumerate(x.shape) if a not in axes], length))


def _diagonal_eval(x: np.ndarray, axes: tuple[int, int], offset: int) -> np.ndarray:
    out = x.diagonal(offset, *axes)
    if x.flags.writeable:
        out.setflags(write=True)  # NumPy's own is read-only
    return out


def _diagonal_layout(node: Node, at: Layout) -> Layout:
    (a, b), offset = node.attrs["axes"], node.attrs["offset"]
    strides = [s for axis, s in enumerate(at.strides) if axis not in (a, b)]
    first = max(-offset, 0) * at.strides[a] + max(offset, 0) * at.strides[b] if node.type.shape[-1] else 0
    return Layout(node.type.shape, (*strides, at.strides[a] + at.strides[b]), at.offset + first)


def _diagonal_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """Zeros with g on the diagonal."""
    room = F.broadcast_like(np.zeros((), x.dtype), x)  # only the shape of x is read
    like, offset = movedim(room, node.attrs["axes"], (-2, -1)), node.attrs["offset"]
    n = ndim_of(like)
    steps = np.arange(_length(extent("diagonal", like, n - 2), extent("diagonal", like, n - 1), offset))
    places = (steps - min(offset, 0), steps + max(offset, 0))
    indices = [bounded(p, like, n - 2 + i, negative=False) for i, p in enumerate(places)]
    return movedim(apply(scatter_op, g, like, *indices, axis=n - 2), (-2, -1), node.attrs["axes"])


diagonal_op = define(
    name="diagonal",
    attrs={"axes": two_axes, "offset": at.integer(-at.LARGE, at.LARGE)},
    infer=_diagonal_infer,
    eval=_diagonal_eval,
    vjp=(_diagonal_vjp,),
    emit=View(_diagonal_layout),
    doc="The elements with equal positions along two axes, the second one larger by `offset`; they are the last axis.",
)


def _count(whole: int, size: int, step: int) -> int:
    return (whole - size) // step + 1


def _unfold_infer(x: TensorType, axis: int, size: int, step: int) -> TensorType:
    whole = x.shape[axis]
    if whole is not None and size > whole:
        raise ShapeError(f"a window of {size} elements is larger than axis {axis} of {list(x.shape)}")
    count = None if whole is None else _count(whole, size, step)
    return x.with_shape((*x.shape[:axis], count, *x.shape[axis + 1 :], size))


def _unfold_eval(x: np.ndarray, axis: int, size: int, step: int) -> np.ndarray:
    shape = (*x.shape[:axis], _count(x.shape[axis], size, step), *x.shape[axis + 1 :], size)
    strides = (*x.strides[:axis], x.strides[axis] * step, *x.strides[axis + 1 :], x.strides[axis])
    view = _at_strides(x, shape, strides)
    if step < size and shape[axis] > 1:
        view.setflags(write=False)  # windows that meet
    return view


def _at_strides(x: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """As NumPy's `as_strided`, but with x, or the array that owns its memory, for its `base`, by which eager mode knows a view.
    Read-only where that array has gaps."""
    whole: np.ndarray = x if x.flags.c_contiguous or not isinstance(x.base, np.ndarray) else x.base
    if 0 in shape or not whole.flags.c_contiguous:
        return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)
    first = x.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    view: np.ndarray = np.ndarray(shape, x.dtype, whole, first, strides)
    if not x.flags.writeable:
        view.setflags(write=False)
    return view


def _unfold_layout(node: Node, at: Layout) -> Layout:
    axis = node.attrs["axis"]
    stride = at.strides[axis]
    strides = (*at.strides[:axis], stride * node.attrs["step"], *at.strides[axis + 1 :], stride)
    return Layout(node.type.shape, strides, at.offset)


def _unfold_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """Zeros to which the windows are added."""
    axis, size, step = (node.attrs[name] for name in ("axis", "size", "step"))
    count = _count(extent("unfold", x, axis), size, step)
    places = np.arange(count)[:, None] * step + np.arange(size)
    return apply(scatter_op, movedim(g, -1, axis + 1), x, bounded(places, x, axis, negative=False), axis=axis)


unfold_op = define(
    name="unfold",
    attrs={"axis": at.axis_of(0), "size": at.integer(0), "step": at.integer(1)},
    infer=_unfold_infer,
    eval=_unfold_eval,
    vjp=(_unfold_vjp,),
    emit=View(_unfold_layout),
    doc="Windows of `size` elements every `step` along an axis; they lie along a new last axis.",
)

# functions ------------------------------------------------------------------------------------------------------------


@torch_function()
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements with equal positions (the second one larger by `offset`) along two axes; they lie along a new last axis.

    A view, as in PyTorch: a change of it is one of `input`.

    Examples:
        >>> x = sg.zeros(2, 2)
        >>> _ = x.diagonal().add_(1)
        >>> x
        tensor([[1., 0.],
                [0., 1.]])
    """
    n = ndim_of(input)
    a, b = normalize_axis(dim1, n), normalize_axis(dim2, n)
    if a == b:
        raise ArgumentError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = extent("diagonal", input, a), extent("diagonal", input, b)
    offset = min(max(integer("diagonal", "offset", offset), -rows), columns)
    return apply(diagonal_op, input, axes=(a, b), offset=offset)


@numpy_twin(np.diagonal)
def _numpy_diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return diagonal(a, offset, axis1, axis2)


@torch_function()
def unfold(input: Any, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` elements every `step` along an axis; they lie along a new last axis. A view."""
    n, size, step = ndim_of(input), integer("unfold", "size", size), integer("unfold", "step", step)
    if not n:
        normalize_axis(dimension, 1)
        return F.reshape(input, (1,)) if size == 1 else cut(F.reshape(input, (1,)), 0, 0, size)
    axis = normalize_axis(dimension, n)
    whole = extent("unfold", input, axis)
    if size > whole or size < 0 or step <= 0:
        raise ArgumentError(f"maximum size for tensor at dimension {axis} is {whole} but size is {size} (step {step})")
    return apply(unfold_op, input, axis=axis, size=size, step=step)


@torch_function()
def as_strided(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """The elements at these strides of the memory that `input` lies in: a view. storage_offset: the place of the first one,
    by default that of `input`. A tensor without a value has no memory but its elements, row-major."""
    extents, steps = as_shape(size), as_shape(stride)
    if len(extents) != len(steps):
        raise ArgumentError(f"as_strided: mismatch in length of strides and shape, {steps} and {extents}")
    given = None if storage_offset is None else integer("as_strided", "storage_offset", storage_offset)
    if 0 in extents:
        return F.reshape(cut(F.reshape(input, (-1,)), 0, 0, 0), extents)
    if given is not None and given < 0:
        raise ArgumentError(f"as_strided: Storage size calculation overflowed: a negative storage_offset, {given}")
    x: Any = operand(input)
    memory, first = x._storage(given, extents, steps)
    whole, last = extent("as_strided", memory, 0), first + span_of(extents, steps) - 1
    if first < 0 or last >= whole:
        raise ArgumentError(
            f"as_strided: size {list(extents)}, stride {list(steps)} and storage_offset {first} reach beyond {whole} elements"
        )
    if not extents:
        return F.getitem(memory, int(first))
    order = sorted(range(len(extents)), key=lambda axis: -steps[axis])  # large steps first: windows that don't meet
    view, span = cut(memory, 0, first, last + 1), last + 1 - first
    for axis in order:
        d, s = extents[axis], steps[axis]
        span -= (d - 1) * s
        view = F.unfold(view, -1, span, s) if s else _repeated(view, d)
    places = sorted(range(len(order)), key=order.__getitem__)
    return F.permute(F.squeeze(view, -1), tuple(places))


def _repeated(x: Any, count: int) -> Any:
    """x with a new axis of `count` before its last one."""
    return F.expand(F.unsqueeze(x, -2), (*x.shape[:-1], count, x.shape[-1]))


# PyTorch's functions `*_copy`: what a view has, in memory of its own -------------------------------------------------


@torch_function(method=False)
def slice_copy(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """input[start:end:step] along `dim`, in memory of its own."""
    axis = normalize_axis(dim, ndim_of(input))
    return in_format(F.getitem(input, (*((slice(None),) * axis), slice(start, end, step))), None)


for _name, _source in (
    ("expand_copy", "expand"), ("permute_copy", "permute"), ("squeeze_copy", "squeeze"), ("transpose_copy", "transpose"),
    ("unsqueeze_copy", "unsqueeze"), ("unfold_copy", "unfold"), ("t_copy", "t"), ("alias_copy", "clone"),
    ("select_copy", "select"), ("detach_copy", "stop_gradient"), ("diagonal_copy", "diagonal"),
    ("as_strided_copy", "as_strided"),
):  # fmt: skip

    def _copy(input: Any, *args: Any, _source: str = _source, out: Tensor | None = None, **named: Any) -> Tensor:
        """As the function without `_copy`, in memory of its own."""
        if out is not None:
            return frontends.into(out, f"{_source}_copy", getattr(F, _source), (input, *args), named)
        return in_format(getattr(F, _source)(input, *args, **named), None)

    _copy.__name__ = _copy.__qualname__ = _name
    enter_as(_name, _copy, method=False)


for _name in ("split", "split_with_sizes", "unbind"):

    def _copies(input: Any, *args: Any, _source: str = _name, **named: Any) -> tuple[Any, ...]:
        """As the function without `_copy`, in memory of its own."""
        return tuple(in_format(part, None) for part in getattr(F, _source)(input, *args, **named))

    _copies.__name__ = _copies.__qualname__ = f"{_name}_copy"
    enter_as(f"{_name}_copy", _copies, method=False)


@torch_function()
def narrow_copy(input: Any, dim: int, start: Any, length: int) -> Tensor:
    """`length` elements along `dim` from `start` on, in memory of its own."""
    return in_format(F.narrow(input, dim, start, length), None)


@torch_function(method=False)
def view_copy(input: Any, size: Any = None, *, dtype: Any = None) -> Tensor:
    """`input` in another shape, in memory of its own."""
    return in_format(F.reshape(input, size), None)
