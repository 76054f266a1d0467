"""Views at other strides: diagonals, windows along an axis, and `as_strided`, which is made of windows; copies of views. Beside
them, functions of diagonals, of triangles, and of differences along an axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.types import FLOATING, TensorType, as_shape, bool_, int64, normalize_axes, normalize_axis, to_float
from ..errors import ArgumentError, ShapeError
from ..ir import Attribute, Layout, Node, View, define
from . import rules as at
from .gathering import bounded, scatter_op
from .indexing import cut
from .operands import dtype_of, extent, extents, integer, ndim_of, operand
from .operators import (
    F,
    Tensor,
    apply,
    composite,
    enter_as,
    frontends,
    in_format,
    numpy_twin,
    routed,
    span_of,
    spelled,
    torch_function,
)
from .ordering import narrowed
from .rearranging import movedim

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


# diagonals and triangles of matrices ----------------------------------------------------------------------------------


@torch_function()
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last axis of `input` along their diagonal; their axes are dim1 and dim2 of the result."""
    n = ndim_of(input) + 1
    a, b = normalize_axis(dim1, n), normalize_axis(dim2, n)
    if a == b:
        raise ArgumentError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    count, offset = extent("diag_embed", input, n - 2), integer("diag_embed", "offset", offset)
    size = count + abs(offset)
    mask = np.eye(size, size, offset, dtype=bool)
    place = np.zeros((size, size), np.int64)
    place[mask] = np.arange(count)
    spread = (
        F.take(input, place, n - 2)
        if count
        else F.zeros_like(F.take(F.concatenate([input, np.zeros((*input.shape[:-1], 1), input.dtype)], n - 2), place, n - 2))
    )
    return movedim(F.where(mask, spread, F.zeros_like(spread)), (-2, -1), (a, b))


