"""Rewrite rules for exchanges between processes."""

from __future__ import annotations

from typing import Any

from ...base.communicators import group
from ...ir import Node
from ...operators import F, Symbol, append
from .rule import RewriteRule

NAMES = ("all_gather", "all_reduce", "all_to_all", "broadcast", "gather_rows", "reduce", "reduce_scatter")


def _alone(node: Node, x: Any, *before: Any) -> Any:
    if node.attrs["size"] != 1:
        return None
    return F.reshape(x, node.type.shape) if x.shape != node.type.shape else x


def _average(node: Node, x: Any, *before: Any) -> Any:
    if node.attrs["reduction"] != "avg":
        return None
    total = append(x.graph, node.op, (x, *before), {**node.attrs, "reduction": "sum"})
    size = node.attrs["size"]
    if node.op.name == "reduce" and node.attrs["root"] != group(node.attrs["group_number"]).rank:
        return total
    return total / size if node.type.dtype.kind in "fc" else total // size


def _after(node: Node, x: Any, *before: Any) -> Any:
    """The exchange before may have become a sum that is divided, or a value of this process."""
    if all(last.node.op.stateful for last in before):
        return None
    found = [last.node if last.node.op.stateful else next(iter(last.node.inputs), last.node) for last in before]
    kept = [Symbol(x.graph, last) for last in found if last.op.stateful]
    return append(x.graph, node.op, (x, *kept), dict(node.attrs))


EXCHANGES = (
    RewriteRule("one process", "all_reduce(x) = x among one process", NAMES, _alone),
    RewriteRule("order of exchanges", "an exchange begins after the one before it", NAMES, _after),
    RewriteRule(
        "average", "all_reduce(x, avg) = all_reduce(x, sum) / processes", ("all_reduce", "reduce", "reduce_scatter"), _average
    ),
)
