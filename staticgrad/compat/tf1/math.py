"""`tf.math`: elementwise functions, reductions and products. Tables say which function of this library each name is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ...operators import F, Symbol, has_rank
from ...ops.leaves import fits
from . import slopes
from .clipping import clip_by_average_norm as clip_by_average_norm
from .clipping import clip_by_global_norm as clip_by_global_norm
from .clipping import clip_by_norm as clip_by_norm
from .clipping import clip_by_value as clip_by_value
from .clipping import global_norm as global_norm
from .dtypes import as_dtype
from .reductions import REDUCED as REDUCED
from .reductions import argmax as argmax
from .reductions import argmin as argmin
from .reductions import count_nonzero as count_nonzero
from .reductions import cumprod as cumprod
from .reductions import cumsum as cumsum
from .reductions import lbeta as lbeta
from .reductions import norm as norm
from .reductions import reduce_mean as reduce_mean
from .reductions import reduce_prod as reduce_prod
from .tensor import operation, pair, tensor


def _stepped(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is constant almost everywhere: TensorFlow has no gradient flow through it, not even zeros."""
    return lambda *args: F.stop_gradient(function(*args))


UNARY: dict[str, tuple[Callable[..., Any], str]] = {
    "abs": (F.abs, "Abs"),
    "negative": (F.neg, "Neg"),
    "exp": (F.exp, "Exp"),
    "expm1": (F.expm1, "Expm1"),
    "log": (F.log, "Log"),
    "log1p": (F.log1p, "Log1p"),
    "sqrt": (slopes.sqrt, "Sqrt"),
    "rsqrt": (slopes.rsqrt, "Rsqrt"),
    "square": (F.square, "Square"),
    "sin": (F.sin, "Sin"),
    "cos": (F.cos, "Cos"),
    "tanh": (F.tanh, "Tanh"),
    "sigmoid": (F.sigmoid, "Sigmoid"),
    "erf": (F.erf, "Erf"),
    "floor": (_stepped(F.floor), "Floor"),
    "ceil": (_stepped(F.ceil), "Ceil"),
    "round": (_stepped(F.round), "Round"),
    "sign": (slopes.sign, "Sign"),
    "reciprocal": (slopes.reciprocal, "Reciprocal"),
    "is_nan": (F.isnan, "IsNan"),
    "is_finite": (F.isfinite, "IsFinite"),
    "logical_not": (F.logical_not, "LogicalNot"),
    "is_inf": (F.isinf, "IsInf"),
    "acos": (F.acos, "Acos"),
    "acosh": (slopes.acosh, "Acosh"),
    "asin": (F.asin, "Asin"),
    "asinh": (F.asinh, "Asinh"),
    "atan": (F.atan, "Atan"),
    "atanh": (F.atanh, "Atanh"),
    "cosh": (F.cosh, "Cosh"),
    "sinh": (F.sinh, "Sinh"),
    "tan": (F.tan, "Tan"),
    "digamma": (F.digamma, "Digamma"),
    "lgamma": (F.lgamma, "Lgamma"),
    "erfc": (F.erfc, "Erfc"),
    "erfinv": (F.erfinv, "Erfinv"),
    "rint": (_stepped(F.round), "Rint"),
    "log_sigmoid": (lambda x: F.neg(F.softplus(F.neg(x))), "LogSigmoid"),
    "softplus": (F.softplus, "Softplus"),
    "reciprocal_no_nan": (lambda x: F.where(F.eq(x, 0), F.zeros_like(x), F.div(1, _nonzero(x))), "ReciprocalNoNan"),
    "bessel_i0": (F.i0, "BesselI0"),
}
"""Name -> function, and TensorFlow's name of the op."""

BINARY: dict[str, tuple[Callable[..., Any], str]] = {
    "add": (F.add, "AddV2"),
    "subtract": (F.sub, "Sub"),
    "multiply": (F.mul, "Mul"),
    "maximum": (slopes.maximum, "Maximum"),
    "minimum": (slopes.minimum, "Minimum"),
    "pow": (slopes.power, "Pow"),
    "floormod": (slopes.floormod, "FloorMod"),
    "floordiv": (_stepped(slopes.floordiv), "FloorDiv"),
    "equal": (F.eq, "Equal"),
    "not_equal": (F.ne, "NotEqual"),
    "less": (F.lt, "Less"),
    "less_equal": (F.le, "LessEqual"),
    "greater": (F.gt, "Greater"),
    "greater_equal": (F.ge, "GreaterEqual"),
    "logical_and": (F.logical_and, "LogicalAnd"),
    "logical_or": (F.logical_or, "LogicalOr"),
    "logical_xor": (F.logical_xor, "LogicalXor"),
    "squared_difference": (lambda x, y: F.square(F.sub(x, y)), "SquaredDifference"),
}


