"""The first pass: the pure computation of a run.

Cuts the graph at its feeds, resolves reads of variables to the values that they see, drops control edges that are no
longer needed, and numbers the random draws. The result is pure: leaves, values, and a list of assignments.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.types import UnrankedType
from ...ir import REGISTRY, Cell, Deferred, Graph, Node, Region, Result, Subgraph, failing, literal
from ...ir.walks import reached
from ...ops.deferred import has_deferred

DRAWS_OF_A_RUN = 1 << 32
"""By which the state of an op's own generator advances: more than a loop of one run draws."""


@dataclass(repr=False)
class FunctionalGraph:
    """A pure graph: `fetches` and `assigns` are its results, `feeds` its placeholders, each in the caller's order."""

    graph: Graph
    feeds: list[Node]
    fetches: list[Node]
    assigns: list[tuple[Cell, Node]]
    draws: int
    needs: list[Node]
    """Placeholders that are read but not fed."""

    @property
    def deferred(self) -> bool:
        """Whether parts of it are written only for the types, or values, of its feeds."""
        nodes = self.graph.nodes
        if any(True for n in nodes if n.op.sized or isinstance(n.type, UnrankedType)):
            return True
        return any(has_deferred(n) or _sized_inside(n) for n in nodes if isinstance(n.op.emit, (Deferred, Region)))

    @property
    def kept(self) -> list[Node]:
        """What no pass may drop, besides the results: feeds, operations that may fail, and results of loops and branches with
        such operations that nobody reads."""
        results, feeds, users = set(self.results), set(self.feeds), self.graph.succ
        unread = [n for n in self.graph.nodes if isinstance(n.op.emit, Result) and not users[n] and n not in results]
        return [*(n for n in self.graph.nodes if n in feeds or n.op.fails), *unread]

    def __repr__(self) -> str:
        return f"<Prepared: {self.graph!r}, {len(self.feeds)} feeds, {len(self.fetches)} fetches, {len(self.assigns)} assigns>"

    @property
    def results(self) -> list[Node]:
        return [*self.fetches, *(value for _, value in self.assigns)]


def _sized_inside(node: Node) -> bool:
    """Whether a body of a loop or branch has extents that the run decides."""
    bodies = [body for body in node.attrs.values() if isinstance(body, Subgraph)]
    return any(inner.op.sized or _sized_inside(inner) for body in bodies for inner in body.nodes)


def functionalize(
    graph: Graph, fetches: Sequence[Node], feeds: Sequence[Node], effects: Sequence[Node] = (), draws: int | None = None,
    strict: bool = False,
) -> FunctionalGraph:  # fmt: skip
    """See the module. Feeds may be any nodes: they become placeholders, and their operands don't run.

    `effects` run too, without a result: assignments, and values whose computation may fail. draws: how many random draws a run
    takes, whether it uses them or not; the numbers of the draws stay. None: those that are left after the cut, numbered anew,
    unless one is in a deferred node, whose number nobody can change.
    strict: equal nodes stay apart, and nodes that record the derivation of a gradient stay, unless a value that the gradient
    passes is fed.
    """
    fed = set(feeds)
    strict = strict and not any(node.inputs for node in feeds)
    order = _needed(graph, [*fetches, *effects], fed, strict)
    if draws is None and any(isinstance(n.op.emit, Deferred) and _draws(n.inputs) for n in order):
        draws = graph.draws
    position = {node: i for i, node in enumerate(order)}
    result = Graph(intern=not strict)
    copies: dict[Node, Node] = {}
    for node in feeds:
        copies[node] = result.add(REGISTRY["placeholder"], (), {"type": node.type}, node.type, node.name, node.where)
    assigned: dict[Cell, Node] = {}
    left = 0
    for node in order:
        if node in fed:
            continue
        if node.op.equals is not None and not strict:
            copies[node] = copies[node.inputs[node.op.equals]]
            continue
        attrs, inputs = node.attrs, tuple([copies[i] for i in node.inputs])
        if node.op.effect == "read":
            copies[node] = _visible(node, copies, position, fed)
        elif node.op.effect == "assign":
            cell = node.inputs[0].attrs["cell"]
            plain = node.op is REGISTRY["assign"]
            value = inputs[1] if plain else _update(result, node, assigned.get(cell, inputs[0]), inputs)
            copies[node] = assigned[cell] = _fitted(result, node, value)
        elif node.op.effect == "group":
            copies[node] = result.add(REGISTRY["constant"], (), _true(), node.type, node.name, node.where)
        else:
            if _draws(inputs):
                attrs, left = {**attrs, "index": left} if draws is None else attrs, left + 1
            copies[node] = result.add(node.op, inputs, attrs, node.type, node.name, node.where)
    for node in order:
        if node.op.leaf == "variable" and node not in fed and node.attrs["cell"].stream is not None:
            assigned[node.attrs["cell"]] = _advanced(result, copies[node])
    given, wanted = [copies[n] for n in feeds], [copies[n] for n in fetches]
    fed_copies = set(given)
    roots = [*given, *wanted, *assigned.values()]
    result.prune([*roots, *_failing(result, roots, copies.values())])  # a variable that is only assigned needs no value
    needs = [n for n in result.nodes if n.op.leaf == "placeholder" and n not in fed_copies]
    return FunctionalGraph(result, given, wanted, list(assigned.items()), left if draws is None else draws, needs)


