"""Logistic regression, 10000x50 float64: full-batch loss and gradient of a fresh weight vector each call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frameworks import (
    JAX,
    OURS,
    THREADS,
    batches,
    jax_for,
    pytensor_function,
    session,
    session_variants,
    torch_compiled_value_and_gradient,
    torch_for,
    torch_value_and_gradient,
    value_and_gradient,
    values_of,
)
from ..registry import Arrays, Case, Job, add_cases, implements


def arrays(rows: int = 10_000, columns: int = 50) -> Arrays:
    """X (rows, columns), y (rows,) of 0 and 1, w (16, columns): the vectors that are passed one after the other."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    y = (X @ rng.standard_normal(columns) + rng.logistic(size=rows) > 0).astype(np.float64)
    return {"X": X, "y": y, "w": rng.standard_normal((16, columns)) / 4}


CASES = add_cases(
    Case(
        "logistic",
        "logistic regression 10000x50, loss and gradient, float64",
        arrays,
        target=2.0,
        traffic=8 * 10_000 * 50,
    )
)


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    X, y = sg.from_numpy(data["X"]), sg.from_numpy(data["y"])

    def loss_of(w: Any) -> Any:
        z = X @ w
        return (sg.softplus(z) - y * z).mean()

    return Job(values_of(value_and_gradient(loss_of, backend), batches(data, "w")))


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    graph = sg.Graph()
    with graph.as_default():
        w = sg.placeholder("float64", (data["X"].shape[1],))
        X, y = sg.from_numpy(data["X"]), sg.from_numpy(data["y"])
        z = X @ w
        loss = sg.mean(sg.softplus(z) - y * z)
        fetches = [loss, *sg.gradients(loss, [w])]
    return Job(values_of(session(graph, fetches, [w], variant)[1], batches(data, "w")))


@implements(CASES, "jax", variants=JAX)
def jax(data: Arrays, backend: str, variant: str) -> Job:
    jax, jnp = jax_for(variant, float64=True)
    X, y = jnp.asarray(data["X"]), jnp.asarray(data["y"])

    def loss_of(w: Any, X: Any, y: Any) -> Any:
        z = X @ w
        return jnp.mean(jax.nn.softplus(z) - y * z)

    call = jax.jit(jax.value_and_grad(loss_of))
    return Job(values_of(lambda w: call(w, X, y), batches(data, "w")))


def torch_loss(torch: Any, data: Arrays) -> Any:
    X, y = torch.from_numpy(data["X"]), torch.from_numpy(data["y"])
    loss_of = torch.nn.functional.binary_cross_entropy_with_logits
    return lambda w: loss_of(X @ w, y)


@implements(CASES, "torch", variants=THREADS)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    loss_of = torch_loss(torch_for(variant), data)
    return Job(values_of(torch_value_and_gradient(loss_of), batches(data, "w")))


@implements(CASES, "torch.compile", variants=THREADS)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    loss_of = torch_loss(torch_for(variant), data)
    return Job(values_of(torch_compiled_value_and_gradient(loss_of), batches(data, "w")))


@implements(CASES, "pytensor")
def pytensor(data: Arrays, backend: str, variant: str) -> Job:
    import pytensor
    import pytensor.tensor as pt

    X, y = pytensor.shared(data["X"], borrow=True), pytensor.shared(data["y"], borrow=True)
    w = pt.vector("w", dtype="float64")
    z = X @ w
    loss = (pt.softplus(z) - y * z).mean()
    return Job(values_of(pytensor_function([w], [loss, pt.grad(loss, w)]), batches(data, "w")))


@implements(CASES, "numpy")
def by_hand(data: Arrays, backend: str, variant: str) -> Job:
    X, y = data["X"], data["y"]
    count = len(y)

    def call(w: Any) -> Any:
        z = X @ w
        e = np.exp(-np.abs(z))
        loss = (np.log1p(e) + np.maximum(z, 0)).sum() - y @ z
        p = np.where(z >= 0, 1.0, e)
        p /= 1 + e
        p -= y
        return loss / count, (p @ X) / count

    return Job(values_of(call, batches(data, "w")))
