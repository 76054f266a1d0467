"""What a plan does and why, for people: `Plan.explain()` and `Plan.profile()`."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import UninitializedError
from ...ir import Node
from ...ir.walks import quotient
from ...types import TensorType
from ..backend.abi import BEHIND, ENTER, GO, REPEAT, T
from ..backend.kernel_cache import without_comments
from ..lower.instructions import Buffer, Instruction
from ..runtime import loader

if TYPE_CHECKING:
    import networkx as nx

    from .plan import Plan


def traffic(row: Instruction) -> int:
    """Bytes of the distinct buffers that a row touches."""
    return sum(slot.nbytes for slot in dict.fromkeys(slot for slot, _ in row.buffers))


def flops(row: Instruction) -> int:
    """Arithmetic of a product: 2 m n k. For kernels, cost units (one addition each)."""
    return 2 * row.work if row.kind == "gemm" else row.work


def graph_of_rows(plan: Plan) -> nx.DiGraph[int]:
    """See `Plan.graph`."""
    block_of: dict[Node, int] = {}
    for i, row in enumerate(plan.rows):
        block_of.update(dict.fromkeys(row.nodes, i))
        if row.node is not None:
            block_of.setdefault(row.node, i)
    graph = plan.ir
    for node in graph.nodes:  # what is only looked at in another way, or taken out of a loop, belongs to where it was made
        if node not in block_of and node.inputs and node.inputs[0] in block_of:
            block_of[node] = block_of[node.inputs[0]]
    found = quotient(graph.dag, block_of)
    times = plan.times
    for i, row in enumerate(plan.rows):
        found.add_node(
            i, name=row.name, kind=row.kind, ops=tuple(n.op.name for n in row.nodes), source=row.source or None,
            bytes=traffic(row), cost=flops(row), microseconds=times.get(i),
            where=row.node.where if row.node is not None else None,
        )  # fmt: skip
    return found


def explain(plan: Plan) -> str:
    """The plan as text: rows, buffers, fusion decisions, laws that fired, how variables are written."""
    lines = [summary(plan), "", "rows"]
    kernels = {code: number for number, code in enumerate(plan.sources())}
    depths = depth_of_rows(plan.rows)
    for i, row in enumerate(plan.rows):
        what = f"kernel {kernels[without_comments(row.source)]}" if row.source else row.kind
        where = row.node.where.short if row.node is not None and row.node.where is not None else ""
        name = _clip("  " * depths[i] + row.name, 46)
        lines.append(
            f"  {i:3d}  {what:10s} {name:46s} {traffic(row):>10,d} B {flops(row):>12,d} flop"
            f"  x{row.chunks}  {where}"
        )
    lines += ["", "buffers in the arena (bytes, offset, rows of first and last use)"]
    lines += [
        f"  {slot.nbytes:>10,d} at {slot.offset:>10,d}  {slot.first:3d} to {slot.last:3d}" for slot in arena_slots(plan)
    ]
    lines += ["", "fusion"]
    lines += counted(f"{'yes' if d.fused else 'no '}  {d}" for d in plan.decisions)
    if plan.passed:
        lines += ["", "passes of the user", *(f"  {line}" for line in plan.passed)]
    if plan.laws:
        lines += ["", "laws applied"]
        lines += [f"  {n} x {law} (at {op})" for (law, op), n in Counter(plan.laws).items()]
    if plan.notes:
        lines += ["", "variables, values written over others, and the choice of routines"]
        lines += counted(plan.notes)
    hosts = [row for row in plan.rows if row.kind == "host"]
    if hosts:
        lines += ["", f"host calls ({'numerics=strict' if plan.strict else 'no native code for these yet'})"]
        lines += [f"  {row.name} {row.node.type if row.node is not None else ''}" for row in hosts]
    return "\n".join(lines)


def overview(plan: Plan) -> str:
    """What `print(plan)` shows: rows, what goes in and out, memory, and where there is more."""
    arena, bound = plan.memory
    kinds = Counter(row.kind for row in plan.rows)
    inputs = [f'{node.name or "input"} {node.type}' for node in plan.feeds]
    shapes = [slot.shape if slot.layout is None else slot.layout.shape for slot in plan.fetches]
    results = [repr(TensorType(shape, slot.dtype)) for shape, slot in zip(shapes, plan.fetches, strict=True)]
    written = f"; writes {_listed([cell.name or 'a variable' for cell in plan.written])}" if plan.written else ""
    return "\n".join(
        [
            f"Plan of {len(plan.rows)} rows: {plan.kernels} generated kernels, {plan.host_calls} host calls",
            f"  rows     {', '.join(f'{n} {kind}' for kind, n in kinds.most_common()) or 'none'}",
            f"  inputs   {_listed(inputs)}",
            f"  results  {_listed(results)}{written}",
            f"  memory   {arena:,d} bytes, {bound:,d} of them alive at once",
            "  more     .explain() for all rows and reasons, .source(i) for a kernel's text, .profile() for times",
        ]
    )


def _listed(texts: Sequence[str]) -> str:
    """The first few of them."""
    shown = ", ".join(_clip(text, 40) for text in texts[:LISTED])
    return (shown or "none") + (f" and {len(texts) - LISTED} more" if len(texts) > LISTED else "")


LISTED = 3
"""Inputs, results and variables that an overview names."""


def counted(lines: Iterable[str]) -> list[str]:
    """Each line once, with how many times it stands there."""
    return [f"  {line}" + (f"  ({n} times)" if n > 1 else "") for line, n in Counter(lines).items()]


def depth_of_rows(rows: Sequence[Instruction]) -> list[int]:
    """How many loops and branches each row is inside of."""
    depths: list[int] = []
    ends: list[int] = []
    for i, row in enumerate(rows):
        ends = [end for end in ends if end > i]
        depths.append(max(len(ends) - (row.control in (REPEAT, GO)), 0))
        if row.control == ENTER:
            ends.append(int(row.size_array[BEHIND // 8]))
        elif row.kind == "branch":
            ends.append(int(rows[int(row.size_array[0]) - 1].size_array[0]))
    return depths


def trips(plan: Plan) -> list[int]:
    """How often each row ran in the plan's latest run, as far as loops decide it."""
    counts: list[int] = []
    inside: list[int] = []
    for row in plan.rows:
        if row.control == ENTER:
            inside.append(int(row.size_array[T // 8]))
        elif row.control == REPEAT:
            inside.pop()
        counts.append(math.prod(inside))
    return counts


def summary(plan: Plan) -> str:
    arena, bound = plan.memory
    slots = arena_slots(plan)
    unshared = sum(slot.nbytes for slot in slots)
    native = sum(row.kind != "host" for row in plan.rows)
    return (
        f"{len(plan.rows)} rows: {native} native ({plan.kernels} generated kernels), {plan.host_calls} on the host; "
        f"{len(slots)} buffers in an arena of {arena:,d} bytes ({unshared:,d} without reuse, {bound:,d} alive at once)"
    )


def arena_slots(plan: Plan) -> list[Buffer]:
    """The plan's own buffers, in the order of their first use."""
    return list(dict.fromkeys(slot.root for row in plan.rows for slot, _ in row.buffers if slot.root.kind == "arena"))


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


@dataclass(repr=False)
class Profile:
    """Median time of each row, in microseconds: of all iterations, where it is in a loop."""

    rows: list[tuple[str, str, float]]
    total: float

    def __repr__(self) -> str:
        return f"<Profile of {len(self.rows)} rows: {self.total:.2f} us>"

    def __str__(self) -> str:
        lines = [f"{'kind':8s} {'what':50s} {'us':>9s} {'share':>6s}"]
        for kind, name, us in self.rows:
            share = us / self.total if self.total else 0.0
            lines.append(f"{kind:8s} {_clip(name, 50):50s} {us:9.2f} {share:6.1%}")
        lines.append(f"{'total':59s} {self.total:9.2f}")
        return "\n".join(lines)


LEAST, MOST, LONG = 10, 1000, 100.0
"""Runs of a row in one native call, and the microseconds that are enough for one."""


def profile(plan: Plan, repeats: int = 200) -> Profile:
    """Time each native row by itself, on feeds of zeros; variables are restored afterwards.

    A row runs `repeats` times at least, in native calls of ten and more. All rows have their turn in each round, so that
    what else the machine does meets them alike; the median round counts. Host calls are not timed. Raises
    UninitializedError when the plan has not run yet, and so has no variables to run on.
    """
    rows, rounds = plan.alone(_rounds, plan, repeats)
    often = trips(plan)
    counts = np.maximum([count for _, count in rows[1:]], 1)
    times = np.maximum(np.median((rounds[:, 1:] - rounds[:, :1]) / counts, axis=0), 0.0)
    found = []
    for us, i in zip(times.tolist(), _timed(plan), strict=True):
        row, n = plan.rows[i], often[i]
        found.append((row.kind, row.name if n == 1 else f"{row.name}, {n:,d} times", us * n))
    plan.times = {i: us for (_, _, us), i in zip(found, _timed(plan), strict=True)}
    return Profile(found, sum(us for _, _, us in found))


def _rounds(plan: Plan, repeats: int) -> tuple[list[tuple[int, int]], np.ndarray]:
    """The rows to time, each with its runs in one call, and the microseconds that they took, round by round."""
    if len(plan.bound) < len(plan.builder.cells):
        raise UninitializedError("profile: the plan has no variables before its first run", "run it once")
    saved = [(array, array.copy()) for array in plan.bound.values()]
    kept = plan.stage([np.zeros(node.type.shape, node.type.dtype) for node in plan.feeds])
    try:
        rows = list(zip([0, *_timed(plan)], [0, *_counts(plan)], strict=True))
        return rows, np.array([[_repeated(plan, *row) for row in rows] for _ in range(max(1, repeats // LEAST))])
    finally:
        plan.status[:4] = 0
        for array, before in saved:
            array[...] = before
        del kept


def _timed(plan: Plan) -> list[int]:
    """Native rows that compute something."""
    return [i for i, row in enumerate(plan.rows) if row.kind not in ("host", "shards") and not row.control]


def _repeated(plan: Plan, i: int, count: int) -> float:
    """Microseconds of one native call that runs a row so many times.

    Integers that it made become 0: they may be numbers of rows, which others read, and no longer be in range, where the row
    changed them in place each time, or a check refused them.
    """
    copies = np.repeat(plan.table[i : i + 1], count + 1, axis=0)
    begin = time.perf_counter_ns()
    loader.step(0, 0, 0, copies.ctypes.data, 1, count + 1, plan.call[6], plan.hold)  # not from 0: it is no run of the plan
    took = time.perf_counter_ns() - begin
    for slot in {slot.root for slot, _ in plan.rows[i].buffers} if plan.rows else ():
        if slot.kind == "arena" and slot.dtype.kind in "iu" and slot.memory is not None:
            slot.memory[...] = 0
    return took / 1e3


def _counts(plan: Plan) -> list[int]:
    """How often to run each row in one call: some ten times, and short ones oftener, as the call itself takes time. Not at
    all in a loop that made no iteration, whose rows point nowhere."""
    often = trips(plan)
    rows = [(i, LEAST * (often[i] > 0)) for i in _timed(plan)]
    return [int(np.clip(LEAST * LONG / max(_repeated(plan, i, n), 1e-3), n, MOST)) if n else 0 for i, n in rows]
