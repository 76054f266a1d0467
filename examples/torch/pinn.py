"""A physics-informed network for Burgers' equation (Raissi et al., 2019), trained by L-BFGS.

    python examples/torch/pinn.py [--steps 20] [--compile]

u_t + u u_x = (0.01 / pi) u_xx on [-1, 1] x [0, 1], with u(x, 0) = -sin(pi x) and u = 0 at both ends.
"""

import argparse
import math

import numpy as np

import staticgrad as torch
import staticgrad.nn as nn


class MLP(nn.Module):
    def __init__(self, width=20, depth=4):
        super().__init__()
        sizes = [2] + [width] * depth + [1]
        layers = []
        for i in range(len(sizes) - 2):
            layers += [nn.Linear(sizes[i], sizes[i + 1]), nn.Tanh()]
        layers.append(nn.Linear(sizes[-2], sizes[-1]))
        self.layers = nn.Sequential(*layers)

    def forward(self, x, t):
        return self.layers(torch.cat([x, t], dim=1))


def derivative(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), retain_graph=True, create_graph=True)[0]


class PINN:
    def __init__(self, rng, interior=200, boundary=50):
        self.u = MLP().double()
        with torch.no_grad():
            for p in self.u.parameters():
                scale = math.sqrt(2 / sum(p.shape)) if p.dim() == 2 else 0.0
                p.copy_(torch.from_numpy(rng.normal(0, 1, tuple(p.shape)) * scale))
        x = torch.from_numpy(rng.uniform(-1, 1, (interior, 1)))
        t = torch.from_numpy(rng.uniform(0, 1, (interior, 1)))
        self.x, self.t = x.requires_grad_(), t.requires_grad_()
        start = torch.linspace(-1, 1, boundary, dtype=torch.float64).view(-1, 1)
        times = torch.from_numpy(rng.uniform(0, 1, (boundary, 1)))
        sides = torch.where(torch.arange(boundary).view(-1, 1) % 2 == 0, 1.0, -1.0).double()
        self.x_data = torch.cat([start, sides])
        self.t_data = torch.cat([torch.zeros_like(start), times])
        self.u_data = torch.cat([-torch.sin(math.pi * start), torch.zeros_like(times)])
        self.nu = 0.01 / math.pi
        self.optimizer = torch.optim.LBFGS(
            self.u.parameters(), lr=1.0, max_iter=5, history_size=20, tolerance_grad=1e-9, line_search_fn="strong_wolfe"
        )

    def loss(self):
        u = self.u(self.x, self.t)
        u_t, u_x = derivative(u, self.t), derivative(u, self.x)
        u_xx = derivative(u_x, self.x)
        residual = torch.mean((u_t + u * u_x - self.nu * u_xx) ** 2)
        return residual + nn.functional.mse_loss(self.u(self.x_data, self.t_data), self.u_data)

    def closure(self):
        self.optimizer.zero_grad()
        loss = self.loss()
        loss.backward()
        return loss


def train(steps=20, compiled=False, report=None):
    """The loss at the start of each step of the optimizer, each of five iterations."""
    torch.manual_seed(0)
    pinn = PINN(np.random.default_rng(0))
    closure = torch.compile(pinn.closure) if compiled else pinn.closure
    losses = []
    for step in range(1, steps + 1):
        losses.append(pinn.optimizer.step(closure).item())
        if report:
            report(f"step {step:3d}  loss {losses[-1]:.6f}")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="PINN of Burgers' equation")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    train(steps=arguments.steps, compiled=arguments.compile, report=print)
