"""Scatter fusion: kernels add the rows that they compute to the rows of a result that indices name: cotangents of lookups.

Row i of a computed value is added to row `index[i]` of a result that starts as zeros; the value itself is not stored. Threads
share the rows of the result: each clears its own, scans all indices, and computes the rows that belong to it, in their order.
So the result does not depend on the number of threads.

This takes a kernel that computes row by row. Where a kernel reduces rows on the way (layer norm), it works on tiles of rows
and can't leave one out; then the rows are stored, and a routine adds them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence

from ...ir import Adjacency, Node, Pointwise, Reduction, Scatter
from .broadcast_rank import FULL, ROW, SPREAD, FusionFailure, IterationDomain, fused_as, origin
from .layout import count

LEAST = 32
"""The least elements of a row for which the branch that skips other threads' rows is negligible."""
DEAREST = 32
"""The highest cost of an element for which fusion pays: tanh and its gradient. Threads can't share the work where all indices
are equal; up to this cost they lose less by that than fusion gains."""


def scatter_of(node: Node) -> Scatter | None:
    return fused_as(node, Scatter)


def choose_scatters(nodes: Iterable[Node], users: Adjacency, stored: set[Node], fusible: Callable[[Node], bool]) -> set[Node]:
    """The scatters whose rows a kernel computes."""
    chosen = set()
    for node in nodes:
        scatter = scatter_of(node)
        if scatter is None or not node.type.static:
            continue
        values, k = node.inputs[scatter.values], node.inputs[scatter.index].type.ndim
        rows = origin(values)
        computed = fusible(rows) and not isinstance(rows.op.emit, Reduction)
        if computed and k and math.prod(values.type.shape[k:]) >= LEAST:
            chosen.add(node)
    return chosen


def spread_domain(node: Node, scatter: Scatter) -> tuple[int, int]:
    """Rows and columns of the value that is added."""
    shape, k = node.inputs[scatter.values].type.shape, node.inputs[scatter.index].type.ndim
    return count(shape[:k]), count(shape[k:])


def assign_scatter(node: Node, scatter: Scatter, domain: IterationDomain, inside: Collection[Node]) -> None:
    """Gives the scatter its rank. Raises FusionFailure where the kernel can't add its rows."""
    if origin(node.inputs[scatter.index]) in inside:
        raise FusionFailure("it adds to rows by their indices, which are read from memory only")
    if any(other is not node and scatter_of(other) is not None for other in inside):
        raise FusionFailure("a kernel adds to the rows of one result")
    rows = origin(node.inputs[scatter.values])
    if spread_domain(node, scatter) != (domain.rows, domain.columns) or (rows in inside and domain.rank[rows] != FULL):
        raise FusionFailure(f"the value that it adds does not have one element per row and column of {domain}")
    domain.rank[node] = SPREAD
    domain.post.add(node)


def why_apart(members: Sequence[Node], domain: IterationDomain) -> str | None:
    """Why it is better to store the rows than to add them in the kernel; None where it isn't."""
    if any(isinstance(n.op.emit, Reduction) and domain.rank[n] == ROW for n in members):
        return "the kernel reduces rows, and works on tiles of them"
    work = sum(n.op.emit.cost for n in members if isinstance(n.op.emit, Pointwise) and domain.rank[n] == FULL)
    if work > DEAREST:
        return "its work is expensive, and threads could not share it where many indices are equal"
    return None
