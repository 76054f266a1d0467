"""Which loop of a kernel makes a value, and which values are kept for later loops.

The level of a value counts the reductions over columns that lie behind it. A full value that a later level needs is
read back where it was stored, kept in row scratch, or computed again when that is cheap.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...ir import Node, Pointwise, Reduction
from ..fusion.iteration_domain import COL, FULL, ROW, origin
from ..fusion.layout import count
from ..fusion.matrix_vector_forms import Dot
from .accumulators import Accumulators
from .parameters import BufferRef, real_extent

RECOMPUTE = 12  # a full value cheaper than this (in additions) is computed again rather than kept


def cost(node: Node) -> int:
    return node.op.emit.cost if isinstance(node.op.emit, Pointwise) else 1


class LoopNest(Accumulators):
    """Orders the values of the group into loops."""

    members: set[Node]
    outputs: set[Node]
    scratch: dict[Node, str]
    """Where the values that are kept lie."""
    kept: dict[Node, int]
    kept_rows = 1
    """Rows of a value that are kept at a time."""
    dots: Mapping[Node, Dot] = {}
    """Sums that routines of their own compute."""
    spread: Node | None = None
    """The result to whose rows the kernel adds."""

    def levels(self) -> None:
        for node in self.group.members:
            kind = self.group.domain.rank[node]
            behind = [self.level[o] for o in map(origin, node.inputs) if o in self.members]
            deepest = max(behind, default=0)
            folds = isinstance(node.op.emit, Reduction) and kind == ROW
            self.level[node] = deepest + 1 if folds else deepest

    def loop_sinks(self, level: int) -> list[Node]:
        """Full values that the loop of this level has to produce: stored, reduced, accumulated or kept."""
        sinks: dict[Node, None] = {}
        for node in self.group.members:
            if self.kind(node) == FULL and self.level[node] == level and (node in self.outputs or node in self.kept):
                sinks[node] = None
            if self.folds(node) and node not in self.dots:
                source = origin(node.inputs[0])
                if source in self.members and self.kind(source) == FULL and self.level[source] == level:
                    sinks[source] = None
        return list(sinks)

    def loop_reductions(self, level: int) -> list[Node]:
        """Reductions folded in the loop of this level."""
        result = []
        for node in self.group.members:
            if self.folds(node) and node not in self.dots and not self.flat:
                source = origin(node.inputs[0])
                if source in self.members:
                    if self.kind(source) == FULL and self.level[source] == level:
                        result.append(node)
                elif level == 0 and self.outside_kind(node) == FULL:
                    result.append(node)
        return result

    def folds(self, node: Node) -> bool:
        """Whether the loop over a row takes its elements up, in a sum or in rows of a result."""
        return isinstance(node.op.emit, Reduction) or node is self.spread

    def outside_kind(self, node: Node) -> str:
        """The kind of a reduction's operand that lies in memory."""
        if self.flat:
            return ROW
        kind = self.kind(node)
        if kind in (ROW, COL):
            return FULL
        size = count(node.inputs[0].type.shape)
        return FULL if size == self.group.domain.rows * self.group.domain.columns else ROW  # type: ignore[operator]

    def kind(self, node: Node) -> str:
        return self.group.domain.rank[node]

    def choose_scratch(self) -> None:
        """Full values that later levels use, are not stored, and are dear to compute again."""
        if self.flat:
            return
        price: dict[Node, int] = {}
        for node in self.group.members:
            if self.kind(node) == FULL:
                behind = [price.get(o, 0) for o in map(origin, node.inputs) if self.unstored(o)]
                price[node] = cost(node) + sum(behind)
        for node in self.group.members:
            for source in map(origin, node.inputs):
                if source in self.kept or not self.unstored(source) or self.kind(node) != FULL:
                    continue
                if self.level[node] > self.level[source] and price[source] > RECOMPUTE:
                    self.kept[source] = len(self.kept)
        for source in self.kept:
            length = self.kept_rows * real_extent(self.group.domain, "columns")
            ref = BufferRef("scratch", source, 0, source.type.dtype, length)
            self.scratch[source] = self.buffer(ref, "kept")

    def unstored(self, node: Node) -> bool:
        """A full value of this kernel that no memory holds."""
        return node in self.members and self.kind(node) == FULL and node not in self.outputs
