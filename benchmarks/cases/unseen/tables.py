"""Tables: rows of features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import workload

ROWS, FEATURES, TREES, DEPTH = 128, 28, 64, 6


def rows() -> Arrays:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, ROWS, FEATURES), np.float32)
    y = np.tanh(x[..., 0] * x[..., 1]) + 0.5 * x[..., 2]
    codes = np.arange(2**DEPTH)[:, None] >> np.arange(DEPTH) & 1
    return {
        "x": x,
        "y": y.astype(np.float32),
        "codes": np.stack([codes.T, 1 - codes.T], -2).transpose(0, 2, 1).astype(np.float32, order="C"),
        "choice": rng.uniform(0, 1, (TREES, DEPTH, FEATURES)).astype(np.float32),
        "threshold": rng.normal(0, 1, (TREES, DEPTH)).astype(np.float32),
        "temperature": rng.normal(0, 0.3, (TREES, DEPTH)).astype(np.float32),
        "response": rng.normal(0, 1, (TREES, 2**DEPTH)).astype(np.float32) / math.sqrt(TREES),
    }


def oblivious_trees(torch: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    z = torch.sort(p["choice"], dim=-1, descending=True)[0]
    total = z.cumsum(-1)
    support = (torch.arange(1, FEATURES + 1) * z > total - 1).sum(-1, keepdim=True)
    tau = (total.gather(-1, support - 1) - 1) / support
    chosen = torch.clamp(p["choice"] - tau, min=0)
    value = torch.einsum("bf,tdf->btd", x, chosen)
    logits = (value - p["threshold"]) * torch.exp(-p["temperature"])
    bins = torch.clamp(0.5 + 0.5 * torch.stack([-logits, logits], -1), 0, 1)
    matches = torch.einsum("btds,dcs->btdc", bins, c["codes"])
    found = torch.einsum("btc,tc->b", torch.prod(matches, dim=-2), p["response"])
    return torch.nn.functional.mse_loss(found, y)


def oblivious_trees_jax(jax: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    jnp = jax.numpy
    z = -jnp.sort(-p["choice"], axis=-1)
    total = z.cumsum(-1)
    support = (jnp.arange(1, FEATURES + 1) * z > total - 1).sum(-1, keepdims=True)
    tau = (jnp.take_along_axis(total, support - 1, -1) - 1) / support
    chosen = jnp.maximum(p["choice"] - tau, 0)
    value = jnp.einsum("bf,tdf->btd", x, chosen)
    logits = (value - p["threshold"]) * jnp.exp(-p["temperature"])
    bins = jnp.clip(0.5 + 0.5 * jnp.stack([-logits, logits], -1), 0, 1)
    matches = jnp.einsum("btds,dcs->btdc", bins, c["codes"])
    found = jnp.einsum("btc,tc->b", jnp.prod(matches, axis=-2), p["response"])
    return ((found - y) ** 2).mean()


workload(
    "trees", "NODE: 64 oblivious trees of depth 6 over 28 features, chosen by sparsemax, batch 128", rows, oblivious_trees,
    oblivious_trees_jax, group=1, inputs=("x", "y"), constants=("codes",), rate=1e-2,
)  # fmt: skip
