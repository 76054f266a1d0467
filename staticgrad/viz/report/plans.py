"""Plans as data for the page: instructions with their times and limits, memory over the schedule, the log of decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.types import TensorType
from ...compiler.backend.kernel_cache import without_comments
from ...compiler.codegen.cost import Cost
from ...compiler.execute.edges import Edge, edges_of, source_of
from ...compiler.execute.explain import arena_buffers, cost, critical_path_of, trips
from ...compiler.execute.limits import Limits
from ...errors import StaticgradError
from ...ir import Graph, Node
from ...ir.text import clip
from .pictures import LONG_LINE, Texts

REPEATS = 30
"""How often each instruction runs for its time."""
RELIABLE = 1.0
"""Microseconds from which the time of an instruction is more than the noise of the clock."""
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
            if plan.times.get(i, 0.0) >= RELIABLE:
                machine = machine.raised(spent, plan.times[i])
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
