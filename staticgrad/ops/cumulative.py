"""Running sums, products and extrema along an axis; the product, whose gradient is made of running products."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.dtypes import DTYPES, SHORT
from ..base.types import (
    FLOATING,
    DTypeLike,
    TensorType,
    bool_,
    float64,
    get_default_dtype,
    int64,
    normalize_axes,
    normalize_axis,
    to_float,
    uint8,
)
from ..errors import ShapeError
from ..ir import Call, Layout, Native, Node, OpDef, OverComplex, Reduction, Routine, Scratch, define
from . import complex_parts as parts
from . import return_types
from . import rules as at
from .operands import dtype_of, ndim_of
from .operators import (
    F,
    Tensor,
    TensorLike,
    apply,
    autocasts,
    enter_as,
    numpy_twin,
    routed,
    spelled,
    tensor_method,
    torch_function,
)
from .ordering import along, with_axis, without_axis
from .reductions import ADD, axis_of_scalar, reduced, spread, widened
from .rules import linear
from .shaping import backwards

# sums -----------------------------------------------------------------------------------------------------------------


def _cumsum_eval(x: np.ndarray, axis: int) -> np.ndarray:
    """Rounding errors of a float32 total accumulate along the axis, so totals are carried in float64."""
    return ADD.accumulate(x, axis=axis, dtype=CARRIED.get(x.dtype, x.dtype)).astype(x.dtype, "C", copy=False)


CARRIED = {dtype: float64 for dtype in DTYPES if dtype.kind in FLOATING and dtype != float64}


def _cumsum_fused(node: Node) -> Reduction | None:
    """Kernels carry the total along the columns. It begins with -0.0, as a sum of zeros of that sign is one."""
    return Reduction(lambda dtype: -0.0, "add", ADD.accumulate) if node.attrs["axis"] == node.type.ndim - 1 else None


def _cumsum_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    axis = node.attrs["axis"]
    return backwards(apply(cumsum_op, backwards(g, (axis,)), axis=axis), (axis,))


def _cumsum_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    axis, shape, dtype, work = node.attrs["axis"], node.type.shape, node.type.dtype, node.type.size
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    carried = CARRIED.get(dtype)
    scratch = () if carried is None else (Scratch(outer * inner, carried),)
    kernel, span = f"{'running' if carried is None else 'carried'}_{SHORT[dtype]}", outer if work else 0
    return [Routine("running_sums", kernel, span, (shape[axis], inner), work, scratch, name="cumsum", chunked=False)]


cumsum_op = define(
    name="cumsum",
    jvp=linear,
    attrs={"axis": at.axis_of(0)},
    infer=lambda x, axis: x,
    eval=_cumsum_eval,
    vjp=(_cumsum_vjp,),
    emit=Native(_cumsum_plan, fused=_cumsum_fused),
    promote=widened,
)


@tensor_method(inplace=True, cached=routed)
@numpy_twin(np.cumsum)
@spelled
def cumsum(x: TensorLike, axis: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """Running sums along `axis` (of the flattened array for None).

    Examples:
        >>> sg.cumsum(sg.tensor([1, 2, 3]), dim=0)
        tensor([1, 3, 6])
    """
    if dtype is not None:
        return F.astype(cumsum(F.astype(x, dtype), axis), dtype)
    if axis_of_scalar(x, axis):
        return F.reshape(cumsum(x), ())
    if axis is None:
        x, axis = F.reshape(x, (-1,)), 0
    return apply(cumsum_op, x, axis=normalize_axis(axis, ndim_of(x)))


# running extrema --------------------------------------------------------------------------------------------------------


def _along_axis(kernel: str, name: str) -> Callable[[Node, Sequence[Layout]], Sequence[Call]]:
    """Calls of a kernel of recurrences, for [outer, extent, inner] around the axis; none where its dtype has none."""

    def plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
        axis, shape, work = node.attrs["axis"], node.type.shape, node.type.size
        outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        typed, span = f"{kernel}_{SHORT[node.inputs[0].type.dtype]}", outer if work else 0
        return [Routine("recurrences", typed, span, (shape[axis], inner), work, name=name, chunked=False)]

    return plan


def _running(extreme: np.ufunc) -> Callable[..., np.ndarray]:
    def evaluate(x: np.ndarray, axis: int) -> np.ndarray:
        """The position of the last element that is no worse than those before; NaN is the best."""
        best = extreme.accumulate(x, axis)
        reached = (x == best) | (x != x)
        places = np.arange(x.shape[axis]).reshape(-1, *[1] * (x.ndim - axis - 1))
        return np.asarray(np.maximum.accumulate(np.where(reached, places, 0), axis), order="C")

    return evaluate


for _name, _extreme, _kernel in (("cummax", np.maximum, "most"), ("cummin", np.minimum, "least")):
    _op = define(
        name=f"{_name}_index",
        attrs={"axis": at.axis_of(0)},
        infer=lambda x, axis: x.with_dtype(int64),
        eval=_running(_extreme),
        emit=Native(_along_axis(_kernel, _name)),
        promote=None,
        doc="The position of the extremum so far, along an axis.",
    )

    def _scan(input: Any, dim: int, *, _op: OpDef = _op, _name: str = _name) -> return_types.Pair:
        """The named tuple (values, indices) of the extremum so far, along `dim`."""
        x, axis, scalar = with_axis(input, dim)
        index = apply(_op, F.astype(x, uint8) if x.dtype == bool_ else x, axis=axis)
        values = without_axis(along(x, index, axis), scalar)
        return getattr(return_types, _name)(values, without_axis(index, scalar))

    _scan.__name__ = _scan.__qualname__ = _name
    enter_as(_name, spelled(_scan))


# products ---------------------------------------------------------------------------------------------------------------


def _neighbors(x: Any, axis: int, fill: float, *, later: bool) -> Any:
    """Each element's successor along an axis, or its predecessor, and `fill` for the one at the end."""
    lead = (slice(None),) * axis
    end = F.full_like(F.getitem(x, (*lead, slice(0, 1))), fill)
    if later:
        return F.concatenate([F.getitem(x, (*lead, slice(1, None))), end], axis)
    return F.concatenate([end, F.getitem(x, (*lead, slice(0, -1)))], axis)


