"""Training steps in each framework: ours, PyTorch's, JAX's, PyTensor's, and NumPy's by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .frameworks import jax_for, mode, pytensor_function, session, torch_compiled
from .registry import Arrays, Job

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


def our_training(
    parameters: Mapping[str, Any], optimizer: Any, loss_of: Callable[..., Any], batch: Callable[[], Any], backend: str
) -> Job:
    """A step of ours on the next batch, by the loss of its tensors. parameters: what the step changes, by name."""

    def train(*inputs: Any) -> Any:
        loss = loss_of(*inputs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def state() -> Arrays:
        return {name: p.detach().numpy() for name, p in parameters.items()}

    step = mode(train, backend)
    return Job(lambda: float(step(*batch())), state, step if backend == "compiled" else None)


def session_training(
    graph: Any, loss: Any, train: Any, feeds: list[Any], variables: Mapping[str, Any], batch: Callable[[], Any], variant: str
) -> Job:
    """A step of a session on the next batch. variables: what the step changes, by name."""
    sess, step = session(graph, [loss, train], feeds, variant)
    return Job(lambda: float(step(*batch())[0]), lambda: sess.run(variables))


def variables_of(graph: Any, model: Any) -> dict[str, Any]:
    """The variables of the graph that stand for the parameters of a module."""
    return {name: graph.variable_of[graph.standing_for(p)] for name, p in model.named_parameters()}


def torch_training(parameters: Mapping[str, Any], optimizer: Any, loss_of: Callable[..., Any], batch: Callable[[], Any]) -> Job:
    """A step of PyTorch's on the next batch."""

    def step() -> float:
        loss = loss_of(*batch())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return Job(step, lambda: {name: p.detach().numpy() for name, p in parameters.items()})


def torch_compiled_training(parameters: Mapping[str, Any], train: Callable[..., Any], batch: Callable[[], Any]) -> Job:
    """Steps in one graph of torch.compile: train(*batch) -> loss, which changes `parameters` in place."""
    import torch

    compiled = torch_compiled(train)

    def step() -> float:
        with torch.no_grad():
            return compiled(*batch()).item()

    return Job(step, lambda: {name: p.numpy() for name, p in parameters.items()})


def torch_compiled_adam(parameters: dict[str, Any], loss_of: Callable[..., Any], rate: float, batch: Callable[[], Any]) -> Job:
    """A training step in one graph of torch.compile, the optimizer included; it changes `parameters` in place.

    loss_of(parameters, *batch). All moments lie in one vector each.
    """
    import torch

    m = {name: torch.zeros_like(p) for name, p in parameters.items()}
    v = {name: torch.zeros_like(p) for name, p in parameters.items()}
    t = torch.zeros(())
    differentiated = torch.func.grad_and_value(loss_of)

    def train(*batch: Any) -> Any:
        grads, loss = differentiated(parameters, *batch)
        t.add_(1)
        size = rate / (1 - BETA1**t)
        scale = 1 / (1 - BETA2**t).sqrt()
        for name, p in parameters.items():
            g = grads[name]
            m[name].mul_(BETA1).add_(g * (1 - BETA1))
            v[name].mul_(BETA2).add_(g * g * (1 - BETA2))
            p.sub_(size * m[name] / (v[name].sqrt() * scale + EPSILON))
        return loss

    return torch_compiled_training(parameters, train, batch)


def jax_steps(
    update: Callable[..., Any], state: Any, batch: Callable[[], Any], parameters: Callable[[Any], Any] = lambda state: state
) -> Job:
    """Steps of JAX's: update(state, *batch) -> (state, loss). parameters(state): those in it, by name."""

    def step() -> float:
        nonlocal state
        state, loss = update(state, *batch())
        return float(loss)

    return Job(step, lambda: parameters(state))


