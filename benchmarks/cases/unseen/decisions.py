"""Policies, and optimization within a model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import scan, weights, workload

TIMES, WORLDS, SEEN, ACTIONS, HIDDEN = 64, 32, 16, 4, 64
DISCOUNT, TRACE, CLIP = 0.99, 0.95, 0.2


def rollouts() -> Arrays:
    rng = np.random.default_rng(0)
    found = {
        "seen": rng.standard_normal((4, TIMES + 1, WORLDS, SEEN)), "reward": rng.standard_normal((4, TIMES, WORLDS)),
        "action": rng.standard_normal((4, TIMES, WORLDS, ACTIONS)), "going": rng.random((4, TIMES, WORLDS)) > 0.05,
        "before": rng.normal(-5.6, 0.3, (4, TIMES, WORLDS)), "scale": np.full(ACTIONS, -0.1),
    }  # fmt: skip
    return {name: value.astype(np.float32) for name, value in found.items()} | weights(
        rng, pi0=(HIDDEN, SEEN), pi0_bias=(HIDDEN,), pi1=(HIDDEN, HIDDEN), pi1_bias=(HIDDEN,), pi2=(ACTIONS, HIDDEN),
        pi2_bias=(ACTIONS,), v0=(HIDDEN, SEEN), v0_bias=(HIDDEN,), v1=(HIDDEN, HIDDEN), v1_bias=(HIDDEN,), v2=(1, HIDDEN),
        v2_bias=(1,),
    )  # fmt: skip


def proximal_policy(torch: Any, p: Any, c: Any, seen: Any, action: Any, before: Any, reward: Any, going: Any) -> Any:
    F = torch.nn.functional

    def network(name: str, x: Any) -> Any:
        for i in range(2):
            x = torch.tanh(F.linear(x, p[f"{name}{i}"], p[f"{name}{i}_bias"]))
        return F.linear(x, p[f"{name}2"], p[f"{name}2_bias"])

    value = network("v", seen).squeeze(-1)
    fixed = value.detach()
    delta = reward + DISCOUNT * going * fixed[1:] - fixed[:-1]

    def cell(advantage: Any, x: Any) -> Any:
        advantage = x[0] + DISCOUNT * TRACE * x[1] * advantage
        return advantage, advantage

    _, advantage = scan(torch, cell, torch.zeros(WORLDS), (delta.flip(0), going.flip(0)))
    advantage = advantage.flip(0)
    target = advantage + fixed[:-1]
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    policy = torch.distributions.Normal(network("pi", seen[:-1]), torch.exp(p["scale"]), validate_args=False)
    ratio = torch.exp(policy.log_prob(action).sum(-1) - before)
    gain = torch.minimum(ratio * advantage, torch.clamp(ratio, 1 - CLIP, 1 + CLIP) * advantage).mean()
    return 0.5 * F.mse_loss(value[:-1], target) - gain - 0.01 * policy.entropy().sum(-1).mean()


def proximal_policy_jax(jax: Any, p: Any, c: Any, seen: Any, action: Any, before: Any, reward: Any, going: Any) -> Any:
    jnp = jax.numpy

    def network(name: str, x: Any) -> Any:
        for i in range(2):
            x = jnp.tanh(x @ p[f"{name}{i}"].T + p[f"{name}{i}_bias"])
        return x @ p[f"{name}2"].T + p[f"{name}2_bias"]

    value = network("v", seen)[..., 0]
    fixed = jax.lax.stop_gradient(value)
    delta = reward + DISCOUNT * going * fixed[1:] - fixed[:-1]

    def cell(advantage: Any, x: Any) -> Any:
        advantage = x[0] + DISCOUNT * TRACE * x[1] * advantage
        return advantage, advantage

    _, advantage = jax.lax.scan(cell, jnp.zeros(WORLDS), (delta, going), reverse=True)
    target = advantage + fixed[:-1]
    advantage = (advantage - advantage.mean()) / (advantage.std(ddof=1) + 1e-8)
    scale = p["scale"]
    z = (action - network("pi", seen[:-1])) * jnp.exp(-scale)
    half = 0.5 * math.log(2 * math.pi)
    ratio = jnp.exp((-0.5 * z * z - scale - half).sum(-1) - before)
    gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage).mean()
    return 0.5 * ((value[:-1] - target) ** 2).mean() - gain - 0.01 * (0.5 + half + scale).sum()


workload(
    "policy", "PPO: 64 steps of 32 worlds, generalized advantages, two networks 16-64-64, clipped ratio, entropy", rollouts,
    proximal_policy, proximal_policy_jax, group=1, inputs=("seen", "action", "before", "reward", "going"),
)  # fmt: skip

PROBLEMS, UNKNOWNS, BOUNDS, ITERATIONS, INPUTS = 32, 20, 30, 30, 10


def programs() -> Arrays:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, PROBLEMS, INPUTS), np.float32)
    y = np.clip(x @ rng.normal(0, 0.5, (INPUTS, UNKNOWNS)), -0.5, 0.5).astype(np.float32)
    root = np.eye(UNKNOWNS) + rng.normal(0, 0.1, (UNKNOWNS, UNKNOWNS))
    p = {"root": root, "sides": rng.normal(0, 0.3, (BOUNDS, UNKNOWNS)), "limits": rng.uniform(0.2, 1, BOUNDS)}
    return {"x": x, "y": y} | {n: v.astype(np.float32) for n, v in p.items()} | weights(
        rng, linear=(UNKNOWNS, INPUTS), linear_bias=(UNKNOWNS,)
    )  # fmt: skip


def quadratic_program(torch: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    F = torch.nn.functional
    cost = F.linear(x, p["linear"], p["linear_bias"]).T
    sides, limits = p["sides"], p["limits"][:, None]
    factor = torch.linalg.cholesky(p["root"] @ p["root"].T + 1e-3 * torch.eye(UNKNOWNS) + sides.T @ sides)

    def cell(state: Any, _: Any) -> Any:
        slack, dual = state
        z = torch.cholesky_solve(sides.T @ (slack - dual) - cost, factor)
        reached = sides @ z
        slack = torch.minimum(reached + dual, limits)
        return (slack, dual + reached - slack), None

    start = torch.zeros(BOUNDS, PROBLEMS)
    (slack, dual), _ = scan(torch, cell, (start, start), length=ITERATIONS)
    z = torch.cholesky_solve(sides.T @ (slack - dual) - cost, factor)
    return F.mse_loss(z.T, y)


def quadratic_program_jax(jax: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    jnp = jax.numpy
    cost = (x @ p["linear"].T + p["linear_bias"]).T
    sides, limits = p["sides"], p["limits"][:, None]
    factor = jnp.linalg.cholesky(p["root"] @ p["root"].T + 1e-3 * jnp.eye(UNKNOWNS) + sides.T @ sides)

    def solve(slack: Any, dual: Any) -> Any:
        return jax.scipy.linalg.cho_solve((factor, True), sides.T @ (slack - dual) - cost)

    def cell(state: Any, _: Any) -> Any:
        slack, dual = state
        reached = sides @ solve(slack, dual)
        slack = jnp.minimum(reached + dual, limits)
        return (slack, dual + reached - slack), None

    start = jnp.zeros((BOUNDS, PROBLEMS), jnp.float32)
    (slack, dual), _ = jax.lax.scan(cell, (start, start), None, ITERATIONS)
    return ((solve(slack, dual).T - y) ** 2).mean()


workload(
    "quadratic-layer", "32 quadratic programs of 20 unknowns and 30 bounds as a layer: 30 iterations of ADMM on one factor",
    programs, quadratic_program, quadratic_program_jax, group=1, inputs=("x", "y"),
)  # fmt: skip

MEMORIES, SENSES, MOTORS, UNITS = 256, 17, 6, 128
ENTROPY, LOG_2PI = -MOTORS, math.log(2 * math.pi)


def memories() -> Arrays:
    rng = np.random.default_rng(0)
    data = {
        "seen": rng.standard_normal((4, MEMORIES, SENSES)), "then": rng.standard_normal((4, MEMORIES, SENSES)),
        "action": rng.uniform(-1, 1, (4, MEMORIES, MOTORS)), "reward": rng.standard_normal((4, MEMORIES)),
        "going": rng.random((4, MEMORIES)) > 0.05, "draw": rng.standard_normal((4, MEMORIES, MOTORS)),
        "draw_then": rng.standard_normal((4, MEMORIES, MOTORS)), "warmth": np.full(1, -1.0),
    }  # fmt: skip
    p = weights(
        rng, actor0=(UNITS, SENSES), actor0_bias=(UNITS,), actor1=(UNITS, UNITS), actor1_bias=(UNITS,),
        actor2=(2 * MOTORS, UNITS), actor2_bias=(2 * MOTORS,),
    )  # fmt: skip
    for name in ("one", "two", "old_one", "old_two"):
        shapes = ((UNITS, SENSES + MOTORS), (UNITS, UNITS), (1, UNITS))
        for i, shape in enumerate(shapes):
            p |= weights(rng, **{f"{name}{i}": shape, f"{name}{i}_bias": shape[:1]})
    return {name: value.astype(np.float32) for name, value in data.items()} | p


OLD = tuple(f"old_{name}{i}{part}" for name in ("one", "two") for i in range(3) for part in ("", "_bias"))


def soft_actor_critic(
    torch: Any, p: Any, c: Any, seen: Any, action: Any, reward: Any, going: Any, then: Any, draw: Any, draw_then: Any
) -> Any:
    F = torch.nn.functional
    fixed = {name: value.detach() for name, value in p.items()}

    def network(p: Any, name: str, x: Any) -> Any:
        for i in range(2):
            x = torch.relu(F.linear(x, p[f"{name}{i}"], p[f"{name}{i}_bias"]))
        return F.linear(x, p[f"{name}2"], p[f"{name}2_bias"])

    def act(p: Any, seen: Any, draw: Any) -> Any:
        mean, scale = network(p, "actor", seen).chunk(2, -1)
        scale = torch.clamp(scale, -5, 2)
        u = mean + torch.exp(scale) * draw
        density = -0.5 * draw * draw - scale - 0.5 * LOG_2PI - 2 * (math.log(2) - u - F.softplus(-2 * u))
        return torch.tanh(u), density.sum(-1)

    def worth(p: Any, first: str, second: str, seen: Any, action: Any) -> Any:
        x = torch.cat([seen, action], -1)
        return network(p, first, x).squeeze(-1), network(p, second, x).squeeze(-1)

    warmth = torch.exp(fixed["warmth"])
    next_action, density = act(fixed, then, draw_then)
    target = reward + DISCOUNT * going * (torch.minimum(*worth(c, "old_one", "old_two", then, next_action)) - warmth * density)
    one, two = worth(p, "one", "two", seen, action)
    critics = F.mse_loss(one, target) + F.mse_loss(two, target)
    action, density = act(p, seen, draw)
    actor = (warmth * density - torch.minimum(*worth(fixed, "one", "two", seen, action))).mean()
    return critics + actor - (p["warmth"] * (density.detach() + ENTROPY)).mean()


def soft_actor_critic_jax(
    jax: Any, p: Any, c: Any, seen: Any, action: Any, reward: Any, going: Any, then: Any, draw: Any, draw_then: Any
) -> Any:
    jnp = jax.numpy
    fixed = jax.lax.stop_gradient(p)

    def network(p: Any, name: str, x: Any) -> Any:
        for i in range(2):
            x = jax.nn.relu(x @ p[f"{name}{i}"].T + p[f"{name}{i}_bias"])
        return x @ p[f"{name}2"].T + p[f"{name}2_bias"]

    def act(p: Any, seen: Any, draw: Any) -> Any:
        mean, scale = jnp.split(network(p, "actor", seen), 2, -1)
        scale = jnp.clip(scale, -5, 2)
        u = mean + jnp.exp(scale) * draw
        density = -0.5 * draw * draw - scale - 0.5 * LOG_2PI - 2 * (math.log(2) - u - jax.nn.softplus(-2 * u))
        return jnp.tanh(u), density.sum(-1)

    def worth(p: Any, first: str, second: str, seen: Any, action: Any) -> Any:
        x = jnp.concatenate([seen, action], -1)
        return network(p, first, x)[..., 0], network(p, second, x)[..., 0]

    warmth = jnp.exp(fixed["warmth"])
    next_action, density = act(fixed, then, draw_then)
    target = reward + DISCOUNT * going * (jnp.minimum(*worth(c, "old_one", "old_two", then, next_action)) - warmth * density)
    one, two = worth(p, "one", "two", seen, action)
    critics = ((one - target) ** 2).mean() + ((two - target) ** 2).mean()
    action, density = act(p, seen, draw)
    actor = (warmth * density - jnp.minimum(*worth(fixed, "one", "two", seen, action))).mean()
    return critics + actor - (p["warmth"] * (jax.lax.stop_gradient(density) + ENTROPY)).mean()


workload(
    "actor-critic", "SAC: an actor 17-128-128-12, twin critics and their targets 23-128-128-1, batch 256", memories,
    soft_actor_critic, soft_actor_critic_jax, group=2,
    inputs=("seen", "action", "reward", "going", "then", "draw", "draw_then"), constants=OLD,
)  # fmt: skip
