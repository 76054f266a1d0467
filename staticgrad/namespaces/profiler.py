"""`sg.profiler`: the wall time of regions of a program, under the names of PyTorch's profiler.

Regions are the blocks that `record_function` names, and steps. Single operations are not timed here: `sg.profile(function)` and
`plan.profile()` time each instruction of a compiled step.
"""

from __future__ import annotations

import enum
import functools
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ArgumentError

__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(enum.Enum):
    """What PyTorch can measure. Here it is the CPU."""

    CPU = 0
    CUDA = 2
    XPU = 1


def kineto_available() -> bool:
    """False: PyTorch's library that times single operations is not here.

    Examples:
        >>> sg.profiler.kineto_available()
        False
    """
    return False


def supported_activities() -> set[ProfilerActivity]:
    """The CPU alone.

    Examples:
        >>> sg.profiler.supported_activities() == {sg.profiler.ProfilerActivity.CPU}
        True
    """
    return {ProfilerActivity.CPU}


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class Event(NamedTuple):
    """One run of a region, in seconds."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Average:
    """The runs of a region: their number, and their time in microseconds."""

    key: str
    count: int
    cpu_time_total: float

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count


class Averages(list[Average]):
    """By region."""

    def total_average(self) -> Average:
        """All regions as one."""
        return Average("Total", sum(a.count for a in self) or 1, sum(a.cpu_time_total for a in self))

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The regions, line by line, the longest first."""
        rows = sorted(self, key=lambda a: -a.count if sort_by == "count" else -a.cpu_time_total)[: max(row_limit, 0) or None]
        width = max([len(a.key) for a in rows] + [4])
        head = f"{'Name':{width}}  {'CPU total':>12}  {'CPU time avg':>12}  {'# of Calls':>10}"
        lines = [f"{a.key:{width}}  {_time(a.cpu_time_total):>12}  {_time(a.cpu_time):>12}  {a.count:>10}" for a in rows]
        rule = "-" * len(head)
        return "\n".join([rule, head, rule, *lines, rule])


def _time(microseconds: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


_running: list[profile] = []


class record_function:
    """A region of a program by name, as a context manager or a decorator. Profilers that are on measure it."""

    def __init__(self, name: str, args: str | None = None):
        self.name = name
        self.starts: list[float] = []

    def __enter__(self) -> record_function:
        self.starts.append(time.perf_counter())
        return self

    def __exit__(self, *error: Any) -> None:
        event = Event(self.name, self.starts.pop(), time.perf_counter())
        for profiler in _running:
            profiler.note(event)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            with record_function(self.name):
                return function(*args, **named)

        return call


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Which steps are measured: after `skip_first`, rounds of `wait`, `warmup` and `active` ones, `repeat` of them (0: all).

    Raises ArgumentError for a negative number, or if no step is active.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ArgumentError(
            "schedule: the numbers of steps can't be negative, and `active` has to be positive",
            f"got wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, skip_first={skip_first}",
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat and step // length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[Any], None]:
    """A function for `on_trace_ready` that writes the regions to a file in a folder."""

    def write(profiler: profile) -> None:
        Path(dir_name).mkdir(parents=True, exist_ok=True)
        name = f"{worker_name if worker_name else os.getpid()}.{time.time_ns()}.pt.trace.json"
        profiler.export_chrome_trace(str(Path(dir_name) / name))

    return write


class profile:
    """Measure the regions of `record_function`, and steps, while it is on: `with profile() as prof`, or `start` and `stop`.

    activities: the CPU is what there is; PyTorch's other options are taken and change nothing.

    Examples:
        >>> with sg.profiler.profile() as prof:
        ...     with sg.profiler.record_function("forward"):
        ...         y = sg.ones(3) * 2
        >>> [average.key for average in prof.key_averages()]
        ['forward']
    """

    def __init__(
        self, *, activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None, on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False, profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
        with_modules: bool = False, experimental_config: Any = None,
        execution_trace_observer: Any = None, acc_events: bool = False, use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None, post_processing_timeout_s: float | None = None,
    ):  # fmt: skip
        self.schedule = (lambda step: ProfilerAction.RECORD) if schedule is None else schedule
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.recorded: list[Event] = []
        self.action = self.schedule(0)
        self.began = 0.0

    def start(self) -> None:
        """Begin to measure."""
        self.began = time.perf_counter()
        _running.append(self)

    def stop(self) -> None:
        """Measure no more."""
        if self in _running:
            _running.remove(self)
            if self.on_trace_ready is not None and self.recorded:
                self.on_trace_ready(self)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def note(self, event: Event) -> None:
        """Keep what was measured, in the steps that are."""
        if self.action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self.recorded.append(event)

    def step(self) -> None:
        """The next step begins."""
        now = time.perf_counter()
        self.note(Event(f"ProfilerStep#{self.step_num}", self.began, now))
        if self.action is ProfilerAction.RECORD_AND_SAVE and self.on_trace_ready is not None:
            self.on_trace_ready(self)
            self.recorded = []
        self.step_num += 1
        self.action, self.began = self.schedule(self.step_num), now

    def events(self) -> list[Event]:
        """All runs of regions."""
        return list(self.recorded)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> Averages:
        """The regions, each once."""
        found: dict[str, Average] = {}
        for event in self.recorded:
            old = found.get(event.name, Average(event.name, 0, 0.0))
            found[event.name] = Average(event.name, old.count + 1, old.cpu_time_total + 1e6 * (event.end - event.start))
        return Averages(found.values())

    def export_chrome_trace(self, path: str) -> None:
        """Write the regions to a file that chrome://tracing and Perfetto show."""
        events = [
            {"name": e.name, "ph": "X", "ts": 1e6 * e.start, "dur": 1e6 * (e.end - e.start), "pid": os.getpid(), "tid": 0}
            for e in self.recorded
        ]
        Path(path).write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
