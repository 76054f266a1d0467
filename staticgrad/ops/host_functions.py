"""Elementwise functions that NumPy and SciPy compute on the host, or kernels by compositions, with their derivatives: among
them those of bits."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ..base.interpreter import module
from ..base.types import FLOATING, category, finfo, promote, to_float
from ..errors import ArgumentError, DTypeError, GradientError
from ..ir import OpDef, OverComplex, define
from . import complex_parts as parts
from . import rules as at
from .operands import dtype_of, integer, operand, promoted
from .operators import F, Tensor, apply, composite, torch_function
from .over_complex import holomorphic
from .rules import Rule, aligned, by_number, compared, elementwise, elementwise_op, floating, unbroadcast


@torch_function(np.fmod, inplace=True)
def fmod(input: Any, other: Any) -> Tensor:
    """The remainder of a division rounded towards 0: the sign of `input`. Raises DivisionError for integers over 0.

    Examples:
        >>> sg.fmod(sg.tensor([7.0, -7.0]), 3)
        tensor([ 1., -1.])
    """
    if category(promoted(input, other)) < 2:
        rest = F.remainder(input, other)
        if promoted(input, other).kind != "i":
            return rest
        return F.where(F.logical_and(rest != 0, F.logical_xor(rest < 0, input < 0)), rest - other, rest)
    return apply(_fmod_op, input, other)


@torch_function()
def signbit(input: Any) -> Tensor:
    """Whether the sign is negative, of -0.0 too."""
    return apply(_signbit_op, input) if dtype_of(input).kind in FLOATING else F.lt(input, 0)


def scipy_special(name: str) -> Rule:
    """SciPy's function of this name, which is imported when it is first called, in the dtype of its operands."""
    return in_dtype_of_last(lambda *arrays: getattr(module("scipy.special"), name)(*arrays))


def in_dtype_of_last(evaluate: Rule) -> Rule:
    return lambda *arrays: np.asarray(evaluate(*arrays)).astype(arrays[-1].dtype, copy=False)


host = functools.partial(elementwise_op, scalar=None)
"""The record of an elementwise op that the host computes, and its public function."""
LN2, SQRT_PI = math.log(2), math.sqrt(math.pi)


def _over(out: Any, x: Any, limit: float) -> Any:
    """out / x, `limit` where rounding leaves no other: out is as good as limit x."""
    near = F.abs(x) <= float(finfo(x.dtype).eps)
    return F.where(near, limit, out / F.where(near, 1.0, x))


def _asinh(op: Any, x: Any) -> Any:
    """log1p(a + a**2 / (1 + sqrt(a**2 + 1))) for a = |x|, log(a) + log(2) where a**2 + 1 is a**2."""
    a = abs(x)
    large = a > op.pick(2.0**26, 2.0**55)
    t = a + a * a / (1 + op.sqrt(op.fma(a, a, 1)))
    return op.copysign(op.log1p(op.where(large, a, t)) + op.where(large, LN2, 0), x)


def _acosh(op: Any, x: Any) -> Any:
    """log1p(d + sqrt(d**2 + 2d)) for d = x - 1, which is exact; log(x) + log(2) where that is as good. What rounding took from
    square, root and sum is put back to first order."""
    large = x > op.pick(2.0**26, 2.0**55)
    d = op.where(x < 1, math.nan, x - 1)
    square = op.fma(d, d, 2 * d)
    root = op.sqrt(square)
    t = d + root
    lost = op.fma(d, d, 2 * d - square) + op.fma(-root, root, square)
    rest = root - (t - d) + lost / (2 * root)
    small = op.where(root > 0, rest / (1 + t), 0)
    return op.log1p(op.where(large, x, t)) + op.where(large, LN2, small)


elementwise_op("asinh", np.arcsinh, lambda g, node, out, x: g * F.rsqrt(x * x + 1), scalar=_asinh, cost=40, error=(1.85, 1.8),
               names=("asinh", "arcsinh"), doc="Inverse hyperbolic sine.",
               example="sg.asinh(sg.tensor([0.0, 1.0])) -> tensor([0.0000, 0.8814])",
               complex=holomorphic(parts.asinh))  # fmt: skip
