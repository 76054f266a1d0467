"""Functions that are made of e**x and log(x): the exponential family, the logarithms, erf and pow.

exp, exp2, expm1, sigmoid and tanh share one reduction x = n ln2 + r, |r| <= ln2 / 2, and one polynomial for e**r - 1. sinh and
cosh have the same reduction, and polynomials for sinh(r) and cosh(r).
"""

from __future__ import annotations

from math import factorial
from typing import NamedTuple

from llvmlite import ir

from .primitives import (
    FORMATS,
    INF,
    NAN,
    SINGLE,
    PerFormat,
    Real,
    at_least,
    at_most,
    clamp,
    copysign,
    elementary,
    fma,
    horner,
    narrow,
    polynomial,
    power_of_two,
    rint,
    scale,
    select,
    split_any_exponent,
    split_exponent,
    widen,
)

LOG2E = 1.4426950408889634
# ln2 as an unevaluated sum of two numbers of the format.
LN2_HIGH = PerFormat(0.6931472, 0.6931471805599453)
LN2_LOW = PerFormat(-1.9046542e-09, 2.3190468138462996e-17)

# Q in e**r = 1 + r + r**2 Q(r), minimax by the Remez algorithm: |error / e**r| < 2**-28 in float32.
EXP_SINGLE = (0.0013838027, 0.008369166, 0.041668102, 0.16666517, 0.49999994)
# The same with |error / (e**r - 1)| < 2**-28, 2**-61.
EXPM1 = PerFormat(
    (0.00014929219, 0.0013930523, 0.008341609, 0.04166651, 0.16666636, 0.5),
    (
        *(2.0894107201403205e-09, 2.5108650340869935e-08, 2.755732904390487e-07, 2.7557245253681816e-06),
        *(2.4801587279398264e-05, 1.9841269885251728e-04, 0.0013888888888893567, 0.008333333333321822),
        *(0.041666666666666685, 0.16666666666666677, 0.5),
    ),
)
EXP = PerFormat(EXP_SINGLE, EXPM1.double)

# S and C in sinh(r) = r + r**3 S(r**2), cosh(r) = 1 + r**2 C(r**2): the series, whose next terms are below 2**-29, 2**-60.
SINH = PerFormat(tuple(1 / factorial(k) for k in (9, 7, 5, 3)), tuple(1 / factorial(k) for k in (15, 13, 11, 9, 7, 5, 3)))
COSH = PerFormat(tuple(1 / factorial(k) for k in (8, 6, 4, 2)), tuple(1 / factorial(k) for k in (14, 12, 10, 8, 6, 4, 2)))

# Below the first, e**x rounds to 0; above the second it overflows.
UNDERFLOW = PerFormat(-104.0, -746.0)
OVERFLOW = PerFormat(89.0, 710.0)
# e**x is a normal number from here on, and 2**n of its reduction, too.
LEAST_NORMAL = PerFormat(-87.0, -708.0)
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


def reduce_biased(x: Real, lift: int = 0, low: bool = True) -> tuple[Real, Real]:
    """(t, r) with r as `reduce` gives it; the lowest bits of t are those of n + bias + lift, for `power`.

    The product is rounded to an integer by the sum with 1.5 * 2**mantissa, in one fma. Without `low`, r lacks its last
    part, up to n 2**-29 in float32 and n 2**-55 in float64.
    """
    magic = 1.5 * x.format.integral + x.format.bias + lift
    t = fma(x, LOG2E, magic)
    n = t - magic
    r = fma(n, -x.like(LN2_HIGH), x)
    return t, fma(n, -x.like(LN2_LOW), r) if low else r


def power(t: Real) -> Real:
    """2**(n + lift) for the t of `reduce_biased`, where that is a normal number."""
    return exponent_of(t, t.pattern())


def exponent_of(x: Real, bits: ir.Value) -> Real:
    """The number of x's format whose exponent field is the lowest of these bits; the one next to them is 0."""
    return x.of_pattern(x.builder.shl(bits, x.format.integer(x.format.mantissa)))


