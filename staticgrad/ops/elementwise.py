"""PyTorch's elementwise functions beside those of `pointwise.py`: made of its ops, or records that the host computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.dtypes import HALF
from ..base.types import FLOATING, INEXACT, bool_, category, complex128, finfo, float64, is_scalar, to_float
from ..errors import ArgumentError, DTypeError
from ..ir import Expand, OpDef, define
from . import pointwise
from .host_functions import fmod
from .operands import dtype_of, integer, operand, promoted
from .operators import (
    F,
    Operators,
    Tensor,
    apply,
    by_method,
    composite,
    enter_as,
    frontends,
    numpy_twin,
    rounded_once,
    routed,
    spelled,
    torch_function,
    weight_in,
)
from .rules import Rule, binary, elementwise, elementwise_op, floating, unary, unbroadcast

# formulas with derivatives of their own --------------------------------------------------------------------------------


def written(
    name: str, numpy: Rule, formula: Rule, slopes: tuple[Rule, ...], operands: int = 1, promote: Rule = floating
) -> Callable[..., Any]:
    """A function written in other ops whose derivatives are not those of the formula: they hold at special points, too.

    slopes: for each operand, a function of its cotangent g and of all operands.
    """

    def rule(place: int) -> Rule:
        return lambda g, node, out, *xs: unbroadcast(slopes[place](g, *xs), xs[place])

    vjp = tuple(map(rule, range(operands)))
    op = define(name, elementwise, numpy, vjp, Expand(lambda node, *xs: formula(*xs)), promote, memory="operands")
    return lambda *xs: apply(op, *xs)


_trunc_divide = written(
    "trunc_divide", lambda x, y: np.trunc(x / y), lambda x, y: F.trunc(x / y),
    (lambda g, x, y: F.zeros_like(x), lambda g, x, y: F.zeros_like(y)), 2,
)  # fmt: skip


# arithmetic with more arguments ---------------------------------------------------------------------------------------

_apply_add, _apply_sub, _apply_div = binary(pointwise.add), binary(pointwise.sub), binary(pointwise.div)


def _weighted(name: str, combine: Any, x: Any, other: Any, alpha: Any) -> Any:
    """`combine(x, alpha * other)`, in the dtype of x and other. Raises DTypeError for a float beside integers, as PyTorch."""
    if is_scalar(alpha) and alpha == 1:
        return combine(x, other)
    dtypes = dtype_of(x), dtype_of(other)
    if not isinstance(alpha, Operators):
        kind = max(map(category, dtypes))
        if isinstance(alpha, float) and kind < 2:
            raise DTypeError(f"{name}: for integral input tensors, argument alpha must not be a floating point number")
        if isinstance(alpha, bool) and kind > 0:
            raise DTypeError(f"{name}: boolean alpha only supported for boolean results")
    if HALF.isdisjoint(dtypes):
        return combine(x, other * alpha)
    return _combined(combine, x, other, alpha if isinstance(alpha, Operators) else weight_in(promoted(x, other), alpha))


@rounded_once
def _combined(combine: Any, x: Any, other: Any, alpha: Any) -> Any:
    return combine(x, other * alpha)


def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input + alpha * other, broadcast. Booleans: logical or.

    Examples:
        >>> sg.add(sg.tensor([1.0, 2.0]), sg.tensor([10.0, 20.0]), alpha=2)
        tensor([21., 42.])
    """
    if alpha.__class__ is not int or alpha != 1:
        return _weighted("add", _apply_add, input, other, alpha)
    return _apply_add(input, other)


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input - alpha * other, broadcast. Raises DTypeError for booleans.

    Examples:
        >>> sg.sub(sg.tensor([1.0, 2.0]), 1)
        tensor([0., 1.])
    """
    if alpha.__class__ is not int or alpha != 1:
        return _weighted("sub", _apply_sub, input, other, alpha)
    return _apply_sub(input, other)


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """input / other, broadcast; integers give the default float. rounding_mode: "floor" or "trunc" rounds the quotient, of
    integers to an integer. Raises ArgumentError for another one.

    Examples:
        >>> sg.div(sg.tensor([7.0, -7.0]), 2, rounding_mode="floor")
        tensor([ 3., -4.])
    """
    if out is not None:
        return frontends.into(out, "div", div, (input, other), {"rounding_mode": rounding_mode})
    if rounding_mode is None:
        return _apply_div(input, other)
    if rounding_mode == "floor":
        return F.floor_divide(input, other)
    if rounding_mode == "trunc":
        kind = promoted(input, other)
        if kind.kind in FLOATING:
            return _trunc_divide(input, other)
        return (F.astype(input, kind) - fmod(input, other)) // F.astype(operand(other), kind)
    raise ArgumentError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}")


for _names, _made, _twin in (
    (("add",), by_method(spelled(add)), np.add), (("sub", "subtract"), by_method(spelled(sub)), np.subtract),
    (("div", "divide", "true_divide"), by_method(spelled(div)), np.true_divide),
):  # fmt: skip
    for _name in _names:
        enter_as(_name, _made, inplace=True)
    numpy_twin(_twin)(_made)


@torch_function()
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """other - alpha * input."""
    return sub(other, input, alpha=alpha)


@torch_function(inplace=True)
@composite
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2, broadcast.

    Examples:
        >>> sg.addcmul(sg.ones(2), sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]), value=0.5)
        tensor([2.5000, 5.0000])
    """
    return input + _times(tensor1 * tensor2, value)


