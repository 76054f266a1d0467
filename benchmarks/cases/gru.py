"""A training step of a GRU: 50 steps, batch 32, 64 inputs, 128 hidden; mean squared error of all outputs, SGD, float32."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..frameworks import JAX, OURS, THREADS, batches, jax_batches, jax_for, session_variants, torch_for
from ..registry import Arrays, Case, Job, add_cases, implements
from ..training import jax_steps, our_training, session_training, torch_compiled_training, torch_training, variables_of

RATE, STEPS, INPUTS, HIDDEN = 0.1, 50, 64, 128
SHAPES = {
    "weight_ih_l0": (3 * HIDDEN, INPUTS), "weight_hh_l0": (3 * HIDDEN, HIDDEN), "bias_ih_l0": (3 * HIDDEN,),
    "bias_hh_l0": (3 * HIDDEN,),
}  # fmt: skip
"""PyTorch's names and layouts."""


def sequences(batch: int = 32) -> Arrays:
    """x (4, 50, batch, 64), y (4, 50, batch, 128) a random projection of the inputs, and the parameters."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, STEPS, batch, INPUTS), np.float32)
    y = np.tanh(x @ (rng.standard_normal((INPUTS, HIDDEN), np.float32) / 8))
    bound = 1 / math.sqrt(HIDDEN)
    return {"x": x, "y": y} | {name: rng.uniform(-bound, bound, s).astype(np.float32) for name, s in SHAPES.items()}


CASES = add_cases(Case("gru", "GRU 64-128, 50 steps, batch 32, SGD, float32", sequences, target=1.3))


def our_model(data: Arrays) -> Any:
    import staticgrad as sg

    model = sg.nn.GRU(INPUTS, HIDDEN)
    model.load_state_dict({name: data[name].copy() for name in SHAPES})
    return model


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    model = our_model(data)
    optimizer = sg.optim.SGD(model.parameters(), lr=RATE)

    def loss_of(x: Any, y: Any) -> Any:
        return ((model(x)[0] - y) ** 2).mean()

    return our_training(dict(model.named_parameters()), optimizer, loss_of, batches(data, "x", "y"), backend)


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    model, graph = our_model(data), sg.Graph()
    with graph.as_default():
        x, y = (sg.placeholder("float32", data[name].shape[1:]) for name in "xy")
        loss = sg.mean((model(x)[0] - y) ** 2)
        train = sg.optim.SGD(model.parameters(), lr=RATE).minimize(loss)
    return session_training(graph, loss, train, [x, y], variables_of(graph, model), batches(data, "x", "y"), variant)


@implements(CASES, "jax", variants=(*JAX, "sync, placed"))
def jax(data: Arrays, backend: str, variant: str) -> Job:
    """Products of the inputs before the loop, `lax.scan` over what is left."""
    jax, jnp = jax_for(variant)

    def loss_of(p: Any, x: Any, y: Any) -> Any:
        inputs = x @ p["weight_ih_l0"].T + p["bias_ih_l0"]
        weights = p["weight_hh_l0"].T

        def cell(h: Any, given: Any) -> Any:
            r, z, n = jnp.split(given, 3, axis=1)
            hr, hz, hn = jnp.split(h @ weights + p["bias_hh_l0"], 3, axis=1)
            z = jax.nn.sigmoid(z + hz)
            h = (1 - z) * jnp.tanh(n + jax.nn.sigmoid(r + hr) * hn) + z * h
            return h, h

        zeros = jnp.zeros((x.shape[1], HIDDEN), x.dtype)
        return jnp.mean((jax.lax.scan(cell, zeros, inputs)[1] - y) ** 2)

    def train(p: Any, x: Any, y: Any) -> Any:
        loss, g = jax.value_and_grad(loss_of)(p, x, y)
        return jax.tree.map(lambda p, g: p - RATE * g, p, g), loss

    update = jax.jit(train, donate_argnums=0)
    p = {name: jnp.array(data[name]) for name in SHAPES}
    return jax_steps(update, p, jax_batches(variant, data, "x", "y"))


@implements(CASES, "torch", variants=THREADS)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    model = torch.nn.GRU(INPUTS, HIDDEN)
    model.load_state_dict({name: torch.from_numpy(data[name].copy()) for name in SHAPES})
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, fused=True)

    def loss_of(x: Any, y: Any) -> Any:
        return ((model(x)[0] - y) ** 2).mean()

    batch = batches(data, "x", "y", place=torch.from_numpy)
    return torch_training(dict(model.named_parameters()), optimizer, loss_of, batch)


@implements(CASES, "torch.compile", variants=THREADS)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    """The cell in a loop, which tracing unrolls; products of the inputs before it."""
    torch = torch_for(variant)
    F = torch.nn.functional
    parameters = {name: torch.from_numpy(data[name].copy()) for name in SHAPES}

    def loss_of(p: Any, x: Any, y: Any) -> Any:
        h = torch.zeros(x.shape[1], HIDDEN)
        outputs = []
        for given in F.linear(x, p["weight_ih_l0"], p["bias_ih_l0"]):
            r, z, n = given.chunk(3, 1)
            hr, hz, hn = F.linear(h, p["weight_hh_l0"], p["bias_hh_l0"]).chunk(3, 1)
            z = torch.sigmoid(z + hz)
            h = (1 - z) * torch.tanh(n + torch.sigmoid(r + hr) * hn) + z * h
            outputs.append(h)
        return ((torch.stack(outputs) - y) ** 2).mean()

    differentiated = torch.func.grad_and_value(loss_of)

    def train(x: Any, y: Any) -> Any:
        gradients, loss = differentiated(parameters, x, y)
        for name, p in parameters.items():
            p.sub_(RATE * gradients[name])
        return loss

    batch = batches(data, "x", "y", place=torch.from_numpy)
    return torch_compiled_training(parameters, train, batch)
