"""Parts that op records share: constraints on attributes, batching and forward rules, shape inference, promotion, cotangents.

A record says what is its own and takes the rest from here: `exp` is elementwise, so it infers the shape of its operand, has its
batching rule, and its forward rule follows from its derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..base.dtypes import ANY_DTYPE, HALF, SUPPORTED
from ..base.types import FLOATING, StackType, TensorType, TupleType, bool_, broadcast_shapes, float32, int64, promote, to_float
from ..errors import DTypeError
from ..ir import REGISTRY, Attribute, Literal, Node, OpDef, OverComplex, Pointwise, Range, Subgraph, define
from .operators import (
    NOBODY,
    NONE,
    ORDINARY,
    Cached,
    F,
    Tensor,
    TensorLike,
    apply,
    as_it_is,
    enter_as,
    frontends,
    numpy_twin,
    routed,
    spelled,
    taken,
    with_example,
)

# constraints on attributes: the vocabulary of `OpDef.attrs` -----------------------------------------------------------

# Everything that an op's meaning, its layout rules or its kernels take for granted is stated here, because it is not
# checked again: a graph may come from a file, or node by node from a program.

INT64 = 2**63
LARGE = 2**31
"""Settings of windows are below this: places are sums and products of two of them, in 64 bits."""
LONGEST = 200
"""Characters of a text."""


def whole(value: Any, low: int = -INT64, high: int = INT64) -> bool:
    """Whether it is a plain integer in [low, high)."""
    return value.__class__ is int and low <= value < high


def integer(low: int, high: int = INT64) -> Attribute:
    ends = f"of at least {low}" if high == INT64 else f"in [{low}, {high})"
    return Attribute(f"an integer {ends}", lambda value, types: whole(value, low, high))


def _ndim(types: Sequence[TensorType], operand: int) -> int:
    return types[operand].ndim if operand < len(types) else 0


def _next(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The same axes where there is one more in front."""
    return tuple([a + 1 for a in axes])


def axis_of(operand: int) -> Attribute:
    return Attribute(
        f"an axis of operand {operand}, counted from 0",
        lambda value, types: whole(value, 0, _ndim(types, operand)),
        shifted=lambda axis: axis + 1,
    )


def _ascending(value: Any, below: int) -> bool:
    return value.__class__ is tuple and all(whole(a, 0, below) for a in value) and all(a < b for a, b in pairwise(value))


def axes_of(operand: int) -> Attribute:
    return Attribute(
        f"axes of operand {operand}, counted from 0 and ascending",
        lambda value, types: _ascending(value, _ndim(types, operand)),
        shifted=_next,
    )


one_axis = Attribute(
    "one axis of operand 0, in a tuple",
    lambda value, types: _ascending(value, _ndim(types, 0)) and len(value) == 1,
    shifted=_next,
)
new_axes = Attribute(
    "axes of the result, counted from 0 and ascending",
    lambda value, types: value.__class__ is tuple and _ascending(value, _ndim(types, 0) + len(value)),
    shifted=_next,
)
order = Attribute(
    "an order of the axes of operand 0",
    lambda value, types: (
        value.__class__ is tuple and all(whole(a) for a in value) and sorted(value) == list(range(_ndim(types, 0)))
    ),
    shifted=lambda axes: (0, *_next(axes)),
)
flag = Attribute("True or False", lambda value, types: value.__class__ is bool)
text = Attribute(
    f"a text of at most {LONGEST} characters",
    lambda value, types: value.__class__ is str and len(value) <= LONGEST,
    optional=True,
)
dtype = Attribute("a dtype", lambda value, types: isinstance(value, ANY_DTYPE) and value in SUPPORTED)
floating_dtype = Attribute(
    "a floating dtype", lambda value, types: isinstance(value, ANY_DTYPE) and value in SUPPORTED and value.kind in FLOATING
)
positive = Attribute(
    "a finite number above 0",
    lambda value, types: value.__class__ is float and math.isfinite(value) and value > 0,
    numeric=True,
)
rate = Attribute("a number from 0 to below 1", lambda value, types: value.__class__ is float and 0 <= value < 1, numeric=True)
number = Attribute("a number", lambda value, types: value.__class__ is float, numeric=True)
literal = Attribute(
    "a constant array",
    lambda value, types: isinstance(value, Literal) and value.array.dtype in SUPPORTED,
)