@torch_function(inplace=True)
@composite
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2, broadcast. Raises DTypeError for integers."""
    if category(promoted(tensor1, tensor2)) < 2:
        raise DTypeError("Integer division with addcdiv is no longer supported", "cast the operands to a float")
    return input + _times(tensor1 / tensor2, value)


def _times(x: Any, value: Any) -> Any:
    return x if is_scalar(value) and value == 1 else x * value


@torch_function(inplace=True)
@composite
def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """input + weight * (end - input): the line from `input` to `end`. Of two formulas the one that is exact nearer its end.

    Examples:
        >>> sg.lerp(sg.tensor([0.0, 10.0]), sg.tensor([1.0, 20.0]), 0.5)
        tensor([ 0.5000, 15.0000])
    """
    if isinstance(input, Operators) and isinstance(end, Operators) and input.dtype != end.dtype:
        raise DTypeError(f"expected dtype {input.dtype} for `end` but got dtype {end.dtype}", "cast one of them")
    difference = end - input
    if is_scalar(weight):
        near = (abs(weight) if isinstance(weight, complex) else weight) < 0.5
        return input + weight * difference if near else end - difference * (1 - weight)
    close = F.abs(weight) < 0.5
    return F.where(close, input, end) + difference * F.where(close, weight, F.sub(weight, 1))


@torch_function(inplace=True)
def clamp_min(input: Any, min: Any) -> Tensor:
    """The larger of `input` and `min`."""
    return F.clip(input, min, None)


@torch_function(inplace=True)
def clamp_max(input: Any, max: Any) -> Tensor:
    """The smaller of `input` and `max`."""
    return F.clip(input, None, max)


@torch_function(inplace=True)
def float_power(input: Any, exponent: Any) -> Tensor:
    """input ** exponent in float64, or complex128."""
    kind = complex128 if promoted(input, exponent).kind == "c" else float64
    return F.pow(F.astype(operand(input), kind), exponent if is_scalar(exponent) else F.astype(operand(exponent), kind))


@torch_function(inplace=True)
def ldexp(input: Any, other: Any) -> Tensor:
    """input * 2**other."""
    return input * F.pow(2.0, other)


@torch_function()
def positive(input: Any) -> Tensor:
    """`input` itself. Raises DTypeError for booleans."""
    if dtype_of(input) == bool_:
        raise DTypeError("The `+` operator, on a bool tensor is not supported.")
    return input


@torch_function(inplace=True)
def deg2rad(input: Any) -> Tensor:
    """Degrees as radians."""
    return input * (math.pi / 180)


@torch_function(inplace=True)
def rad2deg(input: Any) -> Tensor:
    """Radians as degrees."""
    return input * (180 / math.pi)


@torch_function(np.trunc, inplace=True, names=("fix",))
def trunc(input: Any) -> Tensor:
    """The integer next to `input` on the side of 0; integers stay what they are.

    Examples:
        >>> sg.trunc(sg.tensor([1.5, -1.5]))
        tensor([ 1., -1.])
    """
    if dtype_of(input).kind in "biu":
        return F.clone(input)
    return F.where(input < 0, F.ceil(input), F.floor(input))


@torch_function(inplace=True)
def frac(input: Any) -> Tensor:
    """input - trunc(input), with the sign of the input. Raises DTypeError for integers."""
    if dtype_of(input).kind not in FLOATING:
        raise DTypeError(f"frac: not implemented for {dtype_of(input)}", "cast to a float first")
    return input - trunc(input)


_sign, _round = unary(pointwise.sign), unary(pointwise.round_op)


@torch_function(np.sign, inplace=True, cached=by_method)
def sign(input: Any, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1; 0 for NaN, as in PyTorch. Booleans stay what they are.

    Examples:
        >>> sg.sign(sg.tensor([-2.0, 0.0, 3.0]))
        tensor([-1.,  0.,  1.])
    """
    return F.clone(input) if dtype_of(input) == bool_ else _sign(input, out=out)


