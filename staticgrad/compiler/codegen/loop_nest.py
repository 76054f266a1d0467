"""Assigns values to the loops of a kernel, and decides which values are kept for later loops.

The level of a value is the number of reductions over columns that precede it. A full value that a later level needs is
read back from memory where it is stored, kept in row scratch, or recomputed where that is cheap.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...ir import Node, Pointwise, Reduction
from ..fusion.broadcast_rank import COL, FULL, ROW, SPREAD, origin
from ..fusion.fuse import Group
from ..fusion.layout import count
from ..fusion.matrix_vector_forms import Dot

RECOMPUTE = 12  # a full value cheaper than this (in additions) is recomputed rather than kept


def cost(node: Node) -> int:
    return node.op.emit.cost if isinstance(node.op.emit, Pointwise) else 1


class LoopNest:
    """Orders the values of a group into loops. `dots`: sums that matrix-vector products compute."""

    def __init__(self, group: Group, dots: Mapping[Node, Dot]):
        self.group, self.dots = group, dots
        self.members = set(group.members)
        self.rank = group.domain.rank.__getitem__
        """The broadcast rank of a member."""
        self.outputs = set(group.outputs)
        self.flat = group.domain.columns is None
        self.spread = next((n for n in group.members if group.domain.rank[n] == SPREAD), None)
        """The result to which the kernel scatter-adds rows."""
        self.level: dict[Node, int] = {}
        for node in group.members:
            before = [self.level[o] for o in map(origin, node.inputs) if o in self.members]
            deepest = max(before, default=0)
            folds = isinstance(node.op.emit, Reduction) and self.rank(node) == ROW
            self.level[node] = deepest + 1 if folds else deepest
        self.last = max(self.level.values(), default=0)
        self.kept = self._kept()
        """Full values that later levels use, are not stored, and are expensive to recompute."""

    def sinks(self, level: int) -> list[Node]:
        """Full values that the loop of this level has to produce: stored, reduced, accumulated or kept."""
        sinks: dict[Node, None] = {}
        for node in self.group.members:
            if self.rank(node) == FULL and self.level[node] == level and (node in self.outputs or node in self.kept):
                sinks[node] = None
            if self.folds(node) and node not in self.dots:
                source = origin(node.inputs[0])
                if source in self.members and self.rank(source) == FULL and self.level[source] == level:
                    sinks[source] = None
        return list(sinks)

    def reductions(self, level: int) -> list[Node]:
        """Reductions folded in the loop of this level."""
        result = []
        for node in self.group.members:
            if self.folds(node) and node not in self.dots and not self.flat:
                source = origin(node.inputs[0])
                if source in self.members:
                    if self.rank(source) == FULL and self.level[source] == level:
                        result.append(node)
                elif level == 0 and self.outside_rank(node) == FULL:
                    result.append(node)
        return result

    def folds(self, node: Node) -> bool:
        """Whether the loop over a row accumulates its elements, in a sum or in rows of a result."""
        return isinstance(node.op.emit, Reduction) or node is self.spread

    def outside_rank(self, node: Node) -> str:
        """The rank of a reduction's operand in memory."""
        if self.flat:
            return ROW
        if self.rank(node) in (ROW, COL):
            return FULL
        size = count(node.inputs[0].type.shape)
        return FULL if size == self.group.domain.rows * self.group.domain.columns else ROW  # type: ignore[operator]

    def _kept(self) -> dict[Node, None]:
        kept: dict[Node, None] = {}
        if self.flat:
            return kept
        price: dict[Node, int] = {}
        for node in self.group.members:
            if self.rank(node) == FULL:
                price[node] = cost(node) + sum(price.get(o, 0) for o in map(origin, node.inputs) if self._unstored(o))
        for node in self.group.members:
            for source in map(origin, node.inputs):
                if source in kept or not self._unstored(source) or self.rank(node) != FULL:
                    continue
                if self.level[node] > self.level[source] and price[source] > RECOMPUTE:
                    kept[source] = None
        return kept

    def _unstored(self, node: Node) -> bool:
        """Whether it is a full value of this kernel that is not in memory."""
        return node in self.members and self.rank(node) == FULL and node not in self.outputs
