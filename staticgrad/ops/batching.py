"""Rules that records share: batching, an op on many samples at once, and forward mode.

A batching rule is called as `(samples, node, *operands)`. Of the operands that `samples.flags` marks, each sample has its own:
their axis of samples is the first. The others are the same for all samples. `node` has the attributes and the types of one
sample. A forward rule is called as `(node, out, primals, tangents)` and gives the tangent; a tangent that is None is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir import REGISTRY
from .operators import F, apply

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
