"""One model in two dialects: PyTorch's and TensorFlow 1's, one result, one set of kernels.

    python examples/dialects.py [--steps 300] [--seed 0] [--out DIRECTORY]

A 64-128-10 ReLU network learns scikit-learn's bundled digits in batches of 64, by stochastic gradient descent with momentum:

    torch       `import staticgrad as torch`: each operation runs as Python reaches it
    compiled    the same step under `@torch.compile`: traced once, then run as one native call
    tf1         `import staticgrad.compat.tf1 as tf`: a graph is defined first, then run in a Session

Each runs in a fresh process, from the same weights and on the same batches. A table compares them, kernel by kernel where there
are any. `--out` draws the graph of each: the tape of a loss with its gradients, and the plans that the other two run.

An optimizer of PyTorch's reads its learning rate and momentum at each step, so a program may change them between steps. The TF1
program feeds them, which means the same; the compiler then arrives at the same kernels, character by character. Exits with
status 1 when losses or kernels differ.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measuring import in_fresh_processes

RATE, MOMENTUM, BATCH = 0.05, 0.9, 64
BLOCKS = 10
TOLERANCE = 1e-5

HEADER = """
step       microseconds of one update with the loss read: the median of blocks, each the mean of a tenth of the steps
first      seconds until the first loss: building, tracing, and compiling or reading the kernel cache
kernels    distinct generated kernels of the plan; shared: those among them whose text a plan of the other dialect has, too
loss       of the first and the last step; difference: the largest of any step's loss, relative to the first row

program      step us   first s  kernels  shared  first loss  last loss  difference
"""

Arrays = list[np.ndarray]
Weights = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
Step = Callable[[np.ndarray, np.ndarray], float]


class Program(NamedTuple):
    """A program, ready to train."""

    step: Step
    plan: Callable[[np.ndarray, np.ndarray], Any]
    """The plan of a step that has run, or None."""
    graph: Callable[[np.ndarray, np.ndarray], Any]
    """Something that `sg.draw` takes."""


class Run(NamedTuple):
    """The outcome of a program."""

    name: str
    losses: np.ndarray
    micros: float
    first: float
    kernels: dict[str, str] | None
    """Texts of kernels by their code without comments."""


# The model, in each dialect -------------------------------------------------------------------------------------------


def in_torch(weights: Weights, decorate: Callable[..., Any] | None = None) -> tuple[Any, Any]:
    """The step, and the loss alone."""
    import staticgrad as torch
    import staticgrad.nn.functional as F

    w1, b1, w2, b2 = parameters = [torch.tensor(array, requires_grad=True) for array in weights]
    optimizer = torch.optim.SGD(parameters, lr=RATE, momentum=MOMENTUM)

    def loss_of(x: Any, y: Any) -> Any:
        hidden = torch.relu(x @ w1 + b1)
        return F.cross_entropy(hidden @ w2 + b2, y)

    def step(x: Any, y: Any) -> Any:
        loss = loss_of(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return (decorate(step) if decorate else step), loss_of


def torch_eager(weights: Weights) -> Program:
    import staticgrad as torch

    step, loss_of = in_torch(weights)
    tensor = torch.from_numpy
    return Program(
        lambda x, y: step(tensor(x), tensor(y)).item(), lambda x, y: None, lambda x, y: loss_of(tensor(x), tensor(y))
    )


def torch_compiled(weights: Weights) -> Program:
    import staticgrad as torch

    step, _ = in_torch(weights, torch.compile)
    return Program(lambda x, y: step(x, y).item(), lambda x, y: step.plan, lambda x, y: step.plan)


def tf1(weights: Weights) -> Program:
    import staticgrad.compat.tf1 as tf

    x = tf.placeholder(tf.float32, [None, 64], name="x")
    y = tf.placeholder(tf.float32, [None, 10], name="y")
    rate = tf.placeholder(tf.float64, [], name="rate")
    momentum = tf.placeholder(tf.float64, [], name="momentum")
    w1, b1, w2, b2 = (tf.Variable(array, name=name) for array, name in zip(weights, ("w1", "b1", "w2", "b2"), strict=True))
    hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
    logits = tf.matmul(hidden, w2) + b2
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    train = tf.train.MomentumOptimizer(rate, momentum).minimize(loss)
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())

    def feed(images: np.ndarray, labels: np.ndarray) -> dict[Any, Any]:
        return {x: images, y: labels, rate: RATE, momentum: MOMENTUM}

    def plan(*batch: np.ndarray) -> Any:
        return sess.plan([loss, train], feed(*batch))

    return Program(lambda *batch: float(sess.run([loss, train], feed(*batch))[0]), plan, plan)


PROGRAMS = {"torch": torch_eager, "compiled": torch_compiled, "tf1": tf1}


# Training -------------------------------------------------------------------------------------------------------------


def load() -> tuple[np.ndarray, np.ndarray]:
    """Pixels (1797, 64) from 0 to 1, and labels (1797, 10), one-hot."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit('This example needs scikit-learn: pip install -e ".[examples]" in the checkout')
    pixels, labels = load_digits(return_X_y=True)
    return (pixels / 16).astype("float32"), np.eye(10, dtype="float32")[labels]