elementwise_op("acosh", np.arccosh, lambda g, node, out, x: g * F.rsqrt(x * x - 1), scalar=_acosh, cost=40, error=(1.89, 1.87),
               names=("acosh", "arccosh"), doc="Inverse hyperbolic cosine.",
               example="sg.acosh(sg.tensor([1.0, 2.0])) -> tensor([0.0000, 1.3170])",
               complex=OverComplex(
                   "holomorphic", vjp=lambda g, node, out, x: g * F.rsqrt(x - 1) * F.rsqrt(x + 1),
                   parts=lambda node, x: parts.acosh(x)))  # fmt: skip


def _atanh(op: Any, x: Any) -> Any:
    """log1p(2a / (1 - a)) / 2 for a = |x|: the quotient's rounding error is put back to first order."""
    a = abs(x)
    d = 1 - a
    q = 2 * a / d
    rest = op.fma(-q, d, 2 * a) - q * (1 - d - a)
    return op.copysign(0.5 * (op.log1p(q) + op.where(a < 1, rest / (d * (1 + q)), 0)), x)


elementwise_op("atanh", np.arctanh, lambda g, node, out, x: g / (1 - x * x), scalar=_atanh, cost=40, error=(1.92, 1.88),
               names=("atanh", "arctanh"), doc="Inverse hyperbolic tangent.",
               example="sg.atanh(sg.tensor([0.0, 0.5])) -> tensor([0.0000, 0.5493])",
               complex=holomorphic(parts.atanh))  # fmt: skip
host("erfc", scipy_special("erfc"), lambda g, node, out, x: g * (-2 / SQRT_PI * F.exp(-x * x)),
     names=("erfc", "special.erfc"), doc="1 - erf(x), accurate for large x.")  # fmt: skip
host("erfinv", scipy_special("erfinv"), lambda g, node, out, x: g * (SQRT_PI / 2 * F.exp(out * out)),
     names=("erfinv", "special.erfinv"), doc="The inverse of `erf`.")  # fmt: skip
host("lgamma", in_dtype_of_last(lambda x: module("scipy.special").gammaln(np.where(np.isinf(x), np.abs(x), x))),
     lambda g, node, out, x: g * F.digamma(x),
     names=("lgamma", "special.gammaln"), doc="log|gamma(x)|.")  # fmt: skip
host("digamma", scipy_special("digamma"), lambda g, node, out, x: g * F.polygamma(1, x),
     names=("digamma", "special.digamma", "special.psi"), doc="The derivative of `lgamma`.")  # fmt: skip
i0 = host("i0", scipy_special("i0"), lambda g, node, out, x: g * apply(i1, x),
          names=("i0", "special.i0"), doc="Modified Bessel function of order 0.")  # fmt: skip
i0e = host("i0e", scipy_special("i0e"), lambda g, node, out, x: g * (apply(i1e, x) - F.sign(x) * out),
           names=("special.i0e",), doc="i0(x) exp(-|x|).")  # fmt: skip
i1: OpDef = host("i1", scipy_special("i1"), lambda g, node, out, x: g * (F.i0(x) - _over(out, x, 0.5)),
                 names=("special.i1",), doc="Modified Bessel function of order 1.")  # fmt: skip
i1e: OpDef = host("i1e", scipy_special("i1e"),
                  lambda g, node, out, x: g * (apply(i0e, x) - out * F.sign(x) - _over(out, x, 0.5)),
                  names=("special.i1e",), doc="i1(x) exp(-|x|).")  # fmt: skip
erfcx = host("erfcx", scipy_special("erfcx"), lambda g, node, out, x: g * (2 * x * out - 2 / SQRT_PI),
             names=("special.erfcx",), doc="exp(x**2) erfc(x).")  # fmt: skip
