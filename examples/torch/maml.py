"""Model-agnostic meta-learning of sine waves (Finn et al., 2017): gradients through steps of gradient descent.

python examples/torch/maml.py [--steps 500] [--compile]
"""

import argparse
from collections import OrderedDict

import numpy as np

import staticgrad as torch
import staticgrad.nn as nn
import staticgrad.nn.functional as F


class Learner(nn.Module):
    """A network that can be run with other weights than its own."""

    def __init__(self, hidden=40):
        super().__init__()
        self.net = nn.Sequential(
            OrderedDict(
                [
                    ("l1", nn.Linear(1, hidden)),
                    ("relu1", nn.ReLU()),
                    ("l2", nn.Linear(hidden, hidden)),
                    ("relu2", nn.ReLU()),
                    ("l3", nn.Linear(hidden, 1)),
                ]
            )
        )

    def forward(self, x):
        return self.net(x)

    def argforward(self, x, weights):
        x = F.relu(F.linear(x, weights[0], weights[1]))
        x = F.relu(F.linear(x, weights[2], weights[3]))
        return F.linear(x, weights[4], weights[5])


def initialize(model, rng):
    """Weights from NumPy's generator: the same whatever library runs the program."""
    state = OrderedDict()
    for name, value in model.state_dict().items():
        shape = tuple(value.shape)
        state[name] = torch.tensor(rng.normal(0, 0.1 if len(shape) == 1 else np.sqrt(2 / shape[1]), shape)).float()
    model.load_state_dict(state)


def sine_task(rng, shots=10):
    """Points of one sine wave: some to adapt with, some to judge by."""
    amplitude, phase = rng.uniform(0.1, 5.0), rng.uniform(0, np.pi)
    x = rng.uniform(-5.0, 5.0, (2 * shots, 1))
    x, y = (torch.tensor(a, dtype=torch.float32) for a in (x, amplitude * np.sin(x + phase)))
    return x[:shots], y[:shots], x[shots:], y[shots:]


def inner_loop(model, criterion, x, y, inner_steps, inner_lr):
    weights = list(model.parameters())
    for _ in range(inner_steps):
        loss = criterion(model.argforward(x, weights), y)
        grad = torch.autograd.grad(loss, weights, create_graph=True)
        weights = [w - inner_lr * g for w, g in zip(weights, grad)]
    return weights


def train(steps=500, tasks=4, inner_steps=2, inner_lr=0.01, meta_lr=1e-3, compiled=False, report=None):
    """The loss after adaptation, averaged over the tasks of each meta-step."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model = Learner()
    initialize(model, rng)
    criterion = nn.MSELoss()
    meta_optimizer = torch.optim.Adam(model.parameters(), lr=meta_lr)

    def meta_step(batch):
        meta_optimizer.zero_grad()
        meta_loss = 0
        for x, y, x_test, y_test in batch:
            weights = inner_loop(model, criterion, x, y, inner_steps, inner_lr)
            meta_loss = meta_loss + criterion(model.argforward(x_test, weights), y_test)
        meta_loss = meta_loss / len(batch)
        meta_loss.backward()
        meta_optimizer.step()
        return meta_loss

    if compiled:
        meta_step = torch.compile(meta_step)

    losses = []
    for iteration in range(1, steps + 1):
        losses.append(meta_step([sine_task(rng) for _ in range(tasks)]).item())
        if report and iteration % 50 == 0:
            report(f"{iteration}/{steps}. loss: {np.mean(losses[-50:]):.4f}")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="MAML of sine waves")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    train(steps=arguments.steps, compiled=arguments.compile, report=print)