def _nonzero(x: Any) -> Any:
    """x with 1 in the place of 0."""
    return F.where(F.eq(x, 0), F.ones_like(x), x)


BINARY |= {
    "atan2": (F.atan2, "Atan2"),
    "igamma": (F.igamma, "Igamma"),
    "igammac": (F.igammac, "Igammac"),
    "xlogy": (slopes.xlogy, "Xlogy"),
    "xdivy": (slopes.xdivy, "Xdivy"),
    "multiply_no_nan": (slopes.multiply_no_nan, "MulNoNan"),
    "truncatemod": (F.fmod, "TruncateMod"),
    "nextafter": (F.nextafter, "NextAfter"),
}


def _unary(function: Callable[..., Any], type_: str) -> Callable[..., Any]:
    def call(x: Any) -> Any:
        return function(tensor(x))

    return operation(type_)(_spelled(call, type_))


OPERANDS = {
    "Igamma": ("a", "x"), "Igammac": ("a", "x"), "Atan2": ("y", "x"), "NextAfter": ("x1", "x2"), "Softplus": ("features",),
}  # fmt: skip
"""TensorFlow's names of operands where they are not x and y, by the op's name."""


def _spelled(call: Callable[..., Any], type_: str) -> Callable[..., Any]:
    """A function of x and y with the names that TensorFlow has for them."""
    words = OPERANDS.get(type_)
    if words is None:
        return call
    own = ("x", "y")[: len(words)]

    def spelled(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **{dict(zip(words, own, strict=True)).get(key, key): value for key, value in kwargs.items()})

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    spelled.__signature__ = inspect.Signature([inspect.Parameter(word, kind) for word in words])  # type: ignore[attr-defined]
    return spelled


def _binary(function: Callable[..., Any], type_: str) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        return function(*pair(x, y, type_))

    return operation(type_.removesuffix("V2"), type_)(_spelled(call, type_))


_made: dict[str, Callable[..., Any]] = {}
for _table, _maker in ((UNARY, _unary), (BINARY, _binary)):
    for _name, (_function, _type) in _table.items():
        _made[_name] = _maker(_function, _type)
        _made[_name].__name__ = _made[_name].__qualname__ = _name
        _made[_name].__doc__ = f"TensorFlow's `{_name}`."
globals().update(_made | REDUCED)

ALIASES = {"neg": "negative", "sub": "subtract", "mul": "multiply", "mod": "floormod", "floor_div": "floordiv"}
globals().update({alias: _made[name] for alias, name in ALIASES.items()})


@operation("truediv", "RealDiv")
def truediv(x: Any, y: Any) -> Any:
    """Division; integers become float64 (float32 up to 16 bits)."""
    x, y = pair(x, y, "RealDiv")
    if x.dtype.kind != "f":
        wide = np.float32 if x.dtype.itemsize <= 2 else np.float64
        x, y = F.astype(x, wide), F.astype(y, wide)
    return F.div(x, y)


@operation("div", "Div")
def div(x: Any, y: Any) -> Any:
    """Python 2's division: of floats the quotient, of integers its floor."""
    x, y = pair(x, y, "Div")
    return F.div(x, y) if x.dtype.kind == "f" else F.floor_divide(x, y)


divide = truediv


@operation("div_no_nan", "DivNoNan")
def div_no_nan(x: Any, y: Any) -> Any:
    """x / y, and 0 where y is 0."""
    x, y = pair(x, y, "DivNoNan")
    zero = F.eq(y, 0)
    return F.where(zero, F.zeros_like(x), F.div(x, F.where(zero, F.ones_like(y), y)))


divide_no_nan, realdiv = div_no_nan, truediv


