"""Eager steps of optimizers as one native call: the values of the rule, op by op."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.optim.native_step import _steps
from tests.helpers import assert_close

CASES: list[tuple[Any, dict[str, Any]]] = [
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    (optim.AdamW, {"lr": 0.01, "amsgrad": True}),
    (optim.RMSprop, {"lr": 0.01, "centered": True}),
]


def trained(kind: Any, options: dict[str, Any], native: bool) -> tuple[list[np.ndarray], Any]:
    with sg.eager_kernels(native, wait=True):
        sg.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to(sg.float64)
        optimizer = kind(model.parameters(), **options)
        x = sg.ones(5, 3, dtype=sg.float64)
        for i in range(5):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            if i == 3:  # a schedule, a gradient that is missing once, other memory
                optimizer.param_groups[0]["lr"] = 0.003
                model[0].bias.grad = None
            if i == 4:
                model[2].bias.data = model[2].bias.data.clone()
            optimizer.step()
        return [p.detach().numpy() for p in model.parameters()], optimizer


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_steps_agree_with_the_rule(kind: Any, options: dict[str, Any]):
    wanted, _ = trained(kind, options, False)
    found, optimizer = trained(kind, options, True)
    assert _steps[optimizer].run is not None
    for a, b in zip(found, wanted, strict=True):
        assert_close(a, b, rtol=1e-9, atol=1e-12)


def test_a_step_is_an_in_place_change():
    with sg.eager_kernels(wait=True):
        w = sg.tensor([1.0, 2.0], requires_grad=True)
        optimizer = optim.SGD([w], lr=0.5)
        for _ in range(2):
            w.grad = sg.ones(2)
            optimizer.step()
        y = (w * w).sum()
        version = w._version
        optimizer.step()
        assert w._version == version + 1
        with pytest.raises(sg.GradientError, match="inplace"):
            y.backward()
        optimizer.param_groups[0]["lr"] = sg.tensor(0.25)  # a tensor is read op by op
        optimizer.step()
    assert_close(w.detach(), sg.tensor([-0.75, 0.25]))
