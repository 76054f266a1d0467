"""Positions whose number depends on values, and what follows from them in a graph.

Each record here has a type with an open extent, which the run decides (`OpDef.sized`). All else that has such extents is
written in gathers and sums over these positions, so gradients of every order are those of gathers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.types import FLOATING, TensorType, bool_, broadcast_shapes, float64, int64
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ir import OpDef, define
from . import rules as at
from .gathering import bounded, index_add_op
from .operands import ndim_of, operand
from .operators import F, Symbol, apply, concrete
from .over_complex import LINEAR
from .rules import keep, one_by_one


def in_graph(*operands: Any) -> bool:
    """Whether operands are tensors of a graph whose runs decide about extents."""
    return any(isinstance(x := concrete(each), Symbol) and x.graph.sized for each in operands)


def _sized(name: str, infer: Callable[..., TensorType], eval: Callable[..., np.ndarray], doc: str, fails: bool) -> OpDef:
    return define(
        name=name, sized=True, fails=fails, complex=LINEAR, stored=True, batch=one_by_one, infer=infer, eval=eval, promote=keep,
        doc=doc,
    )  # fmt: skip


def _row(*types: TensorType) -> TensorType:
    return TensorType((None,), int64)


nonzero_op = _sized(
    "nonzero", lambda x: TensorType((None, x.ndim), int64), lambda x: np.argwhere(x),
    "The positions of elements that are not 0, (number, axes), in row-major order.", False,
)  # fmt: skip
positions_op = _sized(
    "positions", lambda x: _row(x), lambda x: np.flatnonzero(x).astype(int64, copy=False),
    "The positions of elements that are not 0 in the flattened operand.", False,
)  # fmt: skip


def _repeated(counts: np.ndarray) -> np.ndarray:
    if counts.size and counts.min() < 0:
        raise ArgumentError("repeats can not be negative")
    return np.repeat(np.arange(counts.size, dtype=np.int64), counts.reshape(-1))


repeated_op = _sized("repeated", lambda counts: _row(counts), _repeated, "0, 1, 2, ..., each so often in a row.", True)


def _counted(n: np.ndarray) -> np.ndarray:
    if n < 0:
        raise ArgumentError(f"a length has to be at least 0, got {int(n)}")
    return np.arange(int(n), dtype=np.int64)


def _one_number(n: TensorType) -> TensorType:
    if n.ndim or n.dtype.kind not in "iu":
        raise DTypeError(f"a length is an integer without axes, got {n}")
    return _row(n)


counted_op = _sized("counted", _one_number, _counted, "0, 1, ... up to a number, without it.", True)


END = 2**62
"""The position after all elements of an axis."""


def _sliced(x: np.ndarray, start: np.ndarray, stop: np.ndarray, axis: int, step: int) -> np.ndarray:
    return np.arange(*slice(int(start), int(stop), step).indices(x.shape[axis]), dtype=np.int64)


sliced_op = define(
    name="sliced",
    sized=True,
    fails=False,
    batch=one_by_one,
    attrs={"axis": at.axis_of(0), "step": at.integer(-(2**62))},
    infer=lambda x, start, stop, axis, step: _row(_one_number(start), _one_number(stop)),
    eval=_sliced,
    shape_only=(0,),
    promote=keep,
    doc="The positions along an axis that a slice names.",
)


def sliced(x: Any, axis: int, key: slice) -> Any:
    """x[key] along an axis, for a slice whose bounds are integers of the run."""
    step = 1 if key.step is None else int(key.step)
    ends = (0, END) if step > 0 else (END, -END)
    start, stop = (
        F.astype(operand(end if p is None else concrete(p)), int64) for p, end in zip((key.start, key.stop), ends, strict=True)
    )
    return F.take(x, apply(sliced_op, x, start, stop, axis=axis, step=step), axis)


def narrowed(x: Any, axis: int, start: Any, length: Any) -> Any:
    """So many elements along an axis, from one of them on."""
    steps = apply(counted_op, F.astype(concrete(length), int64)) if in_graph(length) else np.arange(length, dtype=np.int64)
    return F.take(x, steps + (F.astype(concrete(start), int64) if in_graph(start) else start), axis)


def masked(x: Any, mask: Any) -> Any:
    """The elements of x, flattened, where a mask holds; both are broadcast."""
    if mask.dtype != bool_:
        raise DTypeError(f"masked_select: expected BoolTensor or ByteTensor for mask, got {mask.dtype}")
    if x.shape != mask.shape:
        broadcast_shapes(x.shape, mask.shape)
        mask = F.logical_or(mask, F.zeros_like(x, dtype=bool_))
        x = F.broadcast_like(x, mask)
    return F.take(F.reshape(x, (-1,)), apply(positions_op, concrete(mask)), 0)


def leading(x: Any, mask: Any) -> Any:
    """The slices of x where a mask of its first axes holds."""
    axes = ndim_of(mask)
    rows = x if axes == 1 else F.reshape(x, (-1, *x.shape[axes:]))
    return F.take(rows, apply(positions_op, concrete(mask)), 0)


def mask_keys(mask: Any) -> list[Any]:
    """The positions where a mask holds, along each of its axes."""
    mask = concrete(mask)
    return [apply(positions_op, mask)] if ndim_of(mask) < 2 else list(F.unbind(apply(nonzero_op, mask), 1))


def columns(x: Any) -> tuple[Any, ...]:
    """The positions of elements that are not 0, along each axis."""
    return tuple(F.unbind(apply(nonzero_op, concrete(x) if ndim_of(x) else F.reshape(concrete(x), (1,))), 1))


def _slices(x: Any, dim: int | None) -> Any:
    """What is compared, along the first axis of it."""
    return F.reshape(x, (-1,)) if dim is None else F.moveaxis(x, dim, 0)


def _differs(rows: Any) -> Any:
    """Which slices along the first axis differ from the one before; the first one does."""
    place = F.reshape(F.index_along(rows, 0), (-1,))
    unequal = F.ne(rows, F.take(rows, F.maximum(place - 1, 0), 0))
    if ndim_of(rows) > 1:
        unequal = F.any(unequal, tuple(range(1, ndim_of(rows))))
    return F.logical_or(unequal, F.eq(place, 0))


def runs(x: Any, dim: int | None) -> tuple[Any, Any, Any]:
    """Of each run of equal elements, or slices along an axis, the first; the number of each one's run; the lengths."""
    rows = _slices(x, dim)
    new = _differs(rows)
    first = apply(positions_op, new)
    number = F.cumsum(F.astype(new, int64), 0) - 1
    values = F.take(rows, first, 0)
    ones = F.ones_like(number)
    counts = F.index_add(F.zeros_like(first), 0, number, ones)
    return (values if dim is None else F.moveaxis(values, 0, dim)), number, counts


