"""Gather fusion: kernels read rows of a table in place, by their indices.

Row i of a lookup is row `index[i]` of the table. A kernel that uses it loads the index once per row and reads the table's row
where it is, so the gathered rows are never stored. Table and indices are in memory, and the indices have been checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable

from ...ir import Adjacency, Lookup, Node
from .broadcast_rank import FULL, ROW, FusionFailure, IterationDomain, fused_as, origin
from .layout import Layouts, count, merged

MOST_USERS = 2
"""With more users, it is cheaper to gather the rows once and store them."""
LEAST = 16
"""The least elements of a row for which a loop pays: a vector of float32. Rows of one number need no loop."""


def gather_of(node: Node) -> Lookup | None:
    return fused_as(node, Lookup)


def choose_gathers(nodes: Iterable[Node], users: Adjacency, stored: set[Node], fusible: Callable[[Node], bool]) -> set[Node]:
    """The lookups that kernels read in place: only kernels read them, and only a few."""
    chosen = set()
    for node in nodes:
        lookup = gather_of(node)
        if lookup is None or node in stored or not node.inputs[lookup.index].type.shape:
            continue
        table = node.inputs[lookup.table].type
        if table.ndim > 1 and math.prod(table.shape[1:]) < LEAST:
            continue
        if 0 < len(users[node]) <= MOST_USERS and all(map(fusible, users[node])):
            chosen.add(node)
    return chosen


def rows_begin(node: Node, lookup: Lookup) -> int:
    """The first axis of the columns; 0 where every element is a row."""
    return node.inputs[lookup.index].type.ndim if node.inputs[lookup.table].type.ndim > 1 else 0


def assign_gather(node: Node, lookup: Lookup, domain: IterationDomain, inside: Container[Node], layouts: Layouts) -> None:
    """Gives the lookup its rank, by its size. Raises FusionFailure where the kernel can't read its operands."""
    if any(origin(operand) in inside for operand in node.inputs):
        raise FusionFailure("it reads rows by their indices, and both are read from memory only")
    size = count(node.type.shape)
    if domain.columns is not None and size == domain.rows * domain.columns:
        domain.rank[node] = FULL
    elif size == domain.rows:
        domain.rank[node] = ROW
    else:
        raise FusionFailure(f"its shape {node.type.shape} does not fit the domain {domain}")
    table_strides(node, lookup, domain, layouts)


def table_strides(node: Node, lookup: Lookup, domain: IterationDomain, layouts: Layouts) -> tuple[int, int]:
    """(row stride, column stride) of the table. Raises FusionFailure."""
    at, k = layouts.at[node.inputs[lookup.table]], node.inputs[lookup.index].type.ndim
    rows, columns = count(node.type.shape[:k]), count(node.type.shape[k:])
    if (rows, columns) != (domain.rows, (domain.columns or 1) if domain.rank[node] == FULL else 1):
        raise FusionFailure(f"its rows and columns are not {domain}")
    column = merged(at.shape[1:], at.strides[1:])
    if column is None:
        raise FusionFailure(f"a table of shape {at.shape} can't be walked along rows and columns")
    return at.strides[0], column
