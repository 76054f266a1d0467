"""PyTorch's elementwise functions beside those of `pointwise.py`: made of its ops, or records that the host computes."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError
from ..ir import OpDef, define
from ..operators import F, Operators, Tensor, apply, as_array, enter_as, numpy_twin, spelled, torch_function
from ..signals import module
from ..types import TensorType, bool_, category, is_scalar, promote, to_float
from . import attributes as at
from . import pointwise
from .rules import binary, compared, elementwise, elementwise_op, floating, unary, unbroadcast

Rule = Callable[..., Any]


def dtype_of(x: Any) -> np.dtype:
    """The dtype that an operand brings."""
    return x.dtype if hasattr(x, "dtype") else as_array(x).dtype


def operand(x: Any) -> Any:
    """A tensor as it is, anything else as an array."""
    return x if isinstance(x, Operators) else as_array(x)


# arithmetic with more arguments ---------------------------------------------------------------------------------------

_apply_add, _apply_sub, _apply_div = binary(pointwise.add), binary(pointwise.sub), binary(pointwise.div)


def _weighted(name: str, x: Any, other: Any, alpha: Any) -> Any:
    """`alpha * other`, in a dtype that the result has. Raises DTypeError for a float beside integers, as PyTorch."""
    if not isinstance(alpha, Operators):
        kinds = [category(dtype_of(v)) for v in (x, other)]
        if isinstance(alpha, float) and max(kinds) < 2:
            raise DTypeError(f"{name}: for integral input tensors, argument alpha must not be a floating point number")
        if isinstance(alpha, bool) and max(kinds) > 0:
            raise DTypeError(f"{name}: boolean alpha only supported for boolean results")
    return other * alpha


def add(input: Any, other: Any, *, alpha: Any = 1, out: None = None) -> Tensor:
    """input + alpha * other, broadcast. Booleans: logical or."""
    if alpha.__class__ is not int or alpha != 1:
        other = _weighted("add", input, other, alpha) if not (is_scalar(alpha) and alpha == 1) else other
    result: Tensor = _apply_add(input, other, out=out)
    return result


def sub(input: Any, other: Any, *, alpha: Any = 1, out: None = None) -> Tensor:
    """input - alpha * other, broadcast. Raises DTypeError for booleans."""
    if alpha.__class__ is not int or alpha != 1:
        other = _weighted("sub", input, other, alpha) if not (is_scalar(alpha) and alpha == 1) else other
    result: Tensor = _apply_sub(input, other, out=out)
    return result


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: None = None) -> Tensor:
    """input / other, broadcast; integers give the default float. rounding_mode: "floor" or "trunc" rounds the quotient, of
    integers to an integer. Raises ArgumentError for another one."""
    if rounding_mode is None:
        result: Tensor = _apply_div(input, other, out=out)
        return result
    if rounding_mode == "floor":
        return F.floor_divide(input, other)
    if rounding_mode == "trunc":
        kind = promoted(input, other)
        if kind.kind == "f":
            return trunc(_apply_div(input, other))
        return (F.astype(input, kind) - fmod(input, other)) // F.astype(operand(other), kind)
    raise ArgumentError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}")


def promoted(*operands: Any) -> np.dtype:
    """The dtype that operands take together."""
    return promote([v if is_scalar(v) else TensorType(tuple(np.shape(v)) if not hasattr(v, "shape") else v.shape, dtype_of(v))
                    for v in operands])  # fmt: skip


for _names, _made, _twin in (
    (("add",), add, np.add), (("sub", "subtract"), sub, np.subtract), (("div", "divide", "true_divide"), div, np.true_divide),
):  # fmt: skip
    for _name in _names:
        enter_as(_name, _made, inplace=True)
    numpy_twin(_twin)(_made)


@torch_function()
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """other - alpha * input."""
    return sub(other, input, alpha=alpha)


@torch_function(inplace=True)
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2, broadcast."""
    result: Tensor = input + _times(tensor1 * tensor2, value)
    return result


