"""Batching rules of matrix products and convolutions; see `batching.py`."""

from __future__ import annotations

from typing import Any

from ..operators import F, apply
from .batching import with_axes


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
