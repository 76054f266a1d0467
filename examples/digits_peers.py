"""The digits example's step in PyTorch and JAX, each written in its fastest way on a CPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from digits_report import Trainer

LEARNING_RATE = 1e-3


def pytorch(initial: dict[str, np.ndarray]) -> Trainer:
    """Eager, with the fused Adam; one thread, which is faster than two for matrices as small as these."""
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    model.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in initial.items()})
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, fused=True)

    def step(x: np.ndarray, y: np.ndarray) -> Any:
        loss = torch.nn.functional.cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(y).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def predict(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model(torch.from_numpy(x)).argmax(1).numpy()

    return Trainer(step, predict, lambda: [p.detach().numpy() for p in model.parameters()])


def jax(initial: dict[str, np.ndarray]) -> Trainer:
    """One jitted step: donated state, synchronous dispatch, cross entropy as logsumexp minus the gathered logit."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_cpu_enable_async_dispatch", False)

    def logits(weights: Any, x: Any) -> Any:
        w1, b1, w2, b2 = weights
        return jax.nn.relu(x @ w1.T + b1) @ w2.T + b2

    def loss_of(weights: Any, x: Any, y: Any) -> Any:
        z = logits(weights, x)
        return jnp.mean(jax.nn.logsumexp(z, axis=1) - jnp.take_along_axis(z, y[:, None], axis=1)[:, 0])

    def update(state: Any, x: Any, y: Any) -> Any:
        weights, m, v, t = state
        loss, g = jax.value_and_grad(loss_of)(weights, x, y)
        t = t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        size = LEARNING_RATE / -jnp.expm1(t * math.log(0.9))  # 1 - 0.9**t, without the loss of digits
        scale = 1 / jnp.sqrt(-jnp.expm1(t * math.log(0.999)))
        weights = jax.tree.map(lambda w, m, v: w - size * m / (jnp.sqrt(v) * scale + 1e-8), weights, m, v)
        return (weights, m, v, t), loss

    jitted = jax.jit(update, donate_argnums=0)
    weights = [jnp.asarray(value) for value in initial.values()]
    state: Any = (weights, [jnp.zeros_like(w) for w in weights], [jnp.zeros_like(w) for w in weights], jnp.float32(0))

    def step(x: np.ndarray, y: np.ndarray) -> Any:
        nonlocal state
        state, loss = jitted(state, x, y)
        return loss

    return Trainer(step, lambda x: np.argmax(logits(state[0], x), 1), lambda: [np.asarray(w) for w in state[0]])


PEERS = {"PyTorch": ("torch", pytorch), "JAX": ("jax", jax)}


def installed() -> list[str]:
    """The peers that can be run. The folder `torch` beside this file is no package: its spec has no origin."""
    specs = {name: find_spec(package) for name, (package, _) in PEERS.items()}
    return [name for name, spec in specs.items() if spec is not None and spec.origin is not None]


def load(name: str) -> Callable[[dict[str, np.ndarray]], Trainer]:
    """The peer, with its package imported."""
    package, make = PEERS[name]
    import_module(package)
    return make
