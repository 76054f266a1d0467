"""Reductions, and the ops made of them: sum, mean, max, min, argmax, var, norm, cumsum."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..devices import refuse_out
from ..errors import ArgumentError, ShapeError
from ..ir import Call, Expand, Extent, Layout, Native, Node, OpDef, Reduction, Routine, Scratch, define
from ..operators import (
    Array,
    F,
    Operators,
    Tensor,
    TensorLike,
    apply,
    enter_as,
    numpy_twin,
    public,
    spelled,
    tensor_method,
    torch_function,
)
from ..types import (
    DTYPES,
    SHORT,
    Axis,
    DTypeLike,
    TensorType,
    as_dtype,
    bool_,
    category,
    float64,
    int64,
    normalize_axes,
    normalize_axis,
    promote,
    shape_text,
    to_float,
    type_of,
)
from . import attributes as at
from .rules import boolean, floating, keep

Axes = tuple[int, ...]

OVER = {"axis": at.axes_of(0), "keepdims": at.flag}

ADD: Any = np.add  # the stubs of ufunc.reduce know fewer forms than NumPy takes
MAXIMUM: Any = np.maximum
MINIMUM: Any = np.minimum


def reduced_shape(shape: Sequence[Any], axis: Axes, keepdims: bool) -> tuple[Any, ...]:
    if keepdims:
        return tuple(1 if i in axis else extent for i, extent in enumerate(shape))
    return tuple(extent for i, extent in enumerate(shape) if i not in axis)


def reduced(x: TensorType, axis: Axes, keepdims: bool) -> TensorType:
    return x.with_shape(reduced_shape(x.shape, axis, keepdims))


def _infer_nonempty(x: TensorType, axis: Axes, keepdims: bool) -> TensorType:
    if any(x.shape[a] == 0 for a in axis):
        raise ShapeError("zero-size array to a reduction which has no identity", "an axis that is reduced has extent 0")
    return reduced(x, axis, keepdims)


def spread(g: Any, x: Any, axis: Axes, keepdims: bool) -> Any:
    """A value of the reduced shape, broadcast back over x's axes."""
    if not keepdims and g.shape:  # a single value broadcasts as it is
        g = F.expand_dims(g, axis)
    return F.broadcast_like(g, x)


def _count_eval(x: np.ndarray, axis: Axes, dtype: np.dtype) -> np.ndarray:
    return np.asarray(math.prod(x.shape[a] for a in axis), dtype)


count = define(
    OpDef(
        name="count",
        attrs={"axis": at.axes_of(0), "dtype": at.dtype},
        infer=lambda x, axis, dtype: TensorType((), dtype),
        eval=_count_eval,
        emit=Extent(lambda node: math.prod(node.inputs[0].type.shape[a] for a in node.attrs["axis"])),
        shape_only=(0,),
        doc="The number of elements over `axis`.",
    )
)


def _samples_infer(x: TensorType, axis: Axes, dtype: np.dtype) -> TensorType:
    if all(x.shape[a] == 1 for a in axis):
        raise ArgumentError(f"Expected more than 1 value per channel when training, got input size {list(x.shape)}")
    return TensorType((), dtype)


def _samples_eval(x: np.ndarray, axis: Axes, dtype: np.dtype) -> np.ndarray:
    _samples_infer(type_of(x), axis, dtype)
    return _count_eval(x, axis, dtype)


samples = define(
    OpDef(
        name="samples",
        attrs={"axis": at.axes_of(0), "dtype": at.dtype},
        infer=_samples_infer,
        eval=_samples_eval,
        emit=Extent(lambda node: math.prod(node.inputs[0].type.shape[a] for a in node.attrs["axis"])),
        shape_only=(0,),
        doc="As `count`, of which a variance is estimated: not 1, which extents that are unknown before the run may give.",
    )
)


def _widened(operands: Sequence[Any]) -> list[np.dtype]:
    """Sums of booleans and small integers are int64, as in NumPy and PyTorch."""
    dtype = promote(operands)
    return [dtype if category(dtype) == 2 else int64]


