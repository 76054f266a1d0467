"""Measurements of a plan: the time of each instruction, beside what the machine can do, and a trace for Perfetto.

A kernel that moves 40 MB in 1 ms is at the limit of the memory; one that moves 1 MB in that time is not. So `profile()`
measures the machine's bandwidth and arithmetic once, keeps them in the kernel cache, and shows each instruction's share of
its limit.
"""

from __future__ import annotations

import json
import os
import platform
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base.files import replacing
from ...base.interpreter import module
from ...errors import UninitializedError
from ...ir import Native, Node
from ...ir.text import clip
from ..backend import abi as t
from ..backend import disk_cache, object_code
from ..codegen.printers import Cost
from ..lower.instructions import Instruction, memory_of
from ..runtime import loader
from ..runtime.loader import get_num_threads
from .explain import arena_buffers, cost, html_table, trips

if TYPE_CHECKING:
    from ...base.types import TensorType
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
    """Host calls that have no time: they refuse the numbers that they are tried on, or runs don't reach them."""
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
    def least(self) -> list[float]:
        """For each instruction, the shortest microseconds that this machine could need for its bytes and flops, at most the
        time that it took."""
        doubles = [facts["dtype"] == "float64" for facts in self.facts]
        parts = zip(self.instructions, self.costs, doubles, strict=True)
        return [min(self.limits.least_us(cost, double), us) for (_, _, us), cost, double in parts]

    @cached_property
    def shares(self) -> list[float]:
        """For each instruction, the shortest time that this machine could need, divided by the time that it took."""
        return [least / us if us else 0.0 for (_, _, us), least in zip(self.instructions, self.least, strict=True)]

    def as_dict(self) -> dict[str, Any]:
        """The measurements as plain data, for `json`."""
        rows = [
            {"kind": kind, "name": name, "microseconds": us, "bytes": cost.bytes, "flops": cost.flops, "share": share, **facts}
            for (kind, name, us), cost, share, facts in zip(self.instructions, self.costs, self.shares, self.facts, strict=True)
        ]
        exchanges = [span._asdict() for span in self.exchanges]
        return {
            "total": self.total,
            "least": sum(self.least),
            "instructions": rows,
            "limits": self.limits._asdict(),
            "exchanges": exchanges,
        }

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
        head = ("us", 9), ("share", 6), ("Mflop", 9), ("Gflop/s", 8), ("MB", 9), ("GB/s", 7), ("of limit", 8)
        lines = [" ".join([f"{'kind':8s} {'what':50s}", *(f"{name:>{width}s}" for name, width in head)])]
        for (kind, name, us), price, share, speed, bandwidth, limit in self._rows():
            lines.append(
                f"{kind:8s} {clip(name, 50):50s} {us:9.2f} {share:6.1%} {price.flops / 1e6:9.3f} {speed:8.2f} "
                f"{price.bytes / 1e6:9.3f} {bandwidth:7.2f} {limit:8.1%}"
            )
        lines.append(f"{'total':59s} {self.total:9.2f}")
        if self.total:
            least = sum(self.least)
            lines.append(f"{'sum of limits':59s} {least:9.2f}, {least / self.total:.0%} of the total")
        for span in self.exchanges:
            lines.append(
                f"{'exchange':8s} {clip(span.name, 50):50s} {span.microseconds:9.2f}, {span.waited:.2f} of them waited"
            )
        if self.untimed:
            lines.append(f"{self.untimed} host call{'s' if self.untimed > 1 else ''} not timed")
        return "\n".join([*lines, str(self.limits)])

    def _rows(self) -> Iterator[tuple[tuple[str, str, float], Cost, float, float, float, float]]:
        for row, price, limit in zip(self.instructions, self.costs, self.shares, strict=True):
            us = row[2]
            speed, bandwidth = (price.flops / us / 1e3, price.bytes / us / 1e3) if us else (0.0, 0.0)
            yield row, price, us / self.total if self.total else 0.0, speed, bandwidth, limit

    def _repr_html_(self) -> str:
        rows = [
            (
                *row[:2], f"{row[2]:.2f}", f"{share:.1%}", f"{price.flops / 1e6:.3f}", f"{speed:.2f}",
                f"{price.bytes / 1e6:.3f}", f"{bandwidth:.2f}", f"{limit:.1%}",
            )
            for row, price, share, speed, bandwidth, limit in self._rows()
        ]  # fmt: skip
        head = ("kind", "what", "us", "share", "Mflop", "Gflop/s", "MB", "GB/s", "of limit")
        return html_table(f"{self.total:.2f} us a step, {sum(self.least):.2f} by the limits of the machine", head, rows)


