"""The functions of the Python array API standard, for `x.__array_namespace__()`: its names, arguments and results.

Most are functions of this library under the standard's name. The default floating dtype is float32, which the standard leaves
open.
"""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from .. import fft as _fft
from .. import linalg as _linalg
from ..base.devices import CPU
from ..base.dtypes import uint16, uint32, uint64
from ..base.types import bool_ as bool
from ..base.types import complex64, complex128, float32, float64, get_default_dtype, int8, int16, int32, int64, uint8
from ..eager import arange as _arange
from ..eager import asarray as _asarray
from ..eager import empty as _empty
from ..eager import eye as _eye
from ..eager import full as _full
from ..eager import linspace as _linspace
from ..eager import ones as _ones
from ..eager import zeros as _zeros
from ..eager.conversion import from_dlpack as from_dlpack
from ..errors import ArgumentError
from ..ops.operators import F

Axis = int | tuple[int, ...] | None
Array = Any

__array_api_version__ = "2024.12"
e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None
DTYPES = {
    "bool": bool, "int8": int8, "int16": int16, "int32": int32, "int64": int64, "uint8": uint8, "uint16": uint16,
    "uint32": uint32, "uint64": uint64, "float32": float32, "float64": float64, "complex64": complex64,
    "complex128": complex128,
}  # fmt: skip

SAME = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "exp", "expm1", "floor", "imag",
    "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor",
    "matmul", "moveaxis", "negative", "positive", "real", "reciprocal", "round", "signbit", "sin", "sinh", "sqrt", "square",
    "tan", "tanh", "tile", "trunc",
)  # fmt: skip
"""Functions with this library's names, arguments by position."""
PROMOTING = (
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "copysign",
    "divide", "equal", "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp", "maximum",
    "minimum", "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract", "where",
)  # fmt: skip
"""Such functions whose last two operands are promoted."""
RENAMED = {"bitwise_invert": "bitwise_not", "equal": "eq"}


def _promoting(function: Callable[..., Array]) -> Callable[..., Array]:
    """The standard promotes by dtypes alone; this library, as PyTorch, gives the dtype of tensors with axes precedence over
    that of tensors without."""

    @functools.wraps(function)
    def promoted(*operands: Any, **named: Any) -> Array:
        *first, x, y = operands if len(operands) > 1 else (*operands, None)
        kinds = [getattr(each, "dtype", None) for each in (x, y)]
        if None in kinds or kinds[0] == kinds[1]:
            return function(*operands, **named)
        kind = result_type(*kinds)
        return function(*first, F.astype(x, kind), F.astype(y, kind), **named)

    return promoted


_ours = {name: getattr(F, RENAMED.get(name, name)) for name in (*SAME, *PROMOTING, *RENAMED)}
globals().update({name: _promoting(one) if name in PROMOTING else one for name, one in _ours.items()})


def sign(x: Array, /) -> Array:
    """-1, 0 or 1; x / abs(x) of complex numbers other than 0. NaN stays NaN."""
    found = F.sign(x) if x.dtype.kind != "c" else F.where(x == 0, 0, F.sgn(x))
    return F.where(F.isnan(x), x, found) if x.dtype.kind in "fc" else found


HIDDEN = {
    "Any", "Array", "Axis", "Callable", "CPU", "DTYPES", "F", "FloatInfo", "HIDDEN", "Info", "KINDS", "NamedTuple", "PROMOTING",
    "RENAMED", "SAME", "Sequence", "SimpleNamespace", "UniqueAll", "UniqueCounts", "UniqueInverse", "ArgumentError",
    "annotations", "any_", "builtins", "functools", "get_default_dtype", "math", "np",
}  # fmt: skip
"""Names of this module that the standard does not have."""


# creation -----------------------------------------------------------------------------------------------------------


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Array:
    """The numbers start, start + step, ... below stop; from 0 where only one is given."""
    return _arange(0, start, step, dtype=dtype) if stop is None else _arange(start, stop, step, dtype=dtype)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Array:
    """`obj` as a tensor."""
    return _asarray(obj, dtype=dtype) if copy is None else _asarray(obj, dtype=dtype, copy=copy)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """A tensor whose values are not set."""
    return _empty(shape, dtype=dtype)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """A tensor of ones."""
    return _ones(shape, dtype=dtype)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """A tensor of zeros."""
    return _zeros(shape, dtype=dtype)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """A tensor of one value."""
    return _full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Array:
    """Ones on the k-th diagonal, zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    kind = get_default_dtype() if dtype is None else dtype
    return _eye(n_rows, columns, dtype=kind) if k == 0 else _asarray(np.eye(n_rows, columns, k, dtype=kind))


def linspace(start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: Any = True) -> Array:
    """`num` numbers at equal distances."""
    if not endpoint:
        kind = get_default_dtype() if dtype is None else dtype
        return _asarray(np.linspace(start, stop, num, endpoint=False).astype(kind))
    return _linspace(start, stop, num, dtype=dtype)


def empty_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """A tensor of the shape of x whose values are not set."""
    return F.empty_like(x, dtype=dtype)


def ones_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Ones in the shape of x."""
    return F.ones_like(x, dtype=dtype)