def expm1_near_zero(r: Real) -> Real:
    """e**r - 1 for |r| <= ln2 / 2, with a small error beside e**r."""
    return fma(r * r, polynomial(r, EXP), r)


def exp_near_zero(r: Real) -> Real:
    """e**r for |r| <= ln2 / 2."""
    return expm1_near_zero(r) + 1.0


def expm1_pair(r: Real) -> tuple[Real, Real]:
    """e**r - 1 for |r| <= ln2 / 2, as a number and its rounding error."""
    tail = r * r * polynomial(r, EXPM1)
    p = r + tail
    return p, tail - (p - r)


def quotient(a: Real, a_low: Real, b: Real, b_low: Real) -> Real:
    """(a + a_low) / (b + b_low), with one division and one step of Newton's iteration on the remainder."""
    reciprocal = 1.0 / b
    q = a * reciprocal
    remainder = fma(-q, b, a) + fma(-q, b_low, a_low)
    return fma(remainder, reciprocal, q)


@elementary
def exp(x: Real) -> Real:
    """e**x.

    Reduction by ln2 in two parts, polynomial of degree 6 (float32) or 12 (float64), scaling by two powers of two so
    that results round once into the subnormal range. Error: 1.01 ULP (float32), 1.00 ULP (float64).
    """
    # 2**n may be outside the format. So t is n + 2 bias, whose halves are two exponents in the format.
    t, r = reduce_biased(clamp(x, UNDERFLOW, OVERFLOW), x.format.bias)
    both = t.pattern()
    half = x.builder.lshr(both, x.format.integer(1))
    s = exponent_of(x, half)
    return fma(expm1_near_zero(r), s, s) * exponent_of(x, x.builder.sub(both, half))


@elementary
def exp_to_one(x: Real) -> Real:
    """e**x for x <= 0; 0 where that is no normal number: what a softmax adds up beside a 1.

    As in `exp`, with one scaling. Error: 1.01 ULP (float32), 1.00 ULP (float64) of normal results.
    """
    t, r = reduce_biased(x)
    s = power(t)
    return select(x < LEAST_NORMAL, 0.0, fma(expm1_near_zero(r), s, s))


@elementary
def exp2(x: Real) -> Real:
    """2**x, exact for integers.

    The fraction r of x is exact, and 2**r = e**(r ln2); scaled as in `exp`. Error: 1.03 ULP (float32), 1.07 ULP
    (float64).
    """
    magic = 1.5 * x.format.integral + 2 * x.format.bias
    x = clamp(x, PerFormat(-151.0, -1076.0), PerFormat(129.0, 1025.0))
    t = x + magic
    r = (x - (t - magic)) * LN2_HIGH
    both = t.pattern()
    half = x.builder.lshr(both, x.format.integer(1))
    s = exponent_of(x, half)
    return fma(expm1_near_zero(r), s, s) * exponent_of(x, x.builder.sub(both, half))


@elementary
def expm1(x: Real) -> Real:
    """e**x - 1, accurate near 0.

    2**n (e**r - 1) + (2**n - 1) in one fma, plus what rounding left of e**r - 1. All is computed at half its size, for
    2**n may be just outside the format. Error: 1.40 ULP (float32), 1.56 ULP (float64).
    """
    t, r = reduce_biased(clamp(x, PerFormat(-18.0, -38.0), OVERFLOW), -1)
    p, p_low = expm1_pair(r)
    s = power(t)
    y = fma(p_low, s, fma(p, s, s - 0.5)) * 2.0
    return select(abs(x) < TINY, x, y)


@elementary
def sigmoid(x: Real) -> Real:
    """1 / (1 + e**-x).

    With e**-x = 2**n (1 + p), the denominator is (2**n + 1) + 2**n p; where n is so large that the first sum is rounded,
    what that left is added. All is scaled by a constant that keeps 2**n within the format, so subnormal results come
    from the division, rounded once. Error: 1.69 ULP (float32), 1.73 ULP (float64).
    """
    lift = -2 * x.format.mantissa
    one = 2.0**lift
    t, r = reduce_biased(clamp(-x, PerFormat(-20.0, -40.0), PerFormat(104.0, 746.0)), lift)
    s = power(t)
    whole = s + one
    rest = one - (whole - s)  # 0 for s < one: the sum is exact, or one is all of it
    return one / (whole + fma(expm1_near_zero(r), s, rest))