sum_op = define(
    OpDef(
        name="sum",
        attrs=OVER,
        infer=reduced,
        eval=lambda x, axis, keepdims: ADD.reduce(x, axis, None, None, keepdims),
        vjp=(lambda g, node, out, x: spread(g, x, node.attrs["axis"], node.attrs["keepdims"]),),
        emit=Reduction(lambda dtype: 0, "plus", ADD.reduce, "add"),
        promote=_widened,
    )
)


def _extremum_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """The gradient goes to the largest element, shared equally by all that are equal to it; by all NaN where one is."""
    axis, keepdims = node.attrs["axis"], node.attrs["keepdims"]
    best = spread(out, x, axis, keepdims)
    winners = F.astype(F.logical_or(x == best, F.logical_and(x != x, best != best)), x.dtype)
    share = g / apply(sum_op, winners, axis=axis, keepdims=keepdims)
    return winners * spread(share, x, axis, keepdims)


def lowest(dtype: np.dtype) -> Any:
    """The least value of a dtype."""
    return False if dtype == bool_ else -math.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)


def highest(dtype: np.dtype) -> Any:
    """The greatest value of a dtype."""
    return True if dtype == bool_ else math.inf if dtype.kind == "f" else int(np.iinfo(dtype).max)


max_op = define(
    OpDef(
        name="max",
        attrs=OVER,
        infer=_infer_nonempty,
        eval=lambda x, axis, keepdims: MAXIMUM.reduce(x, axis, None, None, keepdims),
        vjp=(_extremum_vjp,),
        emit=Reduction(lowest, "maximum", MAXIMUM.reduce, "max"),
        promote=keep,
    )
)
min_op = define(
    OpDef(
        name="min",
        attrs=OVER,
        infer=_infer_nonempty,
        eval=lambda x, axis, keepdims: MINIMUM.reduce(x, axis, None, None, keepdims),
        vjp=(_extremum_vjp,),
        emit=Reduction(highest, "minimum", MINIMUM.reduce, "min"),
        promote=keep,
    )
)


def _mean_eval(x: np.ndarray, axis: Axes, keepdims: bool) -> np.ndarray:
    shape = x.shape
    result: np.ndarray = ADD.reduce(x, axis, None, None, keepdims) / math.prod([shape[a] for a in axis])
    return result


def _mean_expand(node: Node, x: Any) -> Any:
    total = apply(sum_op, x, axis=node.attrs["axis"], keepdims=node.attrs["keepdims"])
    return total / apply(count, x, axis=node.attrs["axis"], dtype=node.type.dtype)


def _mean_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    axis, keepdims = node.attrs["axis"], node.attrs["keepdims"]
    return spread(g / apply(count, x, axis=axis, dtype=x.dtype), x, axis, keepdims)


mean_op = define(
    OpDef(
        name="mean",
        attrs=OVER,
        infer=reduced,
        eval=_mean_eval,
        vjp=(_mean_vjp,),
        emit=Expand(_mean_expand),
        promote=floating,
    )
)

ALL: Any = np.logical_and
ANY: Any = np.logical_or
all_op = define(
    OpDef(
        name="all",
        attrs=OVER,
        infer=reduced,
        eval=lambda x, axis, keepdims: ALL.reduce(x, axis, None, None, keepdims),
        emit=Reduction(lambda dtype: True, "minimum", ALL.reduce, "and"),
        promote=boolean,
        doc="Whether every element is true; so over no elements.",
    )
)
any_op = define(
    OpDef(
        name="any",
        attrs=OVER,
        infer=reduced,
        eval=lambda x, axis, keepdims: ANY.reduce(x, axis, None, None, keepdims),
        emit=Reduction(lambda dtype: False, "maximum", ANY.reduce, "or"),
        promote=boolean,
        doc="Whether some element is true; none of no elements is.",
    )
)

# sum_to and broadcast_like: each is the other's cotangent --------------------------------------------------------


def _sum_to_axes(shape: tuple[Any, ...], like: tuple[Any, ...]) -> Axes:
    """The axes over which `like` was broadcast to `shape`."""
    lead = len(shape) - len(like)
    return (*range(lead), *[lead + i for i, d in enumerate(like) if d == 1 and shape[lead + i] != 1])


def repeats(shape: Sequence[Any], to: Sequence[Any]) -> bool:
    """Whether a tensor of this shape can be broadcast to another one, as far as extents are known."""
    lead = len(to) - len(shape)
    return lead >= 0 and all(a == b or a in (1, None) or b is None for a, b in zip(shape, to[lead:], strict=True))


