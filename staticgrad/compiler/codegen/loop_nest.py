"""Assigns values to the loops of a kernel, and decides which values are kept for later loops and which a routine computes.

The level of a value is the number of reductions over columns that precede it. A full value that a later level needs is
read back from memory where it is stored, kept in row scratch, or recomputed where that is cheap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...ir import Node, Pointwise, Reduction
from ..fusion.broadcast_rank import COL, FULL, ROW, SPREAD, origin
from ..fusion.fuse import Group
from ..fusion.iteration_domain import split_strides
from ..fusion.layout import Layouts, count, row_terms
from ..fusion.node_facts import inlined

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


# matrix-vector products inside a kernel: reductions that the routines of `row_products.py` compute -------------------

# A sum along the rows of x * w, where w has one value per column, is x times a vector; a sum over the rows of x * g, where g
# has one value per row, is the transposed product, accumulated.


@dataclass(frozen=True)
class Dot:
    """`total` sums `product`, of a matrix in memory (row after row, `stride` elements apart) and a vector."""

    total: Node
    product: Node
    matrix: Node
    vector: Node
    stride: int


def find_matrix_vector_forms(group: Group, layouts: Layouts) -> dict[Node, Dot]:
    """The sums of the group that are products of a matrix with a vector, by node."""
    found = (_dot(node, group, layouts) for node in group.members)
    return {dot.total: dot for dot in found if dot is not None}


def _dot(node: Node, group: Group, layouts: Layouts) -> Dot | None:
    domain = group.domain
    if not (isinstance(node.op.emit, Reduction) and node.op.emit.monoid == "add" and node.type.dtype.kind == "f"):
        return None
    product, rank = origin(node.inputs[0]), domain.rank[node]
    if rank not in (ROW, COL) or product is not node.inputs[0] or not _only_for(product, node, group):
        return None
    for matrix, vector in (product.inputs, product.inputs[::-1]):
        stride = _matrix_stride(matrix, product, group, layouts)
        if stride and _fits(vector, rank, product, group, layouts):
            return Dot(node, product, matrix, vector, stride)
    return None


def _only_for(product: Node, total: Node, group: Group) -> bool:
    """Whether it is a product of this kernel that only the sum needs."""
    emit = product.op.emit
    if product not in group.members or product in group.outputs or group.domain.rank[product] != FULL:
        return False
    users = [n for n in group.members if product in map(origin, n.inputs)]
    return isinstance(emit, Pointwise) and emit.bilinear and users == [total]


def _in_memory(node: Node, group: Group) -> bool:
    source = origin(node)
    return source not in group.members and not inlined(source) and source.op.leaf != "generator"


def _walk(seen: Node, product: Node, group: Group, layouts: Layouts) -> Iterator[int]:
    """(row stride, column stride) of an operand in memory; empty where its rows aren't one stride apart."""
    found = split_strides(seen, product.type.shape, FULL, group.domain, layouts)
    if found is None:
        return
    terms = row_terms(found[0], found[1])
    if len(terms) <= 1 and all(divisor == 1 and modulus == 0 for divisor, modulus, _ in terms):
        yield terms[0][2] if terms else 0
        yield found[2]


def _matrix_stride(seen: Node, product: Node, group: Group, layouts: Layouts) -> int:
    """Elements from row to row; 0 unless it is a matrix with contiguous rows."""
    if not _in_memory(seen, group) or seen.type.dtype != product.type.dtype:
        return 0
    row, column = (*_walk(seen, product, group, layouts), 0, 0)[:2]
    return row if column == 1 else 0


def _fits(seen: Node, rank: str, product: Node, group: Group, layouts: Layouts) -> bool:
    """Whether it is a vector along the axis over which the sum runs."""
    if seen.type.dtype != product.type.dtype:
        return False
    source = origin(seen)
    if source in group.members:
        return rank == COL and group.domain.rank[source] == ROW
    if not _in_memory(seen, group):
        return False
    return [*_walk(seen, product, group, layouts)] == ([0, 1] if rank == ROW else [1, 0])
