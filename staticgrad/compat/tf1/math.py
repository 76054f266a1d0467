"""`tf.math`: elementwise functions, reductions and products. Tables say which function of this library each name is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import slopes
from .core import FLOATING, F, Symbol, fits, has_rank, normalize_axis, running_product
from .dtypes import as_dtype
from .handles import Handle
from .tensor import SIZES, Operand, Pair, Rows, define, define_rows, operation, tensor


def _stepped(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is constant almost everywhere: TensorFlow has no gradient flow through it, not even zeros."""
    return lambda *args: F.stop_gradient(function(*args))


def _own(names: str) -> Rows:
    """Rows of functions that have these names in the library, too; TensorFlow's ops are "LogicalNot" for `logical_not`."""
    return {name: (getattr(F, name), name.title().replace("_", "")) for name in names.split()}


UNARY: Rows = {
    **_own(
        "abs exp expm1 log log1p square sin cos tanh sigmoid erf logical_not acos asin asinh atan atanh cosh "
        "sinh tan digamma lgamma erfc erfinv"
    ),
    "negative": (F.neg, "Neg"),
    "sqrt": (slopes.sqrt, "Sqrt"),
    "rsqrt": (slopes.rsqrt, "Rsqrt"),
    "floor": (_stepped(F.floor), "Floor"),
    "ceil": (_stepped(F.ceil), "Ceil"),
    "round": (_stepped(F.round), "Round"),
    "sign": (slopes.sign, "Sign"),
    "reciprocal": (slopes.reciprocal, "Reciprocal"),
    "is_nan": (F.isnan, "IsNan"),
    "is_finite": (F.isfinite, "IsFinite"),
    "is_inf": (F.isinf, "IsInf"),
    "acosh": (slopes.acosh, "Acosh"),
    "rint": (_stepped(F.round), "Rint"),
    "log_sigmoid": (lambda x: F.neg(F.softplus(F.neg(x))), "LogSigmoid"),
    "softplus": (F.softplus, "Softplus", "features"),
    "reciprocal_no_nan": (lambda x: slopes.ratio(1, x), "ReciprocalNoNan"),
    "bessel_i0": (F.i0, "BesselI0"),
}

BINARY: dict[str, Any] = {
    **_own("logical_and logical_or logical_xor"),
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
    "squared_difference": (lambda x, y: F.square(F.sub(x, y)), "SquaredDifference"),
    "atan2": (F.atan2, "Atan2", "y x"),
    "igamma": (F.igamma, "Igamma", "a x"),
    "igammac": (F.igammac, "Igammac", "a x"),
    "xlogy": (slopes.xlogy, "Xlogy"),
    "xdivy": (slopes.xdivy, "Xdivy"),
    "multiply_no_nan": (slopes.multiply_no_nan, "MulNoNan"),
    "truncatemod": (F.fmod, "TruncateMod"),
    "nextafter": (F.nextafter, "NextAfter", "x1 x2"),
}
BITS: Rows = {
    **_own("bitwise_and bitwise_or bitwise_xor"),
    "left_shift": (F.bitwise_left_shift, "LeftShift"),
    "right_shift": (F.bitwise_right_shift, "RightShift"),
}
"""Functions of `tf.bitwise`."""
globals().update(define_rows(UNARY, "x") | define_rows({**BINARY, **BITS}, "x y"))
invert = define("invert", "Invert", F.bitwise_not, words="x")
ALIASES = {"neg": "negative", "sub": "subtract", "mul": "multiply", "mod": "floormod", "floor_div": "floordiv"}
globals().update({alias: globals()[name] for alias, name in ALIASES.items()})


@operation("truediv", "RealDiv")
def truediv(x: Pair, y: Pair) -> Any:
    """Division; integers become float64 (float32 up to 16 bits)."""
    if x.dtype.kind not in FLOATING:
        wide = np.float32 if x.dtype.itemsize <= 2 else np.float64
        x, y = F.astype(x, wide), F.astype(y, wide)
    return F.div(x, y)


@operation("div", "Div")
def div(x: Pair, y: Pair) -> Any:
    """Python 2's division: of floats the quotient, of integers its floor."""
    return F.div(x, y) if x.dtype.kind in FLOATING else F.floor_divide(x, y)


divide = truediv


div_no_nan = define("div_no_nan", "DivNoNan", slopes.ratio, "x / y, and 0 where y is 0.", "x y", default="div_no_nan")
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
    a: Pair, b: Pair, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False, adjoint_b: bool = False,
    a_is_sparse: bool = False, b_is_sparse: bool = False, output_type: Any = None, grad_a: bool = False, grad_b: bool = False,
) -> Any:  # fmt: skip
    """The matrix product over the last two axes. Raises ValueError for operands without two axes."""
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError(f"Shape must be rank 2 but is rank {min(a.ndim, b.ndim)} for 'MatMul'")
    return _product(a, b, transpose_a or adjoint_a, transpose_b or adjoint_b)


