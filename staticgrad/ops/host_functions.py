"""Elementwise functions that NumPy and SciPy compute on the host, with their derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..ir import REGISTRY, Expand, OpDef, Pointwise, define
from ..operators import F, Tensor, apply, enter_as, numpy_twin, torch_function
from ..signals import module
from ..types import bool_, category, to_float
from . import attributes as at
from .batching import aligned
from .operands import dtype_of, integer, operand, promoted
from .rules import Rule, binary, elementwise, floating, unary, unbroadcast


@torch_function(inplace=True)
def hypot(input: Any, other: Any) -> Tensor:
    """sqrt(input**2 + other**2), without overflow."""
    return apply(_hypot_op, input, other)


@torch_function(np.fmod, inplace=True)
def fmod(input: Any, other: Any) -> Tensor:
    """The remainder of a division rounded towards 0: the sign of `input`. Raises DivisionError for integers over 0."""
    if category(promoted(input, other)) < 2:
        F.remainder(1, other)  # raises for a zero
        size = F.remainder(F.abs(input), F.abs(other))
        return F.where(input < 0, -size, size) if promoted(input, other).kind == "i" else size
    return apply(_fmod_op, input, other)


@torch_function()
def signbit(input: Any) -> Tensor:
    """Whether the sign is negative, of -0.0 too."""
    return apply(_signbit_op, input) if dtype_of(input).kind == "f" else F.lt(input, 0)


def host_record(name: str, numpy: Rule, vjp: Any = None, scalar: str = "", *, arity: int = 1, promote: Any = floating,
                infer: Any = elementwise, doc: str = "", cost: int = 20, expand: Rule | None = None) -> OpDef:  # fmt: skip
    """A record that the host computes, unless it is a scalar operation of kernels or is written in other ops."""
    emit = Pointwise(scalar, cost) if scalar else Expand(expand) if expand else None
    return define(OpDef(name, infer, numpy, vjp, emit, promote, doc=doc))


def scipy_special(name: str) -> Rule:
    """SciPy's function of this name, which is imported when it is first called."""
    return lambda *arrays: getattr(module("scipy.special"), name)(*arrays)


def in_dtype_of_last(evaluate: Rule) -> Rule:
    return lambda *arrays: np.asarray(evaluate(*arrays)).astype(arrays[-1].dtype, copy=False)


LN10, LN2, SQRT_PI = math.log(10), math.log(2), math.sqrt(math.pi)

UNARY: tuple[tuple[str, Rule, Rule, str], ...] = (
    ("tan", np.tan, lambda g, out, x: g * (1 + out * out), "Tangent."),
    ("asin", np.arcsin, lambda g, out, x: g * F.rsqrt(1 - x * x), "Inverse sine."),
    ("acos", np.arccos, lambda g, out, x: -g * F.rsqrt(1 - x * x), "Inverse cosine."),
    ("asinh", np.arcsinh, lambda g, out, x: g * F.rsqrt(x * x + 1), "Inverse hyperbolic sine."),
    ("acosh", np.arccosh, lambda g, out, x: g * F.rsqrt(x * x - 1), "Inverse hyperbolic cosine."),
    ("atanh", np.arctanh, lambda g, out, x: g / (1 - x * x), "Inverse hyperbolic tangent."),
    ("log10", np.log10, lambda g, out, x: g / (x * LN10), "Logarithm to base 10."),
    ("erfc", scipy_special("erfc"), lambda g, out, x: g * (-2 / SQRT_PI * F.exp(-x * x)), "1 - erf(x), accurate for large x."),
    ("erfinv", scipy_special("erfinv"), lambda g, out, x: g * (SQRT_PI / 2 * F.exp(out * out)), "The inverse of `erf`."),
    ("lgamma", scipy_special("gammaln"), lambda g, out, x: g * F.digamma(x), "log|gamma(x)|."),
    ("digamma", scipy_special("digamma"), lambda g, out, x: g * F.polygamma(1, x), "The derivative of `lgamma`."),
    ("i0", scipy_special("i0"), lambda g, out, x: g * apply(REGISTRY["i1"], x), "Modified Bessel function of order 0."),
    ("i0e", scipy_special("i0e"), lambda g, out, x: g * (apply(REGISTRY["i1e"], x) - F.sign(x) * out), "i0(x) exp(-|x|)."),
    ("i1", scipy_special("i1"),
     lambda g, out, x: g * (F.i0(x) - _over(out, x, 0.5)), "Modified Bessel function of order 1."),
    ("i1e", scipy_special("i1e"),
     lambda g, out, x: g * (apply(REGISTRY["i0e"], x) - out * F.sign(x) - _over(out, x, 0.5)), "i1(x) exp(-|x|)."),
    ("erfcx", scipy_special("erfcx"), lambda g, out, x: g * (2 * x * out - 2 / SQRT_PI), "exp(x**2) erfc(x)."),
    ("ndtr", scipy_special("ndtr"),
     lambda g, out, x: g * (F.exp(-x * x / 2) / math.sqrt(2 * math.pi)), "The standard normal distribution function."),
    ("ndtri", scipy_special("ndtri"),
     lambda g, out, x: g * (F.exp(out * out / 2) * math.sqrt(2 * math.pi)), "The inverse of `ndtr`."),
    ("log_ndtr", scipy_special("log_ndtr"),
     lambda g, out, x: g / (apply(REGISTRY["erfcx"], -x * math.sqrt(0.5)) * math.sqrt(math.pi / 2)), "log(ndtr(x))."),
)  # fmt: skip
"""name, meaning, `(g, out, x) -> cotangent`, doc. The host computes them."""


