"""Facts about single nodes on which fusion decides: their layout in memory, their rank in a kernel, the operands they read by
index.

A kernel is loops over rows and columns. For each node that may become a part of one, fusion has to know how its value lies in
memory (*layout*: is it a view, with which strides?), how it varies over the loops (*broadcast rank*: one value per element, per
row, per column, or one at all), and whether it reads other places than its own (*indexed members*: gathers, scatters, padded
windows). Each fact is computed once per graph and kept in a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...ir import (
    REGISTRY,
    Adjacency,
    Call,
    Extent,
    Graph,
    Index,
    Layout,
    Lookup,
    Native,
    Node,
    Order,
    Pointwise,
    Reduction,
    Scatter,
    View,
    Window,
    collapse,
)

# layouts: which nodes are views of which buffers, and the strides by which a kernel walks a view ----------------------

# Transposed operands are copied before elementwise kernels that write another order of memory than they read. Such a
# kernel would read one element of each line of memory, and read each line again for its next element. The copy goes by
# tiles (`kernels/strided_moves.py`). Where all operands of a value lie in one order, and it is reduced or left in that
# order, kernels walk that order and nothing is copied.

ZERO = 2**61 - 1
"""Stands for an extent of 0 when domains are compared. It is a prime, so products stay distinguishable, and larger than any
number of elements that a kernel can walk."""


def extent(d: int) -> int:
    return d if d else ZERO


def count(shape: Sequence[int]) -> int:
    return math.prod(map(extent, shape)) if 0 in shape else math.prod(shape)


def real(n: int) -> int:
    """The true value of a product of such extents."""
    return n if n % ZERO else 0


class Layouts:
    """For each node, the base that owns its memory and its layout there.

    A view that strides can't describe (a reshape of a transposed matrix) is a base of its own, which the plan copies
    (`copies`). A result of native code is in the order of axes in which it is read, where the code can write that order. So is
    an elementwise value whose operands have that order, too.
    """

    def __init__(self, graph: Graph, results: Iterable[Node] | None = None):
        """results: the values that are needed in row-major order; None where all may be."""
        self.base: dict[Node, Node] = {}
        self.at: dict[Node, Layout] = {}
        self.copies: dict[Node, tuple[Node, Layout]] = {}
        """For each copied view, the base and the layout of the elements that are copied."""
        self.origin: dict[Node, Node] = {}
        """For each node, the node whose elements it has in the same order: see `broadcast_rank.origin`."""
        self.facts: dict[Node, Any] = {}
        """See `node_facts.facts_of`."""
        self.orders: dict[Node, tuple[int, ...] | None] = {}
        """Of elementwise values, the order of axes in which all their operands lie in memory; () for any, None for row-major or
        several."""
        self.part: dict[Node, Node] = {}
        """For each value that is computed inside another one's memory (its base), and for views of it: that value."""
        wanted, either = (set(), set()) if results is None else _read_in_order(graph, results)
        needed = set(graph.nodes if results is None else results)
        for node in graph.nodes:
            emit = node.op.emit
            self.origin[node] = node
            if isinstance(emit, View):
                if emit.keeps_order and not isinstance(node.inputs[0].op.emit, Index):
                    self.origin[node] = self.origin[node.inputs[0]]
                layout = emit.rule(node, self.at[node.inputs[0]])
                if layout is not None:
                    self.base[node], self.at[node] = self.base[node.inputs[0]], layout
                    continue
                self.copies[node] = self.base[node.inputs[0]], self.at[node.inputs[0]]
            self.base[node], self.at[node] = node, Layout.contiguous(node.type.shape)
            order = order_of(node) if node in wanted or (node in either and self._reads_order(node)) else None
            if order is not None and order.fits(node, [self.at[i] for i in node.inputs]):
                self.at[node] = Layout.ordered(node.type.shape, order.axes)
            elif isinstance(emit, Pointwise):
                axes = self.orders[node] = self._order(node)
                if axes and node not in needed:
                    at = Layout.ordered(node.type.shape, axes)
                    users = graph.succ[node]
                    if users and all(_reads_rows(user, at) for user in users):
                        self.at[node] = at

    def _reads_order(self, node: Node) -> bool:
        """Whether its first operand lies in the other order, so that the result is best left in it."""
        order, at = order_of(node), self.at[node.inputs[0]]
        return order is not None and order.axes == order.reads and at.has_order(order.reads) and not at.is_contiguous

    def order(self, seen: Node) -> tuple[int, ...] | None:
        """The order of axes in which an operand lies in memory, or in which it is computed; see `orders`."""
        return self.orders[seen] if seen in self.orders else _axes(self.at[seen])

    def _order(self, node: Node) -> tuple[int, ...] | None:
        found: tuple[int, ...] = ()
        for seen in node.inputs:
            if seen.type.shape != node.type.shape or isinstance(seen.op.emit, Index):
                continue  # broadcast, or not in memory
            axes = self.order(seen)
            if axes is None or (found and axes and axes != found):
                return None
            found = axes if axes else found
        return found

    def calls(self, node: Node) -> Sequence[Call] | None:
        """The calls that compute a node natively; None where the host computes it."""
        emit = node.op.emit
        if not isinstance(emit, Native):
            return None
        operands = [self.at[i] for i in node.inputs]
        return emit.plan(node, operands) if emit.order is None else emit.plan(node, operands, self.at[node])

    def source(self, node: Node) -> Node:
        """The value whose computation writes the memory that a node reads: its base, or a part of the base."""
        return self.part.get(node, self.base[node])

    def copy(self, view: Node) -> None:
        """Give a view memory of its own, in row-major order."""
        self.copies[view] = self.base[view], self.at[view]
        self.base[view], self.at[view] = view, Layout.contiguous(view.type.shape)


