"""Plans that are optimal: of transport, and of control."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import scan, weights, workload

POINTS, LATENT, HIDDEN, SPACE, ROUNDS, BLUR = 256, 8, 64, 8, 25, 0.5


def points() -> Arrays:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, (4, POINTS, 1))
    x = np.concatenate([np.cos(angle), np.sin(angle), rng.normal(0, 0.1, (4, POINTS, SPACE - 2))], -1)
    return {"draw": rng.standard_normal((4, POINTS, LATENT), np.float32), "x": x.astype(np.float32)} | weights(
        rng, w0=(HIDDEN, LATENT), w0_bias=(HIDDEN,), w1=(HIDDEN, HIDDEN), w1_bias=(HIDDEN,), w2=(SPACE, HIDDEN),
        w2_bias=(SPACE,),
    )  # fmt: skip


def transport(torch: Any, p: Any, c: Any, draw: Any, x: Any) -> Any:
    F = torch.nn.functional
    h = torch.relu(F.linear(draw, p["w0"], p["w0_bias"]))
    h = torch.relu(F.linear(h, p["w1"], p["w1_bias"]))
    y = F.linear(h, p["w2"], p["w2_bias"])
    cost = (y * y).sum(-1).unsqueeze(1) + (x * x).sum(-1) - 2 * y @ x.T
    cool = -cost / BLUR
    even = -float(np.log(POINTS))

    def cell(state: Any, _: Any) -> Any:
        _, g = state
        f = even - torch.logsumexp(cool + g, 1)
        return (f, even - torch.logsumexp(cool + f.unsqueeze(1), 0)), None

    start = torch.zeros(POINTS)
    (f, g), _ = scan(torch, cell, (start, start), length=ROUNDS)
    return (torch.exp(cool + f.unsqueeze(1) + g) * cost).sum()


def transport_jax(jax: Any, p: Any, c: Any, draw: Any, x: Any) -> Any:
    jnp = jax.numpy
    logsumexp = jax.scipy.special.logsumexp
    h = jax.nn.relu(draw @ p["w0"].T + p["w0_bias"])
    h = jax.nn.relu(h @ p["w1"].T + p["w1_bias"])
    y = h @ p["w2"].T + p["w2_bias"]
    cost = (y * y).sum(-1)[:, None] + (x * x).sum(-1) - 2 * y @ x.T
    cool = -cost / BLUR
    even = -float(np.log(POINTS))

    def cell(state: Any, _: Any) -> Any:
        _, g = state
        f = even - logsumexp(cool + g, 1)
        return (f, even - logsumexp(cool + f[:, None], 0)), None

    start = jnp.zeros(POINTS)
    (f, g), _ = jax.lax.scan(cell, (start, start), None, ROUNDS)
    return (jnp.exp(cool + f[:, None] + g) * cost).sum()


workload(
    "transport", "a generator 8-64-64-8 by Sinkhorn's divergence of 256 samples: 25 rounds of logarithms of sums both ways",
    points, transport, transport_jax, group=3, inputs=("draw", "x"),
)  # fmt: skip

PLANTS, STATE, CONTROL, HORIZON, CONTEXT, UNITS = 64, 6, 3, 20, 8, 64


def plants() -> Arrays:
    rng = np.random.default_rng(0)
    data = {
        "context": rng.standard_normal((4, PLANTS, CONTEXT)), "start": rng.standard_normal((4, PLANTS, STATE)),
        "wanted": rng.normal(0, 0.3, (4, HORIZON, PLANTS, CONTROL)), "turn": 0.9 * np.eye(STATE),
        "push": rng.normal(0, 0.4, (STATE, CONTROL)), "care": np.zeros(STATE), "effort": np.zeros(CONTROL),
    }  # fmt: skip
    return {name: value.astype(np.float32) for name, value in data.items()} | weights(
        rng, w0=(UNITS, CONTEXT), w0_bias=(UNITS,), turns=(STATE * STATE, UNITS), turns_bias=(STATE * STATE,),
        pushes=(STATE * CONTROL, UNITS), pushes_bias=(STATE * CONTROL,),
    )  # fmt: skip


def regulator(torch: Any, p: Any, c: Any, context: Any, start: Any, wanted: Any) -> Any:
    F = torch.nn.functional
    h = torch.tanh(F.linear(context, p["w0"], p["w0_bias"]))
    turn = p["turn"] + 0.1 * F.linear(h, p["turns"], p["turns_bias"]).view(PLANTS, STATE, STATE)
    push = p["push"] + 0.1 * F.linear(h, p["pushes"], p["pushes_bias"]).view(PLANTS, STATE, CONTROL)
    care, effort = torch.diag(torch.exp(p["care"])), torch.diag(torch.exp(p["effort"]))

    def backward(worth: Any, _: Any) -> Any:
        pushed = push.transpose(1, 2) @ worth
        factor = torch.linalg.cholesky(effort + pushed @ push)
        gain = torch.cholesky_solve(pushed @ turn, factor)
        worth = care + turn.transpose(1, 2) @ worth @ (turn - push @ gain)
        return 0.5 * (worth + worth.transpose(1, 2)), gain

    _, gains = scan(torch, backward, care.expand(PLANTS, STATE, STATE), length=HORIZON)

    def forward(state: Any, x: Any) -> Any:
        control = -(x[0] @ state.unsqueeze(-1))
        state = (turn @ state.unsqueeze(-1) + push @ control).squeeze(-1)
        return state, control.squeeze(-1)

    _, controls = scan(torch, forward, start, (gains.flip(0),))
    return F.mse_loss(controls, wanted)


def regulator_jax(jax: Any, p: Any, c: Any, context: Any, start: Any, wanted: Any) -> Any:
    jnp = jax.numpy
    h = jnp.tanh(context @ p["w0"].T + p["w0_bias"])
    turn = p["turn"] + 0.1 * (h @ p["turns"].T + p["turns_bias"]).reshape(PLANTS, STATE, STATE)
    push = p["push"] + 0.1 * (h @ p["pushes"].T + p["pushes_bias"]).reshape(PLANTS, STATE, CONTROL)
    care, effort = jnp.diag(jnp.exp(p["care"])), jnp.diag(jnp.exp(p["effort"]))

    def backward(worth: Any, _: Any) -> Any:
        pushed = push.swapaxes(1, 2) @ worth
        factor = jnp.linalg.cholesky(effort + pushed @ push)
        gain = jax.scipy.linalg.cho_solve((factor, True), pushed @ turn)
        worth = care + turn.swapaxes(1, 2) @ worth @ (turn - push @ gain)
        return 0.5 * (worth + worth.swapaxes(1, 2)), gain

    _, gains = jax.lax.scan(backward, jnp.broadcast_to(care, (PLANTS, STATE, STATE)), None, HORIZON)

    def forward(state: Any, gain: Any) -> Any:
        control = -(gain @ state[..., None])
        return (turn @ state[..., None] + push @ control)[..., 0], control[..., 0]

    _, controls = jax.lax.scan(forward, start, gains, reverse=True)
    return ((controls[::-1] - wanted) ** 2).mean()


workload(
    "regulator", "64 linear-quadratic regulators of 6 states and 3 controls over 20 times, their models from networks", plants,
    regulator, regulator_jax, group=3, inputs=("context", "start", "wanted"),
)  # fmt: skip