@torch_function(inplace=True)
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2, broadcast. Raises DTypeError for integers."""
    if category(promoted(tensor1, tensor2)) < 2:
        raise DTypeError("Integer division with addcdiv is no longer supported", "cast the operands to a float")
    result: Tensor = input + _times(tensor1 / tensor2, value)
    return result


def _times(x: Any, value: Any) -> Any:
    return x if is_scalar(value) and value == 1 else x * value


@torch_function(inplace=True)
def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """input + weight * (end - input): the line from `input` to `end`. Of two formulas the one that is exact nearer its end."""
    difference = end - input
    if is_scalar(weight):
        result: Tensor = input + weight * difference if weight < 0.5 else end - difference * (1 - weight)
        return result
    return F.where(F.abs(weight) < 0.5, input + weight * difference, end - difference * (1 - weight))


@torch_function(inplace=True)
def clamp_min(input: Any, min: Any) -> Tensor:
    """The larger of `input` and `min`."""
    return F.clip(input, min, None)


@torch_function(inplace=True)
def clamp_max(input: Any, max: Any) -> Tensor:
    """The smaller of `input` and `max`."""
    return F.clip(input, None, max)


@torch_function()
def float_power(input: Any, exponent: Any) -> Tensor:
    """input ** exponent in float64."""
    base = F.astype(operand(input), np.float64)
    return F.pow(base, exponent if is_scalar(exponent) else F.astype(operand(exponent), np.float64))


@torch_function(inplace=True)
def ldexp(input: Any, other: Any) -> Tensor:
    """input * 2**other."""
    result: Tensor = input * F.pow(2.0, other)
    return result


@torch_function()
def positive(input: Any) -> Tensor:
    """`input` itself. Raises DTypeError for booleans."""
    if dtype_of(input) == bool_:
        raise DTypeError("The `+` operator, on a bool tensor is not supported.")
    result: Tensor = input
    return result


@torch_function(inplace=True)
def deg2rad(input: Any) -> Tensor:
    """Degrees as radians."""
    result: Tensor = input * (math.pi / 180)
    return result


@torch_function(inplace=True)
def rad2deg(input: Any) -> Tensor:
    """Radians as degrees."""
    result: Tensor = input * (180 / math.pi)
    return result


@torch_function(np.trunc, inplace=True, names=("fix",))
def trunc(input: Any) -> Tensor:
    """The integer next to `input` on the side of 0; integers stay what they are."""
    if dtype_of(input).kind != "f":
        return F.clone(input)
    return F.where(input < 0, F.ceil(input), F.floor(input))


@torch_function(inplace=True)
def frac(input: Any) -> Tensor:
    """input - trunc(input), with the sign of the input. Raises DTypeError for integers."""
    if dtype_of(input).kind != "f":
        raise DTypeError(f"frac: not implemented for {dtype_of(input)}", "cast to a float first")
    result: Tensor = input - trunc(input)
    return result


_round = unary(pointwise.round_op)


@spelled
def round_(input: Any, *, decimals: int = 0) -> Tensor:
    """The nearest number with so many decimals, halves to even. Integers stay what they are."""
    if decimals == 0:
        return _round(input)
    if dtype_of(input).kind != "f":
        raise DTypeError(f"round: not implemented for {dtype_of(input)} with decimals", "cast to a float first")
    scale = 10.0 ** abs(decimals)
    return _round(input * scale) / scale if decimals > 0 else _round(input / scale) * scale


enter_as("round", round_, inplace=True)
enter_as("special.round", round_)
numpy_twin(np.rint)(round_)


@numpy_twin(np.round)
def _numpy_round(a: Any, decimals: int = 0) -> Any:
    return round_(a, decimals=decimals)


@torch_function(np.fmod, inplace=True)
def fmod(input: Any, other: Any) -> Tensor:
    """The remainder of a division rounded towards 0: the sign of `input`. Raises DivisionError for integers over 0."""
    if category(promoted(input, other)) < 2:
        F.remainder(1, other)  # raises for a zero
        size = F.remainder(F.abs(input), F.abs(other))
        return F.where(input < 0, -size, size) if promoted(input, other).kind == "i" else size
    return apply(_fmod_op, input, other)


@torch_function(inplace=True)
def sgn(input: Any) -> Tensor:
    """`sign`."""
    return F.sign(input)


@torch_function()
def signbit(input: Any) -> Tensor:
    """Whether the sign is negative, of -0.0 too."""
    return apply(_signbit_op, input) if dtype_of(input).kind == "f" else F.lt(input, 0)


copysign_op: OpDef = elementwise_op(
    "copysign", np.copysign,
    (lambda g, node, out, x, y: unbroadcast(g * F.sign(x) * apply(copysign_op, F.ones_like(y), y), x),
     lambda g, node, out, x, y: F.zeros_like(y)),
    doc="|input| with the sign of `other`.",
)  # fmt: skip


@torch_function(inplace=True)
def heaviside(input: Any, values: Any) -> Tensor:
    """0 below 0, 1 above, `values` at 0; NaN stays NaN."""
    step = F.where(input == 0, values, F.astype(F.gt(input, 0), dtype_of(input)))
    return F.stop_gradient(F.where(F.isnan(input), input, step) if dtype_of(input).kind == "f" else step)


@torch_function(np.nan_to_num, inplace=True)
def nan_to_num(input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """NaN as `nan` (0 unless given), infinities as `posinf` and `neginf` (the largest and the least number)."""
    if dtype_of(input).kind != "f":
        return F.clone(input)
    most = float(np.finfo(dtype_of(input)).max)
    out = F.where(F.isnan(input), 0.0 if nan is None else nan, input)
    out = F.where(F.eq(input, math.inf), most if posinf is None else posinf, out)
    return F.where(F.eq(input, -math.inf), -most if neginf is None else neginf, out)


@torch_function()
def angle(input: Any) -> Tensor:
    """0, or pi for negative numbers; NaN stays NaN."""
    x = input if dtype_of(input).kind == "f" else F.astype(input, to_float(dtype_of(input)))
    return F.stop_gradient(F.where(F.isnan(x), x, F.where(x < 0, math.pi, F.zeros_like(x))))


@torch_function(names=("conj_physical", "resolve_conj", "resolve_neg"))
def conj(input: Any) -> Tensor:
    """`input`: numbers are real."""
    result: Tensor = input
    return result


@torch_function(method=False)
def real(input: Any) -> Tensor:
    """`input`: numbers are real."""
    result: Tensor = input
    return result


# logarithms and exponentials ------------------------------------------------------------------------------------------


@torch_function(np.logaddexp)
def logaddexp(input: Any, other: Any) -> Tensor:
    """log(exp(input) + exp(other)), without overflow."""
    top = F.stop_gradient(F.maximum(input, other))
    top = F.where(F.isfinite(top), top, F.zeros_like(top))
    return top + F.log(F.exp(input - top) + F.exp(other - top))


@torch_function(np.logaddexp2)
def logaddexp2(input: Any, other: Any) -> Tensor:
    """log2(2**input + 2**other), without overflow."""
    ln2 = math.log(2)
    return logaddexp(input * ln2, other * ln2) * (1 / ln2)


@torch_function(inplace=True, names=("special.xlogy",))
def xlogy(input: Any, other: Any) -> Tensor:
    """input * log(other), 0 where `input` is 0 unless `other` is NaN."""
    kind = to_float(promoted(input, other))
    x, y = (F.astype(operand(v), kind) for v in (input, other))
    zero = F.logical_and(F.eq(x, 0), F.logical_not(F.isnan(y)))
    return F.where(zero, 0.0, x * F.log(F.where(zero, 1.0, y)))


@torch_function(inplace=True, names=("special.logit",))
def logit(input: Any, eps: float | None = None) -> Tensor:
    """log(input / (1 - input)), of input clamped to [eps, 1 - eps] if that is given."""
    x = F.astype(operand(input), to_float(dtype_of(input)))
    x = x if eps is None else F.clip(x, eps, 1 - eps)
    return F.log(x / (1 - x))


@torch_function(np.sinc, inplace=True, names=("special.sinc",))
def sinc(input: Any) -> Tensor:
    """sin(pi x) / (pi x), 1 at 0."""
    x = F.astype(operand(input), to_float(dtype_of(input))) * math.pi
    zero = F.eq(x, 0)
    safe = F.where(zero, 1.0, x)
    return F.where(zero, 1.0 - x * x / 6, F.sin(safe) / safe)


# comparisons ------------------------------------------------------------------------------------------------------------


@torch_function(np.isinf)
def isinf(input: Any) -> Tensor:
    """Where `input` is infinite."""
    if dtype_of(input).kind != "f":
        return F.zeros_like(input, dtype=bool_)
    return F.eq(F.abs(input), math.inf)


@torch_function()
def isposinf(input: Any) -> Tensor:
    """Where `input` is plus infinity."""
    return F.eq(input, math.inf) if dtype_of(input).kind == "f" else F.zeros_like(input, dtype=bool_)


@torch_function()
def isneginf(input: Any) -> Tensor:
    """Where `input` is minus infinity."""
    return F.eq(input, -math.inf) if dtype_of(input).kind == "f" else F.zeros_like(input, dtype=bool_)


@torch_function()
def isreal(input: Any) -> Tensor:
    """True everywhere: numbers are real."""
    return F.ones_like(input, dtype=bool_)


@torch_function(np.isclose)
def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Where |input - other| <= atol + rtol |other|; infinities are close to themselves, NaN to NaN with `equal_nan`."""
    close = F.eq(input, other)
    if dtype_of(input).kind == "f" or dtype_of(other).kind == "f" or rtol or atol:
        kind = to_float(promoted(input, other)) if category(promoted(input, other)) == 2 else np.dtype(np.float64)
        x, y = (F.astype(operand(v), kind) for v in (input, other))
        near = F.le(F.abs(x - y), atol + F.abs(rtol * y))
        close = F.logical_or(close, F.logical_and(near, F.logical_and(F.isfinite(x), F.isfinite(y))))
        if equal_nan:
            close = F.logical_or(close, F.logical_and(F.isnan(x), F.isnan(y)))
    return close


