"""Measured training and its plots, shared by the examples that compare modes."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

try:
    from tqdm import tqdm
except ImportError:
    sys.exit('This example needs tqdm: pip install -e ".[examples]" in the checkout')


class Figures(NamedTuple):
    """The measurements of a training run."""

    losses: np.ndarray
    seconds: np.ndarray
    """Of each step after the first."""
    first: float
    """Seconds to build the trainer, take the first step and compile its kernels."""
    kernels: int | None
    host_calls: int | None
    memory: float
    """Peak megabytes of the process."""


def measured(mode: str, make: Callable[[], Any], batches: Iterable[tuple[Any, ...]], steps: int) -> tuple[Any, Figures]:
    """The trainer from `make` after a step on each batch, and the measurements of the run.

    trainer.step(*batch) -> loss; trainer.plan() -> its native plan once it has run, or None.
    """
    begin = time.perf_counter()
    trainer = make()
    first = time.perf_counter() - begin
    losses, seconds = [], []
    for batch in (bar := tqdm(batches, desc=f"{mode:9s}", total=steps, unit=" steps")):
        begin = time.perf_counter()
        loss = float(trainer.step(*batch))
        seconds.append(time.perf_counter() - begin)
        losses.append(loss)
        bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
    memory, plan = peak_memory(), trainer.plan()
    counts = (plan.kernels, plan.host_calls) if plan is not None else (None, None)
    return trainer, Figures(np.array(losses), np.array(seconds[1:]), first + seconds[0], *counts, memory)


def peak_memory() -> float:
    """The most memory that this process has had resident, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux: getrusage would start from the peak of the parent process
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found:
            return int(found[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def in_fresh_processes(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The results of `function(*call)`, one call after the other, each in a process that has done nothing else."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as fresh_process:
        return [fresh_process.submit(function, *call).result() for call in calls]


def figure_of(width: float, panels: int) -> tuple[Any, Any]:
    """A figure, and its panels side by side."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        sys.exit('--plot needs matplotlib: pip install -e ".[examples]" in the checkout')
    figure = Figure(figsize=(width, 4), layout="constrained")
    return figure, figure.subplots(1, panels)


def draw_losses(axes: Any, modes: Sequence[str], losses: Sequence[np.ndarray], difference: float) -> None:
    """Curves from step 1 on. They overlap, so later ones are thinner."""
    for i, (mode, curve) in enumerate(zip(modes, losses, strict=True)):
        axes.plot(np.arange(1, len(curve) + 1), curve, label=mode, linewidth=2.0 * (len(modes) - i))
    axes.set(yscale="log", title=f"Losses differ by {difference:.0e} of their size")
    axes.legend()


def draw_times(axes: Any, modes: Sequence[str], seconds: Sequence[np.ndarray]) -> None:
    """How long a step takes."""
    for i, (mode, times) in enumerate(zip(modes, seconds, strict=True)):
        low, median, high = 1e6 * np.percentile(times, (25, 50, 75))
        axes.barh(mode, median, xerr=[[median - low], [high - median]], color=f"C{i}", capsize=3)
        axes.annotate(f"{median:.0f} us", (high, i), (6, 0), textcoords="offset points", va="center")
    axes.margins(x=0.25)
    axes.invert_yaxis()
    axes.set(xlabel="microseconds", title="One step: median and quartiles")
