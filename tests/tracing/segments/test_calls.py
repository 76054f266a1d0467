"""Calls of functions of several operations, which are noted at once when they are known."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.nn import functional as F
from staticgrad.tracing.segments import calls

X = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
W = np.random.default_rng(1).standard_normal((3, 3)).astype("float32")


def loop(x, w, state):
    """Not on the tape: what is known is followed."""
    with sg.no_grad():
        for _ in range(4):
            x = sg.tanh(F.linear(x, w))
            if (x - 1).norm() < state["least"]:
                break
    return x.sum()


def on_the_tape(x, w, state):
    y = F.linear(x, w)
    state["seen"] = float(y.sum())
    (g,) = sg.grad((F.softplus(y, state["beta"]) ** 2).sum(), [w])
    return g.sum()


def numbers_that_differ(x, w, state):
    state["beta"] += 0.25
    return F.softplus(x, state["beta"]).sum() + float(x.sum())


def other_values(x, w, state):
    """Shared memory is copied, and changed arrays are read anew."""
    with sg.no_grad():
        first = float(F.linear(x, w).sum())
        w.mul_(0.5)
        view = w.T
        return F.linear(x, view).sum() + F.linear(x, w).sum() + first


@pytest.mark.parametrize("program", [loop, on_the_tape, numbers_that_differ, other_values])
def test_known_calls_agree_with_eager_mode(program, monkeypatch):
    followed = []
    monkeypatch.setattr(calls, "_follow", lambda *args, follow=calls._follow: followed.append(1) or follow(*args))
    found = []
    for wrap in (lambda fn: sg.compile(fn, on_break="split"), lambda fn: fn):
        state, w, results = {"beta": 1.0, "least": 1e-3}, sg.tensor(W, requires_grad=True), []
        step = wrap(lambda x, w=w, state=state: program(x, w, state))
        for i in range(6):
            state["least"] = 10.0 if i == 4 else 1e-3
            results.append(float(step(sg.tensor(X * (i + 1)))))
        found.append([*results, *w.detach().numpy().ravel()])
    np.testing.assert_allclose(*found, rtol=2e-5)
    assert bool(followed) is (program is not numbers_that_differ)
