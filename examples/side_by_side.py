"""One model, one update rule, three ways to run them: shared by the examples.

    eager       each operation runs as Python reaches it, as in PyTorch
    session     a graph is defined first, then run, as in TensorFlow 1
    compiled    the eager step under `@sg.compile`: traced once, then run as one native call

An example defines an `Example` and calls `main`. Every mode trains in a fresh process, from the same weights and on the same
batches; a table compares them, and the exit status says whether their losses agree.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from measuring import Figures, draw_losses, draw_times, figure_of, in_fresh_processes, measured
from reporting import add_option, training_step, write_report

import staticgrad as sg

TOLERANCE = 1e-3

HEADER = """
step        median microseconds of one update, with a fresh batch and the loss read
first       seconds until the first loss: building, tracing, and compiling or reading the kernel cache
kernels     generated native kernels in the step; host calls: operations that return to Python
memory      peak resident megabytes of the mode's own process, Python and all libraries included
loss        mean of the last tenth of the steps; difference: the largest of any step's loss, relative to the first row

                                               host
mode             step us   first s  kernels   calls   memory     loss  difference
"""

Predict = Callable[[np.ndarray], np.ndarray]


class Finding(NamedTuple):
    """The result of trying a trained model."""

    text: str
    values: np.ndarray | None = None
    """For `Example.draw`."""


class Example:
    """A model, its data and its loss. quick: a problem small enough for a test; seed: of the weights and of the batches."""

    steps = 300
    quick_steps = 20
    inputs: tuple[tuple[str, tuple[int | None, ...]], ...]
    """dtype and shape of each array of a batch; the model takes the first of them."""

    def __init__(self, quick: bool, seed: int):
        self.quick, self.seed = quick, seed

    def model(self) -> Any:
        """A module with weights drawn from sg's generator."""
        raise NotImplementedError

    def optimizer(self, parameters: Any = None) -> Any:
        """None: of all variables of the graph."""
        raise NotImplementedError

    def loss(self, *args: Any, **kwargs: Any) -> Any:
        """loss(model, *batch) -> a scalar."""
        raise NotImplementedError

    def graph_loss(self, *args: Any, **kwargs: Any) -> Any:
        """The same for placeholders, where it has to be written differently."""
        return self.loss(*args, **kwargs)

    def batches(self, steps: int) -> Iterator[tuple[np.ndarray, ...]]:
        raise NotImplementedError

    def finish(self, predict: Predict) -> Finding:
        """Try the trained model. predict(array) -> the model's output, an array."""
        raise NotImplementedError

    def draw(self, axes: Any, values: np.ndarray) -> None:
        """A picture of the finding's values, where it has some."""


# The three modes ------------------------------------------------------------------------------------------------------


class Trainer(NamedTuple):
    """A mode, ready to train."""

    step: Callable[..., Any]
    """(*batch) -> loss, after one update."""
    predict: Predict
    plan: Callable[[], Any]
    """The native plan of `step` once it has run, or None."""


def written(example: Example) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A training step and a forward pass, written as for eager mode."""
    sg.manual_seed(example.seed)
    model = example.model()
    optimizer = example.optimizer(model.parameters())

    def step(*batch: np.ndarray) -> Any:
        loss = example.loss(model, *map(sg.from_numpy, batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def forward(x: np.ndarray) -> Any:
        with sg.no_grad():
            return model(sg.from_numpy(x))

    return step, forward


def eager(example: Example) -> Trainer:
    """Define by run."""
    step, forward = written(example)
    return Trainer(step, lambda x: forward(x).numpy(), lambda: None)


def compiled(example: Example) -> Trainer:
    """The same text under `@sg.compile`."""
    step, forward = map(sg.compile, written(example))
    return Trainer(step, lambda x: forward(x).numpy(), lambda: step.plan)


def session(example: Example) -> Trainer:
    """Define, then run. The module's parameters become variables of the graph."""
    sg.manual_seed(example.seed)
    model = example.model()
    with sg.Graph().as_default() as graph:
        batch = [sg.placeholder(dtype, shape) for dtype, shape in example.inputs]
        output = model(batch[0])
        loss = example.graph_loss(model, *batch)
        train = example.optimizer().minimize(loss)
        initialize = sg.global_variables_initializer()

    sess = sg.Session(graph)
    sess.run(initialize)

    fetches, seen = [loss, train], {}

    def step(*arrays: np.ndarray) -> Any:
        seen.update(zip(batch, arrays, strict=True))
        return sess.run(fetches, feed_dict=seen)[0]

    return Trainer(step, lambda x: sess.run(output, feed_dict={batch[0]: x}), lambda: sess.plan(fetches, seen))


