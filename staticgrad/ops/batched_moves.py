"""Batching rules of ops that move elements by integer positions; see `batching.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import REGISTRY
from ..operators import F, apply
from .batching import with_axes


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
