"""atan, asin and acos.

atan: arguments beyond 1/2 are moved to [-1/2, 1/2] by atan(x) = pi/4 + atan((x - 1) / (x + 1)) = pi/2 + atan(-1 / x).
asin and acos: arguments beyond 1/2 are moved below by acos(x) = 2 asin(sqrt((1 - x) / 2)).
"""

from __future__ import annotations

from ..llvm import Int
from .primitives import PerFormat, Real, copysign, elementary, fma, horner, select

# pi/2 and pi/4 as unevaluated sums of two numbers of the format.
PI_2_HIGH = PerFormat(1.5707964, 1.5707963267948966)
PI_2_LOW = PerFormat(-4.371139e-08, 6.123233995736766e-17)
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
    high = select(far, a.like(PI_2_HIGH), select(middle, a.like(PI_4_HIGH), 0.0))
    low = select(far, a.like(PI_2_LOW), select(middle, a.like(PI_4_LOW), 0.0))
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
    far = minus(a.like(PI_2_HIGH), a.like(PI_2_LOW), u + u, tail + tail)
    return copysign(select(beyond, far, u + tail), x)


@elementary
def acos(x: Real) -> Real:
    """The inverse cosine; NaN beyond [-1, 1]. Error: 0.62 ULP (float32), 0.63 ULP (float64)."""
    a = abs(x)
    beyond, u, tail = halved(a)
    u, tail = select(beyond, u + u, copysign(u, x)), select(beyond, tail + tail, copysign(tail, x))
    high, low = a.like(PI_2_HIGH), a.like(PI_2_LOW)
    high, low = select(beyond, high + high, high), select(beyond, low + low, low)
    far = minus(high, low, u, tail)
    near = u + tail
    return select(beyond, select(x > 0.0, near, far), far)
