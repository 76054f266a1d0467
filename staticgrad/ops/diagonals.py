"""Diagonals and triangles of matrices; differences along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.types import FLOATING, bool_, int64, normalize_axes, normalize_axis, to_float
from ..errors import ArgumentError, ShapeError
from .operands import dtype_of, extent, extents, integer, ndim_of
from .operators import F, Tensor, composite, enter_as, frontends, in_format, numpy_twin, routed, spelled, torch_function
from .ordering import narrowed
from .rearranging import movedim
from .strided_views import diagonal as _diagonal


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
    return in_format(_diagonal(input, diagonal), None)


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
