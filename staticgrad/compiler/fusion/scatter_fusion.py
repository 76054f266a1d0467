"""Rows that kernels add where they belong, by their numbers: the cotangents of lookups.

Row i of what a kernel computes is added to row `index[i]` of a result that begins as zeros; it is not stored in between.
Threads share the rows of the result: each clears its own, walks all numbers, and computes the rows that go to them, in
their order. So the result does not depend on the number of threads.

What a kernel computes row by row is folded so. Where rows are summed up on the way (layer norm), kernels walk blocks of
rows, from which none can be left out; these are stored, and added by a routine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence

from ...ir import Node, Pointwise, Reduction, Scatter
from .broadcast_rank import FULL, ROW, SPREAD, FusionFailure, IterationDomain, fused_as, origin
from .layout import count

LEAST = 32
"""Elements of a row from which on the branch that leaves out other threads' rows does not count."""
DEAREST = 32
"""Cost of an element up to which it pays: tanh, and what its gradient takes. Where all rows go to one, threads can't share
it, and lose less by that than is gained."""


def scatter_of(node: Node) -> Scatter | None:
    return fused_as(node, Scatter)


def choose_scatters(
    nodes: Iterable[Node], users: dict[Node, list[Node]], stored: set[Node], fusible: Callable[[Node], bool]
) -> set[Node]:
    """Those whose rows a kernel computes."""
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
    """Rows and columns of what is added."""
    shape, k = node.inputs[scatter.values].type.shape, node.inputs[scatter.index].type.ndim
    return count(shape[:k]), count(shape[k:])


def assign_scatter(node: Node, scatter: Scatter, domain: IterationDomain, inside: Collection[Node]) -> None:
    """Its kind. Raises Misfit when the kernel can't add its rows."""
    if origin(node.inputs[scatter.index]) in inside:
        raise FusionFailure("it adds to rows by their numbers, which lie in memory only")
    if any(other is not node and scatter_of(other) is not None for other in inside):
        raise FusionFailure("a kernel adds to the rows of one result")
    rows = origin(node.inputs[scatter.values])
    if spread_domain(node, scatter) != (domain.rows, domain.columns) or (rows in inside and domain.rank[rows] != FULL):
        raise FusionFailure(f"what it adds is not one value per element of {domain}")
    domain.rank[node] = SPREAD
    domain.post.add(node)


def why_apart(members: Sequence[Node], domain: IterationDomain) -> str | None:
    """Why a kernel does better to store rows than to add them where they belong."""
    if any(isinstance(n.op.emit, Reduction) and domain.rank[n] == ROW for n in members):
        return "the kernel sums up rows, and walks blocks of them"
    work = sum(n.op.emit.cost for n in members if isinstance(n.op.emit, Pointwise) and domain.rank[n] == FULL)
    if work > DEAREST:
        return "its work is dear, and threads could not share it where many rows go to one"
    return None
