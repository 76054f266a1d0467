"""`Comparison.to_html`: one file with the data, the scripts and the styles."""

from __future__ import annotations

import html
import itertools
import json
import platform
import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import version
from ...base.types import TensorType
from ...compiler.backend.kernel_cache import without_comments
from ...compiler.codegen.printers import Cost
from ...compiler.execute.explain import Edge, arena_buffers, cost, critical_path_of, edges_of, source_of, trips
from ...compiler.execute.profile import Limits, cpu_name, limits
from ...compiler.runtime.loader import get_num_threads
from ...errors import StaticgradError
from ...ir import Graph, Node
from ...ir.text import clip, outputs_of
from ...tracing.segments.inspection import joined, title_of
from ..comparison_text import finite
from ..grouping import by_kernel
from .pictures import LONG_LINE, Texts, picture

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
    titles = {number: title_of(number, segment) for number, segment in planned}
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