@routed
@spelled
def round_(input: Any, *, decimals: int = 0) -> Tensor:
    """The nearest number with so many decimals, halves to even. Integers stay what they are.

    Examples:
        >>> sg.round(sg.tensor([0.5, 1.5, -2.6]))
        tensor([ 0.,  2., -3.])
    """
    decimals = integer("round", "decimals", decimals)
    if decimals == 0:
        return _round(input)
    if dtype_of(input).kind not in FLOATING:
        raise DTypeError(f"round: not implemented for {dtype_of(input)} with decimals", "cast to a float first")
    scale = 10.0 ** abs(decimals)
    return _round(input * scale) / scale if decimals > 0 else _round(input / scale) * scale


enter_as("round", round_, inplace=True)
enter_as("special.round", round_)
numpy_twin(np.rint)(round_)


@numpy_twin(np.round)
def _numpy_round(a: Any, decimals: int = 0) -> Any:
    return round_(a, decimals=decimals)


copysign_op: OpDef = elementwise_op(
    "copysign", np.copysign,
    (lambda g, node, out, x, y: unbroadcast(g * F.sign(x) * F.sign(out), x),
     lambda g, node, out, x, y: F.zeros_like(y)),
    doc="|input| with the sign of `other`.",
)  # fmt: skip


@torch_function(inplace=True)
def heaviside(input: Any, values: Any) -> Tensor:
    """0 below 0 and for NaN, 1 above, `values` at 0."""
    return F.stop_gradient(F.where(input == 0, values, F.astype(F.gt(input, 0), dtype_of(input))))


