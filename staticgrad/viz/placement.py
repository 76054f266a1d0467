"""Where `draw` puts things: a graph's boxes in layers from the leaves down to the results, and the edges between them.

Layers, passing places for long edges, fewer crossings by barycentres, then coordinates: the method of Sugiyama, Tagawa
and Toda, "Methods for visual understanding of hierarchical system structures", IEEE Trans. SMC 11 (1981).
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..ir import Graph, Node, View
from ..ir.text import attr_text, attrs_text, backward_part, clip, numbering, outputs_of

# Nodes of a graph in groups, for drawings of large ones: by the module whose parameters they use, or by kernel.
#
# A group is drawn as one box, so groups must not depend on each other in a circle: a module that is used twice becomes two
# groups.

MOST_BOXES = 40
"""Boxes of a drawing whose groups are chosen automatically."""
WIDTH = 32
"""Letters of a line."""
SHOWN = 3
"""Ops and shapes that a group names; the others are counted."""

GRADIENT, NAMED_LINE = "gradient of ", "line "

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
            found[node] = f"{NAMED_LINE}{node.where.short}"
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
    if name.removeprefix(GRADIENT).startswith(NAMED_LINE):
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


# placement ------------------------------------------------------------------------------------------------------------

if TYPE_CHECKING:
    import networkx as nx

LETTER, LINE = 0.0628, 0.135
"""Inches: the width of a letter and the height of a line, in a monospaced font of 7.5 points."""
WIDEST = 32
"""Letters in a box."""
GAP_X, GAP_Y, PAGE = 0.22, 0.28, 12.0
"""Inches: between boxes, between layers, and the width at which unconnected parts begin a new row."""
ORDERINGS, PLACINGS = 16, 48
"""Sweeps over the layers, down and up in turn."""


class Link(NamedTuple):
    """A neighbor of a box. `port`: where the edge enters the lower one, from -0.5 (left) to 0.5 of its width."""

    box: Box
    port: float


@dataclass(eq=False)
class Box:
    """A node on paper, or (without a node) a place where an edge passes a layer. Inches; y grows downwards."""

    node: Node | None
    """Of a group: one of its nodes, whose kind it is drawn as."""
    lines: list[str] = field(default_factory=list)
    places: int = 0
    """How many of the last lines tell where the node comes from."""
    nodes: tuple[Node, ...] = ()
    """The nodes it stands for."""
    layer: int = 0
    x: float = 0.0
    y: float = 0.0
    height: float = 0.0
    above: list[Link] = field(default_factory=list)
    below: list[Link] = field(default_factory=list)

    @property
    def width(self) -> float:
        return 0.06 if self.node is None else max(len(line) for line in self.lines) * LETTER + 0.16

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height / 2


class Edge(NamedTuple):
    """From the first box of `path` to the last one, through passing places. `kind`: "value", "shape" or "control"."""

    path: list[Box]
    port: float
    kind: str


def place(graph: Graph, groups: Sequence[Group] = ()) -> tuple[list[Box], list[Edge]]:
    """The boxes of a graph's nodes (of each group: one) and its edges, with coordinates from (0, 0) to the right and
    downwards.

    Parts of the graph that nothing connects are laid out on their own, side by side, in rows like the words of a text.
    """
    import networkx as nx

    own = _boxes(graph, inside_of(graph), groups)
    boxes = {box.nodes[0]: box for box in own.values()}  # a group goes by its first node
    dag = nx.DiGraph()
    dag.add_nodes_from(boxes)
    for box in boxes.values():
        for parent in _parents(box, own):
            dag.add_edge(parent.nodes[0], box.nodes[0])
    edges: list[Edge] = []
    x = y = deepest = 0.0
    order = {node: i for i, node in enumerate(boxes)}
    parts = sorted(nx.weakly_connected_components(dag), key=lambda members: min(order[node] for node in members))
    for members in parts:
        layers = _layers(dag.subgraph(members), {node: box for node, box in boxes.items() if node in members})
        edges += _edges(own, layers)
        _order(layers)
        _rows(layers)
        _columns(layers)
        part = [box for layer in layers for box in layer]
        width, depth = max(box.x + box.width / 2 for box in part), max(box.bottom for box in part)
        if x and x + width > PAGE:
            x, y, deepest = 0.0, deepest + 2 * GAP_Y, 0.0
        for box in part:
            box.x += x
            box.y += y
        x, deepest = x + width + 2 * GAP_X, max(deepest, y + depth)
    return list(boxes.values()), edges


# boxes --------------------------------------------------------------------------------------------------------------


def inside_of(graph: Graph) -> set[Node]:
    """Constants of one element: they are drawn inside their readers."""
    results = set(outputs_of(graph).values())
    read = {operand for node in graph.nodes for operand in node.inputs}
    return {
        node
        for node in read
        if node.op.leaf == "constant" and node.attrs["value"].array.size == 1 and node not in results and not node.name
    }


def _boxes(graph: Graph, inside: set[Node], groups: Sequence[Group] = ()) -> dict[Node, Box]:
    """The box of each node that is drawn; those of a group share one."""
    boxes: dict[Node, Box] = {}
    for group in groups:
        lines = [clip(line, WIDEST) for line in [group.label, *group.lines()]]
        named = next((node for node in group.leaving if not node.op.leaf), None)
        named = named or next((node for node in reversed(group.nodes) if not node.op.leaf), group.nodes[0])
        box = Box(named, lines, nodes=tuple(group.nodes), height=len(lines) * LINE + 0.1)
        boxes.update(dict.fromkeys(group.nodes, box))
    number = numbering(graph)
    results: dict[Node, list[str]] = {}
    for name, node in outputs_of(graph).items():
        results.setdefault(node, []).append(name)
    told = None
    for node in number:
        if node in inside or node in boxes:
            continue
        lines = [f"{number[node]} {title_of(node, inside)}", repr(node.type)]
        if not node.op.leaf:
            shown = attrs_text(node)
            lines += [f"{key}={text}" for key, text in shown.items() if node.attrs[key] not in (None, False)]
        lines += [f"= {name}" for name in results.get(node, ())]
        places = []
        if node.where is not None:
            places = [node.where.short] if node.where == told else [node.where.short, node.where.text]
            told = node.where
        texts = [clip(line, WIDEST) for line in [*lines, *places] if line]
        boxes[node] = Box(node, texts, places=len(texts) - len(lines), nodes=(node,), height=len(texts) * LINE + 0.1)
    return boxes


def title_of(node: Node, inside: set[Node]) -> str:
    """`add`, `variable "w"`, and `mul(_, 2.0)` for a constant drawn inside."""
    title = node.op.name + (f' "{node.name}"' if node.name else "")
    if any(operand in inside for operand in node.inputs):
        operands = (attr_text(o.attrs["value"]) if o in inside else "_" for o in node.inputs)
        return f"{title}({', '.join(operands)})"
    if node.op.leaf == "constant" and not node.name:
        return f"{title} {attr_text(node.attrs['value'])}"
    return title


# layers -------------------------------------------------------------------------------------------------------------


def _layers(dag: nx.DiGraph, boxes: dict[Node, Box]) -> list[list[Box]]:
    """The topological generations; then leaves move down to just above their first reader."""
    import networkx as nx

    for depth, generation in enumerate(nx.topological_generations(dag)):
        for node in generation:
            boxes[node].layer = depth
    for node, box in boxes.items():
        if not dag.in_degree(node) and dag.out_degree(node):
            box.layer = min(boxes[reader].layer for reader in dag.successors(node)) - 1
    layers: list[list[Box]] = [[] for _ in range(max(box.layer for box in boxes.values()) + 1)]
    for box in boxes.values():
        layers[box.layer].append(box)
    return layers


def _edges(boxes: dict[Node, Box], layers: list[list[Box]]) -> list[Edge]:
    """The edges into these layers. Those of one source share their passing places: they run as one until they part."""
    edges = []
    passing: dict[tuple[Box, int], Box] = {}
    for target in [box for layer in layers for box in layer]:
        parents = _parents(target, boxes)
        for i, source in enumerate(parents):
            path = [source]
            for layer in range(source.layer + 1, target.layer):
                if (source, layer) not in passing:
                    passing[source, layer] = Box(None, layer=layer)
                    layers[layer].append(passing[source, layer])
                    _link(path[-1], passing[source, layer], 0.0)
                path.append(passing[source, layer])
            path.append(target)
            port = 0.8 * ((i + 1) / (len(parents) + 1) - 0.5)
            _link(path[-2], target, port)
            edges.append(Edge(path, port, _kind(target, source)))
    return edges


def _parents(box: Box, boxes: dict[Node, Box]) -> list[Box]:
    """The boxes that this one reads, in the order of its operands."""
    found = dict.fromkeys(boxes[parent] for node in box.nodes for parent in node.parents if parent in boxes)
    return [parent for parent in found if parent is not box]


def _kind(target: Box, source: Box) -> str:
    """The kind of an edge: a value, a shape only, or a control dependency."""
    given = set(source.nodes)
    roles = {
        "shape" if i in node.op.shape_only else "value"
        for node in target.nodes
        for i, operand in enumerate(node.inputs)
        if operand in given
    }
    return "value" if "value" in roles else "shape" if roles else "control"


def _link(upper: Box, lower: Box, port: float) -> None:
    upper.below.append(Link(lower, port))
    lower.above.append(Link(upper, port))


# order --------------------------------------------------------------------------------------------------------------


def _order(layers: list[list[Box]]) -> None:
    """Sort each layer by the mean place of its neighbors, and keep the order with the fewest crossings."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(ORDERINGS):
        down = sweep % 2 == 0
        pairs = list(itertools.pairwise(layers))
        for upper, lower in pairs if down else reversed(pairs):
            layer, fixed = (lower, upper) if down else (upper, lower)
            at = {box: i for i, box in enumerate(fixed)}
            own = {box: i * len(fixed) / len(layer) for i, box in enumerate(layer)}
            wanted = {
                box: _mean([at[link.box] for link in box.above], own[box])
                if down
                else _mean([at[link.box] + link.port for link in box.below], own[box])
                for box in layer
            }
            layer.sort(key=wanted.__getitem__)
        crossings = _crossings(layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    for layer, order in zip(layers, best, strict=True):
        layer[:] = order


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _crossings(layers: list[list[Box]]) -> int:
    """Pairs of edges between neighboring layers that cross: inversions among the lower ends, from left to right."""
    total = 0
    for upper, lower in itertools.pairwise(layers):
        at = {box: i for i, box in enumerate(lower)}
        seen: list[float] = []
        for box in upper:
            ends = sorted(at[link.box] + link.port for link in box.below)
            total += sum(len(seen) - bisect.bisect_right(seen, end) for end in ends)
            for end in ends:
                bisect.insort(seen, end)
    return total


# coordinates --------------------------------------------------------------------------------------------------------


def _rows(layers: list[list[Box]]) -> None:
    """Layers one under the other, further apart where many edges run."""
    y = 0.0
    for layer in layers:
        height = max(box.height for box in layer)
        for box in layer:
            box.y = y + height / 2
            if box.node is None:
                box.height = height
        y += height + GAP_Y + 0.02 * sum(len(box.below) for box in layer)


def _columns(layers: list[list[Box]]) -> None:
    """Each box as near to the mean of its neighbors as its layer allows; the leftmost edge is at 0."""
    for layer in layers:
        _pack(layer, [0.0] * len(layer))
    for sweep in range(PLACINGS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            _pack(layer, [_wanted(box, down) for box in layer])
    left = min((box.x - box.width / 2 for layer in layers for box in layer), default=0.0)
    for layer in layers:
        for box in layer:
            box.x -= left


def _wanted(box: Box, down: bool) -> float:
    """The x that makes the edges of one side (of the other, when there are none) straight on average."""
    above = [link.box.x - link.port * box.width for link in box.above]
    below = [link.box.x + link.port * link.box.width for link in box.below]
    first, second = (above, below) if down else (below, above)
    return _mean(first, _mean(second, box.x))


def _pack(layer: list[Box], wanted: list[float]) -> None:
    """Put boxes as near to `wanted` as their order and widths allow.

    With s the place of a box when all touch from the left, the differences wanted - s have to become non-decreasing:
    least squares by pooling adjacent violators.
    """
    starts, start = [], 0.0
    for left, box in zip([None, *layer], layer, strict=False):
        if left is not None:
            start += (left.width + box.width) / 2 + GAP_X
        starts.append(start)
    pools: list[tuple[float, int]] = []  # mean difference, boxes
    for goal, start in zip(wanted, starts, strict=True):
        mean, count = goal - start, 1
        while pools and pools[-1][0] > mean:
            before, members = pools.pop()
            mean, count = (before * members + mean * count) / (members + count), members + count
        pools.append((mean, count))
    shifts = [mean for mean, count in pools for _ in range(count)]
    for box, shift, start in zip(layer, shifts, starts, strict=True):
        box.x = shift + start
