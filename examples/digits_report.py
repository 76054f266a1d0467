"""The measurements of the digits example, as a table and as a plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from measuring import Figures, draw_losses, draw_times, figure_of

HEADER = """
median step    microseconds of one update, with a fresh batch and the loss read
first step     milliseconds, including building, tracing, and compiling or reading the kernel cache
kernels        generated native kernels in the step; host calls: operations that return to Python
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
    weights: Callable[[], Sequence[np.ndarray]]
    plan: Callable[[], Any] = lambda: None
    """The native plan of `step`, once it has run."""


class Run(NamedTuple):
    """The outcome of training in one mode."""

    mode: str
    figures: Figures
    accuracy: float
    weights: list[np.ndarray]


def differences(run: Run, first: Run) -> tuple[float, float]:
    """The largest relative difference of the losses, and absolute difference of the weights."""
    expected = first.figures.losses
    losses = np.max(np.abs(run.figures.losses - expected) / np.abs(expected))
    return float(losses), max(float(np.max(np.abs(a - b))) for a, b in zip(run.weights, first.weights, strict=True))


def table(runs: list[Run], epochs: int) -> str:
    """One line per mode."""
    return HEADER + "\n".join(_line(run, runs[0], epochs) for run in runs)


def _line(run: Run, first: Run, epochs: int) -> str:
    losses, seconds, before, *counts, memory = run.figures
    kernels, host_calls = (f"{'-' if n is None else n:>9}" for n in counts)
    last, apart = losses.reshape(epochs, -1)[-1].mean(), differences(run, first)
    return (
        f"{run.mode:12s}{1e6 * np.median(seconds):11.1f}{1e3 * before:12.1f}{kernels}{host_calls}"
        f"{memory:9.0f}{last:9.4f}{run.accuracy:9.4f}"
        + (f"{'-':>12s}{'-':>11s}" if run is first else f"{apart[0]:12.1e}{apart[1]:11.1e}")
    )


def plot(runs: list[Run], epochs: int, file: str) -> None:
    """Loss curves, and how long a step takes."""
    modes = [run.mode for run in runs]
    figure, (curves, times) = figure_of(11, 2)
    means = [run.figures.losses.reshape(epochs, -1).mean(1) for run in runs]
    draw_losses(curves, modes, means, max(differences(run, runs[0])[0] for run in runs))
    curves.set(xlabel="epoch", ylabel="mean loss")
    draw_times(times, modes, [run.figures.seconds for run in runs])
    figure.savefig(file, dpi=120)
