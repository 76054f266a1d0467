"""Assignments in a branch of `cond`: a branch is pure, so it gives the new values of variables as further results, and the
assignments follow it. The other branch gives the values that the variables have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...ir import REGISTRY, Graph, Node
from ...operators import Symbol, append, control_of, state
from ..host_calls import nothing


class Resolved(NamedTuple):
    """A branch without effects: its results, the new values of variables, the effects that it had, and those outside that its
    operations come after."""

    results: list[Node]
    assigned: dict[Node, Node]
    effects: set[Node]
    before: list[Node]


def resolved(graph: Graph, added: Sequence[Node], results: Sequence[Node], own: Callable[[Node], bool]) -> Resolved:
    """The branch whose operations were appended to the graph, with values in place of its assignments and of the reads that
    see them. own: whether an effect belongs to the branch, and not to a variable that it made."""
    inner = set(added)
    effects = {n for n in added if n.op.effect in ("assign", "group") and own(n)}
    before = [a for n in added for a in n.after if a not in inner and a.op.effect]
    if not effects:
        return Resolved(list(results), {}, set(), list(dict.fromkeys(before)))
    moved: dict[Node, Node] = {}
    assigned: dict[Node, Node] = {}
    order = {node: i for i, node in enumerate(added)}
    for node in added:
        inputs = tuple([moved.get(i, i) for i in node.inputs])
        if node in effects:
            if node.op.effect == "assign":
                variable = node.inputs[0]
                value = inputs[1] if node.op is REGISTRY["assign"] else _updated(graph, node, assigned.get(variable), inputs)
                moved[node] = assigned[variable] = value
        elif node.op.effect == "read":
            moved[node] = _seen(graph, node, order, moved, effects)
            effects.add(node)
        elif not node.op.leaf and not node.op.effect and (inputs != node.inputs or any(a in inner for a in node.after)):
            moved[node] = graph.add(node.op, inputs, node.attrs, node.type, "", node.where)
    return Resolved([moved.get(r, r) for r in results], assigned, effects, list(dict.fromkeys(before)))


def ordered(graph: Graph, added: Sequence[Node], results: Sequence[Node]) -> list[Node]:
    """The results of a body in which operations that come after a call of Python (a check, a print) read it: a body keeps
    nothing that is there for its order alone."""
    calls = {n for n in added if n.op.stateful}
    if not calls:
        return list(results)
    moved: dict[Node, Node] = {}

    def before(nodes: Sequence[Node]) -> list[Node]:
        """The calls among control inputs, and among those of groups."""
        found = []
        for a in nodes:
            found += [moved.get(a, a)] if a in calls else before(a.after) if a.op.effect == "group" else []
        return found

    for node in added:
        inputs, waits = tuple([moved.get(i, i) for i in node.inputs]), before(node.after)
        if node.op.effect or not (waits or inputs != node.inputs):
            continue
        if waits and not inputs:
            moved[node] = _watched(graph, node, waits)
            continue
        if waits:
            inputs = (_watched(graph, inputs[0], waits), *inputs[1:])
        moved[node] = graph.add(node.op, inputs, node.attrs, node.type, "", node.where, node.after)
    return [moved.get(r, r) for r in results]


def _watched(graph: Graph, x: Node, calls: Sequence[Node]) -> Node:
    return append(graph, REGISTRY["watch"], [Symbol(graph, n) for n in (x, *calls)], {"call": nothing}).node


def _updated(graph: Graph, node: Node, current: Node | None, inputs: tuple[Node, ...]) -> Node:
    """The value that an update gives a variable."""
    op, attrs = REGISTRY[node.attrs["op"]], dict(node.attrs["attrs"])
    operands = (node.inputs[0] if current is None else current, *inputs[1:])
    value = graph.add(op, operands, attrs, op.infer(*(i.type for i in operands), **attrs), "", node.where)
    if all(i.type.static for i in operands):
        return value
    return graph.add(REGISTRY["fit"], (value,), {"shape": node.type.shape}, node.type, "", node.where)


def _seen(graph: Graph, read: Node, order: dict[Node, int], moved: dict[Node, Node], effects: set[Node]) -> Node:
    """The value that a read in the branch sees: of the last assignment before it, else of the variable outside."""
    stack, known = list(read.after), set(read.after)
    latest: Node | None = None
    while stack:
        node = stack.pop()
        if node not in order:
            continue
        if node.op.effect == "assign" and node in effects and node.inputs[0] is read.inputs[0]:
            latest = node if latest is None or order[node] > order[latest] else latest
        new = [p for p in node.parents if p not in known]
        known.update(new)
        stack += new
    if latest is not None:
        return moved[latest]
    outside = tuple(a for a in read.after if a not in order)
    if not outside:
        return read.inputs[0]
    return graph.add(read.op, read.inputs, read.attrs, read.type, "", read.where, outside)


@contextmanager
def _after(graph: Graph, nodes: Sequence[Node]) -> Iterator[None]:
    state.control.append(tuple(dict.fromkeys([*control_of(graph), *nodes])))
    try:
        yield
    finally:
        state.control.pop()


def assign_results(graph: Graph, variables: Sequence[Node], values: Sequence[Any], results: Sequence[Any],
                   before: Sequence[Node]) -> list[Any]:  # fmt: skip
    """Assign values that a branch gave, after `before`; the results are there once that is done."""
    with _after(graph, before):
        made = [append(graph, REGISTRY["assign"], (Symbol(graph, v), x), {}).node
                for v, x in zip(variables, values, strict=True)]  # fmt: skip
    with _after(graph, [*before, *made]):
        return [append(graph, REGISTRY["identity"], (x,), {}) for x in results]