@elementary
def tanh(x: Real) -> Real:
    """The hyperbolic tangent.

    float32: (1 - e) / (1 + e) with e = exp(-2|x|) = 2**n (1 + p). The numerator is -(2**n p + (2**n - 1)), where near 0
    p is all, so nothing cancels. float64: e / (e + 2) with e = exp(2|x|) - 1, both terms of the quotient carried in
    pairs: no search through all numbers could show that the short way stays within 2 ULP. Error: 1.93 ULP (float32,
    every number), 1.50 ULP (float64).
    """
    a = at_most(abs(x), PerFormat(10.0, 20.0))
    if x.format is FORMATS[SINGLE]:
        # What the last part of r changes is within 0.04 ULP.
        t, r = reduce_biased(-(a + a), low=False)
        s, p = power(t), expm1_near_zero(r)
        return copysign(fma(p, s, s - 1.0) / fma(p, s, s + 1.0), x)
    t, r = reduce_biased(a + a)
    s = power(t)
    p, p_low = expm1_pair(r)
    e = fma(p, s, s - 1.0)
    e_low = fma(p_low, s, fma(p, s, (s - 1.0) - e))
    b = e + 2.0
    return copysign(quotient(e, e_low, b, e - (b - 2.0)), x)


class Hyperbolic(NamedTuple):
    """For a = n ln2 + r: u = 2**(n - 2) and d = 2**(-n - 2), r, sinh(r) - r and cosh(r) - 1."""

    up: Real
    down: Real
    r: Real
    odd: Real
    even: Real


def hyperbolic(a: Real) -> Hyperbolic:
    """Of which sinh(a) / 2 and cosh(a) / 2 are made: within the format where twice that just is.

    a ends a little beyond that, with r > 0: infinities cancel nothing. d is 0 beside u where it is not a normal number.
    """
    n, r = reduce(at_most(a, PerFormat(89.5, 710.5)))
    down = power_of_two(at_least(-2.0 - n, 1.0 - n.format.bias))
    z = r * r
    return Hyperbolic(power_of_two(n - 2.0), down, r, r * z * horner(z, SINH), z * horner(z, COSH))


@elementary
def sinh(x: Real) -> Real:
    """The hyperbolic sine: sinh(n ln2) cosh(r) + cosh(n ln2) sinh(r), whose first factors are u - d and u + d.

    What rounding took from u - d is added. Error: 1.54 ULP (float32), 1.74 ULP (float64).
    """
    up, down, r, odd, even = hyperbolic(abs(x))
    s, c = up - down, up + down
    y = fma(c, r, s) + (fma(c, odd, s * even) - (down - (up - s)))
    return select(abs(x) < TINY, x, copysign(y + y, x))


@elementary
def cosh(x: Real) -> Real:
    """The hyperbolic cosine: cosh(n ln2) cosh(r) + sinh(n ln2) sinh(r), computed as `sinh` is.

    Error: 1.31 ULP (float32), 1.30 ULP (float64).
    """
    up, down, r, odd, even = hyperbolic(abs(x))
    s, c = up - down, up + down
    y = fma(s, r, c) + (fma(s, odd, c * even) + (down - (c - up)))
    return y + y


# erf, and the maximum and minimum that pass NaN on --------------------------------------------------------------------

# erf rounds to 1 here.
ERF_ONE = PerFormat(3.95, 6.0)

