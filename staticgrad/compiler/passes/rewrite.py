"""Rewriting by rules: one driver over data (`ops/rewrites/algebra.py`), with a log of the rules applied."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Graph, Node
from ...operators import Symbol, state
from ...ops.rewrites.rule import RewriteRule
from .specialize import copy, rebuild

LIMIT = 32  # rewrites of one node; a law that undoes another would run for ever


def simplify(
    graph: Graph, results: Sequence[Node], laws: Sequence[RewriteRule], log: list[tuple[str, str]] | None = None
) -> tuple[Graph, dict[Node, Node]]:
    """Apply `laws` to every node, operands first, until none fires. `log` collects (law, node)."""
    by_op: dict[str, list[RewriteRule]] = {}
    for law in laws:
        for name in law.ops:
            by_op.setdefault(name, []).append(law)
    everywhere = [law for law in laws if not law.ops]
    for found in by_op.values():
        found[:0] = everywhere
    seen: dict[Node, Node] = {}

    def better(node: Node, new: Graph) -> Node | None:
        """The replacement by the first rule that matches."""
        candidates = by_op.get(node.op.name, everywhere)
        if not candidates:
            return None
        operands = [Symbol(new, i) for i in node.inputs]
        saved = state.where  # as `lines_of` does, whose calls would take longer than most laws
        if node.where is not None:
            state.where = node.where
        try:
            for law in candidates:
                found: Symbol | None = law.apply(node, *operands)
                if found is not None and found.node is not node:
                    if log is not None:
                        log.append((law.name, node.op.name))
                    return found.node
        finally:
            state.where = saved
        return None

    def settled(node: Node, other: Node, new: Graph) -> Node:
        """A law may build several nodes: those below the top are settled too, operands first. No call for each of them:
        they may be deeper than Python's stack."""
        waiting = [(node, other, 1)]  # the requested node, its present form, rules applied
        while waiting:
            asked, now, applied = waiting.pop()
            if asked in seen:
                continue
            if now in seen or not now.inputs:
                now = seen.get(now, now)
            else:
                missing = [(i, i, 0) for i in now.inputs if i not in seen and i.inputs]
                if missing:
                    waiting += [(asked, now, applied), *reversed(missing)]
                    continue
                inputs = tuple(seen.get(i, i) for i in now.inputs)
                now = now if inputs == now.inputs else copy(new, now, inputs)
            found = better(now, new) if applied < LIMIT else None
            if found is not None:
                waiting.append((asked, found, applied + 1))
            else:
                seen[asked] = seen[now] = now
        return seen[node]

    def rewrite(new: Graph, node: Node, inputs: tuple[Node, ...]) -> Node:
        now = copy(new, node, inputs)
        if now in seen:
            return seen[now]
        other = better(now, new) if now.op.name in by_op or everywhere else None
        if other is None:  # its operands are settled
            seen[now] = now
            return now
        return settled(now, other, new)

    graph, first = rebuild(graph, results, rewrite)
    seen.clear()  # the functions refer to one another, and would keep all nodes until Python looks for cycles
    order = graph.reaching([first[r] for r in results])  # without what the laws left behind
    if any(_takes_values(node) for node in order if node.op.shape_only):
        live, second = rebuild(graph, [first[r] for r in results], copy)
        return live, {old: second[new] for old, new in first.items() if new in second}
    if len(order) == len(graph.nodes):
        return graph, first
    wanted = set(order)
    return graph.part(order), {old: new for old, new in first.items() if new in wanted}


def _takes_values(node: Node) -> bool:
    """Whether an operand that is read for its shape is a value."""
    return any(node.inputs[p].op.leaf != "shape" for p in node.op.shape_only if p < len(node.inputs))
