"""Programs of reinforcement learning and of meta-learning."""

from __future__ import annotations

import copy

import numpy as np

from .registry import Library, Training, batches, program


def _network(nn, *widths, out=None):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.Tanh() if out is None else nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _transitions(count, observed=8, actions=4, seed=0):
    """Observations, actions, rewards, following observations, ends of episodes."""
    rng = np.random.default_rng(seed)
    s, s2 = rng.normal(0, 1, (2, count, observed)).astype("float32")
    return s, rng.integers(0, actions, count), s[:, 0], s2, (rng.uniform(size=count) < 0.1).astype("float32")


@program("DQN: a target network, loaded every fifth step within the step")
def dqn(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    policy = lib.filled(_network(nn, 8, 64, 64, 4, out="relu"))
    target = copy.deepcopy(policy)
    optimizer = optim.AdamW(policy.parameters(), lr=1e-3, amsgrad=True)
    memory = {"steps": 0, "gamma": 0.99}

    @lib.compiles
    def step(s, a, r, s2, done):
        q = policy(s).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            best = target(s2).max(1).values
            goal = r + memory["gamma"] * best * (1 - done)
        loss = F.smooth_l1_loss(q, goal)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy.parameters(), 100)
        optimizer.step()
        memory["steps"] += 1
        if memory["steps"] % 5 == 0:
            target.load_state_dict(policy.state_dict())
        return loss

    def change():
        memory["gamma"] = 0.9

    return Training(step, batches(lib, *_transitions(512), size=64), change)


