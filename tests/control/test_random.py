"""Random loops against the unrolled Python program: values, gradients and second gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.control.programs import Case, agree, compiled, derived, in_session, tensors
from tests.helpers import real, sweep

ROWS, COLUMNS = 3, 4


class Writer:
    """A random body: carries and items are (3, 4), so that everything fits everything."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.carries = int(self.rng.integers(1, 4))
        self.script = [int(k) for k in self.rng.integers(0, 1 << 30, 400)]
        self.depth = 0

    def pick(self, values: list[Any]) -> Any:
        return values[self.next() % len(values)]

    def next(self) -> int:
        self.at = (self.at + 1) % len(self.script)
        return self.script[self.at]

    def expression(self, pool: list[Any], w: Any) -> Any:
        a, b = self.pick(pool), self.pick(pool)
        return self.pick(
            [
                lambda: sg.tanh(a + b),
                lambda: sg.sin(a) * b,
                lambda: a - 0.5 * b,
                lambda: sg.tanh(a @ w),
                lambda: sg.sigmoid(a * b),
                lambda: sg.softmax(a, 1) + b,
                lambda: a - a.mean(0),
                lambda: sg.tanh(a * b.sum(1, keepdims=True)),
                lambda: sg.where(a > b, a, sg.sin(b)),
                lambda: sg.concatenate([a[:, 2:], sg.tanh(b[:, :2])], 1),
                lambda: sg.flip(a, 0) * 0.9,
                lambda: sg.cond(a.sum() > 0, lambda: sg.sin(a) + b, lambda: sg.tanh(a * b)),
                lambda: self.inner(a, b, w),
                lambda: sg.tanh(sg.cumsum(a, 0)),
            ]
        )()

    def inner(self, a: Any, b: Any, w: Any) -> Any:
        if self.depth:
            return sg.tanh(a)
        self.depth += 1
        kind, at = self.next() % 3, self.at
        if kind == 0:
            result = sg.scan(lambda h, v: (sg.tanh(h * v + b), h), a, sg.stack([b, sg.sin(a), b * 0.5]))[0]
        elif kind == 1:
            result = sg.scan(lambda h, _: (sg.tanh(h @ w), (h * b).sum(0)), a, length=2)[1].sum(0) + a
        else:
            result = sg.while_loop(lambda v: (v**2).sum() > 0.5, lambda v: sg.sin(v * 0.6) * 0.8, a)
        self.depth, self.at = self.depth - 1, at
        return result

    def loss(self, c: Any, w: Any, x: Any) -> Any:
        self.at = 0
        lengths = self.script[1] % 3, self.script[2] % 2

        def body(carry: Any, v: Any) -> Any:
            self.at = 10  # the same text in every iteration
            pool = [*carry, v]
            for _ in range(4 + self.script[3] % 5):
                pool.append(self.expression(pool, w))
            new = tuple(sg.tanh(self.pick(pool) + p) if self.next() % 3 else self.pick(pool) for p in carry)
            return new, [self.pick(pool), self.pick(pool).sum(lengths[1])][: 1 + lengths[0]]

        start = tuple(c * (1.0 + 0.3 * k) for k in range(self.carries))
        last, ys = sg.scan(body, start, x, reverse=bool(self.script[4] % 2))
        total = sum(((k + 1.0) * sg.sin(p)).sum() for k, p in enumerate(last))
        return total + sum((y**2).mean() for y in ys)


@pytest.mark.parametrize("seed", sweep(range(8), lambda i, _: i in (1, 2, 3)))
def test_random_loops(seed):
    writer = Writer(seed)
    length = (0, 1, 2, 6)[seed % 4] if seed % 5 else 6
    case = Case(writer.loss, (real(ROWS, COLUMNS), real(COLUMNS, COLUMNS, low=-0.6, high=0.6), real(length, ROWS, COLUMNS)))
    rng = np.random.default_rng(seed)
    arrays = [operand.draw(rng, np.float64) for operand in case.operands]
    expected = derived(case, tensors(arrays))
    agree(compiled(case, arrays)[0], expected, np.float64, f"seed {seed}, compiled")
    agree(in_session(case, arrays, known=True), expected, np.float64, f"seed {seed}, session")
