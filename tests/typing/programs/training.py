"""Modules, optimizers and compiled functions."""

from collections.abc import Callable
from typing import assert_type

import numpy as np

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x: sg.Tensor, scale: float = 1.0) -> sg.Tensor:
        return self.rest(self.first(x) * scale)


net = Net()
assert_type(net(sg.ones(3, 4)), sg.Tensor)
assert_type(net(sg.ones(3, 4), scale=2.0), sg.Tensor)
assert_type(net.to("float64"), Net)
assert_type(net.rest[0], nn.Module)
outputs, (h, c) = nn.LSTM(4, 8)(sg.ones(5, 2, 4))
assert_type(h, sg.Tensor)
loss = F.cross_entropy(net(sg.ones(3, 4)), sg.tensor([0, 1, 0]))
assert_type(loss, sg.Tensor)
opt = optim.Adam(net.parameters(), lr=1e-3)
opt.zero_grad()
loss.backward()
opt.step()
for _, parameter in net.named_parameters():
    shape: tuple[int, ...] = parameter.shape
nn.init.uniform_(net.first.weight)


@sg.compile
def step(x: sg.Tensor, y: sg.Tensor, weight: float = 1.0) -> sg.Tensor:
    loss = F.mse_loss(net(x), y) * weight
    opt.minimize(loss)
    return loss


assert_type(step(sg.ones(3, 4), sg.ones(3, 2)), sg.Tensor)
assert_type(step(sg.ones(3, 4), y=sg.ones(3, 2), weight=2.0), sg.Tensor)
assert_type(step.recompiles, list[str])
lines: list[str] = step.explain().splitlines() + sg.explain(net, inputs=(np.ones((3, 4)),)).splitlines()
assert_type(str(step.plan.explain(detail=True)), str)
assert_type(sg.profile(step).total, float)
assert_type(step.loop((np.ones((9, 3, 4)), np.ones((9, 3, 2)))), sg.Tensor)
assert_type(step.loop([(np.ones((3, 4)), np.ones((3, 2)))]), list[sg.Tensor])


@sg.compile(numerics="strict")
def pair(x: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
    return x, x * 2


first, second = pair(sg.ones(2))
assert_type(second, sg.Tensor)


class Trainer:
    @sg.compile
    def step(self, x: sg.Tensor) -> sg.Tensor:
        return x * 2


assert_type(Trainer().step(sg.ones(2)), sg.Tensor)
assert_type(sg.compile(net)(sg.ones(3, 4)), sg.Tensor)
function: Callable[[sg.Tensor], sg.Tensor] = sg.compile(net.rest)
