"""Functions whose results have extents that depend on values, and counts of values. Graphs have those of `sized.py`."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from ..base.types import FLOATING, TensorType, bool_, float64, int64, normalize_axis, shape_text
from ..errors import ArgumentError, DataDependentError, DTypeError, ShapeError, UnknownExtentError
from ..ir import define
from . import return_types
from . import rules as at
from .operands import integer, ndim_of, operand
from .operators import F, Operators, Symbol, Tensor, apply, concrete, frontends, is_tensor, torch_function
from .over_complex import LINEAR
from .rules import keep, one_by_one
from .sized import columns, counts_of, different, in_graph, masked, nonzero_op, runs

REMEDIES = {
    "nonzero": "nonzero_static(x, size=n) has n rows, cut off or filled up",
    "masked_select": "sg.where(mask, x, 0) keeps the shape",
    "unique": "sg.sort(x) keeps the extent",
    "unique_consecutive": "sg.diff(x) != 0 tells where runs end",
    "repeat_interleave": "give repeats as integers",
    "bincount": "sg.zeros(n).index_add(0, x, weights) counts into n places",
}
"""Function -> code with extents that a graph can hold."""


def known(name: str, *operands: Any) -> list[np.ndarray]:
    """The arrays of operands whose values decide extents. Raises DataDependentError for tensors that have none yet."""
    operands = tuple(map(concrete, operands))
    for x in operands:
        if isinstance(x, Symbol):
            raise DataDependentError(
                f"{name}: the extents of the result depend on values; a graph can't hold it",
                f"compute it outside, and pass the result; or write it with fixed extents: {REMEDIES[name]}",
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
    """The positions of elements that are not 0, (number, axes); with as_tuple, a tensor for each axis.

    Examples:
        >>> sg.nonzero(sg.tensor([0, 3, 4]))
        tensor([[1],
                [2]])
    """
    if in_graph(input):
        return columns(input) if as_tuple else apply(nonzero_op, concrete(input))
    (x,) = known("nonzero", input)
    if as_tuple:
        return tuple(made(i) for i in np.nonzero(x if x.ndim else x.reshape(1)))
    return made(np.argwhere(x))


@torch_function()
def argwhere(input: Any) -> Tensor:
    """The positions of elements that are not 0, (number, axes)."""
    return nonzero(input)


def _nonzero_static_eval(x: np.ndarray, size: int, fill: int) -> np.ndarray:
    found = np.argwhere(x)[:size]
    return np.concatenate([found, np.full((size - len(found), x.ndim), fill, np.int64)])


nonzero_static_op = define(
    name="nonzero_static",
    fails=False,
    complex=LINEAR,
    batch=one_by_one,
    attrs={"size": at.integer(0), "fill": at.integer(-(2**63))},
    infer=lambda x, size, fill: TensorType((size, x.ndim), int64),
    eval=_nonzero_static_eval,
    promote=keep,
    doc="The first positions of elements that are not 0, filled up to a number of rows.",
)


@torch_function()
def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Tensor:
    """`nonzero` with `size` rows, cut off or filled up: (size, axes), int64. Raises ArgumentError for a negative size."""
    size, fill = integer("nonzero_static", "size", size), integer("nonzero_static", "fill_value", fill_value)
    if size < 0:
        raise ArgumentError(f"nonzero_static: size has to be at least 0, got {size}")
    return apply(nonzero_static_op, input, size=size, fill=fill)


@torch_function()
def masked_select(input: Any, mask: Any) -> Tensor:
    """The elements where the mask (broadcast) is true, 1-D.

    Examples:
        >>> sg.masked_select(sg.tensor([1.0, 2.0]), sg.tensor([True, False]))
        tensor([1.])
    """
    if in_graph(mask):
        return masked(operand(input), mask)
    (m,) = known("masked_select", mask)
    if m.dtype != bool_:
        raise DTypeError(f"masked_select: expected BoolTensor or ByteTensor for mask, got {m.dtype}")
    shape = np.broadcast_shapes(m.shape, input.shape)
    places = np.flatnonzero(np.broadcast_to(m, shape))
    return F.take(F.reshape(F.broadcast_to(input, shape), (-1,)), places, 0)


@overload
def unique(
    input: Any, sorted: bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...  # fmt: skip


@overload
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]: ...


@torch_function()
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The different elements in order, or the different slices along `dim`; with their places in `input`, and counts.

    Examples:
        >>> sg.unique(sg.tensor([3, 1, 3]))
        tensor([1, 3])
    """
    if in_graph(input):
        return _wanted(*different(input, dim)[:3], return_inverse, return_counts, input, dim)
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
    if in_graph(input):
        return _wanted(*runs(input, dim), return_inverse, return_counts, input, dim)
    (x,) = known("unique_consecutive", input)
    dim = None if dim is None else normalize_axis(dim, x.ndim)
    rows = x.reshape(-1) if dim is None else np.moveaxis(x, dim, 0)
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]).any(tuple(range(1, rows.ndim)))
    inverse = np.cumsum(new) - 1
    counts = np.bincount(inverse, minlength=0) if len(rows) else np.zeros(0, np.int64)
    values = rows[new] if dim is None else np.moveaxis(rows[new], 0, dim)
    return _several(values, inverse.reshape(x.shape) if dim is None else inverse, counts, return_inverse, return_counts)


