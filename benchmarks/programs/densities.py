"""Generative programs: autoencoders, adversarial networks, diffusion, flows, energies."""

from __future__ import annotations

import math

import numpy as np

from .registry import Library, Training, batches, images, program, slower, table


def _noise(*shape, seed=3):
    return np.random.default_rng(seed).normal(0, 1, shape).astype("float32")


@program("variational autoencoder, random numbers drawn in the step", random=True)
def vae(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc21, self.fc22 = nn.Linear(64, 128), nn.Linear(128, 8), nn.Linear(128, 8)
            self.fc3, self.fc4 = nn.Linear(8, 128), nn.Linear(128, 64)

        def reparameterize(self, mu, logvar):
            std = torch.exp(0.5 * logvar)
            return mu + torch.randn_like(std) * std

        def forward(self, x):
            h = F.relu(self.fc1(x.view(-1, 64)))
            mu, logvar = self.fc21(h), self.fc22(h)
            return torch.sigmoid(self.fc4(F.relu(self.fc3(self.reparameterize(mu, logvar))))), mu, logvar

    model = lib.filled(VAE())
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    total = [0.0]

    @lib.compiles
    def step(x):
        optimizer.zero_grad()
        recon, mu, logvar = model(x)
        bce = F.binary_cross_entropy(recon, x.view(-1, 64), reduction="sum")
        loss = bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss.backward()
        total[0] += loss.item()
        optimizer.step()
        return loss / len(x)

    x = 1 / (1 + np.exp(-images(1024, 1, 8)[0]))
    return Training(step, batches(lib, x.astype("float32"), size=128), slower(optimizer))


@program("beta-VAE with convolutions, annealed capacity in an attribute")
def beta_vae(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class BetaVAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(
                nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 16)
            )
            self.decoder = nn.Sequential(
                nn.Linear(8, 512), nn.ReLU(), nn.Unflatten(1, (32, 4, 4)), nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(),
                nn.ConvTranspose2d(16, 1, 4, 2, 1),
            )  # fmt: skip
            self.iteration, self.gamma = 0, 10.0

        def loss(self, x, noise):
            self.iteration += 1
            mu, logvar = self.encoder(x).chunk(2, dim=1)
            recon = self.decoder(mu + noise * (logvar / 2).exp())
            kl = (-0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1)).mean(0)
            capacity = min(self.iteration / 100 * 5.0, 5.0)
            return F.mse_loss(recon, x, reduction="sum") / len(x) + self.gamma * (kl - capacity).abs()

    model = lib.filled(BetaVAE())
    optimizer = optim.Adam(model.parameters(), lr=1e-3)

    @lib.compiles
    def step(x, noise):
        optimizer.zero_grad()
        loss = model.loss(x, noise)
        loss.backward()
        optimizer.step()
        return loss

    def change():
        model.gamma = 5.0

    return Training(step, batches(lib, images(128, 1, 16)[0], _noise(128, 8), size=32), change)


@program("VQ-VAE: straight-through quantization, codebook by moving averages")
def vq_vae(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    codes, dim, decay = 64, 16, 0.99

    class Quantizer(nn.Module):
        def __init__(self):
            super().__init__()
            start = lib.tensor(_noise(codes, dim))
            self.register_buffer("embed", start.clone())
            self.register_buffer("count", torch.zeros(codes))
            self.register_buffer("average", start.clone())

        def forward(self, z):
            flat = z.reshape(-1, dim)
            distance = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.embed.t() + self.embed.pow(2).sum(1)
            index = distance.argmin(1)
            one_hot = F.one_hot(index, codes).type(flat.dtype)
            quantized = F.embedding(index, self.embed).view_as(z)
            with torch.no_grad():
                self.count.mul_(decay).add_(one_hot.sum(0), alpha=1 - decay)
                self.average.mul_(decay).add_(one_hot.t() @ flat, alpha=1 - decay)
                n = self.count.sum()
                smooth = (self.count + 1e-5) / (n + codes * 1e-5) * n
                self.embed.copy_(self.average / smooth.unsqueeze(1))
            commitment = (quantized.detach() - z).pow(2).mean()
            return z + (quantized - z).detach(), commitment

    encoder = lib.filled(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4 * dim)))
    decoder, quantizer = lib.filled(nn.Sequential(nn.Linear(4 * dim, 128), nn.ReLU(), nn.Linear(128, 64)), 1), Quantizer()
    optimizer = optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)

    @lib.compiles
    def step(x):
        q, commitment = quantizer(encoder(x).view(-1, 4, dim))
        loss = F.mse_loss(decoder(q.flatten(1)), x) + 0.25 * commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Training(step, batches(lib, table(512, 64)[0], size=64), slower(optimizer))


