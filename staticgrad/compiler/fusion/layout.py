"""Layouts: which nodes are views of which buffers, and the strides by which a kernel walks a view.

Transposed operands are copied before elementwise kernels that write another order of memory than they read. Such a kernel
would read one element of each line of memory, and read each line again for its next element. The copy goes by tiles
(`kernels/strided_moves.py`). Where all operands of a value lie in one order, and it is reduced or left in that order, kernels
walk that order and nothing is copied.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ...ir import Call, Graph, Index, Layout, Native, Node, Order, Pointwise, View, collapse

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
