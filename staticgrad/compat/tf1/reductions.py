"""Reductions, running sums and positions of the largest and smallest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.types import normalize_axis
from ...operators import F
from ...ops.cumulative import running_product
from . import slopes
from .dtypes import as_dtype
from .tensor import SIZES, operation, tensor

REDUCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "reduce_sum": (F.sum, "Sum"),
    "reduce_max": (F.amax, "Max"),
    "reduce_min": (F.amin, "Min"),
    "reduce_all": (F.all, "All"),
    "reduce_any": (F.any, "Any"),
    "reduce_logsumexp": (F.logsumexp, "ReduceLogSumExp"),
    "reduce_variance": (lambda x, **given: F.var(x, correction=0, **given), "Variance"),
    "reduce_std": (lambda x, **given: F.std(x, correction=0, **given), "Std"),
    "reduce_euclidean_norm": (lambda x, **given: slopes.sqrt(F.sum(F.square(x), **given)), "EuclideanNorm"),
}


def reduced_axes(axis: Any, reduction_indices: Any) -> Any:
    """The axes to reduce, under either of their names; None for all."""
    axis = reduction_indices if axis is None else axis
    if isinstance(axis, (list, tuple, np.ndarray)):
        return tuple(int(a) for a in np.asarray(axis).ravel())
    return axis


def _reduction(function: Callable[..., Any], type_: str) -> Callable[..., Any]:
    def call(
        input_tensor: Any,
        axis: Any = None,
        keepdims: Any = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Any:
        x = tensor(input_tensor)
        axes = reduced_axes(axis, reduction_indices)
        if axes == ():
            return x
        out = function(x, axis=tuple(range(x.ndim)) if axes is None else axes, keepdims=bool(keepdims or keep_dims))
        return F.astype(out, x.dtype) if function is F.sum else out  # sums of small integers keep their dtype

    return operation(type_)(call)


REDUCED: dict[str, Callable[..., Any]] = {}
for _name, (_function, _type) in REDUCTIONS.items():
    REDUCED[_name] = _reduction(_function, _type)
    REDUCED[_name].__name__ = REDUCED[_name].__qualname__ = _name
    REDUCED[_name].__doc__ = f"TensorFlow's `{_name}`."
globals().update(REDUCED)


@operation("count_nonzero", "CountNonzero")
def count_nonzero(
    input_tensor: Any = None, axis: Any = None, keepdims: Any = None, dtype: Any = np.int64, reduction_indices: Any = None,
    keep_dims: Any = None, input: Any = None,
) -> Any:  # fmt: skip
    """How many elements are not 0, over `axis` (all axes for None)."""
    x = tensor(input if input_tensor is None else input_tensor)
    axes = reduced_axes(axis, reduction_indices)
    axes = tuple(range(x.ndim)) if axes is None else axes
    counts = F.sum(F.astype(F.ne(x, 0), np.int64), axis=axes, keepdims=bool(keepdims or keep_dims))
    return F.astype(counts, as_dtype(dtype).numpy)


@operation("Mean")
def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: Any = None, reduction_indices: Any = None, keep_dims: Any = None
) -> Any:  # fmt: skip
    """The mean over `axis` (all axes for None). That of integers is an integer, rounded toward zero."""
    x = tensor(input_tensor)
    axes = reduced_axes(axis, reduction_indices)
    if axes == ():
        return x
    axes, keep = tuple(range(x.ndim)) if axes is None else axes, bool(keepdims or keep_dims)
    if x.dtype.kind == "f":
        return F.mean(x, axis=axes, keepdims=keep)
    return F.astype(F.mean(F.astype(x, np.float64), axis=axes, keepdims=keep), x.dtype)


@operation("Prod")
def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: Any = None, reduction_indices: Any = None, keep_dims: Any = None
) -> Any:  # fmt: skip
    """The product over `axis` (all axes for None)."""
    x = tensor(input_tensor)
    axes = reduced_axes(axis, reduction_indices)
    if axes == ():
        return x
    return F.astype(F.prod(x, tuple(range(x.ndim)) if axes is None else axes, bool(keepdims or keep_dims)), x.dtype)


@operation("ArgMax")
def argmax(input: Any, axis: Any = None, dimension: Any = None, output_type: Any = None) -> Any:
    """The position of the largest element along `axis`, axis 0 unless given; int64 unless `output_type` is given."""
    axis = dimension if axis is None else axis
    return F.astype(F.argmax(tensor(input), axis=0 if axis is None else axis), output_type or np.dtype(np.int64))


@operation("ArgMin")
def argmin(input: Any, axis: Any = None, dimension: Any = None, output_type: Any = None) -> Any:
    """The position of the smallest element along `axis`, axis 0 unless given; int64 unless `output_type` is given."""
    axis = dimension if axis is None else axis
    return F.astype(F.argmin(tensor(input), axis=0 if axis is None else axis), output_type or np.dtype(np.int64))


@operation("Cumsum")
def cumsum(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """Running sums along `axis`; exclusive: without the element itself; reverse: from the end."""
    x = tensor(x)
    out = F.flip(F.cumsum(F.flip(x, axis), axis=axis), axis) if reverse else F.cumsum(x, axis=axis)
    out = F.astype(out, x.dtype)
    return F.sub(out, x) if exclusive else out


@operation("Cumprod")
def cumprod(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """Running products along `axis`; exclusive: without the element itself; reverse: from the end."""
    x = tensor(x)
    out = running_product(x, normalize_axis(axis, x.ndim), exclusive=bool(exclusive), reverse=bool(reverse))
    return F.astype(out, x.dtype)


@operation("Norm", sizes=SIZES | {"ord"})
def norm(
    tensor_: Any, ord: Any = "euclidean", axis: Any = None, keepdims: Any = None, keep_dims: Any = None
) -> Any:  # fmt: skip
    """A vector norm over `axis` (of all elements for None), or the Frobenius norm."""
    x = tensor(tensor_)
    axes = tuple(range(x.ndim)) if axis is None else reduced_axes(axis, None)
    keep, size = bool(keepdims or keep_dims), F.abs(x)
    if ord in ("euclidean", "fro", 2):
        return slopes.sqrt(F.sum(F.square(x), axis=axes, keepdims=keep))
    if ord == 1:
        return F.sum(size, axis=axes, keepdims=keep)
    if ord == np.inf:
        return F.amax(size, axis=axes, keepdims=keep)
    return F.pow(F.sum(F.pow(size, ord), axis=axes, keepdims=keep), 1 / ord)


@operation("lbeta")
def lbeta(x: Any) -> Any:
    """The logarithm of the multivariate beta function over the last axis."""
    x = tensor(x)
    return F.sub(F.sum(F.lgamma(x), axis=-1), F.lgamma(F.sum(x, axis=-1)))
