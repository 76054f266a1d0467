"""A physics-informed network solves the heat equation.

    python examples/recipes/pinn.py [--steps 3000] [--folder pinn]

There is no data: the loss is the mean square of u_t - u_xx / 10 at random points, so each step differentiates the network
twice by its inputs and the result by its weights. u = sin(pi x) + t x (1 - x) network(x, t) has the right values
at the begin and at both ends for any output of the network. The result is compared with the exact solution,
sin(pi x) exp(-pi^2 t / 10).
"""

from __future__ import annotations

import argparse
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import staticgrad as sg
from staticgrad import nn, optim

SPEED = 0.1
"""Of diffusion."""


class Solution(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x: Any, t: Any) -> Any:
        return sg.sin(pi * x) + t * x * (1 - x) * self.network(sg.cat([x, t], 1))


def points(steps: int, count: int) -> list[Any]:
    """Random (x, t), anew for each step."""
    sg.manual_seed(1)
    return [(sg.rand(count, 1), sg.rand(count, 1)) for _ in range(steps)]


def main(arguments: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--folder", default="pinn", help="of the picture and the model")
    options = parser.parse_args(arguments)
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)

    sg.manual_seed(0)
    model = Solution(options.width)
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)

    @sg.compile
    def update(x: Any, t: Any) -> Any:
        x, t = x.requires_grad_(), t.requires_grad_()
        u = model(x, t)
        u_x, u_t = sg.grad(u.sum(), [x, t], create_graph=True)
        (u_xx,) = sg.grad(u_x.sum(), x, create_graph=True)
        loss = ((u_t - SPEED * u_xx) ** 2).mean()
        optimizer.minimize(loss)
        return loss

    def step(x: Any, t: Any) -> Any:
        loss = update(x, t)
        schedule.step()
        return loss

    sg.fit(step, points(options.steps, 256), report=folder / "report.html")
    sg.save(model.state_dict(), folder / "model.safetensors")
    x, t = sg.meshgrid(sg.linspace(0, 1, 41), sg.linspace(0, 1, 41), indexing="ij")
    with sg.no_grad():
        u = model(x.reshape(-1, 1), t.reshape(-1, 1)).reshape(41, 41)
    error = (u - sg.sin(pi * x) * sg.exp(-SPEED * pi**2 * t)).abs().max().item()
    print(f"largest error {error:.1e}")
    draw(u.numpy(), folder / "solution.png")
    return error


def draw(u: np.ndarray, file: Path) -> None:
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    picture = axes.imshow(u, origin="lower", extent=(0, 1, 0, 1), aspect="auto")
    axes.set(xlabel="t", ylabel="x")
    figure.colorbar(picture, label="u")
    figure.savefig(file)


if __name__ == "__main__":
    main()
