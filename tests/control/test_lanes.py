"""Loops cut into lanes: only where rows of the batch don't know of each other, and then with the values of the serial loop."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler.execute.plan import Plan
from staticgrad.compiler.lower import control_flow
from tests.compiler.helpers import Bench
from tests.control.programs import agree, tensors

B = 16


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    """Two threads, and lanes for loops of any size."""
    monkeypatch.setattr(control_flow, "SHARDED_WORK", 0)
    before = sg.get_num_threads()
    sg.set_num_threads(2)
    yield
    sg.set_num_threads(before)


def lanes(plan: Plan) -> int:
    return sum(row.kind == "shards" for row in plan.instructions)


W = np.random.default_rng(1).standard_normal((4, 4)) * 0.5
MASK = np.random.default_rng(2).standard_normal((B, B))

APART = {
    "product": lambda h, v: (sg.tanh(h @ W + v), h),
    "along rows": lambda h, v: (sg.softmax(h * v, 1) + 0.1 * h.sum(1, keepdims=True), h.amax(1)),
    "columns from outside": lambda h, v: (h * W[0] + v, h),
    "parts": lambda h, v: (sg.concatenate([sg.sin(h[:, 2:]), h[:, :2] * v[:, :2]], 1), h[:, 1]),
    "items turned over": lambda h, v: (sg.tanh(h + sg.flip(v, 0)), v * 2),
    "reshaped": lambda h, v: (sg.tanh(h.reshape(B, 2, 2).sum(2, keepdims=True) * v.reshape(B, 2, 2)).reshape(B, 4), None),
}
TOGETHER = {
    "mean of the batch": lambda h, v: (h - h.mean(0) + v, h),
    "sum of everything": lambda h, v: (sg.tanh(h * h.sum()) + v, h),
    "turned over": lambda h, v: (sg.tanh(sg.flip(h, 0)) + v, h),
    "moved by one": lambda h, v: (sg.concatenate([h[1:], h[:1]]) * v, h),
    "transposed": lambda h, v: (sg.tanh((h @ h.T) @ v), h),
    "one row for all": lambda h, v: (sg.tanh(h[:1] + v), h),
    "mixed": lambda h, v: (sg.tanh(MASK @ h + v), h),
    "a vector as rows and columns": lambda h, v: (sg.tanh((h.sum(1) * MASK) @ v + h), h),
    "a number": lambda h, v: (h + v, h.sum()),
}


@pytest.mark.parametrize("name", [*APART, *TOGETHER])
def test_lanes(name):
    body = {**APART, **TOGETHER}[name]
    bench = Bench()
    h, x = bench.feed(B, 4, dtype=np.float64), bench.feed(9, B, 4, dtype=np.float64)
    last, ys = sg.scan(body, h, x)
    plan = bench.check(last, *([] if ys is None else [ys]), rtol=1e-10)
    assert lanes(plan) == (name in APART), plan.explain()


def test_wide_products_are_cut_where_the_batch_is():
    """Others of their kind are cut by columns: a lane has rows of all that it computes."""
    bench = Bench()
    h, x = bench.feed(B, 2 * B, dtype=np.float64), bench.feed(9, 2 * B, 2 * B, dtype=np.float64)
    last, _ = sg.scan(lambda h, v: (sg.tanh(h @ v.mT), None), h, x)
    plan = bench.check(last, rtol=1e-10)
    assert lanes(plan) == 1
    assert [(row.start, row.stop) for row in plan.instructions if row.kind == "gemm"] == [(0, B // 2), (B // 2, B)]


@pytest.mark.parametrize("name", APART)
def test_gradients(name):
    """Two loops in lanes, or one where the gradient brings rows together."""
    arrays = [np.random.default_rng(0).standard_normal(shape) * 0.5 for shape in ((B, 4), (9, B, 4))]

    def run(c, x):
        last, ys = sg.scan(APART[name], c, x)
        return sg.grad((last**2).sum() + (0 if ys is None else (ys**2).sum()), [c, x])

    for _ in range(3):
        step = sg.compile(run)
        agree(step(*tensors(arrays)), run(*tensors(arrays)), np.float64, name)
        assert lanes(step.plan) >= 1


@pytest.mark.parametrize("batch", [7, 17])
def test_a_batch_that_can_not_be_halved(batch):
    bench = Bench()
    h, x = bench.feed(batch, 4), bench.feed(9, batch, 4)
    last, ys = sg.scan(lambda c, v: (sg.tanh(c + v), c), h, x)
    assert lanes(bench.check(last, ys)) == 0


def test_a_small_loop_has_no_lanes(monkeypatch):
    monkeypatch.undo()
    bench = Bench()
    h, x = bench.feed(B, 4), bench.feed(9, B, 4)
    last, _ = sg.scan(lambda c, v: (sg.tanh(c + v), None), h, x)
    assert lanes(bench.check(last)) == 0
