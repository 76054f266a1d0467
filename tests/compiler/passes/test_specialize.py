"""Extents are bound, and ops that are written in others are replaced, without a change of value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from staticgrad.base.types import TensorType
from staticgrad.compiler.passes.specialize import expand, functionalize, specialize, trailing_axes
from staticgrad.errors import ShapeError
from staticgrad.ir import Expand, Reduction
from staticgrad.ir.graph import interpret
from staticgrad.ir.text import verify
from staticgrad.operators import F, Symbol
from tests.compiler.helpers import Bench
from tests.helpers import assert_close

F32 = np.dtype(np.float32)

EXPANDED: dict[str, tuple[Callable[[Symbol], Symbol], tuple[int, ...]]] = {
    "mean of all": (lambda x: F.mean(x), (4, 3)),
    "mean, keepdims": (lambda x: F.mean(x, 0, keepdims=True), (4, 3)),
    "sum, keepdims": (lambda x: F.sum(x, 1, keepdims=True), (4, 3)),
    "sum over no axis": (lambda x: F.sum(x, ()), (4, 3)),
    "sum over a middle axis": (lambda x: F.sum(x, 1), (2, 3, 4)),
    "max over both ends": (lambda x: F.amax(x, (0, 2)), (2, 3, 4)),
    "softmax": (lambda x: F.softmax(x, 1), (4, 3)),
    "softmax over the rows": (lambda x: F.softmax(x, 0), (4, 3)),
    "softmax of nothing": (lambda x: F.softmax(x, 1), (4, 0)),
    "log_softmax": (lambda x: F.log_softmax(x, (0, 1)), (4, 3)),
    "logsumexp": (lambda x: F.logsumexp(x, 1), (4, 3)),
    "argmax": (lambda x: F.argmax(x, 1), (4, 3)),
    "argmin of all": (lambda x: F.argmin(x), (4, 3)),
    "var": (lambda x: F.var(x, 1, correction=0), (4, 3)),
    "expand_dims": (lambda x: F.expand_dims(x, 1), (4, 3)),
    "squeeze": (lambda x: F.squeeze(F.sum(x, 0, keepdims=True), 0), (4, 3)),
    "broadcast_like": (lambda x: F.broadcast_like(F.sum(x, 0), x), (4, 3)),
}


@pytest.mark.parametrize("name", EXPANDED)
def test_expand_leaves_nothing_to_expand_and_keeps_the_value(name: str):
    write, shape = EXPANDED[name]
    b = Bench()
    result = write(b.feed(*shape)).node
    graph, moved = specialize(b.graph, [result], {})
    graph, moved_again = expand(graph, [moved[result]])
    verify(graph, static=True)
    for node in graph.nodes:
        assert not isinstance(node.op.emit, Expand), node
        if isinstance(node.op.emit, Reduction):
            axis, n = node.attrs["axis"], node.inputs[0].type.ndim
            assert not node.attrs["keepdims"]
            assert axis in (tuple(range(len(axis))), tuple(range(n - len(axis), n))), "a kernel can't walk it"
    last = moved_again[moved[result]]
    leaves = {n: b.arrays[0] for n in graph.nodes if n.op.leaf == "placeholder"}
    assert_close(interpret(graph, [last], leaves)[last], b.expected(Symbol(b.graph, result))[0][0], None)


def test_unknown_extents_are_bound():
    b = Bench()
    x = b.feed(4, 3, declared=(None, 3))
    y = F.softmax(x) + b.feed(3)
    assert y.shape == (None, 3)
    graph, moved = specialize(b.graph, [y.node], {x.node: TensorType((4, 3), F32)})
    verify(graph, static=True)
    assert moved[y.node].type == TensorType((4, 3), F32)


def test_operands_read_for_their_shape_alone_are_not_computed():
    b = Bench()
    like = F.exp(b.feed(4, 3))
    plan = b.check(F.broadcast_like(b.feed(3), like) + F.sum(F.mean(like, ()) * 0.0), F.index_along(like, 1) * 2)
    assert "exp" in plan.source()  # read for its value by the first fetch only
    plan = b.check(F.broadcast_like(b.feed(3), like) * 2, F.index_along(like, 1) * 2)
    assert "exp" not in plan.source()


def test_extents_that_do_not_fit_raise_with_the_line():
    b = Bench()
    x, y = b.feed(4, 3, declared=(None, 3)), b.feed(5, 3, declared=(None, 3))
    total = x + y
    known = {x.node: TensorType((4, 3), F32), y.node: TensorType((5, 3), F32)}
    with pytest.raises(ShapeError, match="don't broadcast") as caught:
        specialize(b.graph, [total.node], known)
    assert "total = x + y" in str(caught.value)


def test_the_same_work_is_done_once():
    b = Bench()
    x = b.feed(4, 3)
    twice = F.exp(x) + F.exp(x)
    ready = functionalize(b.graph, [twice.node], [x.node])
    graph, _ = specialize(ready.graph, ready.results, {})
    assert [n.op.name for n in graph.nodes] == ["placeholder", "exp", "add"]


@pytest.mark.parametrize(
    ("axis", "n", "expected"),
    [((1,), 2, (1,)), ((0,), 2, ()), ((0, 2), 3, (2,)), ((1, 2), 3, (1, 2)), ((0, 1), 2, (0, 1)), ((), 2, ())],
)
def test_trailing_axes(axis: tuple[int, ...], n: int, expected: tuple[int, ...]):
    assert trailing_axes(axis, n) == expected