LEAST, MOST, LONG = 10, 1000, 100.0
"""The least and most runs of an instruction in one native call, and the microseconds from which the least is enough."""


def profile(plan: Plan, repeats: int = 200) -> Profile:
    """Time each instruction in runs of the plan on random feeds; variables are restored afterwards.

    An instruction runs `repeats` times at least, in native calls of ten and more, on the values that it has in a run. Those in
    bodies of loops and branches are timed after the run, on what it left in memory. Each round times all instructions, so that
    other load on the machine affects all equally; the median round counts. Raises UninitializedError when the plan has not run
    yet, because it has no variables to run on.
    """
    exchanges = exchanges_of(plan)
    often = trips(plan)
    spent = plan.alone(_measured, plan, repeats)
    plan.times = {i: spent[i] * (1 if plan.instructions[i].kind == "host" else often[i]) for i in sorted(spent)}
    found, costs = [], []
    for i, us in plan.times.items():
        instruction, n = plan.instructions[i], often[i]
        found.append((instruction.kind, instruction.name if n == 1 else f"{instruction.name}, {n:,d} times", us))
        flops, size = cost(instruction)
        costs.append(Cost(flops * n, size * n))
    untimed = plan.host_calls - sum(kind == "host" for kind, _, _ in found)
    return Profile(found, sum(plan.times.values()), costs, untimed, _facts(plan), exchanges)


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


