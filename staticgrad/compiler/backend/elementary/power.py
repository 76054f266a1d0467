"""pow: exp(y log|x|), with a logarithm long enough that its error survives the product with y."""

from __future__ import annotations

from .exponential import EXPM1, LN2_HIGH, OVERFLOW, UNDERFLOW, exp_near_zero, reduce
from .primitives import (
    INF,
    NAN,
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
