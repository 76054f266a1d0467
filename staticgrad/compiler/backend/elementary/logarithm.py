"""log, log2, log10 and log1p: x = m 2**k with sqrt(1/2) <= m < sqrt(2), and log(m) from f = m - 1."""

from __future__ import annotations

from .exponential import EXPM1, LN2_HIGH, LN2_LOW, OVERFLOW, TINY, UNDERFLOW, exp_near_zero, reduce
from .primitives import (
    INF,
    NAN,
    PerFormat,
    Real,
    clamp,
    copysign,
    elementary,
    fma,
    horner,
    narrow,
    power_of_two,
    rint,
    scale,
    select,
    split_any_exponent,
    split_exponent,
    widen,
)

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
