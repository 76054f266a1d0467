"""Rewriting by rules: one driver over data (`ops/rewrites/algebra.py`), with a log of the rules applied."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Graph, Node
from ...operators import Symbol, state
from ...ops.rewrites.rule import RewriteRule
from .specialize import copy, rebuild

LIMIT = 32  # rewrites of one node: two rules that undo each other would run forever


def simplify(
    graph: Graph, results: Sequence[Node], rules: Sequence[RewriteRule], log: list[tuple[str, str]] | None = None
) -> tuple[Graph, dict[Node, Node]]:
    """Apply `rules` to every node, operands first, until none fires. `log` collects (rule, op) by name."""
    by_op: dict[str, list[RewriteRule]] = {}
    for rule in rules:
        for name in rule.ops:
            by_op.setdefault(name, []).append(rule)
    everywhere = [rule for rule in rules if not rule.ops]
    for found in by_op.values():
        found[:0] = everywhere
    seen: dict[Node, Node] = {}

    def better(node: Node, new: Graph) -> Node | None:
        """The replacement by the first rule that matches."""
        candidates = by_op.get(node.op.name, everywhere) if node.op.plain is node.op else everywhere
        if not candidates:
            return None
        operands = [Symbol(new, i) for i in node.inputs]
        saved = state.where  # as `lines_of` does, whose calls would take longer than most rules
        if node.where is not None:
            state.where = node.where
        try:
            for rule in candidates:
                found: Symbol | None = rule.apply(node, *operands)
                if found is not None and found.node is not node:
                    if log is not None:
                        log.append((rule.name, node.op.name))
                    return found.node
        finally:
            state.where = saved
        return None

    def final(node: Node, other: Node, new: Graph) -> Node:
        """The final form of the node that a rule returned. A rule may build several nodes: those below it are rewritten too,
        operands first, without recursion, because they may be deeper than Python's stack."""
        waiting = [(node, other, 1)]  # the requested node, its current form, the number of rules applied
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
        if other is None:  # its operands have their final form
            seen[now] = now
            return now
        return final(now, other, new)

    graph, first = rebuild(graph, results, rewrite)
    seen.clear()  # the closures refer to one another and would keep all nodes until the next garbage collection
    graph.prune([first[r] for r in results])  # of the nodes that rules replaced
    if any(_takes_values(node) for node in graph.nodes if node.op.shape_only):
        graph, second = rebuild(graph, [first[r] for r in results], copy)
        first = {old: second[new] for old, new in first.items() if new in second}
        graph.prune([first[r] for r in results])  # of values of which only the shape was read
    kept = graph.pred
    return graph, {old: new for old, new in first.items() if new in kept}


def _takes_values(node: Node) -> bool:
    """Whether an operand that is read for its shape is a value."""
    return any(node.inputs[p].op.leaf != "shape" for p in node.op.shape_only if p < len(node.inputs))
