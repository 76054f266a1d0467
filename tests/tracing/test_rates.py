"""Learning rates and settings of schedules that a compiled function reads or changes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim

pytestmark = pytest.mark.usefixtures("few_kernels")

READS = {
    "item": lambda optimizer, rates: optimizer.param_groups[0]["lr"],
    "get": lambda optimizer, rates: optimizer.param_groups[0].get("lr"),
    "copy of the group": lambda optimizer, rates: dict(optimizer.param_groups[0])["lr"],
    "unpacked group": lambda optimizer, rates: {**optimizer.param_groups[0]}["lr"],
    "items": lambda optimizer, rates: json.dumps({k: v for k, v in optimizer.param_groups[0].items() if k != "params"}),
    "attribute": lambda optimizer, rates: optimizer.lr,
    "text": lambda optimizer, rates: str(optimizer),
    "state of the optimizer": lambda optimizer, rates: optimizer.state_dict()["param_groups"][0]["lr"],
    "last rate": lambda optimizer, rates: rates.get_last_lr()[0],
    "next rate": lambda optimizer, rates: rates.get_lr()[0],
    "epoch": lambda optimizer, rates: rates.last_epoch,
    "namespace": lambda optimizer, rates: vars(rates)["last_epoch"],
    "state of the schedule": lambda optimizer, rates: rates.state_dict()["last_epoch"],
    "parts of the schedule": lambda optimizer, rates: [part.last_epoch for part in getattr(rates, "_schedulers", ())],
    "number of parameters": lambda optimizer, rates: len(optimizer.param_groups[0]["params"]),
}
SCHEDULES = {
    "exponential": lambda optimizer: optim.lr_scheduler.ExponentialLR(optimizer, 0.5),
    "plateau": lambda optimizer: optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5),
    "sequence": lambda optimizer: optim.lr_scheduler.SequentialLR(
        optimizer, [optim.lr_scheduler.ExponentialLR(optimizer, 0.5), optim.lr_scheduler.StepLR(optimizer, 1)], [2]
    ),
}


def reading(read, schedule, late):
    layer = nn.Linear(3, 1)
    optimizer = optim.SGD(layer.parameters(), lr=0.1)
    rates = SCHEDULES[schedule](optimizer)

    def step(x):
        found = None if late else read(optimizer, rates)
        optimizer.zero_grad()
        loss = layer(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        rates.step(*[1.0] * (schedule == "plateau"))
        return read(optimizer, rates) if late else found

    return step


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("read", READS)
def test_what_a_schedule_changes_is_read_as_in_eager_mode(read, schedule, late):
    if read == "next rate" and schedule != "exponential":
        pytest.skip("these have none")
    eager, compiled = reading(READS[read], schedule, late), sg.compile(reading(READS[read], schedule, late))
    x = sg.ones(4, 3)
    for _ in range(4):
        assert compiled(x) == eager(x)


def test_an_annealed_rate_read_by_the_users_optimizer_is_an_argument():
    class Plain(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @sg.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad, alpha=-group["lr"])

    def losses(compiles):
        p = nn.Parameter(sg.tensor(np.arange(4.0)))
        optimizer = Plain([p], 0.1)
        rates = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

        @compiles
        def step():
            optimizer.zero_grad()
            loss = (p * p).sum()
            loss.backward()
            optimizer.step()
            return loss

        found = []
        for _ in range(12):
            found.append(step().item())
            rates.step()
        return found, getattr(step, "traces", 0)

    found, traces = losses(sg.compile)
    np.testing.assert_allclose(found, losses(lambda fn: fn)[0], rtol=1e-12)
    assert traces == 3


class Normalized(nn.Module):
    """Replaces the weight of a layer in each call, before or after the layer reads the former one."""

    def __init__(self, late):
        super().__init__()
        self.layer, self.late = nn.Linear(3, 2, dtype=sg.float64), late
        self.free = nn.Parameter(sg.tensor(np.arange(6.0).reshape(2, 3)))
        del self.layer._parameters["weight"]
        self.layer.weight = sg.ones(2, 3, dtype=sg.float64)

    def forward(self, x):
        before = self.layer(x).sum() if self.late else 0.0
        self.layer.weight = (self.free / (self.free.norm() + x.sum())).detach() if self.late else self.free / self.free.norm()
        return self.layer(x).sum() + before


@pytest.mark.parametrize("late", [False, True])
def test_a_weight_that_is_replaced_in_each_call(late):
    sg.manual_seed(0)
    model = Normalized(late)
    sg.manual_seed(0)
    other = Normalized(late)
    step = sg.compile(model)
    for i in range(6):
        x = sg.full((4, 3), 1.0 + i, dtype=sg.float64)
        np.testing.assert_allclose(step(x).item(), other(x).item(), rtol=1e-12)
    if not late:
        assert step.traces <= 2


@pytest.mark.parametrize("read", [lambda loss: loss.item(), lambda loss: loss.detach()])
def test_a_schedule_gets_its_metrics_by_name(read):
    def trained(compiles):
        p = nn.Parameter(sg.ones(2))
        optimizer = optim.SGD([p], lr=0.1)
        rates = SCHEDULES["plateau"](optimizer)

        @compiles
        def step(x):
            optimizer.zero_grad()
            loss = (p * x).sum() ** 2
            loss.backward()
            optimizer.step()
            rates.step(metrics=read(loss))
            return loss * 1

        return [step(sg.ones(2) * k).item() for k in (1.0, 2.0, 3.0, 1.0)], optimizer.param_groups[0]["lr"]

    losses, rate = trained(sg.compile)
    others, expected = trained(lambda fn: fn)
    np.testing.assert_allclose(losses, others, rtol=1e-5)
    assert rate == expected