host("ndtr", scipy_special("ndtr"), lambda g, node, out, x: g * (F.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
     names=("special.ndtr",), doc="The standard normal distribution function.")  # fmt: skip
host("ndtri", scipy_special("ndtri"), lambda g, node, out, x: g * (F.exp(out * out / 2) * math.sqrt(2 * math.pi)),
     names=("special.ndtri",), doc="The inverse of `ndtr`.")  # fmt: skip
host("log_ndtr", scipy_special("log_ndtr"),
     lambda g, node, out, x: g * F.where(x < 0, 1 / apply(erfcx, F.where(x < 0, -x, 0) * math.sqrt(0.5)),
                                         F.exp(-x * x / 2 - out) / 2) * math.sqrt(2 / math.pi),
     names=("special.log_ndtr",), doc="log(ndtr(x)).")  # fmt: skip


def slopes(dx: Rule | None, dy: Rule | None) -> tuple[Rule | None, ...]:
    """The cotangent functions of two operands whose derivatives are `d(out, x, y)`; None where there is none."""
    return tuple(
        None if d is None else (lambda g, node, out, x, y, d=d, i=i: unbroadcast(g * d(out, x, y), (x, y)[i]))
        for i, d in enumerate((dx, dy))
    )


def unknown(operand: str) -> Rule:
    """The cotangent function of an operand by which there is a derivative that nobody has written, as PyTorch says it."""

    def rule(*values: Any) -> NoReturn:
        raise GradientError(
            f"the derivative for '{operand}' is not implemented", "detach() that operand where no gradient by it is wanted"
        )

    return rule


def _ratio(x: Any, y: Any) -> Any:
    """x / y, 0 where y is 0."""
    zero = F.eq(y, 0)
    return F.where(zero, 0.0, x / F.where(zero, 1.0, y))


def _hypot(op: Any, x: Any, y: Any) -> Any:
    """With both scaled by a power of 2, so that their squares neither overflow nor lose digits."""
    p, q = abs(x), abs(y)
    most = op.maximum(p, q)
    large, small = most > op.pick(2.0**60, 2.0**500), most < op.pick(2.0**-40, 2.0**-400)
    down, up = op.pick(2.0**-70, 2.0**-600), op.pick(2.0**90, 2.0**600)
    scale = op.where(large, down, op.where(small, up, 1))
    back = op.where(large, 1 / down, op.where(small, 1 / up, 1))
    a, b = p * scale, q * scale
    root = op.sqrt(op.fma(a, a, b * b)) * back
    return op.where(op.logical_or(p >= math.inf, q >= math.inf), math.inf, root)


elementwise_op("hypot", np.hypot, slopes(lambda out, x, y: x / out, lambda out, x, y: y / out),
               scalar=_hypot, cost=30, error=(1.15, 1.15), doc="sqrt(input**2 + other**2), without overflow.")  # fmt: skip
_fmod_op = host("fmod", np.fmod,
                slopes(lambda out, x, y: F.ones_like(out), lambda out, x, y: -F.div(x, y, rounding_mode="trunc")), names=(),
                backward=by_number("Fmod"), doc="The remainder, of x's sign.")  # fmt: skip
host("nextafter", np.nextafter,
     (lambda g, node, out, x, y: unbroadcast(F.where(F.eq(x, y), 0, g), x), lambda g, node, out, x, y: F.zeros_like(y)),
     doc="The next number towards y.")  # fmt: skip
_signbit_op = host("signbit", np.signbit, infer=compared, names=(), batch=aligned, doc="Whether the sign is negative.")


def _atan2(op: Any, y: Any, x: Any) -> Any:
    """atan(t) for the quotient t <= 1 of the magnitudes, moved to its octant. The quotient's rounding error is put back to
    first order."""
    p, q = abs(y), abs(x)
    most, least = op.maximum(p, q), op.minimum(p, q)
    unsafe = op.logical_or(most <= 0, most >= math.inf)
    t = op.where(unsafe, op.where(least >= math.inf, 1, op.where(most <= 0, 0, least / most)), least / most)
    lost = op.where(unsafe, 0, op.fma(-t, most, least) / most)
    steep, back = p > q, op.copysign(1, x) < 0
    high = op.where(steep, op.pick(1.5707964, math.pi / 2), op.where(back, op.pick(3.1415927, math.pi), 0))
    low = op.where(
        steep, op.pick(-4.371139e-08, 6.123233995736766e-17), op.where(back, op.pick(-8.742278e-08, 1.2246467991473532e-16), 0)
    )
    r, rest = op.atan(t), lost / (1 + t * t)
    same = op.where(steep, op.where(back, 1, -1), op.where(back, -1, 1))
    return op.copysign(high + (same * r + (same * rest + low)), y)


elementwise_op("atan2", np.arctan2,
               slopes(lambda out, x, y: _ratio(y, x * x + y * y), lambda out, x, y: -_ratio(x, x * x + y * y)),
               scalar=_atan2, cost=50, error=(1.8, 1.8), names=("atan2", "arctan2"),
               doc="The angle of (other, input).")  # fmt: skip
host("igamma", scipy_special("gammainc"),
     slopes(unknown("igamma: input"), lambda out, a, x: F.exp((a - 1) * F.log(x) - x - F.lgamma(a))),
     names=("igamma", "special.gammainc"), doc="The regularized lower incomplete gamma function.")  # fmt: skip
host("igammac", scipy_special("gammaincc"),
     slopes(unknown("igammac: input"), lambda out, a, x: -F.exp((a - 1) * F.log(x) - x - F.lgamma(a))),
     names=("igammac", "special.gammaincc"), doc="The regularized upper incomplete gamma function.")  # fmt: skip
host("betainc", scipy_special("betainc"), (None, None, lambda g, node, out, a, b, x: unbroadcast(
         g * F.exp(F.xlogy(a - 1, x) + F.xlogy(b - 1, 1 - x) + F.lgamma(F.add(a, b)) - F.lgamma(a) - F.lgamma(b)), x)),
     names=(), doc="The regularized incomplete beta function of (a, b, x), whose gradient is that by x.")  # fmt: skip
zeta: OpDef = host("zeta", scipy_special("zeta"), slopes(unknown("zeta: self"), lambda out, x, q: -x * apply(zeta, x + 1, q)),
            names=("special.zeta",), doc="Hurwitz's zeta function.")  # fmt: skip


def _polygamma_eval(x: np.ndarray, order: int) -> np.ndarray:
    return np.asarray(module("scipy.special").polygamma(order, x.astype(np.float64))).astype(x.dtype)


polygamma_op: OpDef = define(
    name="polygamma",
    fails=False,
    batch=aligned,
    attrs={"order": at.integer(0, 2**31)},
    infer=lambda x, order: x,
    memory="operands",
    eval=_polygamma_eval,
    vjp=(lambda g, node, out, x: g * apply(polygamma_op, x, order=node.attrs["order"] + 1),),
    promote=floating,
    doc="The derivative of digamma of this order.",
)


def _poisson_eval(u: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The smallest k whose distribution function reaches u."""
    k = np.ceil(module("scipy.special").pdtrik(u, np.maximum(rate, 1e-300)))
    return np.where((rate > 0) & np.isfinite(k), np.maximum(k, 0), 0.0).astype(rate.dtype)


poisson_op = host("poisson_quantile", _poisson_eval, arity=2, names=(), doc="Poisson numbers of uniform ones and rates.")


def _binomial_eval(u: np.ndarray, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """The smallest k whose distribution function reaches u; by the likelier of successes and failures, which keeps digits."""
    rare = np.minimum(prob, 1 - prob)
    with np.errstate(invalid="ignore", divide="ignore"):
        k = np.ceil(module("scipy.special").bdtrik(u, count, rare))
    k = np.where((rare > 0) & np.isfinite(k), np.clip(k, 0, count), 0.0)
    return np.where(prob > 0.5, count - k, k).astype(prob.dtype)


binomial_op = host("binomial_quantile", _binomial_eval, arity=3, names=(),
                   doc="Binomial numbers of uniform ones, counts and probabilities.")  # fmt: skip


@torch_function(method=False, names=("special.polygamma",))
def polygamma(n: int, input: Any) -> Tensor:
    """The n-th derivative of `digamma`. Raises ArgumentError for a negative n."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ArgumentError(f"polygamma(n, x) does not support negative n, got {n!r}")
    return F.digamma(input) if n == 0 else apply(polygamma_op, input, order=int(n))


@torch_function(inplace=True, names=("special.multigammaln",))
@composite
def mvlgamma(input: Any, p: int) -> Tensor:
    """The multivariate log-gamma function of dimension p. Raises ArgumentError for p below 1."""
    p = integer("mvlgamma", "p", p)
    if p < 1:
        raise ArgumentError(f"mvlgamma: p has to be greater than or equal to 1, got {p}")
    x = F.astype(operand(input), to_float(dtype_of(input)))
    shifts = np.arange(0.5 * (1 - p), 0.25, 0.5).astype(x.dtype)[:p]
    return F.sum(F.lgamma(F.expand_dims(x, len(x.shape)) + shifts), -1) + p * (p - 1) / 4 * math.log(math.pi)


@torch_function()
def frexp(input: Any) -> tuple[Tensor, Tensor]:
    """Mantissa and exponent: input = mantissa * 2**exponent, the mantissa in [0.5, 1) or 0."""
    from .return_types import frexp as pair

    return pair(apply(_mantissa_op, input), apply(_exponent_op, input))


_mantissa_op: OpDef = define(
    "mantissa", elementwise, lambda x: np.frexp(x)[0],
          (lambda g, node, out, x: g * F.pow(2.0, -F.astype(apply(_exponent_op, x), out.dtype)),), None, floating,
          memory="operands", fails=False)  # fmt: skip
_exponent_op: OpDef = define(
    "exponent_of", lambda x: x.with_dtype(np.dtype(np.int32)), lambda x: np.frexp(x)[1].astype(np.int32), None, None,
          floating, memory="operands", batch=aligned, fails=False)  # fmt: skip


# integers and their bits ----------------------------------------------------------------------------------------------


def _bits(operands: Sequence[Any]) -> list[np.dtype]:
    dtype = promote(operands)
    if dtype.kind in FLOATING:
        raise DTypeError(f"bitwise operations are for integers and booleans, got {dtype}")
    return [dtype] * len(operands)


def _integers(operands: Sequence[Any]) -> list[np.dtype]:
    dtype = promote(operands)
    if dtype.kind not in "iu":
        raise DTypeError(f"only integers are taken here, got {dtype}")
    return [dtype] * len(operands)


for _name, _ufunc, _sign in (
    ("bitwise_and", np.bitwise_and, "&"), ("bitwise_or", np.bitwise_or, "|"), ("bitwise_xor", np.bitwise_xor, "^"),
):  # fmt: skip
    elementwise_op(_name, _ufunc, promote=_bits, doc=f"x {_sign} y, of integers or booleans.")
host("bitwise_not", np.invert, promote=_bits, doc="~x, of integers or booleans.")


def _shift(left: bool) -> Rule:
    def evaluate(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """A shift by no less than the bits there are leaves 0, or the sign."""
        bits = x.dtype.itemsize * 8
        fits = (y >= 0) & (y < bits)
        safe = np.where(fits, y, 0)
        if left:
            return np.where(fits, np.left_shift(x, safe), 0).astype(x.dtype)
        return np.where(fits, np.right_shift(x, safe), np.where(x < 0, -1, 0)).astype(x.dtype)

    return evaluate


for _name, _left in (("bitwise_left_shift", True), ("bitwise_right_shift", False)):
    host(_name, _shift(_left), arity=2, promote=_integers, doc="x shifted by y bits.")
for _name, _divisor in (("gcd", np.gcd), ("lcm", np.lcm)):
    host(_name, _divisor, promote=_integers, doc=f"The {_name} of two integers.")
