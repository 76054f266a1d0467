import copy
import math
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import distributions as pyd

LOG_STD_MIN, LOG_STD_MAX = -5, 2


class TanhTransform(pyd.transforms.Transform):
    domain = pyd.constraints.real
    codomain = pyd.constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def __init__(self, cache_size=1):
        super().__init__(cache_size=cache_size)

    @staticmethod
    def atanh(x):
        return 0.5 * (x.log1p() - (-x).log1p())

    def __eq__(self, other):
        return isinstance(other, TanhTransform)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return self.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        return 2. * (math.log(2.) - x - F.softplus(-2. * x))


class SquashedNormal(pyd.transformed_distribution.TransformedDistribution):
    def __init__(self, loc, scale):
        self.loc = loc
        self.scale = scale
        self.base_dist = pyd.Normal(loc, scale)
        super().__init__(self.base_dist, [TanhTransform()])

    @property
    def mean(self):
        mu = self.loc
        for tr in self.transforms:
            mu = tr(mu)
        return mu


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(inplace=True), nn.Linear(h, h), nn.ReLU(inplace=True), nn.Linear(h, o))


def weight_init(m):
    if isinstance(m, nn.Linear):
        nn.init.orthogonal_(m.weight.data)
        if hasattr(m.bias, 'data'):
            m.bias.data.fill_(0.0)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = mlp(3, 32, 2)
        self.apply(weight_init)

    def forward(self, obs):
        mu, log_std = self.trunk(obs).chunk(2, dim=-1)
        log_std = torch.tanh(log_std)
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        return SquashedNormal(mu, log_std.exp())


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.Q1, self.Q2 = mlp(4, 32, 1), mlp(4, 32, 1)
        self.apply(weight_init)

    def forward(self, obs, action):
        obs_action = torch.cat([obs, action], dim=-1)
        return self.Q1(obs_action), self.Q2(obs_action)


torch.manual_seed(2)
np.random.seed(2)
random.seed(2)
th, thdot, u = np.random.uniform(-np.pi, np.pi, 512), np.random.uniform(-8, 8, 512), np.random.uniform(-1, 1, 512)
thdot2 = np.clip(thdot + (15 * np.sin(th) + 6 * u) * 0.05, -8, 8)
th2 = th + thdot2 * 0.05
replay = [np.stack([np.cos(th), np.sin(th), thdot / 8], 1), u[:, None], -(((th + np.pi) % (2 * np.pi) - np.pi) ** 2 + 0.1 * thdot ** 2)[:, None] / 10,
          np.stack([np.cos(th2), np.sin(th2), thdot2 / 8], 1)]

actor, critic = Actor(), Critic()
critic_target = copy.deepcopy(critic)
log_alpha = torch.tensor(np.log(0.1), dtype=torch.float32, requires_grad=True)
actor_opt, critic_opt, alpha_opt = (torch.optim.Adam(p, lr=1e-3, betas=(0.9, 0.999)) for p in (actor.parameters(), critic.parameters(), [log_alpha]))
for step in range(20):
    idxs = np.random.randint(0, 512, size=64)
    obs, action, reward, next_obs = (torch.as_tensor(a[idxs]).float() for a in replay)
    with torch.no_grad():
        dist = actor(next_obs)
        next_action = dist.rsample()
        log_prob = dist.log_prob(next_action).sum(-1, keepdim=True)
        target_V = torch.min(*critic_target(next_obs, next_action)) - log_alpha.exp() * log_prob
        target_Q = reward + 0.99 * target_V
    q1, q2 = critic(obs, action)
    critic_loss = F.mse_loss(q1, target_Q) + F.mse_loss(q2, target_Q)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    dist = actor(obs)
    a = dist.rsample()
    log_prob = dist.log_prob(a).sum(-1, keepdim=True)
    actor_loss = (log_alpha.exp().detach() * log_prob - torch.min(*critic(obs, a))).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()

    alpha_opt.zero_grad()
    alpha_loss = (log_alpha.exp() * (-log_prob + 1).detach()).mean()
    alpha_loss.backward()
    alpha_opt.step()
    if step % 2 == 0:
        for param, target_param in zip(critic.parameters(), critic_target.parameters()):
            target_param.data.copy_(0.01 * param.data + (1 - 0.01) * target_param.data)
    print("loss %.6f actor %.6f alpha %.6f" % (critic_loss, actor_loss, log_alpha.exp()))