def jax_training(
    data: Arrays, names: tuple[str, ...], loss_of: Callable[..., Any], rate: float, batch: Callable[[], Any], variant: str
) -> Job:
    """Adam in JAX, the state donated. loss_of(parameters, *batch), parameters by name.

    All parameters lie in one vector, as a call takes less with fewer buffers to pass; variants with "tree" keep them
    apart, as large products take less without the cuts.
    """
    jax, jnp = jax_for(variant)
    shapes, ends = [data[n].shape for n in names], np.cumsum([data[n].size for n in names])
    tree = "tree" in variant

    def parts(w: Any) -> Any:
        if tree:
            return w
        pieces = zip(names, jnp.split(w, ends[:-1]), shapes, strict=True)
        return {name: piece.reshape(shape) for name, piece, shape in pieces}

    def update(state: Any, *batch: Any) -> Any:
        w, m, v, t = state
        loss, g = jax.value_and_grad(lambda w: loss_of(parts(w), *batch))(w)
        t = t + 1
        m = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, g)
        v = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, g)
        size = rate / -jnp.expm1(t * math.log(BETA1))
        scale = 1 / jnp.sqrt(-jnp.expm1(t * math.log(BETA2)))
        w = jax.tree.map(lambda w, m, v: w - size * m / (jnp.sqrt(v) * scale + EPSILON), w, m, v)
        return (w, m, v, t), loss

    jitted = jax.jit(update, donate_argnums=0)
    first: Any = {n: jnp.array(data[n]) for n in names}
    if not tree:
        first = jnp.concatenate([p.ravel() for p in first.values()])
    state: Any = (first, jax.tree.map(jnp.zeros_like, first), jax.tree.map(jnp.zeros_like, first), jnp.float32(0))
    return jax_steps(jitted, state, batch, lambda state: parts(state[0]))


def pytensor_training(
    data: Arrays, names: tuple[str, ...], inputs: list[Any], loss_of: Callable[..., Any], rate: float,
    batch: Callable[[], Any],
) -> Job:  # fmt: skip
    """Adam in PyTensor: parameters and moments are shared variables. loss_of(parameters, *inputs), parameters by name."""
    import pytensor
    import pytensor.tensor as pt

    def scalar(value: float) -> Any:
        return pt.constant(value, dtype="float32")

    w = {name: pytensor.shared(data[name].copy(), name=name) for name in names}
    loss = loss_of(w, *inputs)
    t = pytensor.shared(np.zeros((), np.float32))
    updates = {t: t + scalar(1)}
    size = scalar(rate) / -pt.expm1(updates[t] * scalar(math.log(BETA1)))
    scale = scalar(1) / pt.sqrt(-pt.expm1(updates[t] * scalar(math.log(BETA2))))
    for p, g in zip(w.values(), pt.grad(loss, list(w.values())), strict=True):
        m, v = (pytensor.shared(np.zeros_like(p.get_value())) for _ in range(2))
        updates[m] = scalar(BETA1) * m + scalar(1 - BETA1) * g
        updates[v] = scalar(BETA2) * v + scalar(1 - BETA2) * g * g
        updates[p] = p - size * updates[m] / (pt.sqrt(updates[v]) * scale + scalar(EPSILON))
    step = pytensor_function(inputs, loss, updates=updates)
    return Job(lambda: float(step(*batch())), lambda: {name: p.get_value() for name, p in w.items()})


def numpy_cross_entropy(z: np.ndarray, y: np.ndarray, rows: np.ndarray) -> float:
    """The mean cross-entropy of logits and labels; the logits become its gradient. rows: 0, 1, ... of the batch."""
    share = np.float32(1 / len(rows))
    z -= z.max(1, keepdims=True)
    picked = z[rows, y]
    np.exp(z, out=z)
    total = z.sum(1, keepdims=True)
    loss = float((np.log(total[:, 0]) - picked).mean())
    z *= share / total
    z[rows, y] -= share
    return loss


class NumpyAdam:
    """Adam on one vector, without temporaries."""

    def __init__(self, parameters: np.ndarray, rate: float):
        self.parameters, self.rate, self.t = parameters, rate, 0
        self.m, self.v, self.a, self.b = (np.zeros_like(parameters) for _ in range(4))

    def step(self, g: np.ndarray) -> None:
        self.t += 1
        m, v, a, b = self.m, self.v, self.a, self.b
        np.multiply(m, BETA1, out=m)
        np.multiply(g, 1 - BETA1, out=a)
        np.add(m, a, out=m)
        np.multiply(v, BETA2, out=v)
        np.multiply(g, g, out=a)
        np.multiply(a, 1 - BETA2, out=a)
        np.add(v, a, out=v)
        np.sqrt(v, out=b)
        np.multiply(b, 1 / math.sqrt(1 - BETA2**self.t), out=b)
        np.add(b, EPSILON, out=b)
        np.divide(m, b, out=b)
        np.multiply(b, self.rate / (1 - BETA1**self.t), out=b)
        np.subtract(self.parameters, b, out=self.parameters)
