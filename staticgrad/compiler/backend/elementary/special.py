"""erf, and the maximum and minimum that pass NaN on."""

from __future__ import annotations

from .exponential import EXPM1, expm1_near_zero, power, reduce_biased
from .primitives import FORMATS, SINGLE, PerFormat, Real, at_most, copysign, elementary, fma, polynomial

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