@torch_function(np.diag)
def diag(input: Any, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with a vector on its diagonal.

    Examples:
        >>> sg.diag(sg.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    n = ndim_of(input)
    if n == 1:
        return diag_embed(input, diagonal)
    if n != 2:
        raise ShapeError(f"diag(): Supports 1D or 2D tensors. Got {n}D")
    return in_format(F.diagonal(input, diagonal), None)


@torch_function(np.diagflat)
def diagflat(input: Any, offset: int = 0) -> Tensor:
    """The matrix with all elements of `input` on its diagonal."""
    return diag_embed(F.reshape(input, (-1,)), offset)


def _triangle(name: str, twin: Any) -> None:
    def function(input: Any, diagonal: int = 0) -> Tensor:
        n = ndim_of(input)
        if n < 2:
            raise ShapeError(f"{name}: input tensor must have at least 2 dimensions")
        mask = getattr(np, name)(np.ones(extents(name, input, n - 2), bool), integer(name, "diagonal", diagonal))
        return F.where(mask, input, np.zeros((), dtype_of(input)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The elements of matrices on one side of a diagonal, and on it; 0 elsewhere."
    enter_as(name, routed(spelled(function)), inplace=True)
    numpy_twin(twin)(getattr(F, name))


_triangle("tril", np.tril)
_triangle("triu", np.triu)


def _triangle_indices(name: str) -> None:
    def function(
        row: int, col: int, offset: int = 0, *, dtype: Any = np.int64, device: Any = None, layout: Any = None
    ) -> Tensor:
        rows, columns = getattr(np, f"{name[:4]}_indices")(row, offset, col)
        return F.astype(frontends.tensor_class(np.stack([rows, columns]).astype(np.int64)), dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The positions (2, number) of the elements of one triangle of a row x col matrix."
    enter_as(name, function, method=False)


_triangle_indices("tril_indices")
_triangle_indices("triu_indices")


@torch_function(np.vander, method=False)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of a vector as columns, the highest first unless `increasing`; of integers int64."""
    x = F.astype(x, int64) if dtype_of(x).kind in "biu" else x
    count = extent("vander", x, ndim_of(x) - 1) if N is None else N
    exponents = np.arange(count) if increasing else np.arange(count)[::-1].copy()
    return F.pow(F.expand_dims(x, 1), exponents.astype(dtype_of(x)))


@torch_function(np.kron)
def kron(input: Any, other: Any) -> Tensor:
    """The Kronecker product: the blocks input[i] * other."""
    n = max(ndim_of(input), ndim_of(other))
    x, y = (F.expand_dims(v, tuple(range(n - ndim_of(v)))) if ndim_of(v) < n else v for v in (input, other))
    if n == 0:
        return input * other
    wide = F.expand_dims(x, tuple(range(1, 2 * n, 2))) * F.expand_dims(y, tuple(range(0, 2 * n, 2)))
    return F.reshape(wide, tuple(a * b for a, b in zip(extents("kron", x), extents("kron", y), strict=True)))


# differences along an axis, and areas under a curve ------------------------------------------------------------------


@torch_function(np.diff)
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbors along `dim`, taken n times; of booleans, whether they differ."""
    axis = normalize_axis(dim, ndim_of(input))
    n = integer("diff", "n", n)
    if n < 0:
        raise ArgumentError(f"order must be non-negative but got {n}")
    if n == 0:
        return F.clone(input)
    parts = [p for p in (prepend, input, append) if p is not None]
    x = F.concatenate(parts, axis) if len(parts) > 1 else input
    for _ in range(n if x.shape[axis] is None else min_(n, x.shape[axis])):
        high, low = narrowed(x, axis, 1, None), narrowed(x, axis, None, -1)
        x = F.ne(high, low) if dtype_of(x) == bool_ else high - low
    return x


min_ = min


def _steps(y: Any, x: Any, dx: float, axis: int) -> Any:
    """The means of neighbors of y along an axis, times the distances."""
    means = (narrowed(y, axis, 1, None) + narrowed(y, axis, None, -1)) * 0.5
    if x is None:
        return means * dx
    if ndim_of(x) == 1 and ndim_of(y) > 1:
        distance = F.reshape(diff(x), tuple(-1 if i == axis else 1 for i in range(ndim_of(y))))
    else:
        distance = diff(x, dim=dim_of(x, y, axis))
    return means * distance


def dim_of(x: Any, y: Any, axis: int) -> int:
    """The axis of x that is broadcast to that axis of y."""
    return axis - (ndim_of(y) - ndim_of(x))


@torch_function(getattr(np, "trapezoid", None) or np.__dict__["trapz"], method=False, names=("trapz",))
@composite
def trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The area under y along `dim` by the trapezoidal rule, at the places x or at distances dx."""
    axis = normalize_axis(dim, ndim_of(y))
    return F.sum(_steps(y, x, dx, axis), axis)


@torch_function(method=False)
@composite
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The running areas of `trapezoid`."""
    axis = normalize_axis(dim, ndim_of(y))
    return F.cumsum(_steps(y, x, dx, axis), axis)


@torch_function(method=False)
def gradient(input: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Estimates of the derivatives of samples along axes (all unless `dim` names some), one tensor for each.

    Central differences inside, one-sided ones of `edge_order` 1 or 2 at the ends. spacing: the distance of samples (1), one for
    each axis, or a 1-D tensor of places for each. Raises ArgumentError, and ShapeError for axes that are too short.
    """
    if edge_order not in (1, 2):
        raise ArgumentError(f"torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order!r}")
    axes = normalize_axes(dim, ndim_of(input)) if dim is None or isinstance(dim, int) else [
        normalize_axis(d, ndim_of(input)) for d in dim
    ]  # fmt: skip
    if len(set(axes)) != len(axes):
        raise ArgumentError(f"gradient: an axis is named twice in {tuple(axes)}")
    spacing = 1 if spacing is None else spacing
    given = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(axes)
    if len(given) != len(axes):
        raise ArgumentError(f"torch.gradient expected one spacing or one for each of {len(axes)} axes, got {len(given)}")
    x = input if dtype_of(input).kind in FLOATING else F.astype(input, to_float(dtype_of(input)))
    results = []
    for axis, distance in zip(axes, given, strict=True):
        n = extent("gradient", x, axis)
        if n <= edge_order:
            raise ShapeError(f"torch.gradient expected each dimension size to be at least edge_order+1, got {n} along {axis}")
        results.append(_slopes(x, axis, _distances(distance, n, axis, ndim_of(x)), edge_order))
    return tuple(results)


def _distances(spacing: Any, n: int, axis: int, ndim: int) -> Any:
    """Of neighbors: a number, or a tensor that is broadcast along the axis. Raises ShapeError."""
    if ndim_of(spacing) == 0:
        return spacing
    if tuple(spacing.shape) != (n,):
        raise ShapeError(f"torch.gradient expected the places along axis {axis} to be {n}, got shape {tuple(spacing.shape)}")
    return F.reshape(diff(spacing), tuple(-1 if i == axis else 1 for i in range(ndim)))


def _slopes(x: Any, axis: int, h: Any, edge_order: int) -> Any:
    """By parabolas through three neighbors; a number for all distances is the same at each."""

    def part(v: Any, start: int | None, stop: int | None) -> Any:
        return v if ndim_of(v) == 0 else narrowed(v, axis, start, stop)

    steps = (narrowed(x, axis, 1, None) - narrowed(x, axis, None, -1)) / h
    before, after = narrowed(steps, axis, None, -1), narrowed(steps, axis, 1, None)
    left, right = part(h, None, -1), part(h, 1, None)
    inside = (before * right + after * left) / (left + right)
    first, last = narrowed(steps, axis, 0, 1), narrowed(steps, axis, -1, None)
    if edge_order == 2:  # the slope of the parabola at its ends
        first = first + (first - narrowed(inside, axis, 0, 1))
        last = last + (last - narrowed(inside, axis, -1, None))
    return F.concatenate([first, inside, last], axis)
