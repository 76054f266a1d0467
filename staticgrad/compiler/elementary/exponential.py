"""exp, expm1, sigmoid and tanh: one reduction x = n ln2 + r, |r| <= ln2 / 2, and one polynomial for e**r - 1."""

from __future__ import annotations

from typing import Any

from .primitives import (
    FORMATS,
    SINGLE,
    PerFormat,
    Real,
    at_least,
    at_most,
    clamp,
    copysign,
    fma,
    horner,
    power_of_two,
    rint,
    select,
)

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


def reduce_biased(x: Real, lift: int = 0) -> tuple[Real, Real, Real]:
    """(t, n, r) as `reduce` gives n and r; the lowest bits of t are those of n + bias + lift, for `power`.

    The product is rounded to an integer by the sum with 1.5 * 2**mantissa, in one fma.
    """
    magic = 1.5 * x.format.integral + x.format.bias + lift
    t = fma(x, LOG2E, magic)
    n = t - magic
    r = fma(n, -x.like(LN2_HIGH), x)
    return t, n, fma(n, -x.like(LN2_LOW), r)


def power(t: Real) -> Real:
    """2**(n + lift) for the t of `reduce_biased`, where that is a normal number."""
    return t.of_pattern(t.builder.shl(t.pattern(), t.format.integer(t.format.mantissa)))


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
    t, n, r = reduce_biased(clamp(x, UNDERFLOW, OVERFLOW))
    # 2**n may lie outside the format: by two factors, of which the last is rounded.
    magic = 1.5 * x.format.integral + x.format.bias
    half = fma(n, 0.5, magic)
    return exp_near_zero(r) * power(half) * power(t - (half - magic))


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
    # n reaches below the format's exponents, so it is lifted into them and let down by a product.
    lift = 2 * x.format.mantissa
    t, _, r = reduce_biased(at_least(-abs(x), UNDERFLOW), lift)
    e = exp_near_zero(r) * power(t) * 2.0**-lift
    b = 1.0 + e
    return quotient(select(x < 0.0, e, 1.0), 0.0, b, e - (b - 1.0))


# tanh(x) = x + x**3 P(x**2) for |x| < SMALL in float32: |error / tanh(x)| < 2**-25.
SMALL = 0.625
TANH = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)


def tanh(x: Real) -> Real:
    """The hyperbolic tangent.

    float32: a polynomial near 0, beyond it 1 - 2 / (exp(2|x|) + 1), where the difference loses nothing. float64:
    e / (e + 2) with e = exp(2|x|) - 1, both terms of the quotient carried in pairs, for a polynomial would be long.
    Error: 1.30 ULP (float32), 1.50 ULP (float64). Source of the polynomial: Moshier, Cephes Mathematical Library, tanhf.
    """
    a = abs(x)
    t, _, r = reduce_biased(at_most(2.0 * a, PerFormat(20.0, 40.0)))
    s = power(t)
    if x.format is FORMATS[SINGLE]:
        large = 1.0 - 2.0 / (exp_near_zero(r) * s + 1.0)
        z = x * x
        return copysign(select(a < SMALL, fma(a * z, horner(z, PerFormat(TANH, TANH)), a), large), x)
    p, p_low = expm1_pair(r)
    e = fma(p, s, s - 1.0)
    e_low = fma(p_low, s, fma(p, s, (s - 1.0) - e))
    b = e + 2.0
    return copysign(quotient(e, e_low, b, e - (b - 2.0)), x)
