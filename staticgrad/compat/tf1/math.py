"""`tf.math`: elementwise functions, reductions and products. Tables say which function of this library each name is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.types import normalize_axis
from ...operators import F, Symbol, has_rank
from ...ops.cumulative import running_product
from ...ops.leaves import fits
from . import slopes
from .dtypes import as_dtype
from .handles import Handle
from .tensor import SIZES, operation, pair, tensor


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


OPERANDS = {
    "Igamma": ("a", "x"), "Igammac": ("a", "x"), "Atan2": ("y", "x"), "NextAfter": ("x1", "x2"), "Softplus": ("features",),
}  # fmt: skip
"""TensorFlow's names of operands where they are not x and y, by the op's name."""


def elementwise(name: str, function: Callable[..., Any], type_: str, words: Sequence[str]) -> Callable[..., Any]:
    """A function of the dialect with one or two operands, which have these names, from one of this library on symbols."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(word, kind) for word in OPERANDS.get(type_, words)])

    def call(*args: Any, **kwargs: Any) -> Any:
        operands = signature.bind(*args, **kwargs).args
        return function(*(pair(*operands, type_) if len(operands) == 2 else map(tensor, operands)))

    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"TensorFlow's `{name}`."
    return operation(type_.removesuffix("V2"), type_)(call)


def rows(table: dict[str, tuple[Callable[..., Any], str]], *words: str) -> dict[str, Callable[..., Any]]:
    """The functions of a table with one or two operands: name -> (function of symbols, TensorFlow's name of the op)."""
    return {name: elementwise(name, function, type_, words) for name, (function, type_) in table.items()}


BITS: dict[str, tuple[Callable[..., Any], str]] = {
    "bitwise_and": (F.bitwise_and, "BitwiseAnd"),
    "bitwise_or": (F.bitwise_or, "BitwiseOr"),
    "bitwise_xor": (F.bitwise_xor, "BitwiseXor"),
    "left_shift": (F.bitwise_left_shift, "LeftShift"),
    "right_shift": (F.bitwise_right_shift, "RightShift"),
}
"""Functions of `tf.bitwise`."""
_made = rows(UNARY, "x") | rows(BINARY, "x", "y")
globals().update(_made | rows(BITS, "x", "y") | rows({"invert": (F.bitwise_not, "Invert")}, "x"))

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


# reductions -----------------------------------------------------------------------------------------------------------

REDUCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "reduce_sum": (F.sum, "Sum"),
    "reduce_max": (F.amax, "Max"),
    "reduce_min": (F.amin, "Min"),
    "reduce_all": (F.all, "All"),
    "reduce_any": (F.any, "Any"),
    "reduce_logsumexp": (F.logsumexp, "ReduceLogSumExp"),
    "reduce_variance": (lambda x, **given: F.var(x, correction=0, **given), "Variance"),
    "reduce_std": (lambda x, **given: F.std(x, correction=0, **given), "Std"),
    "reduce_euclidean_norm": (lambda x, **given: slopes.sqrt(F.sum(F.square(x), **given)), "EuclideanNorm"),
}


def reduced_axes(axis: Any, reduction_indices: Any) -> Any:
    """The axes to reduce, under either of their names; None for all."""
    axis = reduction_indices if axis is None else axis
    if isinstance(axis, (list, tuple, np.ndarray)):
        return tuple(int(a) for a in np.asarray(axis).ravel())
    return axis


