"""Nodes of a graph in groups, for drawings of large ones: by the module whose parameters they use, or by kernel.

A group is drawn as one box, so groups must not depend on each other in a circle: a module that is used twice becomes two
groups.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir import Graph, Node, View
from ..ir.text import backward_part

MOST_BOXES = 40
"""Boxes of a drawing whose groups are chosen automatically."""
WIDTH = 32
"""Letters of a line."""
SHOWN = 3
"""Ops and shapes that a group names; the others are counted."""

GRADIENT, LINE = "gradient of ", "line "

Label = Callable[[Node], str | None]


@dataclass(eq=False)
class Group:
    """Nodes that are drawn as one box."""

    label: str
    nodes: list[Node]
    leaving: list[Node]
    """Members whose value is used outside, or a result."""

    def lines(self) -> list[str]:
        """The text of the box: its ops with their counts, and the types of its outputs."""
        ops = Counter(node.op.name for node in self.nodes if not node.op.leaf)
        leaves = Counter(node.op.leaf for node in self.nodes if node.op.leaf)
        texts = [f"{n} {name}" for name, n in ops.most_common(SHOWN)]
        if len(ops) > SHOWN:
            texts.append(_rest(ops))
        texts += [f"{n} {name}{'s' if n > 1 else ''}" for name, n in leaves.items()]
        types = Counter(repr(node.type) for node in self.leaving)
        leaving = [f"{f'{n} x ' if n > 1 else ''}{kind}" for kind, n in types.most_common(SHOWN)]
        if len(types) > SHOWN:
            leaving.append(_rest(types))
        texts[0] = f"{len(self.nodes)} nodes: {texts[0]}"
        if leaving:
            leaving[0] = f"-> {leaving[0]}"
        return [*_wrapped(texts), *_wrapped(leaving)]


def _rest(counts: Counter[str]) -> str:
    n = sum(n for _, n in counts.most_common()[SHOWN:])
    return f"{n} other{'s' if n > 1 else ''}"


def _wrapped(texts: Sequence[str]) -> list[str]:
    """Texts after commas, as many on a line as fit."""
    lines: list[str] = []
    for text in texts:
        if lines and len(lines[-1]) + 2 + len(text) <= WIDTH:
            lines[-1] += f", {text}"
        else:
            lines.append(text)
    return lines


def groups_of(graph: Graph, label: Label, inside: Iterable[Node] = ()) -> list[Group]:
    """The groups of nodes with equal labels, in the order of their first nodes; nodes without a label have none.

    A group is cut where it would depend on a group that depends on it. inside: nodes that are not drawn at all.
    """
    left_out, found = set(inside), []
    number: dict[Node, int] = {}
    members: list[list[Node]] = []
    names: list[str | None] = []
    before: list[int] = []  # the groups that each one depends on, as bits
    latest: dict[str, int] = {}
    for node in graph.nodes:
        if node in left_out:
            continue
        name = label(node)
        needs = {number[p] for p in node.parents if p in number}
        g = latest.get(name, -1) if name is not None else -1
        if g < 0 or any(d != g and before[d] >> g & 1 for d in needs):
            g = len(members)
            members.append([])
            names.append(name)
            before.append(0)
            if name is not None:
                latest[name] = g
        number[node] = g
        members[g].append(node)
        more = 0
        for d in needs - {g}:
            more |= before[d] | 1 << d
        more &= ~before[g]
        before[g] |= more
        if more and len(members[g]) > 1:  # others may depend on it already
            for later in range(g + 1, len(before)):
                if before[later] >> g & 1:
                    before[later] |= more
    results = set(graph.outputs.values())
    for node, g in number.items():  # a node that only one group reads belongs to it, unless it is an input
        if node.op.leaf not in ("", "placeholder") and names[g] is None and node not in results and len(members[g]) == 1:
            readers = {number[user] for user in graph.succ[node] if user in number}
            if len(readers) == 1 and names[to := readers.pop()] is not None:
                members[g].clear()
                members[to].insert(0, node)
    for nodes, name in zip(members, names, strict=True):
        if name is None or len(nodes) < 2:
            continue
        own = set(nodes)
        users = {n: [user for user, edge in graph.succ[n].items() if edge["positions"]] for n in nodes}
        leaving = [n for n in nodes if n in results or any(user not in own for user in users[n])]
        found.append(Group(name, nodes, leaving))
    return found


def titles(groups: Sequence[Group]) -> dict[str, list[Node]]:
    """The nodes of each group by a title of its own: its label, with a number from the second group of that label on."""
    seen: Counter[str] = Counter()
    found = {}
    for group in groups:
        n = seen[group.label]
        found[group.label if n == 0 else f"{group.label} ({n + 1})"] = group.nodes
        seen[group.label] += 1
    return found


# modules ------------------------------------------------------------------------------------------------------------


def scope_of(name: str) -> str:
    """`encoder.0` of `encoder.0.weight`, `layer` of `layer/w`; empty for a name without a scope."""
    return re.split(r"[./][^./]*$", name)[0] if re.search("[./]", name) else ""


def by_module(graph: Graph) -> dict[Node, str]:
    """The module of each node: the scope of the parameters that it uses, else that of others on the same line of the
    user's, of the operand, or the line itself. Gradients have groups of their own. Parameters have
    the names that `named_parameters`, or making an optimizer of `model.parameters()`, gave them."""
    parameters: dict[Node, str] = {}
    found: dict[Node, str] = {}
    lines: dict[Any, set[str]] = {}
    for node in graph.nodes:
        scope = scope_of(node.attrs["cell"].name) if node.op.leaf == "variable" else ""
        if not scope and len(node.inputs) == 1 and isinstance(node.op.emit, View):
            scope = parameters.get(node.inputs[0], "")
        if scope:
            parameters[node] = scope
        used = scope or next((parameters[i] for i in node.inputs if i in parameters), "")
        if not used and node.name and not node.op.leaf:
            used = scope_of(node.name)
        if used:
            found[node] = used
            if node.where is not None and not node.op.leaf:
                lines.setdefault(node.where, set()).add(used)
    for node in graph.nodes:
        if node in found or node.op.leaf:
            continue
        there = lines.get(node.where, set())
        above = next((found[i] for i in node.inputs if i in found), "")
        if len(there) == 1:
            found[node] = next(iter(there))
        elif there and above:
            found[node] = above
        elif node.where is not None:
            found[node] = f"{LINE}{node.where.short}"
        elif above:
            found[node] = above
    gradients = backward_part(graph)
    return {node: GRADIENT + name if node in gradients else name for node, name in found.items()}


def automatic(graph: Graph, inside: Iterable[Node]) -> list[Group]:
    """Groups by module, of outer modules where there are too many, else of nodes that follow one another: at most
    `MOST_BOXES` boxes."""
    left_out = set(inside)
    names = by_module(graph)
    deepest = max((len(re.split("[./]", name)) for name in names.values()), default=1)
    for depth in range(deepest, 0, -1):
        outer = {node: _outer(name, depth) for node, name in names.items()}
        found = groups_of(graph, outer.get, left_out)
        if boxes(graph, found, left_out) <= MOST_BOXES:
            return found
    for several in (2, 4, 8, 16):
        joined = _neighbors(list(dict.fromkeys(_outer(name, 1) for name in names.values())), several)
        runs = {node: joined[_outer(name, 1)] for node, name in names.items()}
        found = groups_of(graph, runs.get, left_out)
        if boxes(graph, found, left_out) <= MOST_BOXES:
            return found
    number = {node: i for i, node in enumerate(n for n in graph.nodes if n not in left_out)}
    size = -(-len(number) // MOST_BOXES)
    ends = [f"nodes {first} to {min(first + size, len(number)) - 1}" for first in range(0, len(number), size)]
    return groups_of(graph, lambda node: ends[number[node] // size], left_out)


def _neighbors(names: Sequence[str], several: int) -> dict[str, str]:
    """Modules that follow one another under one name, gradients apart."""
    result: dict[str, str] = {}
    for gradient in (False, True):
        part = [name for name in names if name.startswith(GRADIENT) is gradient]
        for i in range(0, len(part), several):
            run = part[i : i + several]
            name = run[0] if len(run) == 1 else f"{run[0]} to {run[-1].removeprefix(GRADIENT)}"
            result.update(dict.fromkeys(run, name))
    return result


def _outer(name: str, depth: int) -> str:
    """The first parts of a module's path."""
    if name.removeprefix(GRADIENT).startswith(LINE):
        return name
    return "".join(re.split("([./])", name)[: 2 * depth - 1])


