"""Assignments in a branch of `cond` or in the body of a loop: these are pure, so they give the new values of variables as
further results, and the assignments follow them. The other branch gives the values that the variables have; a loop carries
them from one iteration to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from ...ir import REGISTRY, Graph, Node
from ...ir.walks import reached
from ..decisions import nothing
from ..operators import Symbol, append, control_of, state


class Resolved(NamedTuple):
    """A function without effects: its results, the new values of variables, the nodes that others replace, and the effects
    outside that its operations come after."""

    results: list[Node]
    assigned: dict[Node, Node]
    replaced: set[Node]
    before: list[Node]


def effects_of(
    added: Sequence[Node], results: Sequence[Node], own: Callable[[Node], bool], waits: bool
) -> tuple[set[Node], set[Node]]:
    """The assignments and groups among the appended operations, and those that don't run, with what depends on them.

    own: whether an effect belongs to the function, and not to a variable that it made. waits: those run for which the results
    wait, as in TensorFlow; else all run.
    """
    inner = set(added)
    found = {n for n in added if n.op.effect in ("assign", "group") and own(n)}
    if not found or not waits:
        return found, set()

    def before(node: Node) -> list[Node]:
        return [p for p in node.parents if p in inner]

    waited: list[Node] = list(reached(results, before))
    effects = found.intersection(waited)
    idle = found - effects
    for node in added:
        if any(p in idle for p in node.parents):
            idle.add(node)
    return effects, idle


def assigned_variables(added: Sequence[Node], effects: set[Node]) -> list[Node]:
    """The variables that effects assign to, in program order."""
    return list(dict.fromkeys(n.inputs[0] for n in added if n in effects and n.op.effect == "assign"))


def resolved(graph: Graph, added: Sequence[Node], results: Sequence[Node], effects: set[Node],
             carried: Mapping[Node, Node] = MappingProxyType({})) -> Resolved:  # fmt: skip
    """The function whose operations were appended to the graph, with values in place of its assignments and of the reads that
    see them. carried: parameters for the values that variables have at the beginning of an iteration."""
    inner = set(added)
    before = [a for n in added for a in n.after if a not in inner and a.op.effect]
    if not effects and not carried:
        return Resolved(list(results), {}, set(), list(dict.fromkeys(before)))
    moved: dict[Node, Node] = dict(carried)
    assigned: dict[Node, Node] = {}
    replaced = set(effects)
    order = {node: i for i, node in enumerate(added)}
    for node in added:
        inputs = tuple([moved.get(i, i) for i in node.inputs])
        if node in effects:
            if node.op.effect == "assign":
                variable = node.inputs[0]
                current = assigned.get(variable, carried.get(variable))
                value = inputs[1] if node.op is REGISTRY["assign"] else _updated(graph, node, current, inputs)
                moved[node] = assigned[variable] = value
        elif node.op.effect == "read":
            moved[node] = _seen(graph, node, order, moved, effects, carried)
            replaced.add(node)
        elif not node.op.leaf and not node.op.effect and (inputs != node.inputs or any(a in inner for a in node.after)):
            moved[node] = graph.add(node.op, inputs, node.attrs, node.type, "", node.where)
            replaced.add(node)
    return Resolved([moved.get(r, r) for r in results], assigned, replaced, list(dict.fromkeys(before)))


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


def _seen(graph: Graph, read: Node, order: dict[Node, int], moved: dict[Node, Node], effects: set[Node],
          carried: Mapping[Node, Node]) -> Node:  # fmt: skip
    """The value that a read in the function sees: of the last assignment before it, else the one that an iteration begins
    with, else that of the variable outside."""
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
    if read.inputs[0] in carried:
        return carried[read.inputs[0]]
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


def current_values(graph: Graph, variables: Sequence[Node], before: Sequence[Node]) -> list[Any]:
    """The values of variables after `before` and the control dependencies of the context."""
    with _after(graph, before):
        if not control_of(graph):
            return [Symbol(graph, v) for v in variables]
        return [append(graph, REGISTRY["read"], (v,), {}) for v in variables]


def assign_results(graph: Graph, variables: Sequence[Node], values: Sequence[Any], results: Sequence[Any],
                   before: Sequence[Node]) -> list[Any]:  # fmt: skip
    """Assign values that a branch or loop gave, after `before`; the results are there once that is done."""
    with _after(graph, before):
        made = [append(graph, REGISTRY["assign"], (Symbol(graph, v), x), {}).node
                for v, x in zip(variables, values, strict=True)]  # fmt: skip
    with _after(graph, [*before, *made]):
        return [append(graph, REGISTRY["identity"], (x,), {}) for x in results]