def _reduction(name: str, function: Callable[..., Any], type_: str) -> Callable[..., Any]:
    def call(
        input_tensor: Any,
        axis: Any = None,
        keepdims: Any = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Any:
        x = tensor(input_tensor)
        axes = reduced_axes(axis, reduction_indices)
        if axes == ():
            return x
        out = function(x, axis=tuple(range(x.ndim)) if axes is None else axes, keepdims=bool(keepdims or keep_dims))
        return F.astype(out, x.dtype) if function is F.sum else out  # sums of small integers keep their dtype

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"TensorFlow's `{name}`."
    return operation(type_)(call)


globals().update({_name: _reduction(_name, *_row) for _name, _row in REDUCTIONS.items()})


@operation("count_nonzero", "CountNonzero")
def count_nonzero(
    input_tensor: Any = None, axis: Any = None, keepdims: Any = None, dtype: Any = np.int64, reduction_indices: Any = None,
    keep_dims: Any = None, input: Any = None,
) -> Any:  # fmt: skip
    """How many elements are not 0, over `axis` (all axes for None)."""
    x = tensor(input if input_tensor is None else input_tensor)
    axes = reduced_axes(axis, reduction_indices)
    axes = tuple(range(x.ndim)) if axes is None else axes
    counts = F.sum(F.astype(F.ne(x, 0), np.int64), axis=axes, keepdims=bool(keepdims or keep_dims))
    return F.astype(counts, as_dtype(dtype).numpy)


@operation("Mean")
def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: Any = None, reduction_indices: Any = None, keep_dims: Any = None
) -> Any:  # fmt: skip
    """The mean over `axis` (all axes for None). That of integers is an integer, rounded toward zero."""
    x = tensor(input_tensor)
    axes = reduced_axes(axis, reduction_indices)
    if axes == ():
        return x
    axes, keep = tuple(range(x.ndim)) if axes is None else axes, bool(keepdims or keep_dims)
    if x.dtype.kind == "f":
        return F.mean(x, axis=axes, keepdims=keep)
    return F.astype(F.mean(F.astype(x, np.float64), axis=axes, keepdims=keep), x.dtype)


@operation("Prod")
def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: Any = None, reduction_indices: Any = None, keep_dims: Any = None
) -> Any:  # fmt: skip
    """The product over `axis` (all axes for None)."""
    x = tensor(input_tensor)
    axes = reduced_axes(axis, reduction_indices)
    if axes == ():
        return x
    return F.astype(F.prod(x, tuple(range(x.ndim)) if axes is None else axes, bool(keepdims or keep_dims)), x.dtype)


def _position(name: str, label: str, find: Callable[..., Any], which: str) -> Callable[..., Any]:
    def call(input: Any, axis: Any = None, dimension: Any = None, output_type: Any = None) -> Any:
        axis = dimension if axis is None else axis
        return F.astype(find(tensor(input), axis=0 if axis is None else axis), output_type or np.dtype(np.int64))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The position of the {which} element along `axis` (0); int64 unless `output_type` is given."
    return operation(label)(call)


argmax = _position("argmax", "ArgMax", F.argmax, "largest")
argmin = _position("argmin", "ArgMin", F.argmin, "smallest")


def arg_max(input: Any, dimension: Any, output_type: Any = np.int64, name: str | None = None) -> Any:
    """`argmax`."""
    return argmax(input, dimension, output_type=output_type, name=name or "ArgMax")


def arg_min(input: Any, dimension: Any, output_type: Any = np.int64, name: str | None = None) -> Any:
    """`argmin`."""
    return argmin(input, dimension, output_type=output_type, name=name or "ArgMin")