def _wanted(values: Any, inverse: Any, counts: Any, with_inverse: bool, with_counts: bool, x: Any, dim: int | None) -> Any:
    """What is asked for, in a graph."""
    if with_inverse and dim is None and ndim_of(x) != 1:
        inverse = F.reshape_as(inverse, x)
    found = (values, *([inverse] if with_inverse else []), *([counts] if with_counts else []))
    return found if len(found) > 1 else values


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
    """How often each integer from 0 occurs, or the sum of its weights. Raises DTypeError, ArgumentError.

    Examples:
        >>> sg.bincount(sg.tensor([0, 2, 2]))
        tensor([1, 0, 2])
    """
    if in_graph(input, *([] if weights is None else [weights])):
        if isinstance(minlength, bool) or not isinstance(minlength, (int, np.integer)) or minlength < 0:
            raise ArgumentError(f"bincount: minlength should be an integer >= 0, got {minlength!r}")
        return counts_of(operand(input), None if weights is None else operand(weights), int(minlength))
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
    return made(found if given is None else found.astype(given.dtype if given.dtype.kind in FLOATING else np.float64))


def _histc_eval(x: np.ndarray, bins: int, low: float, high: float) -> np.ndarray:
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = low - 1, high + 1
    if not np.isfinite([low, high]).all() or low > high:
        raise ArgumentError(f"histc: range of [{low}, {high}] is not finite or not ascending")
    counts, _ = np.histogram(x[(x >= low) & (x <= high)].astype(np.float64), bins, (low, high))
    return counts.astype(x.dtype)


histc_op = define(
    name="histc",
    batch=one_by_one,
    attrs={"bins": at.integer(1), "low": at.number, "high": at.number},
    infer=lambda x, bins, low, high: TensorType((bins,), x.dtype),
    eval=_histc_eval,
    promote=keep,
    doc="How many elements lie in each of the equal intervals from low to high.",
)


