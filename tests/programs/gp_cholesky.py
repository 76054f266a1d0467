"""Exact Gaussian process regression: hyperparameters by maximum marginal likelihood."""
import math
import numpy as np
import torch

torch.set_default_dtype(torch.double)
rng = np.random.default_rng(4)
X = torch.from_numpy(np.sort(rng.uniform(0, 10, 40)))[:, None]
y = torch.sin(X[:, 0]) + 0.3 * torch.cos(3 * X[:, 0]) + 0.1 * torch.from_numpy(rng.standard_normal(40))
Xs = torch.linspace(-1, 11, 50)[:, None]


class RBF(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.log_lengthscale = torch.nn.Parameter(torch.zeros(()))
        self.log_outputscale = torch.nn.Parameter(torch.zeros(()))

    def forward(self, a, b):
        d = torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist") / self.log_lengthscale.exp()
        return self.log_outputscale.exp() * torch.exp(-0.5 * d ** 2)


class Matern52(RBF):
    def forward(self, a, b):
        d2 = (a.unsqueeze(-2) - b.unsqueeze(-3)).pow(2).sum(-1)
        d = math.sqrt(5) * (d2 + 1e-12).sqrt() / self.log_lengthscale.exp()
        return self.log_outputscale.exp() * (1 + d + d ** 2 / 3) * torch.exp(-d)


class GP(torch.nn.Module):
    def __init__(self, kernels):
        super().__init__()
        self.kernels = torch.nn.ModuleList(kernels)
        self.raw_noise = torch.nn.Parameter(torch.tensor(-2.0))
        self.mean = torch.nn.Parameter(torch.tensor(0.0))

    def covariance(self, a, b):
        return sum(k(a, b) for k in self.kernels)

    def factor(self):
        K = self.covariance(X, X)
        K = K + torch.nn.functional.softplus(self.raw_noise) * torch.eye(len(X))
        return torch.linalg.cholesky(K)

    def nll(self):
        L = self.factor()
        r = (y - self.mean)[:, None]
        alpha = torch.cholesky_solve(r, L)
        return 0.5 * (r * alpha).sum() + torch.diagonal(L).log().sum() + 0.5 * len(X) * math.log(2 * math.pi)

    @torch.no_grad()
    def predict(self, Xs):
        L = self.factor()
        Ks = self.covariance(X, Xs)
        v = torch.linalg.solve_triangular(L, Ks, upper=False)
        w = torch.linalg.solve_triangular(L, (y - self.mean)[:, None], upper=False)
        return self.mean + (v.T @ w).squeeze(-1), self.covariance(Xs, Xs).diagonal() - (v ** 2).sum(0)


gp = GP([Matern52(), RBF()])
optimizer = torch.optim.Rprop(gp.parameters(), lr=0.05)
for i in range(12):
    optimizer.zero_grad()
    loss = gp.nll()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.10f}")

optimizer = torch.optim.LBFGS(gp.parameters(), lr=0.1, max_iter=4)
for i in range(6):
    def closure():
        optimizer.zero_grad()
        loss = gp.nll()
        loss.backward()
        return loss
    print(f"loss {optimizer.step(closure):.10f}")
mean, var = gp.predict(Xs)
print(mean.shape, bool((var > 0).all()))
