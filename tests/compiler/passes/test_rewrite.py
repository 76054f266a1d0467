"""The rewrite rules: each fires where it holds, leaves the value alone, and does not fire elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler.passes.rewrite import simplify
from staticgrad.compiler.passes.specialize import expand, specialize
from staticgrad.compiler.program import Program
from staticgrad.ir import REGISTRY, Graph, Node
from staticgrad.ir.graph import interpret
from staticgrad.ir.text import verify
from staticgrad.operators import F, Symbol, append, apply
from staticgrad.ops.attention import attention
from staticgrad.ops.communication import all_gather_op, all_reduce_op
from staticgrad.ops.leaves import constant, constant_of
from staticgrad.ops.rewrites.algebra import ALGEBRA, EXCHANGES, FACTORS, STABILIZING
from tests.compiler.helpers import Bench
from tests.helpers import assert_close

_ONE = np.ones((1, 1), np.float32)
SPECIAL = np.array([[0.5, -1.25, np.nan], [np.inf, -np.inf, 3.0]], np.float32)
POSITIVE = np.array([[0.5, 1.25, 2.0], [1e-3, 7.0, 3.0]], np.float32)


@dataclass(frozen=True)
class Row:
    """`after`: the ops that are left, leaves aside (None: not pinned). `rule`: the one that has to fire; "" for none at all."""

    rule: str
    write: Callable[[Symbol], Symbol]
    after: tuple[str, ...] | None
    special: bool = True

    @property
    def value(self) -> np.ndarray:
        return SPECIAL if self.special else POSITIVE


def _put_back(x: Any) -> Any:
    """The cotangent of a split: each part put back into zeros."""
    parts = [F.exp(x[:, :2]), F.exp(x[:, 2:])]
    slices = [((None, None, 1), (None, 2, 1)), ((None, None, 1), (2, None, 1))]
    a, b = (apply(REGISTRY["unslice"], part, x, slices=s) for part, s in zip(parts, slices, strict=True))
    return a + b


def _put_back_rows(x: Any) -> Any:
    """The cotangent of x[0] and x[-1]."""
    a, b = (apply(REGISTRY["unslice"], F.exp(x[i]), x, slices=(i,)) for i in (0, -1))
    return b + a


WINDOW = {"kernel": (2, 2), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "ceil": False}


def _plane(x: Any) -> Any:
    return F.reshape(x, (1, 1, 2, 3))


def _pooled(x: Any) -> Any:
    return apply(REGISTRY["max_pool2d"], x, **WINDOW)


def _put_largest(x: Any, g: Any = None) -> Any:
    return apply(REGISTRY["max_pool2d_put"], x[:, :, :1, :2] if g is None else g, x, **WINDOW)


def _masked(x: Any, there: tuple[int, ...] = (0, 1, 2, 3), back: tuple[int, ...] = (0, 1, 2, 3)) -> Any:
    """The gradient of relu after that of pooling; x is relu's result."""
    return F.where(x <= 0, _number(x, 0.0), F.permute(_put_largest(F.permute(x, there)), back))