MODES = {"eager": eager, "session": session, "compiled": compiled}


# Training -------------------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """The outcome of training in one mode."""

    mode: str
    figures: Figures
    finding: Finding

    def apart(self, other: Run) -> float:
        """The largest relative difference of the losses."""
        theirs = other.figures.losses
        return float(np.max(np.abs(self.figures.losses - theirs) / np.abs(theirs)))


def apart(runs: list[Run]) -> float:
    """The difference of the losses from those of the first mode; NaN, which is never close, where either is NaN."""
    return float(np.max([run.apart(runs[0]) for run in runs]))


def train(mode: str, example: Example, steps: int) -> Run:
    """Train in one mode."""
    trainer, figures = measured(mode, lambda: MODES[mode](example), example.batches(steps), steps)
    return Run(mode, figures, example.finish(trainer.predict))


def table(runs: list[Run]) -> str:
    """One line per mode."""
    return HEADER + "\n".join(_line(run, runs[0]) for run in runs)


def _line(run: Run, first: Run) -> str:
    losses, seconds, before, *counts, memory = run.figures
    kernels, host_calls = ("-" if n is None else n for n in counts)
    last = losses[-max(len(losses) // 10, 1) :].mean()
    return (
        f"{run.mode:12s}{1e6 * np.median(seconds):12.1f}{before:10.2f}{kernels:>9}{host_calls:>8}"
        f"{memory:9.0f}{last:9.4f}" + (f"{'-':>12s}" if run is first else f"{run.apart(first):12.1e}")
    )


def findings(runs: list[Run]) -> str:
    """The findings of each mode; modes with the same finding share an entry."""
    modes: dict[str, list[str]] = {}
    for run in runs:
        modes.setdefault(run.finding.text, []).append(run.mode)
    return "\n\n".join(f"{', '.join(names)}: {text}" for text, names in modes.items())


def plot(example: Example, runs: list[Run], file: str) -> None:
    """Loss curves, how long a step takes, and the finding of the last mode where the example draws one."""
    values, modes = runs[-1].finding.values, [run.mode for run in runs]
    figure, (curves, times, *others) = figure_of(11, 2) if values is None else figure_of(15, 3)
    draw_losses(curves, modes, [run.figures.losses for run in runs], apart(runs))
    curves.set(xlabel="step", ylabel="loss")
    draw_times(times, modes, [run.figures.seconds for run in runs])
    if values is not None:
        example.draw(others[0], values)
    figure.savefig(file, dpi=120)


def report(example: Example, runs: list[Run], file: str) -> None:
    """The page that compares the modes."""
    sg.manual_seed(example.seed)
    model = example.model()
    step = training_step(model, example.optimizer(model.parameters()), example.loss)
    batch = next(iter(example.batches(1)))
    write_report(file, type(example).__name__, step, batch, ((run.mode, run.figures) for run in runs))


def modes_of(text: str) -> list[str]:
    """The modes in a comma-separated list."""
    modes = text.split(",")
    for mode in modes:
        if mode not in MODES:
            raise argparse.ArgumentTypeError(f"no mode {mode!r}: choose from {', '.join(MODES)}")
    return list(dict.fromkeys(modes))


def main(make: Callable[[bool, int], Example], doc: str | None) -> None:
    """Train in each mode, print the table and the findings. Exits with status 1 when the losses disagree."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, help="number of updates")
    parser.add_argument("--modes", type=modes_of, default=list(MODES), help=f"which of {','.join(MODES)} to run")
    parser.add_argument("--quick", action="store_true", help="a small problem and few steps")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batches")
    parser.add_argument("--plot", metavar="FILE", help="draw loss curves and step times into this file")
    add_option(parser)
    options = parser.parse_args()
    if options.steps is not None and options.steps < 2:
        parser.error("--steps must be at least 2")

    # NumPy's BLAS: matrices this small gain little from a second thread, and eager mode loses much on a busy machine
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    example = make(options.quick, options.seed)
    steps = options.steps or (example.quick_steps if options.quick else example.steps)
    runs = in_fresh_processes(train, ((mode, example, steps) for mode in options.modes))
    print(f"{table(runs)}\n\n{findings(runs)}\n")
    if options.plot:
        plot(example, runs, options.plot)
    if options.report:
        report(example, runs, options.report)

    difference = apart(runs)
    if not difference <= TOLERANCE:  # NaN disagrees
        sys.exit(f"The losses disagree: by {difference:.1e} of their size, more than {TOLERANCE:.0e}")
    if len(runs) > 1:
        print(f"The losses agree: they differ by at most {difference:.1e} of their size.")
