"""Actor-critic on CartPole (Sutton et al., "Policy gradient methods", 2000): one network with two heads.

    python examples/torch/actor_critic.py [--episodes 300]

There is nothing to compile here: the loss is a sum over one episode's actions, and each episode has another number of them.
"""

import argparse
from collections import namedtuple

import numpy as np
from cartpole import CartPole

import staticgrad as torch
import staticgrad.nn as nn
import staticgrad.nn.functional as F
import staticgrad.optim as optim
from staticgrad.distributions import Categorical

SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class Policy(nn.Module):
    def __init__(self, hidden=128):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, hidden)
        self.action_head = nn.Linear(hidden, 2)
        self.value_head = nn.Linear(hidden, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


@torch.no_grad()
def initialize(model, rng):
    """Weights from NumPy's generator: the same whatever library runs the program."""
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        else:
            scale = np.sqrt(2 / parameter.size(1))
            parameter.copy_(torch.as_tensor(rng.normal(0, scale, tuple(parameter.size())), dtype=parameter.dtype))


def select_action(model, state, rng):
    probs, state_value = model(torch.from_numpy(state))
    m = Categorical(probs)
    action = torch.tensor(int(rng.random() < probs[1].item()))  # drawn by NumPy, as m.sample() would
    model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
    return action.item()


def finish_episode(model, optimizer, gamma, eps=np.finfo(np.float32).eps.item()):
    R, returns, policy_losses, value_losses = 0, [], [], []
    for r in model.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return loss.item()


def train(steps=300, gamma=0.99, report=None):
    """The loss of each episode."""
    torch.manual_seed(543)
    rng = np.random.default_rng(543)
    env, model = CartPole(rng), Policy()
    initialize(model, rng)
    optimizer = optim.Adam(model.parameters(), lr=3e-2)
    running_reward, losses = 10.0, []
    for episode in range(1, steps + 1):
        state, ep_reward = env.reset(), 0.0
        while True:
            state, reward, terminated, truncated = env.step(select_action(model, state, rng))
            model.rewards.append(reward)
            ep_reward += reward
            if terminated or truncated:
                break
        running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
        losses.append(finish_episode(model, optimizer, gamma))
        if report and episode % 10 == 0:
            report("Episode {}\tLast reward: {:.2f}\tAverage reward: {:.2f}".format(episode, ep_reward, running_reward))
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="actor-critic on CartPole")
    parser.add_argument("--episodes", type=int, default=300)
    train(steps=parser.parse_args().episodes, report=print)