@torch_function()
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of `bins` equal intervals from min to max (of the input when both are equal): (bins,), in
    the dtype of the input. Raises ArgumentError for a range that is not finite or not ascending."""
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise ArgumentError(f"histc: bins must be > 0, but got {bins!r}")
    low, high = float(min), float(max)
    if low != high and not (np.isfinite([low, high]).all() and low < high):
        raise ArgumentError(f"histc: range of [{low}, {high}] is not finite or not ascending")
    return apply(histc_op, input, bins=int(bins), low=low, high=high)


def _check_ordered(name: str, x: Any) -> None:
    if x.dtype.kind == "c":
        raise DTypeError(f"{name}: not implemented for {x.dtype}, which has no order", "count x.real and x.imag, or abs(x)")


def _equal_edges(x: Any, bins: int, limits: Any) -> Any:
    """The edges of equal intervals between two numbers, or those from the least to the largest element of a symbol, as NumPy's
    `linspace` has them."""
    if limits is not None or 0 in x.shape:
        low, high = limits if limits is not None else (0.0, 1.0)
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        return F.astype(made(np.linspace(low, high, bins + 1)), x.dtype)
    ends = F.astype(F.amin(x), float64), F.astype(F.amax(x), float64)
    spread = F.where(F.eq(*ends), 0.5, 0.0)
    low, high = F.sub(ends[0], spread), F.add(ends[1], spread)
    inner = F.add(F.mul(made(np.arange(bins, dtype=np.float64)), F.div(F.sub(high, low), bins)), low)
    return F.astype(F.concatenate([inner, F.expand_dims(high, 0)]), x.dtype)


def _counted(columns: list[Any], edges: list[Any], weight: Any, density: bool) -> Any:
    """Counts of points in the cells of a grid, in a graph: columns of their places along each axis, and the edges there. No
    gradient flows through them, nor through weights, as in eager mode."""
    if any(e.shape[0] is None for e in edges):
        raise UnknownExtentError(
            "histogram: the number of edges has to be known in a graph", "give the number of bins, or edges of a known extent"
        )
    shape = tuple(e.shape[0] - 1 for e in edges)
    place: Any = 0
    inside: Any = True
    for x, e, n in zip(columns, edges, shape, strict=True):
        cell = F.sub(F.searchsorted(e, x, right=True), 1)
        place = F.add(F.mul(place, n), F.where(F.eq(x, F.getitem(e, -1)), n - 1, cell))
        inside = F.logical_and(F.logical_and(F.ge(x, F.getitem(e, 0)), F.le(x, F.getitem(e, -1))), inside)
    total = math.prod(shape)
    ones = F.ones_like(columns[0]) if weight is None else F.stop_gradient(F.reshape(weight, (-1,)))
    ones = F.astype(ones, float64)
    cells = F.where(inside, place, total)  # one more cell, of what lies outside
    found = F.reshape(F.getitem(F.index_add(made(np.zeros(total + 1)), 0, cells, ones), slice(0, total)), shape)
    if density:
        found = F.div(found, F.sum(found))
        for i, e in enumerate(edges):
            found = F.div(found, F.reshape(F.astype(F.diff(e), float64), tuple(-1 if k == i else 1 for k in range(len(shape)))))
    return F.astype(found, columns[0].dtype)


def _a_symbol(*values: Any) -> bool:
    """Whether one of the operands has no value yet."""
    return any(isinstance(concrete(v), Symbol) for v in values)


@torch_function()
def histogram(input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> return_types.histogram:
    """The named tuple (hist, bin_edges): `bins` is a number of equal intervals or their edges, which graphs take to be
    ascending."""
    if _a_symbol(input, bins, weight):
        row = F.stop_gradient(F.reshape(concrete(input), (-1,)))
        _check_ordered("histogram", row)
        if isinstance(bins, (int, np.integer)) and bins < 1:
            raise ArgumentError(f"histogram: bins must be > 0, but got {bins}")
        whole = _equal_edges(row, int(bins), range) if isinstance(bins, (int, np.integer)) else F.astype(bins, row.dtype)
        return return_types.histogram(_counted([row], [whole], weight, density), whole)
    (x,) = known("histogram", input)
    _check_ordered("histogram", x)
    edges = known("histogram", bins)[0] if isinstance(bins, Operators) else bins
    given = None if weight is None else known("histogram", weight)[0].reshape(-1)
    if isinstance(edges, (int, np.integer)) and not isinstance(edges, bool):
        if edges < 1:
            raise ArgumentError(f"histogram: bins must be > 0, but got {edges}")
        low, high = range if range is not None else ((float(x.min()), float(x.max())) if x.size else (0.0, 1.0))
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        edges = np.linspace(low, high, edges + 1, dtype=x.dtype)
    flat = x.reshape(-1)
    edges = np.asarray(edges, x.dtype)
    if edges.ndim != 1 or len(edges) < 2 or not (edges[1:] >= edges[:-1]).all():
        raise ArgumentError("histogram: bins is a number of intervals, or their edges, ascending", f"got {bins!r}")
    counts, edges = np.histogram(flat, edges, weights=given, density=density)
    return return_types.histogram(made(counts.astype(x.dtype)), made(edges.astype(x.dtype)))


@torch_function(method=False)
def histogramdd(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False
) -> return_types.histogramdd:
    """Counts of points (number, d) in a grid, and the edges of the grid along each of the d axes.

    bins: the intervals of each axis, one number for all of them, or a sequence of edges. range: low and high of each axis, one
    after the other. Raises ArgumentError for bins or a range that don't fit, and for fewer than two axes; graphs take edges to
    be ascending.
    """
    if _a_symbol(input, weight, *(bins if isinstance(bins, (list, tuple)) else ())):
        return _grid_in_graph(F.stop_gradient(concrete(input)), bins, range, weight, density)
    (x,) = known("histogramdd", input)
    _check_ordered("histogramdd", x)
    if x.ndim < 2:
        raise ArgumentError("torch.histogramdd: input tensor should have at least 2 dimensions", f"got {shape_text(x.shape)}")
    points = x.reshape(-1, x.shape[-1])
    axes = points.shape[1]
    given = None if weight is None else known("histogramdd", weight)[0].reshape(-1)
    if isinstance(bins, (list, tuple)) and bins and isinstance(bins[0], Operators):
        edges: Any = known("histogramdd", *bins)
    else:
        counts = [int(bins)] * axes if isinstance(bins, (int, np.integer)) else [int(n) for n in bins]
        limits = _limits(points, range)
        edges = [np.linspace(a, b, n + 1, dtype=x.dtype) for n, (a, b) in zip(counts, limits, strict=False)]
    if len(edges) != axes:
        raise ArgumentError(f"histogramdd: expected {axes} numbers of bins or sequences of edges, got {len(edges)}")
    if any(e.ndim != 1 or len(e) < 2 or not (e[1:] >= e[:-1]).all() for e in edges):
        raise ArgumentError("histogramdd: bins are numbers of intervals, or their edges, ascending")
    found, _ = np.histogramdd(points, edges, weights=given, density=density)
    return return_types.histogramdd(made(found.astype(x.dtype)), tuple(made(e.astype(x.dtype)) for e in edges))


def _grid_in_graph(x: Any, bins: Any, range: Any, weight: Any, density: bool) -> return_types.histogramdd:
    _check_ordered("histogramdd", x)
    if x.ndim < 2:
        raise ArgumentError("torch.histogramdd: input tensor should have at least 2 dimensions", f"got {shape_text(x.shape)}")
    axes = x.shape[-1]
    if axes is None:
        raise UnknownExtentError("histogramdd: the number of axes has to be known in a graph")
    points = F.reshape(x, (-1, axes))
    columns = [F.getitem(points, (slice(None), i)) for i in np.arange(axes).tolist()]
    given = [bins] * axes if isinstance(bins, (int, np.integer)) else list(bins)
    if len(given) != axes:
        raise ArgumentError(f"histogramdd: expected {axes} numbers of bins or sequences of edges, got {len(given)}")
    limits = [None] * axes if range is None else _limits(np.zeros((0, axes)), range)
    edges = [
        _equal_edges(c, int(b), pair) if isinstance(b, (int, np.integer)) else F.astype(b, x.dtype)
        for c, b, pair in zip(columns, given, limits, strict=True)
    ]
    return return_types.histogramdd(_counted(columns, edges, weight, density), tuple(edges))


def _limits(points: np.ndarray, given: Any) -> list[tuple[float, float]]:
    """The lowest and highest place of each axis. Raises ArgumentError for a range of another length."""
    axes = points.shape[1]
    if given is not None:
        values = [float(v) for v in given]
        if len(values) != 2 * axes:
            raise ArgumentError(f"histogramdd: range has to have {2 * axes} elements, got {len(values)}")
        return list(zip(values[::2], values[1::2], strict=True))
    lows, highs = (points.min(0), points.max(0)) if len(points) else (np.zeros(axes), np.ones(axes))
    return [(float(a) - 0.5 * (a == b), float(b) + 0.5 * (a == b)) for a, b in zip(lows, highs, strict=True)]
