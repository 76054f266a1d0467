"""Moments: variance, deviation, covariance, correlation; sums and means without NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.dtypes import as_dtype
from ..base.types import FLOATING, Axis, bool_, normalize_axes, part_dtype, shape_text, to_float
from ..errors import ArgumentError, DTypeError, ShapeError
from .operands import dtype_of, extents, inexact, ndim_of, operand
from .operators import F, Tensor, TensorLike, apply, composite, frontends, numpy_twin, torch_function
from .reductions import axes_of, count, root

# variance -------------------------------------------------------------------------------------------------------------


@numpy_twin(np.var)
def variance(x: Any, axis: Axis = None, keepdims: bool = False, ddof: float = 0) -> Tensor:
    """NumPy's variance: mean squared distance from the mean, over n - ddof; NaN or infinite where that is not positive."""
    if x.dtype.kind == "c":
        return variance(F.real(x), axis, keepdims, ddof) + variance(F.imag(x), axis, keepdims, ddof)
    axes = normalize_axes(axis, ndim_of(x))
    centered = x - F.mean(x, axes, keepdims=True)
    n = apply(count, x, axis=axes, dtype=to_float(as_dtype(x.dtype)))
    return F.sum(F.square(centered), axes, keepdims) / (F.maximum(n - ddof, 0) if ddof else n)


@numpy_twin(np.std)
def _deviation(x: TensorLike, axis: Axis = None, keepdims: bool = False, ddof: float = 0) -> Tensor:
    return root(variance(x, axis, keepdims, ddof))


def _corrected(name: str, dim: Any, unbiased: Any, correction: Any) -> tuple[Any, Any]:
    """The axes and the correction that the arguments of `var` and its kin mean. Raises ArgumentError for two of them."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        if correction is not None:
            raise ArgumentError(f"{name}: give either `unbiased` or `correction`")
        correction = int(bool(unbiased))
    return dim, 1 if correction is None else correction


@torch_function()
@composite
def var(
    input: TensorLike, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The variance: mean squared distance from the mean, over n - correction (1 unless given; unbiased=False: 0).

    `dim`: an int, several, or None for all. NaN or infinite where n - correction is not positive.

    Examples:
        >>> sg.var(sg.tensor([1.0, 2.0, 3.0, 4.0])), sg.var(sg.tensor([1.0, 2.0, 3.0, 4.0]), correction=0)
        (tensor(1.6667), tensor(1.2500))
    """
    dim, correction = _corrected("var", dim, unbiased, correction)
    return variance(_spread_of(input), dim, keepdim, correction)


def _spread_of(x: Any) -> Any:
    return inexact(x, "std and var only support floating point and complex dtypes.")


