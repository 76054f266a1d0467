"""Fusion: convex groups of nodes over one iteration space, rows x columns.

A group becomes one kernel. Its values are *full* (one per row and column), *row* (one per row), *col* (one per
column) or *scalar*. A reduction over the columns turns full into row; a reduction over the rows accumulates into col,
one over everything into scalar, and such accumulated values exist only when the last row is done: only scalar
arithmetic may follow them inside the group. A group without columns is *flat*: all its values are row values or
scalars.

Merging stays legal as long as it makes no cycle between groups: with a -> x -> b, fusing a and b without x would need
x's result in the middle of the kernel that x waits for (convexity).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..ir import Graph, Node, Pointwise, Reduction, View
from .layout import Layouts, count, real
from .lookups import choose_lookups, lookup_of
from .scatters import choose_scatters, scatter_of, why_apart
from .space import COL, FULL, ROW, SCALAR, Misfit, Space, classify, fusible, inlined, origin
from .table import MAX_BUFFERS
from .windows import choose_windows

MAX_MEMBERS, MAX_OPERANDS = 96, 36  # beyond these, compile time grows faster than a kernel gains

CHEAP = 2  # cost up to which a value is computed in each kernel that reads it


@dataclass(frozen=True, slots=True)
class Decision:
    """A yes or no of the fuser, with its reason."""

    producer: Node
    consumer: Node
    fused: bool
    reason: str

    def __str__(self) -> str:
        verb = "fused with" if self.fused else "not fused with"
        return f"{self.producer.op.name} {verb} {self.consumer.op.name}: {self.reason}"


@dataclass(eq=False, slots=True)
class Group:
    """Nodes that one kernel computes."""

    members: list[Node]
    space: Space
    outputs: list[Node] = field(default_factory=list)
    """Members whose value is stored."""


def is_scalar_work(node: Node) -> bool:
    return not isinstance(node.op.emit, Reduction) and not node.type.shape


class Fuser:
    """Builds the groups of one graph."""

    def __init__(self, graph: Graph, results: Iterable[Node], layouts: Layouts):
        self.graph = graph
        self.results = set(results)
        self.layouts = layouts
        self.position = {node: i for i, node in enumerate(graph.nodes)}
        self.users = graph.users()
        self.group_of: dict[Node, Group] = {}
        self.merged: set[Group] = set()
        self.decisions: list[Decision] = []

    def run(self) -> list[Group]:
        for node in self.graph.nodes:
            if isinstance(node.op.emit, Reduction):
                self._walkable(node)
        rules = (choose_windows, choose_lookups, choose_scatters)
        chosen = {n for choose in rules for n in choose(self.graph.nodes, self.users, self.results, fusible)}
        in_place = set(filter(self._readable, chosen))
        for node in self.graph.nodes:
            if node in in_place or (fusible(node) and not inlined(node)):
                self._place(node)
        self._join_readers()
        self._part_scatters()
        groups = sorted(set(self.group_of.values()), key=lambda g: self.position[g.members[0]])
        for group in groups:
            group.outputs = [n for n in group.members if n in self.results or self._leaves(n, group)]
        for group in groups:
            for node in list(group.outputs):
                self._recompute(node, group)
        return [g for g in groups if not all(map(lookup_of, g.members))]  # rows that no kernel reads are gathered

    def _recompute(self, node: Node, group: Group) -> None:
        """Let the kernels that read a cheap value compute it themselves, where they have to read its operands
        anyway."""
        if (
            node in self.results
            or not node.type.shape
            or not isinstance(node.op.emit, Pointwise)
            or node.op.emit.cost > CHEAP
        ):
            return
        operands = [origin(i) for i in node.inputs]
        if any(o in group.members and o not in group.outputs for o in operands) or node in group.space.post:
            return
        readers = {user: self.group_of.get(user) for user in self.users[node]}
        others = {g for g in readers.values() if g is not group}
        if None in others:
            return
        grown = []
        for other in others:
            members = sorted({*other.members, node}, key=self.position.__getitem__)  # type: ignore[union-attr]
            try:
                space = classify(members, self.layouts)
                check_scalars(members, space)
                grown.append((other, members, space))
            except Misfit:
                return
        for other, members, space in grown:
            other.members, other.space = members, space  # type: ignore[union-attr]
        group.outputs.remove(node)
        if group not in readers.values():
            group.members.remove(node)
        reason = "cheap: computed again rather than stored"
        self.decisions.extend(Decision(node, user, True, reason) for user, g in readers.items() if g is not group)

    def _place(self, node: Node) -> None:
        """A group of its own, then merged with its producers' groups, the latest first."""
        group = Group([node], classify([node], self.layouts))
        self.group_of[node] = group
        producers = {origin(i) for i in node.inputs if origin(i) in self.group_of}
        for producer in sorted(producers, key=self.position.__getitem__, reverse=True):
            self._merge(producer, node)
        if is_scalar_work(node) and len(self.group_of[node].members) == 1:
            self._join_scalars(node)

    def _part_scatters(self) -> None:
        """Scatters that do better on their own, or have no kernel that computes what they add, are routines."""
        for node in list(self.group_of):
            scatter = scatter_of(node)
            if scatter is None:
                continue
            group, rows = self.group_of[node], origin(node.inputs[scatter.values])
            reason = self._why_apart(rows, group)
            if reason is None:
                continue
            self.decisions.append(Decision(rows, node, False, reason))
            del self.group_of[node]
            rest = [n for n in group.members if n is not node]
            if rest:
                group.members, group.space = rest, classify(rest, self.layouts)

    def _why_apart(self, rows: Node, group: Group) -> str | None:
        if rows not in group.members:
            return "another kernel computes them"
        if rows in self.results or self._leaves(rows, group):
            return "they are stored anyway"
        return why_apart(group.members, group.space)

    def _readable(self, node: Node) -> bool:
        """Whether a kernel can walk the operands of a window or lookup; otherwise its value is stored."""
        try:
            classify([node], self.layouts)
        except Misfit as reason:
            self.decisions.extend(Decision(node, user, False, str(reason)) for user in self.users[node])
            return False
        return True

    def _join_readers(self) -> None:
        """Kernels over one space that read the same operand, element by element, read it once."""
        readers: dict[Node, dict[Group, None]] = {}
        for node in self.graph.nodes:
            group = self.group_of.get(node)
            for seen in node.inputs:
                source = origin(seen)
                if group is not None and self.group_of.get(source) is not group and not inlined(source):
                    whole = count(seen.type.shape) == group.space.rows * (group.space.columns or 1)
                    if whole and seen.type.shape and self.layouts.at[seen].is_contiguous:
                        readers.setdefault(self.layouts.base[seen], {})[group] = None
        for groups in readers.values():
            first, *others = [group.members[-1] for group in groups]
            for other in others:
                a, b = self.group_of[first].space, self.group_of[other].space
                if (a.rows, a.columns) == (b.rows, b.columns):
                    self._merge(first, other)

    def _walkable(self, node: Node) -> None:
        """An operand that lies across its reduction (axes reduced in another order than memory's) is copied first."""
        operand = node.inputs[0]
        try:
            classify([node], self.layouts)
        except Misfit as reason:
            if not isinstance(operand.op.emit, View):
                raise
            self.layouts.copy(operand)
            self.decisions.append(Decision(operand, node, False, f"copied, because {reason}"))

    def _join_scalars(self, node: Node) -> None:
        """Scalar arithmetic gathers in one kernel, related or not."""
        for other in reversed(list(dict.fromkeys(self.group_of.values()))):
            if other is not self.group_of[node] and all(map(is_scalar_work, other.members)):
                self._merge(other.members[-1], node)
                if self.group_of[node] is self.group_of[other.members[-1]]:
                    return

    def _merge(self, producer: Node, consumer: Node) -> None:
        a, b = self.group_of[producer], self.group_of[consumer]
        if a is b:
            return
        try:
            group = self._union(a, b)
        except Misfit as reason:
            self.decisions.append(Decision(producer, consumer, False, str(reason)))
            return
        for node in group.members:
            self.group_of[node] = group
        self.merged -= {a, b}
        self.merged.add(group)
        self.decisions.append(Decision(producer, consumer, True, _describe(group.space)))

    def _union(self, a: Group, b: Group) -> Group:
        if len(a.members) + len(b.members) > MAX_MEMBERS:
            raise Misfit(f"more than {MAX_MEMBERS} operations in one kernel")
        members = sorted({*a.members, *b.members}, key=self.position.__getitem__)
        space = classify(members, self.layouts)
        check_scalars(members, space)
        operands = {origin(i) for n in members for i in n.inputs} - set(members)
        if len(operands) > MAX_OPERANDS:
            raise Misfit(f"more than {MAX_OPERANDS} operands in one kernel")
        if self._buffers(members, space) + len(operands) > MAX_BUFFERS:
            raise Misfit(f"more than {MAX_BUFFERS} buffers in one kernel")
        if self._cycle(a, b):
            raise Misfit("a node between them is computed elsewhere (convexity)")
        return Group(members, space)

    def _buffers(self, members: Sequence[Node], space: Space) -> int:
        """At the most how many buffers hold results, accumulators (with their sums and what these lose), and what is
        kept of a row or a block of rows."""
        inside = set(members)
        count = 1  # numbers
        walked_again = any(isinstance(n.op.emit, Reduction) and space.kind[n] == ROW for n in members)
        for node in members:
            kind, folds = space.kind[node], isinstance(node.op.emit, Reduction)
            count += node in self.results or any(user not in inside for user in self.users[node])
            count += 3 * (folds and kind == COL) + (folds and kind == SCALAR)
            count += walked_again and (kind == ROW or (kind == FULL and _cost(node) > CHEAP))
        return count

    def _cycle(self, a: Group, b: Group) -> bool:
        """Whether something outside the two groups needs one of their values and is needed by them."""
        both = {*a.members, *b.members}
        first = self._horizon(min(self.position[n] for n in both))
        seen: set[Node] = set()
        stack = [i for n in both for i in n.inputs if origin(i) not in both]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            group = self.group_of.get(node)
            unit = group.members if group is not None else [node]
            seen.update(unit)
            if self.position[unit[-1]] < first:
                continue
            for operand in (i for member in unit for i in member.inputs):
                if operand in both:
                    return True
                if operand not in seen:
                    stack.append(operand)
        return False

    def _horizon(self, position: int) -> int:
        """A kernel that ends before the horizon waits for nothing from `position` on. It lies lower than `position`
        when a kernel spans it: its early members wait for its late ones."""
        begins = [(self.position[g.members[0]], self.position[g.members[-1]]) for g in self.merged]
        while spanning := [low for low, high in begins if low < position <= high]:
            position = min(spanning)
        return position

    def _leaves(self, node: Node, group: Group) -> bool:
        """Whether something outside the group needs this value in memory."""
        for user in self.users[node]:
            if self.group_of.get(user) is group:
                continue
            if isinstance(user.op.emit, View) and user.op.emit.keeps_order and user not in self.layouts.copies:
                if user in self.results or self._leaves(user, group):
                    return True
                continue
            return True
        return False


def check_scalars(members: Sequence[Node], space: Space) -> None:
    """Scalars stand apart from values per row or column, unless they are made of accumulated ones. Raises Misfit."""
    early = [n for n in members if space.kind[n] == SCALAR and n not in space.post]
    if early and len(early) != len(members):
        raise Misfit("scalar arithmetic is done once, in a kernel of its own")


def _describe(space: Space) -> str:
    if space.columns is None:
        return f"one pass over {real(space.rows)} elements"
    return f"one pass over {real(space.rows)} rows of {real(space.columns)}"


def _cost(node: Node) -> int:
    return node.op.emit.cost if isinstance(node.op.emit, Pointwise) else 0
