"""`Comparison.to_html`: one file with the data, pictures of graphs among it, the scripts and the styles."""

from __future__ import annotations

import html
import itertools
import json
import math
import platform
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import version
from ...base.types import TensorType
from ...compiler.backend.kernel_cache import without_comments
from ...compiler.codegen.printers import Cost
from ...compiler.execute.explain import Edge, arena_buffers, cost, critical_path_of, edges_of, source_of, trips
from ...compiler.execute.profile import Limits, cpu_name, limits
from ...compiler.runtime.loader import get_num_threads
from ...errors import StaticgradError, Where
from ...ir import Graph, Node, View
from ...ir.text import attrs_text, backward_part, clip, kind_of, numbering, outputs_of
from ...tracing.segments.inspection import joined
from ...tracing.segments.inspection import title_of as title_of_segment
from ..placement import by_kernel, inside_of, scope_of, title_of

# Graphs as data for the page: nodes, edges, and a tree of groups that fold: parts of a step, modules, kernels, runs.
#
# The page lays out what is unfolded. Texts are stored once, and nodes as short rows, so that 5,000 nodes take some 300 kB.

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


# page -----------------------------------------------------------------------------------------------------------------

if TYPE_CHECKING:
    from ..comparison import Comparison, Mode

# Plans as data for the page: instructions with their times and limits, memory over the schedule, the log of decisions.

REPEATS = 30
"""How often each instruction runs for its time."""
MOST_LINES, MOST_DECISIONS = 40, 4000
"""The user's lines of an instruction, and decisions, that are listed."""


def timed_limits(plans: Sequence[Any], machine: Limits) -> Limits:
    """The limits of the machine, none of which a longer instruction exceeds. Times the instructions the first time."""
    for plan in plans:
        if not plan.times:
            try:
                plan.profile(REPEATS)
            except StaticgradError:  # it has never run
                continue
        for i, spent in enumerate(_costs(plan)):
            machine = machine.raised(spent, plan.times.get(i, 0.0))
    return machine


def _costs(plan: Any) -> list[Cost]:
    """The cost of each instruction; in a loop, that of all iterations."""
    costs = zip(map(cost, plan.instructions), trips(plan), strict=True)
    return [Cost(spent.flops * n, spent.bytes * n) for spent, n in costs]


def plan_data(plans: Sequence[Any], titles: Sequence[str], limits: Limits, texts: Texts) -> dict[str, Any]:
    """The plan of a function, or those of all its segments with a title each.

    instructions: segment, kind, name, source (-1: none), microseconds, least microseconds under the machine's limits, flops,
    bytes, chunks, lines, critical (2: on the critical path, and no other chain leads around it; 1: on it; 0: not). sources: of
    the kernels. segments: title, first instruction, how many instructions, memory as [bytes, offset, first, last, type] of each
    buffer, arena, bound, stages as [name, nodes, ops], and the critical path's share of all work."""
    sources: dict[str, str] = {}
    for plan in plans:
        for code, text in plan.sources().items():
            sources.setdefault(code, text)
    kernels = {code: i for i, code in enumerate(sources)}
    rows: list[dict[str, Any]] = []
    segments = []
    for number, (plan, title) in enumerate(zip(plans, titles, strict=True)):
        own = [{"segment": number, **row} for row in _instructions(plan, kernels, limits, texts)]
        critical = critical_path_of(plan)
        for i, row in enumerate(own):
            row["critical"] = (i in critical.instructions) + (i in critical.dominating)
        arena, bound = plan.memory
        memory = [
            [buffer.nbytes, buffer.offset, buffer.first, buffer.last, texts(f"{buffer.dtype} {list(buffer.shape)}")]
            for buffer in arena_buffers(plan)
        ]
        segments.append(
            {
                "title": texts(title), "first": len(rows), "count": len(own), "memory": memory, "arena": arena, "bound": bound,
                "stages": _stages(plan), "critical": round(critical.share, 4),
            }
        )  # fmt: skip
        rows += own
    return {
        "instructions": rows, "sources": list(sources.values()), "segments": segments,
        "log": _log(plans, texts),
    }  # fmt: skip


def _instructions(plan: Any, kernels: dict[str, int], limits: Limits, texts: Texts) -> list[dict[str, Any]]:
    rows = []
    for i, (instruction, spent) in enumerate(zip(plan.instructions, _costs(plan), strict=True)):
        us = plan.times.get(i)
        nodes = instruction.nodes or ([] if instruction.node is None else [instruction.node])
        double = any(node.dtype == np.float64 for node in nodes if isinstance(node.type, TensorType))
        lines = dict.fromkeys(texts.where(node.where) for node in nodes if node.where is not None)
        rows.append(
            {
                "kind": instruction.kind, "name": texts(clip(instruction.name, LONG_LINE)),
                "source": kernels[without_comments(instruction.source)] if instruction.source else -1,
                "us": None if us is None else round(us, 3), "least": round(limits.least_us(spent, double), 4),
                "flops": spent.flops, "bytes": spent.bytes, "chunks": instruction.chunks, "lines": list(lines)[:MOST_LINES],
            }
        )  # fmt: skip
    return rows


def _stages(plan: Any) -> list[list[Any]]:
    stages = plan.stages.graphs() if plan.stages is not None else {}
    return [[name, len(graph.nodes), _operations(graph)] for name, graph in [*stages.items(), ("end", plan.ir)]]


def _operations(graph: Graph) -> int:
    return sum(not node.op.leaf for node in graph.nodes)


