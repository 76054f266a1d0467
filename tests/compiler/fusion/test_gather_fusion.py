"""Rows of tables that kernels read where they lie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from staticgrad.autodiff.reverse import gradients
from staticgrad.compiler.backend.kernel_cache import without_comments
from staticgrad.errors import IndexRangeError
from staticgrad.operators import F, Symbol
from tests.compiler.helpers import Bench, on_host, reasons

NUMBERS = np.array([0, 6, 6, -1, 3])


def numbers(b: Bench, value: object = NUMBERS) -> Symbol:
    return b.feed(value=np.asarray(value, np.int64))


def rows(b: Bench, value: object = NUMBERS, columns: int = 20) -> Symbol:
    """Rows of a table of 7."""
    return F.take(b.feed(7, columns), numbers(b, value), 0)


IN_PLACE: dict[str, Callable[[Bench], list[Symbol]]] = {
    "a map": lambda b: [F.tanh(rows(b))],
    "with a bias": lambda b: [F.tanh(rows(b) + b.feed(20))],
    "with other rows": lambda b: [rows(b) * b.feed(5, 20) + b.feed(5, 1)],
    "a softmax": lambda b: [F.softmax(rows(b))],
    "a softmax of many": lambda b: [F.softmax(rows(b, np.arange(150) % 7))],
    "few columns": lambda b: [F.softmax(rows(b, columns=16))],
    "long rows": lambda b: [F.sum(rows(b, columns=9000), 1)],
    "sums over rows": lambda b: [F.sum(F.exp(rows(b)), 0)],
    "a sum over all": lambda b: [F.sum(rows(b))],
    "batches of numbers": lambda b: [F.tanh(rows(b, [[0, 1, 2], [6, -7, 5]])) + b.feed(3, 20)],
    "rows of many axes": lambda b: [F.exp(F.take(b.feed(7, 2, 10), numbers(b), 0))],
    "elements of a vector": lambda b: [F.exp(F.take(b.feed(7), numbers(b), 0))],
    "a matrix of elements": lambda b: [F.exp(F.take(b.feed(7), numbers(b, [[0, 1], [6, 5]]), 0))],
    "two in one kernel": lambda b: [F.take(t := b.feed(7, 20), numbers(b), 0) - F.take(t, numbers(b, NUMBERS[::-1]), 0)],
    "two uses": lambda b: [F.exp(y := rows(b)) + F.tanh(y)],
    "columns of a wider table": lambda b: [F.exp(F.take(b.feed(7, 30)[:, 3:23], numbers(b), 0))],
    "every other row": lambda b: [F.exp(F.take(b.feed(14, 20)[::2], numbers(b), 0))],
    "a transposed table": lambda b: [F.exp(F.take(b.feed(20, 7).T, numbers(b), 0))],
    "integers": lambda b: [F.take(b.feed(7, 20, dtype=np.int64), numbers(b), 0) * 2],
    "truth values": lambda b: [F.where(F.take(b.feed(7, 20, dtype=np.bool_), numbers(b), 0), b.feed(5, 20), 0)],
    "float64": lambda b: [F.exp(F.take(b.feed(7, 20, dtype=np.float64), numbers(b), 0))],
    "no numbers": lambda b: [F.tanh(rows(b, np.zeros(0)))],
    "one number": lambda b: [F.tanh(rows(b, [5]))],
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_read_in_place(name: str):
    b = Bench()
    plan = b.check(*IN_PLACE[name](b), rtol=1e-5)
    assert sorted({row.kind for row in plan.instructions}) == ["check", "kernel"], plan.explain()
    assert plan.kernels == 1


STORED: dict[str, Callable[[Bench], list[Symbol]]] = {
    "it is a result": lambda b: [y := rows(b), F.exp(y)],
    "a product reads it": lambda b: [rows(b) @ b.feed(20, 2)],
    "many read it": lambda b: [F.exp(y := rows(b)), F.tanh(y), F.sum(y)],
    "short rows": lambda b: [F.exp(rows(b, columns=15))],
    "along the last axis": lambda b: [F.exp(F.take(b.feed(3, 7), numbers(b), axis=1))],
    "a single number": lambda b: [F.exp(rows(b, 3))],
    "a table of many axes, turned": lambda b: [F.exp(F.take(F.permute(b.feed(7, 4, 5), (0, 2, 1)), numbers(b), 0))],
    "nobody but the host reads it": lambda b: [on_host(rows(b))],
}


@pytest.mark.parametrize("name", STORED)
def test_gathered(name: str):
    b = Bench()
    plan = b.check(*STORED[name](b), rtol=1e-5)
    assert "gather" in {row.name for row in plan.instructions}, plan.explain()


def test_what_a_kernel_computes_is_not_looked_up_in_it():
    """The exp of a row is not at hand where another row needs it."""
    b = Bench()
    x = b.feed(7, 20)
    plan = b.check(F.exp(x) + F.take(F.exp(x), numbers(b, np.arange(7)[::-1]), 0), rtol=1e-5)
    assert plan.kernels == 2
    assert any("both are read from memory only" in text for text in reasons(plan, False))


def test_rows_that_no_kernel_takes_in_are_gathered():
    """A value per column has no row to look up."""
    b = Bench()
    plan = b.check(F.tanh(b.feed(5, 20) + F.take(b.feed(7), numbers(b, np.arange(20) % 7), 0)), rtol=1e-5)
    assert [row.kind for row in plan.instructions] == ["check", "routine", "kernel"], plan.explain()


@pytest.mark.parametrize("shape", [(7,), (7, 20)])
def test_a_table_is_not_written_while_rows_of_it_are_read(shape: tuple[int, ...]):
    """As many rows are read as the table has: shapes alone don't tell that they are others."""
    b = Bench()
    w = b.variable(*shape)
    b.assign(w, F.take(w, numbers(b, np.arange(7)[::-1]), 0) * 2)
    b.check()


def test_a_temporary_table_is_not_written_over():
    b = Bench()
    x = F.exp(on_host(b.feed(7, 20)))
    b.check(F.tanh(F.take(x, numbers(b, np.arange(7)[::-1]), 0)), rtol=1e-5)


def test_numbers_are_checked_before_anything_is_written():
    b = Bench()
    w = b.variable(5, 20)
    b.assign(w, w + rows(b, [0, 7, 1, 2, 3]))
    before = b.value_of(w).copy()
    with pytest.raises(IndexRangeError, match="index 7 is out of range for axis 0 with extent 7"):
        b.plan().run(b.arrays, b.store)
    np.testing.assert_array_equal(b.value_of(w), before)


def test_the_gradient_is_added_to_the_rows_that_were_read():
    b = Bench()
    table = b.feed(7, 20)
    y = F.sum(F.square(F.tanh(F.take(table, numbers(b), 0))))
    plan = b.check(y, *gradients([y], [table]), rtol=1e-5)
    assert [row.name for row in plan.instructions if row.name == "gather"] == []


def test_another_number_of_rows_shares_the_kernel():
    bodies = set()
    for n in (3, 40):
        b = Bench()
        plan = b.plan(F.softmax(rows(b, np.arange(n) % 7)))
        bodies.add(tuple(without_comments(row.source) for row in plan.instructions if row.kind == "kernel"))
    assert len(bodies) == 1


def test_a_product_plus_rows():
    """Rows that a kernel reads in place are no addend that a product could start from."""
    b = Bench()
    plan = b.check(b.feed(5, 4) @ b.feed(4, 20) + rows(b), rtol=1e-5)
    assert "gather" not in {row.name for row in plan.instructions}, plan.explain()