ROWS: dict[str, Row] = {
    "part of a whole": Row("part of a whole", lambda x: F.real(F.complex(x, F.exp(x)).T) * 2, ("permute", "mul")),
    "other part of a whole": Row("part of a whole", lambda x: F.imag(F.complex(F.exp(x), x)), ()),
    "whole of parts": Row(
        "whole of parts", lambda x: F.complex(F.real(z := sg.fft.fft(x)), F.imag(z)), ("complex", "fft_c2c"), special=False
    ),
    "fold": Row("fold", lambda x: x * F.exp(_number(x, 2.0)), ("mul",)),
    "implicit broadcast": Row("implicit broadcast", lambda x: F.broadcast_to(_row(x), (2, 3)) + x, ("slice", "add")),
    "the result is broadcast": Row(
        "implicit broadcast", lambda x: F.exp(F.broadcast_to(_row(x), (2, 3))), ("slice", "exp", "broadcast_to")
    ),
    "same shape, reshape": Row("same shape", lambda x: F.reshape(x, (2, 3)), ()),
    "nested reshape": Row("nested", lambda x: F.reshape(F.reshape(x, (3, 2)), (6,)), ("reshape",)),
    "nested broadcast": Row("nested", lambda x: F.broadcast_to(F.broadcast_to(x, (4, 2, 3)), (5, 4, 2, 3)), ("broadcast_to",)),
    "reshape of one": Row(
        "reshape of one",
        lambda x: F.reshape(F.broadcast_to(x[0, 0], (2, 3)), (6,)),
        ("slice", "broadcast_to"),
    ),
    "identity permutation": Row("permute", lambda x: F.permute(x, (0, 1)), ()),
    "two permutations": Row("permute", lambda x: x.T.T, ()),
    "scaled operand": Row("scaled operand", lambda x: (x * 0.5) @ x.T, ("permute", "matmul", "mul"), special=False),
    "scaled operand, turned": Row("scaled operand", lambda x: x @ (2.0 * x).T, ("permute", "matmul", "mul"), special=False),
    "transposed sum": Row("transposed sum", lambda x: (x @ x.T + (x[::-1] @ x.T).T).T, None, special=False),
    "transposed product": Row("transposed product", lambda x: (x @ x.T).T, ("permute", "matmul"), special=False),
    "sum of repeats": Row(
        "sum of repeats",
        lambda x: F.sum(F.broadcast_to(F.expand_dims(_row(x), 0), (2, 3)), 0),
        ("slice", "count", "mul"),
    ),
    "sum of one value": Row(
        "sum of repeats",
        lambda x: F.sum(F.broadcast_to(x[0, 0], (2, 3))),
        ("slice", "count", "mul"),
    ),
    "identity": Row("alias", lambda x: F.clone(x), ()),
    "stop_gradient": Row("alias", lambda x: F.stop_gradient(x) * 2, ("mul",)),
    "times one": Row("times one", lambda x: 1.0 * x, ()),
    "times one that broadcasts": Row("times one", lambda x: _row(x) * _ONE, ("slice", "broadcast_to")),
    "over one": Row("over one", lambda x: x / 1.0, ()),
    "plus zero": Row("plus zero", lambda x: 0.0 + x, ()),
    "minus zero": Row("plus zero", lambda x: x - 0.0, ()),
    "double negative": Row("double negative", lambda x: -(-x), ()),
    "minus one": Row("minus one", lambda x: x * -1.0, ("neg",)),
    "minus one in front": Row("minus one", lambda x: -1.0 * x, ("neg",)),
    "joined rows": Row(
        "joined rows",
        lambda x: _put(x, x, [1, 0]) + _put(_row(x), x, 1),
        ("slice", "reshape", "concatenate", "put_add"),
        special=False,
    ),
    "rows of zeros": Row("rows of zeros", lambda x: _added_to_zeros(x), ("put_add",)),
    "subtraction": Row("subtraction", lambda x: F.exp(x) + (-x), ("exp", "sub")),
    "subtraction, turned": Row("subtraction", lambda x: (-x) + F.exp(x), ("exp", "sub")),
    "slice of elements": Row("slice of elements", lambda x: (x + _row(x))[:, 2:], ("slice", "slice", "slice", "add")),
    "shifted operand": Row(
        "shifted operand", lambda x: F.concatenate([x, F.exp(x)], 1)[:, 1:3] + x[:, :2], ("slice", "slice", "add")
    ),
    "one part": Row("one part", lambda x: F.concatenate([x, F.exp(x)], 1)[:, 3:], ("exp",)),
    "parts": Row("parts", _put_back, ("slice", "exp", "slice", "exp", "concatenate")),
    "rows as parts": Row(
        "parts", _put_back_rows, ("slice", "exp", "slice", "exp", "expand_dims", "expand_dims", "concatenate")
    ),
    "relu after pooling": Row("relu after pooling", lambda x: _pooled(F.relu(_plane(x))), ("reshape", "max_pool2d", "relu")),
    "relu after pooling, channels last": Row(
        "relu after pooling",
        lambda x: _pooled(F.permute(F.relu(F.permute(_plane(x), (0, 2, 3, 1))), (0, 3, 1, 2))),
        ("reshape", "max_pool2d", "permute", "relu", "permute"),
    ),
    "mask before put": Row("mask before put", lambda x: _masked(F.relu(_plane(x))), None),
    "mask before put, channels last": Row(
        "mask before put", lambda x: _masked(F.relu(F.permute(_plane(x), (0, 2, 3, 1))), (0, 3, 1, 2), (0, 2, 3, 1)), None
    ),
    "sum of put": Row(
        "sum of put", lambda x: F.sum(_put_largest(_plane(x)), (2, 3)), ("reshape", "slice", "sum"), special=False
    ),
    # what must not fire
    "a mask of other values": Row(
        "",
        lambda x: F.where(F.exp(_plane(x)) <= 0, _number(x, 0.0), _put_largest(F.relu(_plane(x)), _plane(x)[..., :1, :2])),
        None,
    ),
    "a sum over one axis of put": Row(
        "", lambda x: F.sum(_put_largest(_plane(x)), 3), ("reshape", "slice", "max_pool2d_put", "sum"), special=False
    ),
    "a slice of most elements": Row("", lambda x: (x + x)[:, 1:], ("add", "slice")),
    "zero minus": Row("", lambda x: 0.0 - x, ("sub",)),
    "one over": Row("", lambda x: 1.0 / x, ("div",)),
    "minus negative zero": Row("", lambda x: x + (-0.0), ("add",)),
    "times zero": Row("", lambda x: x * 0.0, ("mul",)),
    "x minus x": Row("", lambda x: x - x, ("sub",)),
    "x over x": Row("", lambda x: x / x, ("div",)),
    "a permutation": Row("", lambda x: x.T, ("permute",)),
    "a sum over an axis with values": Row(
        "", lambda x: F.sum(F.broadcast_to(_row(x), (2, 3)), 1), ("slice", "broadcast_to", "sum")
    ),
    "a sum of some repeats and some values": Row(
        "", lambda x: F.sum(F.broadcast_to(_row(x), (2, 3))), ("slice", "broadcast_to", "sum")
    ),
    "a cast": Row("", lambda x: F.astype(x, np.float64), ("cast",)),
    "outer product": Row(
        "outer product",
        lambda x: F.expand_dims(x[0], 1) @ F.expand_dims(x[1], 0),
        ("slice", "reshape", "slice", "reshape", "mul"),
    ),
    "times a column": Row("times a column", lambda x: x @ F.expand_dims(x[0], 1), None),
    "turned, times a column": Row("times a column", lambda x: x.T @ F.expand_dims(x[:, 0], 1), None),
    "row times": Row("row times", lambda x: F.expand_dims(x[:, 0], 1).T @ x, None),
    "row times, turned": Row("row times", lambda x: F.expand_dims(x[0], 1).T @ x.T, None),
    "a batch of one": Row("", lambda x: F.expand_dims(x[0], 0) @ x.T, ("slice", "reshape", "permute", "matmul")),
    "the outer product of a batch of one": Row(
        "",
        lambda x: F.expand_dims(x[0], 0).T @ F.expand_dims(x[1], 0),
        ("slice", "reshape", "permute", "slice", "reshape", "matmul"),
    ),
    "minus one that broadcasts": Row("", lambda x: _row(x) * -np.ones((2, 1), np.float32), ("slice", "mul")),
}

