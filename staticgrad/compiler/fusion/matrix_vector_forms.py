"""Matrix-vector products inside a kernel: reductions that the routines of `row_products.py` compute.

A sum along the rows of x * w, where w has one value per column, is x times a vector; a sum over the rows of x * g,
where g has one value per row, is the transposed product, accumulated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...ir import Node, Pointwise, Reduction
from .broadcast_rank import COL, FULL, ROW, origin
from .fuse import Group
from .iteration_domain import split_strides
from .layout import Layouts, row_terms
from .node_facts import inlined


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
