"""erf, and the maximum and minimum that pass NaN on."""

from __future__ import annotations

from .exponential import exp_near_zero, power, reduce_biased
from .primitives import PerFormat, Real, at_most, copysign, elementary, fma, horner, select

SPLIT = 0.875
# erf rounds to 1 here.
ERF_ONE = PerFormat(3.95, 6.0)

# S in erf(x) = x + x S(x**2) below SPLIT, minimax (Remez): relative error 2**-26, 2**-55.
ERF_SMALL = PerFormat(
    (-0.0006244965, 0.005037483, -0.026792355, 0.112823665, -0.37612525, 0.12837915),
    (
        *(-1.2535568307899735e-09, 1.580304829862999e-08, -1.6603871953467614e-07, 1.6489841681940198e-06),
        *(-1.4927562341062609e-05, 1.2055415780891567e-04, -8.548329295534112e-04, 0.005223977663969491),
        *(-0.026866170648923774, 0.11283791670974289, -0.3761263890318413, 0.1283791670955126),
    ),
)
# L in erf(x) = 1 - exp(L(x - SPLIT)) up to ERF_ONE, minimax (Remez) with erfc / erf as the weight: 2**-26, 2**-56.
ERF_LARGE = PerFormat(
    (0.00026362773, -0.0022835003, 0.011539775, -0.047039676, -0.8265036, -2.430223, -1.5328244),
    (
        *(1.4512233253761707e-12, -4.167177395963516e-11, 5.538914398802134e-10, -4.514531226387531e-09),
        *(2.5010735295521146e-08, -9.665435087580671e-08, 2.3912092925701433e-07, -1.3985691823808246e-07),
        *(-2.036241333196564e-06, 1.2161783790578914e-05, -3.937386436627271e-05, 5.9286952839789486e-05),
        *(2.0078499851777754e-04, -0.002143997092428345, 0.011323339590496695, -0.046896054552576734),
        *(-0.8265416933341674, -2.4302197229548335, -1.5328244365985517),
    ),
)


@elementary
def erf(x: Real) -> Real:
    """The error function: an odd polynomial below 0.875, 1 - exp(polynomial) above.

    The second polynomial expands log(erfc) about 0.875, where erfc counts most; as erfc decays, more error is allowed.
    Error: 1.06 ULP (float32), 1.03 ULP (float64).
    """
    a = at_most(abs(x), ERF_ONE)
    small = fma(a, horner(a * a, ERF_SMALL), a)
    # What the last part of r changes is within 0.02 ULP in float32.
    t, r = reduce_biased(horner(a - SPLIT, ERF_LARGE), low=x.format.bits == 64)
    large = fma(-exp_near_zero(r), power(t), 1.0)
    return copysign(select(a < SPLIT, small, large), x)


@elementary
def maximum(x: Real, y: Real) -> Real:
    """The larger of x and y, NaN if either is NaN; -0.0 counts as less than 0.0. Exact, and LLVM reduces with it."""
    return x.call("llvm.maximum", y)


@elementary
def minimum(x: Real, y: Real) -> Real:
    """The smaller of x and y, NaN if either is NaN; -0.0 counts as less than 0.0. Exact, and LLVM reduces with it."""
    return x.call("llvm.minimum", y)