def _measured(plan: Plan, repeats: int) -> dict[int, float]:
    """Median microseconds of each instruction, in a loop of one iteration. Host calls that refuse all feeds are left out."""
    if len(plan.bound) < len(plan.builder.cells):
        raise UninitializedError("profile: the plan has no variables before its first run", "run it once")
    saved = [(array, array.copy()) for array in plan.bound.values()]
    counts: dict[int, int] = {}
    rounds: list[dict[int, float]] = []
    kinds = [node.type for node in plan.feeds]
    none = [np.zeros(kind.shape, kind.dtype) for kind in kinds]
    runs: list[list[np.ndarray] | None] = [] if plan.builder.stream.exchanges else [*samples(plan), none]
    try:
        for feeds in (*runs, None):
            try:
                for _ in range(max(1, repeats // LEAST)):
                    _restore(saved)
                    rounds.append(_round(plan, none if feeds is None else feeds, feeds is not None, counts))
                break
            except Exception:  # an operation refuses these numbers
                if feeds is None:
                    raise
                rounds.clear()
    finally:
        plan.kept.clear()
        plan.status[:4] = 0
        _restore(saved)
    return {i: float(np.median([each[i] for each in rounds])) for i in rounds[0]}


def _restore(saved: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
    for array, before in saved:
        array[...] = before


def _round(plan: Plan, feeds: Sequence[np.ndarray], runs: bool, counts: dict[int, int]) -> dict[int, float]:
    """Microseconds of each instruction. runs: whether the plan runs meanwhile; otherwise all instructions are timed as those in
    bodies. counts: how often each instruction is repeated, found in the first round."""
    arrays = plan.stage([feed.copy() for feed in feeds])
    plan.status[:4] = 0
    timed, spent = dict.fromkeys(_timed(plan)), dict[int, float]()
    call = _repeated(plan, 0, 0)
    if runs:
        bodies, at = _bodies(plan), 0
        while at < len(plan.instructions):
            each = plan.instructions[at]
            if each.kind == "host":
                begin = time.perf_counter_ns()
                plan.call_host(each, arrays)
                spent[at] = spent.get(at, 0.0) + (time.perf_counter_ns() - begin) / 1e3
                at += 1
            elif at in timed and at not in bodies:
                held = [(array, array.copy()) for array in _memory(each, arrays)]
                spent[at] = _time_of(plan, at, counts, call)
                _restore(held)
                plan.run_one(at)
                at += 1
            else:
                after = next(i for i in range(at + 1, len(plan.instructions) + 1) if i not in bodies)
                stopped = loader.step(0, 0, 0, plan.call[3], at, after, plan.call[6], plan.hold)
                if stopped >= 0 and plan.instructions[stopped].kind != "host" and not plan.paused(stopped):
                    plan.fail(stopped)
                at = stopped if stopped >= 0 else after
    often = trips(plan)
    for i in timed:
        if i not in spent:
            spent[i] = _time_of(plan, i, counts, call) if often[i] else 0.0  # without an iteration it has no pointers
            _reset_positions(plan, i)
    return spent


def _time_of(plan: Plan, i: int, counts: dict[int, int], call: float) -> float:
    """Microseconds of one instruction, in a native call of many: some ten, and more where it is short, as the call itself takes
    time."""
    if i not in counts:
        counts[i] = int(np.clip(LEAST * LEAST * LONG / max(_repeated(plan, i, LEAST), 1e-3), LEAST, MOST))
        _reset_positions(plan, i)
    return max(_repeated(plan, i, counts[i]) - call, 0.0) / counts[i]


def _bodies(plan: Plan) -> set[int]:
    """The numbers of instructions of loops and branches, the entries of both included."""
    found: set[int] = set()
    for i, each in enumerate(plan.instructions):
        if each.control in (t.ENTER, t.UNLESS, t.GO):
            found.update(range(i, int(each.size_array[t.EXIT // 8 if each.control == t.ENTER else 0])))
        elif each.control:
            found.add(i)
    return found


def _memory(instruction: Instruction, arrays: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """The arrays that an instruction may change."""
    for root in dict.fromkeys(buffer.root for buffer, _ in instruction.buffers):
        if root.kind in ("arena", "state", "output"):
            yield memory_of(root, arrays)


def _timed(plan: Plan) -> list[int]:
    """The numbers of the native instructions that compute something."""
    return [i for i, each in enumerate(plan.instructions) if each.kind not in ("host", "shards") and not each.control]


def _repeated(plan: Plan, i: int, count: int) -> float:
    """Microseconds of one native call that runs an instruction so many times."""
    copies = np.repeat(plan.table[i : i + 1], count + 1, axis=0)
    begin = time.perf_counter_ns()
    loader.step(0, 0, 0, copies.ctypes.data, 1, count + 1, plan.call[6], plan.hold)  # not from 0: this is no run of the plan
    return (time.perf_counter_ns() - begin) / 1e3


def _reset_positions(plan: Plan, i: int) -> None:
    """Set the integers that an instruction made to 0. They may be positions that other instructions read, and out of range
    where the instruction changed them in place each time or a check refused them."""
    for root in {buffer.root for buffer, _ in plan.instructions[i].buffers}:
        if root.kind == "arena" and root.dtype.kind in "iu" and root.memory is not None:
            root.memory[...] = 0


# feeds ---------------------------------------------------------------------------------------------------------------


def samples(plan: Plan) -> Iterator[list[np.ndarray]]:
    """Feeds that most operations take: numbers of (0.25, 0.75), matrices with a large diagonal, which can be inverted and
    factored, and positions from everywhere within their bounds."""
    rng, most = np.random.default_rng(0), _largest(plan)
    yield [_sample(node.type, most.get(node, 0), rng) for node in plan.feeds]


def _sample(kind: TensorType, most: int, rng: np.random.Generator) -> np.ndarray:
    if kind.dtype.kind not in "fc":
        return rng.integers(0, 2 if kind.dtype.kind == "b" else most + 1, kind.shape).astype(kind.dtype)
    values = rng.uniform(0.25, 0.75, kind.shape)
    if values.ndim > 1 and values.shape[-1] == values.shape[-2]:
        values = (values + np.swapaxes(values, -1, -2)) / 2 + values.shape[-1] * np.eye(values.shape[-1])
    return np.ascontiguousarray(values.astype(kind.dtype))


def _largest(plan: Plan) -> dict[Node, int]:
    """By feed of integers that a check bounds, the largest that passes it."""
    found: dict[Node, int] = {}
    feed_of = {node: node for node in plan.feeds if node.type.dtype.kind in "iu"}
    for node in plan.ir.nodes:
        if node.op.leaf or not node.inputs or node.inputs[0] not in feed_of or node.type.dtype.kind not in "iu":
            continue
        feed = feed_of[node.inputs[0]]
        if isinstance(node.op.emit, Native) and node.op.emit.check is not None and node.op.range is not None:
            bounds = node.op.range([i.type for i in node.inputs], node.attrs, *(None for _ in node.inputs))
            if bounds is not None:
                found[feed] = min(found.get(feed, bounds[1]), bounds[1])
        elif len(node.inputs) - len(node.op.shape_only) == 1:
            feed_of[node] = feed
    return found


# the limits of the machine --------------------------------------------------------------------------------------------

# The limits of the machine: how fast it multiplies, and how fast it moves bytes that fit into each level of memory.
#
# They are the roof under which kernels are judged: a kernel of f operations on b bytes takes at least the longer of
# f / rate and b / bandwidth. Source: Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for
# Multicore Architectures", Communications of the ACM 52 (2009). They are measured with NumPy, and kept in the kernel cache.


SIZES = (1 << 15, 1 << 18, 1 << 22, 1 << 25)
"""Bytes of the arrays whose copies are timed: two of them fit into a level-1, level-2 or level-3 cache, or into none."""
SMALL = 1 << 16
"""Bytes of copies from whose time that of the call is subtracted."""
SIDE = 384
"""Rows and columns of the product whose rate is measured."""
RELIABLE = 1.0
"""Microseconds from which the time of an instruction is more than the noise of the clock."""
SECONDS = 0.03
"""How long each measurement is repeated."""


def cpu_name() -> str:
    """The name of this machine's CPU, as its maker has it."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class Limits(NamedTuple):
    """Rates are per second. `flops`: of products in float32, `doubles`: in float64; `bandwidth`: (bytes touched, bytes per
    second) of copies, from small to large."""

    flops: float
    bandwidth: tuple[tuple[int, float], ...]
    doubles: float = 0.0

    def bytes_per_second(self, size: int) -> float:
        """The bandwidth of copies that touch so many bytes."""
        at = bisect_left([touched for touched, _ in self.bandwidth], size)
        return self.bandwidth[min(at, len(self.bandwidth) - 1)][1]

    def least_us(self, cost: Cost, double: bool = False) -> float:
        """Microseconds below which nothing of this cost can be. double: it computes in float64."""
        flops = self.doubles if double and self.doubles else self.flops
        return 1e6 * max(cost.flops / flops, cost.bytes / self.bytes_per_second(cost.bytes))

    def raised(self, cost: Cost, us: float) -> Limits:
        """The limits where something of this cost took so long: a limit that was exceeded had been measured under load. Times
        that are not reliable raise nothing."""
        least = self.least_us(cost)
        if not RELIABLE <= us < least:
            return self
        level = self.bytes_per_second(cost.bytes)
        flops, speed = max(self.flops, 1e6 * cost.flops / us), max(level, 1e6 * cost.bytes / us)
        raised = tuple((size, speed if found == level else found) for size, found in self.bandwidth)
        return self._replace(flops=flops, bandwidth=raised)

    def __str__(self) -> str:
        return (
            f"limits of this machine: {self.flops / 1e9:.0f} Gflop/s in float32, {self.doubles / 1e9:.0f} in float64; copies "
            f"{self.bandwidth[0][1] / 1e9:.0f} GB/s in the first cache, {self.bandwidth[-1][1] / 1e9:.0f} GB/s in memory"
        )


@cache
def limits() -> Limits:
    """The limits of this machine, by one thread or by as many as plans use. Measured once per machine, in half a second."""
    threads = get_num_threads()
    key = f"{object_code.tools('llvm')} {threads} {SIZES} {SIDE}"
    content, _ = disk_cache.kept(f"limits-{threads}.json", key, lambda: json.dumps(_measured_limits(threads)).encode())
    flops, copies, doubles = json.loads(content)
    return Limits(flops, tuple((size, speed) for size, speed in copies), doubles)


def _measured_limits(threads: int) -> Limits:
    with ThreadPoolExecutor(threads) as pool:
        found = tuple((2 * size, bandwidth(size, threads if size >= SIZES[-2] else 1, pool)) for size in SIZES)
    flops, doubles = (max(rate(1, dtype), rate(threads, dtype)) for dtype in ("float32", "float64"))
    return Limits(flops, found, doubles)


def rate(threads: int, dtype: str, side: int = SIDE) -> float:
    """Operations per second of a product of matrices, by default in the cache. OpenBLAS for arm64 computes with lanes that hold
    nothing, of which NumPy warns."""
    a = np.ones((side, side), dtype)
    out = np.empty_like(a)
    with module("threadpoolctl").threadpool_limits(threads, user_api="blas"), np.errstate(all="ignore"):
        return 2 * side**3 / best(lambda: np.matmul(a, a, out=out))


def bandwidth(size: int, threads: int, pool: ThreadPoolExecutor) -> float:
    """Bytes read and written per second by copies of so many bytes."""
    source, target, few = np.ones(size // 4, np.float32), np.ones(size // 4, np.float32), np.empty(1, np.float32)
    cuts = [slice(i * len(source) // threads, (i + 1) * len(source) // threads) for i in range(threads)]

    def copy(cut: slice) -> None:
        np.copyto(target[cut], source[cut])

    call = best(lambda: np.copyto(few, few)) if size <= SMALL else 0.0  # small copies mostly consist of the call
    took = best(lambda: np.copyto(target, source)) - call
    if threads > 1:
        took = min(took, best(lambda: list(pool.map(copy, cuts))))
    return 2 * size / max(took, 1e-9)


def best(work: Callable[[], Any], seconds: float = SECONDS) -> float:
    """Seconds of the fastest of repeated calls: a limit is what is reached undisturbed."""
    work()
    fastest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - begin)
    return fastest
