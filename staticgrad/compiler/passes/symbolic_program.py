"""A traced program over symbolic extents, and the same program over numbers.

The graph of a trace has extents wherever the traced code took a number from a shape, in types and in attributes. Filled in, it
is the graph that a trace with these numbers would have made, as long as the conditions of the trace hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np

from ...ir import Cell, Graph, Literal, Node, Subgraph
from ...ops.leaves import Source
from ...types import TensorType
from .functionalize import FunctionalGraph
from .symbolic_extents import Conditions, Filler, Unfollowed, has_extents

PLAIN = (NoneType, bool, int, float, str, np.dtype, np.generic, Literal, Cell, Source, TensorType)
"""Kinds of attributes that are known to have no extents inside but those that `has_extents` finds."""


class SymbolicProgram:
    """`prepared`: over symbols, whose values are those of `symbols`, (number of a feed, axis). Raises Unfollowed for an
    attribute of a kind that may hide an extent."""

    def __init__(self, prepared: FunctionalGraph, conditions: Conditions, symbols: Sequence[tuple[int, int]]):
        self.prepared, self.conditions, self.symbols = prepared, conditions, symbols
        self.types = [feed.type for feed in prepared.feeds]
        self.changing: set[Node] = set()
        """Nodes whose attributes or types depend on symbols, those of bodies included."""
        self._survey([*prepared.graph.nodes, *prepared.feeds])

    def _survey(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            changing = [self._depends(value) for value in node.attrs.values()]
            if any(changing) or has_extents(node.type):
                self.changing.add(node)

    def _depends(self, value: Any) -> bool:
        if isinstance(value, Subgraph):
            self._survey(value.graph.nodes)
            return any(node in self.changing for node in value.graph.nodes) | (
                value.written is not None and self._depends(value.written)
            )
        if isinstance(value, tuple):
            return any([self._depends(part) for part in value])
        if not isinstance(value, PLAIN):
            raise Unfollowed(f"an attribute is a {type(value).__name__}")
        return has_extents(value)

    def filler(self, types: Sequence[TensorType]) -> Filler | str:
        """The extents for feeds of these types; or the condition that does not hold, in words."""
        for number, axis in self.symbols:
            if len(types[number].shape) <= axis:
                return "arguments have other axes"
        found = self.conditions.fill([types[number].shape[axis] for number, axis in self.symbols])
        if isinstance(found, str):
            return found
        filler = Filler(found)
        for mine, theirs in zip(self.types, types, strict=True):
            if filler.type(mine) != theirs:
                return f"an argument is {theirs} instead of {filler.type(mine)}"
        return filler

    def filled(self, filler: Filler, cells: Mapping[Cell, Cell]) -> FunctionalGraph:
        """The program over numbers. cells: the storage that takes the place of the variables'."""
        found = self.prepared
        graph = Graph(intern=found.graph.intern)
        moved = _Moved(self.changing, filler, cells)
        for node in found.graph.nodes:
            moved[node] = graph.append(moved.copy(node))
        feeds = [moved[feed] if feed in moved else moved.copy(feed) for feed in found.feeds]
        take = moved.__getitem__
        return FunctionalGraph(
            graph, feeds, [*map(take, found.fetches)], [(cells[cell], take(value)) for cell, value in found.assigns],
            found.draws, [*map(take, found.needs)],
        )  # fmt: skip


class _Moved(dict[Node, Node]):
    """The copies of nodes."""

    def __init__(self, changing: set[Node], filler: Filler, cells: Mapping[Cell, Cell]):
        self.changing, self.filler, self.cells = changing, filler, cells
        self.bodies: dict[Subgraph, Subgraph] = {}

    def copy(self, node: Node) -> Node:
        """The node with its numbers, over copies of its operands."""
        attrs, kind = node.attrs, node.type
        if node.op.leaf == "variable":
            cell = attrs["cell"]
            cell = self.cells.get(cell, cell)
            return Node(node.op, (), {"cell": cell}, cell.type, node.name, node.where)
        if node in self.changing:
            attrs = {name: self._attribute(value) for name, value in attrs.items()}
            kind = self.filler.type(kind)
        return Node(node.op, tuple([self[i] for i in node.inputs]), attrs, kind, node.name, node.where)

    def _attribute(self, value: Any) -> Any:
        return self._body(value) if isinstance(value, Subgraph) else self.filler.attribute(value)

    def _body(self, body: Subgraph) -> Subgraph:
        """The body of a loop or branch. Nodes and bodies that several have in common stay common."""
        if body not in self.bodies:
            for node in body.graph.nodes:
                if node not in self:
                    self[node] = self.copy(node)
            written = None if body.written is None else self._body(body.written)
            take = self.__getitem__
            graph = body.graph.part([*map(take, body.graph.nodes)])
            self.bodies[body] = Subgraph(graph, [*map(take, body.params)], [*map(take, body.results)], written)
        return self.bodies[body]