# P in erf(x) = 1 - exp(-(x + x P(x))), 0 <= x <= ERF_ONE, minimax (Remez) with erf / (x erfc) as the weight: the relative error
# of erf is 2**-27.9, 2**-57.5. As erfc decays, more error is allowed.
ERF = PerFormat(
    (
        *(-9.255062e-06, 0.00011763118, -0.00063280395, 0.0016669751, -0.00016035396, -0.019153079, 0.10277783),
        *(0.6366194, 0.12837917),
    ),
    (
        *(7.834391954147964e-16, -3.8506078354873594e-14, 8.845724036660422e-13, -1.2611170844412915e-11),
        *(1.2484239167171636e-10, -9.082315853442318e-10, 4.997749263469e-09, -2.096283757056593e-08),
        *(6.57341081394359e-08, -1.417636021184269e-07, 1.3718556713857272e-07, 3.363590987813371e-07),
        *(-1.741540750436287e-06, 2.835134195120641e-06, 3.407269394123378e-06, -2.9724047883932115e-05),
        *(6.449186130130539e-05, 2.5878604264524646e-05, -0.0005901255529333413, 0.0016962063857617223),
        *(-0.0002091946948459352, -0.01912844700506995, 0.10277260330178874, 0.6366197723675836, 0.12837916709551256),
    ),
)


@elementary
def erf(x: Real) -> Real:
    """The error function: 1 - exp(-u) for a polynomial u, whose exponential is 2**n (1 + p).

    That is (1 - 2**n) - 2**n p, where near 0 p is all, so nothing cancels. In float64, where no search could show that it stays
    within 2 ULP otherwise, p has what rounding left of u. Error: 1.87 ULP (float32, every number), 1.46 ULP (float64).
    """
    a = at_most(abs(x), ERF_ONE)
    rest = polynomial(a, ERF)
    u = fma(a, rest, a)
    if x.format is FORMATS[SINGLE]:
        # What the last part of r changes is within 0.02 ULP.
        t, r = reduce_biased(-u, low=False)
        p = expm1_near_zero(r)
    else:
        t, r = reduce_biased(-u)
        p = r + fma(r * r, polynomial(r, EXPM1), -fma(a, rest, a - u))
    s = power(t)
    return copysign(fma(-p, s, 1.0 - s), x)


@elementary
def maximum(x: Real, y: Real) -> Real:
    """The larger of x and y, NaN if either is NaN; -0.0 counts as less than 0.0. Exact, and LLVM reduces with it."""
    return x.call("llvm.maximum", y)


@elementary
def minimum(x: Real, y: Real) -> Real:
    """The smaller of x and y, NaN if either is NaN; -0.0 counts as less than 0.0. Exact, and LLVM reduces with it."""
    return x.call("llvm.minimum", y)


# log, log2, log10 and log1p -------------------------------------------------------------------------------------------

# x = m 2**k with sqrt(1/2) <= m < sqrt(2), and log(m) from f = m - 1.

# 1 / ln2 as an unevaluated sum of two numbers of the format.
LOG2E_HIGH = PerFormat(1.442695, 1.4426950408889634)
LOG2E_LOW = PerFormat(1.925963e-08, 2.0355273740931033e-17)

# 1 / ln10 as such a sum, and log10(2) as one whose first part times any exponent is exact.
LOG10E_HIGH = PerFormat(0.4342945, 0.4342944819032518)
LOG10E_LOW = PerFormat(-1.010305e-08, 1.098319650216765e-17)
LOG10_2_HIGH = PerFormat(0.301025390625, 0.30102999566383914)
LOG10_2_LOW = PerFormat(4.605039e-06, 1.42050232272661e-13)

# P in log(1 + f) = f - f**2 / 2 + f**3 P(f), minimax (Remez) on m's range: relative error 2**-30.
LOG1P = (
    *(0.06717672, -0.116458505, 0.118847094, -0.124102026, 0.14220595, -0.16667756, 0.20002061, -0.25000015),
    0.33333313,
)
# R in log((1 + s) / (1 - s)) = 2s + s**3 R(s**2), minimax (Remez) on m's range, s = f / (2 + f): relative error 2**-58.
ATANH = (
    *(0.14795716073974438, 0.15314077510669286, 0.18183563100824762, 0.22222198600968057),
    *(0.28571428742060817, 0.39999999999416536, 0.6666666666666734),
)


