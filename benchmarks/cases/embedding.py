"""An embedding 10000x64, bags of 32 averaged, a linear layer to 10 classes, cross entropy, SGD, float32: a training step
on a fresh batch of 64 bags."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frameworks import (
    JAX,
    OURS,
    batches,
    jax_for,
    labels_long,
    pytensor_function,
    session_variants,
    torch_for,
    torch_variants,
)
from ..registry import Arrays, Case, Job, add_cases, implements
from ..training import jax_steps, numpy_cross_entropy, our_training, session_training, torch_compiled_training

WORDS, WIDTH, BAG, BATCH, CLASSES, RATE = 10_000, 64, 32, 64, 10, 0.1
PARAMETERS = ("table", "w", "b")


def arrays() -> Arrays:
    """bags (16, 64, 32) and y (16, 64) int32; table (10000, 64), w (64, 10), b (10,)"""
    rng = np.random.default_rng(0)
    return {
        "bags": rng.integers(0, WORDS, (16, BATCH, BAG)).astype(np.int32),
        "y": rng.integers(0, CLASSES, (16, BATCH)).astype(np.int32),
        "table": rng.standard_normal((WORDS, WIDTH), np.float32),
        "w": rng.standard_normal((WIDTH, CLASSES), np.float32) / 8,
        "b": np.zeros(CLASSES, np.float32),
    }


CASES = add_cases(
    Case(
        "embedding",
        "embedding 10000x64, bags of 32, batch 64, linear, cross-entropy, SGD, float32",
        arrays,
        steps=50,
        target=2.0,
    )
)


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    table, w, b = parameters = [sg.tensor(data[name], requires_grad=True) for name in PARAMETERS]
    optimizer = sg.optim.SGD(parameters, lr=RATE)

    def loss_of(bags: Any, y: Any) -> Any:
        return F.cross_entropy(F.embedding(bags, table).mean(1) @ w + b, y)

    named = dict(zip(PARAMETERS, parameters, strict=True))
    return our_training(named, optimizer, loss_of, batches(data, "bags", "y"), backend)


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    graph = sg.Graph()
    with graph.as_default():
        bags, y = sg.placeholder("int32", (None, BAG)), sg.placeholder("int32", (None,))
        variables = {name: sg.Variable(data[name].copy(), name=name) for name in PARAMETERS}
        table, w, b = variables.values()
        loss = F.cross_entropy(sg.mean(F.embedding(bags, table), 1) @ w + b, y)
        train = sg.optim.SGD(lr=RATE).minimize(loss)
    return session_training(graph, loss, train, [bags, y], variables, batches(data, "bags", "y"), variant)


@implements(CASES, "jax", variants=(*JAX, "sync, dense"))
def jax(data: Arrays, backend: str, variant: str) -> Job:
    """The gradient of the rows that were looked up, added to these rows alone; or that of the whole table."""
    jax, jnp = jax_for(variant)

    def loss_of(rows: Any, w: Any, b: Any, y: Any) -> Any:
        z = rows.mean(1) @ w + b
        return jnp.mean(jax.nn.logsumexp(z, axis=1) - jnp.take_along_axis(z, y[:, None], axis=1)[:, 0])

    def update(state: Any, bags: Any, y: Any) -> Any:
        table, w, b = state
        if "dense" in variant:
            loss, (dt, dw, db) = jax.value_and_grad(lambda t, w, b: loss_of(t[bags], w, b, y), (0, 1, 2))(table, w, b)
            table = table - RATE * dt
        else:
            loss, (dr, dw, db) = jax.value_and_grad(loss_of, (0, 1, 2))(table[bags], w, b, y)
            table = table.at[bags].add(-RATE * dr, mode="promise_in_bounds")
        return (table, w - RATE * dw, b - RATE * db), loss

    call = jax.jit(update, donate_argnums=0)
    state = tuple(jnp.array(data[name]) for name in PARAMETERS)
    return jax_steps(call, state, batches(data, "bags", "y"), lambda state: dict(zip(PARAMETERS, state, strict=True)))


@implements(CASES, "torch", variants=torch_variants)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    table = torch.nn.EmbeddingBag(WORDS, WIDTH, mode="mean", sparse=True)
    linear = torch.nn.Linear(WIDTH, CLASSES)
    with torch.no_grad():
        table.weight.copy_(torch.from_numpy(data["table"]))
        linear.weight.copy_(torch.from_numpy(data["w"].T.copy()))
        linear.bias.copy_(torch.from_numpy(data["b"]))
    optimizers = [
        torch.optim.SGD(table.parameters(), lr=RATE),
        torch.optim.SGD(linear.parameters(), lr=RATE, fused=True),
    ]
    batch = batches(labels_long(data, "y"), "bags", "y", place=torch.from_numpy)

    def step() -> float:
        bags, y = batch()
        loss = torch.nn.functional.cross_entropy(linear(table(bags)), y)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return loss.item()

    def state() -> Arrays:
        values = table.weight, linear.weight.T, linear.bias
        return {name: p.detach().numpy() for name, p in zip(PARAMETERS, values, strict=True)}

    return Job(step, state)


@implements(CASES, "torch.compile", variants=torch_variants)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    parameters = {name: torch.from_numpy(data[name].copy()) for name in PARAMETERS}
    table, w, b = parameters.values()

    def loss_of(rows: Any, w: Any, b: Any, y: Any) -> Any:
        return torch.nn.functional.cross_entropy(rows.mean(1) @ w + b, y)

    differentiated = torch.func.grad_and_value(loss_of, (0, 1, 2))

    def train(bags: Any, y: Any) -> Any:
        (dr, dw, db), loss = differentiated(table[bags], w, b, y)
        table.index_add_(0, bags.reshape(-1), dr.reshape(-1, WIDTH), alpha=-RATE)
        w.sub_(RATE * dw)
        b.sub_(RATE * db)
        return loss

    batch = batches(labels_long(data, "y"), "bags", "y", place=torch.from_numpy)
    return torch_compiled_training(parameters, train, batch)


@implements(CASES, "pytensor")
def pytensor(data: Arrays, backend: str, variant: str) -> Job:
    import pytensor
    import pytensor.tensor as pt

    table, w, b = parameters = [pytensor.shared(data[name].copy()) for name in PARAMETERS]
    bags, y = pt.matrix("bags", dtype="int32"), pt.vector("y", dtype="int32")
    rows, rate = table[bags], pt.constant(RATE, dtype="float32")
    z = rows.mean(1) @ w + b
    loss = -pt.mean(pt.special.log_softmax(z, axis=1)[pt.arange(y.shape[0]), y])
    dr, dw, db = pt.grad(loss, [rows, w, b])
    updates = {table: pt.inc_subtensor(rows, -rate * dr), w: w - rate * dw, b: b - rate * db}
    call = pytensor_function([bags, y], loss, updates=updates)
    batch = batches(data, "bags", "y")
    return Job(lambda: float(call(*batch())), lambda: {n: p.get_value() for n, p in zip(PARAMETERS, parameters, strict=True)})


@implements(CASES, "numpy")
def by_hand(data: Arrays, backend: str, variant: str) -> Job:
    table, w, b = parameters = [data[name].copy() for name in PARAMETERS]
    rows = np.arange(BATCH)
    batch = batches(data, "bags", "y")

    def step() -> float:
        bags, y = batch()
        h = table[bags].mean(1)
        z = h @ w
        z += b
        loss = numpy_cross_entropy(z, y, rows)
        dh = z @ w.T
        dh *= np.float32(-RATE / BAG)
        np.add.at(table, bags, dh[:, None, :])
        w[...] -= np.float32(RATE) * (h.T @ z)
        b[...] -= np.float32(RATE) * z.sum(0)
        return loss

    return Job(step, lambda: dict(zip(PARAMETERS, parameters, strict=True)))
