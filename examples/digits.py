"""Handwritten digits, learned three ways: one model, one update rule, one result.

    python examples/digits.py [--epochs 40] [--seed 0] [--plot digits.png] [--report digits.html]

A 64-128-10 ReLU network learns scikit-learn's bundled digits (1,797 images of 8x8 pixels) in batches of 64 with Adam:

    eager       each operation runs as Python reaches it, as in PyTorch
    session     a graph is defined first, then run, as in TensorFlow 1
    compiled    the eager step under `@sg.compile`: traced once, then run as one native call

Every mode runs in a fresh process, from the same weights and on the same batches; PyTorch and JAX, where they are
installed, do the same (digits_peers.py). A table compares them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import digits_peers
import numpy as np
from digits_report import Run, Trainer, plot, table
from measuring import in_fresh_processes, measured
from reporting import add_option, training_step, write_report

import staticgrad as sg
import staticgrad.functional as F

BATCH = 64
LEARNING_RATE = 1e-3

Weights = dict[str, np.ndarray]
Batch = tuple[np.ndarray, np.ndarray]


# The data and the model -----------------------------------------------------------------------------------------------


def load(seed: int, dtype: str = "float32") -> tuple[Batch, Batch]:
    """(pixels, labels) to train on, and a held-out fifth; pixels have mean 0 and standard deviation 1."""
    try:
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        sys.exit('This example needs scikit-learn: pip install -e ".[examples]" in the checkout')
    digits: Any = load_digits()
    pixels, labels = digits.data, digits.target.astype("int32")
    parts: Any = train_test_split(pixels, labels, test_size=0.2, stratify=labels, random_state=seed)
    train_x, test_x, train_y, test_y = parts
    scale = StandardScaler().fit(train_x)
    return (np.asarray(scale.transform(train_x), dtype), train_y), (np.asarray(scale.transform(test_x), dtype), test_y)


def batches(data: Batch, epochs: int, seed: int) -> Iterator[Batch]:
    """Full batches, in a new order each epoch."""
    rng = np.random.default_rng(seed)
    pixels, labels = data
    for _ in range(epochs):
        order = rng.permutation(len(labels))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            yield pixels[rows], labels[rows]


def network(dtype: Any) -> sg.nn.Module:
    return sg.nn.Sequential(sg.nn.Linear(64, 128, dtype=dtype), sg.nn.ReLU(), sg.nn.Linear(128, 10, dtype=dtype))


def initial_weights(seed: int, dtype: str = "float32") -> Weights:
    sg.manual_seed(seed)
    return {name: p.detach().numpy().copy() for name, p in network(dtype).named_parameters()}


# The three modes ------------------------------------------------------------------------------------------------------


def eager(initial: Weights, decorate: Callable[..., Any] = lambda step: step) -> Trainer:
    """Define by run."""
    model = network(initial["0.weight"].dtype)
    model.load_state_dict(initial)
    optimizer = sg.optim.Adam(model.parameters(), lr=LEARNING_RATE)

    @decorate
    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def predict(x: np.ndarray) -> np.ndarray:
        with sg.no_grad():
            return model(sg.tensor(x)).argmax(1).numpy()

    def weights() -> list[np.ndarray]:
        return [p.detach().numpy() for p in model.parameters()]

    return Trainer(step, predict, weights, lambda: getattr(step, "plan", None))


def compiled(initial: Weights) -> Trainer:
    """The same code with `@sg.compile` above the step. The model holds the trained weights."""
    return eager(initial, decorate=sg.compile)


def session(initial: Weights) -> Trainer:
    """Define, then run."""
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder(initial["0.weight"].dtype, (None, 64), name="x")
        y = sg.placeholder("int32", (None,), name="y")
        variables = [sg.Variable(value, name=name) for name, value in initial.items()]
        w1, b1, w2, b2 = variables
        logits = sg.relu(x @ w1.T + b1) @ w2.T + b2
        loss = F.cross_entropy(logits, y)
        train = sg.optim.Adam(lr=LEARNING_RATE).minimize(loss)
        digit = sg.argmax(logits, 1)
        initialize = sg.global_variables_initializer()

    sess = sg.Session(graph)
    sess.run(initialize)

    fetches, seen = [loss, train], {}

    def step(pixels: np.ndarray, labels: np.ndarray) -> Any:
        seen.update({x: pixels, y: labels})
        value, _ = sess.run(fetches, feed_dict=seen)
        return value

    def predict(pixels: np.ndarray) -> np.ndarray:
        return sess.run(digit, feed_dict={x: pixels})

    return Trainer(step, predict, lambda: sess.run(variables), lambda: sess.plan(fetches, seen))


MODES = {"eager": eager, "session": session, "compiled": compiled}


# Training -------------------------------------------------------------------------------------------------------------


def train(mode: str, initial: Weights, data: Batch, held_out: Batch, epochs: int, seed: int) -> Run:
    """Train in one mode: the losses and times of all steps, and the outcome."""
    make = MODES[mode] if mode in MODES else digits_peers.load(mode)
    steps = epochs * (len(data[1]) // BATCH)
    trainer, figures = measured(mode, lambda: make(initial), batches(data, epochs, seed), steps)
    accuracy = float(np.mean(trainer.predict(held_out[0]) == held_out[1]))
    return Run(mode, figures, accuracy, trainer.weights())


def report(initial: Weights, batch: Batch, runs: list[Run], file: str) -> None:
    """The page that compares the modes, and the peers."""
    model = network(initial["0.weight"].dtype)
    model.load_state_dict(initial)
    optimizer = sg.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    step = training_step(model, optimizer, lambda model, x, y: F.cross_entropy(model(x), y))
    write_report(file, "Handwritten digits", step, batch, ((run.mode, run.figures) for run in runs))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0, help="of the weights, the held-out images and the shuffles")
    parser.add_argument("--plot", metavar="FILE", help="draw loss curves and step times into this file")
    add_option(parser)
    parser.add_argument("--no-peers", action="store_true", help="leave out PyTorch and JAX")
    options = parser.parse_args(arguments)
    if options.epochs < 1:
        parser.error("--epochs must be at least 1")

    # NumPy's BLAS: matrices this small gain nothing from a second thread, and eager mode loses much on a busy machine
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    data, held_out = load(options.seed)
    initial = initial_weights(options.seed)
    modes = [*MODES, *([] if options.no_peers else digits_peers.installed())]
    calls = ((mode, initial, data, held_out, options.epochs, options.seed) for mode in modes)
    runs = in_fresh_processes(train, calls)
    print(table(runs, options.epochs))
    if options.plot:
        plot(runs, options.epochs, options.plot)
    if options.report:
        report(initial, next(batches(data, 1, options.seed)), runs, options.report)


if __name__ == "__main__":
    main()
