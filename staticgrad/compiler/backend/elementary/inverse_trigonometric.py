"""atan: arguments beyond 1/2 are moved to [-1/2, 1/2] by atan(x) = pi/4 + atan((x - 1) / (x + 1)) = pi/2 + atan(-1 / x)."""

from __future__ import annotations

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