@torch_function()
def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether `isclose` holds everywhere, as a Python bool."""
    return bool(F.all(isclose(input, other, rtol, atol, equal_nan)))


@torch_function()
def equal(input: Any, other: Any) -> bool:
    """Whether both have the same shape and elements, as a Python bool."""
    return tuple(input.shape) == tuple(other.shape) and bool(F.all(F.eq(input, other)))


# integers and bits ------------------------------------------------------------------------------------------------------


def _bits(operands: Sequence[Any]) -> list[np.dtype]:
    dtype = promote(operands)
    if dtype.kind == "f":
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
host = functools.partial(elementwise_op, scalar=None)
"""The same, of an op that the host computes."""
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


# records of the host ----------------------------------------------------------------------------------------------------


def scipy_special(name: str) -> Rule:
    """SciPy's function of this name, which is imported when it is first called, in the dtype of its operands."""
    return _plain(lambda *arrays: getattr(module("scipy.special"), name)(*arrays))


def _plain(evaluate: Rule) -> Rule:
    return lambda *arrays: np.asarray(evaluate(*arrays)).astype(arrays[-1].dtype, copy=False)


LN2, LN10, SQRT_PI = math.log(2), math.log(10), math.sqrt(math.pi)


def _over(out: Any, x: Any, limit: float) -> Any:
    """out / x, `limit` where x is 0."""
    zero = F.eq(x, 0)
    return F.where(zero, limit, out / F.where(zero, 1.0, x))


