"""Ops that relabel or repeat elements: reshape, expand_dims, squeeze, permute, broadcast_to, broadcast_like and its adjoint
sum_to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import index, methodcaller
from typing import Any, Unpack

import numpy as np

from ..base.dtypes import FLOATS, as_dtype
from ..base.types import (
    ALL_AXES,
    Axis,
    DTypeLike,
    Shape,
    ShapeLike,
    TensorType,
    as_shape,
    normalize_axes,
    normalize_axis,
    shape_text,
)
from ..errors import ArgumentError, ShapeError, StaticgradError
from ..ir import Attribute, Expand, Layout, Node, OpDef, View, define
from . import rules as at
from .operands import ndim_of
from .operators import (
    NOBODY,
    ORDINARY,
    Array,
    F,
    LikePlacement,
    Operators,
    Tensor,
    TensorLike,
    apply,
    factory,
    filled_by,
    has_rank,
    numpy_twin,
    public,
    routed,
    spelled,
    taken,
    tensor_method,
    torch_function,
    viewed,
)
from .over_complex import OWN
from .reductions import ADD, Axes, repeated, sum_op, totals
from .rules import broadcast, linear, reshaped, summed, unbroadcast

# reshape ---------------------------------------------------------------------------------------------------------


def reshaping(node: Node) -> Callable[..., Any]:
    """See `OpDef.prepared`."""
    return methodcaller("reshape", node.type.shape)


def _reshape_infer(x: TensorType, shape: tuple[int, ...]) -> TensorType:
    known = math.prod(d for d in shape if d != -1)
    if not x.static:
        return x.with_shape(tuple(None if d == -1 else d for d in shape))
    if -1 in shape:
        if known == 0 or x.size % known:
            raise ShapeError(f"can't reshape {shape_text(x.shape)} into {shape_text(shape)}")
        return x.with_shape(tuple(x.size // known if d == -1 else d for d in shape))
    if x.size != known:
        raise ShapeError(f"can't reshape {shape_text(x.shape)} into {shape_text(shape)}: {x.size} elements and {known}")
    return x.with_shape(shape)


def _reshape_layout(node: Node, layout: Layout) -> Layout | None:
    if layout.is_contiguous:
        flat = Layout.contiguous(node.type.shape)
        return Layout(flat.shape, flat.strides, layout.offset)
    walked = [(d, s) for d, s in zip(layout.shape, layout.strides, strict=True) if d != 1]
    if [d for d, _ in walked] != [d for d in node.type.shape if d != 1]:
        return None
    steps = (s for _, s in walked)
    return Layout(node.type.shape, tuple(1 if d == 1 else next(steps) for d in node.type.shape), layout.offset)


def reshape_like(g: Tensor, x: Array) -> Tensor:
    """g in the shape of x, which may have unknown extents."""
    if None not in x.shape:
        return g.reshape(x.shape)
    if x.shape.count(None) == 1 and 0 not in x.shape:  # -1 next to an extent of 0 could be anything
        return g.reshape(tuple(-1 if d is None else d for d in x.shape))
    return apply(reshape_like_op, g, x)


def _reshape_like_infer(x: TensorType, like: TensorType) -> TensorType:
    if x.static and like.static and x.size != like.size:
        raise ShapeError(f"can't reshape {shape_text(x.shape)} into {shape_text(like.shape)}")
    return x.with_shape(like.shape)


reshape_op = define(
    name="reshape",
    backward="ViewBackward0",
    batch=reshaped,
    attrs={"shape": at.new_shape},
    infer=_reshape_infer,
    eval=lambda x, shape: x.reshape(shape),
    prepared=reshaping,
    vjp=(lambda g, node, out, x: reshape_like(g, x),),
    emit=View(_reshape_layout, keeps_order=True),
)
reshape_like_op = define(
    name="reshape_like",
    stored=True,
    batch=reshaped,
    jvp=linear,
    range=lambda types, attrs, x, like: x,
    infer=_reshape_like_infer,
    eval=lambda x, like: x.reshape(like.shape),
    vjp=(lambda g, node, out, x, like: reshape_like(g, x), None),
    emit=Expand(lambda node, x, like: F.reshape(x, like.shape)),
    shape_only=(1,),
)


def _expanded(shape: Shape, axis: tuple[int, ...]) -> Shape:
    rest = iter(shape)
    return tuple(1 if i in axis else next(rest) for i in range(len(shape) + len(axis)))


def _expand_dims_eval(x: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    shape = list(x.shape)
    for a in axis:
        shape.insert(a, 1)
    return x.reshape(shape)


expand_dims_op: OpDef = define(
    name="expand_dims",
    backward="UnsqueezeBackward0",
    attrs={"axis": at.new_axes},
    infer=lambda x, axis: x.with_shape(_expanded(x.shape, axis)),
    eval=_expand_dims_eval,
    prepared=reshaping,
    vjp=(lambda g, node, out, x: apply(squeeze_op, g, axis=node.attrs["axis"]),),
    emit=View(
        lambda node, at: Layout(
            node.type.shape,
            tuple(0 if d is None else d for d in _expanded_strides(at.strides, node.attrs["axis"])),
            at.offset,
        ),
        keeps_order=True,
    ),
)


def _expanded_strides(strides: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    rest = iter(strides)
    return tuple(0 if i in axis else next(rest) for i in range(len(strides) + len(axis)))


def _squeeze_infer(x: TensorType, axis: tuple[int, ...]) -> TensorType:
    for a in axis:
        if x.shape[a] not in (1, None):
            raise ShapeError(f"cannot squeeze axis {a} of {shape_text(x.shape)}: its extent is not 1")
    return x.with_shape(tuple(d for i, d in enumerate(x.shape) if i not in axis))


def _drop(values: Sequence[Any], axis: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(v for i, v in enumerate(values) if i not in axis)


squeeze_op: OpDef = define(
    name="squeeze",
    attrs={"axis": at.axes_of(0)},
    infer=_squeeze_infer,
    eval=lambda x, axis: x.squeeze(axis),
    prepared=lambda node: methodcaller("squeeze", node.attrs["axis"]),
    vjp=(lambda g, node, out, x: apply(expand_dims_op, g, axis=node.attrs["axis"]),),
    emit=View(
        lambda node, at: Layout(_drop(at.shape, node.attrs["axis"]), _drop(at.strides, node.attrs["axis"]), at.offset),
        keeps_order=True,
    ),
)

# permute and broadcast -------------------------------------------------------------------------------------------


@lru_cache(256)
def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The order that undoes `axes`."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


permute_op = define(
    name="permute",
    attrs={"axes": at.order},
    infer=lambda x, axes: x.with_shape(tuple(x.shape[a] for a in axes)),
    eval=lambda x, axes: x.transpose(axes),
    prepared=lambda node: methodcaller("transpose", node.attrs["axes"]),
    vjp=(lambda g, node, out, x: g.transpose(_inverse(node.attrs["axes"])),),
    emit=View(
        lambda node, at: Layout(
            tuple(at.shape[a] for a in node.attrs["axes"]),
            tuple(at.strides[a] for a in node.attrs["axes"]),
            at.offset,
        )
    ),
)


def _broadcast_infer(x: TensorType, shape: tuple[int, ...]) -> TensorType:
    lead = len(shape) - len(x.shape)
    if lead < 0 or any(d not in (1, None, new) for d, new in zip(x.shape, shape[lead:], strict=True)):
        raise ShapeError(f"can't broadcast {shape_text(x.shape)} to {shape_text(shape)}")
    return x.with_shape(shape)


def _broadcast_layout(node: Node, at: Layout) -> Layout:
    shape: tuple[int, ...] = node.type.shape
    lead = len(shape) - len(at.shape)
    strides = (0,) * lead + tuple(
        0 if old == 1 and new != 1 else s for old, new, s in zip(at.shape, shape[lead:], at.strides, strict=True)
    )
    return Layout(shape, strides, at.offset)


def _broadcast_eval(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    lead = len(shape) - x.ndim
    fits = lead >= 0 and all(a in (1, b) for a, b in zip(x.shape, shape[lead:], strict=True))
    if fits and shape == (1,) * lead + x.shape:
        return _with_axes(x, lead)
    return repeated(x, shape) if fits else np.broadcast_to(x, shape)


def _with_axes(x: np.ndarray, count: int) -> np.ndarray:
    """x with new axes of extent 1: nothing is repeated, so the view can be changed."""
    return x[(None,) * count + (...,)]


def _broadcasting(node: Node) -> Callable[..., Any]:
    """See `OpDef.prepared`."""
    given, shape = node.inputs[0].type.shape, node.type.shape
    lead, kind = len(shape) - len(given), node.type.dtype
    if shape == (1,) * lead + tuple(given):
        return lambda x: _with_axes(x, lead)
    steps = Layout.contiguous(given).strides
    strides = [0] * lead + [s * kind.itemsize if a == b else 0 for a, b, s in zip(given, shape[lead:], steps, strict=True)]

    def view(x: np.ndarray) -> np.ndarray:
        if not x.flags.c_contiguous:
            return np.broadcast_to(x, shape)
        out: np.ndarray = np.ndarray(shape, kind, x, 0, strides)
        out.setflags(write=False)
        return out

    return view


broadcast_to_op = define(
    name="broadcast_to",
    backward="ExpandBackward0",
    batch=broadcast,
    attrs={"shape": at.shape},
    infer=_broadcast_infer,
    eval=_broadcast_eval,
    prepared=_broadcasting,
    vjp=(lambda g, node, out, x: unbroadcast(g, x),),
    emit=View(_broadcast_layout),
)

# public functions ------------------------------------------------------------------------------------------------


numpy_twin(np.shape)(lambda a: a.shape)
numpy_twin(np.ndim)(lambda a: len(a.shape))


def _filled(x: Any, value: Any, dtype: Any, requires_grad: bool) -> Any:
    made = F.clone(F.broadcast_like(np.full((), value, x.dtype if dtype is None else as_dtype(dtype)), x))
    return made.requires_grad_(True) if requires_grad else made


@public
@numpy_twin(np.zeros_like)
@filled_by(np.zeros)
@factory(LikePlacement)
def zeros_like(
    input: TensorLike, dtype: DTypeLike | None = None, requires_grad: bool = False, **options: Unpack[LikePlacement]
) -> Tensor:
    """Zeros of the shape of `input`, and of its dtype unless one is given.

    Examples:
        >>> sg.zeros_like(sg.ones(2))
        tensor([0., 0.])
    """
    return _filled(input, 0, dtype, requires_grad)


@public
@numpy_twin(np.ones_like)
@filled_by(np.ones)
@factory(LikePlacement)
def ones_like(
    input: TensorLike, dtype: DTypeLike | None = None, requires_grad: bool = False, **options: Unpack[LikePlacement]
) -> Tensor:
    """Ones of the shape of `input`, and of its dtype unless one is given.

    Examples:
        >>> sg.ones_like(sg.zeros(2))
        tensor([1., 1.])
    """
    return _filled(input, 1, dtype, requires_grad)


@torch_function(method=False)
@factory(LikePlacement)
def empty_like(
    input: TensorLike, dtype: DTypeLike | None = None, requires_grad: bool = False, **options: Unpack[LikePlacement]
) -> Tensor:
    """As `empty`, of the shape of `input`, and of its dtype unless one is given."""
    return _filled(input, 0, dtype, requires_grad)


@torch_function(method=False)
@factory(LikePlacement)
def full_like(
    input: TensorLike, fill_value: Any, dtype: DTypeLike | None = None, requires_grad: bool = False,
    **options: Unpack[LikePlacement],
) -> Tensor:  # fmt: skip
    """`fill_value` in the shape of `input`, and in its dtype unless one is given.

    Examples:
        >>> sg.full_like(sg.zeros(2), 5)
        tensor([5., 5.])
    """
    return _filled(input, fill_value, dtype, requires_grad)


@tensor_method()
@numpy_twin(np.reshape)
def reshape(input: TensorLike, *extents: ShapeLike, shape: ShapeLike | None = None) -> Tensor:
    """input in another shape, row-major; one extent may be -1. Raises ShapeError when the sizes differ.

    Examples:
        >>> sg.reshape(sg.arange(6), (2, -1))
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    given: Any = extents if shape is None else (shape,)
    if input.__class__ not in ORDINARY and (answer := taken(reshape, (input, *given), {})) is not NOBODY:
        return answer
    if len(given) == 1 and not isinstance(given[0], (int, np.integer)):
        given = given[0]
    try:
        target = tuple([d if d.__class__ is int else index(d) for d in given])
    except StaticgradError:  # a tensor that has no value yet
        raise
    except TypeError:
        raise ArgumentError(
            f"reshape: a shape is a tuple of integers, got {given!r}", "write -1 for an extent that is unknown"
        ) from None
    negative = [d for d in target if d < 0]
    if negative and (len(negative) > 1 or negative[0] != -1):
        raise ArgumentError(f"reshape: at most one extent may be -1, the others >= 0, got {target}")
    return apply(reshape_op, input, shape=target)


