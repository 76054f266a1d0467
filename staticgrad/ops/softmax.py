"""Log-sum-exp and its family: softmax, log_softmax, softplus and the logistic loss, where nothing overflows or cancels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.types import Axis, DTypeLike, normalize_axes
from ..errors import DTypeError
from ..ir import Expand, Node, define
from . import rules as at
from .operands import ndim_of
from .operators import (
    F,
    Symbol,
    Tensor,
    TensorLike,
    apply,
    by_method,
    enter_as,
    is_tensor,
    public,
    spelled,
    tensor_method,
)
from .over_complex import HOLOMORPHIC
from .pointwise import ZERO
from .reductions import MAXIMUM, OVER, Axes, max_op, reduced, reducer, spread, sum_op, tops, totals
from .rules import elementwise, floating, unbroadcast


def _logsumexp_eval(x: np.ndarray, axis: Axes, keepdims: bool) -> np.ndarray:
    top = tops(x.real, axis) if x.size else np.asarray(MAXIMUM.reduce(x.real, axis, None, None, True, -math.inf))
    top[~np.isfinite(top)] = 0
    out = np.add(np.log(totals(np.exp(x - top), axis)), top, order="C")
    return out if keepdims else np.squeeze(out, axis)


def _logsumexp_expand(node: Node, x: Any) -> Any:
    """max, then log of the sum of exp(x - max), plus max: nothing overflows."""
    axis = node.attrs["axis"]
    if any(x.shape[a] == 0 for a in axis):  # nothing has no maximum; its sum is 0
        out = F.log(apply(sum_op, x, axis=axis, keepdims=True))
    else:
        top = safe_top(x, axis)
        out = F.log(apply(sum_op, F.exp(x - top), axis=axis, keepdims=True)) + top
    return out if node.attrs["keepdims"] else F.squeeze(out, axis)


def safe_top(x: Any, axis: Axes) -> Any:
    """The shift that `logsumexp` subtracts before exp: the maximum (of the real parts), or 0 where that is infinite."""
    top = apply(max_op, F.real(x) if x.dtype.kind == "c" else x, axis=axis, keepdims=True)
    return F.where(F.isfinite(top), top, 0)


logsumexp_op = define(
    name="logsumexp",
    attrs=OVER,
    infer=reduced,
    eval=_logsumexp_eval,
    vjp=(
        lambda g, node, out, x: (
            spread(g, x, node.attrs["axis"], node.attrs["keepdims"])
            * F.exp(x - spread(out, x, node.attrs["axis"], node.attrs["keepdims"]))
        ),
    ),
    emit=Expand(_logsumexp_expand),
    promote=floating,
    complex=HOLOMORPHIC,
)


def _softmax_eval(x: np.ndarray, axis: Axes) -> np.ndarray:
    if not x.size:
        return x.copy()
    e = np.asarray(np.subtract(x, tops(x, axis), order="C"))
    np.exp(e, e)
    return np.divide(e, totals(e, axis), e)


def _softmax_expand(node: Node, x: Any) -> Any:
    """exp(x - max) over its sum. All of a row is NaN where its maximum is infinite, as in PyTorch."""
    axis = node.attrs["axis"]
    if any(x.shape[a] == 0 for a in axis):
        return x
    e = F.exp(x - apply(max_op, x, axis=axis, keepdims=True))
    return e / apply(sum_op, e, axis=axis, keepdims=True)


def _softmax_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """out * (g - sum(g * out))"""
    return out * (g - apply(sum_op, g * out, axis=node.attrs["axis"], keepdims=True))


softmax_op = define(
    name="softmax",
    attrs={"axis": at.axes_of(0)},
    infer=lambda x, axis: x,
    eval=_softmax_eval,
    vjp=(_softmax_vjp,),
    emit=Expand(_softmax_expand),
    promote=floating,
)


def _log_softmax_eval(x: np.ndarray, axis: Axes) -> np.ndarray:
    if not x.size:
        return x.copy()
    shifted = np.asarray(np.subtract(x, tops(x, axis), order="C"))
    total = totals(np.exp(shifted), axis)
    return np.subtract(shifted, np.log(total, total), shifted)


def _log_softmax_expand(node: Node, x: Any) -> Any:
    axis = node.attrs["axis"]
    if any(x.shape[a] == 0 for a in axis):
        return x
    shifted = x - apply(max_op, x, axis=axis, keepdims=True)
    return shifted - F.log(apply(sum_op, F.exp(shifted), axis=axis, keepdims=True))


log_softmax_op = define(
    name="log_softmax",
    attrs={"axis": at.axes_of(0)},
    infer=lambda x, axis: x,
    eval=_log_softmax_eval,
    vjp=(lambda g, node, out, x: g - F.exp(out) * apply(sum_op, g, axis=node.attrs["axis"], keepdims=True),),
    emit=Expand(_log_softmax_expand),
    promote=floating,
)

# public functions ------------------------------------------------------------------------------------------------

reducer(
    logsumexp_op, "log(sum(exp(x))) without overflow.",
    example="sg.logsumexp(sg.tensor([0.0, 0.0]), dim=0) -> tensor(0.6931)",
)  # fmt: skip
enter_as("special.logsumexp", F.logsumexp)


@tensor_method(names=("special.softmax",), cached=by_method)
@spelled
def softmax(x: TensorLike, axis: Axis = -1, dtype: DTypeLike | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) over `axis`, without overflow.

    Examples:
        >>> sg.softmax(sg.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
    x = x if dtype is None else F.astype(x, dtype)
    return apply(softmax_op, _not_integers("softmax", x), axis=normalize_axes(axis, ndim_of(x)))


@tensor_method(names=("special.log_softmax",), cached=by_method)
@spelled
def log_softmax(x: TensorLike, axis: Axis = -1, dtype: DTypeLike | None = None) -> Tensor:
    """log(softmax(x)) over `axis`, accurate where softmax underflows.

    Examples:
        >>> sg.log_softmax(sg.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931])
    """
    x = x if dtype is None else F.astype(x, dtype)
    return apply(log_softmax_op, _not_integers("log_softmax", x), axis=normalize_axes(axis, ndim_of(x)))


def _not_integers(name: str, x: Any) -> Any:
    """x. Raises DTypeError for a tensor of integers, as PyTorch does; arrays of NumPy's become floats."""
    if (is_tensor(x) or isinstance(x, Symbol)) and x.dtype.kind in "biu":
        raise DTypeError(f"{name}: not implemented for {x.dtype}", "give dtype=, or cast it first: x.float()")
    return x


