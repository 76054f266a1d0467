"""A graph of operations while groups of them are contracted to single vertices: a union that would close a cycle is found
out by looking at what lies between the two groups alone.

networkx answers such a question by walking the whole graph, and fusion asks it for each union that it tries. Here the
vertices (`Unit`) keep labels in a topological order, as in Pearce and Kelly, "A Dynamic Topological Sort Algorithm for
Directed Acyclic Graphs" (2006). A walk from the later group against the edges stops at labels before the earlier one's.
What it finds without coming to the earlier group moves in front of it, so that no later question meets it there again; where
it comes to the earlier group, all that lies on the way is known to follow it from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir import Node
from .broadcast_rank import origin

SPACE = 1 << 200
"""Room for labels in front of each unit. Units that move there take a small part of what is left."""
PART = 8
"""The part that one takes, as a power of 2."""
FAR = 1024
"""Units that a walk looks at, at the most: beyond, the groups count as too far apart."""


class ScheduleNode:
    """A group of nodes, or one node."""

    __slots__ = ("floor", "following", "label", "nodes", "parents")

    def __init__(self, node: Node, label: int):
        self.nodes: list[Node] = [node]
        self.label = label
        self.floor = label - SPACE
        """No other unit's label is above it and below this one's."""
        self.parents: Iterable[Node] = [origin(i) for i in node.inputs]
        """Nodes that its nodes read, views that keep the order left out; some may be its own."""
        self.following: set[ScheduleNode] | None = None
        """Other units that are known to need it."""


class TooFar(Exception):
    """There is too much between two units to look at."""


class Contraction:
    """The graph of `nodes`, which come in topological order; first, each node is a unit of its own."""

    def __init__(self, nodes: Sequence[Node]):
        self.unit_of = {node: ScheduleNode(node, (i + 1) * SPACE) for i, node in enumerate(nodes)}

    def between(self, a: Node, b: Node) -> list[ScheduleNode] | None:
        """What the later one of the two nodes' units needs and comes after the earlier one; None where some of it needs the
        earlier one, so that no union is possible. Raises TooFar."""
        first, last = self._ordered(a, b)
        floor, unit_of = first.label, self.unit_of
        known: set[ScheduleNode] | tuple[()] = () if first.following is None else first.following
        way: dict[ScheduleNode, ScheduleNode | None] = {last: None}
        stack = [last]
        while stack:
            unit = stack.pop()
            for parent in unit.parents:
                other = unit_of[parent]
                if other is unit:
                    continue
                if other is first:
                    if unit is not last:
                        self._note(first, unit, way)
                        return None
                elif other in known:
                    way.setdefault(other, unit)
                    self._note(first, other, way)
                    return None
                elif other.label > floor and other not in way:
                    way[other] = unit
                    stack.append(other)
            if len(way) > FAR:
                raise TooFar
        del way[last]
        return sorted(way, key=_label) if way else []

    def join(self, a: Node, b: Node, between: Sequence[ScheduleNode]) -> None:
        """Make one unit of those of two nodes. between: what lies between them."""
        first, last = self._ordered(a, b)
        for unit in between:
            self._move_before(unit, first)
        whole, part = (first, last) if len(first.nodes) >= len(last.nodes) else (last, first)
        whole.label, whole.floor = first.label, first.floor
        for node in part.nodes:
            self.unit_of[node] = whole
        whole.nodes += part.nodes
        if not isinstance(whole.parents, set):
            whole.parents = set(whole.parents)
        whole.parents |= set(part.parents)
        if part.following:
            if whole.following is None or len(whole.following) < len(part.following):
                whole.following, part.following = part.following, whole.following
            whole.following |= part.following or set()

    def _ordered(self, a: Node, b: Node) -> tuple[ScheduleNode, ScheduleNode]:
        first, last = self.unit_of[a], self.unit_of[b]
        return (first, last) if first.label <= last.label else (last, first)

    @staticmethod
    def _note(first: ScheduleNode, unit: ScheduleNode | None, way: dict[ScheduleNode, ScheduleNode | None]) -> None:
        """All on this way needs `first`."""
        if first.following is None:
            first.following = set()
        while unit is not None:
            first.following.add(unit)
            unit = way[unit]

    def _move_before(self, unit: ScheduleNode, first: ScheduleNode) -> None:
        step = (first.label - first.floor) >> PART
        if not step:
            self._renumber()
            step = (first.label - first.floor) >> PART
        unit.floor, unit.label = first.floor, first.floor + step
        first.floor = unit.label

    def _renumber(self) -> None:
        for i, unit in enumerate(sorted(set(self.unit_of.values()), key=_label)):
            unit.label = (i + 1) * SPACE
            unit.floor = i * SPACE


def _label(unit: ScheduleNode) -> int:
    return unit.label
