"""Short rows become columns of tiles: any number of rows and columns, operands that repeat, results that later stages read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from staticgrad.compiler.backend.cpu import BYTES
from staticgrad.operators import F, Symbol
from tests.compiler.helpers import Bench


def source(plan: object) -> str:
    return "".join(row.source for row in plan.instructions)  # type: ignore[attr-defined]


def softmax(b: Bench, *shape: int, dtype: type = np.float32) -> list[Symbol]:
    return [F.softmax(b.feed(*shape, dtype=dtype), -1)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 47])
def test_any_number_of_columns(columns: int, dtype: type):
    for rows in (1, 3, 16, 63, 64, 65, 130):
        b = Bench()
        plan = b.check(*softmax(b, rows, columns, dtype=dtype), rtol=1e-5)
        if 1 < columns <= 16:
            assert "turn_rows" in source(plan)
            assert "turn_back" in source(plan)


def heads(b: Bench) -> list[Symbol]:
    """A product with rows that repeat, summed."""
    x, a = b.feed(70, 4, 7), b.feed(4, 7)
    return [F.sum(x * a, -1), F.sum(x * a * 2, -1)]


def between(b: Bench) -> list[Symbol]:
    """Rows that are the same for several."""
    x, a = b.feed(20, 5, 6), b.feed(20, 1, 6)
    return [F.sum(F.exp(x - a), -1)]


def result_read_later(b: Bench) -> list[Symbol]:
    x = b.feed(70, 6)
    second = F.softmax(F.softmax(x) * 3)
    return [F.softmax(second * x), second]


def sums_down(b: Bench) -> list[Symbol]:
    x = b.feed(300, 5)
    y = F.softmax(x)
    return [F.sum(y, 0), F.sum(y * y), y]


def of_class(b: Bench) -> list[Symbol]:
    x, y = b.feed(70, 10), b.feed(70, 1, dtype=np.int64)
    return [F.sum(F.where(F.eq(F.index_along(x, 1), y), F.log_softmax(x), 0), -1)]


def padded(b: Bench) -> list[Symbol]:
    x, y = b.feed(30, 5), b.feed(30, 4)
    return [F.softmax(F.concatenate([F.exp(x), F.exp(y)], 1)), F.sum(F.concatenate([x, y], 1), 1)]


def several_dtypes(b: Bench) -> list[Symbol]:
    x, flags = b.feed(70, 6), b.feed(70, 6, dtype=np.bool_)
    y = F.softmax(F.where(flags, x, -3.0))
    return [y, F.gt(y, 0.2), F.sum(F.astype(flags, np.int64), -1)]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "write", [heads, between, result_read_later, sums_down, of_class, padded, several_dtypes], ids=lambda w: w.__name__
)
def test_programs(write: Callable[[Bench], list[Symbol]], threads: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.get_num_threads", lambda: threads)
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.PARALLEL_WORK", 0)
    b = Bench()
    b.check(*write(b), rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_halves_stay_where_they_are(dtype: type):
    b = Bench()
    plan = b.check(*softmax(b, 70, 6, dtype=dtype), rtol=2e-3)
    assert ("turn_rows" in source(plan)) == (dtype is np.float32)


@pytest.mark.parametrize("rows", [5, 64, 100])
def test_a_variable_that_is_written_in_place(rows: int):
    b = Bench()
    w = b.variable(rows, 6)
    b.assign(w, w - F.softmax(w) * F.sum(w * w, 1, keepdims=True))
    b.check(F.sum(w, 1), rtol=1e-4)


def test_infinite_and_missing_numbers():
    b = Bench()
    rows = np.random.default_rng(0).normal(size=(70, 5)).astype(np.float32)
    rows[3], rows[17, 2], rows[66, 4] = -np.inf, np.nan, np.inf
    x = b.feed(value=rows)
    with np.errstate(all="ignore"):
        b.check(F.amax(x, 1), F.softmax(x), F.sum(x, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [2, 3, 7, 8, 9])
def test_the_columns_of_many_short_rows_are_a_number_in_the_source(columns: int, dtype: type):
    """For few rows, they are an argument, so that other shapes have the same kernel."""
    for rows, many in ((1100, True), (1000, False)):
        b = Bench()
        plan = b.check(b.feed(rows, columns, dtype=dtype) * F.sigmoid(b.feed(rows, 1, dtype=dtype)), rtol=1e-5)
        assert (f"columns = {columns}\n" in source(plan)) is (many and columns <= 8), source(plan)


def padded_gates(b: Bench, columns: int, dtype: type) -> list[Symbol]:
    """Elementwise work along rows that are read at shifted places, and sums down them."""
    x, c = b.feed(9, columns, dtype=dtype), b.feed(9, 1, dtype=dtype)
    y = F.logaddexp(F.concatenate([x[:, 1:], c], 1), x * c)
    return [y, F.sum(F.exp(y), 0)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [2, 5, 15, 16, 17, 21, 31, 32, 33, 50, 64, 65, 100, 250, 511])
def test_rows_that_fill_no_whole_vectors(columns: int, dtype: type):
    """The last vector of dear work has idle lanes where single elements would take a large part of the loop."""
    b = Bench()
    found = source(b.check(*padded_gates(b, columns, dtype), rtol=1e-5 if dtype is np.float32 else 1e-12))
    if BYTES == 64 and dtype is np.float32 and columns != 2:
        assert ("in masked(columns)" in found) == (columns % 32 * 64 > 128 + 3 * columns)
