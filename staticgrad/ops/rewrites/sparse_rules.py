"""Rewrite rules for values that are 0 except in a few rows: where the rows are enough, the whole value is never computed."""

from __future__ import annotations

from typing import Any

from ...ir import REGISTRY, Node
from ...operators import F, Symbol
from ...operators import apply as apply_op
from ..gathering import gather_sum_op, index_add_op, put_op
from .rule import RewriteRule


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
                return apply_op(op, found[0], F.reshape(number, ())), found[1]
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
    return apply_op(put_op, values, x, index, axis=0)


def _added(node: Node, x: Any, y: Any) -> Any:
    """Only for variables, which are updated in place: copying any other operand would cost as much as the scatter."""
    for whole, part in ((x, y), (y, x)) if node.op is REGISTRY["add"] else ((x, y),):
        found = _rows(part)
        if found is not None and whole.node.op.leaf == "variable" and whole.shape == node.type.shape:
            values = found[0] if node.op is REGISTRY["add"] else -found[0]
            return apply_op(index_add_op, whole, values, found[1])
    return None


def _bag(node: Node, x: Any) -> Any:
    """The last axis of the index is the one that is reduced."""
    gather, axis = x.node, node.attrs["axis"]
    if gather.op is not REGISTRY["gather"] or gather.attrs["axis"] != 0 or len(gather.inputs) != 2:
        return None
    table, index = gather.inputs
    if axis != (index.type.ndim - 1,) or node.type.dtype.kind != "f":
        return None
    total = apply_op(gather_sum_op, Symbol(x.graph, table), Symbol(x.graph, index))
    if node.op is REGISTRY["mean"]:
        total = total / apply_op(REGISTRY["count"], x, axis=axis, dtype=node.type.dtype)
    return F.reshape(total, node.type.shape)


WHOLE = (RewriteRule("bag", "the sum of rows that were gathered is their bag", ("sum", "mean"), _bag),)
"""For the stage where ops are whole."""

ROWS = (
    RewriteRule("joined rows", "scatter(v, i) + scatter(w, j) = scatter(v and w, i and j)", ("add",), _joined),
    RewriteRule("rows added", "p + c scatter(v) = p with c v added to its rows, for a finite number c", ("add", "sub"), _added),
)
