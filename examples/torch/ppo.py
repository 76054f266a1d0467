"""Proximal policy optimization on CartPole (Schulman et al., 2017; advantages by Schulman et al., 2016).

python examples/torch/ppo.py [--iterations 30] [--compile]
"""

import argparse

import numpy as np
from cartpole import CartPole

import staticgrad as torch
import staticgrad.nn as nn
import staticgrad.optim as optim
from staticgrad.distributions.categorical import Categorical

rng = np.random.default_rng(0)


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    """An orthogonal matrix times std, of normal numbers that NumPy draws."""
    rows, columns = layer.weight.shape
    q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diag(r))
    with torch.no_grad():
        layer.weight.copy_(torch.tensor((q if rows >= columns else q.T) * std, dtype=torch.float32))
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self, observations=4, actions=2):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(observations, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 1), std=1.0),
        )
        self.actor = nn.Sequential(
            layer_init(nn.Linear(observations, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, actions), std=0.01),
        )

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:  # drawn by NumPy, as probs.sample() would
            action = torch.as_tensor(rng.random(len(x)) < probs.probs[:, 1].numpy(), dtype=torch.int64)
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


def train(
    steps=30, num_envs=4, num_steps=32, gamma=0.99, gae_lambda=0.95, num_minibatches=4, update_epochs=4, clip_coef=0.2,
    ent_coef=0.01, vf_coef=0.5, max_grad_norm=0.5, learning_rate=2.5e-4, compiled=False, report=None,
):  # fmt: skip
    """The loss of the last minibatch of each iteration."""
    global rng
    rng = np.random.default_rng(1)
    torch.manual_seed(1)
    torch.backends.cudnn.deterministic = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    envs = [CartPole(rng) for _ in range(num_envs)]
    agent = Agent().to(device)
    optimizer = optim.Adam(agent.parameters(), lr=learning_rate, eps=1e-5)
    batch_size = num_envs * num_steps
    minibatch_size = batch_size // num_minibatches

    obs = torch.zeros((num_steps, num_envs) + (4,)).to(device)
    actions = torch.zeros((num_steps, num_envs), dtype=torch.long).to(device)
    logprobs = torch.zeros((num_steps, num_envs)).to(device)
    rewards = torch.zeros((num_steps, num_envs)).to(device)
    dones = torch.zeros((num_steps, num_envs)).to(device)
    values = torch.zeros((num_steps, num_envs)).to(device)

    def update(mb_obs, mb_actions, mb_logprobs, mb_advantages, mb_returns, mb_values):
        _, newlogprob, entropy, newvalue = agent.get_action_and_value(mb_obs, mb_actions)
        logratio = newlogprob - mb_logprobs
        ratio = logratio.exp()
        mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
        pg_loss1 = -mb_advantages * ratio
        pg_loss2 = -mb_advantages * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)
        pg_loss = torch.max(pg_loss1, pg_loss2).mean()
        newvalue = newvalue.view(-1)
        v_loss_unclipped = (newvalue - mb_returns) ** 2
        v_clipped = mb_values + torch.clamp(newvalue - mb_values, -clip_coef, clip_coef)
        v_loss_clipped = (v_clipped - mb_returns) ** 2
        v_loss = 0.5 * torch.max(v_loss_unclipped, v_loss_clipped).mean()
        entropy_loss = entropy.mean()
        loss = pg_loss - ent_coef * entropy_loss + v_loss * vf_coef
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), max_grad_norm)
        optimizer.step()
        with torch.no_grad():
            approx_kl = ((ratio - 1) - logratio).mean()
        return loss, approx_kl

    if compiled:
        update = torch.compile(update)

    losses, finished = [], []
    next_obs = torch.Tensor(np.stack([env.reset() for env in envs])).to(device)
    next_done = torch.zeros(num_envs).to(device)
    for iteration in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = (1.0 - (iteration - 1.0) / steps) * learning_rate
        for step in range(num_steps):
            obs[step] = next_obs
            dones[step] = next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
                values[step] = value.flatten()
            actions[step] = action
            logprobs[step] = logprob
            found, reward, done = [], [], []
            for env, a in zip(envs, action.cpu().numpy()):
                o, r, terminated, truncated = env.step(a)
                if terminated or truncated:
                    finished.append(env.steps)
                    o = env.reset()
                found.append(o)
                reward.append(r)
                done.append(terminated or truncated)
            rewards[step] = torch.tensor(reward).to(device).view(-1)
            next_obs, next_done = torch.Tensor(np.array(found)).to(device), torch.Tensor(done).to(device)

        with torch.no_grad():
            next_value = agent.get_value(next_obs).reshape(1, -1)
            advantages = torch.zeros_like(rewards).to(device)
            lastgaelam = 0
            for t in reversed(range(num_steps)):
                if t == num_steps - 1:
                    nextnonterminal = 1.0 - next_done
                    nextvalues = next_value
                else:
                    nextnonterminal = 1.0 - dones[t + 1]
                    nextvalues = values[t + 1]
                delta = rewards[t] + gamma * nextvalues * nextnonterminal - values[t]
                advantages[t] = lastgaelam = delta + gamma * gae_lambda * nextnonterminal * lastgaelam
            returns = advantages + values

        b_obs = obs.reshape((-1, 4))
        b_logprobs, b_actions = logprobs.reshape(-1), actions.reshape(-1)
        b_advantages, b_returns, b_values = advantages.reshape(-1), returns.reshape(-1), values.reshape(-1)
        b_inds = np.arange(batch_size)
        for _ in range(update_epochs):
            rng.shuffle(b_inds)
            for start in range(0, batch_size, minibatch_size):
                mb = b_inds[start : start + minibatch_size]
                loss, approx_kl = update(
                    b_obs[mb], b_actions.long()[mb], b_logprobs[mb], b_advantages[mb], b_returns[mb], b_values[mb]
                )
        losses.append(loss.item())
        if report:
            length = np.mean(finished[-20:]) if finished else float("nan")
            report(f"iteration {iteration:3d}  loss {loss.item():8.4f}  kl {approx_kl.item():.5f}  length {length:.1f}")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="PPO on CartPole")
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    train(steps=arguments.iterations, compiled=arguments.compile, report=print)
