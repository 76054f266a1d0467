"""REINFORCE on CartPole (Williams, "Simple statistical gradient-following algorithms", 1992).

    python examples/torch/reinforce.py [--episodes 300]

There is nothing to compile here: the loss is a sum over one episode's actions, and each episode has another number of them.
"""

import argparse
from collections import deque

import numpy as np
from cartpole import CartPole

import staticgrad as torch
import staticgrad.nn as nn
import staticgrad.nn.functional as F
import staticgrad.optim as optim
from staticgrad.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.affine1 = nn.Linear(4, hidden)
        self.affine2 = nn.Linear(hidden, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.affine2(x), dim=1)


def initialize(model, rng):
    """Weights from NumPy's generator: the same whatever library runs the program."""
    for parameter in model.parameters():
        bound = 1 / np.sqrt(parameter.shape[-1])
        parameter.data.copy_(torch.tensor(rng.uniform(-bound, bound, tuple(parameter.shape)), dtype=torch.float32))


def select_action(policy, state, rng):
    probabilities = policy(torch.from_numpy(state).float().unsqueeze(0))
    m = Categorical(probabilities)
    action = torch.tensor([int(rng.random() < m.probs[0, 1].item())])  # drawn by NumPy, as m.sample() would
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(policy, optimizer, gamma, eps=np.finfo(np.float32).eps.item()):
    R, returns, policy_loss = 0, deque(), []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return policy_loss.item() / len(returns)


def train(steps=300, gamma=0.99, report=None):
    """The loss of each episode, per step."""
    torch.manual_seed(543)
    rng = np.random.default_rng(543)
    env, policy = CartPole(rng), Policy()
    initialize(policy, rng)
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    running_reward, losses = 10.0, []
    for episode in range(1, steps + 1):
        state, ep_reward = env.reset(), 0.0
        for _ in range(1, 10000):
            state, reward, terminated, truncated = env.step(select_action(policy, state, rng))
            policy.rewards.append(reward)
            ep_reward += reward
            if terminated or truncated:
                break
        running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
        losses.append(finish_episode(policy, optimizer, gamma))
        if report and episode % 10 == 0:
            report(f"Episode {episode}\tLast reward: {ep_reward:.2f}\tAverage reward: {running_reward:.2f}")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="REINFORCE on CartPole")
    parser.add_argument("--episodes", type=int, default=300)
    train(steps=parser.parse_args().episodes, report=print)
