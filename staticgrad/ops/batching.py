"""Batching rules that records share: an op on many samples at once.

A rule is called as `(samples, node, *operands)`. Of the operands that `samples.flags` marks, each sample has its own: their
axis of samples is the first. The others are the same for all samples. `node` has the attributes and the types of one sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operators import F, apply

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
