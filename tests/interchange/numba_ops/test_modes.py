"""Ops of functions that Numba compiles give in every mode what the same function in this library's operations gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import staticgrad as sg

njit = numba.njit
by_numpy = njit(error_model="numpy")  # divisions by 0 raise nothing


@sg.njit_op
@njit
def leaky(x, slope):
    return x if x > 0 else slope * x


@sg.njit_op
@by_numpy
def bumps(x, y):
    """Operations of `math` and `numpy`, and a function that is called."""
    t = math.exp(-x * x) + np.sin(y) / (1.0 + y * y)
    return helper(t) * np.maximum(x, y) ** 2


@njit
def helper(t):
    return math.tanh(t) + 0.5 * abs(t)


@sg.njit_op
@njit
def rate(x, y):
    """May raise: the divisor may be 0."""
    if y < -100.0:
        raise ValueError("too low")
    return x / (y * y + 1.0)


@sg.njit_op
@njit
def polar(x, y):
    return math.sqrt(x * x + y * y + 1.0), math.atan2(y, x + 3.0)


@sg.njit_op
@by_numpy
def scaled(x, n, flag):
    return x * n if flag else x


@njit
def matrix_vector(w, x):
    out = np.zeros(w.shape[0], w.dtype)
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            out[i] += w[i, j] * x[j]
    return out


@njit
def matrix_vector_vjp(g, w, x):
    dw, dx = np.zeros(w.shape, w.dtype), np.zeros(x.shape, x.dtype)
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            dw[i, j] = g[i] * x[j]
            dx[j] += g[i] * w[i, j]
    return dw, dx


product = sg.njit_op(matrix_vector, signature="(n,m),(m)->(n)", vjp=lambda g, w, x: (sg.outer(g, x), sg.matmul(g, w)))
native_product = sg.njit_op(matrix_vector, signature="(n,m),(m)->(n)", vjp=matrix_vector_vjp)


@sg.njit_op(signature="(n)->()", vjp=lambda g, x: 2 * g * x)
@njit
def energy(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total


def steps_vjp(g, x):
    zero = sg.zeros_like(g[:1])
    return sg.cat([zero, g]) - sg.cat([g, zero])


@sg.njit_op(shape=lambda x: (x[0] - 1,), vjp=steps_vjp)
@njit
def steps(x):
    return x[1:] - x[:-1]


@sg.njit_op(signature="(n),(n)->(n),()", vjp=lambda g, h, x, y: (g * y + h, g * x))
@njit
def both(x, y):
    return x * y, x.sum()


class Case(NamedTuple):
    """op, and the same function in operations of this library, of operands of these shapes. orders: of its derivatives."""

    op: Callable[..., Any]
    same: Callable[..., Any]
    shapes: tuple[Any, ...]
    orders: int = 2


CASES = {
    "a branch": Case(leaky, lambda x, s: sg.where(x > 0, x, s * x), ((4, 5), (5,))),
    "a number": Case(lambda x: leaky(x, slope=0.25), lambda x: sg.where(x > 0, x, 0.25 * x), ((4, 5),)),
    "functions": Case(
        bumps,
        lambda x, y: (lambda t: sg.tanh(t) + 0.5 * abs(t))(sg.exp(-x * x) + sg.sin(y) / (1 + y * y)) * sg.maximum(x, y) ** 2,
        ((3, 4), (3, 1)),
    ),
    "it may raise": Case(rate, lambda x, y: x / (y * y + 1), ((3, 4), (4,))),
    "two results": Case(
        lambda x, y: sg.mul(*polar(x, y)),
        lambda x, y: sg.sqrt(x * x + y * y + 1) * sg.atan2(y, x + 3),
        ((3, 4), (4,)),
    ),
    "dtypes": Case(
        lambda x: scaled(x, sg.tensor([1, 2, 3]), True) + scaled(x, 2, sg.tensor([True, False, True])),
        lambda x: x * sg.tensor([1, 2, 3]) + sg.where(sg.tensor([True, False, True]), x * 2, x),
        ((2, 3),),
    ),
    "0-d": Case(lambda x, y: bumps(x, y).sum(), lambda x, y: CASES["functions"].same(x, y), ((), ())),
    "arrays": Case(product, lambda w, x: w @ x, ((4, 3), (3,))),
    "a batch": Case(product, lambda w, x: x @ w.T, ((4, 3), (5, 3))),
    "batches": Case(product, lambda w, x: (w @ x[..., None])[..., 0], ((2, 1, 4, 3), (5, 3))),
    "transposed": Case(lambda w, x: product(w.T, x * 2), lambda w, x: w.T @ (x * 2), ((3, 4), (3,))),
    "a native derivative": Case(native_product, lambda w, x: x @ w.T, ((4, 3), (5, 3)), orders=1),
    "a number of an array": Case(energy, lambda x: (x * x).sum(-1), ((3, 4),)),
    "a shape by a rule": Case(steps, lambda x: x[1:] - x[:-1], ((6,),)),
    "results of several shapes": Case(
        lambda x, y: (lambda p, q: p * q[..., None])(*both(x, y)),
        lambda x, y: x * y * x.sum(-1, keepdims=True),
        ((2, 3), (3,)),
    ),
    "in a loop": Case(
        lambda x: sg.scan(lambda c, t: (leaky(c + t, 0.5), c), x[0], x)[0],
        lambda x: sg.scan(lambda c, t: (sg.where(c + t > 0, c + t, 0.5 * (c + t)), c), x[0], x)[0],
        ((4, 3),),
    ),
}


def derivatives(fn: Callable[..., Any], orders: int) -> Callable[..., tuple[Any, ...]]:
    """A function that gives the value, and gradients of it and of their squares' sum."""

    def step(*xs: Any) -> tuple[Any, ...]:
        value = fn(*xs)
        first = sg.grad((value * sg.cos(value)).sum(), xs, create_graph=orders > 1)
        if orders == 1:
            return value, *first
        return value, *first, *sg.grad(sum((g * g).sum() for g in first), xs)

    return step


