"""Rows of a table that kernels read where they lie, by their numbers.

Row i of a lookup is row `index[i]` of the table. A kernel that uses it loads the number once a row and reads the table's
row in place; the rows are not stored one behind the other first. Table and numbers lie in memory, the numbers checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable

from ...ir import Lookup, Node
from .broadcast_rank import FULL, ROW, FusionFailure, IterationDomain, fused_as, origin
from .layout import Layouts, count, merged

MOST_USERS = 2
"""Beyond, other kernels would read it where the first one stored it, and gain nothing."""
LEAST = 16
"""Elements of a row from which on a loop over them pays: a vector of float32. Single numbers need none."""


def gather_of(node: Node) -> Lookup | None:
    return fused_as(node, Lookup)


def choose_gathers(
    nodes: Iterable[Node], users: dict[Node, list[Node]], stored: set[Node], fusible: Callable[[Node], bool]
) -> set[Node]:
    """The values that kernels are to read in place: only kernels read them, and few."""
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
    """The first axis of the columns; 0 where all elements are rows."""
    return node.inputs[lookup.index].type.ndim if node.inputs[lookup.table].type.ndim > 1 else 0


def assign_gather(node: Node, lookup: Lookup, domain: IterationDomain, inside: Container[Node], layouts: Layouts) -> None:
    """Its kind, by its size. Raises Misfit when the kernel can't read its operands."""
    if any(origin(operand) in inside for operand in node.inputs):
        raise FusionFailure("it reads rows by their numbers, and both lie in memory only")
    size = count(node.type.shape)
    if domain.columns is not None and size == domain.rows * domain.columns:
        domain.rank[node] = FULL
    elif size == domain.rows:
        domain.rank[node] = ROW
    else:
        raise FusionFailure(f"its shape {node.type.shape} is not of the space {domain}")
    table_strides(node, lookup, domain, layouts)


def table_strides(node: Node, lookup: Lookup, domain: IterationDomain, layouts: Layouts) -> tuple[int, int]:
    """(row stride, column stride) of the table. Raises Misfit."""
    at, k = layouts.at[node.inputs[lookup.table]], node.inputs[lookup.index].type.ndim
    rows, columns = count(node.type.shape[:k]), count(node.type.shape[k:])
    if (rows, columns) != (domain.rows, (domain.columns or 1) if domain.rank[node] == FULL else 1):
        raise FusionFailure(f"its rows and columns are not {domain}")
    column = merged(at.shape[1:], at.strides[1:])
    if column is None:
        raise FusionFailure(f"a table of shape {at.shape} can't be walked along rows and columns")
    return at.strides[0], column
