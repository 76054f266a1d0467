"""Symbolic reverse mode: the graph that `gradients` appends, and its values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from staticgrad.autodiff.reverse import gradients
from staticgrad.ir.graph import interpret
from staticgrad.operators import F, Symbol
from tests.compiler.helpers import Bench
from tests.helpers import assert_close, directional

F64 = np.float64

SMOOTH: dict[str, tuple[Callable[..., Symbol], list[tuple[int, ...]]]] = {
    "product": (lambda x, y: F.sum(x * y), [(3, 4), (4,)]),
    "used twice": (lambda x: F.sum(x * F.exp(x)), [(3,)]),
    "operand repeated": (lambda x: F.sum(x * x), [(3,)]),
    "matmul": (lambda x, y: F.sum(F.tanh(x @ y)), [(3, 4), (4, 2)]),
    "layer norm": (lambda x: F.sum(F.sin((x - F.mean(x, 1, keepdims=True)) / F.std(x, 1, False, True))), [(3, 5)]),
    "softmax": (lambda x, y: F.sum(F.softmax(x) * y), [(3, 4), (3, 4)]),
    "views": (lambda x: F.sum(F.exp(F.reshape(x.T[1:], (-1,)))), [(3, 4)]),
    "concatenate": (lambda x, y: F.sum(F.square(F.concatenate([x, y, x], 0))), [(2, 3), (1, 3)]),
}


def arrays_for(shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(s) for s in shapes]


def value(y: Symbol, xs: list[Symbol], arrays: list[np.ndarray]) -> np.ndarray:
    return interpret(y.graph, [y.node], {x.node: a for x, a in zip(xs, arrays, strict=True)})[y.node]


@pytest.mark.parametrize("name", SMOOTH)
def test_first_and_second_order_against_differences(name: str):
    write, shapes = SMOOTH[name]
    b = Bench()
    arrays = arrays_for(shapes)
    along = arrays_for(shapes[::-1])[::-1]
    xs = [b.feed(value=a) for a in arrays]
    y = write(*xs)
    first = gradients([y], xs)
    slope = F.add(*(F.sum(g * d) for g, d in zip(first, along, strict=True))) if len(xs) > 1 else F.sum(first[0] * along[0])
    second = gradients([slope], xs)
    curve = sum(F.sum(g * d) for g, d in zip(second, along, strict=True) if g is not None)
    assert_close(value(slope, xs, arrays), directional(lambda *a: value(y, xs, list(a)), arrays, along), 1e-7)
    assert_close(value(curve, xs, arrays), directional(lambda *a: value(slope, xs, list(a)), arrays, along), 1e-7)


def test_several_ys_add_up():
    b = Bench()
    x = b.feed(value=arrays_for([(3,)])[0])
    (both,) = gradients([F.exp(x), F.sum(x)], [x])
    (apart,), (other,) = gradients([F.exp(x)], [x]), gradients([F.sum(x)], [x])
    assert_close(*b.expected(both, apart + other)[0], rtol=None)


def test_a_y_listed_twice_counts_twice():
    b = Bench()
    x = b.feed(value=arrays_for([(3,)])[0])
    y = F.exp(x)
    (twice,), (once,) = gradients([y, y], [x]), gradients([y], [x])
    assert_close(*b.expected(twice, once + once)[0], rtol=None)


def test_a_y_that_is_an_x_gives_its_seed():
    b = Bench()
    x = b.feed(3)
    (g,) = gradients([x], [x], [np.float32([1, 2, 3])])
    assert b.expected(g)[0][0].tolist() == [1, 2, 3]


def test_none_where_nothing_depends():
    b = Bench()
    x, y, z = b.feed(3), b.feed(3), b.feed(3)
    assert gradients([F.exp(x) + F.stop_gradient(y)], [x, y, z])[1:] == [None, None]
    assert gradients([F.astype(F.argmax(x), np.float32)], [x]) == [None]


def test_an_intermediate_x():
    b = Bench()
    x = b.feed(3)
    h = F.exp(x)
    to_h, to_x = gradients([F.sum(h * h)], [h, x])
    found = b.expected(to_h, 2 * h, to_x, 2 * h * h)[0]
    assert_close(found[0], found[1], None)
    assert_close(found[2], found[3], None)


def test_nothing_flows_past_stop_gradients():
    b = Bench()
    x = b.feed(3)
    h = F.exp(x)
    full, cut = gradients([x * h], [x])[0], gradients([x * h], [x], stop_gradients=[h])[0]
    found = b.expected(full, h + x * h, cut, h)[0]
    assert_close(found[0], found[1], None)
    assert_close(found[2], found[3], None)


def test_seeds_take_the_dtype_of_their_y():
    b = Bench()
    x = b.feed(3)
    y = F.astype(x, F64) * 2
    (g,) = gradients([y], [x], [np.float32([1, 2, 3])])
    assert g.dtype == np.float32
    assert b.expected(g)[0][0].tolist() == [2, 4, 6]


def test_a_scalar_y_takes_a_number_as_its_seed():
    b = Bench()
    x = b.feed(3)
    (g,) = gradients([F.sum(x)], [x], [4.0])
    assert b.expected(g)[0][0].tolist() == [4, 4, 4]


def test_unknown_extents():
    b = Bench()
    x = b.feed(4, 3, declared=(None, 3))
    w = b.feed(3)
    dx, dw = gradients([F.mean(F.exp(x * w))], [x, w])
    assert dx.shape == (None, 3)
    assert dw.shape == (3,)
    b.check(dx, dw)


def test_gradients_lead_home_to_the_forward_line():
    b = Bench()
    x = b.feed(3)
    y = F.exp(x) * 2
    (g,) = gradients([y], [x])
    assert g.node.where == y.node.inputs[0].where
    assert "y = F.exp(x) * 2" in str(g.node.where)


def test_gradients_append_to_the_graph_of_ys():
    b = Bench()
    x = b.feed(3)
    y = F.exp(x)
    before = list(b.graph.nodes)
    (g,) = gradients([y], [x])
    assert g.graph is b.graph
    assert b.graph.nodes[: len(before)] == before


@pytest.mark.parametrize("parts", [3, 16, 17, 40, 300])
def test_concatenation_of_many_operands_of_unknown_extents(parts: int):
    b = Bench()
    xs = [b.feed(i % 4, 2, dtype=F64, declared=(None, 2)) for i in range(parts)]
    y = F.sum(F.square(F.concatenate(xs)))
    before = len(b.graph.nodes)
    found = gradients([y], xs)
    assert sum(len(node.inputs) for node in b.graph.nodes[before:]) < 60 * parts, "not one operand for each pair"
    for x, g, array in zip(xs, found, b.arrays, strict=True):
        assert g is not None
        assert_close(value(g, b.feeds, b.arrays), 2 * array, 1e-15, what=x.name)
    if parts == 40:
        b.check(*[g for g in found if g is not None][:5])
