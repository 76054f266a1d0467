"""sin, cos and tan: x = n pi/2 + r, and polynomials for sin(r) and cos(r), |r| <= pi/4.

r is what Cody and Waite's reduction leaves of x. Arguments too large for it are rare: for those x times the bits of 2/pi
that matter is computed in integers (Payne and Hanek, "Radian reduction for trigonometric functions", 1983), beside the loop.
"""

from __future__ import annotations

from itertools import pairwise

from llvmlite import ir

from ..llvm import Int
from .exponential import quotient
from .primitives import (
    DOUBLE,
    INF,
    NAN,
    PerFormat,
    Real,
    copysign,
    elementary,
    flip_sign,
    fma,
    horner,
    is_odd,
    narrow,
    negate_by_bit_one,
    replaced,
    rint,
    select,
    widen,
)

I64, I128 = ir.IntType(64), ir.IntType(128)

TWO_OVER_PI = 0.6366197723675814
PI_2_HIGH, PI_2_MIDDLE, PI_2_LOW = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33

# Up to here n is exact and n * PI_2_HIGH cancels exactly. The three parts miss pi/2 by 2**-163, so n times that stays
# below 2**-53 of the smallest |r| that a float64 leaves, 2**-60.5.
BOUND = 2.0**45

# floor(2/pi * 2**1161). The largest float64 is m * 2**971, and 190 bits after the point of x * 2/pi are needed.
TWO_OVER_PI_BITS = int(
    "145f306dc9c882a53f84eafa3ea69bb81b6c52b3278872083fca2c757bd778ac36e48dc74849ba5c00c925dd413a32439fc3"
    "bd63962534e7dd1046bea5d768909d338e04d68befc827323ac7306a673e93908bf177bf250763ff12fffbc0b301fde5e231"
    "6b414da3eda6cfd9e4f96136e9e8c7ecd3cbfd45aea4f758fd7cbe2f67a0e73ef14a525d4d7f6bf623f1aba10ac",
    16,
)

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
    """(n, sin(r), cos(r)) to float64 accuracy."""
    n, r, r_low = long_reduced(x)
    return n, *pair_waves(r, r_low)


def long_reduced(x: Real) -> tuple[Real, Real, Real]:
    """(n, r, r_low): r is carried as a pair."""
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
    return n, r, tail - (r - total)


def pair_waves(r: Real, r_low: Real) -> tuple[Real, Real]:
    """(sin, cos) of r + r_low, to float64 accuracy."""
    sine, sine_low, cosine, cosine_low = parts_of_waves(r, r_low)
    return sine + sine_low, cosine + cosine_low


def parts_of_waves(r: Real, r_low: Real) -> tuple[Real, Real, Real, Real]:
    """Two numbers whose sum is the sine of r + r_low, and two for the cosine, the larger ones first."""
    z = r * r
    half = 0.5 * z
    near = 1.0 - half
    cosine_low = ((1.0 - near) - half) + fma(z * z, horner(z, COS), -r * r_low)
    return r, fma(r * z, horner(z, SIN), r_low), near, cosine_low


def far_waves(x: Real) -> tuple[Real, Real, Real]:
    """(n, sin(r), cos(r)) to float64 accuracy, for a float64 x >= BOUND; n is modulo 4."""
    n, r, r_low = far_reduced(x)
    return n, *pair_waves(r, r_low)


def far_reduced(x: Real) -> tuple[Real, Real, Real]:
    """As `long_reduced`, for a float64 x >= BOUND; n is modulo 4."""
    b = x.builder
    bits = x.pattern()
    mantissa = b.or_(b.and_(bits, I64((1 << 52) - 1)), I64(1 << 52))
    # The last of the bits of 2/pi that matter, for this exponent; 1023 is beyond all of finite numbers.
    last = b.and_(b.sub(I64(2046), b.lshr(bits, I64(52))), I64(1023))
    high, middle, low = _product(b, mantissa, _window(b, last))
    # With 2 bits before the point and 190 after it: the nearest integer, and the remainder, within 1/2 of 0.
    n = b.lshr(b.add(high, I64(1 << 61)), I64(62))
    high, middle = _shifted_left(b, high, middle, I64(2)), _shifted_left(b, middle, low, I64(2))
    # The first 128 bits of the rest, in exact parts of 48, 48 and 32, then as a pair (Dekker's two-sum).
    parts = (
        b.ashr(high, I64(16)),
        b.or_(b.shl(b.and_(high, I64((1 << 16) - 1)), I64(32)), b.lshr(middle, I64(32))),
        b.and_(middle, I64((1 << 32) - 1)),
    )
    first, second, third = (Real(b, b.sitofp(p, DOUBLE)) * 2.0**-k for p, k in zip(parts, (48, 96, 128), strict=True))
    turn = first + second
    turn_low = (second - (turn - first)) + third
    r = turn * PI_2_HIGH
    r_low = fma(turn, PI_2_HIGH, -r) + fma(turn, PI_2_MIDDLE, turn_low * PI_2_HIGH)
    return Real(b, b.uitofp(n, DOUBLE)), r, r_low


