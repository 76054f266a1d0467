"""Reductions, each one record: sum, mean, max, min, argmax, argmin, all, any; and how many elements one has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import methodcaller
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.types import (
    FLOATING,
    Axis,
    TensorType,
    bool_,
    category,
    int64,
    normalize_axes,
    normalize_axis,
    part_dtype,
    promote,
    type_of,
    uint8,
)
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ir import Expand, Extent, Node, OpDef, Range, Reduction, define
from . import rules as at
from .operands import dtype_of, inexact, ndim_of
from .operators import (
    NOBODY,
    ORDINARY,
    Cached,
    F,
    Tensor,
    TensorLike,
    apply,
    as_it_is,
    by_method,
    enter_as,
    frontends,
    numpy_twin,
    routed,
    spelled,
    taken,
    tensor_method,
    with_example,
)
from .rules import boolean, floating, keep, linear, over_axes, same_for_all

Axes = tuple[int, ...]

OVER = {"axis": at.axes_of(0), "keepdims": at.flag}

ADD: Any = np.add  # the stubs of ufunc.reduce know fewer forms than NumPy takes
MAXIMUM: Any = np.maximum
MINIMUM: Any = np.minimum
SHORT, MANY = 128, 1 << 12
"""Elements of rows that NumPy adds one after another, in any case; and of an array from which the functions below pay."""


def folding(ufunc: Any) -> Callable[..., np.ndarray]:
    """The `eval` of a reduction. NumPy has the result in the operand's order of axes, PyTorch in row-major order."""
    return lambda x, axis, keepdims: np.asarray(ufunc.reduce(x, axis, None, None, keepdims), order="C")


def tops(x: np.ndarray, axis: Axes) -> np.ndarray:
    """The maxima along axes, which stay. NumPy finds the place of the largest element of a row in half the time."""
    if x.size < MANY or axis != (x.ndim - 1,) or not x.flags.c_contiguous or x.dtype.kind != "f":
        return np.asarray(MAXIMUM.reduce(x, axis, None, None, True))
    places = x.argmax(-1)
    places += np.arange(0, x.size, x.shape[-1]).reshape(places.shape)
    return x.reshape(-1)[places][..., None]


def totals(x: np.ndarray, axis: Axes) -> np.ndarray:
    """The sums along axes, which stay: of short rows by BLAS, which takes a sixth of the time."""
    if x.size < MANY or axis != (x.ndim - 1,) or x.shape[-1] > SHORT or x.dtype.char not in "fd":
        return np.asarray(ADD.reduce(x, axis, None, None, True))
    return np.matmul(x, _ones(x.shape[-1], x.dtype.char))[..., None]


@lru_cache(64)
def _ones(count: int, dtype: str) -> np.ndarray:
    return np.ones(count, dtype)


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


