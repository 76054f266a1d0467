"""Results written over operands: where it is done, and where it must not be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from staticgrad.autodiff.reverse import gradients
from staticgrad.operators import F
from tests.compiler.helpers import Bench


def product(b: Bench, *shape: int) -> Any:
    """A value that is computed, and not by a kernel."""
    return b.feed(shape[0], 6) @ b.feed(6, shape[1])


def host(x: Any) -> Any:
    """A use that no kernel takes in."""
    return x @ np.ones((x.shape[1], 2), x.dtype)


def layers(b: Bench, *, last: bool) -> list[Any]:
    x = b.feed(5, 5)
    for _ in range(3):
        x = F.relu(x @ b.feed(5, 5))
    return [x if last else host(x)]


def step(b: Bench) -> list[Any]:
    x, w = b.feed(9, 6), b.variable(6, 5)
    loss = F.sum(F.square(F.tanh(x @ w)))
    (g,) = gradients([loss], [w])
    b.assign(w, w - 0.1 * g)
    return [loss]


CASES: dict[str, tuple[Callable[[Bench], list[Any]], list[str]]] = {
    "an operand that dies": (lambda b: [host(F.exp(product(b, 4, 5)))], ["exp over matmul"]),
    "with a bias": (lambda b: [host(F.relu(product(b, 4, 5) + b.feed(5)))], ["relu over matmul"]),
    "several": (
        lambda b: [host(F.exp(x := product(b, 4, 5)) + (y := product(b, 4, 5))), host(x * y)],
        ["add over matmul", "mul over matmul"],
    ),
    "one after another": (
        lambda b: [host(F.exp(host(F.tanh(product(b, 4, 5)))))],
        ["tanh over matmul", "exp over matmul"],
    ),
    "a product with a vector reads it too": (
        lambda b: [host((x := product(b, 90, 20)) * b.feed(20)), F.sum(x * b.feed(90, 1), 0)],
        ["mul over matmul"],
    ),
    "equal layers": (lambda b: layers(b, last=False), ["relu over matmul"] * 3),
    "equal layers, one of which may not": (lambda b: layers(b, last=True), []),
    "an operand that is read again": (lambda b: [host(F.exp(x := product(b, 4, 5))), host(host(x))], []),
    "an operand that is fetched": (lambda b: [host(F.exp(x := product(b, 4, 5))), x], []),
    "a view of it is fetched": (lambda b: [host(F.exp(x := product(b, 4, 5))), x[1:]], []),
    "a result that is fetched": (lambda b: [F.exp(product(b, 4, 5))], []),
    "a feed": (lambda b: [host(F.exp(b.feed(4, 5)))], []),
    "a variable": (lambda b: [host(F.exp(b.variable(4, 5)))], []),
    "another dtype": (lambda b: [host(F.astype(product(b, 4, 5), np.float64))], []),
    "another shape": (lambda b: [host(product(b, 4, 1) + b.feed(4, 5))], []),
    "read at other places": (lambda b: [host(F.exp((x := product(b, 5, 5))[::-1]) + x)], []),
    "rows that are walked twice": (lambda b: [host(F.softmax(product(b, 4, 5), 1))], []),
    "a value without axes": (lambda b: [F.sum(product(b, 4, 5)) * 2 + b.feed()], []),
    "a training step": (step, ["mul over matmul"]),
}


@pytest.mark.parametrize("name", CASES)
def test_results_over_operands(name: str):
    write, expected = CASES[name]
    b = Bench()
    plan = b.check(*write(b), rtol=1e-4)
    found = [note.split(", ")[0] for note in plan.notes if "written over" in note]
    assert [f"{note.split()[0]} over {note.split()[-1]}" for note in found] == expected


def test_it_takes_less_memory():
    b = Bench()
    plan = b.check(host(F.relu(product(b, 64, 64))), rtol=1e-4)
    assert plan.memory == (64 * 64 * 4, 64 * 64 * 4)
    assert "relu f32[64,64]: written over matmul, which nobody needs any more" in plan.explain()


def test_equal_lines_are_told_once():
    b = Bench()
    text = str(b.check(*layers(b, last=False), rtol=1e-4).explain(detail=True))
    assert text.count("written over matmul") == 1
    assert "which nobody needs any more  (3 times)" in text


def test_another_batch_size_needs_no_other_kernel():
    b = Bench()
    x, w = b.feed(4, 6, declared=(None, 6)), b.feed(6, 5)
    program = b.program(host(F.relu(x @ w + b.feed(5))))
    first = program.plan(*b.arrays)
    for rows in (1, 0, 2, 7):
        plan = program.plan(np.zeros((rows, 6), np.float32), *b.arrays[1:])
        assert plan.source().split(" #")[0] == first.source().split(" #")[0]
        assert plan.sources().keys() == first.sources().keys()
