"""Members of kernels that are not elementwise: rows by their indices, windows on padded values.

*Gathers*: row i of a lookup is row `index[i]` of the table. A kernel that uses it loads the index once per row and reads the
table's row where it is, so the gathered rows are never stored. Table and indices are in memory, and the indices have been
checked.

*Scatters*: row i of a computed value is added to row `index[i]` of a result that starts as zeros, as cotangents of lookups are;
the value itself is not stored. Threads share the rows of the result: each clears its own, scans all indices, and computes the
rows that belong to it, in their order. So the result does not depend on the number of threads. This takes a kernel that
computes row by row. Where a kernel reduces rows on the way (layer norm), it works on tiles of rows and can't leave one out;
then the rows are stored, and a routine adds them.

*Padded values*, gradients of slices and concatenations: such a value is a window on its operands. Along one axis, it has the
elements of an operand from some offset on, and zeros elsewhere. A kernel that uses it reads the operand at the shifted
position, under a condition, and the value itself is never stored. Its operands are in memory, because a kernel doesn't have
the elements of other rows or columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Iterable, Sequence

from ...ir import Adjacency, Lookup, Node, Pointwise, Reduction, Scatter, Window
from .broadcast_rank import COL, FULL, ROW, SPREAD, FusionFailure, IterationDomain, fused_as, origin
from .layout import Layouts, count, merged

MOST_USERS = 2
"""With more users, it is cheaper to gather the rows once and store them."""
LEAST = 16
"""The least elements of a row for which a loop pays: a vector of float32. Rows of one number need no loop."""


def gather_of(node: Node) -> Lookup | None:
    return fused_as(node, Lookup)


def choose_gathers(nodes: Iterable[Node], users: Adjacency, stored: set[Node], fusible: Callable[[Node], bool]) -> set[Node]:
    """The lookups that kernels read in place: only kernels and scatters read them, and only a few."""
    chosen = set()
    for node in nodes:
        lookup = gather_of(node)
        if lookup is None or node in stored or not node.inputs[lookup.index].type.shape:
            continue
        table = node.inputs[lookup.table].type
        if table.ndim > 1 and math.prod(table.shape[1:]) < LEAST:
            continue
        if 0 < len(users[node]) <= MOST_USERS and all(fusible(user) or scatter_of(user) is not None for user in users[node]):
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


LEAST_SCATTERED = 32
"""The least elements of a row for which the branch that skips other threads' rows is negligible."""
DEAREST = 32
"""The highest cost of an element for which fusion pays: tanh and its gradient. Threads can't share the work where all indices
are equal; up to this cost they lose less by that than fusion gains."""


def scatter_of(node: Node) -> Scatter | None:
    return fused_as(node, Scatter)


def choose_scatters(nodes: Iterable[Node], users: Adjacency, stored: set[Node], fusible: Callable[[Node], bool]) -> set[Node]:
    """The scatters whose rows a kernel computes or looks up."""
    chosen = set()
    for node in nodes:
        scatter = scatter_of(node)
        if scatter is None or not node.type.static:
            continue
        values, k = node.inputs[scatter.values], node.inputs[scatter.index].type.ndim
        rows = origin(values)
        computed = (fusible(rows) and not isinstance(rows.op.emit, Reduction)) or gather_of(rows) is not None
        if computed and k and math.prod(values.type.shape[k:]) >= LEAST_SCATTERED:
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


MOST_PARTS, MOST_WINDOW_USERS = 4, 2
"""Beyond these, reading in place costs more than storing."""


def padding_of(node: Node) -> Window | None:
    return fused_as(node, Window)


def choose_paddings(nodes: Iterable[Node], users: Adjacency, stored: set[Node], fusible: Callable[[Node], bool]) -> set[Node]:
    """The windows that kernels read in place: only kernels read them, and only a few."""
    chosen = set()
    for node in nodes:
        window = padding_of(node)
        if window is None or node in stored or window.axis not in (0, node.type.ndim - 1):
            continue
        if len(window.parts) <= MOST_PARTS and 0 < len(users[node]) <= MOST_WINDOW_USERS and all(map(fusible, users[node])):
            chosen.add(node)
    return chosen


def block_of(window: Window, ndim: int) -> int:
    """The first axis of the columns: the axis after a window over rows, or the axis of a window over columns."""
    return 0 if ndim < 2 else window.axis if window.axis else 1


def assign_padding(node: Node, window: Window, domain: IterationDomain, inside: Container[Node], layouts: Layouts) -> None:
    """Gives the window its rank, by its size. Raises FusionFailure where the kernel can't read its operands."""
    if any(origin(node.inputs[number]) in inside for number, _, _ in window.parts):
        raise FusionFailure("it reads elements of other rows or columns, which are read from memory only")
    shape = node.type.shape
    size, columns = count(shape), domain.columns
    ranks = [(ROW, domain.rows)] if columns is None else [(FULL, domain.rows * columns), (ROW, domain.rows), (COL, columns)]
    rank = next((rank for rank, n in ranks if n == size), "")
    if not rank:
        raise FusionFailure(f"its shape {shape} does not fit the domain {domain}")
    domain.rank[node] = rank
    for number, _, _ in window.parts:
        strides_of(node, window, number, rank, domain, layouts)


def strides_of(
    node: Node, window: Window, number: int, rank: str, domain: IterationDomain, layouts: Layouts
) -> tuple[int, int, bool]:
    """(row stride, column stride, whether the window is over columns) of an operand. Raises FusionFailure."""
    shape, operand = node.type.shape, node.inputs[number]
    at = layouts.at[operand]
    if len(at.shape) != len(shape):
        raise FusionFailure("an operand has other axes")
    if rank != FULL:
        if len(shape) != 1:
            raise FusionFailure(f"a window of shape {shape} has no rows and columns here")
        return (at.strides[0], 0, False) if rank == ROW else (0, at.strides[0], True)
    k = block_of(window, len(shape))
    if (count(shape[:k]), count(shape[k:])) != (domain.rows, domain.columns):
        raise FusionFailure(f"its rows and columns are not {domain}")
    rows, columns = merged(at.shape[:k], at.strides[:k]), merged(at.shape[k:], at.strides[k:])
    if rows is None or columns is None:
        raise FusionFailure(f"an operand of shape {at.shape} can't be walked along rows and columns")
    return rows, columns, window.axis == k
