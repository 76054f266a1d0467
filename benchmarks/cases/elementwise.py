"""`tanh(x*a+b)*sigmoid(x)` of three vectors, and the gradient of its sum with respect to all three, float32.

NumPy arrays go in and come out at every step.
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

SIZES = {"1e2": 100, "1e4": 10_000, "1e6": 1_000_000, "1e7": 10_000_000}


def arrays(size: int) -> Arrays:
    """x, a, b (size,)"""
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal(size, np.float32) for name in "xab"}


def _cases(name: str, about: str, moved: int) -> tuple[Case, ...]:
    return add_cases(
        *(
            Case(
                f"{name}-{text}",
                f"{about}, N = {text}, float32",
                partial(arrays, size),
                steps=3,
                target=2.5 if size <= 10_000 else 1.0,
                large=size >= 1_000_000,
                traffic=4 * moved * size,
                bandwidth=0.85 if size >= 10_000_000 else None,
            )
            for text, size in SIZES.items()
        )
    )


VALUE = _cases("elementwise", "tanh(x*a+b)*sigmoid(x)", 4)
GRADIENT = _cases("gradient", "gradient of sum(tanh(x*a+b)*sigmoid(x)) for x, a, b", 6)


def _inputs(data: Arrays) -> list[np.ndarray]:
    return [data[name] for name in "xab"]


@implements(VALUE, *OURS)
def value(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    def function(x: Any, a: Any, b: Any) -> Any:
        return sg.tanh(x * a + b) * sg.sigmoid(x)

    step, inputs = mode(function, backend), _inputs(data)
    return Job(lambda: step(*inputs).numpy())


@implements(GRADIENT, *OURS)
def gradient(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    def function(x: Any, a: Any, b: Any) -> Any:
        inputs = [x.requires_grad_(), a.requires_grad_(), b.requires_grad_()]
        return sg.grad((sg.tanh(x * a + b) * sg.sigmoid(x)).sum(), inputs)

    step, inputs = mode(function, backend), _inputs(data)
    return Job(lambda: [g.numpy() for g in step(*inputs)])


@implements(VALUE, "session", variants=session_variants)
def value_session(data: Arrays, backend: str, variant: str) -> Job:
    return _session(data, variant, lambda sg, y, inputs: y)


@implements(GRADIENT, "session", variants=session_variants)
def gradient_session(data: Arrays, backend: str, variant: str) -> Job:
    return _session(data, variant, lambda sg, y, inputs: sg.gradients(sg.sum(y), inputs))


def _session(data: Arrays, variant: str, fetched: Any) -> Job:
    import staticgrad as sg

    graph = sg.Graph()
    with graph.as_default():
        x, a, b = (sg.placeholder("float32", (None,)) for _ in range(3))
        fetches = fetched(sg, sg.tanh(x * a + b) * sg.sigmoid(x), [x, a, b])
    _, step = session(graph, fetches, [x, a, b], variant)
    inputs = _inputs(data)
    return Job(lambda: step(*inputs))


@implements(VALUE, "jax", variants=(*JAX, "sync, placed"))
def value_jax(data: Arrays, backend: str, variant: str) -> Job:
    jax, jnp = jax_for(variant)
    step = jax.jit(lambda x, a, b: jnp.tanh(x * a + b) * jax.nn.sigmoid(x))
    inputs = [jnp.asarray(v) if "placed" in variant else v for v in _inputs(data)]
    return Job(lambda: np.asarray(step(*inputs)))


@implements(GRADIENT, "jax", variants=(*JAX, "sync, placed"))
def gradient_jax(data: Arrays, backend: str, variant: str) -> Job:
    jax, jnp = jax_for(variant)
    step = jax.jit(jax.grad(lambda x, a, b: (jnp.tanh(x * a + b) * jax.nn.sigmoid(x)).sum(), (0, 1, 2)))
    inputs = [jnp.asarray(v) if "placed" in variant else v for v in _inputs(data)]
    return Job(lambda: [np.asarray(g) for g in step(*inputs)])


def _torch_function(x: Any, a: Any, b: Any) -> Any:
    return (x * a + b).tanh() * x.sigmoid()


@implements(VALUE, "torch", "torch.compile", variants=torch_variants)
def value_torch(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    step = torch_compiled(_torch_function) if backend == "torch.compile" else _torch_function
    inputs = _inputs(data)
    return Job(lambda: step(*map(torch.from_numpy, inputs)).numpy())


@implements(GRADIENT, "torch", variants=torch_variants)
def gradient_torch(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    inputs = _inputs(data)

    def step() -> Any:
        leaves = [torch.from_numpy(v).requires_grad_() for v in inputs]
        return [g.numpy() for g in torch.autograd.grad(_torch_function(*leaves).sum(), leaves)]

    return Job(step)


@implements(GRADIENT, "torch.compile", variants=torch_variants)
def gradient_torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    inputs = _inputs(data)
    step = torch_compiled(torch.func.grad(lambda x, a, b: _torch_function(x, a, b).sum(), (0, 1, 2)))
    return Job(lambda: [g.numpy() for g in step(*map(torch.from_numpy, inputs))])


@implements(VALUE, "pytensor")
def value_pytensor(data: Arrays, backend: str, variant: str) -> Job:
    import pytensor.tensor as pt

    x, a, b = (pt.vector(name, dtype="float32") for name in "xab")
    y = pt.tanh(x * a + b) * pt.sigmoid(x)
    step, inputs = pytensor_function([x, a, b], y), _inputs(data)
    return Job(lambda: step(*inputs))


@implements(GRADIENT, "pytensor")
def gradient_pytensor(data: Arrays, backend: str, variant: str) -> Job:
    import pytensor.tensor as pt

    x, a, b = (pt.vector(name, dtype="float32") for name in "xab")
    y = pt.tanh(x * a + b) * pt.sigmoid(x)
    step, inputs = pytensor_function([x, a, b], pt.grad(y.sum(), [x, a, b])), _inputs(data)
    return Job(lambda: step(*inputs))


@implements(VALUE, "numpy")
def value_numpy(data: Arrays, backend: str, variant: str) -> Job:
    x, a, b = _inputs(data)
    one = np.float32(1)
    return Job(lambda: np.tanh(x * a + b) / (one + np.exp(-x)))
