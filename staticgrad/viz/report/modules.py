"""The module that each node of a graph belongs to, found by the parameters that nodes read and by the user's lines.

A module's operations stand on the line that calls it, and one of them reads its parameters. So a node belongs to the module of
a reader on its own line, as the mean of a layer norm does; a gradient to the module whose values of the same line it reads;
and another node on the line of a call to the caller of that module, as a residual sum does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ...ir import Graph, Node, View
from ..grouping import scope_of

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
