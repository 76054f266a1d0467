"""Two loops or branches side by side that are almost equal: each computes its own values, in every mode, to second order.

A pair is `(operands, first, second)`; the difference is in a body, a condition, a constant, a captured value or an order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.compat.tf1 as tf
from tests.control.programs import Case, agree, compiled, derived, drawn, in_session, tensors
from tests.helpers import real
from tests.interpreter import interpret_plans

C, X = real(2, 3), real(4, 2, 3)
Body = Callable[..., Any]


def scans(first: Body, second: Body, **settings: Any) -> tuple[Body, Body]:
    return tuple(lambda c, x, body=body: sg.scan(body, c, x, **settings) for body in (first, second))  # type: ignore[return-value]


def turns(condition: Body, body: Body) -> Body:
    """A while loop that ends after some iterations."""
    return lambda c, x: sg.while_loop(lambda v, i: condition(v, i, x), lambda v, i: (body(v, x), i + 1), (c, np.int64(0)))[0]


def step(v: Any, x: Any) -> Any:
    return sg.tanh(v * x[0])


def nested(inner: Body) -> Body:
    return lambda c, x: sg.scan(lambda h, v: (sg.scan(inner, h, x)[0] + v, h.sum()), c, x)


def branches(yes: Body, no: Body, bound: float = 0.0) -> Body:
    return lambda c, x: sg.cond((c * x[0]).sum() > bound, lambda: yes(c, x), lambda: no(c, x))


def scan_of_branch(bound: float, factor: float) -> Body:
    def body(h: Any, v: Any) -> Any:
        return sg.cond((h * v).sum() > bound, lambda: h * v, lambda: sg.tanh(h * factor + v)), None

    return lambda c, x: sg.scan(body, c, x)[0]


PAIRS: dict[str, tuple[Body, Body]] = {
    "another operation": scans(lambda h, v: (sg.tanh(h + v), None), lambda h, v: (sg.tanh(h * v), None)),
    "another constant": scans(lambda h, v: (sg.tanh(h * 2.0 + v), None), lambda h, v: (sg.tanh(h * 3.0 + v), None)),
    "another sign of zero": scans(lambda h, v: (sg.copysign(h * v, 0.0), None), lambda h, v: (sg.copysign(h * v, -0.0), None)),
    "another attribute": scans(lambda h, v: (sg.tanh(h + v.sum(0)), None), lambda h, v: (sg.tanh(h + v.sum(1, True)), None)),
    "another order of operands": scans(lambda h, v: (sg.sin(h - v), None), lambda h, v: (sg.sin(v - h), None)),
    "another stacked value": scans(lambda h, v: (sg.sin(h + v), h * 2), lambda h, v: (sg.sin(h + v), h * 3)),
    "another carry, the same stacked value": scans(lambda h, v: (sg.sin(h + v), h * 2), lambda h, v: (sg.sin(h - v), h * 2)),
    "carries exchanged": (
        lambda c, x: sg.scan(lambda h, v: ((sg.sin(h[0] + v), sg.cos(h[1] * v)), None), (c, c), x)[0],
        lambda c, x: sg.scan(lambda h, v: ((sg.cos(h[1] * v), sg.sin(h[0] + v)), None), (c, c), x)[0],
    ),
    "another captured value": (
        lambda c, x: sg.scan(lambda h, v: (sg.tanh(h * v + c.sum()), None), c, x)[0],
        lambda c, x: sg.scan(lambda h, v: (sg.tanh(h * v + x.sum()), None), c, x)[0],
    ),
    "captured values exchanged": (
        lambda c, x: sg.scan(lambda h, v: (sg.tanh(h * c.sum() + v * x.sum()), None), c, x)[0],
        lambda c, x: sg.scan(lambda h, v: (sg.tanh(h * x.sum() + v * c.sum()), None), c, x)[0],
    ),
    "the other direction": (
        lambda c, x: sg.scan(lambda h, v: (sg.tanh(h * 2 + v), h), c, x),
        lambda c, x: sg.scan(lambda h, v: (sg.tanh(h * 2 + v), h), c, x, reverse=True),
    ),
    "another length": (
        lambda c, x: sg.scan(lambda h, _: (sg.sin(h), h), c, length=3)[0],
        lambda c, x: sg.scan(lambda h, _: (sg.sin(h), h), c, length=4)[0],
    ),
    "another body of a while loop": (
        turns(lambda v, i, x: i < 3, step),
        turns(lambda v, i, x: i < 3, lambda v, x: sg.sin(v * x[0])),
    ),
    "another condition": (turns(lambda v, i, x: i < 3, step), turns(lambda v, i, x: i < 4, step)),
    "another captured value of a condition": (
        turns(lambda v, i, x: (i < 3) & (x[0].sum() > -1000), step),
        turns(lambda v, i, x: (i < 3) & (x[1].sum() > 1000), step),
    ),
    "another loop inside": (nested(lambda a, b: (sg.tanh(a * b), None)), nested(lambda a, b: (sg.tanh(a + b), None))),
    "another branch": (
        branches(lambda c, x: c * 2, lambda c, x: c * 3, -1000.0), branches(lambda c, x: c * 4, lambda c, x: c * 3, -1000.0)
    ),
    "branches exchanged": (
        branches(lambda c, x: c * 2, lambda c, x: c**2, -1000.0), branches(lambda c, x: c**2, lambda c, x: c * 2, -1000.0)
    ),
    "another branch inside": (scan_of_branch(0.0, 2.0), scan_of_branch(0.0, 3.0)),
    "another decision inside": (scan_of_branch(-1000.0, 2.0), scan_of_branch(1000.0, 2.0)),
}  # fmt: skip


def total(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        parts = [total(v) for v in value if v is not None]
        return sum(parts[1:], parts[0])
    return (value**2).sum()


def program(bodies: Sequence[Body]) -> Case:
    """The losses have factors, so that none takes the place of another."""

    def loss(c: Any, x: Any) -> Any:
        result = total(bodies[0](c, x))
        for k, body in enumerate(bodies[1:]):
            result = result + total(body(c, x)) * (k + 2.5)
        return result

    return Case(loss, (C, X))


@pytest.mark.parametrize("name", PAIRS)
def test_each_has_its_own_values(name, monkeypatch):
    """As machine code in float64, compiled; NumPy runs the other plans: graphs decide which loops are one."""
    a, b = PAIRS[name]
    case = program([a, b, a])
    for dtype in (np.float64, np.float32):
        arrays = drawn(name, case, dtype)
        expected = derived(case, tensors(arrays))
        agree(compiled(case, arrays)[0], expected, dtype, "compiled")
        if dtype is np.float64:
            interpret_plans(monkeypatch)
        agree(in_session(case, arrays), expected, dtype, "session")
        if dtype is np.float32:
            continue
        for settings in ({"numerics": "strict"}, {"on_break": "split"}):
            found = sg.compile(lambda *operands: derived(case, operands), **settings)  # type: ignore[arg-type]
            agree(found(*tensors(arrays)), expected, dtype, f"{settings}")


def loops_of(case: Case, arrays: Sequence[np.ndarray]) -> int:
    """How many loops a plan of the values has."""
    step = sg.compile(case.fn)
    step(*tensors(arrays))
    return [row.kind for row in step.plan.instructions].count("loop")


@pytest.mark.parametrize(
    "name", [name for name in PAIRS if not any(w in name for w in ("branch", "decision", "while", "condition"))]
)
def test_equal_scans_are_one(name, interpreted):
    """Written twice, a loop runs once, and beside another one both run. (A while loop has random numbers of its own.)"""
    a, b = PAIRS[name]
    arrays = drawn(name, program([a]), np.float64)
    single, pair, twice, mixed = (loops_of(program(list(bodies)), arrays) for bodies in ([a], [a, b], [a, a], [a, b, a, b]))
    assert twice == single
    assert mixed == pair
    assert (pair > single) is (name != "another stacked value"), "only what they stack differs"


FOLDS = {
    "foldl": lambda fn, x: tf.foldl(fn, x),
    "foldr": lambda fn, x: tf.foldr(fn, x),
    "scan": lambda fn, x: tf.scan(fn, x),
    "scan from an initial value": lambda fn, x: tf.scan(fn, x, x[0]),
    "map_fn": lambda fn, x: tf.map_fn(lambda v: fn(v, x[0]), x),
    "while_loop": lambda fn, x: tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, fn(v, x[i])), (tf.constant(0), x[0]))[1],
}


@pytest.mark.parametrize("name", FOLDS)
def test_loops_in_tensorflows_dialect(name):
    values = np.random.default_rng(0).standard_normal((4, 3))
    bodies = [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b, lambda a, b: b - a, lambda a, b: a * b + 1.0]

    def one(fn):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float64, [None, 3])
            y = FOLDS[name](fn, x)
            return session.run([y, tf.gradients(y, x)[0]], {x: values})

    expected = [one(fn) for fn in bodies]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None, 3])
        results = [FOLDS[name](fn, x) for fn in bodies]
        found = session.run([(y, tf.gradients(y, x)[0]) for y in results], {x: values})
    for pair, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(pair[0], right[0], rtol=1e-12)
        np.testing.assert_allclose(pair[1], right[1], rtol=1e-12)
