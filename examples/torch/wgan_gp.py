"""A Wasserstein GAN with gradient penalty (Gulrajani et al., 2017) on a ring of eight Gaussians.

    python examples/torch/wgan_gp.py [--steps 500] [--compile]

The penalty is a function of a gradient, so training differentiates twice.
"""

import argparse

import numpy as np

import staticgrad as torch
import staticgrad.autograd as autograd
import staticgrad.nn as nn
import staticgrad.optim as optim


class Generator(nn.Module):
    def __init__(self, latent=2, dim=64):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(latent, dim), nn.ReLU(True), nn.Linear(dim, dim), nn.ReLU(True), nn.Linear(dim, 2))

    def forward(self, noise):
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, dim), nn.LeakyReLU(0.2), nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, 1))

    def forward(self, inputs):
        return self.main(inputs).view(-1)


def weights_init(rng):
    def init(m):
        if isinstance(m, nn.Linear):
            scale = 1 / np.sqrt(m.in_features)
            m.weight.data.copy_(torch.from_numpy(rng.normal(0, scale, (m.out_features, m.in_features))))
            m.bias.data.fill_(0)

    return init


def calc_gradient_penalty(netD, real_data, fake_data, alpha, weight=0.1):
    alpha = alpha.expand(real_data.size())
    interpolates = alpha * real_data + ((1 - alpha) * fake_data)
    interpolates = autograd.Variable(interpolates, requires_grad=True)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(
        outputs=disc_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones(disc_interpolates.size()),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * weight


def ring(rng, n):
    """Points near eight centers on a circle."""
    angle = rng.integers(0, 8, n) * (np.pi / 4)
    centers = np.stack([np.cos(angle), np.sin(angle)], 1)
    return torch.from_numpy(centers * 2 + rng.standard_normal((n, 2)) * 0.02).float()


def train(steps=500, batch_size=64, critic_iters=3, compiled=False, report=None):
    """The costs of the critic and of the generator in each step, one after the other."""
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    netG, netD = Generator(), Discriminator()
    netG.apply(weights_init(rng))
    netD.apply(weights_init(rng))
    optimizerD = optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
    optimizerG = optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))

    def noise():
        return torch.from_numpy(rng.standard_normal((batch_size, 2))).float()

    def critic_step(real, z, alpha):
        netD.zero_grad()
        D_real = netD(real).mean()
        with torch.no_grad():
            fake = netG(z)
        D_fake = netD(fake).mean()
        gradient_penalty = calc_gradient_penalty(netD, real, fake, alpha)
        D_cost = D_fake - D_real + gradient_penalty
        D_cost.backward()
        optimizerD.step()
        return D_cost

    def generator_step(z):
        netG.zero_grad()
        G_cost = -netD(netG(z)).mean()
        G_cost.backward()
        optimizerG.step()
        return G_cost

    if compiled:
        critic_step, generator_step = torch.compile(critic_step), torch.compile(generator_step)

    losses = []
    for iteration in range(steps):
        for p in netD.parameters():
            p.requires_grad = True
        for _ in range(critic_iters):
            alpha = torch.from_numpy(rng.random((batch_size, 1)).astype(np.float32))
            D_cost = critic_step(ring(rng, batch_size), noise(), alpha)
        for p in netD.parameters():
            p.requires_grad = False  # saves computing gradients of the critic
        G_cost = generator_step(noise())
        losses += [D_cost.item(), G_cost.item()]
        if report and iteration % 100 == 99:
            report(f"iteration {iteration + 1:4d}  critic {D_cost.item():8.4f}  generator {G_cost.item():8.4f}")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="WGAN-GP on a ring of Gaussians")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    train(steps=arguments.steps, compiled=arguments.compile, report=print)
