"""Rewriting by laws: one driver over data (`ops/laws.py`), with a log of what fired."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Graph, Node
from ..operators import Symbol, lines_of
from ..ops.laws import Law
from .specialise import copy, rebuild

LIMIT = 32  # rewrites of one node; a law that undoes another would run for ever


def simplify(
    graph: Graph, results: Sequence[Node], laws: Sequence[Law], log: list[tuple[str, str]] | None = None
) -> tuple[Graph, dict[Node, Node]]:
    """Apply `laws` to every node, operands first, until none fires. `log` collects (law, node)."""
    by_op: dict[str, list[Law]] = {}
    everywhere = [law for law in laws if not law.ops]
    for law in laws:
        for name in law.ops:
            by_op.setdefault(name, []).append(law)

    def settle(node: Node, new: Graph) -> Node:
        for _ in range(LIMIT):
            for law in (*everywhere, *by_op.get(node.op.name, ())):
                with lines_of(node.where):
                    better = law.apply(node, *(Symbol(new, i) for i in node.inputs))
                if better is not None and better.node is not node:
                    if log is not None:
                        log.append((law.name, node.op.name))
                    node = settled_inputs(better.node, new)
                    break
            else:
                return node
        return node

    seen: dict[Node, Node] = {}

    def settled_inputs(node: Node, new: Graph) -> Node:
        """A law may build several nodes: those below the top are settled too."""
        if node in seen or not node.inputs:
            return seen.get(node, node)
        inputs = tuple(settled(i, new) for i in node.inputs)
        return node if inputs == node.inputs else copy(new, node, inputs)

    def settled(node: Node, new: Graph) -> Node:
        if node not in seen:
            result = settle(settled_inputs(node, new), new)
            seen[node] = seen[result] = result
        return seen[node]

    def rewrite(new: Graph, node: Node, inputs: tuple[Node, ...]) -> Node:
        return settled(copy(new, node, inputs), new)

    graph, first = rebuild(graph, results, rewrite)
    seen.clear()  # the functions refer to one another, and would keep all nodes until Python looks for cycles
    live, second = rebuild(graph, [first[r] for r in results], copy)  # without what the laws left behind
    return live, {old: second[new] for old, new in first.items() if new in second}
