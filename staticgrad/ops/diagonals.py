"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.types import int64, normalize_axis
from ..errors import ArgumentError, ShapeError
from ..operators import F, Tensor, enter_as, frontends, numpy_twin, routed, spelled, torch_function
from .operands import dtype_of, extent, extents, integer, ndim_of
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
    return F.clone(_diagonal(input, diagonal))


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
        result: Tensor = input * other
        return result
    wide = F.expand_dims(x, tuple(range(1, 2 * n, 2))) * F.expand_dims(y, tuple(range(0, 2 * n, 2)))
    return F.reshape(wide, tuple(a * b for a, b in zip(extents("kron", x), extents("kron", y), strict=True)))
