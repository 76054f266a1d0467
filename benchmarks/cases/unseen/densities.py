"""Probabilistic models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import workload

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
