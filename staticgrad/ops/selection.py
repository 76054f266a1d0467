"""Selection: where and clip."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from ..base.dtypes import as_dtype
from ..base.types import TensorType, is_scalar, promote, shape_text
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ir import OverComplex, Pointwise, define
from .operands import ndim_of, number_in
from .operators import (
    Array,
    F,
    Operators,
    Tensor,
    TensorLike,
    apply,
    as_array,
    frontends,
    numpy_twin,
    one_node,
    public,
    routed,
    spelled,
    tensor_method,
)
from .reductions import highest, lowest
from .rules import arithmetic, elementwise, first_boolean, joint, rank_at, unbroadcast

WORDS: dict[Any, Any] = {np.dtype(np.float32): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.int64)}
CHOSEN = 1 << 12
"""Elements from which on bits gain more where the CPU can't foresee the choice than they lose where it can."""


def _where_eval(c: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """NumPy's `where` branches at each element, which takes 4 ns where the CPU can't foresee it: up to seven times as long as
    y ^ ((x ^ y) & mask) in bits."""
    word = WORDS.get(x.dtype)
    if word is None or y.dtype != x.dtype or c.size < CHOSEN or not all(a.flags.c_contiguous for a in (c, x, y)):
        return np.where(c, x, y)
    out = np.empty(np.broadcast(c, x, y).shape, x.dtype)
    holds, a, b, bits = c.view(np.int8), x.view(word), y.view(word), out.view(word)
    if not a.ndim and not a:
        np.bitwise_and(b, np.subtract(holds, 1), bits)
    else:
        np.bitwise_xor(a, b, bits)
        np.bitwise_and(bits, np.negative(holds), bits)
        np.bitwise_xor(b, bits, bits)
    return out


where_op = define(
    name="where",
    stored=True,
    complex=OverComplex("linear", parts=lambda node, c, x, y: (F.where(c, x[0], y[0]), F.where(c, x[1], y[1]))),
    range=lambda types, attrs, c, x, y: joint(x, y),
    infer=elementwise,
    eval=_where_eval,
    vjp=(
        None,
        lambda g, node, out, c, x, y: unbroadcast(F.where(c, g, 0), x),
        lambda g, node, out, c, x, y: unbroadcast(F.where(c, 0, g), y),
    ),
    emit=Pointwise("where"),
    promote=first_boolean,
)


def _inside(g: Any, node: Any, out: Any, x: Any, low: Any, high: Any) -> Any:
    return unbroadcast(F.where(F.logical_and(x >= low, x <= high), g, 0), x)


def _below(g: Any, node: Any, out: Any, x: Any, low: Any, high: Any) -> Any:
    within = low < high if ndim_of(high) else F.logical_or(low < high, high == highest(out.dtype))  # which stands for no bound
    return unbroadcast(F.where(F.logical_and(x < low, within), g, 0), low)


clip_op = define(
    name="clip",
    backward=lambda node: f"ClampBackward{int(rank_at(node, 1) == rank_at(node, 2) == 0)}",
    infer=elementwise,
    eval=lambda x, low, high: np.minimum(np.maximum(x, low), high),
    vjp=(
        _inside,
        _below,
        lambda g, node, out, x, low, high: unbroadcast(F.where(F.logical_or(x > high, low > high), g, 0), high),
    ),
    emit=Pointwise(lambda op, x, low, high: op.minimum(op.maximum(x, low), high), 2),
    promote=arithmetic,
)

# public functions ------------------------------------------------------------------------------------------------


@overload
def where(condition: TensorLike, input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor: ...
@overload
def where(condition: TensorLike) -> tuple[Tensor, ...]: ...
@public
@numpy_twin(np.where)
@routed
@one_node
def where(
    condition: TensorLike, input: TensorLike | None = None, other: TensorLike | None = None, *, out: Tensor | None = None
) -> Any:
    """`input` where the condition holds, else `other`; all broadcast. The gradient flows to the chosen side only.

    Of the condition alone: the positions where it holds, one tensor for each axis (`nonzero(as_tuple=True)`).

    Examples:
        >>> sg.where(sg.tensor([True, False]), sg.tensor([1.0, 2.0]), 0.0)
        tensor([1., 0.])
    """
    if input is None and other is None:
        return F.nonzero(condition, as_tuple=True)
    if input is None or other is None:
        raise ArgumentError("where: give both values, or none of them")
    if out is not None:
        return frontends.into(out, "where", where, (condition, input, other))
    return apply(where_op, condition, input, other)


@tensor_method(inplace=True, cached=routed)
@spelled
def clip(x: TensorLike, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """x limited to [min, max]; either may be None. Inside the bounds, edges included, the gradient passes through.

    The bounds are promoted with x. Raises ArgumentError when both are None.

    Examples:
        >>> sg.clip(sg.tensor([-2.0, 0.5, 2.0]), 0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None or max is None:
        if min is max:
            raise ArgumentError("torch.clamp: At least one of 'min' or 'max' must not be None")
        dtype = promote([_promoted(x), _promoted(max if min is None else min)])
        if min is None:
            min = lowest(dtype)
        else:
            max = highest(dtype)
    return apply(clip_op, x, min, max)


def _promoted(x: Any) -> Any:
    """An operand as promotion sees it."""
    if is_scalar(x):
        return x
    x = x if hasattr(x, "dtype") else as_array(x)
    return TensorType(tuple(x.shape), as_dtype(x.dtype))


@numpy_twin(np.clip)
def _numpy_clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    return F.clone(a) if low is high is None else clip(a, low, high)


@tensor_method(inplace=True, cached=routed)
@spelled
def clamp(x: TensorLike, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """PyTorch's name of `clip`.

    Examples:
        >>> sg.clamp(sg.tensor([-1.0, 0.5, 2.0]), 0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """
    return clip(x, min, max)


@tensor_method(inplace=True, cached=routed)
@spelled
def masked_fill(x: Array, mask: TensorLike, value: TensorLike) -> Tensor:
    """x with `value`, cast to x's dtype, where the mask is true. Raises DTypeError for a number that doesn't fit it.

    Examples:
        >>> sg.masked_fill(sg.tensor([1.0, 2.0]), sg.tensor([True, False]), 0.0)
        tensor([0., 2.])
    """
    shape = getattr(value, "shape", ())
    if shape:
        text = f"masked_fill only supports a 0-dimensional value tensor, but got {shape_text(shape)}"
        raise ShapeError(text, "use sg.where(mask, value, x)")
    kind = getattr(mask, "dtype", np.bool_)
    if kind != np.bool_:
        text = f"masked_fill_ only supports boolean masks, but got mask with dtype {as_dtype(kind)}"
        raise DTypeError(text, "compare it with a number, as in mask != 0")
    if isinstance(value, Operators):
        return where(mask, F.astype(value, x.dtype), x)
    x = x if hasattr(x, "dtype") else as_array(x)
    return where(mask, number_in("masked_fill", value, as_dtype(x.dtype)), x)
