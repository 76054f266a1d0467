"""Programs of scientific computing: differential equations, associative memories, inference."""

from __future__ import annotations

import numpy as np

from .registry import Library, Training, batches, program, slower


@program("neural ODE, Runge-Kutta steps in a loop")
def neural_ode(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    net = lib.filled(nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2)))
    optimizer = optim.RMSprop(net.parameters(), lr=1e-3)
    solver = {"h": 0.1}

    def field(y):
        return net(y**3)

    @lib.compiles
    def step(y0, path):
        y, found, h = y0, [], solver["h"]
        for _ in range(path.shape[1]):
            k1 = field(y)
            k2 = field(y + h / 2 * k1)
            k3 = field(y + h / 2 * k2)
            k4 = field(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            found.append(y)
        loss = torch.mean(torch.abs(torch.stack(found, 1) - path))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def change():
        solver["h"] = 0.05

    rng = np.random.default_rng(0)
    y0 = rng.normal(0, 1, (128, 2)).astype("float32")
    return Training(step, batches(lib, y0, np.repeat(y0[:, None], 10, 1) * np.float32(0.9), size=32), change)


@program("physics-informed network: Burgers' equation, second derivatives of inputs")
def pinn(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    layers = []
    for a, b in zip([2, 32, 32, 32], [32, 32, 32, 1]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    net = lib.filled(nn.Sequential(*layers[:-1]))
    optimizer = optim.Adam(net.parameters(), lr=1e-3)
    physics = {"nu": 0.01 / np.pi}

    @lib.compiles
    def step(t, x, t0, x0, u0):
        t, x = t.requires_grad_(True), x.requires_grad_(True)
        u = net(torch.cat([t, x], dim=1))
        ones = torch.ones_like(u)
        u_t = torch.autograd.grad(u, t, ones, create_graph=True)[0]
        u_x = torch.autograd.grad(u, x, ones, create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, ones, create_graph=True)[0]
        residual = u_t + u * u_x - physics["nu"] * u_xx
        loss = (residual**2).mean() + F.mse_loss(net(torch.cat([t0, x0], dim=1)), u0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def change():
        physics["nu"] = 0.01

    rng = np.random.default_rng(0)
    t, x, t0, x0 = (rng.uniform(a, b, (512, 1)).astype("float32") for a, b in ((0, 1), (-1, 1), (0, 0), (-1, 1)))
    return Training(step, batches(lib, t, x, t0, x0, -np.sin(np.pi * x0), size=128), change)


@program("modern Hopfield network: patterns retrieved by attention, a learned projection")
def hopfield(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    patterns = lib.parameter(64, 32)
    projection = lib.filled(nn.Linear(32, 32))
    optimizer = optim.Adam([patterns, *projection.parameters()], lr=1e-3)
    memory = {"beta": 2.0}

    @lib.compiles
    def step(state, target):
        for _ in range(3):
            state = torch.softmax(memory["beta"] * projection(state) @ patterns.T, dim=-1) @ patterns
        energy = 0.5 * (state**2).sum(-1) - torch.logsumexp(memory["beta"] * state @ patterns.T, -1) / memory["beta"]
        loss = F.mse_loss(state, target) + 1e-3 * energy.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def change():
        memory["beta"] = 4.0

    rng = np.random.default_rng(0)
    target = rng.normal(0, 1, (512, 32)).astype("float32")
    noisy = (target + rng.normal(0, 0.3, target.shape)).astype("float32")
    return Training(step, batches(lib, noisy, target, size=64), change)


@program("Bayes by backprop: reparameterized Gaussian weights")
def bayes_by_backprop(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class BayesLinear(nn.Module):
        def __init__(self, a, b, seed):
            super().__init__()
            self.mu = nn.Parameter(lib.parameter(b, a, seed=seed, scale=a**-0.5).detach())
            self.rho = nn.Parameter(torch.full((b, a), -4.0))
            self.bias = nn.Parameter(torch.zeros(b))

        def forward(self, x, noise):
            sigma = torch.log1p(torch.exp(self.rho))
            prior, posterior = torch.distributions.Normal(0.0, 1.0), torch.distributions.Normal(self.mu, sigma)
            weight = self.mu + sigma * noise
            self.kl = (posterior.log_prob(weight) - prior.log_prob(weight)).sum()
            return F.linear(x, weight, self.bias)

    first, second = BayesLinear(4, 32, 1), BayesLinear(32, 1, 2)
    optimizer = optim.Adam([*first.parameters(), *second.parameters()], lr=1e-2)
    weight = [1e-3]

    @lib.compiles
    def step(x, y, noise1, noise2):
        optimizer.zero_grad()
        prediction = second(torch.relu(first(x, noise1)), noise2)
        loss = F.gaussian_nll_loss(prediction, y, torch.full_like(prediction, 0.1)) + weight[0] * (first.kl + second.kl)
        loss.backward()
        optimizer.step()
        return loss

    def change():
        weight[0] = 1e-2

    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (512, 4)).astype("float32")
    data = batches(lib, x, x.sum(1, keepdims=True), size=64)
    noise = rng.normal(0, 1, (8, 32, 4)).astype("float32"), rng.normal(0, 1, (8, 1, 32)).astype("float32")

    def batch(i):
        return *data(i), *(lib.tensor(n[i % 8]) for n in noise)

    return Training(step, batch, change)


@program("deep equilibrium layer: fixed-point iteration, stopped by its residual")
def fixed_point(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    cell, inject, out = lib.filled(nn.Linear(32, 32)), lib.filled(nn.Linear(16, 32), 1), lib.filled(nn.Linear(32, 1), 2)
    optimizer = optim.Adam([*cell.parameters(), *inject.parameters(), *out.parameters()], lr=1e-3)
    log = []

    @lib.compiles
    def step(x, y):
        with torch.no_grad():
            z, u = torch.zeros(x.shape[0], 32), inject(x)
            for iteration in range(30):
                new = torch.tanh(0.5 * cell(z) + u)
                residual = (new - z).norm() / new.norm()
                z = new
                if residual < 1e-2:
                    break
        z = torch.tanh(0.5 * cell(z) + inject(x))
        loss = F.mse_loss(out(z), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append((iteration, loss.item()))
        return loss

    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (512, 16)).astype("float32")
    return Training(step, batches(lib, x, np.tanh(x.sum(1, keepdims=True)), size=64), slower(optimizer))