def repeated(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """np.broadcast_to, at a quarter of its time. The shapes fit."""
    if not x.flags.c_contiguous:
        return np.broadcast_to(x, shape)
    lead = len(shape) - x.ndim
    strides = [step if a == b else 0 for a, b, step in zip(x.shape, shape[lead:], x.strides, strict=True)]
    out: np.ndarray = np.ndarray(shape, x.dtype, x, 0, [0] * lead + strides)
    out.setflags(write=False)
    return out


def spread(g: Any, x: Any, axis: Axes, keepdims: bool) -> Any:
    """A value of the reduced shape, broadcast back over x's axes."""
    if g.__class__ is x.__class__ is np.ndarray:
        return repeated(g if keepdims else g.reshape(reduced_shape(x.shape, axis, True)), x.shape)
    if not keepdims and g.shape:  # a single value broadcasts as it is
        g = F.expand_dims(g, axis)
    return F.broadcast_like(g, x)


def _count_eval(x: np.ndarray, axis: Axes, dtype: np.dtype) -> np.ndarray:
    return np.asarray(math.prod(x.shape[a] for a in axis), dtype)


count = define(
    name="count",
    batch=same_for_all,
    attrs={"axis": at.axes_of(0), "dtype": at.dtype},
    infer=lambda x, axis, dtype: TensorType((), dtype),
    eval=_count_eval,
    emit=Extent(lambda node: math.prod(node.inputs[0].type.shape[a] for a in node.attrs["axis"])),
    shape_only=(0,),
    doc="The number of elements over `axis`.",
)


def _samples_infer(x: TensorType, axis: Axes, dtype: np.dtype) -> TensorType:
    if all(x.shape[a] == 1 for a in axis):
        raise ArgumentError(f"Expected more than 1 value per channel when training, got input size {list(x.shape)}")
    return TensorType((), dtype)


def _samples_eval(x: np.ndarray, axis: Axes, dtype: np.dtype) -> np.ndarray:
    _samples_infer(type_of(x), axis, dtype)
    return _count_eval(x, axis, dtype)


samples = define(
    name="samples",
    batch=same_for_all,
    attrs={"axis": at.axes_of(0), "dtype": at.dtype},
    infer=_samples_infer,
    eval=_samples_eval,
    emit=Extent(lambda node: math.prod(node.inputs[0].type.shape[a] for a in node.attrs["axis"])),
    shape_only=(0,),
    doc="As `count`, of which a variance is estimated: not 1, which extents that are unknown before the run may give.",
)


def widened(operands: Sequence[Any]) -> list[np.dtype]:
    """Sums of booleans and small integers are int64, as in NumPy and PyTorch."""
    dtype = promote(operands)
    return [dtype if category(dtype) >= 2 else int64]


sum_op = define(
    name="sum",
    backward=over_axes("SumBackward0", "SumBackward1"),
    jvp=linear,
    attrs=OVER,
    infer=reduced,
    eval=folding(ADD),
    vjp=(lambda g, node, out, x: spread(g, x, node.attrs["axis"], node.attrs["keepdims"]),),
    emit=Reduction(lambda dtype: 0, "plus", ADD.reduce, "add"),
    promote=widened,
)


def shared_by_equals(g: Any, node: Any, out: Any, x: Any) -> Any:
    """The gradient goes to the chosen element, shared equally by all that are equal to it; by all NaN where one is."""
    axis, keepdims = node.attrs["axis"], node.attrs["keepdims"]
    best = spread(out, x, axis, keepdims)
    winners = F.astype(F.logical_or(x == best, F.logical_and(x != x, best != best)), x.dtype)
    share = g / apply(sum_op, winners, axis=axis, keepdims=keepdims)
    return winners * spread(share, x, axis, keepdims)


def lowest(dtype: np.dtype) -> Any:
    """The least value of a dtype."""
    return False if dtype == bool_ else -math.inf if dtype.kind in FLOATING else int(np.iinfo(_ordered(dtype)).min)


def highest(dtype: np.dtype) -> Any:
    """The greatest value of a dtype."""
    return True if dtype == bool_ else math.inf if dtype.kind in FLOATING else int(np.iinfo(_ordered(dtype)).max)


def _ordered(dtype: np.dtype) -> np.dtype:
    if dtype.kind == "c":
        raise DTypeError("complex numbers have no order", "compare x.real, or abs(x)")
    return dtype


max_op = define(
    name="max",
    backward=over_axes("MaxBackward1", "AmaxBackward0"),
    attrs=OVER,
    infer=_infer_nonempty,
    eval=folding(MAXIMUM),
    vjp=(shared_by_equals,),
    emit=Reduction(lowest, "maximum", MAXIMUM.reduce, "max"),
    promote=keep,
)
min_op = define(
    name="min",
    backward=over_axes("MinBackward1", "AminBackward0"),
    attrs=OVER,
    infer=_infer_nonempty,
    eval=folding(MINIMUM),
    vjp=(shared_by_equals,),
    emit=Reduction(highest, "minimum", MINIMUM.reduce, "min"),
    promote=keep,
)


def _mean_eval(x: np.ndarray, axis: Axes, keepdims: bool) -> np.ndarray:
    shape = x.shape
    total = totals(x, axis) if keepdims else ADD.reduce(x, axis, None, None, False)
    mean = total / math.prod([shape[a] for a in axis])
    return mean if mean.ndim < 2 else np.asarray(mean, order="C")


def _mean_expand(node: Node, x: Any) -> Any:
    total = apply(sum_op, x, axis=node.attrs["axis"], keepdims=node.attrs["keepdims"])
    return total / apply(count, x, axis=node.attrs["axis"], dtype=part_dtype(node.type.dtype))


def _mean_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    axis, keepdims = node.attrs["axis"], node.attrs["keepdims"]
    if g.__class__ is x.__class__ is np.ndarray:
        return spread(g / math.prod([x.shape[a] for a in axis]), x, axis, keepdims)
    return spread(g / apply(count, x, axis=axis, dtype=part_dtype(x.dtype)), x, axis, keepdims)


mean_op = define(
    name="mean",
    backward=over_axes("MeanBackward0", "MeanBackward1"),
    jvp=linear,
    attrs=OVER,
    infer=reduced,
    eval=_mean_eval,
    vjp=(_mean_vjp,),
    emit=Expand(_mean_expand),
    promote=floating,
)

ALL: Any = np.logical_and
ANY: Any = np.logical_or
all_op = define(
    name="all",
    attrs=OVER,
    infer=reduced,
    eval=folding(ALL),
    emit=Reduction(lambda dtype: True, "minimum", ALL.reduce, "and"),
    promote=boolean,
    doc="Whether every element is true; so over no elements.",
)
any_op = define(
    name="any",
    attrs=OVER,
    infer=reduced,
    eval=folding(ANY),
    emit=Reduction(lambda dtype: False, "maximum", ANY.reduce, "or"),
    promote=boolean,
    doc="Whether some element is true; none of no elements is.",
)


def _arg_infer(x: TensorType, axis: Axes, keepdims: bool) -> TensorType:
    return _infer_nonempty(x, axis, keepdims).with_dtype(int64)


def _arg_eval(method: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """By an array's method: NumPy's function of the same name takes a microsecond more."""

    def evaluate(x: np.ndarray, axis: Axes, keepdims: bool) -> np.ndarray:
        return np.asarray(method(x, axis[0], keepdims=keepdims))

    return evaluate


def _arg_prepared(name: str) -> Callable[[Node], Callable[..., Any]]:
    """See `OpDef.prepared`."""
    return lambda node: methodcaller(name, node.attrs["axis"][0], keepdims=node.attrs["keepdims"])


def _arg_expand(extremum: OpDef) -> Callable[..., Any]:
    def expand(node: Node, x: Any) -> Any:
        """The smallest position whose element equals the extremum (NaN counts as the extremum, as in NumPy)."""
        axis = node.attrs["axis"]
        best = apply(extremum, x, axis=axis, keepdims=True)
        hit = F.eq(x, best) if x.dtype.kind not in FLOATING else F.logical_or(F.eq(x, best), F.isnan(x))
        position = F.where(hit, F.index_along(x, axis[0]), np.iinfo(np.int64).max)
        return apply(min_op, position, axis=axis, keepdims=node.attrs["keepdims"])

    return expand


ALONG = {"axis": at.one_axis, "keepdims": at.flag}


def positions(types: Sequence[TensorType], attrs: Mapping[str, Any], x: Range) -> Range:
    """The range of positions along an axis."""
    axis = attrs["axis"]
    return 0, max(types[0].shape[axis[0] if isinstance(axis, tuple) else axis] - 1, 0)


def _position_op(name: str, of_array: Callable[..., Any], extremum: OpDef) -> OpDef:
    """The position of the first extremum along an axis."""
    emit, prepared = Expand(_arg_expand(extremum)), _arg_prepared(name)
    return define(name, _arg_infer, _arg_eval(of_array), None, emit, keep, attrs=ALONG, prepared=prepared, range=positions)


argmax_op = _position_op("argmax", np.ndarray.argmax, max_op)
argmin_op = _position_op("argmin", np.ndarray.argmin, min_op)


# public functions -----------------------------------------------------------------------------------------------------


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


def reducer(
    op: OpDef, doc: str, *twins: Callable[..., Any], name: str = "", example: str = "", cached: Cached = as_it_is
) -> None:
    """Make the op a public function in `F`, which these functions of NumPy reach too. example: "call -> result". cached: see
    `ops/operators/spelling.py`."""
    name = name or op.name

    def function(
        input: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool = False, dtype: Any = None,
        out: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        if input.__class__ not in ORDINARY:
            given = {"dim": dim, "keepdim": keepdim or keepdims or None, "dtype": dtype, "out": out}
            named = {word: value for word, value in given.items() if value is not None}
            if (answer := taken(function, (input,) if axis is None else (input, axis), named)) is not NOBODY:
                return answer
        if dim is not None or keepdim:
            axis, keepdims = chosen(name, axis, dim), kept(name, keepdims, keepdim)
        if out is not None:
            options = {"keepdims": keepdims, "dtype": dtype}
            return frontends.into(out, name, function, (input, axis), options)
        if dtype is not None:
            input = F.astype(input, dtype)
        elif op is mean_op and dtypes.prefix:
            inexact(
                input, "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype."
            )
        result = apply(op, input, axis=normalize_axes(axis, ndim_of(input)), keepdims=bool(keepdims))
        return result if dtype is None else F.astype(result, dtype)  # sums of small integers are int64

    function.__name__ = function.__qualname__ = name
    doc += " `dim` (or `axis`): an int, several, or None for all. Raises ArgumentError for a bad one."
    function.__doc__ = with_example(doc, example) if example else doc
    made = cached(function)
    enter_as(name, made)
    numpy_twin(*twins)(made)


reducer(
    sum_op, "The sum; integers and booleans in int64.", np.sum, cached=by_method,
    example="sg.sum(sg.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0) -> tensor([4., 6.])",
)  # fmt: skip
reducer(
    mean_op, "The mean, floating; NaN over no elements.", np.mean,
    example="sg.mean(sg.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1) -> tensor([1.5000, 3.5000])",
)  # fmt: skip
reducer(
    max_op, "The largest element (NaN if any is); ties share the gradient.", np.max, name="amax", cached=by_method,
    example="sg.amax(sg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=0) -> tensor([7., 5.])",
)  # fmt: skip
reducer(
    min_op, "The smallest element (NaN if any is); ties share the gradient.", np.min, name="amin", cached=by_method,
    example="sg.amin(sg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=0) -> tensor([1., 2.])",
)  # fmt: skip


def axis_of_scalar(x: Any, axis: Any) -> bool:
    """Whether the axis is 0 or -1, of an operand without axes: PyTorch and NumPy take it for one with an axis."""
    return ndim_of(x) == 0 and axis.__class__ is int and axis in (0, -1)


def _arg_function(op: OpDef, twin: Callable[..., Any], example: str) -> None:
    def function(x: TensorLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
        if axis is None or axis_of_scalar(x, axis):
            kept_shape = (1,) * ndim_of(x) if keepdims else ()
            return F.reshape(apply(op, F.reshape(x, (-1,)), axis=(0,), keepdims=False), kept_shape)
        return apply(op, x, axis=(normalize_axis(axis, ndim_of(x)),), keepdims=bool(keepdims))

    function.__name__ = function.__qualname__ = op.name
    doc = "The int64 position of the first extremum along `dim` (of the flattened array for None)."
    function.__doc__ = with_example(doc, example)
    function = routed(spelled(function))
    enter_as(op.name, function)
    numpy_twin(twin)(function)


_arg_function(argmax_op, np.argmax, "sg.argmax(sg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1) -> tensor([1, 0])")
_arg_function(argmin_op, np.argmin, "sg.argmin(sg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1) -> tensor([0, 1])")


def axes_of(dim: Any) -> Any:
    return None if isinstance(dim, bool) else dim


@tensor_method(cached=routed)
@numpy_twin(np.all)
@spelled
def all_(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether every element is true: bool, of uint8 uint8; true over no elements. Raises ArgumentError for a bad axis.

    Examples:
        >>> sg.all(sg.tensor([True, False]))
        tensor(False)
    """
    return _truth(all_op, x, axis, keepdims)


@tensor_method(cached=routed)
@numpy_twin(np.any)
@spelled
def any_(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether some element is true: bool, of uint8 uint8; false over no elements. Raises ArgumentError for a bad axis.

    Examples:
        >>> sg.any(sg.tensor([True, False]))
        tensor(True)
    """
    return _truth(any_op, x, axis, keepdims)


def _truth(op: OpDef, x: TensorLike, axis: Axis, keepdims: bool) -> Tensor:
    result = apply(op, F.astype(x, bool), axis=normalize_axes(axis, ndim_of(x)), keepdims=bool(keepdims))
    return F.astype(result, uint8) if dtype_of(x) == uint8 else result


def root(total: Any) -> Tensor:
    """The square root, whose derivative at 0 is 0 here."""
    return F.where(total == 0, 0, F.sqrt(F.where(total == 0, 1, total)))
