"""Training steps in every mode, for programs that disturb them: each knows what its losses have to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((6, 5)).astype(np.float32), RNG.integers(0, 3, 6)
LOSSES = 12


class Training:
    """`step()` returns the loss of one step, or of several at once as an array; `after(n)` is the next one after n steps."""

    def __init__(self, step: Callable[[], Any], expected: list[float]):
        self.step, self.expected = step, expected

    def progress(self, loss: Any) -> int:
        """How many steps there were before the one with this (first) loss. Raises AssertionError for a wrong loss."""
        found = np.ravel(loss)
        for n in range(len(self.expected) - len(found) + 1):
            if np.allclose(found, self.expected[n : n + len(found)], rtol=1e-4):
                return n
        raise AssertionError(f"losses {found} are not among {self.expected}")


def _net() -> Any:
    sg.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))


def _eager() -> Callable[..., Any]:
    net = _net()
    opt = optim.SGD(net.parameters(), lr=0.5)

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return step


def reference() -> list[float]:
    step = _eager()
    return [step(X, Y).item() for _ in range(LOSSES)]


def eager() -> Callable[[], Any]:
    step = _eager()
    return lambda: step(X, Y).item()


def compiled() -> Callable[[], Any]:
    step = sg.compile(_eager())
    return lambda: step(X, Y).item()


def looped() -> Callable[[], Any]:
    step = sg.compile(_eager())
    return lambda: step.loop((np.stack([X] * 3), np.stack([Y] * 3))).numpy()


def _session() -> tuple[Any, ...]:
    weights = [p.detach().numpy() for p in _net().parameters()]
    with sg.Graph().as_default() as graph:
        x, y = sg.placeholder(sg.float32, (None, 5)), sg.placeholder(sg.int64, (None,))
        w, b, v, c = (sg.Variable(value) for value in weights)
        loss = F.cross_entropy(sg.tanh(x @ w.T + b) @ v.T + c, y)
        train = optim.SGD(lr=0.5).minimize(loss)
        init = sg.global_variables_initializer()
    session = sg.Session(graph)
    session.run(init)
    return session, [loss, train], x, y


def session() -> Callable[[], Any]:
    run, fetches, x, y = _session()
    return lambda: run.run(fetches, {x: X, y: Y})[0]


def run_steps() -> Callable[[], Any]:
    run, fetches, x, y = _session()
    return lambda: run.run_steps(fetches, {x: np.stack([X] * 3), y: np.stack([Y] * 3)})[0]


MODES: dict[str, Callable[[], Callable[[], Any]]] = {
    "eager": eager, "compiled": compiled, "looped": looped, "session": session, "run_steps": run_steps,
}  # fmt: skip


def training(mode: str, expected: list[float]) -> Training:
    return Training(MODES[mode](), expected)
