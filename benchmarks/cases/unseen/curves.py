"""Probability: splines as bijections, and processes by inducing points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import weights, workload

SAMPLES, HALF, BINS, HIDDEN, COUPLINGS, BOUND, LEAST = 512, 4, 8, 64, 4, 3.0, 1e-3
PARTS = 3 * BINS - 1


def samples() -> Arrays:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, SAMPLES, 2 * HALF))
    x[..., HALF:] = np.sin(2 * x[..., :HALF]) + 0.3 * x[..., HALF:]
    p: Arrays = {}
    for i in range(COUPLINGS):
        for name, shape in {"a": (HIDDEN, HALF), "b": (HIDDEN, HIDDEN), "c": (HALF * PARTS, HIDDEN)}.items():
            p |= weights(rng, **{f"{name}{i}": shape, f"{name}{i}_bias": shape[:1]})
    return {"x": x.astype(np.float32)} | p


def spline_flow(torch: Any, p: Any, c: Any, x: Any) -> Any:
    F = torch.nn.functional

    def knots(raw: Any) -> Any:
        """Bins' sizes, and where they begin and end."""
        size = LEAST + (1 - LEAST * BINS) * torch.softmax(raw, -1)
        ends = 2 * BOUND * F.pad(torch.cumsum(size, -1), (1, 0)) - BOUND
        return ends[..., 1:] - ends[..., :-1], ends

    def spline(x: Any, raw: Any) -> Any:
        width, left = knots(raw[..., :BINS])
        height, low = knots(raw[..., BINS : 2 * BINS])
        slope = F.pad(LEAST + F.softplus(raw[..., 2 * BINS :]), (1, 1), value=1.0)
        held = torch.clamp(x, -BOUND, BOUND).unsqueeze(-1)
        index = torch.clamp((held >= left[..., 1:-1]).sum(-1, keepdim=True), 0, BINS - 1)
        w, h, a, b, s, t = (
            v.gather(-1, i).squeeze(-1)
            for v, i in ((width, index), (height, index), (left, index), (low, index), (slope, index), (slope, index + 1))
        )
        rise, at = h / w, (held.squeeze(-1) - a) / w
        across = at * (1 - at)
        below = rise + (s + t - 2 * rise) * across
        y = b + h * (rise * at * at + s * across) / below
        top = rise * rise * (t * at * at + 2 * rise * across + s * (1 - at) * (1 - at))
        inside = torch.abs(x) < BOUND
        return torch.where(inside, y, x), torch.where(inside, torch.log(top) - 2 * torch.log(below), 0.0).sum(-1)

    kept, moved = x[:, :HALF], x[:, HALF:]
    volume: Any = 0
    for i in range(COUPLINGS):
        h = torch.relu(F.linear(kept, p[f"a{i}"], p[f"a{i}_bias"]))
        h = torch.relu(F.linear(h, p[f"b{i}"], p[f"b{i}_bias"]))
        moved, more = spline(moved, F.linear(h, p[f"c{i}"], p[f"c{i}_bias"]).view(SAMPLES, HALF, PARTS))
        kept, moved, volume = moved, kept, volume + more
    return (0.5 * (kept * kept + moved * moved).sum(1) + HALF * math.log(2 * math.pi) - volume).mean()


def spline_flow_jax(jax: Any, p: Any, c: Any, x: Any) -> Any:
    jnp = jax.numpy

    def knots(raw: Any) -> Any:
        size = LEAST + (1 - LEAST * BINS) * jax.nn.softmax(raw)
        ends = 2 * BOUND * jnp.pad(jnp.cumsum(size, -1), ((0, 0), (0, 0), (1, 0))) - BOUND
        return ends[..., 1:] - ends[..., :-1], ends

    def spline(x: Any, raw: Any) -> Any:
        width, left = knots(raw[..., :BINS])
        height, low = knots(raw[..., BINS : 2 * BINS])
        slope = LEAST + jax.nn.softplus(raw[..., 2 * BINS :])
        slope = jnp.pad(slope, ((0, 0), (0, 0), (1, 1)), constant_values=1.0)
        held = jnp.clip(x, -BOUND, BOUND)[..., None]
        index = jnp.clip((held >= left[..., 1:-1]).sum(-1, keepdims=True), 0, BINS - 1)
        w, h, a, b, s, t = (
            jnp.take_along_axis(v, i, -1)[..., 0]
            for v, i in ((width, index), (height, index), (left, index), (low, index), (slope, index), (slope, index + 1))
        )
        rise, at = h / w, (held[..., 0] - a) / w
        across = at * (1 - at)
        below = rise + (s + t - 2 * rise) * across
        y = b + h * (rise * at * at + s * across) / below
        top = rise * rise * (t * at * at + 2 * rise * across + s * (1 - at) * (1 - at))
        inside = jnp.abs(x) < BOUND
        return jnp.where(inside, y, x), jnp.where(inside, jnp.log(top) - 2 * jnp.log(below), 0.0).sum(-1)

    kept, moved = x[:, :HALF], x[:, HALF:]
    volume: Any = 0
    for i in range(COUPLINGS):
        h = jax.nn.relu(kept @ p[f"a{i}"].T + p[f"a{i}_bias"])
        h = jax.nn.relu(h @ p[f"b{i}"].T + p[f"b{i}_bias"])
        moved, more = spline(moved, (h @ p[f"c{i}"].T + p[f"c{i}_bias"]).reshape(SAMPLES, HALF, PARTS))
        kept, moved, volume = moved, kept, volume + more
    return (0.5 * (kept * kept + moved * moved).sum(1) + HALF * math.log(2 * math.pi) - volume).mean()