STABLE: dict[str, Row] = {
    "log of softmax": Row("log of softmax", lambda x: F.log(F.softmax(x)), ("log_softmax",)),
    "log of sigmoid": Row("log of sigmoid", lambda x: F.log(F.sigmoid(x)), None),
    "log of a sum of exp": Row("log of a sum of exp", lambda x: F.log(F.sum(F.exp(x), 1)), ("logsumexp",)),
    "log1p": Row("log1p", lambda x: F.log(1.0 + x), ("log1p",)),
    "bag": Row("bag", lambda x: F.sum(_gather(x, [[0, 1], [1, 1]]), 1), ("gather_sum", "reshape")),
    "bag of means": Row("bag", lambda x: F.mean(_gather(x, [[0, 1], [1, 1]]), 1, keepdims=True), None),
    "log1p, turned": Row("log1p", lambda x: F.log(x + 1.0), ("log1p",)),
    "exp of log-softmax": Row("exp of log-softmax", lambda x: F.exp(F.log_softmax(x)), ("softmax",)),
    "softmax": Row("softmax", lambda x: F.exp(x - F.logsumexp(x, 1, keepdims=True)), None),
    "softmax, of all": Row("softmax", lambda x: F.exp(x - F.logsumexp(x, (0, 1), keepdims=True)), None),
    "few scores": Row("few scores", lambda x: attention(x, x, x, 0.5, False), None, special=False),
    "few scores, backward": Row(
        "few scores, backward",
        lambda x: apply(
            REGISTRY["attention_gradient"], x, x, x, x, scale=0.5, causal=True, masked=False, rate=0.0, of_mask=False
        ),
        None,
        special=False,
    ),
    # what must not fire
    "exp of another logsumexp": Row("", lambda x: F.exp(x * 2.0 - F.logsumexp(x, 1, keepdims=True)), None),
    "exp of one along another axis": Row("", lambda x: F.exp(x - F.logsumexp(x[:, :2], 0, keepdims=True)[:, :1]), None),
    "a sum over a part of a bag": Row("", lambda x: F.sum(_gather(x, [[0, 1], [1, 1]]), 0), ("gather", "sum")),
    "a sum over what was gathered": Row("", lambda x: F.sum(_gather(x, [1, 1]), 1), ("gather", "sum")),
    "log of two plus": Row("", lambda x: F.log(2.0 + x), ("add", "log")),
    "log of a sum of squares": Row("", lambda x: F.log(F.sum(F.square(x), 1)), ("square", "sum", "log")),
    "log of a broadcast one plus": Row("", lambda x: F.log(x[0, 0] + np.ones(3, np.float32)), ("slice", "add", "log")),
}


