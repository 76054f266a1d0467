"""Hours of what a long program does, with memory flat: training, checkpoints, new shapes, exceptions, threads, garbage.

    python -m tests.soak --minutes 120 [--seed 0]

A round does each of them in every mode. Resident memory is read after each round: the median of the last fifth may be 1 % above
that of the second fifth, before which caches fill. Losses have to fall, and restored checkpoints to give the same loss again.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.distributed import checkpoint

GROWTH = 0.01
"""Of the median, from the second fifth to the last."""
FEATURES, CLASSES, SIZES = 12, 4, range(1, 65)


def data(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal((rows, FEATURES)).astype(np.float32)
    return x, np.argmax(x[:, :CLASSES], 1)


def net() -> Any:
    return nn.Sequential(nn.Linear(FEATURES, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, CLASSES))


class World:
    """A model for each way to run it."""

    def __init__(self, seed: int):
        sg.manual_seed(seed)
        self.rng, self.random = np.random.default_rng(seed), random.Random(seed)
        self.model = net()
        self.opt = optim.Adam(self.model.parameters(), lr=1e-3)
        self.compiled = sg.compile(self.eager)
        graph = sg.Graph()
        with graph.as_default():
            self.x = sg.placeholder(sg.float32, [None, FEATURES])
            self.y = sg.placeholder(sg.int64, [None])
            w = sg.Variable(np.zeros((FEATURES, CLASSES), np.float32))
            self.loss = F.cross_entropy(self.x @ w, self.y)
            self.train = optim.Adam(lr=1e-3).minimize(self.loss, [w])
            start = sg.global_variables_initializer()
        self.session = sg.Session(graph)
        self.session.run(start)
        self.folder = tempfile.TemporaryDirectory()

    def eager(self, x: Any, y: Any) -> Any:
        loss = F.cross_entropy(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss

    # what a round does ----------------------------------------------------------------------------------------------------

    def training(self) -> float:
        """Steps in each mode; the mean loss of the compiled ones."""
        losses = []
        for _ in range(30):
            x, y = data(self.rng, 32)
            losses.append(self.compiled(x, y).item())
            self.session.run([self.loss, self.train], {self.x: x, self.y: y})
        for _ in range(3):
            self.eager(sg.tensor(x), sg.tensor(y))
        return statistics.mean(losses)

    def shapes(self) -> None:
        """Batches of other sizes."""
        for rows in self.random.sample(SIZES, 4):
            x, y = data(self.rng, rows)
            assert np.isfinite(self.compiled(x, y).item())
            assert np.isfinite(self.session.run(self.loss, {self.x: x, self.y: y}))

    def checkpoints(self) -> None:
        """Both kinds, restored: the same loss as before."""
        x, y = data(self.rng, 16)
        self.model.eval()
        before = F.cross_entropy(self.model(sg.tensor(x)), sg.tensor(y)).item()
        file, whole = Path(self.folder.name) / "model.safetensors", Path(self.folder.name) / "whole"
        sg.save(self.model.state_dict(), file)
        checkpoint.save({"model": self.model, "optimizer": self.opt}, checkpoint_id=whole)
        with sg.no_grad():
            for p in self.model.parameters():
                p.mul_(0.5)
        self.model.load_state_dict(sg.load(file))
        state = {"model": self.model, "optimizer": self.opt}
        checkpoint.load(state, checkpoint_id=whole)
        assert F.cross_entropy(self.model(sg.tensor(x)), sg.tensor(y)).item() == before
        self.model.train()

    def exceptions(self) -> None:
        """Calls that fail, in each mode and while a function is traced."""
        x, y = data(self.rng, 8)
        for wrong in (
            lambda: self.compiled(x[:, :5], y),
            lambda: self.eager(sg.tensor(x), sg.tensor(y[:3])),
            lambda: self.session.run(self.loss, {self.x: x, self.y: y[:5]}),
            lambda: sg.compile(lambda a: a @ a)(x),
            lambda: sg.compile(broken)(x),
        ):
            try:
                wrong()
            except (ValueError, RuntimeError, KeyError):
                pass
            else:
                raise AssertionError("no error")

    def threads(self) -> None:
        """Four at once, of compiled inference and eager work."""
        errors = []

        def work(seed: int) -> None:
            try:
                x = sg.tensor(data(np.random.default_rng(seed), 8)[0])
                for _ in range(20):
                    with sg.no_grad():
                        shared(x)
                    (x * 2).sum().item()
            except Exception as error:
                errors.append(error)

        running = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        assert not errors, errors

    def let_go(self) -> None:
        """Models, graphs, sessions and compiled functions that nobody keeps."""
        model = net()
        opt = optim.SGD(model.parameters(), lr=0.1)
        step = sg.compile(lambda x, y: opt.minimize(F.cross_entropy(model(x), y)))
        x, y = data(self.rng, 8)
        for _ in range(3):
            step(x, y)
        with sg.Graph().as_default() as graph:
            a = sg.placeholder(sg.float32, [None, FEATURES])
            b = sg.tanh(a).sum()
            (g,) = sg.gradients(b, [a])
        with sg.Session(graph) as session:
            session.run([b, g], {a: x})


@sg.compile
def shared(x: Any) -> Any:
    return sg.softmax(x * 2 + 1, 1).sum()


def broken(x: Any) -> Any:
    raise KeyError("on purpose")


def resident() -> float:
    """Megabytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    world, end = World(options.seed), time.monotonic() + 60 * options.minutes
    memory: list[float] = []
    losses: list[float] = []
    told = time.monotonic()
    while time.monotonic() < end or len(memory) < 10:
        losses.append(world.training())
        for part in (world.shapes, world.checkpoints, world.exceptions, world.threads, world.let_go):
            part()
        gc.collect()
        memory.append(resident())
        if time.monotonic() > told + 60:
            told = time.monotonic()
            print(f"round {len(memory)}: {memory[-1]:.1f} MB, loss {losses[-1]:.3f}", flush=True)
    fifth = len(memory) // 5
    early, late = statistics.median(memory[fifth : 2 * fifth]), statistics.median(memory[-fifth:])
    growth = late / early - 1
    steps = 66 * len(memory)
    change = f"{early:.1f} MB to {late:.1f} MB, {growth:+.2%}"
    print(f"{len(memory)} rounds, {steps} steps and more: {change}; loss {losses[0]:.3f} to {losses[-1]:.3f}")
    return int(growth > GROWTH or not losses[-1] < losses[0])


if __name__ == "__main__":
    sys.exit(main())
