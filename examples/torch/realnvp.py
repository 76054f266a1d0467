"""A normalizing flow of two moons by affine coupling layers (Dinh et al., "Density estimation using Real NVP", 2017).

python examples/torch/realnvp.py [--steps 500] [--compile]
"""

import argparse

import numpy as np
from sklearn.datasets import make_moons

import staticgrad as torch
from staticgrad import distributions, nn


class RealNVP(nn.Module):
    def __init__(self, nets, nett, masks, prior):
        super(RealNVP, self).__init__()
        self.prior = prior
        self.mask = nn.Parameter(masks, requires_grad=False)
        self.t = nn.ModuleList([nett() for _ in range(len(masks))])
        self.s = nn.ModuleList([nets() for _ in range(len(masks))])

    def g(self, z):
        """From the latent space to the data."""
        x = z
        for i in range(len(self.t)):
            x_ = x * self.mask[i]
            s = self.s[i](x_) * (1 - self.mask[i])
            t = self.t[i](x_) * (1 - self.mask[i])
            x = x_ + (1 - self.mask[i]) * (x * torch.exp(s) + t)
        return x

    def f(self, x):
        """From the data to the latent space, and the log-determinant of the Jacobian."""
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return self.prior.log_prob(z) + logp

    def sample(self, batchSize):
        z = self.prior.sample((batchSize,))
        return self.g(z)


def nets():
    return nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(), nn.Linear(64, 64), nn.LeakyReLU(), nn.Linear(64, 2), nn.Tanh())


def nett():
    return nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(), nn.Linear(64, 64), nn.LeakyReLU(), nn.Linear(64, 2))


def initialize(model, rng):
    """Weights from NumPy's generator: the same whatever library runs the program."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            bound = 1 / np.sqrt(module.in_features)
            for p in module.parameters():
                p.data = torch.from_numpy(rng.uniform(-bound, bound, tuple(p.shape)).astype(np.float32))


def train(steps=500, batch_size=128, compiled=False, report=None):
    """Minus the mean log-likelihood of each batch."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    masks = torch.from_numpy(np.array([[0, 1], [1, 0]] * 3).astype(np.float32))
    prior = distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    flow = RealNVP(nets, nett, masks, prior)
    initialize(flow, rng)
    optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad is True], lr=1e-3)

    def step(x):
        loss = -flow.log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        return loss

    if compiled:
        step = torch.compile(step)

    losses = []
    for t in range(steps):
        noisy_moons = make_moons(n_samples=batch_size, noise=0.05, random_state=int(rng.integers(2**31)))[0]
        losses.append(step(torch.from_numpy(noisy_moons.astype(np.float32))).item())
        if report and t % 100 == 99:
            report(f"iter {t + 1}: loss = {np.mean(losses[-100:]):.3f}")
    if report:
        x = flow.sample(1000).detach().numpy()
        report(f"samples: mean {x.mean(0).round(2)}, standard deviation {x.std(0).round(2)}")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="RealNVP of two moons")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    train(steps=arguments.steps, compiled=arguments.compile, report=print)
