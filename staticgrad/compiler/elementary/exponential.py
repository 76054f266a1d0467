"""exp, expm1, sigmoid and tanh: one reduction x = n ln2 + r, |r| <= ln2 / 2, and one polynomial for e**r - 1."""

from __future__ import annotations

from typing import Any

from .primitives import PerFormat, Real, clamp, copysign, fma, horner, power_of_two, rint, scale, select

LOG2E = 1.4426950408889634
# ln2 as an unevaluated sum of two numbers of the format.
LN2_HIGH = PerFormat(0.6931472, 0.6931471805599453)
LN2_LOW = PerFormat(-1.9046542e-09, 2.3190468138462996e-17)

# Q in e**r = 1 + r + r**2 Q(r), minimax by the Remez algorithm: |error / (e**r - 1)| < 2**-28, 2**-61.
EXP = PerFormat(
    (0.00014929219, 0.0013930523, 0.008341609, 0.04166651, 0.16666636, 0.5),
    (
        *(2.0894107201403205e-09, 2.5108650340869935e-08, 2.755732904390487e-07, 2.7557245253681816e-06),
        *(2.4801587279398264e-05, 1.9841269885251728e-04, 0.0013888888888893567, 0.008333333333321822),
        *(0.041666666666666685, 0.16666666666666677, 0.5),
    ),
)

# Below the first, e**x rounds to 0; above the second it overflows.
UNDERFLOW = PerFormat(-104.0, -746.0)
OVERFLOW = PerFormat(89.0, 710.0)
# Below this magnitude f(x) rounds to x, for expm1 and log1p.
TINY = PerFormat(2.0**-26, 2.0**-55)


def reduce(x: Real, low: Real | None = None) -> tuple[Real, Real]:
    """(n, r) with x + low = n ln2 + r, n integral, |r| <= ln2 / 2, for |x| no larger than where exp overflows.

    The first product and difference are exact: their last bit is that of LN2_HIGH, and the sum cancels below 1/2.
    """
    n = rint(x * LOG2E)
    r = fma(n, -x.like(LN2_HIGH), x)
    if low is not None:
        r = r + low
    return n, fma(n, -x.like(LN2_LOW), r)


def exp_near_zero(r: Real) -> Real:
    """e**r for |r| <= ln2 / 2."""
    return fma(r * r, horner(r, EXP), r) + 1.0


def expm1_pair(r: Real) -> tuple[Real, Real]:
    """e**r - 1 for |r| <= ln2 / 2, as a number and what its rounding left."""
    tail = r * r * horner(r, EXP)
    p = r + tail
    return p, tail - (p - r)


def quotient(a: Real, a_low: Any, b: Real, b_low: Real) -> Real:
    """(a + a_low) / (b + b_low), with one division and one step of Newton's iteration on the remainder."""
    reciprocal = 1.0 / b
    q = a * reciprocal
    remainder = fma(-q, b, a) + fma(-q, b_low, a_low)
    return fma(remainder, reciprocal, q)


def exp(x: Real) -> Real:
    """e**x.

    Reduction by ln2 in two parts, polynomial of degree 7 (float32) or 12 (float64), scaling by two powers of two so
    that results round once into the subnormal range. Error: 0.99 ULP (float32, every number), 0.98 ULP (float64).
    """
    n, r = reduce(clamp(x, UNDERFLOW, OVERFLOW))
    return scale(exp_near_zero(r), n)


def expm1(x: Real) -> Real:
    """e**x - 1, accurate near 0.

    2**n (e**r - 1) + (2**n - 1) in one fma, plus what rounding left of e**r - 1. All is computed at half its size, for
    2**n may be just outside the format. Error: 1.40 ULP (float32), 1.45 ULP (float64).
    """
    n, r = reduce(clamp(x, PerFormat(-18.0, -38.0), OVERFLOW))
    p, p_low = expm1_pair(r)
    s = power_of_two(n - 1.0)
    y = fma(p_low, s, fma(p, s, s - 0.5)) * 2.0
    return select(abs(x) < TINY, x, y)


def sigmoid(x: Real) -> Real:
    """1 / (1 + e**-x).

    With e = e**-|x| it is e / (1 + e) for negative x and 1 / (1 + e) for others, by a compensated quotient; subnormal
    results are kept. Error: 1.48 ULP (float32), 1.49 ULP (float64).
    """
    n, r = reduce(clamp(-abs(x), UNDERFLOW, 0.0))
    # n reaches below the format's exponents, so it is lifted into them and let down by a product.
    lift = 2 * x.format.mantissa
    e = exp_near_zero(r) * power_of_two(n + lift) * 2.0**-lift
    b = 1.0 + e
    return quotient(select(x < 0.0, e, 1.0), 0.0, b, e - (b - 1.0))


def tanh(x: Real) -> Real:
    """The hyperbolic tangent: e / (e + 2) with e = exp(2|x|) - 1, both terms of the quotient carried in pairs.

    Error: 1.50 ULP in both formats.
    """
    n, r = reduce(clamp(2.0 * abs(x), 0.0, PerFormat(20.0, 40.0)))
    p, p_low = expm1_pair(r)
    s = power_of_two(n)
    e = fma(p, s, s - 1.0)
    e_low = fma(p_low, s, fma(p, s, (s - 1.0) - e))
    b = e + 2.0
    return copysign(quotient(e, e_low, b, e - (b - 2.0)), x)
