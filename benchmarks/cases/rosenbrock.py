"""The Rosenbrock function of 20 variables, float64: value and gradient of a fresh vector each call, and 15 iterations of
`scipy.optimize.minimize(jac=True)` with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..frameworks import (
    JAX,
    OURS,
    batches,
    jax_for,
    pytensor_function,
    session,
    session_variants,
    torch_compiled_value_and_gradient,
    torch_for,
    torch_value_and_gradient,
    torch_variants,
    value_and_gradient,
    values_of,
)
from ..registry import Arrays, Case, Job, Variants, add_cases, implements


def arrays(size: int = 20) -> Arrays:
    """x (64, size): the vectors that are passed one after the other."""
    return {"x": np.random.default_rng(0).uniform(-1.5, 1.5, (64, size))}


CALL = add_cases(
    Case("rosenbrock", "Rosenbrock, 20 variables, value and gradient, float64", arrays, target=1.5),
)
MINIMIZE = add_cases(
    Case(
        "rosenbrock-minimize",
        "the same in scipy.optimize.minimize (L-BFGS-B, 15 iterations)",
        arrays,
        steps=3,
        environment={"OPENBLAS_NUM_THREADS": "1"},
    ),
)
"""SciPy's threads cost up to 300 times what its products of 20 numbers take, on a busy machine."""

Function = Callable[[Any], Any]
"""Of a vector: value and gradient, in the framework's own types or NumPy's."""


def job_of(data: Arrays, call: Function) -> Job:
    return Job(values_of(call, batches(data, "x")))


def minimization_of(data: Arrays, call: Function) -> Job:
    from scipy.optimize import minimize

    batch = batches(data, "x")

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = call(x)
        return float(value), np.asarray(gradient)

    def step() -> float:
        (start,) = batch()
        found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": 15})
        return float(found.fun)

    return Job(step)


def implements_both(*backends: str, variants: Variants = ("",)) -> Callable[[Any], Any]:
    """Register `function(backend, variant) -> Function` for both cases."""

    def register(function: Any) -> Any:
        for cases, job in ((CALL, job_of), (MINIMIZE, minimization_of)):
            implements(cases, *backends, variants=variants)(
                lambda data, backend, variant, job=job: job(data, function(backend, variant))
            )
        return function

    return register


def rosenbrock(x: Any) -> Any:
    """For any framework whose arrays slice and have `sum`."""
    head, tail = x[:-1], x[1:]
    bend, off = tail - head * head, 1 - head
    return (100 * (bend * bend) + off * off).sum()


@implements_both(*OURS)
def ours(backend: str, variant: str) -> Function:
    return value_and_gradient(rosenbrock, backend)


@implements_both("session", variants=session_variants)
def in_session(backend: str, variant: str) -> Function:
    import staticgrad as sg

    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder("float64", (20,))
        value = rosenbrock(x)
        fetches = [value, *sg.gradients(value, [x])]
    return session(graph, fetches, [x], variant)[1]


@implements_both("jax", variants=JAX)
def jax(backend: str, variant: str) -> Function:
    jax, _ = jax_for(variant, float64=True)
    return jax.jit(jax.value_and_grad(rosenbrock))


@implements_both("torch", variants=torch_variants)
def torch(backend: str, variant: str) -> Function:
    torch_for(variant)
    return torch_value_and_gradient(rosenbrock)


@implements_both("torch.compile", variants=torch_variants)
def torch_compile(backend: str, variant: str) -> Function:
    torch_for(variant)
    return torch_compiled_value_and_gradient(rosenbrock)


@implements_both("pytensor")
def pytensor(backend: str, variant: str) -> Function:
    import pytensor.tensor as pt

    x = pt.vector("x", dtype="float64")
    value = rosenbrock(x)
    return pytensor_function([x], [value, pt.grad(value, x)])


@implements_both("numpy")
def by_hand(backend: str, variant: str) -> Function:
    def call(x: np.ndarray) -> Any:
        head = x[:-1]
        bend, off = x[1:] - head * head, 1 - head
        gradient = np.zeros_like(x)
        gradient[:-1] = -400 * bend * head - 2 * off
        gradient[1:] += 200 * bend
        return 100 * (bend @ bend) + off @ off, gradient

    return call