host("tan", np.tan, lambda g, node, out, x: g * (1 + out * out), doc="Tangent.")
host("asin", np.arcsin, lambda g, node, out, x: g * F.rsqrt(1 - x * x), names=("asin", "arcsin"), doc="Inverse sine.")
host("acos", np.arccos, lambda g, node, out, x: -g * F.rsqrt(1 - x * x), names=("acos", "arccos"), doc="Inverse cosine.")


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
               names=("asinh", "arcsinh"), doc="Inverse hyperbolic sine.")  # fmt: skip
elementwise_op("acosh", np.arccosh, lambda g, node, out, x: g * F.rsqrt(x * x - 1), scalar=_acosh, cost=40, error=(1.89, 1.87),
               names=("acosh", "arccosh"), doc="Inverse hyperbolic cosine.")  # fmt: skip


def _atanh(op: Any, x: Any) -> Any:
    """log1p(2a / (1 - a)) / 2 for a = |x|: the quotient's rounding error is put back to first order."""
    a = abs(x)
    d = 1 - a
    q = 2 * a / d
    rest = op.fma(-q, d, 2 * a) - q * (1 - d - a)
    return op.copysign(0.5 * (op.log1p(q) + op.where(a < 1, rest / (d * (1 + q)), 0)), x)


elementwise_op("atanh", np.arctanh, lambda g, node, out, x: g / (1 - x * x), scalar=_atanh, cost=40, error=(1.92, 1.88),
               names=("atanh", "arctanh"), doc="Inverse hyperbolic tangent.")  # fmt: skip
