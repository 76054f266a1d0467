"""Broadcast ranks: how values relate to the iteration domain of their kernel."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import TypeVar

from ...ir import Adjacency, Index, Native, Node, Reduction, View
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


# Running sums inside a kernel: a loop over the columns of a row carries the total.
#
# Such a loop is not vectorized. It leaves the results of a row in scratch memory, and vectorized loops read them there.

LEAST_SCAN = 16
"""Kernels scan rows of more columns than this; shorter rows are vectorized across rows."""


def scan_of(node: Node) -> Reduction | None:
    """The reduction whose partial results along the last axis make up the value; None for other nodes."""
    return fused_as(node, Reduction)


def choose_scans(nodes: Iterable[Node], users: Adjacency, stored: set[Node], fusible: Callable[[Node], bool]) -> set[Node]:
    """The running sums that kernels compute: those that are not stored and that only kernels read."""
    return {
        node for node in nodes
        if node not in stored and scan_of(node) is not None and node.type.static and node.type.shape[-1] > LEAST_SCAN
        and users[node] and all(map(fusible, users[node]))
    }  # fmt: skip


def assign_scan(node: Node, source: Node, domain: IterationDomain, inside: Container[Node]) -> None:
    """Gives the running sum its broadcast rank. Raises FusionFailure where its operand is a value of the group."""
    if source in inside:
        raise FusionFailure("it reads its operand in memory: a loop that carries a total is not vectorized")
    domain.rank[node] = FULL