@program("C51: distributions of returns on a fixed support, projected by scattered sums")
def c51(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    actions, atoms, least, most = 4, 51, -10.0, 10.0
    support, width = torch.linspace(least, most, atoms), (most - least) / (atoms - 1)

    class Agent(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = _network(nn, 8, 64, 64, actions * atoms, out="relu")

        def forward(self, s):
            return F.log_softmax(self.net(s).view(-1, actions, atoms), dim=2)

    online, target = lib.filled(Agent()), lib.filled(Agent())
    optimizer = optim.Adam(online.parameters(), lr=1e-3)
    memory = {"steps": 0, "gamma": 0.99}

    def projected(s2, r, done):
        p = target(s2).exp()
        best = (p * support).sum(2).argmax(1)
        p = p[torch.arange(len(r)), best]
        goal = (r[:, None] + memory["gamma"] * (1 - done[:, None]) * support).clamp(least, most)
        place = (goal - least) / width
        low, high = place.floor().long(), place.ceil().long()
        low, high = torch.where((high > 0) & (low == high), low - 1, low), torch.where((high == 0) & (low == 0), high + 1, high)
        first = torch.arange(len(r))[:, None] * atoms
        total = torch.zeros(len(r) * atoms)
        total.index_add_(0, (low + first).view(-1), (p * (high.float() - place)).view(-1))
        total.index_add_(0, (high + first).view(-1), (p * (place - low.float())).view(-1))
        return total.view(-1, atoms)

    @lib.compiles
    def step(s, a, r, s2, done):
        with torch.no_grad():
            goal = projected(s2, r, done)
        loss = -(goal * online(s)[torch.arange(len(a)), a]).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        memory["steps"] += 1
        if memory["steps"] % 50 == 0:
            target.load_state_dict(online.state_dict())
        return loss

    def change():
        memory["gamma"] = 0.9

    return Training(step, batches(lib, *_transitions(512), size=32), change)


@program("PPO: clipped objective, entropy, several epochs, advantages normalized")
def ppo(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class ActorCritic(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.pi, self.v = _network(nn, 8, 64, 64, 64), nn.Linear(64, 4), nn.Linear(64, 1)

        def forward(self, s):
            h = torch.tanh(self.body(s))
            return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)

    model = lib.filled(ActorCritic())
    optimizer = optim.Adam(model.parameters(), lr=3e-4, eps=1e-5)
    settings = {"clip": 0.2}

    @lib.compiles
    def step(s, a, returns):
        with torch.no_grad():
            dist, value = model(s)
            old, advantage = dist.log_prob(a), returns - value
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        for _ in range(3):
            dist, value = model(s)
            ratio = (dist.log_prob(a) - old).exp()
            clipped = torch.clamp(ratio, 1 - settings["clip"], 1 + settings["clip"])
            policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
            loss = policy_loss + 0.5 * F.mse_loss(value, returns) - 0.01 * dist.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        return loss

    def change():
        settings["clip"] = 0.1

    return Training(step, batches(lib, *_transitions(512)[:3], size=128), change)


@program("SAC: twin critics, squashed Gaussian policy, learned temperature, Polyak averages")
def sac(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    actor = lib.filled(_network(nn, 8, 64, 64, 4, out="relu"))
    critics = [lib.filled(_network(nn, 10, 64, 64, 1, out="relu"), seed) for seed in (1, 2)]
    targets = copy.deepcopy(critics)
    log_alpha = torch.zeros(1, requires_grad=True)
    actor_optimizer = optim.Adam(actor.parameters(), lr=3e-4)
    critic_optimizer = optim.Adam([p for q in critics for p in q.parameters()], lr=3e-4)
    alpha_optimizer = optim.Adam([log_alpha], lr=3e-4)
    tau = [0.005]

    def act(s, noise):
        mean, log_std = actor(s).chunk(2, dim=-1)
        std = log_std.clamp(-20, 2).exp()
        u = mean + std * noise
        a = torch.tanh(u)
        log_prob = torch.distributions.Normal(mean, std).log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)
        return a, log_prob.sum(-1, keepdim=True)

    @lib.compiles
    def step(s, a, r, s2, done, noise, noise2):
        alpha = log_alpha.exp().detach()
        with torch.no_grad():
            a2, log_prob = act(s2, noise2)
            q = torch.min(*[t(torch.cat([s2, a2], -1)) for t in targets]) - alpha * log_prob
            goal = r.unsqueeze(-1) + 0.99 * (1 - done.unsqueeze(-1)) * q
        critic_loss = sum(F.mse_loss(c(torch.cat([s, a], -1)), goal) for c in critics)
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()
        new, log_prob = act(s, noise)
        actor_loss = (alpha * log_prob - torch.min(*[c(torch.cat([s, new], -1)) for c in critics])).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        alpha_loss = -(log_alpha * (log_prob - 2).detach()).mean()
        alpha_optimizer.zero_grad()
        alpha_loss.backward()
        alpha_optimizer.step()
        with torch.no_grad():
            for critic, target in zip(critics, targets):
                for p, t in zip(critic.parameters(), target.parameters()):
                    t.data.mul_(1 - tau[0])
                    t.data.add_(tau[0] * p.data)
        return critic_loss, actor_loss, alpha_loss

    def change():
        tau[0] = 0.05

    s, _, r, s2, done = _transitions(512)
    a, n1, n2 = np.random.default_rng(1).normal(0, 0.5, (3, 512, 2)).astype("float32")
    return Training(step, batches(lib, s, a, r, s2, done, n1, n2, size=64), change)


@program("REINFORCE: returns by a loop in Python, a moving baseline")
def reinforce(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    policy = lib.filled(_network(nn, 8, 64, 4))
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    running = {"baseline": 0.0, "gamma": 0.99}

    @lib.compiles
    def step(s, a, r):
        returns, total = [], 0.0
        for reward in reversed(r.tolist()):
            total = reward + running["gamma"] * total
            returns.insert(0, total)
        returns = torch.tensor(returns)
        running["baseline"] = 0.9 * running["baseline"] + 0.1 * returns.mean().item()
        log_probs = torch.distributions.Categorical(logits=policy(s)).log_prob(a)
        loss = -(log_probs * (returns - running["baseline"])).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def change():
        running["gamma"] = 0.9

    return Training(step, batches(lib, *_transitions(256)[:3], size=32), change)


@program("advantage actor-critic with sampled actions", random=True)
def actor_critic(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    body, pi, v = lib.filled(nn.Linear(8, 64)), lib.filled(nn.Linear(64, 4), 1), lib.filled(nn.Linear(64, 1), 2)
    optimizer = optim.RMSprop([*body.parameters(), *pi.parameters(), *v.parameters()], lr=7e-4, alpha=0.99, eps=1e-5)
    entropy_weight = [0.01]

    @lib.compiles
    def step(s, r, s2):
        h = F.relu(body(s))
        dist = torch.distributions.Categorical(F.softmax(pi(h), dim=-1))
        action = dist.sample()
        reward = r * torch.where(action == 0, 1.0, -1.0)
        value = v(h).squeeze(-1)
        with torch.no_grad():
            advantage = reward + 0.99 * v(F.relu(body(s2))).squeeze(-1) - value
        actor = -(dist.log_prob(action) * advantage).mean()
        loss = actor + 0.5 * F.mse_loss(value, advantage + value.detach()) - entropy_weight[0] * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def change():
        entropy_weight[0] = 0.1

    s, _, r, s2, _ = _transitions(512)
    return Training(step, batches(lib, s, r, s2, size=64), change)


@program("MAML: gradients through inner steps of a functional network")
def maml(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    weights = [lib.parameter(a, b, seed=a + b, scale=a**-0.5) for a, b in ((1, 40), (40, 40), (40, 1))]
    biases = [torch.zeros(n, requires_grad=True) for n in (40, 40, 1)]
    optimizer = optim.Adam(weights + biases, lr=1e-3)
    inner = {"lr": 0.01}

    def net(x, w, b):
        x = torch.relu(x @ w[0] + b[0])
        x = torch.relu(x @ w[1] + b[1])
        return x @ w[2] + b[2]

    @lib.compiles
    def step(xs, ys, xq, yq):
        total = 0.0
        for task in range(xs.shape[0]):
            w, b = weights, biases
            for _ in range(2):
                loss = F.mse_loss(net(xs[task], w, b), ys[task])
                grads = torch.autograd.grad(loss, [*w, *b], create_graph=True)
                new = [p - inner["lr"] * g for p, g in zip([*w, *b], grads)]
                w, b = new[:3], new[3:]
            total = total + F.mse_loss(net(xq[task], w, b), yq[task])
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        return total / xs.shape[0]

    def change():
        inner["lr"] = 0.02

    rng = np.random.default_rng(0)
    phase = rng.uniform(0, 3, (32, 1, 1))
    x = rng.uniform(-5, 5, (2, 32, 10, 1)).astype("float32")
    y = np.sin(x + phase).astype("float32")
    return Training(step, batches(lib, x[0], y[0], x[1], y[1], size=4), change)
