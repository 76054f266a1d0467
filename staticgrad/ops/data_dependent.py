"""Functions whose results have extents that depend on values, and counts of values. They need values, so no graph has them."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from ..errors import ArgumentError, DTypeError, ShapeError
from ..operators import F, Operators, Symbol, Tensor, concrete, frontends, is_tensor, torch_function
from ..types import bool_, normalize_axis, shape_text
from . import return_types
from .operands import integer


def known(name: str, *operands: Any) -> list[np.ndarray]:
    """The arrays of operands whose values decide extents. Raises ArgumentError for tensors that have none yet."""
    operands = tuple(map(concrete, operands))
    for x in operands:
        if isinstance(x, Symbol):
            raise ArgumentError(
                f"{name}: the extents of the result depend on values; a graph can't hold it",
                "compute it outside, and pass the result; or use a mask, sg.where(mask, x, 0)",
            )
    return [np.asarray(x.detach().numpy() if is_tensor(x) else x) for x in operands]


def made(array: Any) -> Any:
    """A tensor of an array that the host computed."""
    return frontends.tensor_class(np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array))


@overload
def nonzero(input: Any, *, as_tuple: Literal[False] = False) -> Tensor: ...


@overload
def nonzero(input: Any, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...


@torch_function()
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The positions of elements that are not 0, (number, axes); with as_tuple, a tensor for each axis. Eager only."""
    (x,) = known("nonzero", input)
    if as_tuple:
        return tuple(made(i) for i in np.nonzero(x if x.ndim else x.reshape(1)))
    return made(np.argwhere(x))


@torch_function()
def argwhere(input: Any) -> Tensor:
    """The positions of elements that are not 0, (number, axes). Eager only."""
    return nonzero(input)


@torch_function(method=False)
def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Tensor:
    """`nonzero` with `size` rows: cut off, or filled up."""
    (x,) = known("nonzero_static", input)
    size = integer("nonzero_static", "size", size)
    found = np.argwhere(x)[:size]
    rest = np.full((size - len(found), x.ndim), fill_value, np.int64)
    result: Tensor = made(np.concatenate([found, rest]))
    return result


@torch_function()
def masked_select(input: Any, mask: Any) -> Tensor:
    """The elements where the mask (broadcast) is true, 1-D. Eager only, as its extent depends on values."""
    (m,) = known("masked_select", mask)
    if m.dtype != bool_:
        raise DTypeError(f"masked_select: expected BoolTensor or ByteTensor for mask, got {m.dtype}")
    shape = np.broadcast_shapes(m.shape, input.shape)
    places = np.flatnonzero(np.broadcast_to(m, shape))
    return F.take(F.reshape(F.broadcast_to(input, shape), (-1,)), places, 0)


@overload
def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...


@overload
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]: ...


@torch_function()
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The different elements in order, or the different slices along `dim`; with their places in `input`, and counts."""
    (x,) = known("unique", input)
    values, inverse, counts = np.unique(
        x.reshape(-1) if dim is None else x, return_inverse=True, return_counts=True, axis=dim, equal_nan=False
    )
    inverse = inverse.reshape(x.shape) if dim is None else inverse.reshape(-1)
    return _several(values, inverse, counts, return_inverse, return_counts)


@overload
def unique_consecutive(
    input: Any, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: int | None = None
) -> Tensor: ...


@overload
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]: ...


@torch_function()
def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The elements, or slices along `dim`, of which each run of equal ones is one; with their places and counts."""
    (x,) = known("unique_consecutive", input)
    dim = None if dim is None else normalize_axis(dim, x.ndim)
    rows = x.reshape(-1, 1) if dim is None else np.moveaxis(x, dim, 0)
    flat = rows.reshape(len(rows), -1)
    new = np.ones(len(flat), bool)
    new[1:] = (flat[1:] != flat[:-1]).any(1)
    inverse = np.cumsum(new) - 1
    counts = np.bincount(inverse, minlength=0) if len(flat) else np.zeros(0, np.int64)
    values = rows[new].reshape(-1) if dim is None else np.moveaxis(rows[new], 0, dim)
    return _several(values, inverse.reshape(x.shape) if dim is None else inverse, counts, return_inverse, return_counts)


def _several(values: Any, inverse: Any, counts: Any, with_inverse: bool, with_counts: bool) -> Any:
    results = [
        values,
        *([inverse.astype(np.int64)] if with_inverse else []),
        *([counts.astype(np.int64)] if with_counts else []),
    ]
    tensors = tuple(map(made, results))
    return tensors if len(tensors) > 1 else tensors[0]


@torch_function()
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 occurs, or the sum of its weights. Eager only. Raises DTypeError, ArgumentError."""
    (x,) = known("bincount", input)
    if x.dtype.kind not in "iu" or x.ndim != 1:
        raise DTypeError(f"bincount only supports 1-d non-negative integral inputs, got {x.dtype} {shape_text(x.shape)}")
    if x.size and x.min() < 0:
        raise ArgumentError("bincount only supports 1-d non-negative integral inputs.")
    given = None if weights is None else known("bincount", weights)[0]
    if given is not None and given.shape != x.shape:
        raise ShapeError("bincount: weights should be 1-d and have the same length as input", f"got {shape_text(given.shape)}")
    if isinstance(minlength, bool) or not isinstance(minlength, (int, np.integer)) or minlength < 0:
        raise ArgumentError(f"bincount: minlength should be an integer >= 0, got {minlength!r}")
    found = np.bincount(x, given, minlength)
    result: Tensor = made(found if given is None else found.astype(given.dtype if given.dtype.kind == "f" else np.float64))
    return result


@torch_function()
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of `bins` equal intervals from min to max (of the input when both are 0)."""
    (x,) = known("histc", input)
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise ArgumentError(f"histc: bins must be > 0, but got {bins!r}")
    low, high = float(min), float(max)
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = low - 1, high + 1
    if not np.isfinite([low, high]).all() or low > high:
        raise ArgumentError(f"histc: range of [{low}, {high}] is not finite or not ascending")
    counts, _ = np.histogram(x[(x >= low) & (x <= high)].astype(np.float64), int(bins), (low, high))
    result: Tensor = made(counts.astype(x.dtype))
    return result


@torch_function()
def histogram(input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> return_types.histogram:
    """The named tuple (hist, bin_edges): `bins` is a number of equal intervals or their edges."""
    (x,) = known("histogram", input)
    edges = known("histogram", bins)[0] if isinstance(bins, Operators) else bins
    given = None if weight is None else known("histogram", weight)[0].reshape(-1)
    if isinstance(edges, (int, np.integer)) and not isinstance(edges, bool):
        if edges < 1:
            raise ArgumentError(f"histogram: bins must be > 0, but got {edges}")
        low, high = range if range is not None else ((float(x.min()), float(x.max())) if x.size else (0.0, 0.0))
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        edges = np.linspace(low, high, edges + 1, dtype=x.dtype)
    flat = x.reshape(-1)
    edges = np.asarray(edges, x.dtype)
    if edges.ndim != 1 or len(edges) < 2 or not (edges[1:] >= edges[:-1]).all():
        raise ArgumentError("histogram: bins is a number of intervals, or their edges, ascending", f"got {bins!r}")
    counts, edges = np.histogram(flat, edges, weights=given, density=density)
    return return_types.histogram(made(counts.astype(x.dtype)), made(edges.astype(x.dtype)))
