import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence


class Gaussian(object):
    def __init__(self, mu, rho):
        super().__init__()
        self.mu = mu
        self.rho = rho
        self.normal = torch.distributions.Normal(0, 1)

    @property
    def sigma(self):
        return torch.log1p(torch.exp(self.rho))

    def sample(self):
        epsilon = self.normal.sample(self.rho.size())
        return self.mu + self.sigma * epsilon

    def log_prob(self, input):
        return (-math.log(math.sqrt(2 * math.pi)) - torch.log(self.sigma) - ((input - self.mu) ** 2) / (2 * self.sigma ** 2)).sum()


class ScaleMixtureGaussian(object):
    def __init__(self, pi, sigma1, sigma2):
        self.pi = pi
        self.gaussian1 = Normal(0, sigma1)
        self.gaussian2 = Normal(0, sigma2)

    def log_prob(self, input):
        prob1 = torch.exp(self.gaussian1.log_prob(input))
        prob2 = torch.exp(self.gaussian2.log_prob(input))
        return (torch.log(self.pi * prob1 + (1 - self.pi) * prob2)).sum()


class BayesianLinear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight_mu = nn.Parameter(torch.Tensor(out_features, in_features).uniform_(-0.2, 0.2))
        self.weight_rho = nn.Parameter(torch.Tensor(out_features, in_features).uniform_(-5, -4))
        self.weight = Gaussian(self.weight_mu, self.weight_rho)
        self.bias_mu = nn.Parameter(torch.Tensor(out_features).uniform_(-0.2, 0.2))
        self.bias_rho = nn.Parameter(torch.Tensor(out_features).uniform_(-5, -4))
        self.bias = Gaussian(self.bias_mu, self.bias_rho)
        self.prior = ScaleMixtureGaussian(0.5, math.exp(-0), math.exp(-6))
        self.log_prior = self.log_variational_posterior = 0

    def forward(self, input):
        weight, bias = self.weight.sample(), self.bias.sample()
        self.log_prior = self.prior.log_prob(weight) + self.prior.log_prob(bias)
        self.log_variational_posterior = self.weight.log_prob(weight) + self.bias.log_prob(bias)
        return F.linear(input, weight, bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = BayesianLinear(1, 20), BayesianLinear(20, 1)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x)))

    def sample_elbo(self, x, y, samples=3):
        nll = kl = 0.
        for _ in range(samples):
            nll = nll - Normal(self(x), 0.2).log_prob(y).sum()
            kl = kl + sum(l.log_variational_posterior - l.log_prior for l in (self.l1, self.l2))
        return (kl / 10 + nll) / samples


torch.manual_seed(31)
rng = np.random.RandomState(31)
x = torch.tensor(rng.uniform(-2, 2, (64, 1))).float()
y = x ** 3 / 4 + 0.2 * torch.tensor(rng.randn(64, 1)).float()
net = Net()
optimizer = torch.optim.Adamax(net.parameters(), lr=0.02)
for epoch in range(20):
    net.zero_grad()
    loss = net.sample_elbo(x, y)
    loss.backward()
    optimizer.step()
    print('loss {:.4f}'.format(loss.item()))
p, q = Normal(0., 1.), Normal(torch.tensor(0.5), torch.tensor(2.0))
print('kl %.6f' % kl_divergence(q, p))
