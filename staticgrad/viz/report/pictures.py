"""Graphs as data for the page: nodes, edges, and a tree of groups that fold: parts of a step, modules, kernels, runs.

The page lays out what is unfolded. Texts are stored once, and nodes as short rows, so that 5,000 nodes take some 300 kB.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ...errors import Where
from ...ir import Graph, Node, View
from ...ir.text import attrs_text, backward_part, clip, kind_of, numbering, outputs_of
from ..grouping import scope_of
from ..placement import inside_of, title_of

# The module that each node of a graph belongs to, found by the parameters that nodes read and by the user's lines.
#
# A module's operations stand on the line that calls it, and one of them reads its parameters. So a node belongs to the module
# of a reader on its own line, as the mean of a layer norm does; a gradient to the module whose values of the same line it
# reads; and another node on the line of a call to the caller of that module, as a residual sum does.

Path = tuple[str, ...]


def modules(graph: Graph, part: Mapping[Node, str]) -> dict[Node, Path]:
    """The path of modules of each node, from the outermost inwards: ("blocks", "blocks.0", "blocks.0.up"). part: of a step,
    to which each node belongs; readers count within one part."""
    known = _by_parameters(graph)
    found = dict(known)
    for node in reversed(graph.nodes):
        if node in found or node.op.leaf or node.where is None:
            continue
        near = [found[user] for user in graph.succ[node] if user in found and _beside(user, node) and part[user] == part[node]]
        if near:
            found[node] = common(near)
    for node in graph.nodes:
        if node in found or node.op.leaf:
            continue
        operands = [i for i in node.inputs if i in found]
        beside = [i for i in operands if _beside(i, node)]
        earlier = [found[i] for i in beside if part[i] != part[node]]
        if earlier:
            found[node] = max(earlier, key=len)
        elif beside:
            called = [found[i] for i in beside if i in known] if part[node] == "forward" else []
            found[node] = common(called)[:-1] if called else common(found[i] for i in beside)
        elif operands:
            after = [found[user] for user in graph.succ[node] if user in found]
            found[node] = common([found[operands[-1]], *after[:1]])
    return {node: path for node, path in found.items() if path}


def _by_parameters(graph: Graph) -> dict[Node, Path]:
    """The paths of parameters, of views of them, and of the nodes that read either."""
    parameters: dict[Node, Path] = {}
    found: dict[Node, Path] = {}
    for node in graph.nodes:
        scope = scope_of(node.attrs["cell"].name) if node.op.leaf == "variable" else ""
        path = outward(scope) if scope else ()
        if not path and len(node.inputs) == 1 and isinstance(node.op.emit, View):
            path = parameters.get(node.inputs[0], ())
        if path:
            parameters[node] = path
        else:
            path = next((parameters[i] for i in node.inputs if i in parameters), ())
        if path:
            found[node] = path
    return found


def _beside(a: Node, b: Node) -> bool:
    """Whether both are of one line of the user's."""
    return a.where is not None and a.where == b.where


def outward(name: str) -> Path:
    """`layers`, `layers.0`, `layers.0.attn` of the last."""
    ends = [match.start() for match in re.finditer("[./]", name)]
    return tuple(name[:end] for end in [*ends, len(name)])


def common(paths: Iterable[Path]) -> Path:
    """The modules that all paths begin with."""
    first, *others = paths
    for path in others:
        same = [a == b for a, b in zip(first, path, strict=False)]
        first = first[: same.index(False) if False in same else len(same)]
    return first


MOST_CHILDREN, FEW = 40, 8
"""Members of a group, more of which become runs that fold; and members of a run at the least."""
LONG_LINE = 100
"""Letters of a source line."""
EMPTY: Mapping[Any, Any] = MappingProxyType({})