@operation("MatMul", "SparseMatMul")
def sparse_matmul(
    a: Pair, b: Pair, transpose_a: bool = False, transpose_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False
) -> Any:
    """The product of two matrices, of which many elements may be 0."""
    return _product(a, b, transpose_a, transpose_b)


def _product(a: Any, b: Any, first: bool, second: bool) -> Any:
    return F.matmul(F.swapaxes(a, -1, -2) if first else a, F.swapaxes(b, -1, -2) if second else b)


@operation("Tensordot")
def tensordot(a: Pair, b: Pair, axes: Any) -> Any:
    """The sum over `axes` of both: an integer (the last of a, the first of b), or two lists of axes."""
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


_scalar_mul = define("scalar_mul", "Mul", lambda scalar, x: F.mul(scalar, x), default="ScalarMul")


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A number times a tensor, or times the rows of `IndexedSlices`."""
    if hasattr(x, "with_values"):
        return x.with_values(_scalar_mul(scalar, x.values, name=name))
    return _scalar_mul(scalar, x, name=name)


@operation("saturate_cast", "Cast")
def saturate_cast(value: Operand, dtype: Any) -> Any:
    """x in another dtype, limited to its range."""
    x, kind = value, as_dtype(dtype).numpy
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
def cast(x: Operand, dtype: Any) -> Any:
    """x in another dtype; floats become integers toward zero."""
    return F.astype(x, as_dtype(dtype).numpy)


CASTS = {"to_float": "float32", "to_double": "float64", "to_int32": "int32", "to_int64": "int64"}
for _name, _target in CASTS.items():
    _label = _name.title().replace("_", "")
    globals()[_name] = define(_name, "Cast", lambda x, to=_target: F.astype(x, to), words="x", default=_label)
l2_loss = define("l2_loss", "L2Loss", lambda t: F.mul(F.sum(F.square(t)), 0.5), "sum(t ** 2) / 2.")


# reductions -----------------------------------------------------------------------------------------------------------

OLD_AXES = {"reduction_indices": "axis", "keep_dims": "keepdims"}


def _mean(x: Any, **given: Any) -> Any:
    """That of integers is an integer, rounded toward zero."""
    return F.mean(x, **given) if x.dtype.kind in FLOATING else F.astype(F.mean(F.astype(x, np.float64), **given), x.dtype)


REDUCTIONS: dict[str, Any] = {
    "reduce_sum": (lambda x, **given: F.astype(F.sum(x, **given), x.dtype), "Sum"),  # of small integers, too
    "reduce_max": (F.amax, "Max"),
    "reduce_min": (F.amin, "Min"),
    "reduce_all": (F.all, "All"),
    "reduce_any": (F.any, "Any"),
    "reduce_mean": (_mean, "Mean", "The mean over `axis` (all axes for None). That of integers is rounded toward zero."),
    "reduce_prod": (lambda x, **given: F.astype(F.prod(x, **given), x.dtype), "Prod"),
    "reduce_logsumexp": (F.logsumexp, "ReduceLogSumExp"),
    "reduce_variance": (lambda x, **given: F.var(x, correction=0, **given), "Variance"),
    "reduce_std": (lambda x, **given: F.std(x, correction=0, **given), "Std"),
    "reduce_euclidean_norm": (lambda x, **given: slopes.sqrt(F.sum(F.square(x), **given)), "EuclideanNorm"),
}


def axes_of(axis: Any, x: Any) -> Any:
    """The axes to reduce: all of x for None."""
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(int(a) for a in np.asarray(axis).ravel()) if isinstance(axis, (list, tuple, np.ndarray)) else axis


def _reduction(name: str, function: Callable[..., Any], type_: str, doc: str = "") -> Callable[..., Any]:
    def call(input_tensor: Any, axis: Any = None, keepdims: Any = None) -> Any:
        axes = axes_of(axis, input_tensor)
        chosen_none = axis is not None and axes == ()
        return input_tensor if chosen_none else function(input_tensor, axis=axes, keepdims=bool(keepdims))

    return define(name, type_, call, doc, old=OLD_AXES)


globals().update({_name: _reduction(_name, *_row) for _name, _row in REDUCTIONS.items()})


@operation("count_nonzero", "CountNonzero", old={**OLD_AXES, "input": "input_tensor"})
def count_nonzero(input_tensor: Operand = None, axis: Any = None, keepdims: Any = None, dtype: Any = np.int64) -> Any:
    """How many elements are not 0, over `axis` (all axes for None)."""
    hits = F.astype(F.ne(input_tensor, 0), np.int64)
    return F.astype(F.sum(hits, axis=axes_of(axis, hits), keepdims=bool(keepdims)), as_dtype(dtype).numpy)


def _position(name: str, find: Callable[..., Any], which: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The function with an axis, and the older one of an argument `dimension`."""

    def call(input: Any, axis: Any = None, dimension: Any = None, output_type: Any = None) -> Any:
        axis = dimension if axis is None else axis
        return F.astype(find(input, axis=0 if axis is None else axis), output_type or np.dtype(np.int64))

    def by_dimension(input: Any, dimension: Any, output_type: Any = np.int64) -> Any:
        return call(input, dimension, None, output_type)

    doc = f"The position of the {which} element along `axis` (0); int64 unless `output_type` is given."
    label = f"Arg{name[3:].title()}"
    return define(name, label, call, doc), define(f"arg_{name[3:]}", label, by_dimension, f"`{name}`.")