def _row(x: Symbol) -> Symbol:
    return x[0]


def _gather(x: Symbol, index: list) -> Symbol:
    return apply(REGISTRY["gather"], x, np.array(index), axis=0)


def _added_to_zeros(x: Symbol) -> Symbol:
    zeros = append(x.graph, constant, (), constant_of(np.zeros((4, *x.shape[1:]), x.dtype)))
    return apply(REGISTRY["index_add"], zeros, x, np.array([1, 3]))


def _put(values: Symbol, x: Symbol, index: Any) -> Symbol:
    return apply(REGISTRY["put_add"], values, x, np.array(index), axis=0)


def _number(x: Symbol, value: float) -> Symbol:
    """A constant as a symbol of x's graph."""
    return append(x.graph, constant, (), constant_of(np.float32(value)))


def rewritten(row: Row, rules: tuple) -> tuple[Bench, Node, Graph, Node, list[tuple[str, str]]]:
    b = Bench()
    written = row.write(b.feed(value=row.value)).node
    graph, moved = specialize(b.graph, [written], {})
    before = moved[written]
    if rules is ALGEBRA:
        graph, moved = expand(graph, [before])
        before = moved[before]
    log: list[tuple[str, str]] = []
    graph, moved = simplify(graph, [before], rules, log)
    return b, written, graph, moved[before], log


def check(row: Row, rules: tuple, rtol: float = 0.0) -> None:
    b, written, graph, result, log = rewritten(row, rules)
    verify(graph, static=True)
    fired = {name for name, _ in log}
    assert row.rule in fired if row.rule else not fired, log
    assert row.after is None or tuple(n.op.name for n in graph.nodes if not n.op.leaf) == row.after, graph
    leaves = {n: row.value for n in graph.nodes if n.op.leaf == "placeholder"}
    assert_close(interpret(graph, [result], leaves)[result], b.expected(Symbol(b.graph, written))[0][0], rtol)


@pytest.mark.parametrize("name", ROWS)
def test_law(name: str):
    check(ROWS[name], ALGEBRA)


@pytest.mark.parametrize("name", STABLE)
def test_stabilising_law(name: str):
    check(STABLE[name], STABILIZING, 1e-6)


def test_every_law_has_a_row():
    tested = {row.rule for row in (*ROWS.values(), *STABLE.values())} | {rule.name for rule in EXCHANGES}
    elsewhere = {"cast", "rows added", "logarithms of sums", *(rule.name for rule in FACTORS)}  # with what they are rules of
    assert {rule.name for rule in (*ALGEBRA, *STABILIZING)} - elsewhere <= tested


def test_exchanges_of_one_process_and_averages():
    b = Bench()
    x, members = b.feed(4, 3), {"group_number": 7, "size": 1}
    y = apply(all_reduce_op, x, reduction="sum", **members)
    z = apply(all_gather_op, y, x, **members)
    _, moved = simplify(b.graph, [z.node], STABILIZING)
    assert (moved[z.node].op.name, moved[z.node].inputs[0]) == ("reshape", moved[x.node])
    several = members | {"size": 2}
    first, second = (apply(all_reduce_op, x, reduction="avg", **several) for _ in range(2))
    third = apply(all_reduce_op, x, first, reduction="avg", **several)
    _, moved = simplify(b.graph, [first.node, second.node, third.node], STABILIZING)
    assert {moved[y.node].op.name for y in (first, second, third)} == {"div"}
    sums = [moved[y.node].inputs[0] for y in (first, second, third)]
    assert len({*sums}) == 3
    assert sums[2].inputs == (moved[x.node], sums[0])