class Texts:
    """Each text once, by number."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        return self.known.setdefault(text, len(self.known))

    def where(self, where: Where | None) -> int:
        return 0 if where is None else self(f"{where.short}  {clip(where.text, LONG_LINE)}".rstrip())


def picture(
    graph: Graph, texts: Texts, *, loss: Node | None = None, kernels: Mapping[Node, str] = EMPTY,
    segments: Mapping[Node, str] = EMPTY,
) -> dict[str, Any]:  # fmt: skip
    """A graph as data. loss: a result whose ancestors are the forward part. kernels: the instruction that computes a node, as
    "number kind name"; segments: the titles of the segments that nodes belong to, which are the outermost groups.

    nodes: [title, type, kind, group, line, attributes, results], numbers of texts and of the group (-1: none).
    edges: [from, to, kind] with kind 0 for a value, 1 for a shape only, 2 for a control dependency.
    groups: [title, parent, kind, instruction], kind "segment", "part", "module", "kernel" or "run".
    """
    inside = inside_of(graph)
    shown = [node for node in graph.nodes if node not in inside]
    tree = Tree(graph, shown, _paths(graph, shown, loss, kernels, segments), set(segments.values()))
    number = numbering(graph)
    at = {node: i for i, node in enumerate(shown)}
    results: dict[Node, list[str]] = {}
    for name, node in outputs_of(graph).items():
        results.setdefault(node, []).append(name)
    backward = backward_part(graph) if loss is None else set(shown).difference(graph.reaching([loss]))
    rows = []
    for node in shown:
        attrs = "" if node.op.leaf else ", ".join(f"{key}={text}" for key, text in attrs_text(node).items())
        rows.append(
            [
                texts(f"{number[node]} {title_of(node, inside)}"), texts(repr(node.type)), texts(kind_of(node, backward)),
                tree.group_of[node], texts.where(node.where), texts(attrs), texts(", ".join(results.get(node, ()))),
            ]
        )  # fmt: skip
    edges = [[at[parent], at[node], kind] for node in shown for parent, kind in _operands(node).items() if parent in at]
    return {"nodes": rows, "edges": edges, "groups": tree.rows(texts)}


def _operands(node: Node) -> dict[Node, int]:
    found = dict.fromkeys(node.after, 2)
    for i, operand in enumerate(node.inputs):
        found[operand] = min(found.get(operand, 2), 1 if i in node.op.shape_only else 0)
    return found


# the tree of groups -----------------------------------------------------------------------------------------------------


class Tree:
    """Groups, and the group of each node (-1 for none). paths: from the outermost group inwards; segments: names of groups."""

    def __init__(self, graph: Graph, shown: Sequence[Node], paths: Mapping[Node, Path], segments: Collection[str]):
        self.segments = segments
        self.titles: list[str] = []
        self.parents: list[int] = []
        self.kinds: list[str] = []
        self.instructions: list[int] = []
        self.known: dict[Path, int] = {}
        self.group_of = {node: self._group(paths.get(node, ())) for node in shown}
        self._unwrap()
        self._runs(shown)

    def _group(self, path: Path) -> int:
        if not path:
            return -1
        if path not in self.known:
            parent = self._group(path[:-1])
            name = path[-1]
            kernel = re.match(r"kernel (\d+) (.*)", name)
            if kernel:
                kind = "kernel"
            elif len(path) == 1 and name in self.segments:
                kind = "segment"
            else:
                kind = "part" if len(path) == 1 and name in PARTS else "module"
            title = kernel[2] if kernel else name
            self.known[path] = self._add(title, parent, kind, int(kernel[1]) if kernel else -1)
        return self.known[path]

    def _add(self, title: str, parent: int, kind: str, instruction: int = -1) -> int:
        self.titles.append(title)
        self.parents.append(parent)
        self.kinds.append(kind)
        self.instructions.append(instruction)
        return len(self.titles) - 1

    def _unwrap(self) -> None:
        """Nodes of groups with one member belong to the group around it, and so do the groups of groups with one."""
        members = Counter(self.group_of.values()) + Counter(self.parents)
        lone = {g for g, n in members.items() if n == 1 and g >= 0 and self.kinds[g] in ("module", "part")}

        def outer(g: int) -> int:
            while g in lone:
                g = self.parents[g]
            return g

        self.group_of = {node: outer(g) for node, g in self.group_of.items()}
        self.parents = [outer(parent) for parent in self.parents]
        self.gone = lone

    def _runs(self, shown: Sequence[Node]) -> None:
        """Groups with many members get groups of members that follow one another."""
        members: dict[int, dict[tuple[str, Any], None]] = {}
        for node in shown:
            g = self.group_of[node]
            members.setdefault(g, {})["node", node] = None
            while g >= 0:
                parent = self.parents[g]
                members.setdefault(parent, {})["group", g] = None
                g = parent
        for g, own in list(members.items()):
            row = list(own)
            while len(row) > MOST_CHILDREN:
                size = min(max(-(-len(row) // MOST_CHILDREN), FEW), MOST_CHILDREN)
                parts = [row[i : i + size] for i in range(0, len(row), size)]
                row = [("group", self._run(g, part)) for part in parts]

    def _run(self, parent: int, part: Sequence[tuple[str, Any]]) -> int:
        names = [self.titles[x] if kind == "group" else x.op.name for kind, x in (part[0], part[-1])]
        names = [name.split(" to ")[i and -1] for i, name in enumerate(names)]
        run = self._add(names[0] if names[0] == names[1] else f"{names[0]} to {names[1]}", parent, "run")
        for kind, x in part:
            if kind == "group":
                self.parents[x] = run
            else:
                self.group_of[x] = run
        return run

    def rows(self, texts: Texts) -> list[list[int]]:
        rows = zip(self.titles, self.parents, self.kinds, self.instructions, strict=True)
        return [[texts(title), parent, texts(kind), instruction] for title, parent, kind, instruction in rows]


PARTS = ("forward", "gradients", "update")


def _paths(
    graph: Graph, shown: Sequence[Node], loss: Node | None, kernels: Mapping[Node, str], segments: Mapping[Node, str]
) -> dict[Node, Path]:
    """The groups around each node."""
    part = dict.fromkeys(graph.nodes, PARTS[0]) if segments else _parts(graph, loss)
    within = modules(graph, part)
    several = len(set(part.values())) > 1
    paths: dict[Node, Path] = {}
    for node in shown:
        outer = (segments[node],) if node in segments else (part[node],) if several and node in part else ()
        paths[node] = (*outer, *within.get(node, ()))
    members: dict[str, list[Node]] = {}
    for node in shown:
        if node in kernels:
            members.setdefault(kernels[node], []).append(node)
    found: dict[Node, Path] = {}
    for name, nodes in members.items():
        (path, _), *_ = Counter(paths[node] for node in nodes).most_common(1)
        for node in nodes:
            found[node] = (*path, f"kernel {name}")
    return {node: found.get(node, paths[node]) for node in shown}


def _parts(graph: Graph, loss: Node | None) -> dict[Node, str]:
    """The part of a step that each node belongs to: forward, gradients, update. Leaves belong to their first reader."""
    if loss is not None:
        forward = set(graph.reaching([loss]))
    else:
        forward = set(graph.nodes).difference(backward_part(graph))
    part: dict[Node, str] = {}
    updating: set[Node] = set()
    for node in graph.nodes:
        if node in forward:
            part[node] = "forward"
        elif node.op.leaf in ("variable", "argument") or node.op.effect or any(p in updating for p in node.parents):
            updating.add(node)
        part.setdefault(node, "update" if node in updating else "gradients")
    return part
