"""Native calls of op records: their instructions, and where operands are copied first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.ir import REGISTRY, Clear, Copy, Gemm, Layout, Native, Node, Routine
from staticgrad.operators import F, apply
from tests.compiler.helpers import Bench


def put(b: Bench, values: Any, rows: int, *shape: int) -> Any:
    return apply(REGISTRY["put_add"], values, b.feed(rows, *shape), b.feed(value=np.array([2, 0, 2])), axis=0)


def picked(b: Bench, table: Any) -> Any:
    return apply(REGISTRY["pick"], table, b.feed(value=np.array([1, 0, 1])), axis=0)


def two_sums(x: Any) -> Any:
    return F.cumsum(x, 1) + F.cumsum(x, 0)


CASES: dict[str, tuple[Callable[[Bench], Any], list[str]]] = {
    "rows as they lie": (lambda b: put(b, b.feed(3, 4), 5, 4), ["zero", "scatter_add"]),
    "rows apart": (lambda b: put(b, b.feed(6, 4)[::2], 5, 4), ["zero", "scatter_add"]),
    "one row, repeated": (lambda b: put(b, F.broadcast_to(b.feed(4), (3, 4)), 5, 4), ["zero", "scatter_add"]),
    "wide rows, shared by threads": (lambda b: put(b, b.feed(3, 40), 5, 40), ["scatter_add"]),
    "elements along the last axis": (
        lambda b: apply(REGISTRY["put_add"], b.feed(4, 3), b.feed(4, 5), b.feed(value=np.array([2, 0, 2])), axis=1),
        ["zero", "scatter_add"],
    ),
    "elements picked along the last axis": (
        lambda b: apply(REGISTRY["pick"], b.feed(5, 4), b.feed(value=np.array([1, 0, 1])), axis=1),
        ["gather"],
    ),
    "rows of other axes": (lambda b: put(b, b.feed(4, 3).T, 5, 4), ["zero", "copy", "scatter_add"]),
    "a table": (lambda b: picked(b, b.feed(2, 4)), ["gather"]),
    "a transposed table": (lambda b: picked(b, b.feed(4, 2).T), ["copy", "gather"]),
    "sums along an axis": (lambda b: F.cumsum(b.feed(3, 4), 1), ["cumsum"]),
    "sums along several rows": (lambda b: F.cumsum(b.feed(7, 5), 1), ["cumsum"]),
    "sums along several rows in float64": (lambda b: F.cumsum(b.feed(6, 5, dtype=np.float64), 1), ["cumsum"]),
    "sums of a transposed operand": (lambda b: F.cumsum(b.feed(4, 3).T, 1), ["copy", "cumsum"]),
    "an operand that two instructions need in rows": (
        lambda b: two_sums(b.feed(4, 3).T),
        ["copy", "cumsum", "cumsum", "add"],
    ),
    "rows added to a feed": (
        lambda b: apply(REGISTRY["index_add"], b.feed(5, 4), b.feed(2, 4), b.feed(value=np.array([1, 1]))),
        ["copy", "index_add"],
    ),
    "rows added to an intermediate value": (
        lambda b: -apply(REGISTRY["index_add"], F.cumsum(b.feed(5, 4), 0), b.feed(2, 4), b.feed(value=np.array([1, 1]))),
        ["cumsum", "index_add", "neg"],
    ),
    "an element of each column of a leaf": (
        lambda b: F.take_along_axis(b.feed(5, 4), b.feed(value=np.array([[1, 0, 4, 1]])), 0),
        ["gather"],
    ),
    "an element of each row of a leaf": (
        lambda b: F.take_along_axis(b.feed(5, 4), b.feed(value=np.array([[1], [0], [3], [1], [2]])), 1),
        ["gather"],
    ),
    "an element of each row of a computed value": (
        lambda b: F.take_along_axis(F.exp(b.feed(5, 4)), b.feed(value=np.array([[1], [0], [3], [1], [2]])), 1),
        ["exp+eq+where+sum"],
    ),
    "a checked index": (lambda b: b.feed(5, 4)[b.feed(value=np.array([-1, 2]))], ["gather"]),
    "joined operands": (lambda b: F.concatenate([b.feed(2, 3), b.feed(4, 3)], 0), ["copy", "copy"]),
    "a product": (lambda b: F.matmul(b.feed(3, 4), b.feed(4, 2)), ["3x4x2"]),
}


@pytest.mark.parametrize("name", CASES)
def test_instructions(name: str):
    make, expected = CASES[name]
    b = Bench()
    fetch = make(b)
    plan = b.check(fetch)
    assert [row.name for row in plan.instructions if not row.check] == expected, plan.explain()
    assert not plan.host_calls


def test_all_native_ops_hand_over_calls():
    """No op is known to the lowering by its name."""
    calls = Routine | Gemm | Copy | Clear
    b = Bench()
    nodes: list[Node] = [make(b).node for make, _ in CASES.values()]
    seen = 0
    for node in nodes:
        if isinstance(node.op.emit, Native):
            planned = node.op.emit.plan(node, [Layout.contiguous(i.type.shape) for i in node.inputs])
            assert planned is not None
            assert all(isinstance(call, calls) for call in planned)
            seen += 1
    assert seen > 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_wide_rows_are_those_of_a_sum_in_every_run(dtype: type):
    """Rows that no index names are 0 though memory is not cleared first, and a single -0.0 is 0.0."""
    rng = np.random.default_rng(0)
    summed = sg.compile(lambda g, like, index: apply(REGISTRY["put_add"], g, like, index, axis=0), wait=True)
    like = np.ones((50, 33), dtype)
    for picked in (0, 7, 7, 200):
        values, index = rng.integers(-1, 2, (picked, 33)).astype(dtype) * dtype(-1), rng.integers(0, 50, picked)
        expected = np.zeros_like(like)
        np.add.at(expected, index, values)
        found = summed(*map(sg.from_numpy, (values, like, index))).numpy()
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.bool_])
def test_values_that_a_broadcast_repeats_are_copied(dtype: type):
    """Along all axes, along the columns, along the rows, and along an axis between others."""
    b = Bench()
    values = [b.feed(*shape, dtype=dtype) for shape in [(), (5, 1), (1, 7), (3, 1, 4), (3, 4, 1)]]
    targets = [(5, 7), (5, 7), (5, 7), (3, 6, 4), (3, 4, 6)]
    spread = [F.broadcast_to(F.where(x == x, x, x), shape) for x, shape in zip(values, targets, strict=True)]
    b.check(*spread, *[F.concatenate([y, y], 0) for y in spread])