def _sum_to_infer(x: TensorType, like: TensorType) -> TensorType:
    if not repeats(like.shape, x.shape):
        raise ShapeError(f"{shape_text(like.shape)} can't have been broadcast to {shape_text(x.shape)}")
    return x.with_shape(like.shape)


def _broadcast_like_infer(x: TensorType, like: TensorType) -> TensorType:
    if not repeats(x.shape, like.shape):
        raise ShapeError(f"can't broadcast {shape_text(x.shape)} to {shape_text(like.shape)}")
    return x.with_shape(like.shape)


def _sum_to_eval(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    if x.shape == like.shape:
        return x
    result: np.ndarray = ADD.reduce(x, _sum_to_axes(x.shape, like.shape), None, None, True).reshape(like.shape)
    return result


def _sum_to_expand(node: Node, x: Any, like: Any) -> Any:
    if x.shape == like.shape:
        return x
    total = apply(sum_op, x, axis=_sum_to_axes(x.shape, like.shape), keepdims=True)
    return F.reshape(total, like.shape)


sum_to = define(
    OpDef(
        name="sum_to",
        infer=_sum_to_infer,
        eval=_sum_to_eval,
        vjp=(lambda g, node, out, x, like: F.broadcast_like(g, x), None),
        emit=Expand(_sum_to_expand),
        shape_only=(1,),
        doc="x summed over the axes over which `like` was broadcast to x's shape.",
    )
)
SMALL = 4096


def _broadcast_like_eval(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """np.broadcast_to takes longer (2.5 us) than to fill a small array."""
    if like.size > SMALL:
        return np.broadcast_to(x, like.shape)
    out = np.empty(like.shape, x.dtype)
    out[...] = x
    return out


broadcast_like_op = define(
    OpDef(
        name="broadcast_like",
        range=lambda types, attrs, x, like: x,
        infer=_broadcast_like_infer,
        eval=_broadcast_like_eval,
        vjp=(lambda g, node, out, x, like: apply(sum_to, g, x), None),
        emit=Expand(lambda node, x, like: F.broadcast_to(x, like.shape)),
        shape_only=(1,),
        doc="x broadcast to the shape of `like`, whose value is not read.",
    )
)


@public
def broadcast_like(x: Array, like: Array) -> Tensor:
    """x broadcast to the shape of `like`, known or not."""
    if x.shape == like.shape and None not in x.shape and isinstance(x, Operators) is isinstance(like, Operators):
        return x  # type: ignore[return-value]  # an array of that shape comes back itself
    return apply(broadcast_like_op, x, like)


# argmax ----------------------------------------------------------------------------------------------------------


def _arg_infer(x: TensorType, axis: Axes, keepdims: bool) -> TensorType:
    return _infer_nonempty(x, axis, keepdims).with_dtype(int64)


def _arg_eval(numpy: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def evaluate(x: np.ndarray, axis: Axes, keepdims: bool) -> np.ndarray:
        return np.asarray(numpy(x, axis=axis[0], keepdims=keepdims))

    return evaluate


def _arg_expand(extremum: OpDef) -> Callable[..., Any]:
    def expand(node: Node, x: Any) -> Any:
        """The smallest position whose element equals the extremum (NaN counts as the extremum, as in NumPy)."""
        axis = node.attrs["axis"]
        best = apply(extremum, x, axis=axis, keepdims=True)
        hit = F.eq(x, best) if x.dtype.kind != "f" else F.logical_or(F.eq(x, best), F.isnan(x))
        position = F.where(hit, F.index_along(x, axis[0]), np.iinfo(np.int64).max)
        return apply(min_op, position, axis=axis, keepdims=node.attrs["keepdims"])

    return expand


ALONG = {"axis": at.one_axis, "keepdims": at.flag}
argmax_op = define(
    OpDef("argmax", _arg_infer, _arg_eval(np.argmax), None, Expand(_arg_expand(max_op)), keep, attrs=ALONG)
)
argmin_op = define(
    OpDef("argmin", _arg_infer, _arg_eval(np.argmin), None, Expand(_arg_expand(min_op)), keep, attrs=ALONG)
)

# public functions ------------------------------------------------------------------------------------------------


def ndim_of(x: Any) -> int:
    try:
        return len(x.shape)
    except AttributeError:
        return np.ndim(x)


def chosen(name: str, axis: Any, dim: Any) -> Any:
    """The axes, which are given in one of two words at most. Raises ArgumentError for both."""
    if dim is None:
        return axis
    if axis is not None:
        raise ArgumentError(f"{name}: 'axis' is given twice, as 'axis' and as 'dim'", "give one of them")
    return dim


def kept(name: str, keepdims: Any, keepdim: Any) -> bool:
    """Whether reduced axes are kept, from two words for it. Raises ArgumentError for both."""
    if keepdims and keepdim:
        raise ArgumentError(f"{name}: 'keepdims' is given twice, as 'keepdims' and as 'keepdim'", "give one of them")
    return bool(keepdims or keepdim)


def reducer(op: OpDef, doc: str, *twins: Callable[..., Any], name: str = "") -> None:
    """Make the op a public function in `F`, which these functions of NumPy reach too."""
    name = name or op.name

    def function(
        input: Any,
        axis: Any = None,
        keepdims: bool = False,
        *,
        dim: Any = None,
        keepdim: bool = False,
        dtype: Any = None,
        out: None = None,
    ) -> Tensor:
        if dim is not None or keepdim:
            axis, keepdims = chosen(name, axis, dim), kept(name, keepdims, keepdim)
        if out is not None:
            refuse_out(name)
        if dtype is not None:
            input = F.astype(input, dtype)
        return apply(op, input, axis=normalize_axes(axis, ndim_of(input)), keepdims=bool(keepdims))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + " `dim` (or `axis`): an int, several, or None for all. Raises ArgumentError for a bad one."
    enter_as(name, function)
    numpy_twin(*twins)(function)


reducer(sum_op, "The sum; integers and booleans in int64.", np.sum)
reducer(mean_op, "The mean, floating; NaN over no elements.", np.mean)
reducer(max_op, "The largest element (NaN if any is); ties share the gradient.", np.max, name="amax")
reducer(min_op, "The smallest element (NaN if any is); ties share the gradient.", np.min, name="amin")


def _of_none(x: Any, axis: Any) -> bool:
    """Whether the axis is 0 or -1, of an operand without axes: PyTorch and NumPy take it for one with an axis."""
    return ndim_of(x) == 0 and axis.__class__ is int and axis in (0, -1)


def _arg_function(op: OpDef, twin: Callable[..., Any]) -> None:
    def function(x: TensorLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
        if axis is None or _of_none(x, axis):
            kept_shape = (1,) * ndim_of(x) if keepdims else ()
            return F.reshape(apply(op, F.reshape(x, (-1,)), axis=(0,), keepdims=False), kept_shape)
        return apply(op, x, axis=(normalize_axis(axis, ndim_of(x)),), keepdims=bool(keepdims))

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = "The int64 position of the first extremum along `dim` (of the flattened array for None)."
    function = spelled(function)
    enter_as(op.name, function)
    numpy_twin(twin)(function)


_arg_function(argmax_op, np.argmax)
_arg_function(argmin_op, np.argmin)


@numpy_twin(np.var)
def variance(x: Any, axis: Axis = None, keepdims: bool = False, ddof: float = 0) -> Tensor:
    """NumPy's variance: mean squared distance from the mean, over n - ddof; NaN or infinite where that is not positive."""
    axes = normalize_axes(axis, ndim_of(x))
    centred = x - F.mean(x, axes, keepdims=True)
    n = apply(count, x, axis=axes, dtype=to_float(as_dtype(x.dtype)))
    return F.sum(F.square(centred), axes, keepdims) / (F.maximum(n - ddof, 0) if ddof else n)


@numpy_twin(np.std)
def _deviation(x: TensorLike, axis: Axis = None, keepdims: bool = False, ddof: float = 0) -> Tensor:
    return root(variance(x, axis, keepdims, ddof))


def _corrected(name: str, dim: Any, unbiased: Any, correction: Any) -> tuple[Any, Any]:
    """The axes and the correction that the arguments of `var` and its kin mean. Raises ArgumentError for two of them."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        if correction is not None:
            raise ArgumentError(f"{name}: give either `unbiased` or `correction`")
        correction = int(bool(unbiased))
    return dim, 1 if correction is None else correction


@torch_function()
def var(
    input: TensorLike, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The variance: mean squared distance from the mean, over n - correction (1 unless given; unbiased=False: 0).

    `dim`: an int, several, or None for all. NaN or infinite where n - correction is not positive.
    """
    dim, correction = _corrected("var", dim, unbiased, correction)
    return variance(input, dim, keepdim, correction)


@torch_function()
def std(
    input: TensorLike, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The square root of `var`; its derivative where it is 0 is 0."""
    dim, correction = _corrected("std", dim, unbiased, correction)
    return root(variance(input, dim, keepdim, correction))


@torch_function(method=False)
def var_mean(
    input: TensorLike, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    """`var` and `mean`."""
    return F.var(input, dim, unbiased, keepdim, correction=correction), F.mean(input, _axes_of(dim), keepdim)


@torch_function(method=False)
def std_mean(
    input: TensorLike, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    """`std` and `mean`."""
    return F.std(input, dim, unbiased, keepdim, correction=correction), F.mean(input, _axes_of(dim), keepdim)


def _axes_of(dim: Any) -> Any:
    return None if isinstance(dim, bool) else dim


@tensor_method()
@numpy_twin(np.all)
@spelled
def all_(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether every element is true, bool; true over no elements, as in NumPy. Raises ArgumentError for a bad axis."""
    return apply(all_op, F.astype(x, bool), axis=normalize_axes(axis, ndim_of(x)), keepdims=bool(keepdims))


@tensor_method()
@numpy_twin(np.any)
@spelled
def any_(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether some element is true, bool; false over no elements, as in NumPy. Raises ArgumentError for a bad axis."""
    return apply(any_op, F.astype(x, bool), axis=normalize_axes(axis, ndim_of(x)), keepdims=bool(keepdims))


def root(total: Any) -> Tensor:
    """The square root, whose derivative at 0 is 0 here."""
    return F.where(total == 0, 0, F.sqrt(F.where(total == 0, 1, total)))


def _cumsum_eval(x: np.ndarray, axis: int) -> np.ndarray:
    """Rounding errors of a float32 total accumulate along the axis, so totals are carried in float64."""
    result: np.ndarray = ADD.accumulate(x, axis=axis, dtype=CARRIED.get(x.dtype, x.dtype)).astype(x.dtype, copy=False)
    return result


CARRIED = {dtype: float64 for dtype in DTYPES if dtype.kind == "f" and dtype != float64}


def _cumsum_fused(node: Node) -> Reduction | None:
    """Kernels carry the total along the columns. It begins with -0.0, as a sum of zeros of that sign is one."""
    return Reduction(lambda dtype: -0.0, "add", ADD.accumulate) if node.attrs["axis"] == node.type.ndim - 1 else None


def _cumsum_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    axis = node.attrs["axis"]
    return F.flip(apply(cumsum_op, F.flip(g, axis), axis=axis), axis)


def _cumsum_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    axis, shape, dtype, work = node.attrs["axis"], node.type.shape, node.type.dtype, node.type.size
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    carried = CARRIED.get(dtype)
    scratch = () if carried is None else (Scratch(outer * inner, carried),)
    kernel, span = f"{'running' if carried is None else 'carried'}_{SHORT[dtype]}", outer if work else 0
    return [Routine("running_sums", kernel, span, (shape[axis], inner), work, scratch, name="cumsum", chunked=False)]


cumsum_op = define(
    OpDef(
        name="cumsum",
        attrs={"axis": at.axis_of(0)},
        infer=lambda x, axis: x,
        eval=_cumsum_eval,
        vjp=(_cumsum_vjp,),
        emit=Native(_cumsum_plan, fused=_cumsum_fused),
        promote=_widened,
    )
)


@tensor_method(inplace=True)
@numpy_twin(np.cumsum)
@spelled
def cumsum(x: TensorLike, axis: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """Running sums along `axis` (of the flattened array for None)."""
    if dtype is not None:
        x = F.astype(x, dtype)
    if _of_none(x, axis):
        return F.reshape(cumsum(x), ())
    if axis is None:
        x, axis = F.reshape(x, (-1,)), 0
    return apply(cumsum_op, x, axis=normalize_axis(axis, ndim_of(x)))