@program("GAN: two networks, two optimizers, losses logged as numbers")
def gan(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    generator = lib.filled(
        nn.Sequential(
            nn.Linear(16, 128), nn.BatchNorm1d(128, 0.8), nn.LeakyReLU(0.2, inplace=True), nn.Linear(128, 64), nn.Tanh()
        )
    )
    discriminator = lib.filled(
        nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2, inplace=True), nn.Linear(128, 1), nn.Sigmoid()), 1
    )
    criterion = nn.BCELoss()
    optimizer_g = optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizer_d = optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))

    @lib.compiles
    def step(real, z):
        valid, fake = torch.ones(real.size(0), 1), torch.zeros(real.size(0), 1)
        optimizer_g.zero_grad()
        made = generator(z)
        g_loss = criterion(discriminator(made), valid)
        g_loss.backward()
        optimizer_g.step()
        optimizer_d.zero_grad()
        d_loss = (criterion(discriminator(real), valid) + criterion(discriminator(made.detach()), fake)) / 2
        d_loss.backward()
        optimizer_d.step()
        return d_loss.item(), g_loss.item()

    return Training(step, batches(lib, table(512, 64)[0], _noise(512, 16), size=64), slower(optimizer_g, optimizer_d))


@program("WGAN with gradient penalty, the generator trained every fifth step")
def wgan_gp(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    generator = lib.filled(nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64)))
    critic = lib.filled(nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1)), 1)
    optimizer_g = optim.Adam(generator.parameters(), lr=1e-4, betas=(0.0, 0.9))
    optimizer_c = optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9))
    counter = {"iteration": 0}

    @lib.compiles
    def step(real, z, alpha):
        fake = generator(z).detach()
        mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        optimizer_c.zero_grad()
        loss.backward()
        optimizer_c.step()
        counter["iteration"] += 1
        if counter["iteration"] % 5 == 0:
            optimizer_g.zero_grad()
            (-critic(generator(z)).mean()).backward()
            optimizer_g.step()
        return loss

    alpha = np.random.default_rng(1).uniform(0, 1, (512, 1)).astype("float32")
    data = table(512, 64)[0], _noise(512, 16), alpha
    return Training(step, batches(lib, *data, size=64), slower(optimizer_g, optimizer_c))


@program("denoising diffusion: noise prediction with time embeddings, weights averaged")
def ddpm(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    steps = 100
    betas = torch.linspace(1e-4, 0.02, steps)
    kept = torch.cumprod(1.0 - betas, dim=0)

    class Denoiser(nn.Module):
        def __init__(self, dim=32):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
            self.first, self.second = nn.Conv2d(1, dim, 3, padding=1), nn.Conv2d(dim, dim, 3, padding=1)
            self.norm, self.last = nn.GroupNorm(8, dim), nn.Conv2d(dim, 1, 3, padding=1)
            self.dim = dim

        def forward(self, x, t):
            half = self.dim // 2
            frequencies = torch.exp(-math.log(10000) * torch.arange(half).float() / (half - 1))
            angles = t.float()[:, None] * frequencies[None]
            e = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1))
            h = F.silu(self.first(x)) + e[:, :, None, None]
            return self.last(F.silu(self.norm(self.second(h))))

    model, average = lib.filled(Denoiser()), lib.filled(Denoiser())
    optimizer = optim.Adam(model.parameters(), lr=2e-4)
    decay = [0.995]

    @lib.compiles
    def step(x, t, noise):
        a = kept[t].view(-1, 1, 1, 1)
        loss = F.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for ours, theirs in zip(average.parameters(), model.parameters()):
                ours.data = ours.data * decay[0] + theirs.data * (1 - decay[0])
        return loss

    def change():
        decay[0] = 0.9

    data = images(64, 1, 16)[0], np.random.default_rng(2).integers(0, steps, 64), _noise(64, 1, 16, 16)
    return Training(step, batches(lib, *data, size=16), change)


