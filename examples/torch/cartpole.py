"""CartPole as in Barto, Sutton and Anderson, "Neuronlike adaptive elements", 1983: the environment of the policy programs."""

import math

import numpy as np


class CartPole:
    """Observation (position, velocity, angle, angular velocity); action 0 or 1; reward 1 for each step upright."""

    gravity, cart, pole, half_length, force, tau = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    angle_limit, position_limit, step_limit = 12 * math.pi / 180, 2.4, 500

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.state = self.rng.uniform(-0.05, 0.05, 4)
        self.steps = 0
        return self.state.astype(np.float32)

    def step(self, action):
        x, v, angle, w = self.state
        force = self.force if action == 1 else -self.force
        total, moment = self.cart + self.pole, self.pole * self.half_length
        sine, cosine = math.sin(angle), math.cos(angle)
        pushed = (force + moment * w**2 * sine) / total
        angular = (self.gravity * sine - cosine * pushed) / (self.half_length * (4 / 3 - self.pole * cosine**2 / total))
        linear = pushed - moment * angular * cosine / total
        self.state = np.array([x + self.tau * v, v + self.tau * linear, angle + self.tau * w, w + self.tau * angular])
        self.steps += 1
        fallen = abs(self.state[0]) > self.position_limit or abs(self.state[2]) > self.angle_limit
        return self.state.astype(np.float32), 1.0, bool(fallen), self.steps >= self.step_limit
