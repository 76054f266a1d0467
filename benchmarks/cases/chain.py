"""A chain of 200 tanh layers of width 16, batch 8, float32: a fresh batch in, the loss out, gradients left for all layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frameworks import JAX, OURS, batches, jax_for, mode, session, session_variants, torch_compiled, torch_for, torch_variants
from ..registry import Arrays, Case, Job, add_cases, implements

LAYERS, BATCH, WIDTH = 200, 8, 16


def arrays() -> Arrays:
    """x (16, 8, 16), w (200, 16, 16), b (200, 16)"""
    rng = np.random.default_rng(0)
    w = rng.standard_normal((LAYERS, WIDTH, WIDTH)) / np.sqrt(WIDTH)
    return {
        "x": rng.standard_normal((16, BATCH, WIDTH), np.float32),
        "w": w.astype(np.float32),
        "b": (0.1 * rng.standard_normal((LAYERS, WIDTH))).astype(np.float32),
    }


CASES = add_cases(Case("chain", "chain of 200 tanh layers 16-16, batch 8, forward and backward, float32", arrays, target=2.0))


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    weights = [sg.tensor(w, requires_grad=True) for w in data["w"]]
    biases = [sg.tensor(b, requires_grad=True) for b in data["b"]]

    def run(x: Any) -> Any:
        for p in (*weights, *biases):
            p.grad = None
        h = x
        for w, b in zip(weights, biases, strict=True):
            h = sg.tanh(h @ w + b)
        loss = (h * h).mean()
        loss.backward()
        return loss

    batch = batches(data, "x")
    step = mode(run, backend)
    return Job(lambda: float(step(*batch())), lambda: _gradients([p.grad for p in weights], [p.grad for p in biases]))


def _gradients(dw: Any, db: Any) -> Arrays:
    return {"dw": np.stack([np.asarray(g) for g in dw]), "db": np.stack([np.asarray(g) for g in db])}


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    """Gradients are assigned to variables: a session leaves none behind, and fetches copies."""
    import staticgrad as sg

    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder("float32", (None, WIDTH))
        weights, biases = ([sg.Variable(p.copy()) for p in data[name]] for name in "wb")
        h = x
        for w, b in zip(weights, biases, strict=True):
            h = sg.tanh(h @ w + b)
        loss = sg.mean(h * h)
        gradients = sg.gradients(loss, [*weights, *biases])
        kept = [sg.Variable(np.zeros(g.shape, np.float32), trainable=False) for g in gradients]
        keep = sg.group(*(variable.assign(g) for variable, g in zip(kept, gradients, strict=True)))
    sess, call = session(graph, [loss, keep], [x], variant)
    batch = batches(data, "x")

    def state() -> Arrays:
        values = sess.run(kept)
        return _gradients(values[: len(weights)], values[len(weights) :])

    return Job(lambda: float(call(*batch())[0]), state)


@implements(CASES, "jax", variants=(*JAX, "sync, unrolled by 4", "sync, unrolled"))
def jax(data: Arrays, backend: str, variant: str) -> Job:
    """`lax.scan` over stacked parameters, several layers an iteration, or no loop at all."""
    jax, jnp = jax_for(variant)
    unroll = 4 if variant == "sync, unrolled by 4" else 1

    def layer(h: Any, p: Any) -> Any:
        return jnp.tanh(h @ p[0] + p[1]), None

    def loss_of(p: Any, x: Any) -> Any:
        if variant == "sync, unrolled":
            h = x
            for i in range(len(data["w"])):
                h, _ = layer(h, (p[0][i], p[1][i]))
        else:
            h, _ = jax.lax.scan(layer, x, p, unroll=unroll)
        return jnp.mean(h * h)

    call = jax.jit(jax.value_and_grad(loss_of))
    parameters = jnp.asarray(data["w"]), jnp.asarray(data["b"])
    batch = batches(data, "x")
    last: list[Any] = []

    def step() -> float:
        loss, last[:] = call(parameters, *batch())
        return float(loss)

    return Job(step, lambda: {"dw": np.asarray(last[0]), "db": np.asarray(last[1])})


@implements(CASES, "torch", variants=torch_variants)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    weights, biases = ([torch.tensor(p, requires_grad=True) for p in data[name]] for name in "wb")
    batch = batches(data, "x", place=torch.from_numpy)

    def step() -> float:
        for p in (*weights, *biases):
            p.grad = None
        (h,) = batch()
        for w, b in zip(weights, biases, strict=True):
            h = torch.addmm(b, h, w).tanh()
        loss = (h * h).mean()
        loss.backward()
        return loss.item()

    return Job(step, lambda: _gradients([p.grad for p in weights], [p.grad for p in biases]))


@implements(CASES, "torch.compile", variants=torch_variants)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)

    def loss_of(w: Any, b: Any, x: Any) -> Any:
        h = x
        for i in range(len(data["w"])):
            h = torch.addmm(b[i], h, w[i]).tanh()
        return (h * h).mean()

    call = torch_compiled(torch.func.grad_and_value(loss_of, (0, 1)))
    w, b = torch.from_numpy(data["w"]), torch.from_numpy(data["b"])
    batch = batches(data, "x", place=torch.from_numpy)
    last: list[Any] = []

    def step() -> float:
        last[:], loss = call(w, b, *batch())
        return loss.item()

    return Job(step, lambda: {"dw": last[0].numpy(), "db": last[1].numpy()})
