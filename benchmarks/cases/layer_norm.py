"""Layer norm: its value and, for a given cotangent, the gradients for input, weight and bias; float32.

Arrays go in and come out at every step.
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

NAMES = ("x", "weight", "bias", "g")
EPSILON = 1e-5


def arrays(rows: int, columns: int) -> Arrays:
    """x and g (rows, columns), weight and bias (columns,)"""
    rng = np.random.default_rng(0)
    result = {name: rng.standard_normal((rows, columns), np.float32) for name in ("x", "g")}
    return result | {name: rng.standard_normal(columns, np.float32) for name in ("weight", "bias")}


CASES = add_cases(
    *(
        Case(
            f"layer-norm-{rows}x{columns}",
            f"layer norm of {rows}x{columns}, value and gradients, float32",
            partial(arrays, rows, columns),
            steps=3,
            large=rows * columns >= 1_000_000,
            traffic=16 * rows * columns,
        )
        for rows, columns in ((64, 128), (4096, 768))
    )
)


def _inputs(data: Arrays) -> list[np.ndarray]:
    return [data[name] for name in NAMES]


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    def function(x: Any, weight: Any, bias: Any, g: Any) -> Any:
        leaves = [x.requires_grad_(), weight.requires_grad_(), bias.requires_grad_()]
        y = F.layer_norm(x, (x.shape[1],), weight, bias, EPSILON)
        return y, *sg.grad(y, leaves, g)

    step, inputs = mode(function, backend), _inputs(data)
    return Job(lambda: [value.detach().numpy() for value in step(*inputs)])


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    import staticgrad.functional as F

    columns = data["x"].shape[1]
    graph = sg.Graph()
    with graph.as_default():
        x, g = (sg.placeholder("float32", (None, columns)) for _ in range(2))
        weight, bias = (sg.placeholder("float32", (columns,)) for _ in range(2))
        y = F.layer_norm(x, (columns,), weight, bias, EPSILON)
        fetches = [y, *sg.gradients(y, [x, weight, bias], g)]
    _, step = session(graph, fetches, [x, weight, bias, g], variant)
    inputs = _inputs(data)
    return Job(lambda: step(*inputs))


@implements(CASES, "jax", variants=(*JAX, "sync, placed"))
def jax(data: Arrays, backend: str, variant: str) -> Job:
    jax, jnp = jax_for(variant)

    def norm(x: Any, weight: Any, bias: Any) -> Any:
        centered = x - x.mean(1, keepdims=True)
        return centered * jax.lax.rsqrt((centered * centered).mean(1, keepdims=True) + EPSILON) * weight + bias

    @jax.jit
    def call(x: Any, weight: Any, bias: Any, g: Any) -> Any:
        y, pull = jax.vjp(norm, x, weight, bias)
        return y, *pull(g)

    inputs = [jnp.asarray(v) if "placed" in variant else v for v in _inputs(data)]
    return Job(lambda: [np.asarray(value) for value in call(*inputs)])


@implements(CASES, "torch", variants=torch_variants)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    *inputs, g = _inputs(data)

    def step() -> Any:
        leaves = [torch.from_numpy(v).requires_grad_() for v in inputs]
        y = torch.nn.functional.layer_norm(leaves[0], leaves[1].shape, *leaves[1:], eps=EPSILON)
        gradients = torch.autograd.grad(y, leaves, torch.from_numpy(g))
        return [value.numpy() for value in (y.detach(), *gradients)]

    return Job(step)


@implements(CASES, "torch.compile", variants=torch_variants)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    inputs = _inputs(data)

    def norm(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.layer_norm(x, weight.shape, weight, bias, eps=EPSILON)

    def value_and_pullback(x: Any, weight: Any, bias: Any, g: Any) -> Any:
        y, pull = torch.func.vjp(norm, x, weight, bias)
        return y, *pull(g)

    call = torch_compiled(value_and_pullback)
    return Job(lambda: [value.numpy() for value in call(*map(torch.from_numpy, inputs))])


@implements(CASES, "pytensor")
def pytensor(data: Arrays, backend: str, variant: str) -> Job:
    import pytensor.tensor as pt

    x, g = pt.matrix("x", dtype="float32"), pt.matrix("g", dtype="float32")
    weight, bias = pt.vector("weight", dtype="float32"), pt.vector("bias", dtype="float32")
    centered = x - x.mean(1, keepdims=True)
    variance = (centered * centered).mean(1, keepdims=True)
    y = centered / pt.sqrt(variance + np.float32(EPSILON)) * weight + bias
    gradients = pt.grad(None, [x, weight, bias], known_grads={y: g})
    call, inputs = pytensor_function([x, weight, bias, g], [y, *gradients]), _inputs(data)
    return Job(lambda: call(*inputs))


@implements(CASES, "numpy")
def by_hand(data: Arrays, backend: str, variant: str) -> Job:
    x, weight, bias, g = _inputs(data)
    count = np.float32(x.shape[1])

    def step() -> Any:
        n = x - x.mean(1, keepdims=True)
        scale = 1 / np.sqrt(np.einsum("ij,ij->i", n, n)[:, None] / count + np.float32(EPSILON))
        n *= scale
        gw = g * weight
        inner = np.einsum("ij,ij->i", gw, n)[:, None] / count
        dx = (gw - gw.mean(1, keepdims=True) - n * inner) * scale
        return n * weight + bias, dx, np.einsum("ij,ij->j", g, n), g.sum(0)

    return Job(step)
