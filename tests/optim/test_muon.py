"""Muon: its direction is nearly orthogonal, and the same in all modes as in PyTorch but for PyTorch's bfloat16."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import optim

START = np.random.default_rng(0).normal(size=(5, 3))
TARGET = np.random.default_rng(1).normal(size=(5, 3))
SETTINGS = [
    {}, {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}, {"lr": 0.1, "weight_decay": 0.0, "ns_steps": 3},
]  # fmt: skip


def losses(lib, wrap, settings, steps=6):
    w = lib.tensor(START, requires_grad=True)
    target = lib.tensor(TARGET)
    opt = lib.optim.Muon([w], **settings)

    def step():
        opt.zero_grad()
        loss = ((w - target) ** 2).sum()
        loss.backward()
        opt.step()
        return loss

    run = wrap(step)
    return [run().item() for _ in range(steps)]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_compiled_steps_are_those_of_eager_mode(settings):
    found = losses(sg, lambda step: step, settings)
    assert found[-1] < found[0]
    np.testing.assert_allclose(losses(sg, sg.compile, settings), found, rtol=1e-12)


def test_a_step_is_nearly_orthogonal():
    w = sg.tensor(START, requires_grad=True)
    w.grad = sg.tensor(TARGET)
    optim.Muon([w], lr=1.0, weight_decay=0.0).step()
    values = np.linalg.svd(START - w.detach().numpy(), compute_uv=False) / np.sqrt(5 / 3)
    assert values.min() > 0.6
    assert values.max() < 1.3


@pytest.mark.parametrize(
    ("params", "settings", "text"),
    [
        ([sg.ones(3, requires_grad=True)], {}, "Muon only supports 2D parameters"),
        ([sg.ones(3, 3, dtype=sg.complex64, requires_grad=True)], {}, "Muon does not support complex parameters"),
        ([sg.ones(3, 2, requires_grad=True)], {"ns_steps": 100}, "Number of steps must be less than 100"),
        ([sg.ones(3, 2, requires_grad=True)], {"adjust_lr_fn": "max"}, "Adjust learning rate function max is not supported"),
        ([sg.ones(3, 2, requires_grad=True)], {"ns_coefficients": (1, 2)}, "a tuple of exactly 3 values"),
    ],
)
def test_bad_settings(params, settings, text):
    with pytest.raises((sg.ArgumentError, sg.DTypeError), match=text):
        optim.Muon(params, **settings)


@pytest.mark.oracle
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_against_torch(settings):
    torch = pytest.importorskip("torch")
    expected = losses(torch, lambda step: step, settings)
    np.testing.assert_allclose(losses(sg, lambda step: step, settings), expected, rtol=5e-3)