def in_session(step: Callable[..., Any], arrays: list[np.ndarray]) -> list[np.ndarray]:
    with sg.Graph().as_default():
        xs = [sg.placeholder(a.dtype, a.shape) for a in arrays]
        with sg.Session() as session:
            return session.run(list(step(*xs)), dict(zip(xs, arrays, strict=True)))


def in_graph_step(fn: Callable[..., Any], orders: int) -> Callable[..., tuple[Any, ...]]:
    def step(*xs: Any) -> tuple[Any, ...]:
        value = fn(*xs)
        first = sg.gradients((value * sg.cos(value)).sum(), list(xs))
        return (value, *first) if orders == 1 else (value, *first, *sg.gradients(sum((g * g).sum() for g in first), list(xs)))

    return step


def eager(step: Callable[..., Any], arrays: list[np.ndarray]) -> list[np.ndarray]:
    return [x.detach().numpy() for x in step(*(sg.tensor(a, requires_grad=True) for a in arrays))]


def by_kernels(step: Callable[..., Any], arrays: list[np.ndarray]) -> list[np.ndarray]:
    with sg.eager_kernels(wait=True):
        return eager(step, arrays)


def compiled(**options: Any) -> Callable[..., list[np.ndarray]]:
    def run(step: Callable[..., Any], arrays: list[np.ndarray]) -> list[np.ndarray]:
        fn = sg.compile(step, **options)
        for _ in range(2):
            found = fn(*(sg.tensor(a, requires_grad=True) for a in arrays))
        return [x.detach().numpy() for x in found]

    return run


def in_segments(step: Callable[..., Any], arrays: list[np.ndarray]) -> list[np.ndarray]:
    def broken(*xs: Any) -> Any:
        found = step(*xs)
        float(found[0].sum())  # a break
        return found

    return compiled(on_break="split")(broken, arrays)


MODES = {
    "eager": eager,
    "eager kernels": by_kernels,
    "compile": compiled(wait=True),
    "strict": compiled(numerics="strict"),
    "segments": in_segments,
}


WAYS = [
    ("eager", "float64"), ("compile", "float64"), ("eager kernels", "float64"), ("strict", "float64"), ("segments", "float64"),
    ("session", "float64"), ("eager", "float32"), ("compile", "float32"),
]  # fmt: skip
"""The first two are those of all cases; of the others, each case has every second one."""


@pytest.mark.parametrize(
    ("name", "mode", "dtype"),
    [(name, *way) for i, name in enumerate(CASES) for j, way in enumerate(WAYS) if j < 2 or (i + j) % 2 == 0],
)
def test_modes_agree(request, name, mode, dtype):
    """NumPy runs the plans of segments, whose kernels have the other modes."""
    if mode == "segments":
        request.getfixturevalue("interpreted")
    case = CASES[name]
    random = np.random.default_rng(0)
    arrays = [np.asarray(random.normal(size=shape), dtype) for shape in case.shapes]
    right = eager(derivatives(case.same, case.orders), arrays)
    if mode == "session":
        found = in_session(in_graph_step(case.op, case.orders), arrays)
    else:
        found = MODES[mode](derivatives(case.op, case.orders), arrays)
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    for a, b in zip(found, right, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * 10)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "bool", "float32"])
def test_integers_and_booleans(dtype):
    """The dtype of a result is Numba's, which is NumPy's for arrays of int64 at least."""
    x, y = np.array([1, 0, 3]).astype(dtype), np.array([2, 1, 0]).astype(dtype)
    for fn in (lambda x, y: x * 2 + y, lambda x, y: x > y):
        op = sg.njit_op(by_numpy(fn))
        eagerly, natively = op(x, y).numpy(), sg.compile(op)(x, y).numpy()
        assert eagerly.dtype == natively.dtype
        right = fn(x.astype(dtype if dtype == "float32" else "int64"), y)
        np.testing.assert_array_equal(eagerly, right)
        np.testing.assert_array_equal(natively, right)