def _read_in_order(graph: Graph, results: Iterable[Node]) -> tuple[set[Node], set[Node]]:
    """The values of native code that are read in its other order: by views that are row-major then, or by native code whose
    own result is such a value. Other native code that can read that order doesn't mind; then the values that nobody minds."""
    needed, found, either = set(results), set[Node](), set[Node]()
    for node in reversed(graph.nodes):
        order = order_of(node)
        if order is None or node in needed:
            continue
        at, votes = Layout.ordered(node.type.shape, order.axes), set[bool | None]()
        for user in graph.succ[node]:
            if isinstance(user.op.emit, View):
                votes.add(_reads_rows(user, at))
            elif any(i is node and p not in user.op.shape_only for p, i in enumerate(user.inputs)):
                other = order_of(user)
                if other is None or other.reads != order.axes:
                    votes.add(False)
                else:
                    votes.add(True if user in found and other.axes == order.axes else None)
        if True in votes and False not in votes:
            found.add(node)
        elif votes == {None}:
            either.add(node)
    return found, either


def _reads_rows(user: Node, at: Layout) -> bool:
    """Whether it is a view that is row-major where its operand has this layout."""
    seen = user.op.emit.rule(user, at) if isinstance(user.op.emit, View) else None
    return seen is not None and seen.is_contiguous


def _axes(at: Layout) -> tuple[int, ...] | None:
    """The order of axes in which the elements lie one after another; None for row-major order and for gaps, () where elements
    are repeated."""
    if at.is_contiguous:
        return None
    if at.repeats:
        return ()
    axes = tuple(sorted(range(len(at.shape)), key=at.strides.__getitem__, reverse=True))
    return axes if at.has_order(axes) else None


def order_of(node: Node) -> Order | None:
    """The other order of axes in which its native code can write."""
    return node.op.emit.order if isinstance(node.op.emit, Native) else None


