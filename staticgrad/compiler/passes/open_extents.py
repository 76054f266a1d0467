"""Extents that the run decides: how many elements a mask selects, how many different ones there are.

The part of a program in which such extents occur becomes one call. Each run hands it the values that it reads, and it runs a
program that is compiled for the extents at hand, as for any new shape of a feed. What the part gives to the rest of the program
has known extents, or is a result of the run. So everything around it - kernels, writes of variables, checks - is planned as
always.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...base.types import OpenType, StackType, TensorType, TupleType
from ...ir import REGISTRY, Attribute, Graph, Node, OpDef, OverComplex, may_fail
from ...ir.interpret import evaluate
from ...operators import Symbol, lines_of
from ...ops.control.subgraph_tracing import twin
from ...ops.deferred import has_deferred
from ...ops.known_values import NeedsValues, value_operands
from ...ops.rewrites.selected_rows import Rows, selected, whole

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