def zeros_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Zeros in the shape of x."""
    return F.zeros_like(x, dtype=dtype)


def full_like(x: Array, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """One value in the shape of x."""
    return F.full_like(x, fill_value, dtype=dtype)


def meshgrid(*arrays: Array, indexing: str = "xy") -> list[Array]:
    """The coordinates of a grid."""
    return list(F.meshgrid(*arrays, indexing=indexing))


def tril(x: Array, /, *, k: int = 0) -> Array:
    """The lower triangle of matrices."""
    return F.tril(x, k)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """The upper triangle of matrices."""
    return F.triu(x, k)


# dtypes -------------------------------------------------------------------------------------------------------------

KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "c", "numeric": "iufc",
}  # fmt: skip


def astype(x: Array, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Array:
    """x in another dtype."""
    result = F.astype(x, dtype)
    return F.clone(result) if copy and result is x else result


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether values of a dtype, or of a tensor, have a place in another dtype by the rules of promotion."""
    return np.result_type(getattr(from_, "dtype", from_), to) == to


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype of an operation on these."""
    kinds = [getattr(x, "dtype", x) for x in arrays_and_dtypes if not isinstance(x, (int, float, complex))]
    scalars = [x for x in arrays_and_dtypes if isinstance(x, (int, float, complex))]
    return np.result_type(*kinds, *scalars)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind: a name, a dtype, or a tuple of these."""
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ArgumentError(f"isdtype: the kind {kind!r} is unknown", f"one of {', '.join(KINDS)}")
        return dtype.kind in KINDS[kind]
    return dtype == kind


class FloatInfo(NamedTuple):
    """The limits of a floating dtype, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating dtype, of a complex one's parts."""
    found = np.finfo(getattr(type, "dtype", type))
    eps, most, least, normal = (float(x) for x in (found.eps, found.max, found.min, found.smallest_normal))
    return FloatInfo(int(found.bits), eps, most, least, normal, found.dtype)


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype."""
    return np.iinfo(getattr(type, "dtype", type))


# elementwise and moving ---------------------------------------------------------------------------------------------


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """Values below `min` and above `max` replaced by these."""
    return F.clone(x) if min is None and max is None else F.astype(F.clip(x, min, max), x.dtype)


def broadcast_arrays(*arrays: Array) -> list[Array]:
    """The tensors in their common shape."""
    shape = np.broadcast_shapes(*(tuple(x.shape) for x in arrays))
    return [F.broadcast_to(x, shape) for x in arrays]


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """The tensors one after the other along an axis, or flattened for None."""
    kind = result_type(*arrays)
    parts = [F.astype(x, kind) for x in arrays]
    return F.concatenate([F.reshape(x, (-1,)) for x in parts], 0) if axis is None else F.concatenate(parts, axis)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """The tensors along a new axis."""
    return F.stack(list(arrays), axis)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of x along an axis, without it."""
    return tuple(F.unbind(x, axis))


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """x repeated along axes of extent 1."""
    return F.broadcast_to(x, shape)


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """The axes in another order."""
    return F.permute(x, axes)


def expand_dims(x: Array, /, axis: int = 0) -> Array:
    """An axis of extent 1 more."""
    return F.expand_dims(x, axis)


def squeeze(x: Array, /, axis: Any) -> Array:
    """Without axes of extent 1. Raises ArgumentError for others."""
    axes = [axis] if isinstance(axis, int) else list(axis)
    for each in axes:
        if x.shape[each] != 1:
            raise ArgumentError(f"squeeze: axis {each} has extent {x.shape[each]}, not 1")
    gone = {each % x.ndim for each in axes}
    return F.reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in gone))


def flip(x: Array, /, *, axis: Axis = None) -> Array:
    """Axes reversed; all for None."""
    return F.flip(x, tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis)


def roll(x: Array, /, shift: Any, *, axis: Axis = None) -> Array:
    """Elements moved along axes, those that leave entering again."""
    return F.roll(x, shift, axis)


def repeat(x: Array, repeats: Any, /, *, axis: int | None = None) -> Array:
    """Each element several times."""
    return F.repeat_interleave(F.reshape(x, (-1,)) if axis is None else x, repeats, axis or 0)


def reshape(x: Array, /, shape: Any, *, copy: Any = None) -> Array:
    """x in another shape."""
    result = F.reshape(x, tuple(shape))
    return F.clone(result) if copy else result