def initial_weights(rng: np.random.Generator) -> Weights:
    def drawn(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype("float32")

    return drawn(64, 128), np.zeros(128, "float32"), drawn(128, 10), np.zeros(10, "float32")


def train(name: str, steps: int, seed: int, out: str | None) -> Run:
    """Train one of the programs, and draw its graph into the directory `out` if there is one."""
    rng = np.random.default_rng(seed)
    weights, (pixels, labels) = initial_weights(rng), load()
    rows = rng.integers(0, len(labels), (steps, BATCH))
    begin = time.perf_counter()
    program = PROGRAMS[name](weights)
    losses = [program.step(pixels[rows[0]], labels[rows[0]])]
    first = time.perf_counter() - begin
    micros = []
    for block in np.array_split(rows[1:], min(BLOCKS, steps - 1)):
        begin = time.perf_counter()
        losses += [program.step(pixels[row], labels[row]) for row in block]
        micros.append(1e6 * (time.perf_counter() - begin) / len(block))
    batch = pixels[rows[0]], labels[rows[0]]
    if out is not None:
        import staticgrad as sg

        sg.draw(program.graph(*batch), Path(out) / f"{name}.svg")
    plan = program.plan(*batch)
    return Run(name, np.array(losses), float(np.median(micros)), first, None if plan is None else plan.sources())


def apart(runs: list[Run]) -> float:
    """The largest relative difference of a loss from the first run's; NaN, which is never close, where one is NaN."""
    expected = runs[0].losses
    return float(np.max([np.abs(run.losses - expected) / np.abs(expected) for run in runs]))


def shared(run: Run, runs: list[Run]) -> int | None:
    """How many kernels of a run all other runs with kernels have, too."""
    if run.kernels is None:
        return None
    others = [other.kernels for other in runs if other is not run and other.kernels is not None]
    return sum(all(code in kernels for kernels in others) for code in run.kernels)


def table(runs: list[Run]) -> str:
    """One line per program."""
    lines = []
    for run in runs:
        counts = (None if run.kernels is None else len(run.kernels), shared(run, runs))
        kernels, same = ("-" if n is None else n for n in counts)
        difference = "-" if run is runs[0] else f"{apart([runs[0], run]):.1e}"
        lines.append(
            f"{run.name:10s}{run.micros:10.1f}{run.first:10.2f}{kernels:>9}{same:>8}"
            f"{run.losses[0]:12.5f}{run.losses[-1]:11.5f}{difference:>12}"
        )
    return HEADER + "\n".join(lines)


def differing(runs: list[Run]) -> list[str]:
    """The texts of kernels that not all plans have, each after the program's name."""
    plans = [run for run in runs if run.kernels is not None]
    return [
        f"only in {run.name}:\n{text}"
        for run in plans
        for code, text in (run.kernels or {}).items()
        if not all(code in (other.kernels or {}) for other in plans)
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300, help="number of updates")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batches")
    parser.add_argument("--out", metavar="DIRECTORY", help="draw the graph of each program into this directory")
    options = parser.parse_args(arguments)
    if options.steps < 2:
        parser.error("--steps must be at least 2")
    if options.out is not None:
        Path(options.out).mkdir(parents=True, exist_ok=True)

    # NumPy's BLAS: matrices this small gain nothing from a second thread, and eager mode loses much on a busy machine
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    runs = in_fresh_processes(train, ((name, options.steps, options.seed, options.out) for name in PROGRAMS))
    print(table(runs))
    others = differing(runs)
    if others:
        sys.exit("\n\n".join(["\nThe kernels differ.", *others]))
    difference = apart(runs)
    if not difference <= TOLERANCE:  # NaN disagrees
        sys.exit(f"\nThe losses disagree: by {difference:.1e} of their size, more than {TOLERANCE:.0e}")
    print(f"\nThe losses agree to {difference:.1e} of their size, and the plans have the same kernels.")


if __name__ == "__main__":
    main()
