"""Differences along an axis, and areas under a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operators import F, Tensor, torch_function
from ..types import bool_, normalize_axis
from .operands import dtype_of, integer, ndim_of
from .ordering import narrowed


@torch_function(np.diff)
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbors along `dim`, taken n times; of booleans, whether they differ."""
    axis = normalize_axis(dim, ndim_of(input))
    n = integer("diff", "n", n)
    if n == 0:
        result: Tensor = input
        return result
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
def trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The area under y along `dim` by the trapezoidal rule, at the places x or at distances dx."""
    axis = normalize_axis(dim, ndim_of(y))
    return F.sum(_steps(y, x, dx, axis), axis)


@torch_function(method=False)
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The running areas of `trapezoid`."""
    axis = normalize_axis(dim, ndim_of(y))
    return F.cumsum(_steps(y, x, dx, axis), axis)