def _over(out: Any, x: Any, limit: float) -> Any:
    """out / x, `limit` where x is 0."""
    zero = F.eq(x, 0)
    return F.where(zero, limit, out / F.where(zero, 1.0, x))


SPECIAL_ONLY = frozenset({"i0e", "i1", "i1e", "erfcx", "ndtr", "ndtri", "log_ndtr"})
"""Those whose only names are in `special`."""
OTHER_NAMES = {"asin": "arcsin", "acos": "arccos", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}


def _unary_vjp(rule: Rule) -> tuple[Rule]:
    return (lambda g, node, out, x: rule(g, out, x),)


SPECIAL: dict[str, Rule] = {}
"""Functions of `staticgrad.special` that have no name elsewhere."""

for _name, _numpy, _rule, _doc in UNARY:
    _op = host_record(_name, in_dtype_of_last(_numpy), _unary_vjp(_rule), doc=_doc)
    _function = unary(_op)
    if _name in SPECIAL_ONLY:
        SPECIAL[_name] = _function
    else:
        enter_as(_name, _function, inplace=True)
    if _name in OTHER_NAMES:
        enter_as(OTHER_NAMES[_name], _function, inplace=True)
    if isinstance(_numpy, np.ufunc):
        numpy_twin(_numpy)(_function)


def smooth_record(op_name: str, numpy: Rule, dx: Rule | None, dy: Rule | None, doc: str, promote: Any = floating) -> OpDef:
    """A record of two operands that the host computes; dx, dy: `(out, x, y)` -> derivative, or None."""
    vjps = tuple(
        None if d is None else (lambda g, node, out, x, y, d=d, i=i: unbroadcast(g * d(out, x, y), (x, y)[i]))
        for i, d in enumerate((dx, dy))
    )
    return host_record(op_name, in_dtype_of_last(numpy), vjps, arity=2, promote=promote, doc=doc)


_hypot_op = smooth_record(
    "hypot", np.hypot, lambda out, x, y: _ratio(x, out), lambda out, x, y: _ratio(y, out), "sqrt(x**2 + y**2)."
)
numpy_twin(np.hypot)(F.hypot)


def _ratio(x: Any, y: Any) -> Any:
    """x / y, 0 where y is 0."""
    zero = F.eq(y, 0)
    return F.where(zero, 0.0, x / F.where(zero, 1.0, y))


