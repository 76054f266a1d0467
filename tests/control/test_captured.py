"""Tensors that bodies take from outside: every one can be fed, and differentiated with respect to, constants too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.control.programs import agree

PROGRAMS = {
    "scan": lambda c, x: sg.scan(lambda h, v: (h * c + v, h), x, sg.stack([x, x]))[0].sum(),
    "while_loop": lambda c, x: sg.while_loop(lambda h: h.sum() < 1e4, lambda h: h * c + 1, x).sum(),
    "condition": lambda c, x: (sg.while_loop(lambda h: h.sum() < 1e3 * c.sum(), lambda h: h * 1.7 + 1, x) * c).sum(),
    "cond": lambda c, x: sg.cond(x.sum() > 0, lambda: (x * c).sum(), lambda: (x + c).sum()),
    "scan in cond in scan": lambda c, x: sg.scan(
        lambda h, v: (
            sg.cond(h.sum() > 0, lambda: sg.scan(lambda a, b: (a * c + b, None), h, sg.stack([v, v]))[0], lambda: h + c),
            None,
        ),
        x,
        sg.stack([x, x]),
    )[0].sum(),
}


def expected(fn: Any, c: np.ndarray, x: np.ndarray) -> list[Any]:
    t = sg.tensor(c, requires_grad=True)
    y = fn(t, sg.tensor(x))
    (g,) = sg.grad(y, [t], create_graph=True)
    (h,) = sg.grad((g * t).sum(), [t])
    return [y, g, h]


@pytest.mark.parametrize("size", [1, 3, 64, 65])
@pytest.mark.parametrize("name", PROGRAMS)
def test_constants(name: str, size: int):
    fn, x, c, other = PROGRAMS[name], np.ones(size), np.full(size, 1.5), np.full(size, 2.5)
    with sg.Graph().as_default():
        feed, constant = sg.placeholder(sg.float64, [size]), sg.constant(c)
        y = fn(constant, feed)
        (g,) = sg.gradients(y, constant)
        (h,) = sg.gradients((g * constant).sum(), constant)
        for numerics in ("fast", "strict"):
            with sg.Session(numerics=numerics) as session:
                agree(session.run([y, g, h], {feed: x}), expected(fn, c, x), np.float64, numerics)
                agree(session.run([y, g, h], {feed: x, constant: other}), expected(fn, other, x), np.float64, "fed")


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_made_of_constants(name: str):
    x, other = np.ones(3), np.full(3, 2.5)
    with sg.Graph().as_default():
        feed = sg.placeholder(sg.float64, [3])
        made = sg.constant(np.full(3, 0.75)) * 2
        y = PROGRAMS[name](made, feed)
        (g,) = sg.gradients(y, made)
        with sg.Session() as session:
            agree(session.run([y, g], {feed: x, made: other}), expected(PROGRAMS[name], other, x)[:2], np.float64, "fed")


@pytest.mark.parametrize("name", PROGRAMS)
def test_tensors_made_in_a_compiled_function(name: str):
    def step(x):
        c = sg.full((3,), 1.5, dtype=sg.float64, requires_grad=True)
        y = PROGRAMS[name](c, x)
        (g,) = sg.grad(y, [c], create_graph=True)
        return y, g, *sg.grad((g * c).sum(), [c])

    agree(sg.compile(step)(np.ones(3)), step(sg.ones(3, dtype=sg.float64)), np.float64, "compiled")


def test_small_constants_are_part_of_compiled_bodies():
    """Where nothing feeds them, rewrite rules see their values: the loop does not read them."""
    with sg.Graph().as_default():
        x, two = sg.placeholder(sg.float64, [3]), sg.constant(np.full(3, 2.0))
        y = sg.scan(lambda h, _: (h * two, None), x, length=3)[0]
        with sg.Session() as session:
            plans = [session.plan(y, {x: np.ones(3), **feed}) for feed in ({}, {two: np.ones(3)})]
    consts = [next(n for n in plan.ir.nodes if n.op.name == "loop").attrs["consts"] for plan in plans]
    assert consts == [0, 1]


@pytest.mark.parametrize("make", [lambda: sg.constant(2.0, sg.float64), lambda: sg.constant(2.0, sg.float64) * 3])
def test_numbers_that_a_body_makes_belong_to_it(make: Any):
    """Nothing outside can read or feed them: that would have no effect in the body."""
    made = []

    def body(h: Any, _: Any) -> Any:
        made.append(make())
        return h * made[0], None

    with sg.Graph().as_default():
        x = sg.placeholder(sg.float64, [3])
        y = sg.scan(body, x, length=2)[0]
        with sg.Session() as session:
            session.run(y, {x: np.ones(3)})
            with pytest.raises(sg.FeedError, match="Cannot interpret feed_dict key as Tensor"):
                session.run(y, {x: np.ones(3), made[0]: 3.0})
        with pytest.raises(sg.GraphError, match="is a value inside the body of a loop or branch"):
            made[0] + 1