@operation("Cumsum")
def cumsum(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """Running sums along `axis`; exclusive: without the element itself; reverse: from the end."""
    x = tensor(x)
    out = F.flip(F.cumsum(F.flip(x, axis), axis=axis), axis) if reverse else F.cumsum(x, axis=axis)
    out = F.astype(out, x.dtype)
    return F.sub(out, x) if exclusive else out


@operation("Cumprod")
def cumprod(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """Running products along `axis`; exclusive: without the element itself; reverse: from the end."""
    x = tensor(x)
    out = running_product(x, normalize_axis(axis, x.ndim), exclusive=bool(exclusive), reverse=bool(reverse))
    return F.astype(out, x.dtype)


@operation("Norm", sizes=SIZES | {"ord"})
def norm(
    tensor_: Any, ord: Any = "euclidean", axis: Any = None, keepdims: Any = None, keep_dims: Any = None
) -> Any:  # fmt: skip
    """A vector norm over `axis` (of all elements for None), or the Frobenius norm."""
    x = tensor(tensor_)
    axes = tuple(range(x.ndim)) if axis is None else reduced_axes(axis, None)
    keep, size = bool(keepdims or keep_dims), F.abs(x)
    if ord in ("euclidean", "fro", 2):
        return slopes.sqrt(F.sum(F.square(x), axis=axes, keepdims=keep))
    if ord == 1:
        return F.sum(size, axis=axes, keepdims=keep)
    if ord == np.inf:
        return F.amax(size, axis=axes, keepdims=keep)
    return F.pow(F.sum(F.pow(size, ord), axis=axes, keepdims=keep), 1 / ord)


@operation("lbeta")
def lbeta(x: Any) -> Any:
    """The logarithm of the multivariate beta function over the last axis."""
    x = tensor(x)
    return F.sub(F.sum(F.lgamma(x), axis=-1), F.lgamma(F.sum(x, axis=-1)))


# norms that are limited ----------------------------------------------------------------------------------------------


@operation("clip_by_average_norm")
def clip_by_average_norm(t: Any, clip_norm: Any) -> Any:
    """t scaled so that its norm divided by its size is at most `clip_norm`."""
    t = tensor(t)
    inverse = F.mul(slopes.rsqrt(F.sum(F.square(t))), F.sum(F.ones_like(t)))
    limit = tensor(clip_norm, t.dtype)
    return F.mul(F.mul(t, limit), slopes.minimum(inverse, F.div(1.0, limit)))


@operation("clip_by_value")
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any) -> Any:
    """t limited to an interval."""
    t = tensor(t)
    return slopes.maximum(slopes.minimum(t, tensor(clip_value_max, t.dtype)), tensor(clip_value_min, t.dtype))


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """t scaled so that its Euclidean norm is at most `clip_norm`; of `IndexedSlices` that of their values."""
    values = _clipped_by_norm(getattr(t, "values", t), clip_norm, axes, name=name)
    return t.with_values(values) if hasattr(t, "values") else values


@operation("clip_by_norm")
def _clipped_by_norm(t: Any, clip_norm: Any, axes: Any) -> Any:
    t = tensor(t)
    squares = F.sum(F.square(t), axis=tuple(range(t.ndim)) if axes is None else reduced_axes(axes, None), keepdims=True)
    limit = tensor(clip_norm, t.dtype)
    return F.div(F.mul(t, limit), slopes.maximum(slopes.norm(squares), limit))


def global_norm(t_list: Any, name: str | None = None) -> Any:
    """The Euclidean norm of all elements of several tensors; None among them are left out. Of `IndexedSlices` it takes the
    values, of which several may be for one place."""
    if isinstance(t_list, Handle) or not isinstance(t_list, (list, tuple)):
        raise TypeError("t_list should be a sequence")
    return _global_norm([getattr(t, "values", t) for t in t_list], name=name)


@operation("global_norm")
def _global_norm(t_list: Any) -> Any:
    total: Any = None
    for t in t_list:
        if t is not None:
            square = F.sum(F.square(t))
            total = square if total is None else F.add(total, square)
    return slopes.sqrt(total)


def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None) -> tuple[list[Any], Any]:
    """Tensors, or `IndexedSlices`, scaled so that the norm of all is at most `clip_norm`; and that norm before."""
    norm = global_norm(t_list) if use_norm is None else use_norm
    scale = _scale(norm, clip_norm)
    scaled = [None if t is None else _scaled(getattr(t, "values", t), scale, name=name) for t in t_list]
    return [t.with_values(s) if hasattr(t, "values") else s for t, s in zip(t_list, scaled, strict=True)], norm


@operation("mul", "Mul")
def _scaled(x: Any, scale: Any) -> Any:
    x = tensor(x)
    return F.mul(x, tensor(scale, x.dtype))


@operation("clip_scale", "Mul")
def _scale(norm: Any, clip_norm: Any) -> Any:
    """NaN for an infinite norm."""
    limit = tensor(clip_norm, norm.dtype)
    return F.add(F.mul(limit, slopes.minimum(F.div(1.0, norm), F.div(1.0, limit))), F.sub(norm, norm))