def boxes(graph: Graph, groups: Sequence[Group], inside: set[Node]) -> int:
    """How many boxes are drawn."""
    return len(graph.nodes) - len(inside) - sum(len(group.nodes) - 1 for group in groups)


# kernels ------------------------------------------------------------------------------------------------------------


def _with_results(plan: Any) -> Graph:
    """The nodes of a plan with the names of its results; of several with the same value, the first."""
    graph, results = Graph(), {f"result {i}": node for i, node in enumerate(plan.builder.fetched_nodes)}
    results |= {f"{cell.name or 'variable'} after": node for cell, node in plan.assigns}
    graph.outputs = {name: node for name, node in results.items() if node in plan.ir}
    read = {*graph.outputs.values(), *(x for node in plan.ir.nodes for x in node.parents)}
    for node in plan.ir.nodes:
        if node in read or node.op.leaf != "variable":
            graph.append(node)
    return graph


def by_kernel(plan: Any) -> tuple[Graph, dict[Node, str]]:
    """The graph of a plan, and the instruction that computes each node; a view belongs to its operand. Variables that are only
    written are no nodes of it, but names of its results."""
    graph = _with_results(plan)
    names: dict[Node, str] = {}
    for i, row in enumerate(plan.instructions):
        for node in row.nodes or ([row.node] if row.node is not None else []):
            names.setdefault(node, f"{i} {row.kind} {row.name}")
    for node in graph.nodes:
        if node not in names and not node.op.leaf and node.inputs:
            above = names.get(node.inputs[0])
            if above is not None and (isinstance(node.op.emit, View) or not node.op.pure):
                names[node] = above
    return graph, names
