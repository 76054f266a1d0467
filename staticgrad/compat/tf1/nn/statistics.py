"""Moments from sums and weights, normalization by given moments, averages of losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import static
from ....operators import F
from ..math import axes_of
from ..tensor import SIZES, Operand, define, extents_of, operation, pair, tensor
from .functions import batch_normalization
from .windows import batch_to_space_nd, space_to_batch_nd

AXES, KEEP = SIZES | {"axes"}, {"keepdims": "keep_dims"}


@operation("sufficient_statistics", sizes=AXES, old=KEEP)
def sufficient_statistics(x: Operand, axes: Any, shift: Any = None, keep_dims: Any = None) -> tuple[Any, Any, Any, Any]:
    """(count, sum, sum of squares, shift) over the axes, for `normalize_moments`; the sums are of x - shift."""
    along = sorted({a % x.ndim for a in np.atleast_1d(axes).tolist()})
    keep = bool(keep_dims)
    count = static.constant(np.asarray(np.prod([extents_of(x)[a] for a in along]), x.dtype))
    moved = x if shift is None else F.sub(x, tensor(shift, x.dtype))
    sums = F.sum(moved, axis=tuple(along), keepdims=keep)
    squares = F.sum(F.square(moved), axis=tuple(along), keepdims=keep)
    return count, sums, squares, None if shift is None else tensor(shift, x.dtype)


@operation("normalize")
def normalize_moments(counts: Operand, mean_ss: Operand, variance_ss: Operand, shift: Any) -> tuple[Any, Any]:
    """(mean, variance) from the results of `sufficient_statistics`."""
    share = F.reciprocal(counts)
    sums, squares = F.mul(mean_ss, share), F.mul(variance_ss, share)
    return (sums if shift is None else F.add(sums, tensor(shift))), F.sub(squares, F.square(sums))


@operation("weighted_moments", sizes=AXES, old=KEEP)
def weighted_moments(x: Operand, axes: Any, frequency_weights: Operand, keep_dims: Any = None) -> tuple[Any, Any]:
    """(mean, variance) over the axes, each element as often as its weight says."""
    weights = F.astype(frequency_weights, x.dtype)
    along = axes_of(axes, x)
    spread = F.broadcast_like(weights, x) if weights.ndim < x.ndim or weights.shape != x.shape else weights
    total = F.sum(spread, axis=along, keepdims=True)
    mean = F.div(F.sum(F.mul(spread, x), axis=along, keepdims=True), total)
    variance = F.div(F.sum(F.mul(spread, F.square(F.sub(x, mean))), axis=along, keepdims=True), total)
    return (mean, variance) if keep_dims else (F.squeeze(mean, along), F.squeeze(variance, along))


def batch_norm_with_global_normalization(
    t: Any = None, m: Any = None, v: Any = None, beta: Any = None, gamma: Any = None, variance_epsilon: Any = None,
    scale_after_normalization: Any = None, name: str | None = None, input: Any = None, mean: Any = None,
    variance: Any = None,
) -> Any:  # fmt: skip
    """`batch_normalization` under older names; gamma counts with `scale_after_normalization` alone."""
    return batch_normalization(
        input if t is None else t, mean if m is None else m, variance if v is None else v, beta,
        gamma if scale_after_normalization else None, variance_epsilon, name=name,
    )  # fmt: skip


@operation("compute_average_loss", sizes=frozenset({"global_batch_size"}))
def compute_average_loss(per_example_loss: Operand, sample_weight: Any = None, global_batch_size: Any = None) -> Any:
    """The sum of the weighted losses over the number of examples."""
    losses = per_example_loss
    if sample_weight is not None:
        losses, weights = pair(losses, sample_weight, "Mul")
        losses = F.mul(losses, F.expand_dims(weights, tuple(range(weights.ndim, losses.ndim))) if weights.ndim else weights)
    count = extents_of(losses)[0] if global_batch_size is None else global_batch_size
    return F.div(F.sum(losses), float(count))


scale_regularization_loss = define(
    "scale_regularization_loss", "Sum", F.sum, "The sum of the losses: there is one replica.", "regularization_loss",
    default="scale_regularization_loss",
)  # fmt: skip


def with_space_to_batch(
    input: Any, dilation_rate: Any, padding: str, op: Any, filter_shape: Any = None, spatial_dims: Any = None,
    data_format: str | None = None,
) -> Any:  # fmt: skip
    """`op(input, num_spatial_dims, "VALID")` of an input whose spatial axes are spread by the rates, and the inverse."""
    rates = [int(r) for r in np.asarray(dilation_rate).ravel()]
    axes = spatial_dims or list(range(2, 2 + len(rates)) if data_format and data_format.startswith("NC") else
                                range(1, 1 + len(rates)))  # fmt: skip
    if all(r == 1 for r in rates):
        return op(input, len(rates), padding)
    if list(axes) != list(range(1, 1 + len(rates))):
        raise ValueError("with_space_to_batch: the spatial axes have to follow the batch; transpose the input")
    sizes = input.shape.as_list()[1 : 1 + len(rates)]
    base = np.zeros((len(rates), 2), int)
    if padding == "SAME":
        reach = (np.asarray(filter_shape)[: len(rates)] - 1) * rates
        base = np.stack([reach // 2, reach - reach // 2], 1)
    extra = [-(n + b.sum()) % r for n, b, r in zip(sizes, base, rates, strict=True)]
    paddings = [[int(b[0]), int(b[1] + e)] for b, e in zip(base, extra, strict=True)]
    spread = op(space_to_batch_nd(input, rates, paddings), len(rates), "VALID")
    return batch_to_space_nd(spread, rates, [[0, int(e)] for e in extra])