@tensor_method(cached=viewed)
@numpy_twin(np.ravel)
@spelled
def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """x with the axes from `start_dim` to `end_dim` joined into one. Raises ArgumentError for one out of range.

    Examples:
        >>> sg.flatten(sg.zeros(2, 3, 4), start_dim=1).shape
        torch.Size([2, 12])
    """
    ndim = max(ndim_of(x), 1)  # a 0-d tensor becomes one with an axis
    start, end = normalize_axis(start_dim, ndim), normalize_axis(end_dim, ndim)
    if start > end:
        raise ArgumentError("flatten() has invalid args: start_dim cannot come after end_dim", f"got {start_dim} and {end_dim}")
    if start == end and x.shape:
        return x
    if start == 0 and end == ndim - 1:
        return reshape(x, (-1,))
    lead, joined, tail = x.shape[:start], x.shape[start : end + 1], x.shape[end + 1 :]
    if None in joined or (*lead, *tail).count(None) > 1 or (None in (*lead, *tail) and 0 in joined):
        raise ShapeError(f"flatten: extents of {shape_text(x.shape)} are unknown", "use reshape with explicit extents")
    return reshape(x, tuple(-1 if d is None else d for d in (*lead, math.prod(joined), *tail)))


@tensor_method(cached=viewed)
@numpy_twin(np.expand_dims)
def expand_dims(x: TensorLike, axis: int | Sequence[int]) -> Tensor:
    """x with new axes of extent 1 at the places `axis` of the result."""
    new = len(axis) if isinstance(axis, (tuple, list)) else 1
    return apply(expand_dims_op, x, axis=normalize_axes(axis, ndim_of(x) + new))


