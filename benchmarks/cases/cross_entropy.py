"""Softmax cross-entropy of logits and labels: the loss and its gradient for the logits, float32.

Arrays go in, a float and an array come out at every step.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..frameworks import (
    JAX,
    OURS,
    jax_for,
    mode,
    pytensor_function,
    session,
    session_variants,
    torch_compiled,
    torch_for,
    torch_variants,
)
from ..registry import Arrays, Case, Job, add_cases, implements


def arrays(rows: int, classes: int) -> Arrays:
    """z (rows, classes), labels (rows,) int32"""
    rng = np.random.default_rng(0)
    z = 2 * rng.standard_normal((rows, classes), np.float32)
    return {"z": z, "labels": rng.integers(0, classes, rows).astype(np.int32)}


CASES = add_cases(
    *(
        Case(
            f"cross-entropy-{rows}x{classes}",
            f"softmax cross-entropy, loss and gradient for logits {rows}x{classes}, float32",
            partial(arrays, rows, classes),
            steps=3,
            large=rows * classes >= 1_000_000,
            traffic=8 * rows * classes,
        )
        for rows, classes in ((64, 10), (1024, 1000), (256, 32000))
    )
)


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    def function(z: Any, labels: Any) -> Any:
        z.requires_grad_()
        loss = F.cross_entropy(z, labels)
        return loss, sg.grad(loss, z)[0]

    call, z, labels = mode(function, backend), data["z"], data["labels"]

    def step() -> Any:
        loss, dz = call(z, labels)
        return float(loss), dz.numpy()

    return Job(step)


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    graph = sg.Graph()
    with graph.as_default():
        z, labels = sg.placeholder("float32", (None, data["z"].shape[1])), sg.placeholder("int32", (None,))
        loss = F.cross_entropy(z, labels)
        fetches = [loss, *sg.gradients(loss, [z])]
    _, step = session(graph, fetches, [z, labels], variant)
    return Job(lambda: step(data["z"], data["labels"]))


@implements(CASES, "jax", variants=(*JAX, "sync, one-hot", "sync, placed", "sync, placed, one-hot"))
def jax(data: Arrays, backend: str, variant: str) -> Job:
    jax, jnp = jax_for(variant)

    def loss_of(z: Any, labels: Any) -> Any:
        if "one-hot" in variant:
            picked = jnp.sum(jnp.where(labels[:, None] == jnp.arange(z.shape[1]), z, 0), axis=1)
        else:
            picked = jnp.take_along_axis(z, labels[:, None], axis=1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(z, axis=1) - picked)

    call = jax.jit(jax.value_and_grad(loss_of))
    inputs = [jnp.asarray(v) if "placed" in variant else v for v in (data["z"], data["labels"])]

    def step() -> Any:
        loss, dz = call(*inputs)
        return float(loss), np.asarray(dz)

    return Job(step)


@implements(CASES, "torch", variants=torch_variants)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    labels = torch.from_numpy(data["labels"]).long()

    def step() -> Any:
        z = torch.from_numpy(data["z"]).requires_grad_()
        loss = torch.nn.functional.cross_entropy(z, labels)
        (dz,) = torch.autograd.grad(loss, z)
        return loss.item(), dz.numpy()

    return Job(step)


@implements(CASES, "torch.compile", variants=torch_variants)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    labels = torch.from_numpy(data["labels"]).long()
    call = torch_compiled(torch.func.grad_and_value(torch.nn.functional.cross_entropy))

    def step() -> Any:
        dz, loss = call(torch.from_numpy(data["z"]), labels)
        return loss.item(), dz.numpy()

    return Job(step)


@implements(CASES, "pytensor")
def pytensor(data: Arrays, backend: str, variant: str) -> Job:
    import pytensor.tensor as pt

    z, labels = pt.matrix("z", dtype="float32"), pt.vector("labels", dtype="int32")
    loss = -pt.mean(pt.special.log_softmax(z, axis=1)[pt.arange(labels.shape[0]), labels])
    call = pytensor_function([z, labels], [loss, pt.grad(loss, z)])

    def step() -> Any:
        loss, dz = call(data["z"], data["labels"])
        return float(loss), dz

    return Job(step)


@implements(CASES, "numpy")
def by_hand(data: Arrays, backend: str, variant: str) -> Job:
    z, labels = data["z"], data["labels"]
    rows = np.arange(len(labels))

    def step() -> Any:
        p = z - z.max(1, keepdims=True)
        picked = p[rows, labels]
        np.exp(p, out=p)
        total = p.sum(1, keepdims=True)
        loss = float((np.log(total[:, 0]) - picked).mean())
        p /= total * np.float32(len(rows))
        p[rows, labels] -= np.float32(1 / len(rows))
        return loss, p

    return Job(step)
