"""`broadcast_like` and `sum_to`: each is the cotangent of the other. Beside them, ops that say what a value is derived from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import FLOATS
from ..base.types import TensorType, shape_text
from ..errors import ArgumentError, ShapeError
from ..ir import Attribute, Expand, Node, OpDef, define
from . import attributes as at
from .batching import broadcast, linear, summed
from .operators import Array, F, Operators, Tensor, apply, has_rank, public
from .over_complex import OWN
from .reductions import ADD, Axes, repeated, sum_op, totals

MANY_ROWS = 128
"""Rows from which BLAS adds them in half of NumPy's time."""


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
    shape, wanted = x.shape, like.shape
    if shape == wanted:
        return x
    axes = _sum_to_axes(shape, wanted)
    lead = len(shape) - len(wanted)
    total: np.ndarray
    if lead == len(axes) and 1 < like.size <= x.size // MANY_ROWS and x.flags.c_contiguous and x.dtype in FLOATS:
        total = np.ones(x.size // like.size, x.dtype) @ x.reshape(-1, like.size)
    else:
        total = ADD.reduce(x, axes, None, None, lead != len(axes)) if lead else totals(x, axes)
    return total if total.shape == wanted else total.reshape(wanted)


def _sum_to_expand(node: Node, x: Any, like: Any) -> Any:
    if x.shape == like.shape:
        return x
    total = apply(sum_op, x, axis=_sum_to_axes(x.shape, like.shape), keepdims=True)
    return F.reshape(total, like.shape)


sum_to = define(
    name="sum_to",
    batch=summed,
    jvp=linear,
    infer=_sum_to_infer,
    eval=_sum_to_eval,
    vjp=(lambda g, node, out, x, like: F.broadcast_like(g, x), None),
    emit=Expand(_sum_to_expand),
    shape_only=(1,),
    doc="x summed over the axes over which `like` was broadcast to x's shape.",
)


broadcast_like_op = define(
    name="broadcast_like",
    stored=True,
    batch=broadcast,
    jvp=linear,
    range=lambda types, attrs, x, like: x,
    infer=_broadcast_like_infer,
    eval=lambda x, like: repeated(x, like.shape),
    vjp=(lambda g, node, out, x, like: apply(sum_to, g, x), None),
    emit=Expand(lambda node, x, like: F.broadcast_to(x, like.shape)),
    shape_only=(1,),
    doc="x broadcast to the shape of `like`, whose value is not read.",
)


@public
def broadcast_like(x: Array, like: Array) -> Tensor:
    """x broadcast to the shape of `like`, known or not."""
    ranked = has_rank(x) and has_rank(like)
    if ranked and x.shape == like.shape and None not in x.shape and isinstance(x, Operators) is isinstance(like, Operators):
        return x  # type: ignore[return-value]  # an array of that shape comes back itself
    return apply(broadcast_like_op, x, like)


# the derivation of a value --------------------------------------------------------------------------------------------

# Strict numerics repeat it one operation after the other. Fast numerics take the first input of these ops alone.


def _infer(x: TensorType, *rest: TensorType, ys: int = 0, xs: int = 0, index: int = 0) -> TensorType:
    if 2 * ys + xs > len(rest) or index > xs:
        raise ArgumentError(f"{len(rest)} inputs can't be {ys} results, their cotangents and {xs} tensors, of which {index}")
    return x


def _flows(i: int) -> Any:
    return (lambda g, node, out, *inputs: g) if i == 0 else None


def _define(name: str, doc: str, attrs: Mapping[str, Attribute]) -> OpDef:
    return define(
        name=name,
        complex=OWN,
        attrs=attrs,
        infer=_infer,
        eval=lambda x, *rest, **attrs: x,
        vjp=_flows,
        emit=Expand(lambda node, x, *rest: x),
        equals=0,
        doc=doc,
    )


adjoint_op = _define(
    "adjoint",
    "A cotangent that went through loops or branches. The other inputs are what it was derived from: `ys` results, their `ys` "
    "cotangents, `xs` tensors, and those that were taken for constants; it is that of number `index` among the tensors.",
    {"ys": at.integer(1), "xs": at.integer(1), "index": at.integer(0)},
)
as_written_op = _define(
    "as_written",
    "A result of a loop that was taken apart (into blocks, of which a gradient keeps the carries only), and the same result of "
    "the loop as the user wrote it.",
    {},
)


def as_written(results: Sequence[Any], plain: Sequence[Any]) -> list[Any]:
    """The results of a loop with a note of the same ones by the plain loop."""
    return [apply(as_written_op, x, y) for x, y in zip(results, plain, strict=True)]