def _draws(inputs: Sequence[Node]) -> bool:
    """Whether operands are those of a draw of random numbers."""
    return bool(inputs) and inputs[0].op.leaf == "generator"


def _failing(graph: Graph, roots: Sequence[Node], nodes: Iterable[Node]) -> list[Node]:
    """Of these nodes those that hold an operation that may fail and that the roots don't run."""
    candidates = [(node, found) for node in nodes if (found := failing(node))]
    if not candidates:
        return []
    needed = set(graph.reaching(roots))
    run = set[Node]().union(*[found for node, found in candidates if node in needed])
    kept = []
    for node, found in candidates:
        if not found <= run:
            kept.append(node)
            run |= found
    return kept


def _advanced(graph: Graph, state: Node) -> Node:
    """The state of a generator behind all draws of a run."""
    step = graph.add(REGISTRY["constant"], (), literal(np.array([0, DRAWS_OF_A_RUN])), state.type)
    return graph.add(REGISTRY["add"], (state, step), {}, state.type)


def _update(graph: Graph, node: Node, current: Node, inputs: tuple[Node, ...]) -> Node:
    """The value that an `update` gives a variable whose value is `current`."""
    op, attrs, operands = REGISTRY[node.attrs["op"]], dict(node.attrs["attrs"]), (current, *inputs[1:])
    return graph.add(op, operands, attrs, op.infer(*(i.type for i in operands), **attrs), node.name, node.where)


def _fitted(graph: Graph, node: Node, value: Node) -> Node:
    """A value to assign. Where extents are known at run time only, they are checked then."""
    if value.type.static or not node.type.static:
        return value
    return graph.add(REGISTRY["fit"], (value,), {"shape": node.type.shape}, node.type, node.name, node.where)


def _needed(graph: Graph, targets: Sequence[Node], stop: set[Node], strict: bool) -> list[Node]:
    """The ancestors of the targets, in order; in fast numerics a node that is equal to one of its inputs needs only that
    input."""
    if strict or not any(True for node in graph.nodes if node.op.equals is not None):
        return graph.reaching(targets, stop=stop)

    def read(node: Node) -> tuple[Node, ...]:
        if node in stop:
            return ()
        equals = node.op.equals
        return node.parents if equals is None else (node.inputs[equals], *node.after)

    wanted = reached(targets, read)
    return [node for node in graph.nodes if node in wanted]


def _true() -> dict[str, Any]:
    return literal(np.asarray(True))


def _visible(read: Node, copies: dict[Node, Node], position: dict[Node, int], fed: set[Node]) -> Node:
    """The value a read sees: of the last assign that control dependencies put before it, else of the run's start."""
    variable = read.inputs[0]
    waiting = [(-position[node], node) for node in read.after]
    heapq.heapify(waiting)
    seen = set(read.after)
    while waiting:  # the latest first
        node = heapq.heappop(waiting)[1]
        if node in fed:
            continue
        if node.op.effect == "assign" and node.inputs[0] is variable:
            return copies[node]
        for parent in node.parents:
            if parent not in seen:
                seen.add(parent)
                heapq.heappush(waiting, (-position[parent], parent))
    return copies[variable]
