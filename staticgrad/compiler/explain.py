"""What a plan does and why, for people: `Plan.explain()` and `Plan.profile()`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UninitializedError
from . import driver
from .jit import without_comments
from .rows import Row, Slot

if TYPE_CHECKING:
    from .plan import Plan


def traffic(row: Row) -> int:
    """Bytes of the distinct buffers that a row touches."""
    return sum(slot.nbytes for slot in dict.fromkeys(slot for slot, _ in row.buffers))


def flops(row: Row) -> int:
    """Arithmetic of a product: 2 m n k. For kernels, cost units (one addition each)."""
    return 2 * row.work if row.kind == "gemm" else row.work


def explain(plan: Plan) -> str:
    """The plan as text: rows, buffers, fusion decisions, laws that fired, how variables are written."""
    lines = [summary(plan), "", "rows"]
    kernels = list(plan.sources())
    for i, row in enumerate(plan.rows):
        what = f"kernel {kernels.index(without_comments(row.source))}" if row.source else row.kind
        where = row.node.where.short if row.node is not None and row.node.where is not None else ""
        lines.append(
            f"  {i:3d}  {what:10s} {_clip(row.name, 46):46s} {traffic(row):>10,d} B {flops(row):>12,d} flop"
            f"  x{row.chunks}  {where}"
        )
    lines += ["", "buffers in the arena (bytes, offset, rows of first and last use)"]
    lines += [
        f"  {slot.nbytes:>10,d} at {slot.offset:>10,d}  {slot.first:3d} to {slot.last:3d}" for slot in arena_slots(plan)
    ]
    lines += ["", "fusion"]
    lines += counted(f"{'yes' if d.fused else 'no '}  {d}" for d in plan.decisions)
    if plan.laws:
        lines += ["", "laws applied"]
        lines += [f"  {n} x {law} (at {op})" for (law, op), n in Counter(plan.laws).items()]
    if plan.notes:
        lines += ["", "variables, and values written over others"]
        lines += counted(plan.notes)
    hosts = [row for row in plan.rows if row.kind == "host"]
    if hosts:
        lines += ["", "host calls (no native code for these yet)"]
        lines += [f"  {row.name} {row.node.type if row.node is not None else ''}" for row in hosts]
    return "\n".join(lines)


def counted(lines: Iterable[str]) -> list[str]:
    """Each line once, with how many times it stands there."""
    return [f"  {line}" + (f"  ({n} times)" if n > 1 else "") for line, n in Counter(lines).items()]


def summary(plan: Plan) -> str:
    arena, bound = plan.memory
    slots = arena_slots(plan)
    unshared = sum(slot.nbytes for slot in slots)
    native = sum(row.kind != "host" for row in plan.rows)
    return (
        f"{len(plan.rows)} rows: {native} native ({plan.kernels} generated kernels), {plan.host_calls} on the host; "
        f"{len(slots)} buffers in an arena of {arena:,d} bytes ({unshared:,d} without reuse, {bound:,d} alive at once)"
    )


def arena_slots(plan: Plan) -> list[Slot]:
    """The plan's own buffers, in the order of their first use."""
    return list(dict.fromkeys(slot for row in plan.rows for slot, _ in row.buffers if slot.kind == "arena"))


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


@dataclass
class Profile:
    """Median time of each row, in microseconds."""

    rows: list[tuple[str, str, float]]
    total: float

    def __str__(self) -> str:
        lines = [f"{'kind':8s} {'what':50s} {'us':>9s} {'share':>6s}"]
        for kind, name, us in self.rows:
            share = us / self.total if self.total else 0.0
            lines.append(f"{kind:8s} {_clip(name, 50):50s} {us:9.2f} {share:6.1%}")
        lines.append(f"{'total':59s} {self.total:9.2f}")
        return "\n".join(lines)


def profile(plan: Plan, repeats: int = 200) -> Profile:
    """Time each native row by itself, on feeds of zeros; variables are restored afterwards.

    A row is called `repeats` times in batches of ten. All rows have their turn in each round, so that what else the machine
    does meets them alike; the median round counts. Host calls are not timed. Raises UninitializedError when the plan has
    not run yet, and so has no variables to run on.
    """
    with plan.alone():
        if len(plan.bound) < len(plan.builder.cells):
            raise UninitializedError("profile: the plan has no variables before its first run", "run it once")
        saved = [(array, array.copy()) for array in plan.bound.values()]
        kept = plan.stage([np.zeros(node.type.shape, node.type.dtype) for node in plan.feeds])
        rounds = np.array([_round(plan) for _ in range(max(1, repeats // 10))])
        del kept
        plan.status[:] = 0
        for array, before in saved:
            array[...] = before
    times = np.maximum(np.median(rounds[:, 1:] - rounds[:, :1], axis=0), 0.0).tolist()
    rows = [(row.kind, row.name, us) for row, us in zip(plan.native, times, strict=True)]
    return Profile(rows, sum(times))


def _round(plan: Plan) -> list[float]:
    """Microseconds of a driver call that runs no row, and of one that runs each row."""
    times = []
    for first, last in [(0, 0), *((i, i + 1) for i in range(len(plan.native)))]:
        begin = time.perf_counter_ns()
        for _ in range(10):
            driver.step(0, 0, 0, plan.call[3], first, last, plan.call[6], plan.hold)
        times.append((time.perf_counter_ns() - begin) / 1e4)
    return times