def is_shape(value: Any, *, unknown: bool = False) -> bool:
    return value.__class__ is tuple and all((d is None and unknown) or whole(d, 0) for d in value)


shape = Attribute("a tuple of extents", lambda value, types: is_shape(value))
open_shape = Attribute("a tuple of extents or None", lambda value, types: is_shape(value, unknown=True))
drawn_shape = Attribute(
    "a tuple of extents, or None where an operand has them",
    lambda value, types: value is None or is_shape(value, unknown=True),
)
new_shape = Attribute(
    "a tuple of extents, of which one may be -1",
    lambda value, types: value.__class__ is tuple and all(whole(d, -1) for d in value) and value.count(-1) <= 1,
)


def is_type(value: Any) -> bool:
    """Whether this is the type of a tensor, a stack or several results."""
    if isinstance(value, TupleType):
        return all(map(is_type, value.parts))
    if isinstance(value, StackType):
        return is_type(value.item)
    return isinstance(value, TensorType) and value.dtype in SUPPORTED and is_shape(value.shape, unknown=True)


tensor_type = Attribute("a type", lambda value, types: is_type(value))


def _is_slice(value: Any) -> bool:
    if whole(value):
        return True
    if value.__class__ is not tuple or len(value) != 3:
        return False
    start, stop, step = value
    return all(v is None or whole(v) for v in (start, stop)) and whole(step) and step != 0


def slices_of(operand: int) -> Attribute:
    return Attribute(
        f"at most one integer or (start, stop, step) for each axis of operand {operand}",
        lambda value, types: value.__class__ is tuple and len(value) <= _ndim(types, operand) and all(map(_is_slice, value)),
        shifted=lambda slices: ((None, None, 1), *slices),
    )


def _is_pair(value: Any, low: int) -> bool:
    return value.__class__ is tuple and len(value) == 2 and all(whole(v, low, LARGE) for v in value)


def pair(low: int) -> Attribute:
    return Attribute(f"two integers in [{low}, 2**31)", lambda value, types: _is_pair(value, low))


paddings = Attribute(
    "(before, after) for each of two axes, integers in [0, 2**31)",
    lambda value, types: value.__class__ is tuple and len(value) == 2 and all(_is_pair(v, 0) for v in value),
)


def _is_rule(value: Any) -> bool:
    if value.__class__ is not tuple or not value:
        return False
    if value[0] == "bins":
        return len(value) == 2 and (value[1] is None or whole(value[1], 0, LARGE))
    if value[0] != "step" or len(value) != 6:
        return False
    _, kernel, stride, padding, *flags = value
    fits = whole(kernel, 1, LARGE) and whole(stride, 1, LARGE) and whole(padding, 0, LARGE)
    return fits and 2 * padding <= kernel and all(f.__class__ is bool for f in flags)


window_rule = Attribute(
    '("bins", count) or ("step", kernel, stride, padding up to half of it, two flags)', lambda value, types: _is_rule(value)
)
body = Attribute("a subgraph", lambda value, types: isinstance(value, Subgraph))
body_or_none = Attribute("a subgraph or None", lambda value, types: value is None or isinstance(value, Subgraph))
length = Attribute("a number of iterations or None", lambda value, types: value is None or whole(value, 0))
result_index = Attribute(
    "the number of a result of operand 0, a loop or branch",
    lambda value, types: isinstance(types[0], TupleType) and whole(value, 0, len(types[0].parts)),
)


# batching: an op on many samples at once ------------------------------------------------------------------------------

# A batching rule is called as `(samples, node, *operands)`. Of the operands that `samples.flags` marks, each sample has
# its own: their axis of samples is the first. The others are the same for all samples. `node` has the attributes and
# the types of one sample. A forward rule is called as `(node, out, primals, tangents)` and gives the tangent; a tangent
# that is None is 0.

Rule = Callable[..., Any]