def _window(b: ir.IRBuilder, last: ir.Value) -> list[ir.Value]:
    """192 bits of 2/pi from bit `last` on, in words from the lowest."""
    name = "staticgrad_two_over_pi"
    table = b.module.globals.get(name)
    if table is None:
        words = ir.ArrayType(I64, 20)
        table = ir.GlobalVariable(b.module, words, name)
        table.linkage, table.global_constant = "internal", True
        table.initializer = ir.Constant(words, [TWO_OVER_PI_BITS >> 64 * i & (1 << 64) - 1 for i in range(20)])
    first = b.lshr(last, I64(6))
    words = [b.load(b.gep(table, [I64(0), b.add(first, I64(i))])) for i in range(4)]
    fshr = b.module.declare_intrinsic("llvm.fshr", [I64], ir.FunctionType(I64, [I64] * 3))
    return [b.call(fshr, [above, word, last]) for word, above in pairwise(words)]


def _product(b: ir.IRBuilder, number: ir.Value, words: list[ir.Value]) -> list[ir.Value]:
    """number times these words, modulo as many; from the highest."""
    wide, carry, result = b.zext(number, I128), I128(0), []
    for word in words:
        total = b.add(b.mul(wide, b.zext(word, I128)), carry)
        carry = b.lshr(total, I128(64))
        result.append(b.trunc(total, I64))
    return result[::-1]


def _shifted_left(b: ir.IRBuilder, word: ir.Value, below: ir.Value, count: ir.Value) -> ir.Value:
    fshl = b.module.declare_intrinsic("llvm.fshl", [I64], ir.FunctionType(I64, [I64] * 3))
    return b.call(fshl, [word, below, count])


def chosen(n: Real, sine: Real, cosine: Real) -> Real:
    """sin(r + n pi/2), given the sine and cosine of r."""
    return negate_by_bit_one(select(is_odd(n), cosine, sine), n)


def shifted_sine(x: Real, quarters: int) -> Real:
    """sin(|x| + quarters * pi/2)."""
    magnitude = abs(x)
    single = x.format.bits == 32
    n, sine, cosine = short_waves(widen(magnitude)) if single else long_waves(magnitude)
    y = chosen(n + float(quarters), sine, cosine)

    def far(x: Real) -> Real:
        n, sine, cosine = far_waves(widen(x) if single else x)
        y = chosen(n + float(quarters), sine, cosine)
        return select(x < INF, narrow(y) if single else y, NAN)

    return replaced(narrow(y) if single else y, magnitude, BOUND, ("sin", "cos")[quarters], far)


@elementary
def sin(x: Real) -> Real:
    """The sine of x; NaN at infinities.

    float32 is computed in float64, with pi/2 in two parts; float64 takes three, and a pair of numbers for the remainder.
    Error: 0.57 ULP (float32), 0.85 ULP (float64).
    """
    return flip_sign(shifted_sine(x, 0), x)


@elementary
def cos(x: Real) -> Real:
    """The cosine of x; NaN at infinities. Computed as `sin` is, a quarter turn on.

    Error: 0.57 ULP (float32), 0.85 ULP (float64).
    """
    return shifted_sine(x, 1)


def ratio(n: Real, r: Real, r_low: Real) -> Real:
    """tan(r + r_low + n pi/2) to float64 accuracy: both waves are carried as pairs."""
    r, sine_tail, near, cosine_tail = parts_of_waves(r, r_low)
    sine, cosine = r + sine_tail, near + cosine_tail
    sine_low, cosine_low = sine_tail - (sine - r), cosine_tail - (cosine - near)
    odd = is_odd(n)
    above, above_low = select(odd, -cosine, sine), select(odd, -cosine_low, sine_low)
    return quotient(above, above_low, select(odd, sine, cosine), select(odd, sine_low, cosine_low))


@elementary
def tan(x: Real) -> Real:
    """The tangent of x; NaN at infinities. The quotient of `sin` and `cos`.

    Error: 0.57 ULP (float32), 1.38 ULP (float64).
    """
    magnitude = abs(x)
    single = x.format.bits == 32
    if single:
        n, sine, cosine = short_waves(widen(magnitude))
        odd = is_odd(n)
        y = narrow(select(odd, -cosine, sine) / select(odd, sine, cosine))
    else:
        y = ratio(*long_reduced(magnitude))

    def far(x: Real) -> Real:
        y = ratio(*far_reduced(widen(x) if single else x))
        return select(x < INF, narrow(y) if single else y, NAN)

    return flip_sign(replaced(y, magnitude, BOUND, "tan", far), x)


# atan, asin and acos -------------------------------------------------------------------------------------------------

