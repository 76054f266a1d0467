"""What the digits example measures of each mode, as a table and as a picture."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HEADER = """
median step      microseconds of one update, fresh batch in and loss read
first step       milliseconds of the first call: tracing, compiling (or reading the kernel cache) and loading what that needs
kernels          generated native kernels in the step; host calls: operations for which it goes back to Python
memory           peak resident megabytes of the mode's own process, Python and all libraries included
loss             mean of the last epoch; accuracy: on the images held out
differences      from the first row: the largest of any step's loss (relative), and of any final weight (absolute)
"""


class Trainer(NamedTuple):
    """A mode, ready to train."""

    step: Callable[[np.ndarray, np.ndarray], Any]
    """(pixels, labels) -> loss, after one update."""
    predict: Callable[[np.ndarray], np.ndarray]
    weights: Callable[[], list[np.ndarray]]
    plan: Callable[[], Any] = lambda: None
    """The native plan behind `step`, once it has run."""


def session_plan(sess: Any) -> Any:
    """The plan of the session's latest training step."""
    training = [runner for runner in sess._runners.values() if runner.feeds and runner.writes]
    return next(reversed(training[-1].run.__self__.plans.values()))


class Run(NamedTuple):
    """What came of training in one mode."""

    mode: str
    losses: np.ndarray
    seconds: np.ndarray
    kernels: int | None
    host_calls: int | None
    memory: float
    accuracy: float
    weights: list[np.ndarray]


def peak_memory() -> float:
    """The most memory that this process has had resident, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux: getrusage would start from the peak of the parent process
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found:
            return int(found[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def differences(run: Run, first: Run) -> tuple[float, float]:
    """The largest relative difference of the losses, and absolute difference of the weights."""
    losses = np.max(np.abs(run.losses - first.losses) / np.abs(first.losses))
    return float(losses), max(float(np.max(np.abs(a - b))) for a, b in zip(run.weights, first.weights, strict=True))


def table(runs: list[Run], epochs: int) -> str:
    """One line per mode."""
    lines = [
        HEADER,
        f"{'':10s}{'median':>9s}{'first':>10s}{'':>9s}{'host':>7s}{'':>9s}{'':>9s}{'':>10s}{'difference of':>22s}",
        f"{'':10s}{'step us':>9s}{'step ms':>10s}{'kernels':>9s}{'calls':>7s}{'memory':>9s}{'loss':>9s}{'accuracy':>10s}"
        f"{'losses':>11s}{'weights':>11s}",
    ]
    for run in runs:
        last_epoch = run.losses[-(len(run.losses) // epochs) :]
        lines.append(
            f"{run.mode:10s}{1e6 * np.median(run.seconds):9.1f}{1e3 * run.seconds[0]:10.1f}{_count(run.kernels):>9s}"
            f"{_count(run.host_calls):>7s}{run.memory:9.0f}{last_epoch.mean():9.4f}{run.accuracy:10.4f}"
            + ("".join(f"{d:11.1e}" for d in differences(run, runs[0])) if run is not runs[0] else f"{'-':>11s}{'-':>11s}")
        )
    return "\n".join(lines)


def _count(number: int | None) -> str:
    return "-" if number is None else str(number)


def plot(runs: list[Run], file: str) -> None:
    """Loss curves, and how long a step takes."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        sys.exit('--plot needs matplotlib: pip install "staticgrad[examples]"')
    figure = Figure(figsize=(11, 4), layout="constrained")
    curves, times = figure.subplots(1, 2)
    for i, run in enumerate(runs):  # curves lie on each other: thinner towards the last
        curves.plot(run.losses, label=run.mode, color=f"C{i}", linewidth=1.5 * (len(runs) - i))
    curves.set(xlabel="step", ylabel="loss", yscale="log", title="Loss (one curve: they agree)")
    curves.legend()

    medians = np.array([1e6 * np.median(run.seconds) for run in runs])
    low, high = np.array([1e6 * np.percentile(run.seconds, (25, 75)) for run in runs]).T
    bars = times.barh(
        [run.mode for run in runs], medians, xerr=(medians - low, high - medians), color=[f"C{i}" for i in range(len(runs))]
    )
    times.bar_label(bars, [f" {m:.0f} us" for m in medians], label_type="center", color="white")
    times.invert_yaxis()
    times.set(xlabel="microseconds, median and quartiles", title="One step, loss read")
    figure.savefig(file, dpi=120)