def log1p_tail(f: Real) -> Real:
    """log(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2))."""
    if f.format.bits == 32:
        return f * f * fma(f, horner(f, LOG1P), -0.5)
    s = f / (f + 2.0)
    z = s * s
    half_square = 0.5 * f * f
    # 2s = f - s f and s f = f**2 / 2 - s f**2 / 2
    return fma(s, fma(z, horner(z, ATANH), half_square), -half_square)


def combine(k: Real, f: Real, argument: Real) -> Real:
    """k ln2 + log(1 + f), and the values at the edges of log's domain for the argument these stand for."""
    return at_edges(fma(k, LN2_HIGH, f + fma(k, LN2_LOW, log1p_tail(f))), argument)


def at_edges(y: Real, argument: Real) -> Real:
    """y, or the logarithm's value at infinity, 0, negative numbers and NaN."""
    y = select(argument < INF, y, argument)
    y = select(argument < 0.0, NAN, y)
    return select(argument.equals(0.0), -INF, y)


@elementary
def log(x: Real) -> Real:
    """The natural logarithm; -inf at 0, NaN below.

    float32: polynomial of degree 11 in f. float64: the series of atanh in s = f / (2 + f), arranged so that f itself
    enters unrounded (the arrangement of FreeBSD's libm). Error: 0.85 ULP in both formats.
    """
    k, m = split_any_exponent(x)
    return combine(k, m - 1.0, x)


@elementary
def log2(x: Real) -> Real:
    """The logarithm to base 2, exact for powers of 2; -inf at 0, NaN below.

    k + log(m) / ln2, where 1 / ln2 has two parts for f, which near 1 is all. Error: 1.72 ULP
    (float32), 1.72 ULP (float64).
    """
    k, m = split_any_exponent(x)
    f = m - 1.0
    return at_edges(fma(f, LOG2E_HIGH, k + fma(log1p_tail(f), LOG2E_HIGH, f * LOG2E_LOW)), x)


@elementary
def log10(x: Real) -> Real:
    """The logarithm to base 10; -inf at 0, NaN below.

    k log10(2) + log(m) / ln10, with both products as pairs. Error: 0.95 ULP (float32), 0.90 ULP (float64).
    """
    k, m = split_any_exponent(x)
    f = m - 1.0
    first, second = k * LOG10_2_HIGH, f * LOG10E_HIGH
    y = first + second
    lost = (first - y) + second  # exact: `first` is 0 or the larger one
    rest = fma(log1p_tail(f), LOG10E_HIGH, fma(f, LOG10E_HIGH, -second) + fma(f, LOG10E_LOW, k * LOG10_2_LOW))
    return at_edges(y + (lost + rest), x)


@elementary
def log1p(x: Real) -> Real:
    """log(1 + x), accurate near 0; -inf at -1, NaN below.

    1 + x is rounded only to choose k; f = x 2**-k + (2**-k - 1) then comes from x in one fma, exact for k = 0.
    Error: 1.48 ULP (float32), 1.42 ULP (float64).
    """
    u = 1.0 + x
    k, _ = split_exponent(u)
    # 2**-k may be just below the format, 2**(2 - k) is not.
    s = power_of_two(2.0 - k)
    f = fma(0.25 * x, s, 0.25 * s - 1.0)
    return select(abs(x) < TINY, x, combine(k, f, u))


# pow ------------------------------------------------------------------------------------------------------------------

# pow: exp(y log|x|), with a logarithm long enough that its error survives the product with y.

# R in log((1 + s) / (1 - s)) = 2s + s**3 R(s**2), minimax (Remez): relative error 2**-36.
ATANH_SHORT = (0.23582305259145817, 0.28537300870846205, 0.40000335305214446, 0.6666666564499585)
# T in log((1 + s) / (1 - s)) = 2s (1 + s**2 (1/3 + s**2 T(s**2))), minimax (Remez): relative error 2**-66.
ATANH_TAIL = (
    *(0.06598164923415924, 0.06628409107698696, 0.07693378643098395, 0.09090892184270685),
    *(0.11111111259952348, 0.14285714285049828, 0.20000000000001128),
)
THIRD, THIRD_LOW = 0.3333333333333333, 1.850371707708594e-17
# k * LN2_SHORT is exact: its last 11 bits are zero.
LN2_SHORT, LN2_REST = 0.6931471805598903, 5.497923018708371e-14