@tensor_method(cached=viewed)
@spelled
def unsqueeze(x: TensorLike, axis: int) -> Tensor:
    """PyTorch's name of `expand_dims`.

    Examples:
        >>> sg.unsqueeze(sg.zeros(2, 3), 0).shape
        torch.Size([1, 2, 3])
    """
    return expand_dims(x, axis)


@numpy_twin(np.squeeze)
def drop_axes(x: TensorLike, axis: Axis = None) -> Tensor:
    """NumPy's `squeeze`: x without the axes `axis`. Raises ShapeError when one isn't of extent 1."""
    if axis is None:
        return squeeze(x)
    return apply(squeeze_op, x, axis=normalize_axes(axis, ndim_of(x)))


@tensor_method(cached=viewed)
@spelled
def squeeze(x: Any, axis: Axis = None) -> Tensor:
    """x without those of the axes `axis` (all for None) whose extent is 1; one that is unknown has to be 1.

    Examples:
        >>> sg.squeeze(sg.zeros(2, 1, 3), 1).shape
        torch.Size([2, 3])
    """
    if axis is None:
        if None in x.shape:
            raise ShapeError(f"squeeze: name the axes, extents of {shape_text(x.shape)} are unknown", "x.squeeze(axis)")
        return apply(squeeze_op, x, axis=tuple(i for i, d in enumerate(x.shape) if d == 1))
    return apply(squeeze_op, x, axis=tuple(a for a in normalize_axes(axis, ndim_of(x)) if x.shape[a] in (1, None)))