# softplus and the logistic loss ---------------------------------------------------------------------------------------


def _tail(x: Any) -> Any:
    """log(1 + e**-|x|), which softplus has beyond max(x, 0)."""
    return F.log1p(F.exp(F.neg(F.abs(x))))


softplus_op = define(
    name="softplus",
    infer=elementwise,
    memory="operands",
    eval=lambda x: np.maximum(x, ZERO[x.dtype]) + np.log1p(np.exp(-np.abs(x))),
    vjp=(lambda g, node, out, x: g * F.sigmoid(x),),
    emit=Expand(lambda node, x: F.maximum(x, 0) + _tail(x)),
    promote=floating,
)


@public
def softplus(x: TensorLike) -> Tensor:
    """log(1 + e**x) without overflow; its derivative is sigmoid(x)."""
    return apply(softplus_op, x)


logistic_loss = define(
    name="logistic_loss",
    infer=elementwise,
    memory="operands",
    eval=lambda x, t: np.maximum(x, ZERO[x.dtype]) - x * t + np.log1p(np.exp(-np.abs(x))),
    vjp=(
        lambda g, node, out, x, t: unbroadcast(g * (F.sigmoid(x) - t), x),
        lambda g, node, out, x, t: unbroadcast(-g * x, t),
    ),
    emit=Expand(lambda node, x, t: F.maximum(x, 0) - x * t + _tail(x)),
    promote=floating,
    doc="-(t log(s) + (1 - t) log(1 - s)) for s = sigmoid(x): smooth, though written with |x| so that nothing cancels.",
)
