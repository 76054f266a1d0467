"""`tf.math`: elementwise functions, reductions and products. Tables say which function of this library each name is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...operators import F
from .dtypes import as_dtype
from .tensor import Handle, operation, pair, tensor

UNARY: dict[str, tuple[Callable[..., Any], str]] = {
    "abs": (F.abs, "Abs"),
    "negative": (F.neg, "Neg"),
    "exp": (F.exp, "Exp"),
    "expm1": (F.expm1, "Expm1"),
    "log": (F.log, "Log"),
    "log1p": (F.log1p, "Log1p"),
    "sqrt": (F.sqrt, "Sqrt"),
    "rsqrt": (F.rsqrt, "Rsqrt"),
    "square": (F.square, "Square"),
    "sin": (F.sin, "Sin"),
    "cos": (F.cos, "Cos"),
    "tanh": (F.tanh, "Tanh"),
    "sigmoid": (F.sigmoid, "Sigmoid"),
    "erf": (F.erf, "Erf"),
    "floor": (F.floor, "Floor"),
    "ceil": (F.ceil, "Ceil"),
    "round": (F.round, "Round"),
    "sign": (F.sign, "Sign"),
    "reciprocal": (F.reciprocal, "Reciprocal"),
    "is_nan": (F.isnan, "IsNan"),
    "is_finite": (F.isfinite, "IsFinite"),
    "logical_not": (F.logical_not, "LogicalNot"),
}
"""Name -> function, and TensorFlow's name of the op."""

BINARY: dict[str, tuple[Callable[..., Any], str]] = {
    "add": (F.add, "AddV2"),
    "subtract": (F.sub, "Sub"),
    "multiply": (F.mul, "Mul"),
    "maximum": (F.maximum, "Maximum"),
    "minimum": (F.minimum, "Minimum"),
    "pow": (F.pow, "Pow"),
    "floormod": (F.remainder, "FloorMod"),
    "floordiv": (F.floor_divide, "FloorDiv"),
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

REDUCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "reduce_sum": (F.sum, "Sum"),
    "reduce_max": (F.amax, "Max"),
    "reduce_min": (F.amin, "Min"),
    "reduce_all": (F.all, "All"),
    "reduce_any": (F.any, "Any"),
    "reduce_logsumexp": (F.logsumexp, "ReduceLogSumExp"),
}


def _unary(function: Callable[..., Any], type_: str) -> Callable[..., Any]:
    def call(x: Any) -> Any:
        return function(tensor(x))

    return operation(type_)(call)


def _binary(function: Callable[..., Any], type_: str) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        return function(*pair(x, y, type_))

    return operation(type_.removesuffix("V2"), type_)(call)


def reduced_axes(axis: Any, reduction_indices: Any) -> Any:
    """The axes to reduce, under either of their names; None for all."""
    axis = reduction_indices if axis is None else axis
    if isinstance(axis, (list, tuple, np.ndarray)):
        return tuple(int(a) for a in np.asarray(axis).ravel())
    return axis


def _reduction(function: Callable[..., Any], type_: str) -> Callable[..., Any]:
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

    return operation(type_)(call)


_made: dict[str, Callable[..., Any]] = {}
for _table, _maker in ((UNARY, _unary), (BINARY, _binary), (REDUCTIONS, _reduction)):
    for _name, (_function, _type) in _table.items():
        _made[_name] = _maker(_function, _type)
        _made[_name].__name__ = _made[_name].__qualname__ = _name
        _made[_name].__doc__ = f"TensorFlow's `{_name}`."
globals().update(_made)

ALIASES = {"neg": "negative", "sub": "subtract", "mul": "multiply", "mod": "floormod"}
globals().update({alias: _made[name] for alias, name in ALIASES.items()})


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


@operation("AddN")
def add_n(inputs: Any) -> Any:
    """The sum of tensors of one shape."""
    total = tensor(inputs[0])
    for item in inputs[1:]:
        total = F.add(total, tensor(item, total.dtype))
    return total


accumulate_n = add_n


@operation("ArgMax")
def argmax(input: Any, axis: Any = None, dimension: Any = None, output_type: Any = None) -> Any:
    """The position of the largest element along `axis`, axis 0 unless given; int64 unless `output_type` is given."""
    axis = dimension if axis is None else axis
    return F.astype(F.argmax(tensor(input), axis=0 if axis is None else axis), output_type or np.dtype(np.int64))


