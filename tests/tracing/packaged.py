"""A package that a test installs beside a copy of the table of `test_stale.py`: layers, an optimizer and the ways in which code
of a package is reached through frames of staticgrad. As a module of the tests it is a file of the user's."""

from __future__ import annotations

from typing import Any

import staticgrad as sg
from staticgrad import nn, optim


class Through(nn.Module):
    """Its forward is a given function."""

    def __init__(self, fn: Any):
        super().__init__()
        self.fn = fn

    def forward(self, x: Any) -> Any:
        return self.fn(x)


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self, x: Any) -> Any:
        self.n += 1
        return x * self.n


class Lion(optim.Optimizer):
    """EvoLved Sign Momentum (Chen et al. 2023, algorithm 2), written as PyTorch's optimizers are."""

    def __init__(self, params: Any, lr: float = 1e-2, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})
        self.steps = 0

    def step(self, closure: Any = None) -> Any:
        loss = None
        if closure is not None:
            with sg.enable_grad():
                loss = closure()
        self.steps += 1
        warm = min(1.0, self.steps / 4)
        with sg.no_grad():
            for group in self.param_groups:
                beta1, beta2 = group["betas"]
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if len(state) == 0:
                        state["exp_avg"] = sg.zeros_like(p)
                        state["count"] = 0
                    state["count"] += 1
                    average = state["exp_avg"]
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    update = average.clone().mul_(beta1).add(p.grad, alpha=1 - beta1).sign_()
                    p.add_(update, alpha=-group["lr"] * warm)
                    average.mul_(beta2).add_(p.grad, alpha=1 - beta2)
        return loss


def as_step(fn: Any) -> Any:
    return fn


def as_forward(fn: Any) -> Any:
    net = nn.Sequential(nn.Identity(), Through(fn))
    return lambda x: net(x)


def as_hook(fn: Any) -> Any:
    net = nn.Identity()
    net.register_forward_hook(lambda module, args, result: fn(result))
    return net.__call__


def as_closure(fn: Any) -> Any:
    opt = optim.SGD([sg.zeros(1, requires_grad=True)], lr=0.1)
    return lambda x: opt.step(lambda: fn(x))


def as_decorated(fn: Any) -> Any:
    return sg.enable_grad()(fn)


WAYS = {"step": as_step, "forward": as_forward, "hook": as_hook, "closure": as_closure, "decorated": as_decorated}
