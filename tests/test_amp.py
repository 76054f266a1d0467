"""Scaled losses on the CPU: the scale's course is PyTorch's, and steps with infinite gradients are skipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import optim


def course(c: Any, clip: bool) -> tuple[list[float], list[bool], dict[str, Any], np.ndarray]:
    """The scale after each step, whether the parameter moved, the scaler's state and the parameter."""
    w = sg.ones(3, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.25)
    scaler = sg.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)

    @c
    def step(x):
        optimizer.zero_grad()
        scaler.scale((w * x).sum()).backward()
        if clip:
            scaler.unscale_(optimizer)
            w.grad.clamp_(max=1.0)
        scaler.step(optimizer)
        scaler.update()

    scales, moves = [], []
    for x in (1.0, 1.0, np.inf, 2.0, np.nan, 1.0, 1.0):
        before = w.detach().clone()
        step(sg.full((3,), x))
        scales.append(scaler.get_scale())
        moves.append(not sg.equal(w.detach(), before))
    return scales, moves, scaler.state_dict(), w.detach().numpy()


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("c", [lambda f: f, sg.compile], ids=["eager", "compiled"])
def test_the_scale_and_the_steps(c: Any, clip: bool):
    scales, moves, saved, w = course(c, clip)
    assert scales == [8.0, 16.0, 8.0, 8.0, 4.0, 4.0, 8.0]
    assert moves == [True, True, False, True, False, True, True]
    assert saved == {
        "scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2, "_growth_tracker": 0,
    }  # fmt: skip
    np.testing.assert_allclose(w, 1 - 0.25 * (5 if clip else 6))


@pytest.mark.usefixtures("interpreted")
def test_a_compiled_loss_sees_a_new_scale():
    scaler = sg.amp.GradScaler("cpu", init_scale=2.0)
    scaled = sg.compile(lambda x: scaler.scale(x.sum()))
    assert scaled(sg.ones(2)).item() == 4.0
    scaler.update(5.0)
    assert scaled(sg.ones(2)).item() == 10.0
    assert scaled.traces == 1


def test_a_whole_trace_refuses_steps():
    w = sg.ones(2, requires_grad=True)
    optimizer, scaler = optim.SGD([w], lr=0.1), sg.amp.GradScaler("cpu")
    scaler.scale(w.sum()).backward()
    for call in (lambda: scaler.unscale_(optimizer), lambda: scaler.step(optimizer), scaler.update):
        with pytest.raises(sg.TraceError, match=r"^GradScaler\.\w+: whether the optimizer steps depends on values"):
            sg.compile(call, on_break="error")()


def test_states_and_outputs():
    scaler, other = sg.amp.GradScaler("cpu", init_scale=4.0), sg.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 4.0
    a, [b] = other.scale((sg.tensor(1.0), [sg.tensor(2.0, dtype=sg.float64)]))
    assert (a.item(), b.item(), b.dtype) == (4.0, 8.0, sg.float64)


def test_misuse():
    w = sg.ones(2, requires_grad=True)
    optimizer, scaler = optim.SGD([w], lr=0.1), sg.amp.GradScaler("cpu")
    for message, call in (
        ("No inf checks were recorded prior to update", scaler.update),
        ("No inf checks were recorded for this optimizer", lambda: scaler.step(optimizer)),
        ("The source state dict is empty", lambda: scaler.load_state_dict({})),
        ("outputs must be a Tensor", lambda: scaler.scale(1.0)),
        ("The growth factor must be > 1.0", lambda: sg.amp.GradScaler("cpu", growth_factor=1.0)),
        ("The backoff factor must be < 1.0", lambda: sg.amp.GradScaler("cpu", backoff_factor=1.0)),
        ("Closure use is not currently supported", lambda: scaler.step(optimizer, closure=lambda: None)),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="has already been called on this optimizer since the last update"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    for message, call in (
        (r"step\(\) has already been called since the last update", lambda: scaler.step(optimizer)),
        (r"unscale_\(\) is being called after step", lambda: scaler.unscale_(optimizer)),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