host("log10", np.log10, lambda g, node, out, x: g / (x * LN10), doc="Logarithm to base 10.")
host("erfc", scipy_special("erfc"), lambda g, node, out, x: g * (-2 / SQRT_PI * F.exp(-x * x)),
     names=("erfc", "special.erfc"), doc="1 - erf(x), accurate for large x.")  # fmt: skip
host("erfinv", scipy_special("erfinv"), lambda g, node, out, x: g * (SQRT_PI / 2 * F.exp(out * out)),
     names=("erfinv", "special.erfinv"), doc="The inverse of `erf`.")  # fmt: skip
host("lgamma", scipy_special("gammaln"), lambda g, node, out, x: g * F.digamma(x),
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
     lambda g, node, out, x: g / (apply(erfcx, -x * math.sqrt(0.5)) * math.sqrt(math.pi / 2)),
     names=("special.log_ndtr",), doc="log(ndtr(x)).")  # fmt: skip


def slopes(dx: Rule | None, dy: Rule | None) -> tuple[Rule | None, ...]:
    """The cotangent functions of two operands whose derivatives are `d(out, x, y)`; None where there is none."""
    return tuple(
        None if d is None else (lambda g, node, out, x, y, d=d, i=i: unbroadcast(g * d(out, x, y), (x, y)[i]))
        for i, d in enumerate((dx, dy))
    )


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


elementwise_op("hypot", np.hypot, slopes(lambda out, x, y: _ratio(x, out), lambda out, x, y: _ratio(y, out)),
               scalar=_hypot, cost=30, error=(1.15, 1.15), doc="sqrt(input**2 + other**2), without overflow.")  # fmt: skip
_fmod_op = host("fmod", np.fmod, slopes(lambda out, x, y: F.ones_like(out), lambda out, x, y: -trunc(x / y)),
                names=(), doc="The remainder, of x's sign.")  # fmt: skip
host("nextafter", np.nextafter, doc="The next number towards y.")
_signbit_op = host("signbit", np.signbit, infer=compared, names=(), doc="Whether the sign is negative.")
host("atan2", np.arctan2, slopes(lambda out, x, y: _ratio(y, x * x + y * y), lambda out, x, y: -_ratio(x, x * x + y * y)),
     names=("atan2", "arctan2"), doc="The angle of (other, input).")  # fmt: skip
host("igamma", scipy_special("gammainc"),
     slopes(None, lambda out, a, x: F.exp((a - 1) * F.log(x) - x - F.lgamma(a))),
     names=("igamma", "special.gammainc"), doc="The regularized lower incomplete gamma function.")  # fmt: skip