def _log(plans: Sequence[Any], texts: Texts) -> dict[str, Any]:
    """rewrites: [rule, op, times]; decisions: [fused, producer, consumer, reason, line, times, bytes saved or paid by all of
    these, remedy], those of most bytes first."""
    decisions, sizes = Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
    for d in (d for plan in plans for d in _decisions(plan)):
        kind = d.fused, d.producer.op.name, d.consumer.op.name, str(d.reason), _line(d.consumer, texts), d.remedy
        decisions[kind] += 1
        sizes[kind] += d.bytes
    rewrites = Counter(each for plan in plans for each in plan.rewrites)
    notes = Counter(note for plan in plans for note in [*plan.notes, *plan.passed])
    return {
        "rewrites": [[texts(rule), texts(op), n] for (rule, op), n in rewrites.most_common()],
        "decisions": [
            [int(fused), texts(producer), texts(consumer), texts(reason), line, decisions[kind], size, texts(advice)]
            for kind, size in sizes.most_common(MOST_DECISIONS)
            for fused, producer, consumer, reason, line, advice in [kind]
        ],
        "left": max(len(decisions) - MOST_DECISIONS, 0),
        "notes": [[texts(note), n] for note, n in notes.items()],
    }  # fmt: skip


def _decisions(plan: Any) -> list[Edge]:
    """All edges between operations, and decisions about operations of which neither reads the other."""
    edges = edges_of(plan)
    known = {(edge.producer, edge.consumer) for edge in edges}
    others = {(source_of(d.producer), d.consumer): d for d in plan.decisions}
    return edges + [
        Edge(producer, consumer, d.fused, str(d.reason), 0, (-1, -1))
        for (producer, consumer), d in others.items()
        if (producer, consumer) not in known and producer not in consumer.inputs
    ]


def _line(node: Node, texts: Texts) -> int:
    return texts.where(node.where)


SCRIPTS = ("charts.js", "layout.js", "graph.js", "report.js")


def finite(data: Any) -> Any:
    """Plain data with None in place of numbers that JSON does not have."""
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def page(comparison: Comparison) -> str:
    """The text of the page."""
    assets = files(__package__)

    def asset(name: str) -> str:
        return assets.joinpath(name).read_text(encoding="utf-8")

    data = json.dumps(finite(page_data(comparison)), separators=(",", ":"), allow_nan=False)
    parts = {
        "title": html.escape(f"{comparison.function}: a comparison of modes"),
        "style": asset("report.css"),
        "data": data.replace("<", "\\u003c"),  # no end of the script inside it
        "script": "\n".join(asset(name) for name in SCRIPTS),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], asset("page.html"))


def page_data(comparison: Comparison) -> dict[str, Any]:
    """The figures, the graphs and the plan of the native mode, with the machine's limits."""
    texts = Texts()
    pictures = []
    planned = next((m for m in reversed(comparison.modes) if m.plan is not None), None)
    for mode in comparison.modes:
        if mode.graph is not None:
            name = "Eager tape" if mode.plan is None else "Define-then-run graph"
            pictures.append({"name": name, "mode": mode.name, **picture(mode.graph, texts, loss=_loss(mode.graph))})
    data: dict[str, Any] = {**comparison.as_dict(), "pictures": pictures, "plan": None}
    if planned is not None:
        plans, titles, whole = _native(planned, texts)
        pictures.append({"name": "Optimized graph with kernels", "mode": planned.name, **whole})
        machine = timed_limits(plans, limits())
        data["plan"] = {"mode": planned.name, **plan_data(plans, titles, machine, texts)}
        data["limits"] = {"flops": machine.flops, "bandwidth": machine.bandwidth}
    data["texts"] = list(texts.known)
    data["made"] = made()
    return data


def made() -> str:
    """When and where the figures were measured, with what."""
    names = {"staticgrad": version.__version__, "Python": platform.python_version(), "NumPy": np.__version__}
    versions = ", ".join(f"{name} {version}" for name, version in names.items())
    return f"{datetime.now():%Y-%m-%d %H:%M}, {cpu_name()}, {get_num_threads()} threads; {versions}"


def _native(mode: Mode, texts: Texts) -> tuple[list[Any], list[str], dict[str, Any]]:
    """The plans of a mode, one for each segment, with titles; and their drawing, which numbers the instructions of all."""
    planned = [(number, segment) for number, segment in enumerate(mode.segments) if segment.plan is not None]
    if not planned:
        plan: Any = mode.plan
        fetched = plan.builder.fetched_nodes
        _, kernels = by_kernel(plan)
        return [plan], [""], picture(plan.ir, texts, loss=fetched[0] if fetched else None, kernels=kernels)
    graph, places = joined(mode.segments)
    titles = {number: title_of_segment(number, segment) for number, segment in planned}
    plans = [segment.plan for _, segment in planned]
    counts = [len(plan.instructions) for plan in plans]
    first = dict(zip(titles, itertools.accumulate(counts, initial=0), strict=False))
    kernels = {}
    for node, (number, i) in places.items():
        if i >= 0:
            row = mode.segments[number].plan.instructions[i]
            kernels[node] = f"{first[number] + i} {row.kind} {row.name}"
    homes = {node: titles[place.segment] for node, place in places.items()}
    return plans, list(titles.values()), picture(graph, texts, kernels=kernels, segments=homes)


def _loss(graph: Graph) -> Node | None:
    """The first result."""
    outputs = outputs_of(graph)
    return next(iter(outputs.values()), None)