@torch_function()
@composite
def std(
    input: TensorLike, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The square root of `var`; its derivative where it is 0 is 0.

    Examples:
        >>> sg.std(sg.tensor([1.0, 3.0]))
        tensor(1.4142)
    """
    dim, correction = _corrected("std", dim, unbiased, correction)
    return root(variance(_spread_of(input), dim, keepdim, correction))


@torch_function(method=False)
@composite
def var_mean(
    input: TensorLike, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    """`var` and `mean`."""
    return F.var(input, dim, unbiased, keepdim, correction=correction), F.mean(input, axes_of(dim), keepdim)


@torch_function(method=False)
@composite
def std_mean(
    input: TensorLike, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    """`std` and `mean`."""
    return F.std(input, dim, unbiased, keepdim, correction=correction), F.mean(input, axes_of(dim), keepdim)


# sums without NaN, and counts -------------------------------------------------------------------------------------------


def _zeroed(input: Any) -> Any:
    if dtype_of(input).kind == "c":
        raise DTypeError("nansum does not support complex inputs", "use x.real and x.imag")
    return F.where(F.isnan(input), 0, input) if dtype_of(input).kind in FLOATING else input


@torch_function(np.nansum)
@composite
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of what is not NaN."""
    return F.sum(_zeroed(input if dtype is None else F.astype(input, dtype)), dim, keepdim, dtype=dtype)


@torch_function(np.nanmean)
@composite
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of what is not NaN."""
    x = input if dtype is None else F.astype(input, dtype)
    if dtype_of(x).kind not in FLOATING:
        raise DTypeError(f"nanmean(): expected input to have floating point dtype but got {dtype_of(x)}")
    number = F.sum(F.logical_not(F.isnan(x)), dim, keepdim)
    return nansum(x, dim, keepdim) / F.astype(number, x.dtype)


@torch_function(np.count_nonzero)
def count_nonzero(input: Any, dim: Any = None) -> Tensor:
    """How many elements along `dim` (of all for None) are not 0, int64.

    Examples:
        >>> sg.count_nonzero(sg.tensor([0, 3, 4]))
        tensor(2)
    """
    return F.sum(F.ne(input, 0) if dtype_of(input) != bool_ else input, dim)


# covariance -------------------------------------------------------------------------------------------------------------


@torch_function(np.cov)
@composite
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariances of variables (rows) over observations (columns), with weights; a number for one variable."""
    if ndim_of(input) > 2:
        raise ShapeError(f"cov(): expected input to have two or fewer dimensions but got {shape_text(input.shape)}")
    x = F.reshape(input, (1, -1)) if ndim_of(input) < 2 else input
    x = F.astype(x, to_float(dtype_of(x)))
    rows, n = extents("cov", x)
    weights = None
    for word, w in (("fweights", fweights), ("aweights", aweights)):
        if w is not None:
            _check_weights(word, operand(w), n)
            w = F.astype(operand(w), part_dtype(x.dtype))
            weights = w if weights is None else weights * w
    if weights is None:
        centered = x - F.mean(x, 1, keepdims=True)
        norm: Any = max_(n - correction, 0)
        total = F.matmul(centered, F.adjoint(centered))
    else:
        whole = F.sum(weights)
        centered = x - F.expand_dims(F.sum(x * weights, 1) / whole, 1)
        total = F.matmul(centered * weights, F.adjoint(centered))
        lost = whole if aweights is None else F.sum(weights * F.astype(operand(aweights), weights.dtype))
        norm = F.clip(whole - correction * lost / whole if aweights is not None else whole - correction, 0, None)
    out = total / norm if not isinstance(norm, int) or norm else total / F.zeros_like(F.sum(total))
    return F.squeeze(F.squeeze(out, 1), 0) if rows == 1 else out


def _check_weights(word: str, w: Any, n: int) -> None:
    """Raises ShapeError, DTypeError, ArgumentError unless these are weights of n observations."""
    if ndim_of(w) > 1 or math.prod(w.shape) != n:
        raise ShapeError(f"cov(): expected {word} to have one weight for each of {n} observations, got {shape_text(w.shape)}")
    if (word == "fweights") != (dtype_of(w).kind in "iu"):
        kinds = "an integral" if word == "fweights" else "a floating point"
        raise DTypeError(f"cov(): expected {word} to have {kinds} dtype but got {word} with {dtype_of(w)} dtype")
    value: Any = w.detach().numpy() if isinstance(w, frontends.tensor_class) else w  # type: ignore[attr-defined]
    if isinstance(value, np.ndarray) and (value < 0).any():
        raise ArgumentError(f"cov(): {word} cannot be negative")


max_ = max


@torch_function(np.corrcoef)
@composite
def corrcoef(input: Any) -> Tensor:
    """The correlations of variables (rows) over observations (columns)."""
    c = cov(input)
    if ndim_of(c) == 0:
        return c / c
    deviation = F.sqrt(F.real(F.diagonal(c)))
    found = c / F.expand_dims(deviation, 1) / F.expand_dims(deviation, 0)
    if c.dtype.kind == "c":
        return F.complex(F.clip(F.real(found), -1, 1), F.clip(F.imag(found), -1, 1))
    return F.clip(found, -1, 1)
