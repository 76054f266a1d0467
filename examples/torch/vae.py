"""A variational autoencoder of scikit-learn's digits (Kingma and Welling, "Auto-encoding variational Bayes", 2014).

python examples/torch/vae.py [--epochs 20] [--compile]
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

import staticgrad as torch
import staticgrad.nn as nn
import staticgrad.nn.functional as F
import staticgrad.optim as optim
from staticgrad.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, pixels=64, hidden=128, latent=8):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU(inplace=True))
        self.mean = nn.Linear(hidden, latent)
        self.log_variance = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, pixels), nn.Sigmoid())

    def encode(self, x):
        h = self.encoder(x)
        return self.mean(h), self.log_variance(h)

    def reparameterize(self, mean, log_variance, noise):
        return mean + noise * torch.exp(0.5 * log_variance)

    def forward(self, x, noise):
        mean, log_variance = self.encode(x.view(x.size(0), -1))
        return self.decoder(self.reparameterize(mean, log_variance, noise)), mean, log_variance


def loss_function(reconstruction, x, mean, log_variance):
    """Minus the evidence lower bound, summed over the batch."""
    error = F.binary_cross_entropy(reconstruction, x.view(x.size(0), -1), reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return error + divergence


def initialize(model, rng):
    """Weights from NumPy's generator: the same whatever library runs the program."""
    with torch.no_grad():
        for parameter in model.parameters():
            bound = 1 / np.sqrt(parameter.shape[-1])
            parameter.copy_(torch.from_numpy(rng.uniform(-bound, bound, tuple(parameter.shape)).astype(np.float32)))


def train(steps=None, epochs=20, batch_size=128, compiled=False, report=None):
    """The loss per image of each step."""
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images = torch.from_numpy((load_digits().images / 16).astype(np.float32)).unsqueeze(1)
    images = images[torch.from_numpy(rng.permutation(len(images)))]
    loader = DataLoader(TensorDataset(images), batch_size=batch_size, shuffle=False, drop_last=True)

    model = VAE().to(device)
    initialize(model, rng)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    model.train()

    def step(x, noise):
        optimizer.zero_grad()
        reconstruction, mean, log_variance = model(x, noise)
        loss = loss_function(reconstruction, x, mean, log_variance)
        loss.backward()
        optimizer.step()
        return loss

    if compiled:
        step = torch.compile(step)

    losses = []
    for epoch in range(epochs):
        for (x,) in loader:
            noise = torch.from_numpy(rng.standard_normal((len(x), model.latent)).astype(np.float32))
            loss = step(x.to(device), noise.to(device))
            losses.append(loss.item() / len(x))
            if len(losses) == steps:
                return losses
        if report:
            report(f"epoch {epoch + 1:3d}  loss {np.mean(losses[-len(loader) :]):.4f}")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="VAE of the digits")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    train(epochs=arguments.epochs, compiled=arguments.compile, report=print)