def shifted(node: Any) -> dict[str, Any]:
    """The attributes of an op whose operands all have an axis of samples in front."""
    kinds = node.op.attrs
    return {name: value if kinds[name].shifted is None else kinds[name].shifted(value) for name, value in node.attrs.items()}


def with_axes(x: Any, flag: bool, axes: int, rank: int) -> Any:
    """An operand of so many axes, besides that of the samples, with new ones of extent 1 in front of them: `rank` in all."""
    if axes >= rank or not flag:
        return x
    return F.expand_dims(x, tuple(range(1, 1 + rank - axes)))


def aligned(samples: Any, node: Any, *operands: Any) -> Any:
    """Of elementwise ops: operands broadcast from the last axis, so all that have samples get the rank of the result."""
    rank = node.type.ndim
    return apply(
        node.op,
        *[with_axes(x, flag, t.ndim, rank) for x, flag, t in zip(operands, samples.flags, node.types, strict=True)],
        **node.attrs,
    )


def leading(samples: Any, node: Any, *operands: Any) -> Any:
    """Of ops that treat a further axis in front as they treat others that they don't work along: every operand gets it."""
    return apply(node.op, *samples.spread(operands), **shifted(node))


def same_for_all(samples: Any, node: Any, x: Any) -> Any:
    """Of ops that read only a shape: the result for one sample."""
    return apply(node.op, F.getitem(x, 0), **node.attrs)


def reshaped(samples: Any, node: Any, x: Any, *like: Any) -> Any:
    """Of ops that give one operand another shape."""
    return F.reshape(samples.each(0, x), samples.shape(node.type.shape))


def broadcast(samples: Any, node: Any, x: Any, *like: Any) -> Any:
    """Of ops that broadcast one operand to another shape, which is the same for all samples."""
    if not samples.flags[0]:
        return apply(node.op, x, *[F.getitem(y, 0) for y in like], **node.attrs)
    return samples.broadcast(with_axes(x, True, node.types[0].ndim, node.type.ndim), node.type.shape)


def summed(samples: Any, node: Any, x: Any, like: Any) -> Any:
    """Of ops that sum over the axes over which a shape was broadcast."""
    if not samples.flags[0]:
        return apply(node.op, x, F.getitem(like, 0))
    inner, outer = node.types[1].shape, node.types[0].shape
    lead = len(outer) - len(inner)
    axes = (*range(lead), *[lead + i for i, d in enumerate(inner) if d == 1 and outer[lead + i] != 1])
    total = F.sum(x, tuple([a + 1 for a in axes]), keepdims=True) if axes else x
    return F.reshape(total, samples.shape(inner))


def folded(samples: Any, node: Any, *operands: Any) -> Any:
    """Of ops along whose first axis the items don't meet: the axis of the samples joins it."""
    joined = [samples.joined(i, x, node) for i, x in enumerate(operands)]
    return F.reshape(apply(node.op, *joined, **node.attrs), samples.shape(node.type.shape))


def one_by_one(samples: Any, node: Any, *operands: Any) -> Any:
    """Sample by sample: for ops that have no form for many."""
    return samples.one_by_one(node, operands)


# products and convolutions --------------------------------------------------------------------------------------------


def multiplied(samples: Any, node: Any, x: Any, y: Any) -> Any:
    """A batch of products. One matrix times a vector of each sample is one product, with the vectors as rows."""
    flags, rank = samples.flags, node.type.ndim
    if flags == [False, True] and [t.ndim for t in node.types] == [2, 2] and node.types[1].shape[1] == 1:
        return F.expand_dims(apply(node.op, F.squeeze(y, 2), F.swapaxes(x, 0, 1)), 2)
    x, y = (with_axes(v, flag, t.ndim, rank) for v, flag, t in zip((x, y), flags, node.types, strict=True))
    return apply(node.op, x, y)


def solved(samples: Any, node: Any, a: Any, b: Any) -> Any:
    """Of ops on matrices whose leading axes broadcast."""
    rank = max(t.ndim for t in node.types)
    spread = zip(samples.spread([a, b]), node.types, strict=True)
    return apply(node.op, *[with_axes(x, True, t.ndim, rank) for x, t in spread], **node.attrs)


