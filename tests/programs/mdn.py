import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

torch.manual_seed(8)
rng = np.random.default_rng(8)


class MDN(nn.Module):
    """Mixture density network, Bishop 1994."""

    def __init__(self, n_hidden, n_gaussians, d_out=1):
        super().__init__()
        self.k, self.d = n_gaussians, d_out
        self.z_h = nn.Sequential(nn.Linear(1, n_hidden), nn.Tanh())
        self.z_pi = nn.Linear(n_hidden, n_gaussians)
        self.z_mu = nn.Linear(n_hidden, n_gaussians * d_out)
        self.z_sigma = nn.Linear(n_hidden, n_gaussians * d_out)

    def forward(self, x):
        z_h = self.z_h(x)
        mix = Categorical(logits=self.z_pi(z_h))
        sigma = nn.functional.softplus(self.z_sigma(z_h)).add(1e-3)
        comp = Independent(Normal(self.z_mu(z_h).view(-1, self.k, self.d), sigma.view(-1, self.k, self.d)), 1)
        return MixtureSameFamily(mix, comp)


x_data = np.linspace(-10, 10, 256)
y_data = x_data + 7 * np.sin(0.75 * x_data) + rng.normal(size=256)
# inverted: several y for an x
inputs = torch.tensor(y_data[:, None] / 10, dtype=torch.float32)
outputs = torch.tensor(x_data[:, None] / 10, dtype=torch.float32)

network = MDN(20, 5)
optimizer = torch.optim.NAdam(network.parameters(), lr=1e-2)
for epoch in range(25):
    dist = network(inputs)
    loss = -dist.log_prob(outputs).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.6f}")

with torch.no_grad():
    d = network(inputs[:7])
    print(d.sample((3,)).shape, d.mean.shape, d.stddev.min() > 0, repr(d.component_distribution.batch_shape))
