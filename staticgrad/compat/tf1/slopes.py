"""Functions with TensorFlow's derivatives where PyTorch's are others: at ties, at kinks, and for a cotangent of 0.

Gradients of `sqrt`, `rsqrt` and `reciprocal` are 0 wherever the cotangent is: `where` keeps their infinities out of gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import FLOATING, F, Rule, arithmetic, written

maximum = written("maximum_of_first", np.maximum, F.maximum, (
    lambda g, x, y: F.where(x >= y, g, 0), lambda g, x, y: F.where(x >= y, 0, g),
), 2, arithmetic)  # fmt: skip
minimum = written("minimum_of_first", np.minimum, F.minimum, (
    lambda g, x, y: F.where(x <= y, g, 0), lambda g, x, y: F.where(x <= y, 0, g),
), 2, arithmetic)  # fmt: skip


def _unless_zero(slope: Rule) -> Rule:
    return lambda g, x: F.where(g == 0, 0, g * slope(x))


sqrt = written("sqrt_unless_zero", np.sqrt, F.sqrt, (_unless_zero(lambda x: 0.5 / F.sqrt(x)),))
rsqrt = written("rsqrt_unless_zero", lambda x: 1 / np.sqrt(x), F.rsqrt, (_unless_zero(lambda x: -0.5 * F.pow(F.rsqrt(x), 3)),))
reciprocal = written(
    "reciprocal_unless_zero", np.reciprocal, lambda x: F.div(1, x), (_unless_zero(lambda x: -F.square(F.div(1, x))),)
)

_pow = written("pow_of_positive", np.power, F.pow, (
    lambda g, x, y: g * (y * power(x, y - 1)),
    lambda g, x, y: g * (power(x, y) * F.where(x > 0, F.log(F.where(x > 0, x, 1)), 0)),
), 2)  # fmt: skip
acosh = written("acosh_inside", np.arccosh, F.acosh, (lambda g, x: g / F.sinh(F.acosh(x)),))


def power(x: Any, y: Any) -> Any:
    """x ** y. By y it has no derivative where x is not positive."""
    return _pow(x, y) if x.dtype.kind in FLOATING else F.pow(x, y)


def sign(x: Any) -> Any:
    """NaN of NaN."""
    return F.where(F.ne(x, x), F.stop_gradient(x), F.sign(x)) if x.dtype.kind in FLOATING else F.sign(x)


def floordiv(x: Any, y: Any) -> Any:
    """Of floats the quotient's floor, which is -0 for -1 / inf."""
    return F.floor(F.div(x, y)) if x.dtype.kind in FLOATING else F.floor_divide(x, y)


_floormod = written("floormod", np.remainder, F.remainder, (
    lambda g, x, y: g, lambda g, x, y: g * F.neg(F.stop_gradient(F.floor(x / y))),
), 2)  # fmt: skip


def floormod(x: Any, y: Any) -> Any:
    return _floormod(x, y) if x.dtype.kind in FLOATING else F.remainder(x, y)


def _of_nonzero(x: Any, y: Any, safe: float, function: Rule) -> Any:
    """x function(y), of which neither value nor derivative reads y where x is 0."""
    zero = F.eq(x, 0)
    return F.where(zero, 0, F.mul(x, function(F.where(zero, safe, y))))


def ratio(x: Any, y: Any) -> Any:
    """x / y, 0 where y is 0, whose derivative has no infinities there."""
    zero = F.eq(y, 0)
    out = F.div(x, F.where(zero, F.ones_like(y), y))
    return F.where(zero, F.zeros_like(out), out)


def xlogy(x: Any, y: Any) -> Any:
    return _of_nonzero(x, y, 1, F.log)


def xlog1py(x: Any, y: Any) -> Any:
    return _of_nonzero(x, y, 0, F.log1p)


def xdivy(x: Any, y: Any) -> Any:
    zero = F.eq(x, 0)
    return F.where(zero, 0, F.div(x, F.where(zero, 1, y)))


def multiply_no_nan(x: Any, y: Any) -> Any:
    """x y, 0 where y is 0; so is the derivative by x."""
    return _multiply_no_nan(x, y)


_multiply_no_nan = written(
    "multiply_no_nan",
    lambda x, y: np.where(y == 0, 0, x * y).astype(x.dtype),
    lambda x, y: F.where(F.eq(y, 0), 0, F.mul(x, y)),
    (lambda g, x, y: multiply_no_nan(g, y), lambda g, x, y: multiply_no_nan(x, g)),
    2,
)

softsign = written(
    "softsign", lambda x: x / (1 + np.abs(x)), lambda x: F.div(x, 1 + F.abs(x)), (lambda g, x: g / F.square(1 + F.abs(x)),)
)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x, or alpha (exp(x) - 1) below 0; at 0 the derivative is that from above."""
    below = x < 0
    return F.where(below, F.mul(F.expm1(F.where(below, x, 0)), alpha), x)


def within(x: Any, low: float, high: float) -> Any:
    """x in an interval, at whose ends the derivative is 0."""
    return F.where(x <= low, low, F.where(x >= high, high, x))


def norm(squares: Any) -> Any:
    """The root of a sum of squares; at 0 neither is it taken nor differentiated."""
    positive = F.gt(squares, 0)
    return F.where(positive, sqrt(F.where(positive, squares, 1)), squares)
