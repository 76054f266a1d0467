"""Broadcast ranks: how values relate to the iteration domain of their kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from ...ir import Index, Native, Node, View
from .layout import real

Access = TypeVar("Access")

FULL, ROW, COL, SCALAR = "full", "row", "col", "scalar"
SPREAD = "spread"
"""Rows that are scatter-added to rows of a result, which indices name."""


@dataclass
class IterationDomain:
    """The loops of a kernel and the broadcast rank of each value. `columns` is None for a flat group."""

    rows: int
    columns: int | None
    rank: dict[Node, str]
    post: set[Node]
    """Accumulated values, and scalars computed from them: they exist only after the last row."""

    def __str__(self) -> str:
        return f"{real(self.rows)} x {None if self.columns is None else real(self.columns)}"


class FusionFailure(Exception):
    """Why nodes don't share an iteration domain."""


def fused_as(node: Node, kind: type[Access]) -> Access | None:
    """How kernels can compute the result of a routine from its operands, as the op's record says: an access of this kind, or
    None where they can't."""
    emit = node.op.emit
    found = emit.fused(node) if isinstance(emit, Native) and emit.fused is not None else None
    return found if isinstance(found, kind) else None


def origin(node: Node) -> Node:
    """The node whose elements these are, beyond views that keep the order. Positions are not looked up beyond a view, because
    they belong to one shape."""
    while isinstance(node.op.emit, View) and node.op.emit.keeps_order and not isinstance(node.inputs[0].op.emit, Index):
        node = node.inputs[0]
    return node