def log_edges(logarithm: Real, a: Real) -> Real:
    """`logarithm` of a, with log(0) = -inf, log(inf) = inf, log(NaN) = NaN."""
    return select(a.equals(0.0), -INF, select(a < INF, logarithm, a))


def power_in_double(a: Real, y: Real) -> Real:
    """a**y for a >= 0, to float32 accuracy; a and y are float32 numbers held in float64."""
    k, m = split_exponent(a)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    logarithm = log_edges(fma(k, LN2_HIGH, fma(s * z, horner(z, ATANH_SHORT), 2.0 * s)), a)
    n, r = reduce(clamp(y * logarithm, -120.0, 120.0))  # +-120 is past float32's range
    return (fma(r * r, horner(r, EXPM1.single), r) + 1.0) * power_of_two(n)


def log_pair(a: Real) -> tuple[Real, Real]:
    """log(a) for a positive finite a, as a pair; relative error 2**-65.

    Each quantity q is followed by q_low, its rounding error. Terms below 2**-65 of the result are dropped.
    """
    k, m = split_any_exponent(a)
    numerator, denominator = m - 1.0, m + 1.0
    denominator_low = m - (denominator - 1.0)
    reciprocal = 1.0 / denominator
    s = numerator * reciprocal
    s_low = fma(-s, denominator_low, fma(-s, denominator, numerator)) * reciprocal
    z = s * s
    z_low = fma(s, s, -z) + 2.0 * s * s_low
    # u = 1/3 + z T(z), w = z u, v = s w
    t = z * horner(z, ATANH_TAIL)
    u = t + THIRD
    u_low = t - (u - THIRD) + THIRD_LOW
    w = z * u
    w_low = fma(z, u, -w) + fma(z, u_low, z_low * u)
    v = s * w
    v_low = fma(s, w, -v) + fma(s, w_low, s_low * w)
    half = s + v
    half_low = v - (half - s) + (s_low + v_low)
    # k ln2 is 0 or the larger summand
    whole = k * LN2_SHORT
    total = fma(half, 2.0, whole)
    total_low = fma(half, 2.0, whole - total) + fma(k, LN2_REST, 2.0 * half_low)
    return total, total_low


def power_by_pairs(a: Real, y: Real) -> Real:
    """a**y for a >= 0, in float64."""
    logarithm, low = log_pair(a)
    logarithm = log_edges(logarithm, a)
    product = y * logarithm
    product_low = fma(y, logarithm, -product) + y * low
    within = abs(product) < 1000.0
    n, r = reduce(clamp(product, UNDERFLOW, OVERFLOW), select(within, product_low, 0.0))
    return scale(exp_near_zero(r), n)


@elementary
def pow(x: Real, y: Real) -> Real:
    """x**y, with the special cases of C99's pow.

    float32 goes through float64. float64 takes log|x| as a pair of numbers from the series of atanh, and exp of the
    pair y log|x|. Error: 0.52 ULP (float32), 1.36 ULP (float64).
    """
    a = abs(x)
    # 1**inf is 1, where the product inf log(1) is NaN.
    e = select(a.equals(1.0), 0.0, y)
    r = narrow(power_in_double(widen(a), widen(e))) if x.format.bits == 32 else power_by_pairs(a, e)
    half = y * 0.5
    whole = rint(y).equals(y)
    odd = whole & ~rint(half).equals(half)
    r = select(odd, copysign(r, x), r)
    r = select((x < 0.0) & (a < INF) & ~whole, NAN, r)
    r = select(x.equals(1.0), 1.0, r)
    return select(y.equals(0.0), 1.0, r)
