"""A physics-informed network solves Poisson's equation u'' = -pi^2 sin(pi x) on [0, 1], with u(0) = u(1) = 0.

    python examples/pinn_poisson.py [--steps 2000] [--modes eager,session,compiled] [--quick] [--seed 0] [--plot pinn.png]
        [--report pinn.html]

No data: the loss is the mean square of the equation's residual at 256 random points, so each training step differentiates
u twice with respect to x, and the result with respect to the weights. u = x (1 - x) network(x) has the right boundary
values for any output of the 1-32-32-1 tanh network. The three modes (side_by_side.py) train the same module; each is
then compared with the exact solution, sin(pi x).

Source: Raissi, Perdikaris and Karniadakis, "Physics-informed neural networks", 2019.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import Any

import numpy as np
from side_by_side import Example, Finding, Predict, main

import staticgrad as sg
from staticgrad import nn


class Solution(nn.Module):
    """(n, 1) points -> u there."""

    def __init__(self, width: int):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x: Any) -> Any:
        return x * (1 - x) * self.network(x)


class Poisson(Example):
    steps = 2000
    quick_steps = 150
    inputs = (("float32", (None, 1)),)

    def model(self) -> Solution:
        return Solution(8 if self.quick else 32)

    def optimizer(self, parameters: Any = None) -> Any:
        return sg.optim.Adam(parameters, lr=1e-3)

    def loss(self, model: Any, x: Any) -> Any:
        x.requires_grad_()
        u = model(x)
        (du,) = sg.grad(u.sum(), x, create_graph=True)
        (d2u,) = sg.grad(du.sum(), x, create_graph=True)
        return residual(d2u, x)

    def graph_loss(self, model: Any, x: Any) -> Any:
        u = model(x)
        (du,) = sg.gradients(u, x)
        (d2u,) = sg.gradients(du, x)
        return residual(d2u, x)

    def batches(self, steps: int) -> Iterator[tuple[np.ndarray, ...]]:
        rng = np.random.default_rng(self.seed)
        for _ in range(steps):
            yield (rng.random((32 if self.quick else 256, 1), "float32"),)

    def finish(self, predict: Predict) -> Finding:
        x = np.linspace(0, 1, 101, dtype="float32")[:, None]
        u = predict(x)
        error = float(np.max(np.abs(u - np.sin(pi * x))))
        return Finding(f"the largest error of u is {error:.1e}", np.hstack([x, u]))

    def draw(self, axes: Any, values: np.ndarray) -> None:
        x, u = values.T
        axes.plot(x, np.sin(pi * x), label="sin(pi x)", linewidth=6, alpha=0.4)
        axes.plot(x, u, label="network")
        axes.set(xlabel="x", ylabel="u", title="The solution")
        axes.legend()


def residual(d2u: Any, x: Any) -> Any:
    """The mean square of the equation's residual."""
    return ((d2u + pi**2 * sg.sin(pi * x)) ** 2).mean()


if __name__ == "__main__":
    main(Poisson, __doc__)
