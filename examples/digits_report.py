"""What the digits example measures of each mode, as a table and as a picture."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HEADER = """
median step    microseconds of one update, fresh batch in and loss read
first step     milliseconds with all that goes before: building, tracing, compiling or reading the kernel cache
kernels        generated native kernels in the step; host calls: its operations that go back to Python
memory         peak resident megabytes of the mode's own process, Python and all libraries included
loss           mean of the last epoch; accuracy: on the images held out
difference     from the first row: the largest of any step's loss (relative) and of any final weight (absolute)

                 median       first              host                             largest difference of
mode            step us     step ms  kernels    calls   memory     loss accuracy      losses    weights
"""


class Trainer(NamedTuple):
    """A mode, ready to train."""

    step: Callable[[np.ndarray, np.ndarray], Any]
    """(pixels, labels) -> loss, after one update."""
    predict: Callable[[np.ndarray], np.ndarray]
    weights: Callable[[], list[np.ndarray]]
    plan: Callable[[], Any] = lambda: None
    """The native plan behind `step`, once it has run."""


class Run(NamedTuple):
    """What came of training in one mode."""

    mode: str
    losses: np.ndarray
    seconds: np.ndarray
    """Of the steps after the first."""
    first: float
    """Seconds of the first step, and of building what takes it."""
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
    return HEADER + "\n".join(_line(run, runs[0], epochs) for run in runs)


def _line(run: Run, first: Run, epochs: int) -> str:
    kernels, host_calls = (f"{'-' if n is None else n:>9}" for n in (run.kernels, run.host_calls))
    last, apart = run.losses.reshape(epochs, -1)[-1].mean(), differences(run, first)
    return (
        f"{run.mode:12s}{1e6 * np.median(run.seconds):11.1f}{1e3 * run.first:12.1f}{kernels}{host_calls}"
        f"{run.memory:9.0f}{last:9.4f}{run.accuracy:9.4f}"
        + (f"{'-':>12s}{'-':>11s}" if run is first else f"{apart[0]:12.1e}{apart[1]:11.1e}")
    )


def plot(runs: list[Run], epochs: int, file: str) -> None:
    """Loss curves, and how long a step takes."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        sys.exit('--plot needs matplotlib: pip install "staticgrad[examples]"')
    figure = Figure(figsize=(11, 4), layout="constrained")
    curves, times = figure.subplots(1, 2)
    apart = max(differences(run, runs[0])[0] for run in runs)
    for i, run in enumerate(runs):  # the curves lie on each other: thinner towards the last
        means = run.losses.reshape(epochs, -1).mean(1)
        curves.plot(range(1, epochs + 1), means, label=run.mode, linewidth=2.0 * (len(runs) - i))
    curves.set(xlabel="epoch", ylabel="mean loss", yscale="log", title=f"Losses differ by {apart:.0e} of their size")
    curves.legend()

    for i, run in enumerate(runs):
        low, median, high = 1e6 * np.percentile(run.seconds, (25, 50, 75))
        times.barh(run.mode, median, xerr=[[median - low], [high - median]], color=f"C{i}", capsize=3)
        times.annotate(f"{median:.0f} us", (high, i), (6, 0), textcoords="offset points", va="center")
    times.margins(x=0.15)
    times.invert_yaxis()
    times.set(xlabel="microseconds", title="One step: median and quartiles")
    figure.savefig(file, dpi=120)
