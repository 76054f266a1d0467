"""A neural ordinary differential equation fitted to a spiral (Chen et al., 2018), solved by Runge-Kutta steps.

python examples/torch/neural_ode.py [--steps 300] [--compile]

"""

import argparse

import numpy as np

import staticgrad as torch
import staticgrad.nn as nn
import staticgrad.optim as optim


class ODEFunc(nn.Module):
    def __init__(self, hidden=50):
        super(ODEFunc, self).__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 2))

    def forward(self, t, y):
        return self.net(y**3)


class Lambda(nn.Module):
    """The true dynamics."""

    def __init__(self):
        super().__init__()
        self.register_buffer("true_A", torch.tensor([[-0.1, 2.0], [-2.0, -0.1]]))

    def forward(self, t, y):
        return torch.mm(y**3, self.true_A)


def rk4_step(func, t, dt, y):
    """One step of the 3/8 rule."""
    k1 = func(t, y)
    k2 = func(t + dt / 3, y + dt * k1 / 3)
    k3 = func(t + dt * 2 / 3, y + dt * (k2 - k1 / 3))
    k4 = func(t + dt, y + dt * (k1 - k2 + k3))
    return y + (k1 + 3 * (k2 + k3) + k4) * dt * 0.125


def odeint(func, y0, t):
    """The solution at each of the times: (len(t), *y0.shape)."""
    solution = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        solution.append(rk4_step(func, t0, t1 - t0, solution[-1]))
    return torch.stack(solution)


def initialize(model, rng):
    for m in model.modules():
        if isinstance(m, nn.Linear):
            m.weight.data = torch.from_numpy(rng.normal(0, 0.1, tuple(m.weight.shape)).astype("float32"))
            nn.init.constant_(m.bias, val=0)


def train(steps=300, data_size=200, batch_time=10, batch_size=20, compiled=False, report=None):
    """The loss of each step."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    t = torch.linspace(0.0, 5.0, data_size)
    with torch.no_grad():
        true_y = odeint(Lambda(), torch.tensor([[2.0, 0.0]]), t)
    func = ODEFunc()
    initialize(func, rng)
    optimizer = optim.RMSprop(func.parameters(), lr=1e-3)

    def get_batch():
        s = torch.from_numpy(rng.choice(np.arange(data_size - batch_time, dtype=np.int64), batch_size, replace=False))
        return true_y[s], t[:batch_time], torch.stack([true_y[s + i] for i in range(batch_time)], dim=0)

    def step(batch_y0, batch_t, batch_y):
        optimizer.zero_grad()
        pred_y = odeint(func, batch_y0, batch_t)
        loss = torch.mean(torch.abs(pred_y - batch_y))
        loss.backward()
        optimizer.step()
        return loss

    if compiled:
        step = torch.compile(step)

    losses = []
    for itr in range(1, steps + 1):
        losses.append(step(*get_batch()).item())
        if report and itr % 20 == 0:
            with torch.no_grad():
                loss = torch.mean(torch.abs(odeint(func, true_y[0], t) - true_y))
            report("Iter {:04d} | Total Loss {:.6f}".format(itr, loss.item()))
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="neural ODE of a spiral")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    train(steps=arguments.steps, compiled=arguments.compile, report=print)