@tensor_method(cached=viewed)
@numpy_twin(np.transpose)
def permute(input: TensorLike, *axes: ShapeLike, dims: ShapeLike | None = None) -> Tensor:
    """input with its axes in the order `axes` (reversed when none are given).

    Examples:
        >>> sg.permute(sg.zeros(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
    """
    if dims is not None:
        axes = (dims,)
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)) else axes
    n = ndim_of(input)
    if not order:
        return apply(permute_op, input, axes=ALL_AXES[n][::-1])
    order = tuple([normalize_axis(a, n) for a in order])
    if len(order) != n or len(set(order)) != n:
        example = ", ".join(map(str, reversed(range(n))))
        raise ArgumentError(f"permute: {order} is not an order of {n} axes", f"name each axis once, as in permute({example})")
    return apply(permute_op, input, axes=order)


@torch_function(np.swapaxes, names=("swapdims",), words={"dim0": "axis0", "dim1": "axis1"}, cached=viewed)
def swapaxes(x: Any, axis0: int, axis1: int) -> Tensor:
    """x with two axes exchanged."""
    order = list(range(ndim_of(x)))
    if not order and {axis0, axis1} <= {0, -1}:
        return x
    a, b = normalize_axis(axis0, len(order)), normalize_axis(axis1, len(order))
    order[a], order[b] = order[b], order[a]
    return apply(permute_op, x, axes=tuple(order))


