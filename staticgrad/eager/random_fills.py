"""Methods that fill a tensor with random numbers in place: `x.normal_()`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..base.dtypes import PART_OF
from ..base.types import FLOATING, finfo, is_number
from ..errors import ArgumentError, DTypeError
from ..ops.operators import F, Operators
from ..ops.random import uniform_op
from .grad_mode import no_grad
from .inplace import check_change, in_place_of, replace
from .tensor import Tensor


def _fill_random(name: str, defaults: dict[str, Any], values: Callable[..., Any]) -> Callable[..., Tensor]:
    """A method that draws: `values(x, source, *arguments)`, whose names and defaults are given."""

    def method(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        unknown = [word for word in named if word not in defaults]
        if len(args) > len(defaults) or unknown:
            raise TypeError(f"{name}() takes {', '.join(defaults)} and generator, got {', '.join(unknown) or len(args)}")
        if self.dtype in PART_OF and name not in ("normal_", "uniform_"):
            raise DTypeError(f"{name} is not implemented for complex numbers", f"use x.real.{name}(...) and x.imag.{name}(...)")
        given = {**defaults, **dict(zip(defaults, args, strict=False)), **named}
        check_change(self)
        with no_grad():
            fresh = values(self, generator, *given.values())
        if isinstance(fresh, Tensor):
            self._drawn = True
        return replace(self, in_place_of(self, fresh), name)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = values.__doc__
    return method


def _uniform_of(x: Tensor, source: Any, dtype: Any = None) -> Any:
    """Uniform numbers in [0, 1) in x's shape; in x's dtype if that is floating."""
    from .generator import _draw_like

    return _draw_like(uniform_op, x, dtype or (x.dtype if x.dtype.kind in FLOATING else np.float64), source)


def _check_drawing(given: bool, text: str) -> None:
    """Raises ArgumentError for parameters that no distribution has; a tensor's value is not read."""
    if not given:
        raise ArgumentError(text)


def _normal(x: Tensor, source: Any, mean: float, std: float) -> Any:
    """Fill with normal numbers, in place."""
    _check_drawing(isinstance(std, Operators) or std >= 0, f"normal expects std >= 0.0, but found std {std}")
    from .generator import randn

    return randn(x.shape, dtype=x.dtype, generator=source) * std + mean


def _uniform(x: Tensor, source: Any, low: float, high: float) -> Any:
    """Fill with numbers between `from` and `to`, each as likely, in place."""
    from .generator import rand

    given = isinstance(low, Operators) or isinstance(high, Operators) or low <= high
    _check_drawing(given, f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    least = complex(low, low) if x.dtype in PART_OF else low
    return rand(x.shape, dtype=x.dtype, generator=source) * (high - low) + least


def _exponential(x: Tensor, source: Any, rate: float) -> Any:
    """Fill with numbers of the exponential distribution of rate `lambd`, in place."""
    if not is_number(rate) or isinstance(rate, Operators) or not rate > 0:
        raise ArgumentError(f"exponential_ expects lambda > 0.0, but found lambda={rate}")
    return F.log1p(-_uniform_of(x, source)) * (-1 / rate)


def _cauchy(x: Tensor, source: Any, median: float, sigma: float) -> Any:
    """Fill with numbers of the Cauchy distribution, in place."""
    _check_drawing(isinstance(sigma, Operators) or sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    angle = (_uniform_of(x, source) - 0.5) * np.pi
    return F.sin(angle) / F.cos(angle) * sigma + median


def _log_normal(x: Tensor, source: Any, mean: float, std: float) -> Any:
    """Fill with exponentials of normal numbers, in place."""
    _check_drawing(isinstance(std, Operators) or std > 0, f"log_normal_ expects std > 0.0, but found std={std}")
    return F.exp(_normal(x, source, mean, std))


def _geometric(x: Tensor, source: Any, p: float) -> Any:
    """Fill with how many trials it takes to succeed once with probability `p`, in place."""
    if not is_number(p) or isinstance(p, Operators) or not 0 < p < 1:
        raise ArgumentError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    count = F.ceil(F.log1p(-_uniform_of(x, source)) / np.log1p(-p))
    return F.astype(F.maximum(count, 1), x.dtype)


def _random(x: Tensor, source: Any, low: Any, high: Any) -> Any:
    """Fill with integers from `from` to below `to`, in place; to 2**24 or 2**53 in floats, to the largest one in integers."""
    if high is None:
        low, high = 0, low
    if high is None:
        high = int(1 / finfo(x.dtype).eps) if x.dtype.kind in FLOATING else 2 if x.dtype == bool else int(np.iinfo(x.dtype).max)
    low = 0 if low is None else low
    return F.astype(F.floor(_uniform_of(x, source, np.float64) * (high - low)) + low, x.dtype)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """1 with probability p (a number or a tensor), else 0."""
    check_change(self)
    with no_grad():
        fresh = F.astype(F.lt(_uniform_of(self, generator), p), self.dtype)
    if isinstance(fresh, Tensor):
        self._drawn = True
    return replace(self, in_place_of(self, fresh), "bernoulli_")


def _casted(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def casted(x: Tensor, source: Any, *args: Any) -> Any:
        return F.astype(function(x, source, *args), x.dtype)

    return casted


Tensor.bernoulli_ = bernoulli_  # type: ignore[method-assign, assignment]
for _name, _defaults, _values in (
    ("normal_", {"mean": 0.0, "std": 1.0}, _normal),
    ("uniform_", {"from": 0.0, "to": 1.0}, _uniform),
    ("exponential_", {"lambd": 1.0}, _casted(_exponential)),
    ("cauchy_", {"median": 0.0, "sigma": 1.0}, _cauchy),
    ("log_normal_", {"mean": 1.0, "std": 2.0}, _log_normal),
    ("geometric_", {"p": None}, _geometric),
    ("random_", {"from": None, "to": None}, _random),
):
    setattr(Tensor, _name, _fill_random(_name, _defaults, _values))
