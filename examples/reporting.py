"""`--report FILE`: the page of `sg.compare` for the step of an example, with the losses and times of its training runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from measuring import Figures

import staticgrad as sg
from staticgrad.viz.comparison import Mode, difference

TOLERANCE = 1e-3
"""How far losses may drift apart over a training run, relative to the largest."""


def add_option(parser: Any) -> None:
    parser.add_argument("--report", metavar="FILE", help="write a page that compares the modes into this .html file")


def training_step(model: Any, optimizer: Any, loss_of: Callable[..., Any]) -> Callable[..., Any]:
    """A step that runs in every mode: it returns the loss, and in a graph the operation that updates."""

    def step(*batch: Any) -> Any:
        loss = loss_of(model, *batch)
        return loss, optimizer.minimize(loss)

    signature = inspect.signature(loss_of)  # whose names of arrays the report shows
    step.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
    return step


def write_report(
    file: str, name: str, step: Callable[..., Any], batch: Sequence[np.ndarray], runs: Iterable[tuple[str, Figures]]
) -> None:
    """Compare a step in all modes in this process, and put in its figures those of the (mode, figures) that were trained in
    processes of their own."""
    comparison = sg.compare(step, *batch, order=1)
    comparison.function = name
    first: np.ndarray | None = None
    for mode_name, figures in runs:
        mode = next((mode for mode in comparison.modes if mode.name == mode_name and not mode.error), None)
        if mode is None:  # a peer, or a mode that needs the step in another form
            comparison.modes = [other for other in comparison.modes if other.name != mode_name]
            mode = Mode(mode_name)
            comparison.modes.append(mode)
        mode.losses = [float(loss) for loss in figures.losses]
        mode.times_us = [1e6 * float(seconds) for seconds in figures.seconds]
        mode.first_ms = mode.ready_ms = 1e3 * figures.first
        if first is None:
            first = figures.losses
        else:
            own, others = figures.losses.astype("float32"), first.astype("float32")
            apart = difference("all losses of the training", own, others, "value")
            apart.tolerance = TOLERANCE
            mode.differences.append(apart)
    comparison.to_html(file)
    print(f"\n{file}: {comparison.verdict}")
