"""Probabilistic models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import scan, weights, workload

POINTS, DIM, COMPONENTS = 2000, 8, 12


def clusters() -> Arrays:
    rng = np.random.default_rng(0)
    means = rng.normal(0, 2, (COMPONENTS, DIM))
    x = means[rng.integers(0, COMPONENTS, (4, POINTS))] + rng.normal(0, 0.7, (4, POINTS, DIM))
    p = {"logits": np.zeros(COMPONENTS), "means": means + rng.normal(0, 0.3, means.shape)}
    p["factors"] = 0.1 * rng.normal(0, 1, (COMPONENTS, DIM, DIM))
    return {name: value.astype(np.float32) for name, value in {"x": x, **p}.items()}


def full_covariances(torch: Any, p: Any, c: Any, x: Any) -> Any:
    F = torch.nn.functional
    diagonal = F.softplus(torch.diagonal(p["factors"], dim1=-2, dim2=-1)) + 1e-3
    factors = torch.tril(p["factors"], -1) + torch.diag_embed(diagonal)
    density = torch.distributions.MultivariateNormal(p["means"], scale_tril=factors, validate_args=False)
    joint = density.log_prob(x.unsqueeze(1)) + torch.log_softmax(p["logits"], 0)
    return -torch.logsumexp(joint, 1).mean()


def full_covariances_jax(jax: Any, p: Any, c: Any, x: Any) -> Any:
    jnp = jax.numpy
    diagonal = jax.nn.softplus(jnp.diagonal(p["factors"], axis1=-2, axis2=-1)) + 1e-3
    factors = jnp.tril(p["factors"], -1) + jax.vmap(jnp.diag)(diagonal)

    def density(mean: Any, factor: Any, diagonal: Any) -> Any:
        z = jax.scipy.linalg.solve_triangular(factor, (x - mean).T, lower=True)
        return -0.5 * (z * z).sum(0) - jnp.log(diagonal).sum() - 0.5 * DIM * math.log(2 * math.pi)

    joint = jax.vmap(density)(p["means"], factors, diagonal) + jax.nn.log_softmax(p["logits"])[:, None]
    return -jax.nn.logsumexp(joint, 0).mean()


workload(
    "clusters", "mixture of 12 Gaussians with full covariances in 8 dimensions, 2000 points", clusters, full_covariances,
    full_covariances_jax, group=1, inputs=("x",), rate=1e-2,
)  # fmt: skip

SERIES, TIMES, STATE, SEEN = 32, 50, 6, 3


def tracks() -> Arrays:
    rng = np.random.default_rng(0)
    seen = rng.normal(0, 0.3, (4, TIMES, SERIES, SEEN)).cumsum(1)
    turn = np.eye(STATE) * 0.95 + rng.normal(0, 0.05, (STATE, STATE))
    p = {
        "turn": turn, "view": rng.normal(0, 0.5, (SEEN, STATE)), "moved": np.full(STATE, -2.0), "blurred": np.full(SEEN, -2.0),
        "start": rng.normal(0, 0.1, STATE), "spread": np.zeros(STATE),
    }  # fmt: skip
    data = {"seen": seen, "present": rng.random((4, TIMES, SERIES)) > 0.1, **p}
    return {name: value.astype(np.float32) for name, value in data.items()}


def kalman_filter(torch: Any, p: Any, c: Any, seen: Any, present: Any) -> Any:
    turn, view = p["turn"], p["view"]
    moved, blurred = torch.diag(torch.exp(p["moved"])), torch.diag(torch.exp(p["blurred"]))

    def cell(state: Any, x: Any) -> Any:
        mean, spread = state
        y, there = x
        mean, spread = mean @ turn.T, turn @ spread @ turn.T + moved
        seen = view @ spread
        factor = torch.linalg.cholesky(seen @ view.T + blurred)
        error = (y - mean @ view.T).unsqueeze(-1)
        whitened = torch.linalg.solve_triangular(factor, error, upper=False).squeeze(-1)
        density = -0.5 * (whitened * whitened).sum(-1) - torch.log(torch.diagonal(factor, dim1=-2, dim2=-1)).sum(-1)
        gain = torch.cholesky_solve(seen, factor).transpose(1, 2)
        mean = mean + there.unsqueeze(-1) * (gain @ error).squeeze(-1)
        spread = spread - there[:, None, None] * (gain @ seen)
        return (mean, spread), there * density

    start = p["start"].expand(SERIES, STATE), torch.diag(torch.exp(p["spread"])).expand(SERIES, STATE, STATE)
    _, density = scan(torch, cell, start, (seen, present))
    return -density.mean()


def kalman_filter_jax(jax: Any, p: Any, c: Any, seen: Any, present: Any) -> Any:
    jnp, linalg = jax.numpy, jax.scipy.linalg
    turn, view = p["turn"], p["view"]
    moved, blurred = jnp.diag(jnp.exp(p["moved"])), jnp.diag(jnp.exp(p["blurred"]))

    def cell(state: Any, x: Any) -> Any:
        mean, spread = state
        y, there = x
        mean, spread = mean @ turn.T, turn @ spread @ turn.T + moved
        seen = view @ spread
        factor = jnp.linalg.cholesky(seen @ view.T + blurred)
        error = (y - mean @ view.T)[..., None]
        whitened = linalg.solve_triangular(factor, error, lower=True)[..., 0]
        density = -0.5 * (whitened * whitened).sum(-1) - jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
        gain = linalg.cho_solve((factor, True), seen).swapaxes(1, 2)
        mean = mean + there[:, None] * (gain @ error)[..., 0]
        spread = spread - there[:, None, None] * (gain @ seen)
        return (mean, spread), there * density

    spread = jnp.diag(jnp.exp(p["spread"]))
    start = jnp.broadcast_to(p["start"], (SERIES, STATE)), jnp.broadcast_to(spread, (SERIES, STATE, STATE))
    _, density = jax.lax.scan(cell, start, (seen, present))
    return -density.mean()


workload(
    "tracking", "Kalman filters of 32 series over 50 times, state 6, observations of 3, some missing: their likelihood", tracks,
    kalman_filter, kalman_filter_jax, group=2, inputs=("seen", "present"), rate=1e-2,
)  # fmt: skip

OBSERVED, FEATURES = 384, 6


def observed() -> Arrays:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (4, OBSERVED, FEATURES))
    y = np.sin(x[..., 0] * 2) * x[..., 1] + 0.5 * x[..., 2] + 0.2 * rng.standard_normal((4, OBSERVED))
    p = {"length": np.full(FEATURES, 0.3), "height": np.zeros(1), "noise": np.full(1, -1.5), "level": np.full(1, 0.1)}
    return {name: value.astype(np.float32) for name, value in {"x": x, "y": y, **p}.items()}


def gaussian_process(torch: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    z = x * torch.exp(-p["length"])
    length = (z * z).sum(-1)
    distance = torch.clamp(length.unsqueeze(1) + length - 2 * z @ z.T, min=0)
    covariance = torch.exp(p["height"] - 0.5 * distance) + torch.exp(p["noise"]) * torch.eye(OBSERVED)
    factor = torch.linalg.cholesky(covariance)
    whitened = torch.linalg.solve_triangular(factor, (y - p["level"]).unsqueeze(1), upper=False)
    return (0.5 * (whitened * whitened).sum() + torch.log(torch.diagonal(factor)).sum()) / OBSERVED


def gaussian_process_jax(jax: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    jnp = jax.numpy
    z = x * jnp.exp(-p["length"])
    length = (z * z).sum(-1)
    distance = jnp.maximum(length[:, None] + length - 2 * z @ z.T, 0)
    covariance = jnp.exp(p["height"] - 0.5 * distance) + jnp.exp(p["noise"]) * jnp.eye(OBSERVED)
    factor = jnp.linalg.cholesky(covariance)
    whitened = jax.scipy.linalg.solve_triangular(factor, y - p["level"], lower=True)
    return (0.5 * (whitened * whitened).sum() + jnp.log(jnp.diagonal(factor)).sum()) / OBSERVED


workload(
    "process", "marginal likelihood of a Gaussian process on 384 points of 6 features, a length for each", observed,
    gaussian_process, gaussian_process_jax, group=2, inputs=("x", "y"), rate=1e-2,
)  # fmt: skip

SAMPLES, WIDE, HALF, HIDDEN, COUPLINGS = 512, 16, 8, 64, 6


def samples() -> Arrays:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, SAMPLES, WIDE))
    x[..., HALF:] = np.tanh(x[..., :HALF]) + 0.3 * x[..., HALF:]
    p: Arrays = {}
    for i in range(COUPLINGS):
        shapes = {"a": (HIDDEN, HALF), "b": (HIDDEN, HIDDEN), "c": (2 * HALF, HIDDEN)}
        for name, shape in shapes.items():
            p |= weights(rng, **{f"{name}{i}": shape, f"{name}{i}_bias": shape[:1]})
        p[f"bound{i}"] = np.full(HALF, 0.5, np.float32)
    return {"x": x.astype(np.float32)} | p


def coupling_flow(torch: Any, p: Any, c: Any, x: Any) -> Any:
    F = torch.nn.functional
    kept, moved = x[:, :HALF], x[:, HALF:]
    volume: Any = 0
    for i in range(COUPLINGS):
        h = torch.relu(F.linear(kept, p[f"a{i}"], p[f"a{i}_bias"]))
        h = torch.relu(F.linear(h, p[f"b{i}"], p[f"b{i}_bias"]))
        scale, shift = F.linear(h, p[f"c{i}"], p[f"c{i}_bias"]).chunk(2, 1)
        scale = p[f"bound{i}"] * torch.tanh(scale)
        kept, moved = moved * torch.exp(scale) + shift, kept
        volume = volume + scale.sum(1)
    density = -0.5 * (kept * kept).sum(1) - 0.5 * (moved * moved).sum(1) - HALF * math.log(2 * math.pi)
    return -(density + volume).mean()


def coupling_flow_jax(jax: Any, p: Any, c: Any, x: Any) -> Any:
    jnp = jax.numpy
    kept, moved = x[:, :HALF], x[:, HALF:]
    volume: Any = 0
    for i in range(COUPLINGS):
        h = jax.nn.relu(kept @ p[f"a{i}"].T + p[f"a{i}_bias"])
        h = jax.nn.relu(h @ p[f"b{i}"].T + p[f"b{i}_bias"])
        scale, shift = jnp.split(h @ p[f"c{i}"].T + p[f"c{i}_bias"], 2, 1)
        scale = p[f"bound{i}"] * jnp.tanh(scale)
        kept, moved = moved * jnp.exp(scale) + shift, kept
        volume = volume + scale.sum(1)
    density = -0.5 * (kept * kept).sum(1) - 0.5 * (moved * moved).sum(1) - HALF * math.log(2 * math.pi)
    return -(density + volume).mean()


workload(
    "flow", "RealNVP: 6 affine couplings of 16 variables by networks 8-64-64-16, 512 samples", samples, coupling_flow,
    coupling_flow_jax, group=2, inputs=("x",),
)  # fmt: skip
