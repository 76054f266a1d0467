"""ONNX's elementwise ops, products of matrices, reductions and quantized numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

import numpy as np

from ...operators import F
from .records import READERS, Reader, T, dtype_of, one_to_one, reader

one_to_one({
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Add": "add", "And": "logical_and", "Asin": "asin", "Asinh": "asinh",
    "Atan": "atan", "Atanh": "atanh", "BitwiseAnd": "bitwise_and", "BitwiseNot": "bitwise_not", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Equal": "eq", "Erf": "erf", "Exp": "exp",
    "Floor": "floor", "Greater": "gt", "GreaterOrEqual": "ge", "IsNaN": "isnan", "Less": "lt", "LessOrEqual": "le",
    "Log": "log", "Mul": "mul", "Neg": "neg", "Not": "logical_not", "Or": "logical_or",
    "Reciprocal": "reciprocal", "Relu": "relu", "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin",
    "Sinh": "sinh", "Sqrt": "sqrt", "Sub": "sub", "Tan": "tan", "Tanh": "tanh", "Where": "where", "Xor": "logical_xor",
})  # fmt: skip


def like(value: T, x: T) -> T:
    """A number in the dtype of a tensor."""
    return np.asarray(value, x.dtype)


def _variadic(op: str, join: Callable[..., T]) -> None:
    READERS["", op] = Reader(op, lambda *xs: reduce(join, xs))


_variadic("Max", F.maximum)
_variadic("Min", F.minimum)
_variadic("Sum", F.add)


@reader("Mean")
def _mean(*xs: T) -> T:
    return F.div(reduce(F.add, xs), len(xs))


@reader("Div")
def _div(a: T, b: T) -> T:
    return F.div(a, b) if a.dtype.kind == "f" else F.div(a, b, rounding_mode="trunc")


@reader("Mod")
def _mod(a: T, b: T, *, fmod: int = 0) -> T:
    return F.fmod(a, b) if fmod else F.remainder(a, b)


@reader("Pow")
def _pow(a: T, b: T) -> T:
    if a.dtype.kind == "f":
        return F.pow(a, F.astype(b, a.dtype))
    return F.astype(F.pow(F.astype(a, np.float64), F.astype(b, np.float64)), a.dtype)


@reader("BitShift")
def _bit_shift(a: T, b: T, *, direction: str) -> T:
    return F.bitwise_left_shift(a, b) if direction == "LEFT" else F.bitwise_right_shift(a, b)


@reader("IsInf")
def _is_inf(x: T, *, detect_negative: int = 1, detect_positive: int = 1) -> T:
    found = [F.eq(x, like(sign * math.inf, x)) for sign, wanted in ((1, detect_positive), (-1, detect_negative)) if wanted]
    return reduce(F.logical_or, found) if found else F.ne(x, x) & F.eq(x, x)


@reader("Cast")
def _cast(x: T, *, to: int, saturate: int = 1, round_mode: str = "up") -> T:
    return F.astype(x, dtype_of(to))


@reader("CastLike")
def _cast_like(x: T, target: T, *, saturate: int = 1, round_mode: str = "up") -> T:
    return F.astype(x, target.dtype)


@reader("Clip")
def _clip(x: T, low: T = None, high: T = None, *, min: float | None = None, max: float | None = None) -> T:
    low = low if min is None else like(min, x)
    high = high if max is None else like(max, x)
    if low is not None:
        x = F.maximum(x, low)
    return x if high is None else F.minimum(x, high)


# activations


@reader("Celu")
def _celu(x: T, *, alpha: float = 1.0) -> T:
    a = like(alpha, x)
    return F.maximum(x, like(0, x)) + F.minimum(like(0, x), a * F.expm1(x / a))


@reader("Elu")
def _elu(x: T, *, alpha: float = 1.0) -> T:
    return F.where(F.lt(x, 0), like(alpha, x) * F.expm1(F.minimum(x, like(0, x))), x)


@reader("Gelu")
def _gelu(x: T, *, approximate: str = "none") -> T:
    if approximate == "tanh":
        inner = like(math.sqrt(2 / math.pi), x) * (x + like(0.044715, x) * x * x * x)
        return like(0.5, x) * x * (1 + F.tanh(inner))
    return like(0.5, x) * x * (1 + F.erf(x * like(math.sqrt(0.5), x)))


@reader("HardSigmoid")
def _hard_sigmoid(x: T, *, alpha: float = 0.2, beta: float = 0.5) -> T:
    return F.clip(x * like(alpha, x) + like(beta, x), 0, 1)


@reader("HardSwish")
def _hard_swish(x: T) -> T:
    return x * F.clip(x * like(1 / 6, x) + like(0.5, x), 0, 1)


@reader("LeakyRelu")
def _leaky_relu(x: T, *, alpha: float = 0.01) -> T:
    return F.where(F.lt(x, 0), x * like(alpha, x), x)


@reader("Mish")
def _mish(x: T) -> T:
    return x * F.tanh(F.softplus(x))


@reader("PRelu")
def _prelu(x: T, slope: T) -> T:
    return F.where(F.lt(x, 0), x * slope, x)


@reader("Selu")
def _selu(x: T, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> T:
    return like(gamma, x) * F.where(F.gt(x, 0), x, like(alpha, x) * F.expm1(F.minimum(x, like(0, x))))


@reader("Shrink")
def _shrink(x: T, *, bias: float = 0.0, lambd: float = 0.5) -> T:
    zero = like(0, x)
    return F.where(F.lt(x, like(-lambd, x)), x + like(bias, x), F.where(F.gt(x, like(lambd, x)), x - like(bias, x), zero))


@reader("Softplus")
def _softplus(x: T) -> T:
    return F.softplus(x)


@reader("Softsign")
def _softsign(x: T) -> T:
    return x / (1 + F.abs(x))


@reader("Swish")
def _swish(x: T, *, alpha: float = 1.0) -> T:
    return x * F.sigmoid(x * like(alpha, x))


@reader("ThresholdedRelu")
def _thresholded_relu(x: T, *, alpha: float = 1.0) -> T:
    return F.where(F.gt(x, like(alpha, x)), x, like(0, x))


@reader("Dropout", values=(1, 2))
def _dropout(x: T, ratio: T = None, training_mode: T = None, *, seed: int = 0, call: T) -> T:
    p = 0.5 if ratio is None else float(ratio)
    if training_mode is None or not bool(training_mode) or p == 0.0:
        kept = F.ones_like(x, dtype=np.bool_)
        return (x, kept)[: max(call.outputs, 1)]
    kept = F.ge(F.rand_like(x), p)
    return (F.where(kept, x / (1 - p), like(0, x)), kept)[: max(call.outputs, 1)]


one_to_one({"MatMul": "matmul", "Det": "det"})


# products of matrices -------------------------------------------------------------------------------------------------


@reader("Gemm")
def _gemm(
    a: T, b: T, c: T = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0, broadcast: int = 0
) -> T:
    product = F.matmul(F.permute(a, (1, 0)) if transA else a, F.permute(b, (1, 0)) if transB else b)
    if alpha != 1.0:
        product = product * like(alpha, product)
    if c is None or beta == 0.0:
        return product
    return product + (c if beta == 1.0 else c * like(beta, c))


@reader("Einsum")
def _einsum(*xs: T, equation: str) -> T:
    return F.einsum(equation.replace(" ", ""), *xs)


def whole(x: T, zero: T, axis: int | None = None) -> T:
    """Quantized numbers as int32 without their zero point, which may differ along an axis."""
    x = F.astype(x, np.int32)
    if zero is None:
        return x
    zero = F.astype(zero, np.int32)
    if axis is not None and zero.ndim == 1:
        zero = F.reshape(zero, [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return x - zero


def integer_product(a: T, b: T) -> T:
    """The exact product of matrices of small integers."""
    return F.astype(F.round(F.matmul(F.astype(a, np.float64), F.astype(b, np.float64))), np.int32)


@reader("MatMulInteger")
def _matmul_integer(a: T, b: T, a_zero: T = None, b_zero: T = None) -> T:
    return integer_product(whole(a, a_zero, -2), whole(b, b_zero, -1))