@operation("ArgMin")
def argmin(input: Any, axis: Any = None, dimension: Any = None, output_type: Any = None) -> Any:
    """The position of the smallest element along `axis`, axis 0 unless given; int64 unless `output_type` is given."""
    axis = dimension if axis is None else axis
    return F.astype(F.argmin(tensor(input), axis=0 if axis is None else axis), output_type or np.dtype(np.int64))


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
) -> Any:
    """The matrix product over the last two axes. Raises ValueError for operands without two axes."""
    a, b = pair(a, b, "MatMul")
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError(f"Shape must be rank 2 but is rank {min(a.ndim, b.ndim)} for 'MatMul'")
    return F.matmul(
        F.swapaxes(a, -1, -2) if transpose_a or adjoint_a else a, F.swapaxes(b, -1, -2) if transpose_b or adjoint_b else b
    )


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


@operation("Cumsum")
def cumsum(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """Running sums along `axis`; exclusive: without the element itself; reverse: from the end."""
    x = tensor(x)
    out = F.flip(F.cumsum(F.flip(x, axis), axis=axis), axis) if reverse else F.cumsum(x, axis=axis)
    out = F.astype(out, x.dtype)
    return F.sub(out, x) if exclusive else out


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


@operation("clip_by_value")
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any) -> Any:
    """t limited to an interval."""
    t = tensor(t)
    return F.minimum(F.maximum(t, tensor(clip_value_min, t.dtype)), tensor(clip_value_max, t.dtype))


@operation("clip_by_norm")
def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None) -> Any:
    """t scaled so that its Euclidean norm is at most `clip_norm`."""
    t = tensor(t)
    squares = F.sum(F.square(t), axis=tuple(range(t.ndim)) if axes is None else reduced_axes(axes, None), keepdims=True)
    norm = F.sqrt(squares)
    limit = tensor(clip_norm, t.dtype)
    return F.div(F.mul(t, limit), F.maximum(norm, limit))


@operation("global_norm")
def global_norm(t_list: Any) -> Any:
    """The Euclidean norm of all elements of several tensors; None among them are left out."""
    total: Any = None
    for t in t_list:
        if t is not None:
            square = F.sum(F.square(t))
            total = square if total is None else F.add(total, square)
    return F.sqrt(total)


def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None) -> tuple[list[Any], Any]:
    """Tensors scaled so that the norm of all is at most `clip_norm`; and that norm before."""
    norm = global_norm(t_list) if use_norm is None else use_norm
    scale = _scale(norm, clip_norm)
    return [None if t is None else _made["multiply"](t, scale, name=name) for t in t_list], norm


@operation("clip_scale", "Mul")
def _scale(norm: Any, clip_norm: Any) -> Any:
    limit = tensor(clip_norm, norm.dtype)
    return F.div(limit, F.maximum(norm, limit))


# Python's operators ---------------------------------------------------------------------------------------------------

OPERATORS: dict[str, tuple[Callable[..., Any], str]] = {
    "add": (_made["add"], "add"),
    "sub": (_made["subtract"], "sub"),
    "mul": (_made["multiply"], "mul"),
    "truediv": (truediv, "truediv"),
    "floordiv": (_made["floordiv"], "floordiv"),
    "mod": (_made["floormod"], "mod"),
    "pow": (_made["pow"], "pow"),
    "matmul": (matmul, "matmul"),
    "and": (_made["logical_and"], "and"),
    "or": (_made["logical_or"], "or"),
    "xor": (_made["logical_xor"], "xor"),
}
for _name, (_call, _label) in OPERATORS.items():
    setattr(Handle, f"__{_name}__", lambda x, y, f=_call, n=_label: f(x, y, name=n))
    setattr(Handle, f"__r{_name}__", lambda x, y, f=_call, n=_label: f(y, x, name=n))
for _name, _key in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")):
    setattr(Handle, f"__{_name}__", lambda x, y, f=_made[_key]: f(x, y))
for _name, _key in (("neg", "negative"), ("abs", "abs"), ("invert", "logical_not")):
    setattr(Handle, f"__{_name}__", lambda x, f=_made[_key]: f(x))