_fmod_op = smooth_record(
    "fmod", np.fmod, lambda out, x, y: F.ones_like(out), lambda out, x, y: -F.trunc(x / y), "The remainder, of x's sign."
)
_nextafter_op = define(OpDef("nextafter", elementwise, np.nextafter, None, None, floating, doc="The next number towards y."))
enter_as("nextafter", binary(_nextafter_op), inplace=True)
_signbit_op = define(OpDef("signbit", lambda x: x.with_dtype(bool_), np.signbit, None, None, floating, batch=aligned))
_atan2_op = smooth_record(
    "atan2", np.arctan2,
    lambda out, x, y: _ratio(y, x * x + y * y), lambda out, x, y: -_ratio(x, x * x + y * y), "The angle of (other, input).",
)  # fmt: skip
enter_as("atan2", binary(_atan2_op), inplace=True)
enter_as("arctan2", F.atan2, inplace=True)
numpy_twin(np.arctan2)(F.atan2)
_igamma_op = smooth_record(
    "igamma", scipy_special("gammainc"), None,
    lambda out, a, x: F.exp((a - 1) * F.log(x) - x - F.lgamma(a)), "The regularized lower incomplete gamma function.",
)  # fmt: skip
_igammac_op = smooth_record(
    "igammac", scipy_special("gammaincc"), None,
    lambda out, a, x: -F.exp((a - 1) * F.log(x) - x - F.lgamma(a)), "The regularized upper incomplete gamma function.",
)  # fmt: skip
for _name, _op in (("igamma", _igamma_op), ("igammac", _igammac_op)):
    enter_as(_name, binary(_op), inplace=True)
_zeta_op = smooth_record(
    "zeta", scipy_special("zeta"), None, lambda out, x, q: -x * apply(REGISTRY["zeta"], x + 1, q), "Hurwitz's zeta function."
)
SPECIAL["zeta"] = binary(_zeta_op)


def _polygamma_eval(x: np.ndarray, order: int) -> np.ndarray:
    return np.asarray(module("scipy.special").polygamma(order, x.astype(np.float64))).astype(x.dtype)


polygamma_op: OpDef = define(
    OpDef(
        name="polygamma",
        batch=aligned,
        attrs={"order": at.integer(0, 2**31)},
        infer=lambda x, order: x,
        eval=_polygamma_eval,
        vjp=(lambda g, node, out, x: g * apply(polygamma_op, x, order=node.attrs["order"] + 1),),
        promote=floating,
        doc="The derivative of digamma of this order.",
    )
)


def _poisson_eval(u: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The smallest k whose distribution function reaches u."""
    k = np.ceil(module("scipy.special").pdtrik(u, np.maximum(rate, 1e-300)))
    return np.where((rate > 0) & np.isfinite(k), np.maximum(k, 0), 0.0).astype(rate.dtype)


poisson_op = host_record("poisson_quantile", _poisson_eval, arity=2, doc="Poisson numbers of uniform ones and rates.")


def _binomial_eval(u: np.ndarray, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """The smallest k whose distribution function reaches u; by the likelier of successes and failures, which keeps digits."""
    rare = np.minimum(prob, 1 - prob)
    with np.errstate(invalid="ignore", divide="ignore"):
        k = np.ceil(module("scipy.special").bdtrik(u, count, rare))
    k = np.where((rare > 0) & np.isfinite(k), np.clip(k, 0, count), 0.0)
    return np.where(prob > 0.5, count - k, k).astype(prob.dtype)


binomial_op = host_record("binomial_quantile", _binomial_eval, arity=3, doc="Binomial numbers of uniform ones, counts and "
                          "probabilities.")  # fmt: skip


@torch_function(method=False)
def polygamma(n: int, input: Any) -> Tensor:
    """The n-th derivative of `digamma`. Raises ArgumentError for a negative n."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ArgumentError(f"polygamma(n, x) does not support negative n, got {n!r}")
    return F.digamma(input) if n == 0 else apply(polygamma_op, input, order=int(n))


@torch_function(inplace=True)
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
    OpDef("mantissa", elementwise, lambda x: np.frexp(x)[0],
          (lambda g, node, out, x: g * F.pow(2.0, -F.astype(apply(_exponent_op, x), out.dtype)),), None, floating)
)  # fmt: skip
_exponent_op: OpDef = define(
    OpDef("exponent_of", lambda x: x.with_dtype(np.dtype(np.int32)), lambda x: np.frexp(x)[1].astype(np.int32), None, None,
          floating, batch=aligned)
)  # fmt: skip
