"""A graph of operations whose groups are contracted to single vertices: it finds whether a union would close a cycle by a
search between the two groups only.

networkx would search the whole graph, and fusion asks for each union that it tries. Here the vertices (`Vertex`) have
labels in topological order, as in Pearce and Kelly, "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs" (2006).
A search from the later group against the edges stops at labels below that of the earlier group. Vertices that it finds on no
path to the earlier group move in front of that group, so later searches don't meet them again. Vertices on a path to the
earlier group are recorded as its successors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir import Node
from .broadcast_rank import origin

SPACE = 1 << 200
"""Room for labels in front of each vertex. Vertices that move there use a small part of the room that is left."""
PART = 8
"""The part that one of them uses, as a power of 2."""
FAR = 1024
"""The most vertices that a search visits: beyond, the groups count as too far apart."""


class Vertex:
    """A vertex: a group of nodes, or one node."""

    __slots__ = ("floor", "following", "label", "nodes", "parents")

    def __init__(self, node: Node, label: int):
        self.nodes: list[Node] = [node]
        self.label = label
        self.floor = label - SPACE
        """No other vertex has a label between this and `label`."""
        self.parents: Iterable[Node] = [origin(i) for i in node.inputs]
        """The origins of the operands of its nodes; some may be its own nodes."""
        self.following: set[Vertex] | None = None
        """Other vertices that are known to depend on it."""


class TooFar(Exception):
    """There are too many vertices between two vertices."""


class Contraction:
    """The graph of `nodes`, which come in topological order; at first, each node is a vertex of its own."""

    def __init__(self, nodes: Sequence[Node]):
        self.vertex_of = {node: Vertex(node, (i + 1) * SPACE) for i, node in enumerate(nodes)}

    def between(self, a: Node, b: Node) -> list[Vertex] | None:
        """The vertices on which the later one of the two nodes' vertices depends and that come after the earlier one; None
        where one of them depends on the earlier one, so that no union is possible. Raises TooFar."""
        first, last = self._ordered(a, b)
        floor, vertex_of = first.label, self.vertex_of
        known: set[Vertex] | tuple[()] = () if first.following is None else first.following
        path: dict[Vertex, Vertex | None] = {last: None}
        stack = [last]
        while stack:
            vertex = stack.pop()
            for parent in vertex.parents:
                other = vertex_of[parent]
                if other is vertex:
                    continue
                if other is first:
                    if vertex is not last:
                        self._note(first, vertex, path)
                        return None
                elif other in known:
                    path.setdefault(other, vertex)
                    self._note(first, other, path)
                    return None
                elif other.label > floor and other not in path:
                    path[other] = vertex
                    stack.append(other)
            if len(path) > FAR:
                raise TooFar
        del path[last]
        return sorted(path, key=_label) if path else []

    def join(self, a: Node, b: Node, between: Sequence[Vertex]) -> None:
        """Contract the vertices of two nodes. between: the vertices between them."""
        first, last = self._ordered(a, b)
        for vertex in between:
            self._move_before(vertex, first)
        whole, part = (first, last) if len(first.nodes) >= len(last.nodes) else (last, first)
        whole.label, whole.floor = first.label, first.floor
        for node in part.nodes:
            self.vertex_of[node] = whole
        whole.nodes += part.nodes
        if not isinstance(whole.parents, set):
            whole.parents = set(whole.parents)
        whole.parents |= set(part.parents)
        if part.following:
            if whole.following is None or len(whole.following) < len(part.following):
                whole.following, part.following = part.following, whole.following
            whole.following |= part.following or set()

    def _ordered(self, a: Node, b: Node) -> tuple[Vertex, Vertex]:
        first, last = self.vertex_of[a], self.vertex_of[b]
        return (first, last) if first.label <= last.label else (last, first)

    @staticmethod
    def _note(first: Vertex, vertex: Vertex | None, path: dict[Vertex, Vertex | None]) -> None:
        """Record that all vertices on this path depend on `first`."""
        if first.following is None:
            first.following = set()
        while vertex is not None:
            first.following.add(vertex)
            vertex = path[vertex]

    def _move_before(self, vertex: Vertex, first: Vertex) -> None:
        step = (first.label - first.floor) >> PART
        if not step:
            self._renumber()
            step = (first.label - first.floor) >> PART
        vertex.floor, vertex.label = first.floor, first.floor + step
        first.floor = vertex.label

    def _renumber(self) -> None:
        for i, vertex in enumerate(sorted(set(self.vertex_of.values()), key=_label)):
            vertex.label = (i + 1) * SPACE
            vertex.floor = i * SPACE


def _label(vertex: Vertex) -> int:
    return vertex.label
