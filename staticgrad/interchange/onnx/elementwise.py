"""ONNX's elementwise ops, products of matrices, reductions and quantized numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ...ops.operators import F
from .records import READERS, NodeContext, Reader, T, dtype_of, one_to_one, reader
from .shapes import ints

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


# onnx's ops that reduce axes ------------------------------------------------------------------------------------------

# ONNX's ops that reduce axes, run along them or order them.


Reduce = Callable[[T, tuple[int, ...], bool], T]


def _reduction(op: str, reduce: Reduce, alone: Callable[[T], T]) -> None:
    """alone: the result where no axis is reduced, for `noop_with_empty_axes`."""

    @reader(op, values=(1,))
    def write(
        x: T, axes_input: T = None, *, axes: tuple[int, ...] | None = None, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> T:
        chosen: Any = axes if axes_input is None else tuple(ints(axes_input))
        if not chosen:
            if noop_with_empty_axes:
                return alone(x)
            chosen = tuple(range(x.ndim))
        if not chosen:  # of a scalar
            return alone(x)
        return reduce(x, chosen, bool(keepdims))


def _same(x: T) -> T:
    return x


def _square(x: T) -> T:
    return x * x


def _total(x: T, axes: tuple[int, ...], keep: bool) -> T:
    return F.sum(x, axes, keep, dtype=x.dtype)


def _largest(x: T, axes: tuple[int, ...], keep: bool, sign: int = 1) -> T:
    if x.dtype == np.bool_:
        return F.any(x, axes, keep) if sign > 0 else F.all(x, axes, keep)
    axes = tuple(axis % x.ndim for axis in axes)
    if any(x.shape[axis] == 0 for axis in axes):  # of no elements: the neutral one
        ends = np.finfo if x.dtype.kind == "f" else np.iinfo
        start = -sign * np.inf if x.dtype.kind == "f" else (ends(x.dtype).min if sign > 0 else ends(x.dtype).max)
        shape = [1 if i in axes else extent for i, extent in enumerate(x.shape) if keep or i not in axes]
        return np.full(shape, start, x.dtype)
    return (F.amax if sign > 0 else F.amin)(x, axes, keep)


def _product(x: T, axes: tuple[int, ...], keep: bool) -> T:
    for axis in sorted((axis % x.ndim for axis in axes), reverse=True):
        x = F.prod(x, axis, keep, dtype=x.dtype)
    return x


_reduction("ReduceSum", _total, _same)
_reduction("ReduceMean", lambda x, axes, keep: F.mean(x, axes, keep), _same)
_reduction("ReduceMax", _largest, _same)
_reduction("ReduceMin", lambda x, axes, keep: _largest(x, axes, keep, -1), _same)
_reduction("ReduceProd", _product, _same)
_reduction("ReduceL1", lambda x, axes, keep: _total(F.abs(x), axes, keep), F.abs)
_reduction("ReduceL2", lambda x, axes, keep: F.sqrt(_total(x * x, axes, keep)), F.abs)
_reduction("ReduceSumSquare", lambda x, axes, keep: _total(x * x, axes, keep), _square)
_reduction("ReduceLogSum", lambda x, axes, keep: F.log(_total(x, axes, keep)), F.log)
_reduction("ReduceLogSumExp", lambda x, axes, keep: F.logsumexp(x, axes, keep), _same)


def _position(op: str, find: Callable[..., T]) -> None:
    @reader(op)
    def write(x: T, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> T:
        if not select_last_index:
            return find(x, axis, bool(keepdims))
        return x.shape[axis] - 1 - find(F.flip(x, (axis,)), axis, bool(keepdims))


_position("ArgMax", F.argmax)
_position("ArgMin", F.argmin)


def _rows(x: T, axis: int, opset: int) -> tuple[T, int]:
    """Before opset 13 softmax is that of a matrix, of which `axis` is the first column."""
    if opset >= 13:
        return x, axis
    axis %= x.ndim
    rows = int(np.prod(x.shape[:axis], dtype=np.int64))
    return F.reshape(x, (rows, -1)), 1


def _softmax(op: str, function: Callable[[T, int], T]) -> None:
    @reader(op)
    def write(x: T, *, axis: int | None = None, call: NodeContext) -> T:
        matrix, along = _rows(x, (-1 if call.opset >= 13 else 1) if axis is None else axis, call.opset)
        return F.reshape(function(matrix, along), x.shape)


def _hard(x: T, axis: int) -> T:
    places = np.arange(x.shape[axis]).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return F.astype(F.eq(F.argmax(x, axis, True), places), x.dtype)


_softmax("Softmax", lambda x, axis: F.softmax(x, axis))
_softmax("LogSoftmax", lambda x, axis: F.log_softmax(x, axis))
_softmax("Hardmax", _hard)


def _running(op: str, along: Callable[..., T], neutral: int) -> None:
    @reader(op, values=(1,))
    def write(x: T, axis: T, *, exclusive: int = 0, reverse: int = 0) -> T:
        (place,) = ints(axis)
        place %= x.ndim
        x = F.flip(x, (place,)) if reverse else x
        if exclusive:
            cut = tuple(slice(0, -1) if i == place else slice(None) for i in range(x.ndim))
            first = np.full([1 if i == place else extent for i, extent in enumerate(x.shape)], neutral, x.dtype)
            x = F.concatenate([first, x[cut]], place)
        result = F.astype(along(x, place), x.dtype)
        return F.flip(result, (place,)) if reverse else result


_running("CumSum", F.cumsum, 0)
_running("CumProd", F.cumprod, 1)


@reader("TopK", values=(1,))
def _top_k(x: T, k: T = None, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> T:
    (count,) = ints(k)
    order = F.argsort(x, axis, descending=bool(largest), stable=True)
    cut = tuple(slice(0, count) if i == axis % x.ndim else slice(None) for i in range(x.ndim))
    places = order[cut]
    return F.take_along_axis(x, places, axis), places


@reader("Unique", values=(0,))
def _unique(x: T, *, axis: int | None = None, sorted: int = 1) -> T:
    found, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first, kind="stable")
        found = found[order] if axis is None else np.take(found, order, axis)
        first, counts = first[order], counts[order]
        inverse = np.argsort(order, kind="stable")[inverse]
    return found, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)


@reader("NonZero", values=(0,))
def _nonzero(x: T) -> T:
    return np.array(np.nonzero(np.atleast_1d(x)), np.int64)


@reader("LpNormalization")
def _lp_normalization(x: T, *, axis: int = -1, p: int = 2) -> T:
    size = _total(F.abs(x), (axis,), True) if p == 1 else F.sqrt(_total(x * x, (axis,), True))
    zero = F.eq(size, 0)
    return F.where(zero, like(0, x), x / F.where(zero, like(1, x), size))