host("igammac", scipy_special("gammaincc"),
     slopes(None, lambda out, a, x: -F.exp((a - 1) * F.log(x) - x - F.lgamma(a))),
     names=("igammac", "special.gammaincc"), doc="The regularized upper incomplete gamma function.")  # fmt: skip
zeta: OpDef = host("zeta", scipy_special("zeta"), slopes(None, lambda out, x, q: -x * apply(zeta, x + 1, q)),
            names=("special.zeta",), doc="Hurwitz's zeta function.")  # fmt: skip


def _polygamma_eval(x: np.ndarray, order: int) -> np.ndarray:
    return np.asarray(module("scipy.special").polygamma(order, x.astype(np.float64))).astype(x.dtype)


polygamma_op: OpDef = define(
    OpDef(
        name="polygamma",
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


poisson_op = host("poisson_quantile", _poisson_eval, arity=2, names=(), doc="Poisson numbers of uniform ones and rates.")


@torch_function(method=False, names=("special.polygamma",))
def polygamma(n: int, input: Any) -> Tensor:
    """The n-th derivative of `digamma`. Raises ArgumentError for a negative n."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ArgumentError(f"polygamma(n, x) does not support negative n, got {n!r}")
    return F.digamma(input) if n == 0 else apply(polygamma_op, input, order=int(n))


@torch_function(inplace=True, names=("special.multigammaln",))
def mvlgamma(input: Any, p: int) -> Tensor:
    """The multivariate log-gamma function of dimension p. Raises ArgumentError for p below 1."""
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
          floating)
)  # fmt: skip

# maxima that leave NaN out ----------------------------------------------------------------------------------------------


def _without_nan(function: Rule) -> Rule:
    def choose(input: Any, other: Any) -> Tensor:
        kind = promoted(input, other)
        if kind.kind != "f":
            result: Tensor = function(input, other)
            return result
        x, y = F.astype(operand(input), kind), F.astype(operand(other), kind)
        shape_like = function(x, y)
        return F.where(F.isnan(x), y, F.where(F.isnan(y), x, shape_like))

    return choose


for _name, _whole, _numpy in (("fmax", F.maximum, np.fmax), ("fmin", F.minimum, np.fmin)):
    _function = _without_nan(_whole)
    _function.__name__ = _function.__qualname__ = _name
    _function.__doc__ = f"`{_whole.__name__}`, of which a NaN is left out."
    enter_as(_name, spelled(_function))
    numpy_twin(_numpy)(getattr(F, _name))


# functions of special alone ---------------------------------------------------------------------------------------------


def _special(function: Rule) -> Rule:
    enter_as(f"special.{function.__name__}", spelled(function))
    return function


@_special
def xlog1py(input: Any, other: Any) -> Tensor:
    """input * log1p(other), 0 where `input` is 0 unless `other` is NaN."""
    kind = to_float(promoted(input, other))
    x, y = (F.astype(operand(v), kind) for v in (input, other))
    zero = F.logical_and(F.eq(x, 0), F.logical_not(F.isnan(y)))
    return F.where(zero, 0.0, x * F.log1p(F.where(zero, 0.0, y)))


@_special
def entr(input: Any) -> Tensor:
    """-x log(x), 0 at 0, minus infinity below."""
    x = F.astype(operand(input), to_float(dtype_of(input)))
    safe = F.where(x > 0, x, 1.0)
    return F.where(F.isnan(x), x, F.where(x > 0, -safe * F.log(safe), F.where(F.eq(x, 0), 0.0, -math.inf)))


FLAT = (
    ("airy_ai", _plain(lambda x: module("scipy.special").airy(x)[0]), "Airy's function Ai."),
    ("bessel_j0", scipy_special("j0"), "Bessel function of the first kind, of order 0."),
    ("bessel_j1", scipy_special("j1"), "Bessel function of the first kind, of order 1."),
    ("bessel_y0", scipy_special("y0"), "Bessel function of the second kind, of order 0."),
    ("bessel_y1", scipy_special("y1"), "Bessel function of the second kind, of order 1."),
    ("modified_bessel_i0", scipy_special("i0"), "Modified Bessel function of the first kind, of order 0."),
    ("modified_bessel_i1", scipy_special("i1"), "Modified Bessel function of the first kind, of order 1."),
    ("modified_bessel_k0", scipy_special("k0"), "Modified Bessel function of the second kind, of order 0."),
    ("modified_bessel_k1", scipy_special("k1"), "Modified Bessel function of the second kind, of order 1."),
    ("scaled_modified_bessel_k0", scipy_special("k0e"), "k0(x) exp(x)."),
    ("scaled_modified_bessel_k1", scipy_special("k1e"), "k1(x) exp(x)."),
    ("spherical_bessel_j0", _plain(lambda x: module("scipy.special").spherical_jn(0, np.abs(x))), "sin(x) / x."),
)
"""Functions without a derivative in PyTorch."""

for _name, _evaluate, _doc in FLAT:
    host(_name, _evaluate, names=(f"special.{_name}",), doc=_doc)


def _recurrence(first: Rule, step: Rule, edges: Rule | None = None) -> Rule:
    """A polynomial of degree n by its recurrence: `first(x)` is that of degree 1, `step(k, x, p, q)` that of degree k + 1
    from those of degrees k and k - 1."""

    def evaluate(x: np.ndarray, n: np.ndarray) -> np.ndarray:
        x, degree = np.broadcast_arrays(x, np.trunc(n))
        before, now = np.ones_like(x), np.asarray(first(x))
        out = np.where(degree == 0, before, np.where(degree == 1, now, 0)).astype(x.dtype)
        top = degree.max(initial=0)
        for k in range(1, int(top) if np.isfinite(top) else 0):
            before, now = now, step(k, x, now, before)
            out = np.where(degree == k + 1, now, out).astype(x.dtype)
        return out

    return evaluate


POLYNOMIALS: tuple[tuple[str, Rule], ...] = (
    ("chebyshev_polynomial_t", _recurrence(lambda x: x, lambda k, x, p, q: 2 * x * p - q)),
    ("chebyshev_polynomial_u", _recurrence(lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - q)),
    ("chebyshev_polynomial_v", _recurrence(lambda x: 2 * x - 1, lambda k, x, p, q: 2 * x * p - q)),
    ("chebyshev_polynomial_w", _recurrence(lambda x: 2 * x + 1, lambda k, x, p, q: 2 * x * p - q)),
    ("hermite_polynomial_h", _recurrence(lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q)),
    ("hermite_polynomial_he", _recurrence(lambda x: x, lambda k, x, p, q: x * p - k * q)),
    ("laguerre_polynomial_l", _recurrence(lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1))),
    ("legendre_polynomial_p", _recurrence(lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))),
    *[(f"shifted_chebyshev_polynomial_{c}", _recurrence(f, lambda k, x, p, q: (4 * x - 2) * p - q)) for c, f in (
        ("t", lambda x: 2 * x - 1), ("u", lambda x: 4 * x - 2), ("v", lambda x: 4 * x - 3), ("w", lambda x: 4 * x - 1))],
)  # fmt: skip

for _name, _evaluate in POLYNOMIALS:
    host(_name, _evaluate, arity=2, names=(f"special.{_name}",), doc=f"The polynomial of degree n at x: {_name}.")

# spellings of booleans ----------------------------------------------------------------------------------------------------


def _bitwise(name: str, logical: Rule) -> Rule:
    whole = getattr(F, name)

    def method(x: Any, y: Any) -> Any:
        return logical(x, y) if dtype_of(x) == bool_ == dtype_of(y) else whole(x, y)

    return method


BITWISE = {
    operator.and_: _bitwise("bitwise_and", F.logical_and),
    operator.or_: _bitwise("bitwise_or", F.logical_or),
    operator.xor: _bitwise("bitwise_xor", F.logical_xor),
}
"""Python's operators: of booleans they are logical."""