def _from_end(factors: Any, terms: Any, axis: int, *, later: bool = True) -> Any:
    """r[i] = terms[i] + factors[i + 1] r[i + 1]; the other way round where what is earlier counts."""
    if not later:
        return apply(recurrence_op, _neighbors(factors, axis, 0.0, later=False), terms, axis=axis)
    successors = backwards(_neighbors(factors, axis, 0.0, later=True), (axis,))
    return backwards(apply(recurrence_op, successors, backwards(terms, (axis,)), axis=axis), (axis,))


def _recurrence_eval(factors: np.ndarray, terms: np.ndarray, axis: int) -> np.ndarray:
    result = np.array(terms)
    out, a = np.moveaxis(result, axis, 0), np.moveaxis(factors, axis, 0)
    for i in range(1, len(out)):
        out[i] += a[i] * out[i - 1]
    return result


def _recurrence_vjp_factors(g: Any, node: Any, out: Any, factors: Any, terms: Any) -> Any:
    axis = node.attrs["axis"]
    return _from_end(factors, g, axis) * _neighbors(out, axis, 0.0, later=False)


def _recurrence_infer(factors: TensorType, terms: TensorType, axis: int) -> TensorType:
    """Extents that one of them leaves open are the other's."""
    fits = len(factors.shape) == len(terms.shape) and all(
        a == b or None in (a, b) for a, b in zip(factors.shape, terms.shape, strict=True)
    )
    if not fits or factors.dtype != terms.dtype:
        raise ShapeError(f"linear_recurrence: factors and terms are of one type, got {factors} and {terms}")
    return terms.with_shape(tuple(b if a is None else a for a, b in zip(factors.shape, terms.shape, strict=True)))


recurrence_op: OpDef = define(
    name="linear_recurrence",
    complex=OverComplex(
        "holomorphic", parts=lambda node, f, t: parts.recurrence(parts.pair(f), parts.pair(t), node.attrs["axis"])
    ),
    attrs={"axis": at.axis_of(0)},
    infer=_recurrence_infer,
    eval=_recurrence_eval,
    vjp=(_recurrence_vjp_factors, lambda g, node, out, factors, terms: _from_end(factors, g, node.attrs["axis"])),
    emit=Native(_along_axis("linear", "linear_recurrence")),
    doc="r[i] = factors[i] r[i - 1] + terms[i] along an axis; the first factor is not read.",
)


def _cumprod_eval(x: np.ndarray, axis: int, exclusive: bool, reverse: bool) -> np.ndarray:
    result = np.ones(x.shape, x.dtype) if exclusive else np.empty(x.shape, x.dtype)
    source, out = (np.moveaxis(v, axis, 0)[:: -1 if reverse else 1] for v in (x, result))
    if exclusive:
        source, out = source[:-1], out[1:]
    np.multiply.accumulate(source, 0, x.dtype, out)
    return result


def _cumprod_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """The product of the elements before i, times r[i] = g[i] + x[i + 1] r[i + 1], in which no x[i] is divided by. Where
    products leave out the element itself, it is g[i + 1]."""
    axis, later = node.attrs["axis"], not node.attrs["reverse"]
    if node.attrs["exclusive"]:
        return out * _from_end(x, _neighbors(g, axis, 0.0, later=later), axis, later=later)
    return _neighbors(out, axis, 1.0, later=not later) * _from_end(x, g, axis, later=later)


def _cumprod_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    (call,), settings = _along_axis("product", "cumprod")(node, layouts), (node.attrs["exclusive"], node.attrs["reverse"])
    assert isinstance(call, Routine)
    return [replace(call, sizes=(*call.sizes, *map(int, settings)))]