@operation("AddN")
def add_n(inputs: Any) -> Any:
    """The sum of tensors of one shape and dtype. Raises ValueError for others, or none."""
    if isinstance(inputs, Symbol) or not inputs:
        raise ValueError("inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape")
    terms = [tensor(item) for item in inputs]
    total = terms[0]
    for item in terms[1:]:
        if item.dtype != total.dtype:
            raise TypeError(f"AddN: all inputs must have the same dtype, got {total.dtype} and {item.dtype}")
        if has_rank(item) and has_rank(total) and not fits(item.shape, total.shape):
            raise ValueError(f"AddN: all inputs must have the same shape, got {tuple(total.shape)} and {tuple(item.shape)}")
        total = F.add(total, item)
    return total


def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Any:
    """`add_n`; shape and tensor_dtype are those of the inputs."""
    return add_n(inputs, name=name or "AccumulateNV2")


@operation("MatMul")
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
) -> Any:
    """The matrix product over the last two axes. Raises ValueError for operands without two axes."""
    a, b = pair(a, b, "MatMul")
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError(f"Shape must be rank 2 but is rank {min(a.ndim, b.ndim)} for 'MatMul'")
    return F.matmul(
        F.swapaxes(a, -1, -2) if transpose_a or adjoint_a else a, F.swapaxes(b, -1, -2) if transpose_b or adjoint_b else b
    )


@operation("MatMul", "SparseMatMul")
def sparse_matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False
) -> Any:
    """The product of two matrices, of which many elements may be 0."""
    a, b = pair(a, b, "SparseMatMul")
    return F.matmul(F.swapaxes(a, -1, -2) if transpose_a else a, F.swapaxes(b, -1, -2) if transpose_b else b)


@operation("Tensordot")
def tensordot(a: Any, b: Any, axes: Any) -> Any:
    """The sum over `axes` of both: an integer (the last of a, the first of b), or two lists of axes."""
    a, b = pair(a, b, "Tensordot")
    if isinstance(axes, (int, np.integer)):
        first, second = list(range(a.ndim - int(axes), a.ndim)), list(range(int(axes)))
    else:
        first, second = (np.atleast_1d(axis).tolist() for axis in axes)
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    left = [next(letters) for _ in range(a.ndim)]
    right = [next(letters) for _ in range(b.ndim)]
    for i, j in zip(first, second, strict=True):
        right[j] = left[i]
    summed = {left[i] for i in first}
    result = [c for c in left + right if c not in summed]
    return F.einsum(f"{''.join(left)},{''.join(right)}->{''.join(result)}", a, b)


@operation("einsum", "Einsum")
def einsum(equation: str, *inputs: Any) -> Any:
    """The sum over repeated subscripts."""
    return F.einsum(equation, *(tensor(x) for x in inputs))


@operation("ScalarMul", "Mul")
def scalar_mul(scalar: Any, x: Any) -> Any:
    return F.mul(*pair(scalar, x, "Mul"))


@operation("saturate_cast", "Cast")
def saturate_cast(value: Any, dtype: Any) -> Any:
    """x in another dtype, limited to its range."""
    x, kind = tensor(value), as_dtype(dtype).numpy
    if kind.kind in "iu":
        ends = np.iinfo(kind)
        x = F.minimum(F.maximum(x, _limit(ends.min, x)), _limit(ends.max, x))
    return F.astype(x, kind)


def _limit(value: int, like: Any) -> Any:
    if like.dtype.kind in "iu":
        ends = np.iinfo(like.dtype)
        value = max(min(value, ends.max), ends.min)
    return np.asarray(value, like.dtype)


@operation("Cast")
def cast(x: Any, dtype: Any) -> Any:
    """x in another dtype; floats become integers toward zero."""
    return F.astype(tensor(x), as_dtype(dtype).numpy)


CASTS = {"to_float": "float32", "to_double": "float64", "to_int32": "int32", "to_int64": "int64"}
for _name, _target in CASTS.items():
    globals()[_name] = operation(_name.title().replace("_", ""), "Cast")(lambda x, to=_target: F.astype(tensor(x), to))


@operation("L2Loss")
def l2_loss(t: Any) -> Any:
    """sum(t ** 2) / 2."""
    return F.mul(F.sum(F.square(tensor(t))), 0.5)
