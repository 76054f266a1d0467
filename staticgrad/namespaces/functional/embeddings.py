"""Rows of tables by index, and bags of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.types import int64, shape_text
from ...eager import no_grad
from ...errors import ArgumentError, GraphError, ShapeError
from ...ops.gathering import bounded, gather_op, scatter_op
from ...ops.indexing import one_hot as one_hot_of_kind
from ...ops.linear_algebra.products import vector_norm
from ...ops.operands import operand
from ...ops.operators import F, Symbol, Tensor, TensorLike, apply, routed, spelled, state
from ...ops.ordering import along
from ...ops.scatter_reductions import reduced


@routed
@spelled
def embedding(
    input: TensorLike, weight: TensorLike, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Rows of `weight` (entries, features) by integer index of any shape: (*input.shape, features).

    padding_idx: the entry that gets no gradient, counted from the end if negative. max_norm: rows that are named and whose
    norm is larger are first scaled down to it, in the weight itself. scale_grad_by_freq: gradients of an entry are divided by
    how often it is named. sparse is accepted: compiled steps never make the whole gradient where an optimizer can take its
    rows. Raises DTypeError for an index that is not integer, IndexRangeError for one outside [0, entries), ArgumentError for
    such a padding_idx, GraphError for max_norm in a graph.

    Examples:
        >>> F.embedding(sg.tensor([2, 0]), sg.tensor([[1.0], [2.0], [3.0]]))
        tensor([[3.],
                [1.]])
    """
    index, weight = operand(input), operand(weight)
    if len(weight.shape) != 2:
        raise ShapeError(f"embedding: the weight needs two axes, got {shape_text(weight.shape)}")
    place = bounded(index, weight, 0, negative=False)
    if max_norm is not None:
        _renormalize(weight, place, float(max_norm), float(norm_type))
    rows = apply(gather_op, weight, place, axis=0)
    if scale_grad_by_freq:
        share = 1 / F.expand_dims(F.take(_counts(weight, place), place, 0), len(index.shape))
        rows = F.stop_gradient(rows) + (rows - F.stop_gradient(rows)) * share
    if padding_idx is None:
        return rows
    padding = F.expand_dims(index == padding_entry(padding_idx, weight.shape[0]), len(index.shape))
    return F.where(padding, F.stop_gradient(rows), rows)


def _counts(weight: Any, place: Any) -> Any:
    """How often each entry is named, in the weight's dtype: (entries,)."""
    like = F.stop_gradient(weight[:, 0])
    flat = F.reshape(place, (-1,))
    return apply(scatter_op, F.astype(F.ones_like(flat), weight.dtype), like, flat, axis=0)


def _renormalize(weight: Any, place: Any, most: float, p: float) -> None:
    """Scale the rows that are named down to norm `most`, in place, without a gradient."""
    if (isinstance(weight, Symbol) and state.tracer is None) or (isinstance(place, Symbol) and state.tracer is None):
        raise GraphError("embedding: max_norm changes the weight in place, which a graph can't", "normalize rows in the step")
    with no_grad():
        size = vector_norm(weight, p, 1, True)
        named = F.expand_dims(_counts(weight, place) > 0, 1)
        weight.copy_(F.where(F.logical_and(named, size > most), weight * (most / (size + 1e-7)), weight))


def padding_entry(padding_idx: Any, entries: int | None) -> int:
    """Which entry of a table is padding. Raises ArgumentError."""
    if isinstance(padding_idx, bool) or not isinstance(padding_idx, (int, np.integer)):
        raise ArgumentError(f"embedding: padding_idx has to be an integer or None, got {padding_idx!r}")
    if entries is None or not -entries <= padding_idx < entries:
        raise ArgumentError(f"embedding: padding_idx must be within the {entries} entries, got {padding_idx}")
    return int(padding_idx) % entries


