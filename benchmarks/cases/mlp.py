"""Training steps of two-layer ReLU networks: cross entropy, Adam, float32; a fresh batch in, the loss out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..frameworks import JAX, OURS, THREADS, batches, jax_batches, jax_for, labels_long, session_variants, torch_for
from ..registry import Arrays, Case, Job, Product, add_cases, implements
from ..training import (
    NumpyAdam,
    jax_training,
    numpy_cross_entropy,
    our_training,
    pytensor_training,
    session_training,
    torch_compiled_adam,
    torch_training,
)

RATE = 1e-3
PARAMETERS = ("0.weight", "0.bias", "2.weight", "2.bias")
"""In PyTorch's layout: weights are (out, in)."""


def _parameters(rng: np.random.Generator, *sizes: int) -> Arrays:
    result = {}
    for name, fan_in, fan_out in zip("02", sizes[:-1], sizes[1:], strict=True):
        bound = 1 / math.sqrt(fan_in)
        result[f"{name}.weight"] = rng.uniform(-bound, bound, (fan_out, fan_in)).astype(np.float32)
        result[f"{name}.bias"] = rng.uniform(-bound, bound, fan_out).astype(np.float32)
    return result


def digits(batch: int = 64) -> Arrays:
    """x (batches, 64, 64), y (batches, 64), and the parameters."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    pixels, labels = load_digits(return_X_y=True)
    order = rng.permutation(len(labels))[: len(labels) // batch * batch]
    pixels = (pixels - pixels.mean(0)) / (pixels.std(0) + 1e-6)
    x = pixels[order].astype(np.float32).reshape(-1, batch, 64)
    return {"x": x, "y": labels[order].astype(np.int32).reshape(-1, batch), **_parameters(rng, 64, 128, 10)}


def wide(batch: int = 256) -> Arrays:
    """x (8, batch, 784) like pixels, y (8, batch) by a linear teacher, and the parameters."""
    rng = np.random.default_rng(0)
    x = np.maximum(rng.standard_normal((8, batch, 784), np.float32), 0)
    y = (x @ rng.standard_normal((784, 10), np.float32)).argmax(2).astype(np.int32)
    return {"x": x, "y": y, **_parameters(rng, 784, 512, 10)}


def _products(batch: int, n: int, hidden: int, out: int) -> tuple[Product, ...]:
    """Forward, then backward; the inputs need no gradient."""
    forward = Product(batch, n, hidden), Product(batch, hidden, out)
    return *forward, Product(out, batch, hidden), Product(batch, out, hidden), Product(hidden, batch, n)


CASES = add_cases(
    Case(
        "digits",
        "64-128-10 ReLU MLP on digits, batch 64, Adam, float32",
        digits,
        steps=100,
        target=2.0,
        products=_products(64, 64, 128, 10),
    ),
    Case(
        "mlp-784",
        "784-512-10 ReLU MLP, batch 256, Adam, float32",
        wide,
        products=_products(256, 784, 512, 10),
        blas=0.9,
    ),
)


def _sizes(data: Arrays) -> tuple[int, int, int]:
    hidden, n = data["0.weight"].shape
    return n, hidden, len(data["2.bias"])


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    n, hidden, out = _sizes(data)
    model = sg.nn.Sequential(sg.nn.Linear(n, hidden), sg.nn.ReLU(), sg.nn.Linear(hidden, out))
    model.load_state_dict({name: data[name].copy() for name in PARAMETERS})
    optimizer = sg.optim.Adam(model.parameters(), lr=RATE)

    def loss_of(x: Any, y: Any) -> Any:
        return F.cross_entropy(model(x), y)

    return our_training(dict(model.named_parameters()), optimizer, loss_of, batches(data, "x", "y"), backend)


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    graph = sg.Graph()
    with graph.as_default():
        x, y = sg.placeholder("float32", (None, data["x"].shape[2])), sg.placeholder("int32", (None,))
        variables = {name: sg.Variable(data[name].copy(), name=name) for name in PARAMETERS}
        w1, b1, w2, b2 = variables.values()
        loss = F.cross_entropy(sg.relu(x @ w1.T + b1) @ w2.T + b2, y)
        train = sg.optim.Adam(lr=RATE).minimize(loss)
    return session_training(graph, loss, train, [x, y], variables, batches(data, "x", "y"), variant)


@implements(CASES[:1], "jax", variants=(*JAX, "sync, placed", "sync, one-hot", "sync, tree"))
@implements(CASES[1:], "jax", variants=("sync, tree", "async, tree", "sync, tree, placed", "async, tree, placed"))
def jax(data: Arrays, backend: str, variant: str) -> Job:
    jax, jnp = jax_for(variant)

    def loss_of(p: Any, x: Any, y: Any) -> Any:
        z = jax.nn.relu(x @ p["0.weight"].T + p["0.bias"]) @ p["2.weight"].T + p["2.bias"]
        if "one-hot" in variant:
            picked = jnp.sum(jnp.where(y[:, None] == jnp.arange(z.shape[1]), z, 0), axis=1)
        else:
            picked = jnp.take_along_axis(z, y[:, None], axis=1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(z, axis=1) - picked)

    return jax_training(data, PARAMETERS, loss_of, RATE, jax_batches(variant, data, "x", "y"), variant)


@implements(CASES, "torch", variants=THREADS)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    n, hidden, out = _sizes(data)
    model = torch.nn.Sequential(torch.nn.Linear(n, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, out))
    model.load_state_dict({name: torch.from_numpy(data[name]) for name in PARAMETERS})
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)

    def loss_of(x: Any, y: Any) -> Any:
        return torch.nn.functional.cross_entropy(model(x), y)

    batch = batches(labels_long(data, "y"), "x", "y", place=torch.from_numpy)
    return torch_training(dict(model.named_parameters()), optimizer, loss_of, batch)


@implements(CASES, "torch.compile", variants=THREADS)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    parameters = {name: torch.from_numpy(data[name].copy()) for name in PARAMETERS}
    F = torch.nn.functional

    def loss_of(p: Any, x: Any, y: Any) -> Any:
        h = F.relu(F.linear(x, p["0.weight"], p["0.bias"]))
        return F.cross_entropy(F.linear(h, p["2.weight"], p["2.bias"]), y)

    batch = batches(labels_long(data, "y"), "x", "y", place=torch.from_numpy)
    return torch_compiled_adam(parameters, loss_of, RATE, batch)


@implements(CASES, "pytensor")
def pytensor(data: Arrays, backend: str, variant: str) -> Job:
    import pytensor.tensor as pt

    def loss_of(p: Any, x: Any, y: Any) -> Any:
        z = pt.maximum(x @ p["0.weight"].T + p["0.bias"], np.float32(0)) @ p["2.weight"].T + p["2.bias"]
        return -pt.mean(pt.special.log_softmax(z, axis=1)[pt.arange(y.shape[0]), y])

    inputs = [pt.matrix("x", dtype="float32"), pt.vector("y", dtype="int32")]
    return pytensor_training(data, PARAMETERS, inputs, loss_of, RATE, batches(data, "x", "y"))


@implements(CASES, "numpy")
def by_hand(data: Arrays, backend: str, variant: str) -> Job:
    ends = np.cumsum([data[name].size for name in PARAMETERS])
    vector = np.concatenate([data[name].ravel() for name in PARAMETERS])
    gradient = np.empty_like(vector)
    cut = [np.split(v, ends[:-1]) for v in (vector, gradient)]
    (w1, b1, w2, b2), (dw1, db1, dw2, db2) = (
        [part.reshape(data[name].shape) for part, name in zip(parts, PARAMETERS, strict=True)] for parts in cut
    )
    optimizer, batch = NumpyAdam(vector, RATE), batches(data, "x", "y")
    rows = np.arange(data["y"].shape[1])

    def step() -> float:
        x, y = batch()
        h = x @ w1.T
        h += b1
        np.maximum(h, 0, out=h)
        z = h @ w2.T
        z += b2
        loss = numpy_cross_entropy(z, y, rows)
        np.matmul(z.T, h, out=dw2)
        np.sum(z, 0, out=db2)
        dh = z @ w2
        dh *= h > 0
        np.matmul(dh.T, x, out=dw1)
        np.sum(dh, 0, out=db1)
        optimizer.step(gradient)
        return loss

    return Job(step, lambda: dict(zip(PARAMETERS, (w1, b1, w2, b2), strict=True)))
