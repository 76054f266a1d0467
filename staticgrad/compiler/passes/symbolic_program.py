"""A traced program over symbolic extents, and the same program over numbers.

The graph of a trace has extents wherever the traced code took a number from a shape, in types and in attributes. Filled in, it
is the graph that a trace with these numbers would have made, as long as the conditions of the trace hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from ...base.types import TensorType
from ...ir import Cell, Graph, Literal, Node, Subgraph
from ...ops.leaves import Source
from .functionalize import FunctionalGraph
from .symbolic_extents import Conditions, Filler, Unfollowed, has_extents

PLAIN = (NoneType, bool, int, float, str, np.dtype, np.generic, Literal, Cell, Source, TensorType)
"""Kinds of attributes that are known to have no extents inside but those that `has_extents` finds."""

FREE = frozenset({NoneType, bool, int, float, str, Literal, Cell, Source})
"""Kinds that are known without a look."""


class Survey:
    """Which nodes and attributes depend on symbols. Raises Unfollowed for an attribute of a kind that may hide an extent."""

    def __init__(self) -> None:
        self.changing: set[Node] = set()
        """Nodes whose attributes or types do, those of bodies included."""
        self.attributes: set[Node] = set()
        """Those whose attributes do."""

    def nodes(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if node.attrs and self.any(node.attrs.values()):
                self.attributes.add(node)
                self.changing.add(node)
            elif has_extents(node.type):
                self.changing.add(node)

    def any(self, values: Iterable[Any]) -> bool:
        """Whether one of some attributes depends on symbols. All of them are looked at."""
        found = False
        for value in values:
            if type(value) not in FREE and self.depends(value):
                found = True
        return found

    def depends(self, value: Any) -> bool:
        if isinstance(value, Subgraph):
            self.nodes(value.graph.nodes)
            inside = not self.changing.isdisjoint(value.graph.nodes)
            return (value.written is not None and self.depends(value.written)) or inside
        if isinstance(value, tuple):
            return self.any(value)
        if not isinstance(value, PLAIN):
            raise Unfollowed(f"an attribute is a {type(value).__name__}")
        return has_extents(value)


class Bodies:
    """Copies of nodes and of bodies of loops and branches, with numbers in the place of extents. What several have in common
    stays common."""

    def __init__(self, survey: Survey, filler: Filler):
        self.survey, self.filler = survey, filler
        self.nodes: dict[Node, Node] = {}
        self.bodies: dict[Subgraph, Subgraph] = {}

    def node(self, node: Node) -> Node:
        """The copy of a node, over the copies of its operands."""
        attrs, kind = node.attrs, node.type
        if node in self.survey.changing:
            kind = self.filler.type(kind)
            if node in self.survey.attributes:
                attrs = {name: self.attribute(value) for name, value in attrs.items()}
        new = Node(node.op, tuple([self.nodes[i] for i in node.inputs]), attrs, kind, node.name, node.where)
        object.__setattr__(new, "uniform", node.uniform)
        return new

    def attribute(self, value: Any) -> Any:
        return self._body(value) if isinstance(value, Subgraph) else self.filler.attribute(value)

    def _body(self, body: Subgraph) -> Subgraph:
        if body not in self.bodies:
            for node in body.graph.nodes:
                if node not in self.nodes:
                    self.nodes[node] = self.node(node)
            written = None if body.written is None else self._body(body.written)
            take = self.nodes.__getitem__
            graph = Graph.of(map(take, body.graph.nodes), intern=body.graph.intern)
            self.bodies[body] = Subgraph(graph, [*map(take, body.params)], [*map(take, body.results)], written)
        return self.bodies[body]


class SymbolicProgram:
    """`prepared`: over symbols, whose values are those of `symbols`, (number of a feed, axis). Raises Unfollowed where it can't
    be filled in."""

    def __init__(self, prepared: FunctionalGraph, conditions: Conditions, symbols: Sequence[tuple[int, int]]):
        self.prepared, self.conditions, self.symbols = prepared, conditions, symbols
        self.types = [feed.type for feed in prepared.feeds]
        self.survey = Survey()
        self.survey.nodes([*prepared.graph.nodes, *prepared.feeds])

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
        copies = Bodies(self.survey, filler)
        moved = copies.nodes
        for node in found.graph.nodes:
            if node.op.leaf == "variable":
                cell = cells[node.attrs["cell"]]
                new = Node(node.op, (), {"cell": cell}, cell.type, node.name, node.where)
            else:
                new = copies.node(node)
            moved[node] = graph.append(new)
        feeds = [moved[feed] if feed in moved else copies.node(feed) for feed in found.feeds]
        take = moved.__getitem__
        return FunctionalGraph(
            graph, feeds, [*map(take, found.fetches)], [(cells[cell], take(value)) for cell, value in found.assigns],
            found.draws, [*map(take, found.needs)],
        )  # fmt: skip

    def restated(self, types: Sequence[TensorType]) -> RestatedProgram:
        """The program over symbols of another record, whose values are those of `types`. Raises Unfollowed where a divisor is
        0."""
        record = Conditions()
        named = zip(self.conditions.names, self.symbols, strict=True)
        symbols = [record.symbol(name, types[number].shape[axis]) for name, (number, axis) in named]
        values = self.conditions.evaluated(symbols)
        if isinstance(values, str):
            raise Unfollowed(values)
        cells = {cell: cell for cell, _ in self.prepared.assigns}
        cells |= {n.attrs["cell"]: n.attrs["cell"] for n in self.prepared.graph.nodes if n.op.leaf == "variable"}
        return RestatedProgram(self.filled(Filler(values), cells), record, self.symbols)


class RestatedProgram(NamedTuple):
    """A program over symbols for which decisions are yet to be made."""

    prepared: FunctionalGraph
    conditions: Conditions
    symbols: Sequence[tuple[int, int]]
