"""PPO, one file, after cleanrl; a double integrator in NumPy."""
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.normal import Normal


class Envs:
    def __init__(self, n, seed):
        self.rng, self.n = np.random.default_rng(seed), n

    def reset(self):
        self.s = self.rng.uniform(-1, 1, (self.n, 2))
        self.t = 0
        return self.s.astype(np.float32)

    def step(self, a):
        a = np.clip(a[:, 0], -1, 1)
        self.s[:, 1] += 0.1 * a
        self.s[:, 0] += 0.1 * self.s[:, 1]
        r = -(self.s[:, 0] ** 2 + 0.1 * self.s[:, 1] ** 2 + 0.01 * a ** 2)
        self.t += 1
        done = np.full(self.n, self.t % 16 == 0)
        if done[0]:
            self.reset()
        return self.s.astype(np.float32), r, done


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(2, 32)), nn.Tanh(), layer_init(nn.Linear(32, 32)), nn.Tanh(), layer_init(nn.Linear(32, 1), std=1.0))
        self.actor_mean = nn.Sequential(layer_init(nn.Linear(2, 32)), nn.Tanh(), layer_init(nn.Linear(32, 32)), nn.Tanh(), layer_init(nn.Linear(32, 1), std=0.01))
        self.actor_logstd = nn.Parameter(torch.zeros(1, 1))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        action_mean = self.actor_mean(x)
        action_std = torch.exp(self.actor_logstd.expand_as(action_mean))
        probs = Normal(action_mean, action_std)
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action).sum(1), probs.entropy().sum(1), self.critic(x)


num_steps, num_envs, num_updates, minibatch, gamma, lam = 32, 4, 2, 32, 0.99, 0.95
torch.manual_seed(1)
np.random.seed(1)
torch.backends.cudnn.deterministic = True
envs, agent = Envs(num_envs, 1), Agent()
optimizer = optim.Adam(agent.parameters(), lr=3e-4, eps=1e-5)
obs = torch.zeros((num_steps, num_envs, 2))
actions = torch.zeros((num_steps, num_envs, 1))
logprobs, rewards, dones, values = (torch.zeros((num_steps, num_envs)) for _ in range(4))
next_obs, next_done = torch.Tensor(envs.reset()), torch.zeros(num_envs)
for update in range(1, num_updates + 1):
    optimizer.param_groups[0]["lr"] = (1.0 - (update - 1.0) / num_updates) * 3e-4
    for step in range(num_steps):
        obs[step], dones[step] = next_obs, next_done
        with torch.no_grad():
            action, logprob, _, value = agent.get_action_and_value(next_obs)
            values[step] = value.flatten()
        actions[step], logprobs[step] = action, logprob
        o, reward, done = envs.step(action.cpu().numpy())
        rewards[step] = torch.tensor(reward).view(-1)
        next_obs, next_done = torch.Tensor(o), torch.Tensor(done)
    with torch.no_grad():
        next_value = agent.get_value(next_obs).reshape(1, -1)
        advantages = torch.zeros_like(rewards)
        lastgaelam = 0
        for t in reversed(range(num_steps)):
            nextnonterminal = 1.0 - (next_done if t == num_steps - 1 else dones[t + 1])
            nextvalues = next_value if t == num_steps - 1 else values[t + 1]
            delta = rewards[t] + gamma * nextvalues * nextnonterminal - values[t]
            advantages[t] = lastgaelam = delta + gamma * lam * nextnonterminal * lastgaelam
        returns = advantages + values
    b_obs, b_logprobs, b_actions = obs.reshape((-1, 2)), logprobs.reshape(-1), actions.reshape((-1, 1))
    b_advantages, b_returns, b_values = advantages.reshape(-1), returns.reshape(-1), values.reshape(-1)
    b_inds = np.arange(num_steps * num_envs)
    for epoch in range(3):
        np.random.shuffle(b_inds)
        for start in range(0, len(b_inds), minibatch):
            mb_inds = b_inds[start:start + minibatch]
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb_inds], b_actions[mb_inds])
            logratio = newlogprob - b_logprobs[mb_inds]
            ratio = logratio.exp()
            mb_advantages = b_advantages[mb_inds]
            mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
            pg_loss = torch.max(-mb_advantages * ratio, -mb_advantages * torch.clamp(ratio, 0.8, 1.2)).mean()
            newvalue = newvalue.view(-1)
            v_clipped = b_values[mb_inds] + torch.clamp(newvalue - b_values[mb_inds], -0.2, 0.2)
            v_loss = 0.5 * torch.max((newvalue - b_returns[mb_inds]) ** 2, (v_clipped - b_returns[mb_inds]) ** 2).mean()
            loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            print(f"loss {loss.item():.6f}")
