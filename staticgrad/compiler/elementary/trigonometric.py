"""sin and cos: x = n pi/2 + r by Cody and Waite's reduction, and polynomials for sin(r) and cos(r), |r| <= pi/4."""

from __future__ import annotations

from .primitives import NAN, Real, flip_sign, fma, horner, is_odd, narrow, negate_by_bit_one, rint, select, widen

TWO_OVER_PI = 0.6366197723675814
PI_2_HIGH, PI_2_MIDDLE, PI_2_LOW = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33

# Up to here n is exact and n * PI_2_HIGH cancels exactly. The three parts miss pi/2 by 2**-163, so n times that stays
# below 2**-53 of the smallest |r| that a float64 leaves, 2**-60.5. Results beyond are NaN: loud, where a wrong
# reduction would give any number.
BOUND = 2.0**45

# S and C in sin(r) = r + r**3 S(r**2), cos(r) = 1 - r**2 / 2 + r**4 C(r**2), minimax (Remez), relative error.
SIN_SHORT = (-1.9514601350460216e-04, 0.008332155868166893, -0.16666654536678438)  # 2**-28
COS_SHORT = (2.443244576140134e-05, -0.0013887310170925685, 0.04166664556062627)  # 2**-33
SIN = (  # 2**-57
    *(1.5895682199955968e-10, -2.505073756412313e-08, 2.755731355110836e-06, -1.9841269829373446e-04),
    *(0.00833333333332184, -0.1666666666666663),
)
COS = (  # 2**-63
    *(-1.1358617710614319e-11, 2.087570315076091e-09, -2.7557314203138224e-07, 2.480158728896533e-05),
    *(-0.0013888888888873307, 0.041666666666666595),
)


def short_waves(x: Real) -> tuple[Real, Real, Real]:
    """(n, sin(r), cos(r)) to float32 accuracy, in float64."""
    n = rint(x * TWO_OVER_PI)
    r = fma(n, -PI_2_MIDDLE, fma(n, -PI_2_HIGH, x))
    z = r * r
    return n, fma(r * z, horner(z, SIN_SHORT), r), fma(z, fma(z, horner(z, COS_SHORT), -0.5), 1.0)


def long_waves(x: Real) -> tuple[Real, Real, Real]:
    """(n, sin(r), cos(r)) to float64 accuracy: r is carried as the pair r + r_low."""
    n = rint(x * TWO_OVER_PI)
    a = fma(n, -PI_2_HIGH, x)
    b = n * -PI_2_MIDDLE
    b_low = fma(n, -PI_2_MIDDLE, -b)
    # a + b without loss, whichever is larger (Knuth's two-sum)
    total = a + b
    shadow = total - a
    rounding = (a - (total - shadow)) + (b - shadow)
    tail = fma(n, -PI_2_LOW, rounding + b_low)
    r = total + tail
    r_low = tail - (r - total)
    z = r * r
    half = 0.5 * z
    sine = r + fma(r * z, horner(z, SIN), r_low)
    near = 1.0 - half
    cosine = near + (((1.0 - near) - half) + fma(z * z, horner(z, COS), -r * r_low))
    return n, sine, cosine


def shifted_sine(x: Real, quarters: int) -> Real:
    """sin(|x| + quarters * pi/2)."""
    magnitude = abs(x)
    single = x.format.bits == 32
    n, sine, cosine = short_waves(widen(magnitude)) if single else long_waves(magnitude)
    n = n + float(quarters)
    y = negate_by_bit_one(select(is_odd(n), cosine, sine), n)
    return select(magnitude < BOUND, narrow(y) if single else y, NAN)


def sin(x: Real) -> Real:
    """The sine of x, for |x| < 2**45; NaN beyond and at infinities.

    float32 is computed in float64, with pi/2 in two parts; float64 takes three, and a pair of numbers for what is left.
    Error: 0.57 ULP (float32), 0.85 ULP (float64).
    """
    return flip_sign(shifted_sine(x, 0), x)


def cos(x: Real) -> Real:
    """The cosine of x, for |x| < 2**45; NaN beyond and at infinities. Computed as `sin` is, a quarter turn on.

    Error: 0.57 ULP (float32), 0.85 ULP (float64).
    """
    return shifted_sine(x, 1)
