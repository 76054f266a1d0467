"""Functions of complex numbers by their parts, which kernels compute: each takes and returns pairs (real, imaginary).

Branch cuts and results at zeros, infinities and NaN are those of C99, annex G.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .operators import F

Pair = tuple[Any, Any]

FAR = 20.0
"""From here on, cosh(x) is exp(|x|) / 2 in float64."""
DISTANT = 1e9
"""From here on, atanh(x) is 1 / x and a quarter turn, in float64 as well; below, squares don't overflow."""
POWERS = 64
"""Exponents up to which an integer power is a chain of products."""


def product(x: Pair, y: Pair) -> Pair:
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


def square(x: Pair) -> Pair:
    a, b = x
    return a * a - b * b, a * b + a * b


def quotient(x: Pair, y: Pair) -> Pair:
    """Smith's method: the smaller part of the divisor is divided by the larger one. Source: R. Smith, "Algorithm 116", 1962."""
    (a, b), (c, d) = x, y
    steep = F.abs(c) < F.abs(d)
    large, small = F.where(steep, d, c), F.where(steep, c, d)
    nothing = F.eq(large, 0)
    rest = F.where(nothing, 0, small / F.where(nothing, 1, large))
    scale = 1 / F.where(nothing, 0, large + small * rest)
    return F.where(steep, a * rest + b, a + b * rest) * scale, F.where(steep, b * rest - a, b - a * rest) * scale


def modulus(x: Pair) -> Any:
    return F.hypot(*x)


def sign(x: Pair) -> Pair:
    size = F.hypot(*x)
    flat = F.eq(size, 0)
    size = F.where(flat, 1, size)
    return F.where(flat, 0, x[0] / size), F.where(flat, 0, x[1] / size)


def times(x: Any, y: Any) -> Any:
    """x y, and 0 where either is 0, also beside an infinity."""
    nothing = F.logical_or(F.eq(x, 0), F.eq(y, 0))
    return F.where(nothing, F.copysign(F.zeros_like(x), x) * F.copysign(F.ones_like(y), y), x * y)


def stretched(x: Any, y: Any) -> Any:
    """As `times`, and infinite where x is and y is unknown."""
    return F.where(F.logical_and(F.isinf(x), F.ne(y, y)), F.abs(x), times(x, y))


def endless(x: Pair) -> Any:
    return F.logical_or(F.isinf(x[0]), F.isinf(x[1]))


def exp(x: Pair) -> Pair:
    a, b = x
    size = F.exp(a)
    return stretched(size, F.cos(b)), times(size, F.sin(b))


def exp2(x: Pair) -> Pair:
    return exp((x[0] * math.log(2), x[1] * math.log(2)))


def expm1(x: Pair) -> Pair:
    a, b = x
    half = F.sin(b * 0.5)
    return F.expm1(a) * F.cos(b) - 2 * half * half, times(F.exp(a), F.sin(b))


def log(x: Pair) -> Pair:
    """Near the unit circle by log1p, which keeps the digits that |x| has lost."""
    a, b = x
    p, q = F.abs(a), F.abs(b)
    large, small = F.where(p < q, q, p), F.where(p < q, p, q)
    size = F.hypot(a, b)
    near = F.logical_and(size > 0.5, size < 2)
    close = 0.5 * F.log1p(F.where(near, (large - 1) * (large + 1) + small * small, 0))
    return F.where(near, close, F.log(size)), F.atan2(b, a)


def log1p(x: Pair) -> Pair:
    a, b = x
    rest = a * (2 + a) + b * b
    near = F.abs(rest) < 0.5
    return F.where(near, 0.5 * F.log1p(F.where(near, rest, 0)), log((1 + a, b))[0]), F.atan2(b, 1 + a)


def log2(x: Pair) -> Pair:
    a, b = log(x)
    return a * (1 / math.log(2)), b * (1 / math.log(2))


def log10(x: Pair) -> Pair:
    a, b = log(x)
    return a * (1 / math.log(10)), b * (1 / math.log(10))


def sqrt(x: Pair) -> Pair:
    a, b = x
    root = F.where(F.isinf(b), F.abs(b), F.sqrt(0.5 * F.abs(a) + 0.5 * F.hypot(a, b)))
    flat = F.eq(root, 0)
    other = F.where(F.isinf(b), F.abs(b), F.where(flat, F.abs(b), F.abs(b) / F.where(flat, 1, 2 * root)))
    left = a < 0
    return F.where(left, other, root), F.copysign(F.where(left, root, other), b)


