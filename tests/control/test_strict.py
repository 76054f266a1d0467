"""`numerics="strict"` through loops and branches: the bits of eager mode, first and second gradients too.

`RANDOM_PROGRAMS=5000 pytest tests/control/test_strict.py` tries so many programs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.control.programs import CASES, Case, agree, derived, drawn, tensors
from tests.control.random_programs import random_case
from tests.helpers import sweep

pytestmark = pytest.mark.usefixtures("eager_by_numpy")

PROGRAMS = int(os.environ.get("RANDOM_PROGRAMS", "150"))
GROUPS = 10


def identical(found: Sequence[Any], expected: Sequence[Any], what: str) -> None:
    """To the bit. A gradient that eager mode finds to be none is 0 in a graph, whose run decides which branch it takes."""
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        left, right = (None if v is None else np.asarray(v.detach().numpy() if isinstance(v, sg.Tensor) else v) for v in (a, b))
        if left is None or right is None:
            assert left is right or not np.any(right if left is None else left), f"{what}, value {i}"
        else:
            assert left.dtype == right.dtype, f"{what}, value {i}"
            assert left.shape == right.shape, f"{what}, value {i}"
            nan = np.isnan(right)
            assert np.array_equal(np.isnan(left), nan), f"{what}, value {i}"
            assert np.where(nan, 0, left).tobytes() == np.where(nan, 0, right).tobytes(), f"{what}, value {i}: {left - right}"


def strictly_compiled(case: Case, arrays: Sequence[np.ndarray]) -> list[Any]:
    step = sg.compile(lambda *operands: derived(case, operands), numerics="strict")
    step(*tensors(arrays))
    return step(*tensors(arrays))


def in_a_strict_session(case: Case, arrays: Sequence[np.ndarray], *, known: bool = True) -> list[Any]:
    with sg.Graph().as_default():
        inputs = [sg.placeholder(a.dtype, a.shape if known else [None] * a.ndim) for a in arrays]
        fetches = derived(case, inputs)
        with sg.Session(numerics="strict") as session:
            values = iter(session.run([f for f in fetches if f is not None], dict(zip(inputs, arrays, strict=True))))
    return [None if f is None else next(values) for f in fetches]


@pytest.mark.parametrize("group", sweep(range(GROUPS), lambda i, _: i % 3 == 0 or "RANDOM_PROGRAMS" in os.environ))
def test_random_programs(group: int):
    """Every second one compiled, the others in a session."""
    for seed in range(group, PROGRAMS, GROUPS):
        case = random_case(seed)
        arrays = drawn(f"program {seed}", case, np.float32 if seed % 3 else np.float64)
        run = strictly_compiled if (seed // GROUPS) % 2 else in_a_strict_session
        identical(run(case, arrays), derived(case, tensors(arrays)), f"program {seed}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_programs(name: str, dtype: Any):
    case = CASES[name]
    arrays = drawn(name, case, dtype)
    expected = derived(case, tensors(arrays))
    identical(strictly_compiled(case, arrays), expected, "compiled")
    identical(in_a_strict_session(case, arrays), expected, "session")


@pytest.mark.parametrize("make", [lambda p: sg.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: sg.optim.Adam(p, lr=0.01)])
def test_training_steps(make: Any):
    """Parameters, gradients and the numbers of dropout in each iteration."""
    runs = []
    for strict in (False, True):
        sg.manual_seed(0)
        rng = np.random.default_rng(0)
        w, b = (sg.tensor(rng.standard_normal(shape).astype(np.float32), requires_grad=True) for shape in ((4, 4), (4,)))
        opt = make([w, b])

        def step(x, w=w, b=b, opt=opt):
            def cell(h, v):
                h = sg.cond(v.sum() > 0, lambda: sg.tanh(h @ w + v), lambda: sg.dropout(h, 0.5) * b + v)
                return h, sg.dropout(h @ sg.tanh(w), 0.3)

            last, ys = sg.scan(cell, sg.zeros(2, 4), x)
            loss = (last**2).sum() + ys.mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        run = sg.compile(step, numerics="strict") if strict else step
        losses = [run(rng.standard_normal((5, 2, 4)).astype(np.float32)) for _ in range(4)]
        runs.append([*losses, w, b, w.grad, b.grad])
    assert run.plan.kernels == 0
    identical(runs[1], runs[0], "training")


def test_within_rounding_where_the_graph_is_differentiated():
    """A hook on the way, or a fed value that the graph computes otherwise: what a tape would have done is not known."""

    def function(c):
        y = sg.sin(c)
        y.register_hook(lambda g: g * 2)
        last = sg.while_loop(lambda v: (v**2).sum() > 0.1, lambda v: sg.sin(v) * 0.7 * y, y)
        (g,) = sg.grad((last**2).sum(), [c], create_graph=True)
        return [g, *sg.grad(g.sum(), [c])]

    c = np.random.default_rng(0).standard_normal((2, 3))
    agree(sg.compile(function, numerics="strict")(*tensors([c])), function(*tensors([c])), np.float64, "hook")
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float64, [None])
        h = x * 2
        last = sg.while_loop(lambda v: (v**2).sum() > 0.1, lambda v: sg.sin(v) * 0.3 * h, h)
        (g,) = sg.gradients((last**2).sum(), x)
        found = []
        for numerics in ("strict", "fast"):
            with sg.Session(numerics=numerics) as session:
                found.append(session.run(g, {x: np.ones(3), h: np.full(3, 0.9)}))
    agree(found[:1], found[1:], np.float64, "fed")


def test_a_leaf_that_changes_beside_a_loop():
    """Its value before and after the change are two leaves of the graph, also where one has the memory of the other."""

    def function(x):
        last, _ = sg.scan(lambda c, _: (sg.tanh(c * 0.5 + x), None), x, length=1)
        with sg.no_grad():
            x.copy_(x)
        (g,) = sg.grad(sg.sin(last).sum(), [x], create_graph=True)
        return [g, *sg.grad((g * g).sum() + x.sum(), [x])]

    found, expected = (
        [*run(sg.tensor([-0.625, 0.5], requires_grad=True))] for run in (sg.compile(function, numerics="strict"), function)
    )
    identical(found, expected, "a leaf that changes")
