"""Requests for gradients that are right: seeds, targets and unused ones mean the same in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import assert_close

X = np.array([1.0, 2.0, 3.0], np.float32)
SEED = np.array([1.0, 10.0, 100.0])


def eagerly(program: Callable[[Any], Any]) -> Any:
    x = sg.tensor(X, requires_grad=True)
    y, seed = program(x)
    return sg.grad(y, x, seed)[0].numpy()


def compiled(program: Callable[[Any], Any]) -> Any:
    def traced(array: Any) -> Any:
        x = array.detach().requires_grad_(True)
        y, seed = program(x)
        return sg.grad(y, x, seed)[0]

    return sg.compile(traced)(sg.tensor(X)).numpy()


def in_graph(program: Callable[[Any], Any]) -> Any:
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float32, (3,))
        y, seed = program(x)
        (g,) = sg.gradients(y, x, seed)
    return sg.Session(graph).run(g, {x: X})


SEEDS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "an array": (lambda x: (x * x, SEED.astype(np.float32)), 2 * X * SEED),
    "an array of float64": (lambda x: (x * x, SEED), 2 * X * SEED),
    "an array of integers": (lambda x: (x * x, SEED.astype(np.int64)), 2 * X * SEED),
    "a number for a scalar": (lambda x: ((x * x).sum(), 2.0), 4 * X),
    "an integer for a scalar": (lambda x: ((x * x).sum(), 3), 6 * X),
    "a tensor of float64": (lambda x: (x * x, sg.astype(x, sg.float64) * 2), 4 * X * X),
    "a constant tensor": (lambda x: (x * x, sg.tensor(SEED)), 2 * X * SEED),
    "several": (lambda x: ([x * x, (x * 3).sum()], [SEED, 2.0]), 2 * X * SEED + 6),
    "one of several is left out": (lambda x: ([x * x, (x * 3).sum()], [SEED, None]), 2 * X * SEED + 3),
    "none": (lambda x: ((x * x).sum(), None), 2 * X),
    "none for a root of one element": (lambda x: ((x * x)[:1], None), [2, 0, 0]),
}


@pytest.mark.parametrize("mode", [eagerly, compiled, in_graph])
@pytest.mark.parametrize("name", SEEDS)
def test_seeds(mode: Callable[..., Any], name: str) -> None:
    program, expected = SEEDS[name]
    assert_close(mode(program), np.asarray(expected, np.float32), 1e-6)


@pytest.mark.parametrize("wrap", [lambda fn: fn, sg.compile])
def test_no_roots(wrap: Callable[..., Any]) -> None:
    """As in PyTorch: nothing to differentiate is no error of `backward`, and every target is unused."""

    def step(x: Any) -> Any:
        w = x.detach().requires_grad_(True)
        sg.autograd.backward([])
        return x + 1, sg.grad([], [w], allow_unused=True)

    values, found = wrap(step)(sg.tensor(X))
    assert_close(values.numpy(), X + 1)
    assert found == (None,)


@pytest.mark.parametrize("wrap", [lambda fn: fn, sg.compile])
def test_targets_in_any_iterable(wrap: Callable[..., Any]) -> None:
    def step(x: Any) -> Any:
        w, v = x.detach().requires_grad_(True), x.detach().requires_grad_(True)
        return sg.grad((y for y in [(w * v).sum()]), (t for t in (w, v, w)))

    first, second, third = wrap(step)(sg.tensor(X))
    for found in (first, second, third):
        assert_close(found.numpy(), X)
