"""Measurements of a plan: the time of each instruction, beside what the machine can do, and a trace for Perfetto."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base.files import replacing
from ...errors import UninitializedError
from ...ir.text import clip
from ..backend import abi as t
from ..codegen.cost import Cost
from ..runtime import loader
from .explain import arena_buffers, cost, trips
from .host_times import host_times
from .limits import Limits, limits
from .tables import html_table

if TYPE_CHECKING:
    from .plan import Plan


class Span(NamedTuple):
    """An exchange with other processes in a run: the number of the instruction that begins it, what it is, and microseconds
    from there to its end, and of waiting for that; in the rest of the time the plan did other work."""

    number: int
    name: str
    microseconds: float
    waited: float


def exchanges_of(plan: Plan) -> list[Span]:
    """Those of the latest run."""
    found = []
    for i, each in enumerate(plan.instructions):
        if each.control == t.START and each.size_array[t.ENDED // 8]:
            begun, waited, ended = (int(each.size_array[at // 8]) / 1e3 for at in (t.BEGUN, t.WAITED, t.ENDED))
            name = each.name if each.exchange is None else each.exchange.told
            found.append(Span(i, name, ended - begun, ended - waited if waited else 0.0))
    return found


@dataclass(repr=False)
class Profile:
    """The median time of each instruction, in microseconds; in a loop, that of all iterations.

    `print` it for a table. `shares`: the part of the machine's measured limit that each instruction reaches;
    `export_chrome_trace("trace.json")` writes a timeline that https://ui.perfetto.dev and chrome://tracing open.
    """

    instructions: list[tuple[str, str, float]]
    """(kind, name, microseconds) of each."""
    total: float
    costs: list[Cost]
    """Of each instruction, for all iterations."""
    untimed: int = 0
    """Host calls that have no time: they refuse the numbers that they are tried on."""
    facts: list[dict[str, Any]] = field(default_factory=list)
    """Of each instruction: its number, the dtype of its result, the user's line, and the bytes of the arena in use."""
    exchanges: list[Span] = field(default_factory=list)
    """The exchanges with other processes in the latest run before the measurement."""

    @cached_property
    def limits(self) -> Limits:
        """What this machine can do, as measured once; a limit that an instruction exceeded had been measured under load."""
        found = limits()
        for (_, _, us), price in zip(self.instructions, self.costs, strict=True):
            found = found.raised(price, us)
        return found

    @cached_property
    def shares(self) -> list[float]:
        """For each instruction, the shortest time that this machine could need for its bytes and flops, divided by the time
        that it took."""
        return [
            self.limits.least_us(cost, facts["dtype"] == "float64") / us if us else 0.0
            for (_, _, us), cost, facts in zip(self.instructions, self.costs, self.facts, strict=True)
        ]

    def as_dict(self) -> dict[str, Any]:
        """The measurements as plain data, for `json`."""
        rows = [
            {"kind": kind, "name": name, "microseconds": us, "bytes": cost.bytes, "flops": cost.flops, "share": share, **facts}
            for (kind, name, us), cost, share, facts in zip(self.instructions, self.costs, self.shares, self.facts, strict=True)
        ]
        exchanges = [span._asdict() for span in self.exchanges]
        return {"total": self.total, "instructions": rows, "limits": self.limits._asdict(), "exchanges": exchanges}

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write one step as a timeline in the Trace Event Format, with the memory in use. Instructions follow one another with
        their median times."""
        with replacing(path) as file:
            file.write(json.dumps({"traceEvents": list(self._events()), "displayTimeUnit": "ns"}).encode())

    def _events(self) -> Iterator[dict[str, Any]]:
        begin = {"pid": 1, "tid": 1}
        yield {"name": "process_name", "ph": "M", **begin, "args": {"name": "staticgrad plan"}}
        yield {"name": "thread_name", "ph": "M", **begin, "args": {"name": "instructions (medians)"}}
        at, ends = 0.0, dict[int, float]()
        for row in self.as_dict()["instructions"]:
            args = {key: row[key] for key in ("number", "bytes", "flops", "share", "where", "dtype")}
            yield {
                "name": row["name"],
                "cat": row["kind"],
                "ph": "X",
                "ts": at,
                "dur": row["microseconds"],
                **begin,
                "args": args,
            }
            yield {"name": "memory", "ph": "C", "ts": at, **begin, "args": {"bytes": row["live"]}}
            ends[row["number"]] = at = at + row["microseconds"]
        for span in self.exchanges:
            after = max([0.0, *(end for number, end in ends.items() if number < span.number)])
            bar = {"name": span.name, "cat": "exchange", "ph": "X", "ts": after, "dur": span.microseconds, "pid": 1}
            yield {**bar, "tid": 2 + span.number, "args": {"number": span.number, "waited": span.waited}}

    def __repr__(self) -> str:
        return f"<Profile of {len(self.instructions)} instructions: {self.total:.2f} us>"

    def __str__(self) -> str:
        lines = [f"{'kind':8s} {'what':50s} {'us':>9s} {'share':>6s} {'Gflop/s':>8s} {'GB/s':>7s} {'of limit':>8s}"]
        for row, share, speed, bandwidth, limit in self._rows():
            kind, name, us = row
            lines.append(f"{kind:8s} {clip(name, 50):50s} {us:9.2f} {share:6.1%} {speed:8.2f} {bandwidth:7.2f} {limit:8.1%}")
        lines.append(f"{'total':59s} {self.total:9.2f}")
        for span in self.exchanges:
            lines.append(
                f"{'exchange':8s} {clip(span.name, 50):50s} {span.microseconds:9.2f}, {span.waited:.2f} of them waited"
            )
        if self.untimed:
            lines.append(f"{self.untimed} host call{'s' if self.untimed > 1 else ''} not timed")
        return "\n".join([*lines, str(self.limits)])

    def _rows(self) -> Iterator[tuple[tuple[str, str, float], float, float, float, float]]:
        for row, (flops, size), limit in zip(self.instructions, self.costs, self.shares, strict=True):
            us = row[2]
            speed, bandwidth = (flops / us / 1e3, size / us / 1e3) if us else (0.0, 0.0)
            yield row, us / self.total if self.total else 0.0, speed, bandwidth, limit

    def _repr_html_(self) -> str:
        rows = [
            (*row[:2], f"{row[2]:.2f}", f"{share:.1%}", f"{speed:.2f}", f"{bandwidth:.2f}", f"{limit:.1%}")
            for row, share, speed, bandwidth, limit in self._rows()
        ]
        head = ("kind", "what", "us", "share", "Gflop/s", "GB/s", "of limit")
        return html_table(f"{self.total:.2f} us a step", head, rows)


LEAST, MOST, LONG = 10, 1000, 100.0
"""The least and most runs of an instruction in one native call, and the microseconds from which the least is enough."""


def profile(plan: Plan, repeats: int = 200) -> Profile:
    """Time each native instruction by itself, on feeds of zeros, and host calls in whole runs (`host_times.py`); variables are
    restored afterwards.

    An instruction runs `repeats` times at least, in native calls of ten and more. Each round times all instructions, so that
    other load on the machine affects all equally; the median round counts. Raises UninitializedError when the plan has not run
    yet, because it has no variables to run on.
    """
    exchanges = exchanges_of(plan)
    runs, rounds, hosts = plan.alone(_rounds, plan, repeats)
    often = trips(plan)
    counts = np.maximum([count for _, count in runs[1:]], 1)
    times = np.maximum(np.median((rounds[:, 1:] - rounds[:, :1]) / counts, axis=0), 0.0)
    spent = {i: us * often[i] for us, i in zip(times.tolist(), _timed(plan), strict=True)} | hosts
    plan.times = {i: spent[i] for i in sorted(spent)}
    found, costs = [], []
    for i, us in plan.times.items():
        instruction, n = plan.instructions[i], often[i]
        found.append((instruction.kind, instruction.name if n == 1 else f"{instruction.name}, {n:,d} times", us))
        flops, size = cost(instruction)
        costs.append(Cost(flops * n, size * n))
    return Profile(found, sum(plan.times.values()), costs, plan.host_calls - len(hosts), _facts(plan), exchanges)


def _facts(plan: Plan) -> list[dict[str, Any]]:
    buffers, found = arena_buffers(plan), []
    for i in plan.times:
        node = plan.instructions[i].node
        found.append(
            {
                "number": i,
                "dtype": "" if node is None else str(node.type.dtype),
                "where": "" if node is None or node.where is None else node.where.short,
                "live": sum(buffer.nbytes for buffer in buffers if buffer.first <= i <= buffer.last),
            }
        )
    return found


def _rounds(plan: Plan, repeats: int) -> tuple[list[tuple[int, int]], np.ndarray, dict[int, float]]:
    """The instructions to time with their runs in one call, the microseconds that they took in each round, and those of host
    calls."""
    if len(plan.bound) < len(plan.builder.cells):
        raise UninitializedError("profile: the plan has no variables before its first run", "run it once")
    saved = [(array, array.copy()) for array in plan.bound.values()]
    kept = plan.stage([np.zeros(node.type.shape, node.type.dtype) for node in plan.feeds])
    try:
        runs = list(zip([0, *_timed(plan)], [0, *_counts(plan)], strict=True))
        rounds = np.array([[_repeated(plan, i, n) for i, n in runs] for _ in range(max(1, repeats // LEAST))])
        return runs, rounds, host_times(plan, repeats)
    finally:
        plan.status[:4] = 0
        for array, before in saved:
            array[...] = before
        del kept


def _timed(plan: Plan) -> list[int]:
    """The numbers of the native instructions that compute something."""
    return [i for i, each in enumerate(plan.instructions) if each.kind not in ("host", "shards") and not each.control]


def _repeated(plan: Plan, i: int, count: int) -> float:
    """Microseconds of one native call that runs an instruction so many times.

    Integers that it made are set to 0 afterwards. They may be positions that other instructions read, and out of range
    where the instruction changed them in place each time or a check refused them.
    """
    copies = np.repeat(plan.table[i : i + 1], count + 1, axis=0)
    begin = time.perf_counter_ns()
    loader.step(0, 0, 0, copies.ctypes.data, 1, count + 1, plan.call[6], plan.hold)  # not from 0: this is no run of the plan
    took = time.perf_counter_ns() - begin
    for buffer in {buffer.root for buffer, _ in plan.instructions[i].buffers} if plan.instructions else ():
        if buffer.kind == "arena" and buffer.dtype.kind in "iu" and buffer.memory is not None:
            buffer.memory[...] = 0
    return took / 1e3


def _counts(plan: Plan) -> list[int]:
    """How often to run each instruction in one call: some ten times, and more often where that is short, as the call itself
    takes time. Not at all in a loop that made no iteration, because its pointers are not set.
    """
    often = trips(plan)
    runs = [(i, LEAST * (often[i] > 0)) for i in _timed(plan)]
    return [int(np.clip(LEAST * LONG / max(_repeated(plan, i, n), 1e-3), n, MOST)) if n else 0 for i, n in runs]