def broadcast_strides(layout: Layout, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Strides over `shape`, 0 where the operand is repeated; None when it does not broadcast to it."""
    if layout.shape == shape:
        if 1 not in shape:
            return layout.strides
    elif len(layout.shape) > len(shape):
        return None
    lead = len(shape) - len(layout.shape)
    extents, strides = (1,) * lead + layout.shape, (0,) * lead + layout.strides
    result = []
    for own, whole, stride in zip(extents, shape, strides, strict=True):
        if own != whole and own != 1:
            return None
        result.append(0 if own == 1 and whole != 1 else stride)
    return tuple(result)


def merged(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """One stride that walks all these axes in row-major order, or None. Axes of extent 1 fit any stride."""
    found = _merged(shape, strides)
    return 1 if found is None and 0 in shape else found  # no element: any stride fits


def _merged(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    stride = step = None
    for d, s in zip(reversed(shape), reversed(strides), strict=True):
        if d == 1:
            continue
        if stride is None:
            stride, step = s, s * d
        elif s != step:
            return None
        else:
            step = s * d
    if stride is None:
        return strides[-1] if strides else 0
    return stride


def block_start(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The smallest k such that axes [k:] are walked by one stride."""
    k = len(shape)
    while k > 0 and merged(shape[k - 1 :], strides[k - 1 :]) is not None:
        k -= 1
    return k


def row_terms(shape: Sequence[int], strides: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    """The offset of row i over these axes, as (divisor, modulus, stride) terms: the sum of `(i // divisor % modulus) *
    stride`, without the remainder where modulus is 0. A single term with divisor 1 and modulus 0 is `i * stride`; no term
    means the same offset in every row."""
    one = merged(shape, strides)
    if one is not None:
        return ((1, 0, one),) if any(strides) else ()
    terms, divisor = [], 1
    extents, steps, _ = collapse(shape, strides, strides)
    for axis in reversed(range(len(extents))):
        if steps[axis] != 0:
            terms.append((divisor, extents[axis] if axis else 0, steps[axis]))
        divisor *= extents[axis]
    return tuple(terms)


def row_run(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """(number, stride): rows that begin at a multiple of this number are one stride apart, as far as the next multiple."""
    extents, steps, _ = collapse(shape, strides, strides)
    return extents[-1], steps[-1]


LARGE = 1 << 16
"""Elements of an operand from which its lines don't stay in the cache until their next element is read."""


def copy_transposed(graph: Graph, results: Iterable[Node], layouts: Layouts) -> list[tuple[Node, Node]]:
    """Have these operands copied. Returns them, each with the value that reads it."""
    needed, found = set(results), list[tuple[Node, Node]]()
    for node in graph.nodes:
        if not isinstance(node.op.emit, Pointwise) or not layouts.at[node].is_contiguous:
            continue
        if layouts.orders.get(node) is not None and not (layouts.orders[node] and node in needed):
            continue
        stack = [node]
        while stack:
            reader = stack.pop()
            for operand in reader.inputs:
                if isinstance(operand.op.emit, View) and _transposed(layouts.at[operand]):
                    layouts.copy(operand)
                    found.append((operand, reader))
                elif layouts.orders.get(operand) and layouts.at[operand].is_contiguous:
                    stack.append(operand)
            layouts.orders[reader] = None
    return found


def _transposed(at: Layout) -> bool:
    """Whether neighbors in memory are neighbors along another axis than the last, and no element is repeated."""
    steps = [s for d, s in zip(at.shape, at.strides, strict=True) if d != 1]
    return bool(steps) and steps[-1] != 1 and 1 in steps and 0 not in steps and count(at.shape) >= LARGE


# broadcast ranks: how values relate to the iteration domain of their kernel -------------------------------------------

Access = TypeVar("Access")

FULL, ROW, COL, SCALAR = "full", "row", "col", "scalar"
SPREAD = "spread"
"""Rows that are scatter-added to rows of a result, which indices name."""


@dataclass
class IterationDomain:
    """The loops of a kernel and the broadcast rank of each value. `columns` is None for a flat group."""

    rows: int
    columns: int | None
    rank: dict[Node, str]
    post: set[Node]
    """Accumulated values, and scalars computed from them: they exist only after the last row."""

    def __str__(self) -> str:
        return f"{real(self.rows)} x {None if self.columns is None else real(self.columns)}"


class FusionFailure(Exception):
    """Why nodes don't share an iteration domain."""


def fused_as(node: Node, kind: type[Access]) -> Access | None:
    """How kernels can compute the result of a routine from its operands, as the op's record says: an access of this kind, or
    None where they can't."""
    emit = node.op.emit
    found = emit.fused(node) if isinstance(emit, Native) and emit.fused is not None else None
    return found if isinstance(found, kind) else None


def origin(node: Node) -> Node:
    """The node whose elements these are, beyond views that keep the order. Positions are not looked up beyond a view, because
    they belong to one shape."""
    while isinstance(node.op.emit, View) and node.op.emit.keeps_order and not isinstance(node.inputs[0].op.emit, Index):
        node = node.inputs[0]
    return node


# Running sums inside a kernel: a loop over the columns of a row carries the total.
#
# Such a loop is not vectorized. It leaves the results of a row in scratch memory, and vectorized loops read them there.

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


# members of kernels that are not elementwise: rows by their indices, windows on padded values -------------------------

# *Gathers*: row i of a lookup is row `index[i]` of the table. A kernel that uses it loads the index once per row and
# reads the table's row where it is, so the gathered rows are never stored. Table and indices are in memory, and the
# indices have been checked.
#
# *Scatters*: row i of a computed value is added to row `index[i]` of a result that starts as zeros, as cotangents of
# lookups are; the value itself is not stored. Threads share the rows of the result: each clears its own, scans all
# indices, and computes the rows that belong to it, in their order. So the result does not depend on the number of
# threads. This takes a kernel that computes row by row. Where a kernel reduces rows on the way (layer norm), it works
# on tiles of rows and can't leave one out; then the rows are stored, and a routine adds them.
#
# *Padded values*, gradients of slices and concatenations: such a value is a window on its operands. Along one axis, it
# has the elements of an operand from some offset on, and zeros elsewhere. A kernel that uses it reads the operand at
# the shifted position, under a condition, and the value itself is never stored. Its operands are in memory, because a
# kernel doesn't have the elements of other rows or columns.

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


# facts that are looked up by node -------------------------------------------------------------------------------------

CHOICES = (choose_paddings, choose_gathers, choose_scatters, choose_scans)
"""Per kind of fusion, `(nodes, users, results, fusible) -> nodes`: the routines whose results kernels compute instead."""


def native_form(node: Node) -> Any:
    """How a node runs natively, also where it runs on the host."""
    return node.op.emit if node.op.emit is not None else getattr(REGISTRY.get(node.op.name), "emit", None)


def fusible(node: Node) -> bool:
    emit = node.op.emit
    if emit.__class__ is Pointwise:
        return node.type.static
    return emit.__class__ is Reduction


def uniform(node: Node) -> bool:
    """Whether it is one number computed from constants and extents. Such a number is recomputed wherever it is needed."""
    known = node.uniform
    if known is None:
        known = _uniform(node)
        object.__setattr__(node, "uniform", known)
    return known


def _uniform(node: Node) -> bool:
    for d in node.type.shape:
        if d != 1:
            return False
    if node.op.emit.__class__ is Extent or node.op.leaf == "constant":
        return True
    return node.op.emit.__class__ is Pointwise and fusible(node) and all(uniform(origin(i)) for i in node.inputs)


def inlined(node: Node) -> bool:
    """Whether it has no storage: positions, extents, numbers, operands that are read only for their shape."""
    known = node.uniform
    if known or (known is None and uniform(node)):
        return True
    kind = node.op.emit.__class__
    return kind is Index or kind is Extent or node.op.leaf == "shape"


class Facts:
    """Facts about a node that don't depend on its group, computed once per graph."""

    __slots__ = (
        "accesses", "lookup", "members", "operands", "partial", "plain", "reduction", "runs", "scan", "scatter", "shape",
        "size", "sources", "walked", "window",
    )  # fmt: skip

    def __init__(self, node: Node, origins: Mapping[Node, Node]):
        emit = node.op.emit
        self.reduction = reduction = emit.__class__ is Reduction
        self.operands = [(i, origins[i]) for i in node.inputs]
        self.sources = list({source: None for _, source in self.operands})
        self.window = self.lookup = self.scatter = self.scan = None
        if fused_as(node, object) is not None:
            self.window, self.lookup, self.scatter, self.scan = (
                padding_of(node), gather_of(node), scatter_of(node), scan_of(node)
            )  # fmt: skip
        self.plain = self.window is None and self.lookup is None and self.scatter is None and self.scan is None
        self.shape = node.inputs[0].type.shape if reduction else node.type.shape
        """The shape over which the node iterates: that of its operand for a reduction."""
        self.size = count(self.shape)
        self.partial: tuple[int, int] | None = None
        """Rows and columns of the only iteration domain in which the node can be computed; None where there are several."""
        if reduction:
            axis, n = node.attrs["axis"], len(self.shape)
            if len(axis) < n:
                k = n - len(axis) if axis[-1] == n - 1 else len(axis)
                self.partial = count(self.shape[:k]), count(self.shape[k:])
        if self.scan is not None:
            self.partial = count(self.shape[:-1]), self.shape[-1]
        if self.scatter is not None:
            self.partial = spread_domain(node, self.scatter)
        self.walked = [
            (seen, source, 0 if seen.type.shape == self.shape else mask_block(seen.type.shape, self.shape))
            for seen, source in self.operands[node.op.draws :]
            if count(seen.type.shape) != 1 and seen.op.emit.__class__ is not Index
        ]
        """Per operand: the operand as the node reads it, its origin, and the first axis of the suffix of axes of which it has
        either all or none."""
        self.members = [(seen, source) for seen, source in self.operands[node.op.draws :] if not inlined(source)]
        """Operands that are in memory or values of the group, but for the state of a generator."""
        self.runs: dict[Node, tuple[Layout, int | None]] = {}
        """Per operand, its layout and the first axis of the suffix of axes that one stride walks in this layout."""
        self.accesses: dict[tuple[Node, str, int, int | None], Layout] = {}
        """Accesses that have been checked: per operand in memory, rank, rows and columns, the layout for which the check
        held."""


def facts_of(node: Node, layouts: Layouts) -> Facts:
    found: Facts | None = layouts.facts.get(node)
    if found is None:
        found = layouts.facts[node] = Facts(node, layouts.origin)
    return found


def mask_block(t: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The first axis of the suffix of axes of which the operand has either all or none.

    An axis that the operand lacks is absent even where its extent is 1, so a batch of one uses the kernel of any batch.
    """
    if t == shape or (count(t) == count(shape) and len(t) >= len(shape)):
        return 0
    lead = len(shape) - len(t)
    present = [i >= lead and t[i - lead] == d for i, d in enumerate(shape)]
    k = len(shape)
    last = present[-1] if present else True
    while k > 0 and present[k - 1] == last:
        k -= 1
    return k
