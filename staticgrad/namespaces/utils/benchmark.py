"""`utils.benchmark`: times of statements, with PyTorch's `Timer`, `Measurement` and `Compare`."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..lookup.modules import refusing

UNITS = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time is at least 1, and its seconds."""
    return next((unit for unit in reversed(UNITS) if t >= unit[1]), UNITS[0])


@dataclass
class TaskSpec:
    """What a `Timer` measures, and under which names."""

    stmt: str
    setup: str = "pass"
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement."""
        whole = f"{self.label or self.stmt}"
        return f"{whole}: {self.sub_label}" if self.sub_label else whole


@dataclass
class Measurement:
    """Times of a statement: `raw_times` in seconds, of `number_per_run` executions each."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None, repr=False)

    @property
    def times(self) -> list[float]:
        """Seconds per execution, of each run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """Of the times."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """Of the times."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the quartiles of the times."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def title(self) -> str:
        """See `TaskSpec`."""
        return self.task_spec.title

    def __repr__(self) -> str:
        unit, seconds = select_unit(self.median)
        lines = [f"<{type(self).__module__}.{type(self).__qualname__} object>", self.title]
        lines += [self.task_spec.description] if self.task_spec.description else []
        lines.append(f"  {'Median' if len(self.times) > 1 else 'Time'}: {self.median / seconds:.2f} {unit}")
        if len(self.times) > 1:
            lines.append(f"  IQR:    {self.iqr / seconds:.2f} {unit}")
        lines.append(
            f"  {len(self.times)} measurement{'s' * (len(self.times) > 1)}, {self.number_per_run} runs per measurement"
        )
        return "\n".join(lines)


class Timer:
    """Measure a statement, given as text. globals: the names that it may use.

    num_threads: of products and kernels while it is measured.

    Examples:
        >>> timer = sg.utils.benchmark.Timer("x + 1", globals={"x": sg.ones(3)})
        >>> timer.timeit(10).number_per_run
        10
    """

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
        timer: Callable[[], float] = timeit.default_timer, globals: dict[str, Any] | None = None, label: str | None = None,
        sub_label: str | None = None, description: str | None = None, env: str | None = None, num_threads: int = 1,
        language: Any = "py",
    ):  # fmt: skip
        self.task = TaskSpec(stmt, setup, label, sub_label, description, env, num_threads)
        self._timer = timeit.Timer(stmt, setup, timer, dict(globals or {}))

    def _run(self, number: int) -> float:
        from ...compiler.runtime.loader import get_num_threads, set_num_threads

        before = get_num_threads()
        set_num_threads(self.task.num_threads)
        try:
            return self._timer.timeit(number)
        finally:
            set_num_threads(before)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One run of `number` executions, after a few that are not measured."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self.task)

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2) -> Measurement:
        """Runs that take at least `min_run_time` together, each long enough that the clock adds less than 0.1 %."""
        number = self._number(min_run_time)
        return Measurement(number, self._runs(number, min_run_time, callback), self.task)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:  # fmt: skip
        """Runs until the distance between the quartiles is below `threshold` times the median, or `max_run_time` is over."""
        number = self._number(0.05)
        found = Measurement(number, self._runs(number, min_run_time, callback, least=3), self.task)
        while found.iqr > threshold * found.median and sum(found.raw_times) < max_run_time:
            found.raw_times += self._runs(number, min_run_time, callback)
        return found

    autorange = blocked_autorange

    def _number(self, min_run_time: float) -> int:
        """So many executions that the call of the clock is small beside them."""
        number, overhead = 1, min(timeit.repeat("pass", number=1, repeat=5))
        while True:
            taken = self._run(number)
            if (overhead / max(taken, 1e-12) <= 1e-4 and taken >= min_run_time / 1000) or taken > min_run_time:
                return number
            number *= 10

    def _runs(
        self, number: int, least_time: float, callback: Callable[[int, float], Any] | None, least: int = 1
    ) -> list[float]:
        taken: list[float] = []
        while sum(taken) < least_time or len(taken) < least:
            taken.append(self._run(number))
            if callback is not None:
                callback(number, taken[-1])
        return taken


class Compare:
    """A table of measurements: a row for each sub-label, a column for each description.

    Examples:
        >>> table = sg.utils.benchmark.Compare([sg.utils.benchmark.Timer("1 + 1", description="sum").timeit(10)])
        >>> "sum" in str(table)
        True
    """

    def __init__(self, results: Sequence[Measurement]):
        self.results = list(results)
        self._digits = 2

    def extend_results(self, results: Sequence[Measurement]) -> None:
        """Add measurements."""
        self.results += list(results)

    def trim_significant_figures(self) -> None:
        """Write fewer digits."""
        self._digits = 1

    def colorize(self, rowwise: bool = False) -> None:
        """Nothing: the table is plain text."""

    def highlight_warnings(self) -> None:
        """Nothing."""

    def __str__(self) -> str:
        blocks = []
        for label in dict.fromkeys(r.task_spec.label for r in self.results):
            rows = [r for r in self.results if r.task_spec.label == label]
            columns = list(dict.fromkeys(r.task_spec.description or "" for r in rows))
            unit, seconds = select_unit(min(r.median for r in rows))
            table = [[label or "", *columns]]
            keys = [(r.task_spec.num_threads, r.task_spec.sub_label or r.task_spec.stmt) for r in rows]
            for key in dict.fromkeys(keys):
                cells = []
                for column in columns:
                    of_key = [r for r, k in zip(rows, keys, strict=True) if k == key]
                    same = [r.median for r in of_key if (r.task_spec.description or "") == column]
                    cells.append(f"{statistics.median(same) / seconds:.{self._digits}f}" if same else "")
                table.append([f"{key[1]} ({key[0]} thread{'s' * (key[0] > 1)})", *cells])
            widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
            lines = ["  |  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in table]
            lines.insert(1, "-" * len(lines[0]))
            blocks.append("\n".join([*lines, "", f"Times are in {unit}."]))
        return "\n\n".join(blocks)

    def print(self) -> None:
        """Print the table."""
        print(str(self))


def timer() -> float:
    """The clock by which is measured, in seconds."""
    return timeit.default_timer()


__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer"]

__getattr__ = refusing(
    "staticgrad.utils.benchmark",
    __all__,
    dict.fromkeys(
        ("CallgrindStats", "FunctionCounts", "CopyIfCallgrind"), "run the program under `perf stat` to count instructions"
    ),
)
