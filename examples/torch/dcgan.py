"""A DCGAN of scikit-learn's digits (Radford et al., "Unsupervised representation learning", 2016), at 16 x 16 pixels.

python examples/torch/dcgan.py [--epochs 10] [--compile]
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

import staticgrad as torch
import staticgrad.nn as nn
import staticgrad.nn.functional as F
import staticgrad.optim as optim
from staticgrad.utils.data import DataLoader, TensorDataset


class Generator(nn.Module):
    def __init__(self, latent=32, features=16):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(latent, features * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(features * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(features * 2, features, 4, 2, 1, bias=False),
            nn.BatchNorm2d(features),
            nn.ReLU(True),
            nn.ConvTranspose2d(features, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self, features=16):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, features, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(features, features * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(features * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(features * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


def weights_init(rng):
    """The initial weights of the paper, drawn by NumPy's generator."""

    def init(module):
        name = module.__class__.__name__
        if name.find("Conv") != -1:
            module.weight.data = torch.from_numpy(rng.normal(0.0, 0.02, tuple(module.weight.shape)).astype(np.float32))
        elif name.find("BatchNorm") != -1:
            module.weight.data = torch.from_numpy(rng.normal(1.0, 0.02, tuple(module.weight.shape)).astype(np.float32))
            module.bias.data.fill_(0)

    return init


def train(steps=None, epochs=10, batch_size=64, latent=32, compiled=False, report=None):
    """The losses of the discriminator and of the generator in each step, one after the other."""
    torch.manual_seed(999)
    rng = np.random.default_rng(999)
    device = torch.device("cpu")
    digits = torch.tensor(load_digits().images / 16, dtype=torch.float32).unsqueeze(1)
    digits = F.interpolate(digits, scale_factor=2, mode="bilinear", align_corners=False) * 2 - 1
    loader = DataLoader(TensorDataset(digits), batch_size=batch_size, drop_last=True)

    generator, discriminator = Generator(latent).to(device), Discriminator().to(device)
    generator.apply(weights_init(rng))
    discriminator.apply(weights_init(rng))
    criterion = nn.BCELoss()
    optimizer_d = optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizer_g = optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def step(real, noise):
        # Update D: maximize log(D(x)) + log(1 - D(G(z)))
        discriminator.zero_grad()
        label = torch.full((real.size(0),), 1.0, dtype=real.dtype, device=device)
        loss_real = criterion(discriminator(real), label)
        loss_real.backward()
        fake = generator(noise)
        label.fill_(0.0)
        loss_fake = criterion(discriminator(fake.detach()), label)
        loss_fake.backward()
        optimizer_d.step()
        # Update G: maximize log(D(G(z)))
        generator.zero_grad()
        label.fill_(1.0)
        loss_g = criterion(discriminator(fake), label)
        loss_g.backward()
        optimizer_g.step()
        return loss_real + loss_fake, loss_g

    if compiled:
        step = torch.compile(step)

    losses = []
    for epoch in range(epochs):
        for i, data in enumerate(loader, 0):
            real = data[0].to(device)
            noise = torch.from_numpy(rng.standard_normal((real.size(0), latent, 1, 1)).astype(np.float32)).to(device)
            loss_d, loss_g = step(real, noise)
            losses += [loss_d.item(), loss_g.item()]
            if i + 1 == steps:
                return losses
        if report:
            report(f"[{epoch + 1}/{epochs}] Loss_D: {losses[-2]:.4f} Loss_G: {losses[-1]:.4f}")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="DCGAN of the digits")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    train(epochs=arguments.epochs, compiled=arguments.compile, report=print)