cumprod_op: OpDef = define(
    name="cumprod",
    complex=OverComplex("holomorphic", parts=lambda node, x: parts.running_product(x, **node.attrs)),
    attrs={"axis": at.axis_of(0), "exclusive": at.flag, "reverse": at.flag},
    infer=lambda x, axis, exclusive, reverse: x,
    eval=_cumprod_eval,
    vjp=(_cumprod_vjp,),
    emit=Native(_cumprod_plan),
    promote=widened,
    doc="Running products along an axis, without each element itself where they are exclusive, from the end in reverse.",
)


def running_product(x: Any, axis: int, *, exclusive: bool = False, reverse: bool = False) -> Any:
    return apply(cumprod_op, x, axis=axis, exclusive=exclusive, reverse=reverse)


@torch_function(np.cumprod, inplace=True, cached=routed)
def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """Running products along `dim`; integers in int64.

    Examples:
        >>> sg.cumprod(sg.tensor([1, 2, 3]), dim=0)
        tensor([1, 2, 6])
    """
    x, axis, scalar = with_axis(input if dtype is None else F.astype(input, dtype), dim)
    result: Tensor = without_axis(running_product(x, axis), scalar)
    return result if dtype is None else F.astype(result, dtype)


MULTIPLY: Any = np.multiply  # the stubs of ufunc.reduce know fewer forms than NumPy takes


def _prod_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """The product of the others: of those before, and of those after."""
    (axis,) = node.attrs["axis"]
    before, after = (running_product(x, axis, exclusive=True, reverse=reverse) for reverse in (False, True))
    return spread(g, x, (axis,), node.attrs["keepdims"]) * before * after


prod_op = define(
    name="prod",
    complex=OverComplex(
        "holomorphic", parts=lambda node, x: parts.whole_product(x, node.attrs["axis"][0], node.attrs["keepdims"])
    ),
    attrs={"axis": at.one_axis, "keepdims": at.flag},
    infer=reduced,
    eval=lambda x, axis, keepdims: np.asarray(MULTIPLY.reduce(x, axis, x.dtype, None, keepdims), order="C"),
    vjp=(_prod_vjp,),
    emit=Reduction(lambda dtype: 1, "times", MULTIPLY.reduce),
    promote=widened,
    doc="The product along an axis.",
)


@torch_function(np.prod, cached=routed)
@autocasts
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product along `dim`, of all elements for None; integers in int64.

    Examples:
        >>> sg.prod(sg.tensor([2.0, 3.0, 4.0]))
        tensor(24.)
    """
    if dtype is not None:
        x = F.astype(input, dtype)
        return F.all(x, dim, keepdim) if dtype_of(x) == bool_ else F.astype(prod(x, dim, keepdim), dtype)
    x, n = input, ndim_of(input)
    if dim is None or not n:
        return apply(prod_op, F.reshape(x, (-1,)), axis=(0,), keepdims=False)
    for axis in reversed(normalize_axes(dim, n)):
        x = apply(prod_op, x, axis=(axis,), keepdims=bool(keepdim))
    return x


def _logcumsumexp_eval(x: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(np.logaddexp.accumulate(x, axis, x.dtype), order="C")


def _complex_logcumsumexp_eval(x: np.ndarray, axis: int) -> np.ndarray:
    """The logarithms of running sums: of the larger of two numbers, and of 1 plus their quotient, as PyTorch's."""
    out = np.array(x, order="C")
    rows = np.moveaxis(out, axis, 0)
    for before, row in itertools.pairwise(rows):
        top = np.where(before.real > row.real, before, row)
        top = np.where(np.isfinite(top), top, 0)
        row[...] = np.log(np.exp(before - top) + np.exp(row - top)) + top
    return out


def _logcumsumexp_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """exp(x[i] - out[i]) r[i], with r[i] = g[i] + exp(out[i] - out[i + 1]) r[i + 1]: no exponent is above 0."""
    axis = node.attrs["axis"]
    before = _neighbors(out, axis, 0.0, later=False)
    shrunk = F.exp(F.where(F.eq(before, out), 0, before - out))
    return F.exp(x - out) * _from_end(shrunk, g, axis)


logcumsumexp_op = define(
    name="logcumsumexp",
    fails=False,
    attrs={"axis": at.axis_of(0)},
    infer=lambda x, axis: x,
    eval=_logcumsumexp_eval,
    vjp=(_logcumsumexp_vjp,),
    complex=OverComplex("holomorphic", eval=_complex_logcumsumexp_eval),
    promote=lambda operands: [to_float(operands[0].dtype) if hasattr(operands[0], "dtype") else get_default_dtype()],
    doc="log of the running sum of exp(x) along an axis.",
)


@torch_function()
def logcumsumexp(input: Any, dim: int) -> Tensor:
    """log(cumsum(exp(x))) along `dim`, without overflow."""
    x, axis, scalar = with_axis(input, dim)
    return without_axis(apply(logcumsumexp_op, x, axis=axis), scalar)
