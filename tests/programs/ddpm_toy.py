import math
import copy
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def extract(a, t, x_shape):
    b, *_ = t.shape
    out = a.gather(-1, t)
    return out.reshape(b, *((1,) * (len(x_shape) - 1)))


def cosine_beta_schedule(timesteps, s=0.008):
    x = torch.linspace(0, timesteps, timesteps + 1, dtype=torch.float64)
    alphas_cumprod = torch.cos(((x / timesteps) + s) / (1 + s) * math.pi * 0.5) ** 2
    alphas_cumprod = alphas_cumprod / alphas_cumprod[0]
    betas = 1 - (alphas_cumprod[1:] / alphas_cumprod[:-1])
    return torch.clip(betas, 0, 0.999)


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        device = x.device
        half_dim = self.dim // 2
        emb = math.log(10000) / (half_dim - 1)
        emb = torch.exp(torch.arange(half_dim, device=device) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPosEmb(dim), nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, 64))
        self.inp, self.mid, self.out = nn.Linear(2, 64), nn.Linear(64, 64), nn.Linear(64, 2)
        self.to_scale_shift = nn.Sequential(nn.SiLU(), nn.Linear(64, 128))

    def forward(self, x, t):
        scale, shift = self.to_scale_shift(self.time_mlp(t)).chunk(2, dim=1)
        h = F.silu(self.inp(x)) * (scale + 1) + shift
        return self.out(h + F.silu(self.mid(h)))


class GaussianDiffusion(nn.Module):
    def __init__(self, model, timesteps=50):
        super().__init__()
        self.model, self.num_timesteps = model, timesteps
        betas = cosine_beta_schedule(timesteps)
        alphas_cumprod = torch.cumprod(1. - betas, dim=0)
        register_buffer = lambda name, val: self.register_buffer(name, val.to(torch.float32))
        register_buffer('betas', betas)
        register_buffer('sqrt_alphas_cumprod', torch.sqrt(alphas_cumprod))
        register_buffer('sqrt_one_minus_alphas_cumprod', torch.sqrt(1. - alphas_cumprod))
        register_buffer('sqrt_recip_alphas', torch.rsqrt(1. - betas))

    def q_sample(self, x_start, t, noise):
        return extract(self.sqrt_alphas_cumprod, t, x_start.shape) * x_start + extract(self.sqrt_one_minus_alphas_cumprod, t, x_start.shape) * noise

    def forward(self, x):
        t = torch.randint(0, self.num_timesteps, (x.shape[0],), device=x.device).long()
        noise = torch.randn_like(x)
        pred = self.model(self.q_sample(x, t, noise), t)
        return F.mse_loss(pred, noise, reduction='none').mean(dim=1).mean()

    @torch.inference_mode()
    def sample(self, n):
        img = torch.randn(n, 2)
        for i in reversed(range(0, self.num_timesteps)):
            t = torch.full((n,), i, dtype=torch.long)
            beta = extract(self.betas, t, img.shape)
            mean = extract(self.sqrt_recip_alphas, t, img.shape) * (img - beta * self.model(img, t) / extract(self.sqrt_one_minus_alphas_cumprod, t, img.shape))
            img = mean + beta.sqrt() * torch.randn_like(img) if i > 0 else mean
        return img


torch.manual_seed(0)
rng = np.random.default_rng(0)
diffusion = GaussianDiffusion(Denoiser())
ema = copy.deepcopy(diffusion).eval().requires_grad_(False)
opt = torch.optim.Adam(diffusion.parameters(), lr=2e-3)
for step in range(25):
    theta = rng.uniform(0.5, 3 * math.pi, 128)
    x = torch.tensor(np.stack([theta * np.cos(theta), theta * np.sin(theta)], 1) / 6, dtype=torch.float)
    loss = diffusion(x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(ema.parameters(), diffusion.parameters()):
            p.lerp_(q, 0.1)
    print('loss %.6f' % loss.item())
print(ema.sample(5).shape)