def different(x: Any, dim: int | None) -> tuple[Any, Any, Any, Any]:
    """The different elements, or slices along an axis, in order; which of them each one is; how often each occurs, and where
    first."""
    rows = _slices(F.stop_gradient(x) if x.dtype.kind in FLOATING else x, dim)
    order = F.argsort(rows, 0, stable=True) if ndim_of(rows) == 1 else apply(lexicographic_op, rows)
    sorted_rows = F.take(rows, order, 0)
    values, number, counts = runs(sorted_rows, 0)
    inverse = F.index_copy(F.zeros_like(number), 0, order, number)
    first = F.take(order, apply(positions_op, _differs(sorted_rows)), 0)
    return (values if dim is None else F.moveaxis(values, 0, dim)), inverse, counts, first


def _lexicographic(x: np.ndarray) -> np.ndarray:
    flat = x.reshape(len(x), -1)
    return np.lexsort(flat.T[::-1]) if flat.shape[1] else np.arange(len(x))


lexicographic_op = define(
    name="lexicographic",
    fails=False,
    stored=True,
    batch=one_by_one,
    infer=lambda x: TensorType(x.shape[:1], int64),
    eval=lambda x: _lexicographic(x).astype(int64, copy=False),
    promote=keep,
    doc="The order of slices along the first axis, which are compared element by element.",
)


def counts_of(x: Any, weights: Any, least: int) -> Any:
    """How often each integer from 0 occurs, or the sum of its weights."""
    if x.dtype.kind not in "iu" or ndim_of(x) != 1:
        raise DTypeError(f"bincount only supports 1-d non-negative integral inputs, got {x.dtype} with {ndim_of(x)} axes")
    x = F.astype(concrete(x), int64)
    highest = F.max(F.concatenate([x, np.full(1, least - 1, np.int64)], 0))
    number = apply(counted_op, highest + 1)
    if weights is None:
        values = F.ones_like(x)
    else:
        if weights.shape != x.shape and None not in (*weights.shape, *x.shape):
            raise ShapeError("bincount: weights should be 1-d and have the same length as input", f"got {weights.shape}")
        values = F.stop_gradient(F.astype(weights, weights.dtype if weights.dtype.kind in FLOATING else float64))
    start = F.zeros_like(number, dtype=values.dtype)
    return apply(index_add_op, start, values, bounded(x, start, 0, negative=False))


def repeated(x: Any, repeats: Any, axis: int) -> Any:
    """Each slice of x along an axis so often in a row."""
    if repeats.dtype.kind not in "iu":
        raise DTypeError(f"repeat_interleave(): repeats has to be an integer, or several, got {repeats.dtype}", "use integers")
    whole, count = x.shape[axis], None if None in repeats.shape else int(np.prod(repeats.shape))
    if whole is not None and count not in (1, whole, None):
        raise ShapeError(f"repeats must have the same size as input along dim, got {count} for {whole}")
    counts = F.reshape(concrete(repeats), (-1,))
    if count != whole or count is None:  # one for all, or what the run compares
        counts = F.broadcast_like(counts, F.reshape(F.index_along(x, axis), (-1,)))
    return F.take(x, apply(repeated_op, counts), axis)
