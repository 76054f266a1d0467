"""ReLU and max pooling change places: of a window's elements one is left, and relu keeps the largest the largest.

relu is computed for that one, and its gradient too, in the order of axes in which it was written. Where all of a window are
below 0, its gradient is 0 wherever it goes.
"""

from __future__ import annotations

import math
from typing import Any

from ...ir import REGISTRY, Node
from ...operators import F, Symbol, apply
from ..leaves import constant
from .rule import RewriteRule


def _permuted(node: Node) -> tuple[Node, tuple[int, ...]]:
    """The operand of a permutation, and its axes."""
    if node.op is REGISTRY["permute"]:
        return node.inputs[0], node.attrs["axes"]
    return node, tuple(range(node.type.ndim))


def _in_order(x: Any, axes: tuple[int, ...]) -> Any:
    return x if axes == tuple(range(len(axes))) else F.permute(x, axes)


def _zero(node: Node) -> bool:
    if node.op is not constant or node.type.size != 1:
        return False
    value = node.attrs["value"].array.flat[0].item()
    return bool(value == 0) and math.copysign(1, value) > 0


def _pooled_relu(node: Node, x: Any) -> Any:
    rectified, axes = _permuted(x.node)
    if rectified.op is not REGISTRY["relu"]:
        return None
    whole = _in_order(Symbol(x.graph, rectified.inputs[0]), axes)
    back = tuple(axes.index(a) for a in range(len(axes)))
    return _in_order(F.relu(_in_order(apply(node.op, whole, **node.attrs), back)), axes)


def _masked_put(node: Node, mask: Any, zero: Any, value: Any) -> Any:
    """where(relu(x) <= 0, 0, put(g, relu(x))) = put(where(relu(pool(x)) <= 0, 0, g), x)"""
    put, after = _permuted(value.node)
    if put.op is not REGISTRY["max_pool2d_put"] or mask.node.op is not REGISTRY["le"] or not _zero(zero.node):
        return None
    compared, limit = mask.node.inputs
    g, source = put.inputs
    rectified, before = _permuted(source)
    if rectified.op is not REGISTRY["relu"] or not _zero(limit) or tuple(before[a] for a in after) != tuple(range(len(after))):
        return None
    if compared is not rectified and compared is not rectified.inputs[0]:
        return None
    whole = _in_order(Symbol(value.graph, rectified.inputs[0]), before)
    most = F.relu(_in_order(apply(REGISTRY["max_pool2d"], whole, **put.attrs), after))
    below = apply(mask.node.op, most, Symbol(value.graph, limit))
    kept = apply(node.op, below, zero, _in_order(Symbol(value.graph, g), after))
    return _in_order(apply(put.op, _in_order(kept, before), whole, **put.attrs), after)


def _sum_of_put(node: Node, x: Any) -> Any:
    """Each element of g goes to one place."""
    put, axes = _permuted(x.node)
    if put.op is not REGISTRY["max_pool2d_put"] or not {2, 3} <= {axes[a] for a in node.attrs["axis"]}:
        return None
    return apply(node.op, _in_order(Symbol(x.graph, put.inputs[0]), axes), **node.attrs)


POOLING = (
    RewriteRule(
        "relu after pooling", "pool(relu(x)) = relu(pool(x)) for the largest of windows", ("max_pool2d",), _pooled_relu
    ),
    RewriteRule("mask before put", "a mask of relu and of its largest elements are one", ("where",), _masked_put),
    RewriteRule("sum of put", "the sum of what pooling puts back is the sum of what it took", ("sum",), _sum_of_put),
)
