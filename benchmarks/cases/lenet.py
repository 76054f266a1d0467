"""A training step of LeNet: two convolutions 5x5 with ReLU and max pooling, a linear layer; momentum, float32."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..frameworks import JAX, OURS, THREADS, batches, jax_batches, jax_for, labels_long, session_variants, torch_for
from ..registry import Arrays, Case, Job, add_cases, implements
from ..training import jax_steps, our_training, session_training, torch_compiled_training, torch_training, variables_of

RATE, MOMENTUM = 0.02, 0.9
SHAPES = {
    "0.weight": (8, 1, 5, 5), "0.bias": (8,), "3.weight": (16, 8, 5, 5), "3.bias": (16,), "7.weight": (10, 256),
    "7.bias": (10,),
}  # fmt: skip
"""In PyTorch's layout, named by their place in a Sequential."""


def images(batch: int = 64) -> Arrays:
    """x (8, batch, 1, 28, 28) like pixels, y (8, batch) by a linear teacher, and the parameters."""
    rng = np.random.default_rng(0)
    x = np.maximum(rng.standard_normal((8, batch, 1, 28, 28), np.float32), 0)
    y = (x.reshape(8, batch, 784) @ rng.standard_normal((784, 10), np.float32)).argmax(2).astype(np.int32)
    result = {"x": x, "y": y}
    for name, shape in SHAPES.items():
        bound = 1 / math.sqrt(math.prod(SHAPES[name[0] + ".weight"][1:]))
        result[name] = rng.uniform(-bound, bound, shape).astype(np.float32)
    return result


CASES = add_cases(Case("lenet", "LeNet on 28x28 images, batch 64, momentum, float32", images, target=1.2))


def layers(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(256, 10),
    )  # fmt: skip


def our_model(data: Arrays) -> Any:
    import staticgrad as sg

    model = layers(sg.nn)
    model.load_state_dict({name: data[name].copy() for name in SHAPES})
    return model


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    model = our_model(data)
    optimizer = sg.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)

    def loss_of(x: Any, y: Any) -> Any:
        return F.cross_entropy(model(x), y)

    return our_training(dict(model.named_parameters()), optimizer, loss_of, batches(data, "x", "y"), backend)


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    model, graph = our_model(data), sg.Graph()
    with graph.as_default():
        x, y = sg.placeholder("float32", (None, 1, 28, 28)), sg.placeholder("int32", (None,))
        loss = F.cross_entropy(model(x), y)
        train = sg.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM).minimize(loss)
    return session_training(graph, loss, train, [x, y], variables_of(graph, model), batches(data, "x", "y"), variant)


@implements(CASES, "jax", variants=(*JAX, "sync, placed"))
def jax(data: Arrays, backend: str, variant: str) -> Job:
    jax, jnp = jax_for(variant)

    def loss_of(p: Any, x: Any, y: Any) -> Any:
        for name in ("0", "3"):
            x = jax.lax.conv_general_dilated(x, p[name + ".weight"], (1, 1), "VALID")
            x = jax.nn.relu(x + p[name + ".bias"][:, None, None])
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        z = x.reshape(x.shape[0], -1) @ p["7.weight"].T + p["7.bias"]
        return jnp.mean(jax.nn.logsumexp(z, axis=1) - jnp.take_along_axis(z, y[:, None], axis=1)[:, 0])

    @jax.jit
    def update(state: Any, x: Any, y: Any) -> Any:
        p, m = state
        loss, g = jax.value_and_grad(loss_of)(p, x, y)
        m = jax.tree.map(lambda m, g: MOMENTUM * m + g, m, g)
        return (jax.tree.map(lambda p, m: p - RATE * m, p, m), m), loss

    first = {name: jnp.array(data[name]) for name in SHAPES}
    state = first, jax.tree.map(jnp.zeros_like, first)
    return jax_steps(update, state, jax_batches(variant, data, "x", "y"), lambda state: state[0])


@implements(CASES, "torch", variants=THREADS)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    model = layers(torch.nn)
    model.load_state_dict({name: torch.from_numpy(data[name].copy()) for name in SHAPES})
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM, fused=True)

    def loss_of(x: Any, y: Any) -> Any:
        return torch.nn.functional.cross_entropy(model(x), y)

    batch = batches(labels_long(data, "y"), "x", "y", place=torch.from_numpy)
    return torch_training(dict(model.named_parameters()), optimizer, loss_of, batch)


@implements(CASES, "torch.compile", variants=THREADS)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    F = torch.nn.functional
    parameters = {name: torch.from_numpy(data[name].copy()) for name in SHAPES}
    moments = {name: torch.zeros_like(p) for name, p in parameters.items()}

    def loss_of(p: Any, x: Any, y: Any) -> Any:
        for name in ("0", "3"):
            x = F.max_pool2d(F.relu(F.conv2d(x, p[name + ".weight"], p[name + ".bias"])), 2)
        return F.cross_entropy(F.linear(x.flatten(1), p["7.weight"], p["7.bias"]), y)

    differentiated = torch.func.grad_and_value(loss_of)

    def train(x: Any, y: Any) -> Any:
        gradients, loss = differentiated(parameters, x, y)
        for name, p in parameters.items():
            p.sub_(RATE * moments[name].mul_(MOMENTUM).add_(gradients[name]))
        return loss

    batch = batches(labels_long(data, "y"), "x", "y", place=torch.from_numpy)
    return torch_compiled_training(parameters, train, batch)