argmax, arg_max = _position("argmax", F.argmax, "largest")
argmin, arg_min = _position("argmin", F.argmin, "smallest")


@operation("Cumsum")
def cumsum(x: Operand, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """Running sums along `axis`; exclusive: without the element itself; reverse: from the end."""
    out = F.flip(F.cumsum(F.flip(x, axis), axis=axis), axis) if reverse else F.cumsum(x, axis=axis)
    out = F.astype(out, x.dtype)
    return F.sub(out, x) if exclusive else out


@operation("Cumprod")
def cumprod(x: Operand, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """Running products along `axis`; exclusive: without the element itself; reverse: from the end."""
    out = running_product(x, normalize_axis(axis, x.ndim), exclusive=bool(exclusive), reverse=bool(reverse))
    return F.astype(out, x.dtype)


@operation("Norm", sizes=SIZES | {"ord"}, old={"keep_dims": "keepdims"})
def norm(tensor_: Operand, ord: Any = "euclidean", axis: Any = None, keepdims: Any = None) -> Any:
    """A vector norm over `axis` (of all elements for None), or the Frobenius norm."""
    axes, keep, size = axes_of(axis, tensor_), bool(keepdims), F.abs(tensor_)
    if ord in ("euclidean", "fro", 2):
        return slopes.sqrt(F.sum(F.square(tensor_), axis=axes, keepdims=keep))
    if ord == 1:
        return F.sum(size, axis=axes, keepdims=keep)
    if ord == np.inf:
        return F.amax(size, axis=axes, keepdims=keep)
    return F.pow(F.sum(F.pow(size, ord), axis=axes, keepdims=keep), 1 / ord)


@operation("lbeta")
def lbeta(x: Operand) -> Any:
    """The logarithm of the multivariate beta function over the last axis."""
    return F.sub(F.sum(F.lgamma(x), axis=-1), F.lgamma(F.sum(x, axis=-1)))


# norms that are limited ----------------------------------------------------------------------------------------------


@operation("clip_by_average_norm")
def clip_by_average_norm(t: Operand, clip_norm: Any) -> Any:
    """t scaled so that its norm divided by its size is at most `clip_norm`."""
    inverse = F.mul(slopes.rsqrt(F.sum(F.square(t))), F.sum(F.ones_like(t)))
    limit = tensor(clip_norm, t.dtype)
    return F.mul(F.mul(t, limit), slopes.minimum(inverse, F.div(1.0, limit)))


@operation("clip_by_value")
def clip_by_value(t: Operand, clip_value_min: Any, clip_value_max: Any) -> Any:
    """t limited to an interval."""
    return slopes.maximum(slopes.minimum(t, tensor(clip_value_max, t.dtype)), tensor(clip_value_min, t.dtype))


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """t scaled so that its Euclidean norm is at most `clip_norm`; of `IndexedSlices` that of their values."""
    values = _clipped_by_norm(getattr(t, "values", t), clip_norm, axes, name=name)
    return t.with_values(values) if hasattr(t, "values") else values


@operation("clip_by_norm")
def _clipped_by_norm(t: Operand, clip_norm: Any, axes: Any) -> Any:
    squares = F.sum(F.square(t), axis=axes_of(axes, t), keepdims=True)
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
def _scaled(x: Operand, scale: Any) -> Any:
    return F.mul(x, tensor(scale, x.dtype))


@operation("clip_scale", "Mul")
def _scale(norm: Any, clip_norm: Any) -> Any:
    """NaN for an infinite norm."""
    limit = tensor(clip_norm, norm.dtype)
    return F.add(F.mul(limit, slopes.minimum(F.div(1.0, norm), F.div(1.0, limit))), F.sub(norm, norm))