@spelled
def embedding_bag(
    input: TensorLike, weight: TensorLike, offsets: TensorLike | None = None, max_norm: float | None = None,
    norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: TensorLike | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """The sum, mean or maximum of the rows of `weight` (entries, features) in each bag: (bags, features).

    input: integers (bags, n), or (n,) with `offsets` (bags,), where each bag begins, ascending from 0; an empty bag gives
    0. include_last_offset: the last offset is where the last bag ends. padding_idx: an entry that counts in no bag.
    per_sample_weights: of the input's shape, for mode "sum", multiply the rows. max_norm, norm_type, scale_grad_by_freq and
    sparse: as for `embedding`. Where the mean or sum of (bags, n) is compiled, the rows are added up as they are read. Raises
    DTypeError, IndexRangeError, ShapeError, and ArgumentError for another mode.

    Examples:
        >>> F.embedding_bag(sg.tensor([[0, 1]]), sg.tensor([[1.0, 2.0], [3.0, 4.0]]), mode="sum")
        tensor([[4., 6.]])
    """
    index, weight = operand(input), operand(weight)
    if mode not in ("sum", "mean", "max"):
        raise ArgumentError(f"embedding_bag: mode has to be one of sum, mean or max, got {mode!r}")
    if len(index.shape) != (2 if offsets is None else 1):
        raise ShapeError(
            f"embedding_bag: input has to be a 2D Tensor, or a 1D Tensor with offsets, got {shape_text(index.shape)}"
            + ("" if offsets is None else " with offsets")
        )
    if mode != "sum" and per_sample_weights is not None:
        raise ArgumentError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode={mode!r})"
        )
    if scale_grad_by_freq and mode == "max":
        raise ArgumentError("max mode does not support scaling the gradient by the frequency")
    rows = embedding(index, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * F.expand_dims(operand(per_sample_weights), len(index.shape))
    counted: Any = None
    if padding_idx is not None:
        counted = F.ne(index, padding_entry(padding_idx, weight.shape[0]))
    if offsets is None:
        return _rectangular(rows, counted, mode)
    return _ragged(rows, counted, weight, operand(offsets), mode, include_last_offset)


def _rectangular(rows: Any, counted: Any, mode: str) -> Tensor:
    if counted is None:
        return F.max(rows, 1).values if mode == "max" else getattr(F, mode)(rows, 1)
    mask = F.expand_dims(counted, 2)
    if mode == "max":
        return _largest(F.where(mask, rows, -np.inf), mask, 1)
    total = F.sum(F.where(mask, rows, 0), 1)
    if mode == "sum":
        return total
    number = F.expand_dims(F.sum(F.astype(counted, rows.dtype), 1), 1)
    return total / F.maximum(number, 1)


def _largest(rows: Any, mask: Any, axis: int) -> Tensor:
    """The first of the largest rows; 0 where there is none."""
    best = F.max(rows, axis).values
    return F.where(F.any(mask, axis), best, 0)


def _ragged(rows: Any, counted: Any, weight: Any, offsets: Any, mode: str, include_last: bool) -> Tensor:
    if len(offsets.shape) != 1:
        raise ShapeError(f"offsets has to be a 1D Tensor, but got {shape_text(offsets.shape)}")
    starts = offsets[:-1] if include_last else offsets
    ends = offsets[1:] if include_last else None
    position = F.reshape(F.index_along(rows, 0), (-1,))
    bag = F.searchsorted(starts, position, right=True) - 1
    present = counted
    if ends is not None:
        before_end = position < ends[-1:]
        present = before_end if present is None else F.logical_and(present, before_end)
    if mode == "max":
        return _largest_of_bags(rows, bag, F.take(weight, F.zeros_like(starts), 0), present)
    if present is not None:
        rows = F.where(F.expand_dims(present, 1), rows, 0)
    total = F.index_add(F.zeros_like(F.take(weight, F.zeros_like(starts), 0)), 0, bag, rows)
    if mode == "sum":
        return total
    ones = F.astype(F.ones_like(bag) if present is None else present, total.dtype)
    number = F.index_add(F.astype(F.zeros_like(starts), total.dtype), 0, bag, ones)
    return total / F.expand_dims(F.maximum(number, 1), 1)


def _largest_of_bags(rows: Any, bag: Any, like: Any, present: Any) -> Tensor:
    """The first of the largest elements of each bag's rows, in the shape of `like`; 0 where there is none."""
    index, none = F.broadcast_like(F.expand_dims(bag, 1), rows), np.iinfo(int64).max
    if present is not None:
        rows = F.where(F.expand_dims(present, 1), rows, -np.inf)
    best = reduced(F.full_like(like, -np.inf), rows, index, 0, "amax", include_self=True)
    reached = F.logical_or(F.eq(rows, along(best, index, 0)), F.ne(rows, rows))  # a NaN is larger than all numbers
    if present is not None:
        reached = F.logical_and(reached, F.expand_dims(present, 1))
    places = F.where(reached, F.index_along(rows, 0), none)
    first = reduced(F.astype(F.zeros_like(like), int64) + none, places, index, 0, "amin", include_self=True)
    found = F.lt(first, none)
    return F.where(found, along(rows, F.where(found, first, 0), 0), 0)


@spelled
def one_hot(tensor: TensorLike, num_classes: int = -1) -> Tensor:
    """1 at the index along a new last axis, else 0; int64.

    num_classes: the extent of the axis; -1: one more than the largest index, whose value has to be at hand. Raises
    IndexRangeError for an index outside [0, num_classes), ArgumentError.

    Examples:
        >>> F.one_hot(sg.tensor([0, 2]), 3)
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    index = operand(tensor)
    if num_classes == -1:
        if 0 in index.shape:
            raise ArgumentError("Can not infer total number of classes from empty tensor.")
        num_classes = int(F.max(index)) + 1
    return one_hot_of_kind(index, num_classes, int64)