# positions ----------------------------------------------------------------------------------------------------------


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """The parts of x at positions along an axis."""
    return F.index_select(x, axis or 0, indices)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """The elements of x at positions along an axis, which differ from place to place."""
    return F.take_along_axis(x, indices, axis)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """The positions of elements that are not 0, axis by axis. Raises ArgumentError for a tensor without axes."""
    if x.ndim == 0:
        raise ArgumentError("nonzero: a tensor without axes has no positions", "xp.reshape(x, (1,))")
    return tuple(F.unbind(F.nonzero(x), 1))


def searchsorted(x1: Array, x2: Array, /, *, side: str = "left", sorter: Array | None = None) -> Array:
    """The positions in x1, which is sorted, where x2 would be put."""
    ordered = x1 if sorter is None else F.index_select(x1, 0, sorter)
    return F.searchsorted(ordered, x2, side=side)


def sort(x: Array, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Array:
    """x in order along an axis."""
    return F.take_along_axis(x, argsort(x, axis=axis, descending=descending), axis)


def argsort(x: Array, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Array:
    """The positions of x's elements in order along an axis."""
    return F.argsort(x, axis, descending=descending, stable=True)


# reductions ---------------------------------------------------------------------------------------------------------


def _reduction(name: str, ours: str) -> Callable[..., Array]:
    function = getattr(F, ours)

    def reduce(x: Array, /, *, axis: Axis = None, keepdims: Any = False) -> Array:
        return function(x, tuple(range(x.ndim)) if axis is None else axis, keepdims)

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"`{ours}` over axes; all for None."
    return reduce


max, min, mean = _reduction("max", "amax"), _reduction("min", "amin"), _reduction("mean", "mean")
all, any_ = _reduction("all", "all"), _reduction("any", "any")


def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: Any = False) -> Array:
    """How many elements are not 0, over axes; all for None."""
    return sum(F.ne(x, 0), axis=axis, keepdims=keepdims)


def _position(name: str) -> Callable[..., Array]:
    function = getattr(F, name)

    def find(x: Array, /, *, axis: int | None = None, keepdims: Any = False) -> Array:
        if axis is not None:
            return function(x, axis, keepdims)
        place = function(F.reshape(x, (-1,)), 0)
        return F.reshape(place, (1,) * x.ndim) if keepdims else place

    find.__name__ = find.__qualname__ = name
    find.__doc__ = f"`{name}` along an axis, or of the flattened tensor for None."
    return find


argmax, argmin = _position("argmax"), _position("argmin")


def _summed(x: Array, dtype: Any) -> Any:
    """The dtype of a sum: that of the operand, and int64 or uint64 for small integers."""
    return dtype if dtype is not None else x.dtype if x.dtype.kind in "fc" else uint64 if x.dtype.kind == "u" else int64


def sum(x: Array, /, *, axis: Axis = None, dtype: Any = None, keepdims: Any = False) -> Array:
    """The sum over axes; all for None."""
    return F.sum(x, tuple(range(x.ndim)) if axis is None else axis, keepdims, dtype=_summed(x, dtype))


def prod(x: Array, /, *, axis: Axis = None, dtype: Any = None, keepdims: Any = False) -> Array:
    """The product over axes; all for None."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    kind = _summed(x, dtype)
    x = F.astype(x, kind)
    for each in sorted((a % x.ndim for a in axes), reverse=True):
        x = F.prod(x, each, keepdims, dtype=kind)
    return x


def var(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: Any = False) -> Array:
    """The variance over axes, whose divisor is the number of elements less `correction`."""
    return F.var(x, tuple(range(x.ndim)) if axis is None else axis, correction=correction, keepdim=keepdims)


def std(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: Any = False) -> Array:
    """The square root of `var`."""
    return F.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _running(name: str, ours: str, neutral: int) -> Callable[..., Array]:
    function = getattr(F, ours)

    def run(x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: Any = False) -> Array:
        if axis is None and x.ndim != 1:
            raise ArgumentError(f"{name}: a tensor of {x.ndim} axes needs axis=")
        place = (axis or 0) % x.ndim
        kind = _summed(x, dtype)
        result = F.astype(function(F.astype(x, kind), place), kind)
        if not include_initial:
            return result
        first = [1 if i == place else n for i, n in enumerate(x.shape)]
        return F.concatenate([_full(first, neutral, dtype=result.dtype), result], place)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"`{ours}` along an axis."
    return run


cumulative_sum = _running("cumulative_sum", "cumsum", 0)
cumulative_prod = _running("cumulative_prod", "cumprod", 1)


def diff(x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None) -> Array:
    """The n-th differences along an axis."""
    return F.diff(x, n, axis, prepend, append)


# sets ---------------------------------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """Values, the first position of each, the number of each element's value, and counts."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """Values and counts."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """Values and the number of each element's value."""

    values: Array
    inverse_indices: Array


def unique_all(x: Array, /) -> UniqueAll:
    """The distinct values of x, with positions and counts."""
    values, inverse, counts = F.unique(x, return_inverse=True, return_counts=True)
    flat = F.reshape(inverse, (-1,))
    order = F.argsort(flat, stable=True)
    firsts = F.cumsum(counts, 0) - counts
    return UniqueAll(values, F.index_select(order, 0, firsts), F.reshape(inverse, x.shape), counts)


def unique_counts(x: Array, /) -> UniqueCounts:
    """The distinct values of x and how often they occur."""
    return UniqueCounts(*F.unique(x, return_counts=True))


def unique_inverse(x: Array, /) -> UniqueInverse:
    """The distinct values of x and which of them each element has."""
    values, inverse = F.unique(x, return_inverse=True)
    return UniqueInverse(values, F.reshape(inverse, x.shape))


def unique_values(x: Array, /) -> Array:
    """The distinct values of x."""
    return F.unique(x)


# linear algebra -----------------------------------------------------------------------------------------------------


def matrix_transpose(x: Array, /) -> Array:
    """The last two axes swapped."""
    return F.swapaxes(x, -1, -2)


def tensordot(x1: Array, x2: Array, /, *, axes: Any = 2) -> Array:
    """The sum of products over pairs of axes."""
    return F.tensordot(x1, x2, axes)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The sum over an axis of the products of conj(x1) and x2. Raises ArgumentError for different extents of it."""
    if x1.shape[axis] != x2.shape[axis]:
        raise ArgumentError(f"vecdot: axis {axis} has extents {x1.shape[axis]} and {x2.shape[axis]}, which are not equal")
    products = (F.conj(x1) if x1.dtype.kind == "c" else x1) * x2
    return F.sum(products, axis, dtype=products.dtype)


def isin(x1: Array, x2: Array, /, *, invert: Any = False) -> Array:
    """Whether elements of x1 occur in x2."""
    found = F.any(F.eq(F.expand_dims(x1, -1), F.reshape(x2, (-1,))), -1)
    return F.logical_not(found) if invert else found


linalg = SimpleNamespace(
    **{name: getattr(_linalg, name) for name in _linalg.__all__},
    **{name: globals()[name] for name in ("matmul", "matrix_transpose", "tensordot", "vecdot") if name not in _linalg.__all__},
)
linalg.outer = F.outer
linalg.diagonal = lambda x, /, *, offset=0: F.diagonal(x, offset, -2, -1)
linalg.trace = lambda x, /, *, offset=0, dtype=None: sum(F.diagonal(x, offset, -2, -1), axis=-1, dtype=dtype)
linalg.svdvals = _linalg.svdvals
linalg.vecdot, linalg.matrix_transpose, linalg.tensordot = vecdot, matrix_transpose, tensordot
linalg.cross = lambda x1, x2, /, *, axis=-1: _linalg.cross(x1, x2, dim=axis)
linalg.matrix_norm = lambda x, /, *, keepdims=False, ord="fro": _linalg.matrix_norm(x, ord, keepdim=keepdims)
linalg.vector_norm = lambda x, /, *, axis=None, keepdims=False, ord=2: _linalg.vector_norm(x, ord, axis, keepdims)


def _one_axis(name: str) -> Any:
    transform = getattr(_fft, name)

    def of_axis(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
        return transform(x, n, axis, norm)

    return of_axis


def _several_axes(name: str) -> Any:
    transform = getattr(_fft, name)

    def of_axes(x: Array, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
        return transform(x, s, axes, norm)

    return of_axes


def _shifting(name: str) -> Any:
    move = getattr(_fft, name)
    return lambda x, /, *, axes=None: move(x, axes)


fft = SimpleNamespace(
    **{name: getattr(_fft, name) for name in _fft.__all__}
    | {name: _one_axis(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")}
    | {name: _several_axes(name) for name in ("fftn", "ifftn", "rfftn", "irfftn")}
    | {name: _shifting(name) for name in ("fftshift", "ifftshift")}
)


class Info:
    """What this library has of the standard's optional parts."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean masks and shapes that depend on values work in eager code."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """The CPU."""
        return CPU

    def devices(self) -> list[Any]:
        """The CPU."""
        return [CPU]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of tensors that are made without one."""
        real = get_default_dtype()
        pair = complex64 if real == float32 else complex128
        return {"real floating": real, "complex floating": pair, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes of a kind, by name."""
        return {name: dtype for name, dtype in DTYPES.items() if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> Info:
    """What this library has of the standard's optional parts."""
    return Info()


globals()["any"] = any_
__all__ = sorted(name for name in globals() if not name.startswith("_") and name not in HIDDEN)