workload(
    "splines", "neural spline flow: 4 couplings of 8 variables by rational splines of 8 bins, networks 4-64-64-92, 512 samples",
    samples, spline_flow, spline_flow_jax, group=3, inputs=("x",),
)  # fmt: skip

SEEN, INDUCING, FEATURES, ALL, JITTER = 256, 96, 8, 10000, 1e-4


def seen() -> Arrays:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (4, SEEN, FEATURES))
    y = (np.sin(2 * x[..., 0]) + x[..., 1] * x[..., 2] + 0.3 * rng.standard_normal((4, SEEN)) > 0) * 2.0 - 1.0
    nodes, share = np.polynomial.hermite.hermgauss(12)
    data = {
        "x": x, "y": y, "nodes": math.sqrt(2) * nodes, "share": share / math.sqrt(math.pi),
        "place": rng.uniform(-2, 2, (INDUCING, FEATURES)), "length": np.full(FEATURES, 0.3), "height": np.full(1, 0.2),
        "mean": rng.normal(0, 0.1, INDUCING), "root": np.eye(INDUCING) + rng.normal(0, 0.01, (INDUCING, INDUCING)),
    }  # fmt: skip
    return {name: value.astype(np.float32) for name, value in data.items()}


def inducing_points(torch: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    F = torch.nn.functional
    scale = torch.exp(-p["length"])

    def kernel(a: Any, b: Any) -> Any:
        distance = (a * a).sum(-1).unsqueeze(1) + (b * b).sum(-1) - 2 * a @ b.T
        return torch.exp(p["height"] - 0.5 * torch.clamp(distance, min=0))

    place, x = p["place"] * scale, x * scale
    factor = torch.linalg.cholesky(kernel(place, place) + JITTER * torch.eye(INDUCING))
    whitened = torch.linalg.solve_triangular(factor, kernel(place, x), upper=False)
    root = torch.tril(p["root"])
    spread = root.T @ whitened
    mean = p["mean"] @ whitened
    variance = torch.exp(p["height"]) - (whitened * whitened).sum(0) + (spread * spread).sum(0)
    value = mean + torch.sqrt(torch.clamp(variance, min=1e-6)) * c["nodes"].unsqueeze(1)
    likelihood = (c["share"].unsqueeze(1) * F.logsigmoid(y * value)).sum()
    apart = 0.5 * ((root * root).sum() + (p["mean"] * p["mean"]).sum() - INDUCING)
    apart = apart - torch.log(torch.abs(torch.diagonal(root))).sum()
    return apart / ALL - likelihood / SEEN


def inducing_points_jax(jax: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    jnp = jax.numpy
    scale = jnp.exp(-p["length"])

    def kernel(a: Any, b: Any) -> Any:
        distance = (a * a).sum(-1)[:, None] + (b * b).sum(-1) - 2 * a @ b.T
        return jnp.exp(p["height"] - 0.5 * jnp.maximum(distance, 0))

    place, x = p["place"] * scale, x * scale
    factor = jnp.linalg.cholesky(kernel(place, place) + JITTER * jnp.eye(INDUCING))
    whitened = jax.scipy.linalg.solve_triangular(factor, kernel(place, x), lower=True)
    root = jnp.tril(p["root"])
    spread = root.T @ whitened
    mean = p["mean"] @ whitened
    variance = jnp.exp(p["height"]) - (whitened * whitened).sum(0) + (spread * spread).sum(0)
    value = mean + jnp.sqrt(jnp.maximum(variance, 1e-6)) * c["nodes"][:, None]
    likelihood = (c["share"][:, None] * jax.nn.log_sigmoid(y * value)).sum()
    apart = 0.5 * ((root * root).sum() + (p["mean"] * p["mean"]).sum() - INDUCING)
    apart = apart - jnp.log(jnp.abs(jnp.diagonal(root))).sum()
    return apart / ALL - likelihood / SEEN


workload(
    "inducing", "classification by a variational Gaussian process: 96 inducing points, 256 rows of 8 features, 12 nodes", seen,
    inducing_points, inducing_points_jax, group=3, inputs=("x", "y"), constants=("nodes", "share"), rate=1e-2,
)  # fmt: skip
