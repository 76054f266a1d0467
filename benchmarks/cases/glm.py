"""Log posterior of a Bayesian logistic model and its gradient, n = 500, d = 20, float64; a fresh vector each call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frameworks import (
    JAX,
    OURS,
    batches,
    jax_for,
    pytensor_function,
    session,
    session_variants,
    torch_compiled_value_and_gradient,
    torch_for,
    torch_value_and_gradient,
    torch_variants,
    value_and_gradient,
    values_of,
)
from ..registry import Arrays, Case, Job, add_cases, implements


def arrays(rows: int = 500, columns: int = 20) -> Arrays:
    """X (rows, columns), y (rows,) of 0 and 1, beta (64, columns): the vectors that are passed one after the other."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    y = (X @ rng.standard_normal(columns) + rng.logistic(size=rows) > 0).astype(np.float64)
    return {"X": X, "y": y, "beta": rng.standard_normal((64, columns)) / 2}


CASES = add_cases(Case("glm", "Bayesian logistic GLM, log posterior and gradient, n=500, d=20, float64", arrays, target=2.5))
"""log p = sum(y z - log(1 + exp z)) - |beta|^2 / 2 with z = X beta: a normal prior."""


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    X, y = sg.from_numpy(data["X"]), sg.from_numpy(data["y"])

    def logp_of(beta: Any) -> Any:
        z = X @ beta
        return (y * z - sg.softplus(z)).sum() - 0.5 * (beta * beta).sum()

    return Job(values_of(value_and_gradient(logp_of, backend), batches(data, "beta")))


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    graph = sg.Graph()
    with graph.as_default():
        beta = sg.placeholder("float64", (data["X"].shape[1],))
        X, y = sg.from_numpy(data["X"]), sg.from_numpy(data["y"])
        z = X @ beta
        logp = sg.sum(y * z - sg.softplus(z)) - 0.5 * sg.sum(beta * beta)
        fetches = [logp, *sg.gradients(logp, [beta])]
    return Job(values_of(session(graph, fetches, [beta], variant)[1], batches(data, "beta")))


@implements(CASES, "jax", variants=JAX)
def jax(data: Arrays, backend: str, variant: str) -> Job:
    jax, jnp = jax_for(variant, float64=True)
    X, y = jnp.asarray(data["X"]), jnp.asarray(data["y"])

    def logp_of(beta: Any) -> Any:
        z = X @ beta
        return jnp.sum(y * z - jax.nn.softplus(z)) - 0.5 * (beta @ beta)

    return Job(values_of(jax.jit(jax.value_and_grad(logp_of)), batches(data, "beta")))


def torch_logp(torch: Any, data: Arrays) -> Any:
    X, y = torch.from_numpy(data["X"]), torch.from_numpy(data["y"])
    loss_of = torch.nn.functional.binary_cross_entropy_with_logits
    return lambda beta: -loss_of(X @ beta, y, reduction="sum") - 0.5 * (beta @ beta)


@implements(CASES, "torch", variants=torch_variants)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    logp_of = torch_logp(torch_for(variant), data)
    return Job(values_of(torch_value_and_gradient(logp_of), batches(data, "beta")))


@implements(CASES, "torch.compile", variants=torch_variants)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    logp_of = torch_logp(torch_for(variant), data)
    return Job(values_of(torch_compiled_value_and_gradient(logp_of), batches(data, "beta")))


@implements(CASES, "pytensor")
def pytensor(data: Arrays, backend: str, variant: str) -> Job:
    import pytensor
    import pytensor.tensor as pt

    X, y = pytensor.shared(data["X"], borrow=True), pytensor.shared(data["y"], borrow=True)
    beta = pt.vector("beta", dtype="float64")
    z = X @ beta
    logp = (y * z - pt.softplus(z)).sum() - 0.5 * (beta * beta).sum()
    return Job(values_of(pytensor_function([beta], [logp, pt.grad(logp, beta)]), batches(data, "beta")))


@implements(CASES, "numpy")
def by_hand(data: Arrays, backend: str, variant: str) -> Job:
    X, y = data["X"], data["y"]

    def call(beta: Any) -> Any:
        z = X @ beta
        e = np.exp(-np.abs(z))
        logp = y @ z - (np.log1p(e) + np.maximum(z, 0)).sum() - 0.5 * (beta @ beta)
        p = np.where(z >= 0, 1.0, e)
        p /= 1 + e
        return logp, (y - p) @ X - beta

    return Job(values_of(call, batches(data, "beta")))