def sin(x: Pair) -> Pair:
    a, b = sinh((x[1], -x[0]))
    return -b, a


def cos(x: Pair) -> Pair:
    return cosh((-x[1], x[0]))


def sinh(x: Pair) -> Pair:
    a, b = x
    return stretched(F.sinh(a), F.cos(b)), times(F.cosh(a), F.sin(b))


def cosh(x: Pair) -> Pair:
    a, b = x
    return stretched(F.cosh(a), F.cos(b)), times(F.sinh(a), F.sin(b))


def tanh(x: Pair) -> Pair:
    """Source: W. Kahan, "Branch Cuts for Complex Elementary Functions", 1987."""
    a, b = x
    far = F.abs(a) > FAR
    s, t = F.sinh(F.where(far, 0, a)), F.tan(b)
    steep = 1 + t * t
    under = 1 + steep * s * s
    limit = F.where(F.logical_or(F.isinf(a), F.isfinite(b)), F.copysign(F.ones_like(a), a), math.nan)
    twice = F.sin(b) * F.cos(b)
    nothing = F.copysign(F.zeros_like(b), F.where(F.isfinite(b), twice, b))
    tail = F.where(F.isinf(a), nothing, 4 * twice * F.exp(-2 * F.abs(a)))
    re, im = steep * F.sqrt(1 + s * s) * s / under, F.where(F.eq(b, 0), b, t / under)
    return F.where(far, limit, F.where(F.eq(a, 0), a, re)), F.where(far, tail, im)


def tan(x: Pair) -> Pair:
    a, b = tanh((-x[1], x[0]))
    return b, -a


def asin(x: Pair) -> Pair:
    """Source: W. Kahan, "Branch Cuts for Complex Elementary Functions", 1987; `acos` and `acosh`, too."""
    (p, q), (r, s) = _roots(1 - x[0], -x[1], x)
    turn = F.where(F.eq(x[0], 0), x[0], F.atan2(x[0], times(p, r) - times(q, s)))
    return turn, F.where(endless(x), F.copysign(math.inf, x[1]), F.asinh(times(p, s) - times(q, r)))


def acos(x: Pair) -> Pair:
    (p, q), (r, s) = _roots(1 - x[0], -x[1], x)
    return _turn(x, p, r), F.where(endless(x), F.copysign(math.inf, -x[1]), F.asinh(times(r, q) - times(s, p)))


def acosh(x: Pair) -> Pair:
    (p, q), (r, s) = _roots(x[0] - 1, x[1], x)
    return F.where(endless(x), math.inf, F.asinh(times(p, r) + times(q, s))), F.copysign(_turn(x, F.abs(q), r), x[1])


def _turn(x: Pair, p: Any, r: Any) -> Any:
    """The real part of acos(x), from those of the roots of 1 - x and 1 + x."""
    return F.where(endless(x), F.atan2(F.abs(x[1]), x[0]), F.where(F.eq(x[0], 0), math.pi / 2, 2 * F.atan2(p, r)))


def _roots(re: Any, im: Any, x: Pair) -> tuple[Pair, Pair]:
    """The roots of a number and of 1 + x."""
    return sqrt((re, im)), sqrt((1 + x[0], x[1]))


def asinh(x: Pair) -> Pair:
    a, b = asin((-x[1], x[0]))
    return b, -a


def atanh(x: Pair) -> Pair:
    """log1p(4a / ((1 - a)**2 + b**2)) / 4 and atan2(2b, (1 - a)(1 + a) - b**2) / 2 for a = |Re x|; 1 / x and a quarter
    turn where no more is left of them."""
    a, b = F.abs(x[0]), x[1]
    size = F.hypot(a, b)
    far, pole = size > DISTANT, F.eq(a, 1)
    p, q = F.where(far, 0, a), F.where(far, 0, b)
    inside = F.where(pole, 1, (1 - p) * (1 - p) + q * q)
    near = F.where(pole, 0.5 * (F.log(F.hypot(q, 2 * F.ones_like(q))) - F.log(F.abs(q))), 0.25 * F.log1p(4 * p / inside))
    turn = F.copysign(F.full_like(b, math.pi / 2), b)
    c, d = (F.where(F.isinf(size), 0, part / size / size) for part in (a, b))
    side = F.where(far, F.where(F.isnan(b), b, turn - d), 0.5 * F.atan2(2 * q, (1 - p) * (1 + p) - q * q))
    return F.copysign(F.where(F.eq(a, 0), a, F.where(far, c, near)), x[0]), side


