"""Values that are released early: a chain of units that ends with less memory in use runs as soon as it can.

The optimizer's update of a parameter, which the program writes after the whole backward pass, follows the gradient of that
parameter then, so that gradients and new values of all parameters are never there together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from ...ir import Graph, Layout, Node, View
from ..fusion.node_facts import native_form

if TYPE_CHECKING:
    from .order import ScheduleNode

SMALL = 16
"""The most bytes of a number."""
LONGEST = 64
"""The most units of a chain: an optimizer's update of one parameter has some twenty."""


def owners(graph: Graph) -> dict[Node, Node]:
    """For each node, where the host computes all of them, the value whose memory it has: an operand's, for NumPy's views."""
    found: dict[Node, Node] = {}
    at: dict[Node, Layout | None] = {}
    for node in graph.nodes:
        form, found[node], at[node] = native_form(node), node, None
        if hasattr(node.type, "shape"):
            at[node] = Layout.contiguous(node.type.shape)
        seen = at[node.inputs[0]] if isinstance(form, View) and not node.op.leaf else None
        if seen is not None:
            layout = form.rule(node, seen)
            if layout is not None:
                found[node], at[node] = found[node.inputs[0]], layout
    return found


def early_release(order: Sequence[ScheduleNode], owners: Mapping[Node, Node]) -> list[ScheduleNode]:
    """The units in an order that respects `after`, as the given one does. owners: see the function."""
    search = _Search(order, owners)
    for unit in [unit for unit in order if not unit.after and search.small(unit)] + [*order]:
        if unit not in search.done:
            search.run(unit)
    return search.found


class _Search:
    def __init__(self, order: Sequence[ScheduleNode], owners: Mapping[Node, Node]):
        self.place = {unit: i for i, unit in enumerate(order)}
        self.followers: dict[ScheduleNode, list[ScheduleNode]] = {unit: [] for unit in order}
        self.waiting = {unit: len(unit.after) for unit in order}
        self.makes: dict[ScheduleNode, list[Node]] = {}
        self.reads: dict[ScheduleNode, set[Node]] = {}
        self.readers: dict[Node, int] = {}
        self.done: set[ScheduleNode] = set()
        self.found: list[ScheduleNode] = []
        for unit in order:
            for before in unit.after:
                self.followers[before].append(unit)
            self.makes[unit] = [node for node in unit.makes if owners[node] is node]
            self.reads[unit] = {owner for owner in (owners[node] for node in unit.reads) if not owner.op.leaf}
            for owner in self.reads[unit]:
                self.readers[owner] = self.readers.get(owner, 0) + 1

    def run(self, unit: ScheduleNode) -> None:
        """Append a unit, then chains that have become ready."""
        ready = self._append(unit)
        while ready:
            chain = self._chain(heappop(ready)[1])
            for each in chain:
                for entry in self._append(each):
                    heappush(ready, entry)

    def small(self, unit: ScheduleNode) -> bool:
        """Whether it makes only a number, such as a learning rate, which chains then find there."""
        return bool(unit.makes) and sum(map(_bytes, unit.makes)) <= SMALL

    def _append(self, unit: ScheduleNode) -> list[tuple[int, ScheduleNode]]:
        """Append a unit that is ready. Returns those that have become ready by it, as a heap."""
        if unit in self.done:
            return []
        self.done.add(unit)
        self.found.append(unit)
        for owner in self.reads[unit]:
            self.readers[owner] -= 1
        ready = []
        for follower in self.followers[unit]:
            self.waiting[follower] -= 1
            if not self.waiting[follower]:
                ready.append((self.place[follower], follower))
        heapify(ready)
        return ready

    def _chain(self, first: ScheduleNode) -> list[ScheduleNode]:
        """A unit that is ready and units that become ready by it, in order, up to the first place where less memory is in use
        than before; none where there is no such place."""
        if first in self.done:
            return []
        if self.small(first):
            return [first]
        chain: list[ScheduleNode] = []
        ready, more = [(self.place[first], first)], 0
        waiting: dict[ScheduleNode, int] = {}
        readers: dict[Node, int] = {}
        while ready and len(chain) < LONGEST:
            unit = heappop(ready)[1]
            chain.append(unit)
            more += sum(_bytes(node) for node in self.makes[unit] if node in self.readers)  # others are released at once
            for owner in self.reads[unit]:
                readers[owner] = readers.get(owner, self.readers[owner]) - 1
                more -= _bytes(owner) if not readers[owner] else 0
            if more < 0:
                return chain
            for follower in self.followers[unit]:
                waiting[follower] = waiting.get(follower, self.waiting[follower]) - 1
                if not waiting[follower]:
                    heappush(ready, (self.place[follower], follower))
        return []


def _bytes(node: Node) -> int:
    kind = node.type
    return int(kind.nbytes) if hasattr(kind, "nbytes") else 0