@tensor_method()
def transpose(input: TensorLike, *axes: ShapeLike, dim0: int | None = None, dim1: int | None = None) -> Tensor:
    """Two axes: exchange them, as in PyTorch. None, a tuple or more: their order, as in NumPy.

    Examples:
        >>> sg.transpose(sg.zeros(2, 3), 0, 1).shape
        torch.Size([3, 2])
    """
    if input.__class__ not in ORDINARY and (answer := taken(transpose, (input, *axes), {})) is not NOBODY:
        return answer
    if dim0 is not None or dim1 is not None:
        axes = tuple([d for d in (dim0, *axes, dim1) if d is not None])
        if len(axes) != 2:
            raise ArgumentError(f"transpose: expected two axes, got {axes}", "write x.transpose(dim0, dim1)")
    if len(axes) == 2:
        return swapaxes(input, *axes)  # type: ignore[arg-type]  # two ints
    return permute(input, *axes)


@tensor_method(cached=viewed)
@numpy_twin(np.broadcast_to)
def broadcast_to(
    input: TensorLike, *extents: ShapeLike, size: ShapeLike | None = None, shape: ShapeLike | None = None
) -> Tensor:
    """input repeated to a shape by NumPy's broadcasting, without copying. size, shape: names of the shape.

    Examples:
        >>> sg.broadcast_to(sg.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    given: Any = size if size is not None else shape if shape is not None else extents
    target = as_shape(given[0] if given is extents and len(extents) == 1 else given)
    if hasattr(input, "shape") and input.shape == target:
        return input  # type: ignore[return-value]  # an array of that shape comes back itself
    return apply(broadcast_to_op, input, shape=target)


@tensor_method(cached=viewed)
def expand(input: Array, *extents: ShapeLike, size: ShapeLike | None = None, implicit: bool = False) -> Tensor:
    """PyTorch's `broadcast_to`: -1 keeps an extent."""
    given: Any = extents if size is None else (size,)
    target: tuple[Any, ...] = tuple(given[0] if len(given) == 1 and not isinstance(given[0], (int, np.integer)) else given)
    lead = len(target) - ndim_of(input)
    if any(d == -1 and i < lead for i, d in enumerate(target)):
        raise ArgumentError(f"expand: -1 is not allowed for a new axis, got {target} for {shape_text(input.shape)}")
    shape = tuple(input.shape[i - lead] if d == -1 else d for i, d in enumerate(target))
    if shape == tuple(input.shape) and None not in shape:
        return reshape(input, shape)  # a view, as any other
    return broadcast_to(input, shape)


@numpy_twin(np.flip)
def _numpy_flip(m: Any, axis: Any = None) -> Any:
    """NumPy's `flip`, of several axes, or all."""
    return backwards(m, normalize_axes(axis, ndim_of(m)))


@torch_function(words={"axis": "dims"}, cached=routed)
def flip(input: Any, dims: Any = (), *more: int) -> Tensor:
    """`input` in reverse order along each of `dims`, in memory of its own: integers, or one tuple of them.

    Examples:
        >>> sg.flip(sg.tensor([1, 2, 3]), (0,))
        tensor([3, 2, 1])
    """
    axes = normalize_axes((dims, *more) if isinstance(dims, (int, np.integer)) else dims, ndim_of(input))
    return F.clone(backwards(input, axes))


def backwards(x: Any, axes: tuple[int, ...]) -> Tensor:
    """x in reverse order along ascending axes, as a view; `flip` is a copy in PyTorch."""
    slices = [slice(None)] * (axes[-1] + 1 if axes else 0)
    for a in axes:
        slices[a] = slice(None, None, -1)
    return F.getitem(x, (*slices, ...))


# `broadcast_like` and `sum_to`: each is the cotangent of the other ----------------------------------------------------

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


# ops that say what a value is derived from ----------------------------------------------------------------------------

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
