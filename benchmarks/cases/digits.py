"""A training step of a 64-128-10 ReLU network: batch 64 of handwritten digits, cross entropy, Adam, float32."""

from __future__ import annotations

import math
from itertools import cycle
from typing import Any

import numpy as np

from ..registry import Arrays, Case, Job, add_case, implements

BATCH, SIZES, LEARNING_RATE = 64, (64, 128, 10), 1e-3
PARAMETERS = ("0.weight", "0.bias", "2.weight", "2.bias")


def arrays() -> Arrays:
    """x (batches, 64, 64), y (batches, 64), and the parameters in PyTorch's layout (out, in)."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    pixels, labels = load_digits(return_X_y=True)
    order = rng.permutation(len(labels))[: len(labels) // BATCH * BATCH]
    pixels = (pixels - pixels.mean(0)) / (pixels.std(0) + 1e-6)
    result = {
        "x": pixels[order].astype(np.float32).reshape(-1, BATCH, SIZES[0]),
        "y": labels[order].astype(np.int32).reshape(-1, BATCH),
    }
    for name, fan_in, fan_out in (("0", *SIZES[:2]), ("2", *SIZES[1:])):
        bound = 1 / math.sqrt(fan_in)
        result[f"{name}.weight"] = rng.uniform(-bound, bound, (fan_out, fan_in)).astype(np.float32)
        result[f"{name}.bias"] = rng.uniform(-bound, bound, fan_out).astype(np.float32)
    return result


CASE = add_case(Case("digits", "64-128-10 ReLU MLP on digits, batch 64, Adam, float32", arrays))


def parameters(data: Arrays) -> Arrays:
    return {name: data[name].copy() for name in PARAMETERS}


@implements(CASE, "compiled", "eager")
def eager(data: Arrays, backend: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    model = sg.nn.Sequential(sg.nn.Linear(64, 128), sg.nn.ReLU(), sg.nn.Linear(128, 10))
    model.load_state_dict(parameters(data))
    optimizer = sg.optim.Adam(model.parameters(), lr=LEARNING_RATE)

    def train(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    batches = cycle(list(zip(data["x"], data["y"], strict=True)))
    step = sg.compile(train) if backend == "compiled" else train
    return Job(lambda: float(step(*next(batches))), compiled=step if backend == "compiled" else None)


@implements(CASE, "session", "callable")
def session(data: Arrays, backend: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    graph = sg.Graph()
    with graph.as_default():
        x, y = sg.placeholder("float32", (None, 64)), sg.placeholder("int32", (None,))
        w1, b1, w2, b2 = (sg.Variable(value, name=name) for name, value in parameters(data).items())
        loss = F.cross_entropy(sg.relu(x @ w1.T + b1) @ w2.T + b2, y)
        train = sg.optim.Adam(lr=LEARNING_RATE).minimize(loss)
        initialize = sg.global_variables_initializer()
    sess = sg.Session(graph)
    sess.run(initialize)
    batches = cycle(list(zip(data["x"], data["y"], strict=True)))
    if backend == "callable":
        call = sess.make_callable([loss, train], [x, y])
        return Job(lambda: float(call(*next(batches))[0]))

    def step() -> float:
        pixels, labels = next(batches)
        return float(sess.run([loss, train], {x: pixels, y: labels})[0])

    return Job(step)


@implements(CASE, "torch", "torch-2")
def pytorch(data: Arrays, backend: str) -> Job:
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    model.load_state_dict({name: torch.from_numpy(value) for name, value in parameters(data).items()})
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, fused=True)
    cross_entropy = torch.nn.functional.cross_entropy
    labels = torch.from_numpy(data["y"]).long()
    batches = cycle(list(zip(torch.from_numpy(data["x"]), labels, strict=True)))

    def step() -> float:
        x, y = next(batches)
        loss = cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return Job(step, lambda: torch.set_num_threads(2 if backend == "torch-2" else 1))


@implements(CASE, "jax", "jax-device")
def jax(data: Arrays, backend: str) -> Job:
    """All parameters lie in one vector: with fewer buffers to pass, a call takes less than with a tree of arrays."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_cpu_enable_async_dispatch", False)
    values = list(parameters(data).values())
    shapes, ends = [v.shape for v in values], np.cumsum([v.size for v in values])

    def loss_of(vector: Any, x: Any, y: Any) -> Any:
        w1, b1, w2, b2 = (v.reshape(s) for v, s in zip(jnp.split(vector, ends[:-1]), shapes, strict=True))
        z = jax.nn.relu(x @ w1.T + b1) @ w2.T + b2
        return jnp.mean(jax.nn.logsumexp(z, axis=1) - jnp.take_along_axis(z, y[:, None], axis=1)[:, 0])

    def update(state: Any, x: Any, y: Any) -> Any:
        w, m, v, t = state
        loss, g = jax.value_and_grad(loss_of)(w, x, y)
        t = t + 1
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        size = LEARNING_RATE / -jnp.expm1(t * math.log(0.9))
        scale = 1 / jnp.sqrt(-jnp.expm1(t * math.log(0.999)))
        return (w - size * m / (jnp.sqrt(v) * scale + 1e-8), m, v, t), loss

    jitted = jax.jit(update, donate_argnums=0)
    vector = jnp.concatenate([jnp.asarray(v).ravel() for v in values])
    state: Any = (vector, jnp.zeros_like(vector), jnp.zeros_like(vector), jnp.float32(0))
    place = jnp.asarray if backend == "jax-device" else np.asarray
    batches = cycle([(place(x), place(y)) for x, y in zip(data["x"], data["y"], strict=True)])

    def step() -> float:
        nonlocal state
        state, loss = jitted(state, *next(batches))
        return float(loss)

    return Job(step)
