"""Running sums inside a kernel: a loop over the columns of a row carries the total.

Such a loop is not vectorized. It leaves the results of a row in scratch memory, and vectorized loops read them there.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from ...ir import Adjacency, Node, Reduction
from .broadcast_rank import FULL, FusionFailure, IterationDomain, fused_as

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