ADDED = {
    "minus": (lambda w, x: w - _put(x, w, [1, 3]), True),
    "plus, scaled twice": (lambda w, x: _put(x, w, [1, 1]) * 0.5 / x[0, 0] + w, True),
    "plus, negative": (lambda w, x: w + -_put(x, w, [1, 1]), True),
    "joined": (lambda w, x: w - (_put(x, w, [1, 1]) + _put(x, w, [2, 1])), True),
    "two axes of one row each": (lambda w, x: w + _put(x[:, None], w, [[1], [1]]), True),
    "no row": (lambda w, x: w + _put(x[:0], w, np.zeros(0, np.int64)), True),
    "to a result": (lambda w, x: w * 2.0 - _put(x, w, [1, 1]), False),
    "from a variable": (lambda w, x: _put(x, w, [1, 1]) - w, False),
    "scaled element by element": (lambda w, x: w - w * _put(x, w, [1, 1]), False),
}


@pytest.mark.parametrize("name", ADDED)
def test_rows_are_added_to_variables(name: str):
    write, fires = ADDED[name]
    b = Bench()
    w = b.variable(4, 3)
    b.assign(w, write(w, b.feed(value=POSITIVE)))
    plan = b.check(rtol=1e-6)
    assert ("rows added" in dict(plan.rewrites)) is fires, plan.rewrites
    assert any("written in place by the kernel that computes index_add" in note for note in plan.notes) is fires


def test_rows_are_added_to_a_copy_where_the_old_value_is_needed():
    b = Bench()
    w = b.variable(4, 3)
    b.assign(w, w - _put(b.feed(value=POSITIVE), w, [1, 3]))
    plan = b.check(F.exp(w), w, rtol=1e-6)
    assert "rows added" in dict(plan.rewrites)


@pytest.mark.parametrize(
    ("write", "value", "expected"),
    [
        (lambda x: F.log(F.softmax(x)), [[0.0, 200.0, 0.0]], [[-200.0, 0.0, -200.0]]),
        (lambda x: F.log(F.sigmoid(x)), [[-200.0, 0.0, 200.0]], [[-200.0, -np.log(2), 0.0]]),
        (lambda x: F.log(F.sum(F.exp(x))), [[500.0, 500.0]], 500 + np.log(2)),
        (lambda x: F.log(1.0 + x), [[1e-12, -1e-12]], [[1e-12, -1e-12]]),
    ],
)
def test_stabilised_values_survive_where_the_plain_formula_does_not(write, value, expected):
    b = Bench()
    y = write(b.feed(value=np.array(value, np.float32)))
    plain = b.expected(y)[0][0]
    (stable,) = b.plan(y).run(b.arrays, {})
    assert_close(stable, np.asarray(expected, np.float32), 1e-6)
    assert not np.allclose(plain, stable, rtol=1e-6, atol=0.0)


def test_simplifying_twice_changes_nothing():
    for row in ROWS.values():
        _, _, graph, result, _ = rewritten(row, ALGEBRA)
        log: list[tuple[str, str]] = []
        simplify(graph, [result], ALGEBRA, log)
        assert not log, (row.rule, log)


def test_a_plan_lists_the_rules_that_fired():
    b = Bench()
    plan = b.check(F.log(F.softmax(b.feed(4, 3))) * 1.0)
    assert {name for name, _ in plan.rewrites} >= {"log of softmax", "times one"}
    assert "1 x log of softmax (at log)" in plan.explain()


def test_rewriting_stops_at_feeds():
    """y = x * x; z = exp(y), with y fed: z comes from the fed value."""
    b = Bench()
    x = b.feed(value=np.float32(3))
    y = x * x
    z = F.exp(y)
    program = Program(b.graph, [z.node], [x.node, y.node])
    (value,) = program.run([np.float32([3]).reshape(()), np.zeros((), np.float32)], {})
    assert value == 1