@torch_function(np.nan_to_num, inplace=True)
@composite
def nan_to_num(input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """NaN as `nan` (0 unless given), infinities as `posinf` and `neginf` (the largest and the least number); of complex
    numbers in both parts."""
    if dtype_of(input).kind == "c":
        return F.complex(*(nan_to_num(part, nan, posinf, neginf) for part in (F.real(input), F.imag(input))))
    if dtype_of(input).kind not in FLOATING:
        return F.clone(input)
    most = float(finfo(dtype_of(input)).max)
    out = F.where(F.isnan(input), 0.0 if nan is None else nan, input)
    out = F.where(F.eq(input, math.inf), most if posinf is None else posinf, out)
    return F.where(F.eq(input, -math.inf), -most if neginf is None else neginf, out)


# logarithms and exponentials ------------------------------------------------------------------------------------------


def _logaddexp(x: Any, y: Any) -> Any:
    """Equal operands have no distance, infinite ones neither."""
    return F.maximum(x, y) + F.log1p(F.exp(F.neg(F.abs(F.where(F.eq(x, y), 0, x - y)))))


_logaddexp_op = written("logaddexp", np.logaddexp, _logaddexp, (
    lambda g, x, y: g / (1 + F.exp(y - x)), lambda g, x, y: g / (1 + F.exp(x - y)),
), 2)  # fmt: skip


@torch_function(np.logaddexp)
@composite
def logaddexp(input: Any, other: Any) -> Tensor:
    """log(exp(input) + exp(other)), without overflow."""
    if promoted(input, other).kind != "c":
        return _logaddexp_op(input, other)
    x, y = operand(input), operand(other)
    top = F.stop_gradient(F.where(F.real(x) > F.real(y), x, y))
    top = F.where(F.isfinite(top), top, F.zeros_like(top))
    return top + F.log(F.exp(input - top) + F.exp(other - top))


@torch_function(np.logaddexp2)
@composite
def logaddexp2(input: Any, other: Any) -> Tensor:
    """log2(2**input + 2**other), without overflow."""
    ln2 = math.log(2)
    return logaddexp(input * ln2, other * ln2) * (1 / ln2)


def times_log(name: str, log: str, one: float) -> Callable[..., Any]:
    """x times the logarithm of y, which is 0 at y = `one`: 0 where x is 0 and y no NaN. The derivative by x is the logarithm
    there, too, or 0 where that isn't finite."""
    of_array, of_tensor = getattr(np, log), getattr(F, log)

    def numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where((x == 0) & (y == y), pointwise.ZERO[x.dtype], x * of_array(y))

    def formula(x: Any, y: Any) -> Any:
        return F.where(F.logical_and(F.eq(x, 0), F.eq(y, y)), 0, x * of_tensor(y))

    def by_x(g: Any, x: Any, y: Any) -> Any:
        slope: Any = whole(g, y)
        return F.where(F.logical_and(F.eq(x, 0), y <= one - 1), 0, slope)

    whole = written(name, numpy, formula, (by_x, lambda g, x, y: g * x / (y if one else y + 1)), 2)
    return whole


_xlogy_op = times_log("xlogy", "log", 1)


@torch_function(inplace=True, names=("special.xlogy",))
@composite
def xlogy(input: Any, other: Any) -> Tensor:
    """input * log(other), 0 where `input` is 0 unless `other` is NaN."""
    return _xlogy_op(input, other)


_logit_op = written("logit", lambda x: np.log(x / (1 - x)), lambda x: F.log(x / (1 - x)), (
    lambda g, x: F.where(F.logical_or(x < 0, x > 1), math.nan, g / (x * (1 - x))),
))  # fmt: skip


@torch_function(inplace=True, names=("special.logit",))
@composite
def logit(input: Any, eps: float | None = None) -> Tensor:
    """log(input / (1 - input)), of input clamped to [eps, 1 - eps] if that is given."""
    x = F.astype(operand(input), to_float(dtype_of(input)))
    return _logit_op(x if eps is None else F.clip(x, eps, 1 - eps))


@torch_function(np.sinc, inplace=True, names=("special.sinc",))
@composite
def sinc(input: Any) -> Tensor:
    """sin(pi x) / (pi x), 1 at 0."""
    x = F.astype(operand(input), to_float(dtype_of(input))) * math.pi
    near = F.abs(x) <= math.sqrt(finfo(x.dtype).eps)  # the quotient's derivative is a difference of large numbers there
    safe = F.where(near, 1.0, x)
    return F.where(near, 1.0 - x * x / 6, F.sin(safe) / safe)


# comparisons ------------------------------------------------------------------------------------------------------------


@torch_function(np.isinf, cached=routed)
def isinf(input: Any) -> Tensor:
    """Where `input` is infinite.

    Examples:
        >>> sg.isinf(sg.tensor([1.0, float("-inf")]))
        tensor([False,  True])
    """
    if dtype_of(input).kind not in INEXACT:
        return F.zeros_like(input, dtype=bool_)
    return F.eq(F.abs(input), math.inf)


def _ordered(name: str, x: Any) -> Any:
    if dtype_of(x).kind == "c":
        raise DTypeError(f"{name} does not support complex inputs", "use x.real and x.imag")
    return x


@torch_function()
def isposinf(input: Any) -> Tensor:
    """Where `input` is plus infinity."""
    return F.eq(_ordered("isposinf", input), math.inf) if dtype_of(input).kind in INEXACT else F.zeros_like(input, dtype=bool_)


@torch_function()
def isneginf(input: Any) -> Tensor:
    """Where `input` is minus infinity."""
    return F.eq(_ordered("isneginf", input), -math.inf) if dtype_of(input).kind in INEXACT else F.zeros_like(input, dtype=bool_)


@torch_function(np.isclose)
def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Where |input - other| <= atol + rtol |other|; infinities are close to themselves, NaN to NaN with `equal_nan`.

    Examples:
        >>> sg.isclose(sg.tensor([1.0, 2.0]), sg.tensor([1.0, 2.1]))
        tensor([ True, False])
    """
    for word, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise ArgumentError(f"{word} must be greater than or equal to zero, but got {value}")
    close = F.eq(input, other)
    if category(promoted(input, other)) >= 2 or rtol or atol:
        kind = to_float(promoted(input, other)) if category(promoted(input, other)) >= 2 else np.dtype(np.float64)
        x, y = (F.astype(operand(v), kind) for v in (input, other))
        near = F.le(F.abs(x - y), atol + F.abs(rtol * y))
        close = F.logical_or(close, F.logical_and(near, F.logical_and(F.isfinite(x), F.isfinite(y))))
        if equal_nan:
            close = F.logical_or(close, F.logical_and(F.isnan(x), F.isnan(y)))
    return close


@torch_function()
def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether `isclose` holds everywhere, as a Python bool.

    Examples:
        >>> sg.allclose(sg.tensor([1.0]), sg.tensor([1.0 + 1e-9]))
        True
    """
    return bool(F.all(isclose(input, other, rtol, atol, equal_nan)))


@torch_function()
def equal(input: Any, other: Any) -> bool:
    """Whether both have the same shape and elements, as a Python bool.

    Examples:
        >>> sg.equal(sg.tensor([1, 2]), sg.tensor([1, 2]))
        True
    """
    return tuple(input.shape) == tuple(other.shape) and bool(F.all(F.eq(input, other)))


# maxima that leave NaN out ----------------------------------------------------------------------------------------------


def _without_nan(function: Rule, wins: Rule) -> Rule:
    def choose(input: Any, other: Any) -> Tensor:
        kind = promoted(input, other)
        if kind.kind not in FLOATING:
            return function(input, other)
        x, y = F.astype(operand(input), kind), F.astype(operand(other), kind)
        return F.where(F.logical_or(wins(x, y), F.isnan(y)), x, y)

    return choose


for _name, _whole, _numpy, _wins in (("fmax", F.maximum, np.fmax, F.ge), ("fmin", F.minimum, np.fmin, F.le)):
    _function = _without_nan(_whole, _wins)
    _function.__name__ = _function.__qualname__ = _name
    _function.__doc__ = f"`{_whole.__name__}`, of which a NaN is left out; of equal elements the first has the gradient."
    enter_as(_name, spelled(composite(_function)))
    numpy_twin(_numpy)(getattr(F, _name))