def atan(x: Pair) -> Pair:
    a, b = atanh((-x[1], x[0]))
    return b, -a


def sigmoid(x: Pair) -> Pair:
    a, b = exp((-x[0], -x[1]))
    return quotient((F.ones_like(a), F.zeros_like(a)), (1 + a, b))


def power(x: Pair, y: Pair) -> Pair:
    """exp(y log x), and 0 or 1 where x is 0."""
    a, b = log(x)
    flat = F.logical_and(F.eq(x[0], 0), F.eq(x[1], 0))
    whole = F.logical_and(F.eq(y[0], 0), F.eq(y[1], 0))
    re, im = exp(product((F.where(flat, 0, a), F.where(flat, 0, b)), y))
    return (
        F.where(whole, 1, F.where(flat, F.where(y[0] > 0, 0, math.nan), re)),
        F.where(whole, 0, F.where(flat, F.where(y[0] > 0, 0, math.nan), im)),
    )  # fmt: skip


def running_product(x: Pair, axis: int, exclusive: bool, reverse: bool) -> Pair:
    """By doubling: products of 2, 4, 8, ... elements."""
    n = x[0].shape[axis]
    if not n:
        return x
    if reverse:
        x = each(F.flip, x, (axis,))
    if exclusive:
        first = each(part, x, axis, 0, 1)
        x = joined((F.ones_like(first[0]), F.zeros_like(first[1])), each(part, x, axis, 0, n - 1), axis)
    step = 1
    while step < n:
        x = joined(each(part, x, axis, 0, step), product(each(part, x, axis, 0, n - step), each(part, x, axis, step, n)), axis)
        step *= 2
    return each(F.flip, x, (axis,)) if reverse else x


def whole_product(x: Pair, axis: int, keepdims: bool) -> Pair:
    """The product of all elements, by halves."""
    n = x[0].shape[axis]
    if not n:
        re, im = each(F.sum, x, axis, True)
        x = re + 1, im
    while n > 1:
        half, rest = n // 2, each(part, x, axis, n - n % 2, n)
        x = product(each(part, x, axis, 0, half), each(part, x, axis, half, 2 * half))
        x, n = joined(x, rest, axis) if n % 2 else x, half + n % 2
    return x if keepdims else each(F.squeeze, x, axis)


def recurrence(factors: Pair, terms: Pair, axis: int) -> Pair:
    """r[i] = factors[i] r[i - 1] + terms[i], by doubling."""
    n, step = terms[0].shape[axis], 1
    while step < n:
        later, before = each(part, factors, axis, step, n), each(part, terms, axis, 0, n - step)
        terms = joined(each(part, terms, axis, 0, step), total(each(part, terms, axis, step, n), product(later, before)), axis)
        factors = joined(each(part, factors, axis, 0, step), product(later, each(part, factors, axis, 0, n - step)), axis)
        step *= 2
    return terms


def each(function: Callable[..., Any], x: Pair, *rest: Any) -> Pair:
    """A function of either part."""
    return function(x[0], *rest), function(x[1], *rest)


def part(x: Any, axis: int, start: int, stop: int) -> Any:
    """Some of the elements along an axis."""
    return x[(*[slice(None)] * axis, slice(start, stop))]


def joined(x: Pair, y: Pair, axis: int) -> Pair:
    return F.concatenate([x[0], y[0]], axis), F.concatenate([x[1], y[1]], axis)


def total(x: Pair, y: Pair) -> Pair:
    return x[0] + y[0], x[1] + y[1]


def pair(x: Any) -> Pair:
    """The parts of an operand, which is real where it is no pair."""
    return x if x.__class__ is tuple else (x, F.zeros_like(x))


def whole_power(x: Pair, exponent: int) -> Pair:
    """x ** exponent by squaring."""
    factor, found, left = x, None, abs(exponent)
    while left:
        if left & 1:
            found = factor if found is None else product(found, factor)
        factor, left = square(factor) if left > 1 else factor, left >> 1
    if found is None:
        return F.ones_like(x[0]), F.zeros_like(x[0])
    return found if exponent > 0 else quotient((F.ones_like(x[0]), F.zeros_like(x[0])), found)