@program("RealNVP: affine coupling layers, exact likelihood")
def normalizing_flow(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    dim = 16

    class Coupling(nn.Module):
        def __init__(self, flip):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(dim // 2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, dim))
            self.flip = flip

        def forward(self, x):
            a, b = x.chunk(2, dim=1)
            if self.flip:
                a, b = b, a
            s, t = self.net(a).chunk(2, dim=1)
            s = torch.tanh(s)
            b = b * torch.exp(s) + t
            return torch.cat([b, a] if self.flip else [a, b], dim=1), s.sum(1)

    layers = lib.filled(nn.ModuleList([Coupling(i % 2 == 1) for i in range(6)]))
    prior = torch.distributions.Normal(torch.zeros(dim), torch.ones(dim))
    optimizer = optim.Adamax(layers.parameters(), lr=1e-3)

    @lib.compiles
    def step(x):
        total = torch.zeros(x.shape[0])
        for layer in layers:
            x, logdet = layer(x)
            total += logdet
        loss = -(prior.log_prob(x).sum(1) + total).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Training(step, batches(lib, table(512, dim)[0], size=128), slower(optimizer))


@program("energy model by contrastive divergence: Langevin steps on the input, chains kept between calls", random=True)
def energy_model(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    energy = lib.filled(nn.Sequential(nn.Linear(16, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1)))
    optimizer = optim.Adam(energy.parameters(), lr=1e-3)

    class Sampler:
        def __init__(self):
            self.chains = lib.tensor(_noise(64, 16))
            self.size = 0.1

        def sample(self, count):
            x = self.chains
            for _ in range(count):
                x = x.detach().requires_grad_(True)
                (slope,) = torch.autograd.grad(energy(x).sum(), x)
                x = x - self.size * slope + 0.01 * torch.randn(x.shape)
            self.chains = x.detach()
            return self.chains

    sampler = Sampler()

    @lib.compiles
    def step(real):
        fake = sampler.sample(10)
        positive, negative = energy(real), energy(fake)
        loss = (positive - negative).mean() + 0.1 * (positive**2 + negative**2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def change():
        sampler.size = 0.05

    return Training(step, batches(lib, table(512, 16)[0], size=64), change)


@program("restricted Boltzmann machine, updates by hand without autograd", random=True)
def rbm(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class RBM:
        def __init__(self):
            self.W = lib.tensor(_noise(64, 32) * np.float32(0.1))
            self.v, self.h = torch.zeros(64), torch.zeros(32)
            self.rate = 0.05

        def contrast(self, v0):
            p0 = torch.sigmoid(v0 @ self.W + self.h)
            h0 = torch.bernoulli(p0)
            v1 = torch.sigmoid(h0 @ self.W.t() + self.v)
            p1 = torch.sigmoid(v1 @ self.W + self.h)
            n = v0.size(0)
            self.W += self.rate * (v0.t() @ p0 - v1.t() @ p1) / n
            self.v += self.rate * (v0 - v1).mean(0)
            self.h += self.rate * (p0 - p1).mean(0)
            return torch.sum((v0 - v1) ** 2) / n

    machine = RBM()

    @lib.compiles
    def step(x):
        with torch.no_grad():
            return machine.contrast(x)

    def change():
        machine.rate = 0.01

    return Training(step, batches(lib, (table(512, 64)[0] > 0).astype("float32"), size=64), change)
