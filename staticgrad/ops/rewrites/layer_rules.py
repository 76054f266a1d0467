"""Rewrite rules for whole ops of layers: attention, rows of tables, pooling.

Attention with few scores is written in products and a softmax: each is faster over all matrices at once. Of values that are 0
except in a few rows, those rows are computed where they are enough. ReLU and max pooling change places: relu keeps the largest
the largest, so it is computed for the one that is left of each window, and its gradient too, in the order of axes in which it
was written. Where all of a window are below 0, its gradient is 0 wherever it goes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir import REGISTRY, Node
from ..attention import attended, attention_gradient_op, gradients_of
from ..gathering import gather_sum_op, index_add_op, put_op
from ..leaves import constant
from ..operators import F, Symbol, apply
from . import RewriteRule

FEW = 1 << 20
"""Bytes of scores up to which they stay in the cache from one op to the next."""


KEPT = 1 << 25
"""Bytes of scores up to which a plan that NumPy runs keeps the weights for the backward pass."""


def _bytes_of_scores(node: Node) -> int:
    q, k = (operand.type.shape for operand in node.inputs[:2])
    return int(math.prod(q[:-1]) * k[-2] * node.type.dtype.itemsize)


def _attention(node: Node, q: Any, k: Any, v: Any, *more: Any) -> Any:
    return attended(q, k, v, more, node.attrs) if _bytes_of_scores(node) <= FEW else None


def _gradient(node: Node, *operands: Any) -> Any:
    return _joined_gradients(node, *operands) if _bytes_of_scores(node) <= FEW else None


def _joined_gradients(node: Node, q: Any, k: Any, v: Any, g: Any, *more: Any) -> Any:
    wanted = gradients_of(q, k, v, g, more, node.attrs)[: 3 + node.attrs["of_mask"]]
    return F.concatenate([F.reshape(x, (-1,)) for x in wanted])


ATTENTION = (
    RewriteRule("few scores", "attention(q, k, v) = softmax(scale q k') v", ("attention",), _attention),
    RewriteRule("few scores, backward", "the gradient of softmax(scale q k') v", ("attention_gradient",), _gradient),
)


def _kept(node: Node) -> bool:
    """Whether the weights are kept: with a mask they have other bits where they are written in other ops."""
    return _bytes_of_scores(node) <= KEPT and not (node.attrs["masked"] or node.attrs["rate"])


def _sharing(node: Node, operands: Sequence[Any]) -> Any:
    if not _kept(node):
        return None
    if node.op is attention_gradient_op:
        return _joined_gradients(node, *operands)
    q, k, v = operands
    return attended(q, k, v, (), node.attrs)


SHARING: dict[str, Callable[[Node, Sequence[Any]], Any]] = {"attention": _sharing, "attention_gradient": _sharing}
"""Ops that share work with those of their gradients once both are written in others."""


# values that are 0 except in a few rows -------------------------------------------------------------------------------


def _rows(x: Any) -> tuple[Any, Any] | None:
    """(values, index) of a scatter to rows that is scaled by numbers: c scatter(v) = scatter(c v) for a finite c."""
    op, operands = x.node.op, [Symbol(x.graph, i) for i in x.node.inputs]
    if op is put_op and x.node.attrs["axis"] == 0 and x.dtype.kind == "f":
        return operands[0], operands[2]
    if op is REGISTRY["neg"]:
        found = _rows(operands[0])
        return None if found is None else (-found[0], found[1])
    if op in (REGISTRY["mul"], REGISTRY["div"]):
        ways = (operands, operands[::-1]) if op is REGISTRY["mul"] else (operands,)
        for whole, number in ways:
            if number.node.type.size == 1 and whole.shape == x.shape and (found := _rows(whole)) is not None:
                return apply(op, found[0], F.reshape(number, ())), found[1]
    return None


def _joined(node: Node, x: Any, y: Any) -> Any:
    """A table that a model uses twice."""
    if x.node.op is not put_op or y.node.op is not put_op:
        return None
    a, b = _rows(x), _rows(y)
    if a is None or b is None:
        return None
    values = F.concatenate([F.reshape(v, (i.node.type.size, *x.shape[1:])) for v, i in (a, b)], 0)
    index = F.concatenate([F.reshape(i, (-1,)) for _, i in (a, b)], 0)
    return apply(put_op, values, x, index, axis=0)


def _added(node: Node, x: Any, y: Any) -> Any:
    """Only for variables, which are updated in place: copying any other operand would cost as much as the scatter."""
    for whole, part in ((x, y), (y, x)) if node.op is REGISTRY["add"] else ((x, y),):
        found = _rows(part)
        if found is not None and whole.node.op.leaf == "variable" and whole.shape == node.type.shape:
            values = found[0] if node.op is REGISTRY["add"] else -found[0]
            return apply(index_add_op, whole, values, found[1])
    return None


def zeros(node: Node) -> bool:
    """Whether it is a constant of zeros, none of them -0."""
    while node.op in (REGISTRY["broadcast_to"], REGISTRY["reshape"]):
        node = node.inputs[0]
    if node.op is not constant:
        return False
    array = node.attrs["value"].array
    return not array.any() and not np.signbit(array).any()


def _to_zeros(node: Node, x: Any, values: Any, index: Any) -> Any:
    return apply(put_op, values, x, index, axis=0) if zeros(x.node) and x.dtype.kind == "f" else None


def _bag(node: Node, x: Any) -> Any:
    """The last axis of the index is the one that is reduced."""
    gather, axis = x.node, node.attrs["axis"]
    if gather.op is not REGISTRY["gather"] or gather.attrs["axis"] != 0 or len(gather.inputs) != 2:
        return None
    table, index = gather.inputs
    if axis != (index.type.ndim - 1,) or node.type.dtype.kind != "f":
        return None
    total = apply(gather_sum_op, Symbol(x.graph, table), Symbol(x.graph, index))
    if node.op is REGISTRY["mean"]:
        total = total / apply(REGISTRY["count"], x, axis=axis, dtype=node.type.dtype)
    return F.reshape(total, node.type.shape)


WHOLE = (RewriteRule("bag", "the sum of rows that were gathered is their bag", ("sum", "mean"), _bag),)
"""For the stage where ops are whole."""

ROWS = (
    RewriteRule("rows of zeros", "0 with v added to its rows = scatter(v)", ("index_add",), _to_zeros),
    RewriteRule("joined rows", "scatter(v, i) + scatter(w, j) = scatter(v and w, i and j)", ("add",), _joined),
    RewriteRule("rows added", "p + c scatter(v) = p with c v added to its rows, for a finite number c", ("add", "sub"), _added),
)


# running sums of exponentials ----------------------------------------------------------------------------------------


def _logcumsumexp(node: Node, x: Any) -> Any:
    """m + log(s) with the largest element so far, m, and s[i] = exp(m[i - 1] - m[i]) s[i - 1] + exp(x[i] - m[i]): s is at least
    1, and only the recurrence is computed one after another. Where m is infinite, 0 takes its place."""
    axis = node.attrs["axis"]
    if x.shape[axis] == 0:
        return x
    top = F.cummax(x, axis)[0]
    shift = F.where(F.eq(F.abs(top), math.inf), 0.0, top)
    lead = (slice(None),) * axis
    first = F.full_like(top[(*lead, slice(0, 1))], -math.inf)
    before = F.concatenate([first, top[(*lead, slice(0, -1))]], axis)
    shrunk = F.where(F.eq(before, -math.inf), 0.0, F.exp(before - shift))
    total = apply(REGISTRY["linear_recurrence"], F.where(F.eq(before, top), 1.0, shrunk), F.exp(x - shift), axis=axis)
    return shift + F.log(total)


SCANS = (
    RewriteRule(
        "logarithms of sums",
        "logcumsumexp(x) = m + log(cumsum(exp(x - m))) for m = cummax(x)",
        ("logcumsumexp",),
        _logcumsumexp,
    ),
)


# relu and max pooling -------------------------------------------------------------------------------------------------


def _permuted(node: Node) -> tuple[Node, tuple[int, ...]]:
    """The operand of a permutation, and its axes."""
    if node.op is REGISTRY["permute"]:
        return node.inputs[0], node.attrs["axes"]
    return node, tuple(range(node.type.ndim))


def _in_order(x: Any, axes: tuple[int, ...]) -> Any:
    return x if axes == tuple(range(len(axes))) else F.permute(x, axes)


def _zero(node: Node) -> bool:
    return node.type.size == 1 and zeros(node)


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