def _channels(x: Any) -> Any:
    """(samples, n, c, ...) as (n, samples * c, ...)."""
    x = F.swapaxes(x, 0, 1)
    return F.reshape(x, (x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:]))


def _samples(x: Any, samples: int) -> Any:
    """The inverse of `_channels`."""
    return F.swapaxes(F.reshape(x, (x.shape[0], samples, x.shape[1] // samples, *x.shape[2:])), 0, 1)


def _rows(w: Any) -> Any:
    """(samples, o, ...) as (samples * o, ...)."""
    return F.reshape(w, (w.shape[0] * w.shape[1], *w.shape[2:]))


def _grouped(samples: Any, node: Any) -> dict[str, Any]:
    return {**node.attrs, "groups": node.attrs["groups"] * samples.known()}


def convolved(samples: Any, node: Any, x: Any, w: Any) -> Any:
    """Samples of the input are more items of the batch. Samples of the weight are more output channels, and of both, more
    groups."""
    if not samples.flags[1]:
        return F.reshape(apply(node.op, samples.joined(0, x, node), w, **node.attrs), samples.shape(node.type.shape))
    count, groups = samples.known(), node.attrs["groups"]
    if samples.flags[0]:
        return _samples(apply(node.op, _channels(x), _rows(w), **_grouped(samples, node)), count)
    per, (n, o, *extents) = w.shape[1] // groups, node.type.shape
    w = F.swapaxes(F.reshape(w, (count, groups, per, *w.shape[2:])), 0, 1)
    out = apply(node.op, x, F.reshape(w, (groups * count * per, *w.shape[3:])), **node.attrs)
    out = F.reshape(out, (-1 if n is None else n, groups, count, per, *out.shape[2:]))
    return F.reshape(F.permute(out, (2, 0, 1, 3, 4, 5)), samples.shape((n, o, *extents)))


def input_cotangents(samples: Any, node: Any, g: Any, w: Any, *like: Any) -> Any:
    """As `convolved`, for the cotangents of the input."""
    if not samples.flags[1]:
        joined = [samples.joined(i + 2, x, node) for i, x in enumerate(like)]
        out = apply(node.op, samples.joined(0, g, node), w, *joined, **node.attrs)
        return F.reshape(out, samples.shape(node.type.shape))
    samples.known()
    g, w, *like = samples.spread([g, w, *like])
    out = apply(node.op, _channels(g), _rows(w), *map(_channels, like), **_grouped(samples, node))
    return _samples(out, samples.known())


def weight_cotangents(samples: Any, node: Any, g: Any, x: Any, like: Any) -> Any:
    """As `convolved`, for the cotangents of the weight: those of each sample are groups of their own."""
    samples.known()
    g, x, like = samples.spread([g, x, like])
    out = apply(node.op, _channels(g), _channels(x), _rows(like), **_grouped(samples, node))
    return F.reshape(out, samples.shape(node.type.shape))


# moves by integer positions -------------------------------------------------------------------------------------------


def checked(samples: Any, node: Any, index: Any, like: Any) -> Any:
    """Of range checks, which read one extent of their second operand."""
    return apply(node.op, index, F.getitem(like, 0) if samples.flags[1] else like, **node.attrs)


def gathered(samples: Any, node: Any, x: Any, *indices: Any) -> Any:
    """Where each sample has positions of its own, the number of the sample is one more position, beside the others."""
    axis = node.attrs["axis"]
    if not any(samples.flags[1:]):
        return apply(node.op, x, *indices, axis=axis + 1)
    picked = node.type.ndim - node.types[0].ndim + len(indices)  # axes that take the place of those that are indexed
    if not samples.flags[0]:
        out = apply(REGISTRY["gather"], x, *_alike(samples, node.types[1:], samples.flags[1:], indices, picked), axis=axis)
        return _moved(out, axis, 1, 0)
    rows, places = _numbered(samples, node.types[1:], samples.flags[1:], indices, picked)
    out = apply(REGISTRY["gather"], _moved(x, 1, axis, 1 + len(indices)), rows, *places, axis=0)
    return _moved(out, 1 + picked, axis, 1)


def scattered(samples: Any, node: Any, g: Any, like: Any, *indices: Any) -> Any:
    """As `gathered`, for the sums of values at positions."""
    axis = node.attrs["axis"]
    flags = samples.flags
    g, like = samples.each(0, g), samples.each(1, like)
    if not any(flags[2:]):
        return apply(node.op, g, like, *indices, axis=axis + 1)
    picked = node.types[0].ndim - node.types[1].ndim + len(indices)
    rows, places = _numbered(samples, node.types[2:], flags[2:], indices, picked)
    values, room = _moved(g, 1, axis, 1 + picked), _moved(like, 1, axis, 1 + len(indices))
    out = apply(REGISTRY["scatter_add"], values, room, rows, *places, axis=0)
    return _moved(out, 1 + len(indices), axis, 1)


def _alike(samples: Any, types: Any, flags: Any, indices: Any, axes: int) -> list[Any]:
    """Positions of so many axes, behind one of samples where they have it."""
    return [with_axes(k, flag, t.ndim, axes) for k, flag, t in zip(indices, flags, types, strict=True)]


def _numbered(samples: Any, types: Any, flags: Any, indices: Any, axes: int) -> tuple[Any, list[Any]]:
    """The numbers of the samples, and the positions, all of which broadcast to (samples, *positions)."""
    numbers = F.index_along(samples.level.sample, 0)
    return F.reshape(numbers, (-1, *[1] * axes)), _alike(samples, types, flags, indices, axes)


def _moved(x: Any, first: int, count: int, to: int) -> Any:
    """x with the axes [first, first + count) moved to stand where the remaining axes have come to `to`."""
    order = list(range(len(x.shape)))
    run = order[first : first + count]
    del order[first : first + count]
    order[to:to] = run
    return x if order == sorted(order) else F.permute(x, tuple(order))


def added(samples: Any, node: Any, x: Any, values: Any, index: Any) -> Any:
    """Of sums of rows at positions along the first axis."""
    flags = samples.flags
    like = samples.each(0, x)
    sums = scattered(
        samples.of(flags[1], True, flags[2]), samples.node("scatter_add", (1, 0, 2), node, axis=0), values, like, index
    )
    return F.add(like, sums)


def replaced(samples: Any, node: Any, x: Any, values: Any, index: Any) -> Any:
    """Of rows that are written at positions along the first axis: those of all samples are rows of one."""
    x, values, index = samples.spread([x, values, index])
    rows, tail = node.types[0].shape[0], node.types[0].shape[1:]
    numbers = F.reshape(F.index_along(samples.level.sample, 0), (-1, 1))
    places = F.add(F.astype(index, np.int64), F.mul(numbers, rows))
    out = apply(node.op, F.reshape(x, (-1, *tail)), F.reshape(values, (-1, *tail)), F.reshape(places, (-1,)))
    return F.reshape(out, samples.shape(node.type.shape))


def bags(samples: Any, node: Any, x: Any, index: Any) -> Any:
    """Of sums of the rows that the last axis of an index names."""
    rows = gathered(samples, samples.node("gather", (0, 1), node, axis=0), x, index)
    return F.sum(rows, node.types[1].ndim)


def searched(samples: Any, node: Any, edges: Any, values: Any) -> Any:
    """Of the places of values among sorted ones, which are the same for all samples or have its leading axes."""
    if not samples.flags[0] and node.types[0].ndim == 1:
        return apply(node.op, edges, values, **node.attrs)
    edges, values = samples.spread([edges, values])
    if node.types[0].ndim == 1:
        values = F.reshape(values, samples.shape((-1,)) if samples.size else (-1, node.types[1].size))
    return F.reshape(apply(node.op, edges, values, **node.attrs), samples.shape(node.type.shape))


# forward mode ---------------------------------------------------------------------------------------------------------


def linear(node: Any, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Of ops that are linear in all operands through which gradients flow, together: the op on their tangents."""
    return apply(
        node.op,
        *[
            x if node.op.vjp_for(i) is None else F.zeros_like(x) if t is None else t
            for i, (x, t) in enumerate(zip(primals, tangents, strict=True))
        ],
        **node.attrs,
    )


def multilinear(node: Any, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Of ops that are linear in each operand through which gradients flow: the product rule."""
    total: Any = None
    for i, t in enumerate(tangents):
        if t is not None and node.op.vjp_for(i) is not None:
            part = apply(node.op, *primals[:i], t, *primals[i + 1 :], **node.attrs)
            total = part if total is None else total + part
    return total


# promotion, inference and cotangents ----------------------------------------------------------------------------------


# promotion -------------------------------------------------------------------------------------------------------


def arithmetic(operands: Sequence[Any]) -> list[np.dtype]:
    """All operands take the promoted dtype."""
    return [promote(operands)] * len(operands)


def numeric(operands: Sequence[Any]) -> list[np.dtype]:
    """As `arithmetic`; booleans have no arithmetic of their own."""
    dtype = promote(operands)
    if dtype == bool_:
        raise DTypeError("booleans have no arithmetic", "cast first: x.astype(sg.float32)")
    return [dtype] * len(operands)


def check_halves(operands: Sequence[Any]) -> None:
    """Raises DTypeError for operands of a product that are floats of 16 bits of two kinds, as PyTorch does."""
    halves = [x.dtype for x in operands if isinstance(x, TensorType) and x.dtype in HALF]
    if len({*halves}) > 1:
        raise DTypeError(f"expected m1 and m2 to have the same dtype, but got: {halves[0]} != {halves[-1]}", "cast one of them")


def of_products(operands: Sequence[Any]) -> list[np.dtype]:
    """As `numeric`, for products of matrices. Raises DTypeError."""
    check_halves(operands)
    return numeric(operands)


def counted(operands: Sequence[Any]) -> list[np.dtype]:
    """As `arithmetic`, where booleans become int64."""
    dtype = promote(operands)
    return [int64 if dtype == bool_ else dtype] * len(operands)


def floating(operands: Sequence[Any]) -> list[np.dtype]:
    """All operands take the promoted dtype, or the default float when that is not floating."""
    return [to_float(promote(operands))] * len(operands)


def scaling(promotion: Callable[..., list[np.dtype]]) -> Callable[..., list[np.dtype]]:
    """A promotion by which a number that scales floats of 16 bits, or a tensor without axes, is not rounded to them, as in
    PyTorch."""

    def dtypes(operands: Sequence[Any]) -> list[np.dtype]:
        found = promotion(operands)
        other = operands[1]
        if found[1] in HALF and not (isinstance(other, TensorType) and (other.shape or other.dtype in HALF)):
            found[1] = float32
        return found

    return dtypes


def boolean(operands: Sequence[Any]) -> list[np.dtype]:
    return [bool_] * len(operands)


keep = None
"""Tensors keep their dtype, scalars take their own: the default promotion of ops."""


def first_boolean(operands: Sequence[Any]) -> list[np.dtype]:
    """A condition, and values promoted among themselves."""
    return [bool_] + [promote(operands[1:])] * (len(operands) - 1)


# inference ------------------------------------------------------------------------------------------------------


def elementwise(*types: TensorType) -> TensorType:
    """Broadcast shape, dtype of the last operand (they were promoted to one, but for a condition in front)."""
    return TensorType(broadcast_shapes(*[t.shape for t in types]), types[-1].dtype)


def compared(*types: TensorType) -> TensorType:
    return TensorType(broadcast_shapes(*[t.shape for t in types]), bool_)


def joint(*ranges: Range) -> Range:
    """The union of integer ranges."""
    known = [r for r in ranges if r is not None]
    return (min(r[0] for r in known), max(r[1] for r in known)) if known and len(known) == len(ranges) else None


# cotangents -----------------------------------------------------------------------------------------------------


def unbroadcast(g: Any, x: Any) -> Any:
    """Sum a cotangent of a broadcast result back to the operand's shape."""
    shape = g.shape
    if shape == x.shape and None not in shape:
        return g
    return apply(REGISTRY["sum_to"], g, x)


# names of derivatives -------------------------------------------------------------------------------------------


def rank_at(node: Any, position: int) -> int:
    """How many axes an operand of a node, or of a record of the tape, has."""
    operand = node.inputs[position]
    return (operand.type if isinstance(node, Node) else operand).ndim


def over_axes(whole: str, along: str) -> Callable[[Any], str]:
    """PyTorch's names of the derivative of a reduction: of all elements, and along axes."""
    return lambda node: whole if len(node.attrs["axis"]) == rank_at(node, 0) and not node.attrs["keepdims"] else along


def by_number(name: str) -> Callable[[Any], str]:
    """PyTorch's names of the derivative of an operation whose second operand is a number, and of two tensors."""
    return lambda node: f"{name}Backward{int(rank_at(node, 1) > 0)}"


# functions of a record ------------------------------------------------------------------------------------------


def unary(op: OpDef) -> Callable[..., Tensor]:
    """The op as a public function of one operand."""

    def function(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        if input.__class__ not in ORDINARY and (answer := taken(function, (input,), {})) is not NOBODY:
            return answer
        if out is not None:
            return frontends.into(out, op.name, function, (input,))
        return frontends.eager(op, (input,), {})

    _name(function, op)
    return function


def binary(op: OpDef) -> Callable[..., Tensor]:
    """The op as a public function of two operands."""

    def function(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        if (input.__class__ not in ORDINARY or other.__class__ not in ORDINARY) and (
            answer := taken(function, (input, other), {})
        ) is not NOBODY:
            return answer
        if out is not None:
            return frontends.into(out, op.name, function, (input, other))
        return frontends.eager(op, (input, other), {})

    _name(function, op)
    return function


def elementwise_op(
    name: str, numpy: Callable[..., Any], vjp: Any = None, *, doc: str, scalar: str | Callable[..., Any] | None = "",
    cost: int = 1, error: tuple[float, float] | None = None, promote: Any = floating,
    infer: Callable[..., TensorType] = elementwise, symbol: str = "", bilinear: bool = False, linear: tuple[int, ...] = (),
    arity: int = 0, names: tuple[str, ...] | None = None, method: bool = True, inplace: bool = True,
    twins: tuple[Callable[..., Any], ...] = (), backward: str | Callable[[Any], str] = "",
    batch: Callable[..., Any] | None = None, complex: OverComplex | None = None, example: str = "",
    words: Mapping[str, str] = NONE, cached: Cached = as_it_is,
) -> OpDef:  # fmt: skip
    """The record of an elementwise op, and everything public that follows from it.

    numpy: its meaning. vjp: the cotangent function of its operand, or a tuple of one for each; None: it has no gradient.
    scalar: the scalar operation of kernels, see `ir.Pointwise`: a name ("": that of the op) or a composition of others;
    None: the host computes it. cost, error, linear, bilinear: see `ir.Pointwise`. names: those of the public function
    ("special.erf": in `staticgrad.special` alone), by default the op's. method, inplace: it is a method of tensors, also with
    "_" at its end. twins: functions of NumPy that reach it, besides `numpy` itself where that is a ufunc. backward: PyTorch's
    name of its derivative, where that does not follow from `name`. batch: the batching rule, where that does not follow.
    complex: how it computes with complex numbers, where that does not follow; see `ops/over_complex.py`. example: "call ->
    result", for the docstring. words: names of the operands beside `input` and `other`. cached: see
    `ops/operators/spelling.py`; calls of functions of one operand take routes.
    """
    doc = with_example(doc, example) if example else doc
    vjps = (vjp,) if callable(vjp) else vjp
    emit = None if scalar is None else Pointwise(scalar or name, cost, bilinear, linear, error)
    op = define(

            name, infer, numpy, vjps, emit, promote, symbol, doc, fails=False, backward=backward, batch=batch, complex=complex,
            memory="operands",
        )  # fmt: skip
    operands = arity or (len(vjps) if vjps else getattr(numpy, "nin", 1))
    function = cached(routed(unary(op)) if operands == 1 else binary(op))
    if words:
        function = spelled(function, words)
    for public_name in (name,) if names is None else names:
        enter_as(public_name, function, method=method, inplace=inplace)
    if names != ():
        numpy_twin(*twins, *([numpy] if isinstance(numpy, np.ufunc) else []))(function)
    return op


def _name(function: Any, op: OpDef) -> None:
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.doc
