"""The first pass: what a run really computes.

Cuts the graph at its feeds, resolves reads of variables to the values that they see, drops control edges that have done
their work, and numbers the random draws. What comes out is pure: leaves, values, and a list of assignments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ir import REGISTRY, Cell, Graph, Node


@dataclass(repr=False)
class Prepared:
    """A pure graph: `fetches` and `assigns` are its results, `feeds` its placeholders, each in the caller's order."""

    graph: Graph
    feeds: list[Node]
    fetches: list[Node]
    assigns: list[tuple[Cell, Node]]
    draws: int
    needs: list[Node]
    """Placeholders that are read but not fed."""

    def __repr__(self) -> str:
        return f"<Prepared: {self.graph!r}, {len(self.feeds)} feeds, {len(self.fetches)} fetches, {len(self.assigns)} assigns>"

    @property
    def results(self) -> list[Node]:
        return [*self.fetches, *(value for _, value in self.assigns)]


def prepare(
    graph: Graph,
    fetches: Sequence[Node],
    feeds: Sequence[Node],
    effects: Sequence[Node] = (),
    draws: int | None = None,
) -> Prepared:
    """See the module. Feeds may be any nodes: they become placeholders, and nothing behind them runs.

    `effects` run too, but nobody asks for their values. draws: how many random draws a run takes, whether it uses them or
    not; the numbers of the draws stay. None: those that are left after the cut, numbered anew.
    """
    fed = set(feeds)
    order = graph.reaching([*fetches, *effects], stop=fed)
    result = Graph(intern=True)
    copies: dict[Node, Node] = {}
    for node in feeds:
        copies[node] = result.add(REGISTRY["placeholder"], (), {"type": node.type}, node.type, node.name, node.where)
    assigned: dict[Cell, Node] = {}
    left = 0
    for node in order:
        if node in fed:
            continue
        attrs, inputs = node.attrs, tuple(copies[i] for i in node.inputs)
        if node.op.effect == "read":
            copies[node] = _visible(node, copies, order, fed)
        elif node.op.effect == "assign":
            cell = node.inputs[0].attrs["cell"]
            copies[node] = assigned[cell] = inputs[1]
        elif node.op.effect == "group":
            copies[node] = result.add(REGISTRY["constant"], (), _true(), node.type, node.name, node.where)
        else:
            if inputs and inputs[0].op.leaf == "generator":
                attrs, left = {**attrs, "index": left} if draws is None else attrs, left + 1
            copies[node] = result.add(node.op, inputs, attrs, node.type, node.name, node.where)
    given, wanted = [copies[n] for n in feeds], [copies[n] for n in fetches]
    fed_copies = set(given)
    result = _cut(result, [*given, *wanted, *assigned.values()])
    needs = [n for n in result.nodes if n.op.leaf == "placeholder" and n not in fed_copies]
    return Prepared(result, given, wanted, list(assigned.items()), left if draws is None else draws, needs)


def _cut(graph: Graph, results: Sequence[Node]) -> Graph:
    """What the results read: a variable that is only assigned needs no value, nor does what ran for its order alone."""
    live = Graph(intern=True)
    for node in graph.reaching(results):
        live.append(node)
    live.finish()
    return live


def _true() -> dict[str, Any]:
    import numpy as np

    from ..ir import literal

    return literal(np.asarray(True))


def _visible(read: Node, copies: dict[Node, Node], order: list[Node], fed: set[Node]) -> Node:
    """The value a read sees: of the last assign that control dependencies put before it, else of the run's start."""
    variable = read.inputs[0]
    before: set[Node] = set()
    stack = list(read.after)
    while stack:
        node = stack.pop()
        if node not in before:
            before.add(node)
            if node not in fed:
                stack.extend(node.parents)
    latest = copies[variable]
    for node in order:
        if node in before and node not in fed and node.op.effect == "assign" and node.inputs[0] is variable:
            latest = copies[node]
    return latest
