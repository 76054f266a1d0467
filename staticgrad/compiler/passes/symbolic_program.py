"""A traced program over symbolic extents, the same program over numbers, and programs whose extents the run decides.

The graph of a trace has extents wherever the traced code took a number from a shape, in types and in attributes. Filled in, it
is the graph that a trace with these numbers would have made, as long as the conditions of the trace hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from ...base.types import OpenType, StackType, TensorType, TupleType
from ...ir import REGISTRY, Attribute, Cell, Graph, Literal, Node, OpDef, OverComplex, Subgraph, may_fail
from ...ir.subgraph import evaluate
from ...ops.control.subgraph_tracing import twin
from ...ops.deferred import has_deferred
from ...ops.known_values import NeedsValues, value_operands
from ...ops.leaves import Source
from ...ops.operators import Symbol, lines_of
from ...ops.rewrites.selected_rows import Rows, selected, whole
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


# extents that the run decides: how many elements a mask selects, how many different ones there are -------------------

# The part of a program in which such extents occur becomes one call. Each run hands it the values that it reads, and it runs a
# program that is compiled for the extents at hand, as for any new shape of a feed. What the part gives to the rest of the
# program has known extents, or is a result of the run. So everything around it - kernels, writes of variables, checks - is
# planned as always.

Run = Callable[[Sequence[np.ndarray]], list[np.ndarray]]
"""The results of a part for the values that it is fed."""
Make = Callable[[Graph, Sequence[Node], Sequence[Node], Sequence[Node]], Run]
"""(graph, results, feeds, operations that may fail) -> what runs them."""

FIXED = ("constant", "shape")
"""Kinds of leaves that are part of a body."""


class Part:
    """See the module. `params` stand for the values that it reads, `heads` are the operations whose extents they decide."""

    def __init__(self, graph: Graph, params: Sequence[Node], results: Sequence[Node], make: Make):
        self.graph, self.params, self.results = graph, params, results
        self._fixed = [n for n in graph.nodes if n.op.leaf in FIXED]
        known = {*params, *self._fixed}
        self.heads = [n for n in graph.nodes if n.op.sized and known.issuperset(n.inputs)]
        if not self.heads and not value_operands(graph):
            node = next(n for n in graph.nodes if decides(n))
            raise NeedsValues(node, node.inputs)
        failing = [n for n in graph.nodes if may_fail(n)]
        self._run = make(graph, results, [*params, *self.heads], failing)

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        values: dict[Node, Any] = dict(zip(self.params, arrays, strict=True))
        evaluate([*self._fixed, *self.heads], values)
        return tuple(self._run([np.ascontiguousarray(values[n]).reshape(values[n].shape) for n in [*self.params, *self.heads]]))

    def __repr__(self) -> str:
        return f"<{', '.join(dict.fromkeys(n.op.name for n in self.graph.nodes if not n.op.leaf))}>"


def _infer(*types: TensorType, part: Part, kind: TupleType) -> TupleType:
    return kind


part_op = OpDef(
    name="sized_part",
    infer=_infer,
    eval=lambda *arrays, part, kind: part(*arrays),
    attrs={
        "part": Attribute("a part of a program", lambda value, types: isinstance(value, Part)),
        "kind": Attribute("the types of its results", lambda value, types: isinstance(value, TupleType)),
    },
    doc="A part of a program with extents that the run decides. Operands: the values that it reads.",
    complex=OverComplex("own"),
    stored=True,
)


def decides(node: Node) -> bool:
    """Whether values decide about the extents of a node, or about how it is written."""
    return node.op.sized or has_deferred(node)


def divide(graph: Graph, results: Sequence[Node], count: int, make: Make) -> tuple[Graph, dict[Node, Node]]:
    """The graph with one call in the place of all nodes with open extents and those between them. count: how many of the
    results are read; the others are there because they may fail."""
    order = graph.reaching(results)
    if not any(decides(node) for node in order):
        return graph, {node: node for node in order}
    graph, first = _with_whole_rows(order, graph.intern, set(results[:count]))
    found = [first[r] for r in results]
    graph, second = _divided(graph, found, set(found[:count]), make)
    return graph, {old: second[new] for old, new in first.items() if new in second}


def _with_whole_rows(order: Sequence[Node], intern: bool, read: set[Node]) -> tuple[Graph, dict[Node, Node]]:
    """The graph in which values of known extents are computed of all rows, where `ops/rewrites/selected_rows.py` says how."""
    new, moved, rows = Graph(intern=intern), dict[Node, Node](), dict[Node, Rows]()
    instead: dict[Node, Node] = {}
    for node in order:
        moved[node] = _copied(new, node, moved)
        operands = [rows[i] if i in rows else Symbol(new, moved[i]) if i.type.static else None for i in node.inputs]
        found: Rows | Symbol | None = None
        with lines_of(node.where):
            if node.op.sized:
                found = selected(node, operands[0])
            elif not rows.keys().isdisjoint(node.inputs) and None not in operands:
                found = whole(node, operands)
        if isinstance(found, Symbol):
            moved[node] = found.node
        elif found is not None:
            rows[node] = found
            if node not in read and node.op.fails:  # what may fail are the rows that are computed
                instead[node] = found.full.node
    return new, {**moved, **instead}


def _divided(graph: Graph, results: Sequence[Node], wanted: set[Node], make: Make) -> tuple[Graph, dict[Node, Node]]:
    """See `divide`. wanted: the results that are read."""
    order = graph.reaching(results)
    inside = _inside(order)
    if not inside:
        return graph, {node: node for node in order}
    members = [n for n in order if n in inside]
    outputs = [n for n in members if n in wanted or any(user not in inside for user in graph.succ[n])]
    reads = dict.fromkeys(i for n in members for i in n.inputs if i not in inside)
    body, moved = Graph(intern=graph.intern), dict[Node, Node]()
    for node in reads:
        moved[node] = body.append(node) if node.op.leaf in FIXED else twin(body, node)
    for node in members:
        moved[node] = _copied(body, node, moved)
    operands = [n for n in reads if n.op.leaf not in FIXED]
    part = Part(body, [moved[n] for n in operands], [moved[n] for n in outputs], make)
    kind = TupleType([n.type if n.type.static else OpenType(n.type) for n in outputs])
    where = next((n.where for n in members if n.op.sized), None)
    return _replaced(graph, order, inside, operands, outputs, {"part": part, "kind": kind}, where)


def _copied(graph: Graph, node: Node, moved: Mapping[Node, Node]) -> Node:
    """The same node over the nodes of another graph."""
    if not node.inputs:
        return graph.append(node)
    return graph.add(node.op, tuple([moved[i] for i in node.inputs]), node.attrs, node.type, node.name, node.where)


def _replaced(
    graph: Graph, order: Sequence[Node], inside: set[Node], operands: Sequence[Node], outputs: Sequence[Node],
    attrs: dict[str, Any], where: Any,
) -> tuple[Graph, dict[Node, Node]]:  # fmt: skip
    """The graph with the call: after all that it reads, before all that reads it."""
    behind = set(inside)
    for node in order:
        if any(i in behind for i in node.inputs):
            behind.add(node)
    new, moved = Graph(intern=graph.intern), dict[Node, Node]()
    for node in order:
        if node not in behind:
            moved[node] = _copied(new, node, moved)
    whole = new.add(part_op, tuple([moved[n] for n in operands]), attrs, attrs["kind"], "", where)
    for i, node in enumerate(outputs):
        part = attrs["kind"].parts[i]
        moved[node] = new.add(REGISTRY["result"], (whole,), {"index": i}, part, node.name, node.where)
    for node in order:
        if node in behind and node not in inside:
            moved[node] = _copied(new, node, moved)
    for node in inside:
        moved.setdefault(node, whole)
    return new, moved


def _inside(order: Sequence[Node]) -> set[Node]:
    """The nodes with open extents, those that read them, and those between them. Results that are no arrays stay on one side
    with what makes them and what reads them."""
    open_nodes = {node for node in order if decides(node)}
    inside = set(open_nodes)
    for node in order if open_nodes else ():
        if not open_nodes.isdisjoint(node.inputs):
            inside.add(node)
            if not node.type.static:
                open_nodes.add(node)
    while inside:
        before = len(inside)
        after, needed = set[Node](), set[Node]()
        for node in order:
            if any(i in inside or i in after for i in node.inputs):
                after.add(node)
        for node in reversed(order):
            if node in inside or node in needed:
                needed.update(node.inputs)
        inside |= after & needed
        for node in order:
            for operand in node.inputs:
                if isinstance(operand.type, (TupleType, StackType)) and (node in inside) is not (operand in inside):
                    inside |= {node, operand}
        if len(inside) == before:
            break
    return inside