# atan: arguments beyond 1/2 are moved to [-1/2, 1/2] by atan(x) = pi/4 + atan((x - 1) / (x + 1)) = pi/2 + atan(-1 / x). asin
# and acos: arguments beyond 1/2 are moved below by acos(x) = 2 asin(sqrt((1 - x) / 2)).

# pi/2 and pi/4 as unevaluated sums of two numbers of the format.
HALF_PI_HIGH = PerFormat(1.5707964, 1.5707963267948966)
HALF_PI_LOW = PerFormat(-4.371139e-08, 6.123233995736766e-17)
PI_4_HIGH = PerFormat(0.7853982, 0.7853981633974483)
PI_4_LOW = PerFormat(-2.1855694e-08, 3.061616997868383e-17)

# A in atan(u) = u + u**3 A(u**2) for |u| <= 1/2, interpolated at Chebyshev nodes: relative error 2**-29, 2**-64.
ATAN = PerFormat(
    (0.04225686, -0.08235506, 0.110068806, -0.142798, 0.19999875, -0.33333334),
    (
        *(0.007656295362176976, -0.021682234961125823, 0.03398634344047341, -0.041833386159884724),
        *(0.04729953834332562, -0.05258718904277028, 0.05881913328517996, -0.06666636087824868),
        *(0.07692306240562284, -0.0909090904607358, 0.11111111110278944, -0.14285714285706202),
        *(0.19999999999999968, -0.3333333333333333),
    ),
)

# S in asin(u) = u + u**3 S(u**2) for |u| <= 1/2, interpolated at Chebyshev nodes: relative error 2**-28, 2**-57.
ASIN = PerFormat(
    (0.033690847, 0.017149238, 0.031100662, 0.044599403, 0.07500094, 0.16666666),
    (
        *(0.028757851367421566, -0.014851887071247204, 0.01740087944269402, 0.005457506718640358),
        *(0.01032281435018578, 0.011479177415184906, 0.013971212973552933, 0.017352392720869973),
        *(0.02237217294214989, 0.030381944138531247, 0.04464285714635543, 0.07499999999998433),
        0.16666666666666669,
    ),
)


@elementary
def atan(x: Real) -> Real:
    """The inverse tangent; -pi/2 and pi/2 at the infinities.

    One division, of which operands the magnitude of x decides. Error: 1.41 ULP (float32), 1.40 ULP
    (float64).
    """
    a = abs(x)
    far, middle = a > 2.0, a > 0.5
    u = select(far, -1.0, select(middle, a - 1.0, a)) / select(far, a, select(middle, a + 1.0, 1.0))
    high = select(far, a.like(HALF_PI_HIGH), select(middle, a.like(PI_4_HIGH), 0.0))
    low = select(far, a.like(HALF_PI_LOW), select(middle, a.like(PI_4_LOW), 0.0))
    z = u * u
    return copysign(high + (u + fma(u * z, horner(z, ATAN), low)), x)


def halved(a: Real) -> tuple[Int, Real, Real]:
    """(beyond, u, tail) for a = |x|: asin(u + tail), where u is a, or beyond 1/2 sqrt((1 - a) / 2) with its rounding error.

    tail is all of asin(u + error) - u. (1 - a) / 2 is exact beyond 1/2.
    """
    beyond = a > 0.5
    z = select(beyond, fma(a, -0.5, 0.5), a * a)
    root = z.call("llvm.sqrt")
    error = select(root > 0.0, fma(-root, root, z) / (root + root), 0.0)
    u = select(beyond, root, a)
    return beyond, u, fma(u * z, horner(z, ASIN), select(beyond, error, 0.0))


def minus(high: Real, low: Real, u: Real, tail: Real) -> Real:
    """high + low - (u + tail), for u <= high: what the first difference loses is kept."""
    y = high - u
    return y + (((high - y) - u) + (low - tail))


@elementary
def asin(x: Real) -> Real:
    """The inverse sine; NaN beyond [-1, 1]. Error: 0.63 ULP (float32), 0.64 ULP (float64)."""
    a = abs(x)
    beyond, u, tail = halved(a)
    far = minus(a.like(HALF_PI_HIGH), a.like(HALF_PI_LOW), u + u, tail + tail)
    return copysign(select(beyond, far, u + tail), x)


@elementary
def acos(x: Real) -> Real:
    """The inverse cosine; NaN beyond [-1, 1]. Error: 0.62 ULP (float32), 0.63 ULP (float64)."""
    a = abs(x)
    beyond, u, tail = halved(a)
    u, tail = select(beyond, u + u, copysign(u, x)), select(beyond, tail + tail, copysign(tail, x))
    high, low = a.like(HALF_PI_HIGH), a.like(HALF_PI_LOW)
    high, low = select(beyond, high + high, high), select(beyond, low + low, low)
    far = minus(high, low, u, tail)
    near = u + tail
    return select(beyond, select(x > 0.0, near, far), far)
