"""Arithmetic with symbols agrees with that of numbers, and what depends on a value is on record."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from staticgrad.compiler.passes.symbolic_extents import Conditions, Filler, SymbolicExtent

ARITHMETIC: tuple[Callable[[Any, Any], Any], ...] = (
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, max, min,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(50))
def test_random_expressions(seed: int):
    choose = random.Random(seed)
    now = [choose.randint(1, 20) for _ in range(2)]
    record = Conditions()
    symbols = [record.symbol(name, value) for name, value in zip("ab", now, strict=True)]

    def compute(numbers: list[Any]) -> list[Any]:
        choices, found = random.Random(seed + 1), [*numbers, 1, 3, 8]
        for _ in range(12):
            operate, x, y = choices.choice(ARITHMETIC), choices.choice(found), choices.choice(found)
            found.append(operate(x, y if operate not in (operator.floordiv, operator.mod) else y * y + 1))
        return found

    found = compute(list(symbols))
    assert [x._value if type(x) is SymbolicExtent else x for x in found] == compute(now)
    for _ in range(30):
        other = [choose.randint(0, 25) for _ in range(2)]
        values = record.fill(other)
        if not isinstance(values, str):
            assert [Filler(values).number(x) for x in found] == compute(other)


def test_equal_expressions_are_one_object():
    n = Conditions().symbol("n", 6)
    assert math.prod((n, 10)) is 10 * n
    assert (n * 10) // 5 is n + n
    assert (n + 1) * (n - 1) is n * n - 1
    assert type(n - n + 3) is int


QUESTIONS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "equal": (lambda n: n == 6, 7),
    "unequal": (lambda n: n != 7, 7),
    "less": (lambda n: n < 7, 7),
    "true": (lambda n: bool(n), 0),
    "range": (lambda n: list(range(n)), 7),
    "an array": (lambda n: np.zeros((n, 2)), 7),
    "a list of so many": (lambda n: [0] * n, 7),
    "an item": (lambda n: "abcdefghi"[n], 7),
    "a real number": (lambda n: n * 0.5, 7),
    "a root": (lambda n: math.sqrt(n), 7),
    "text with a format": (lambda n: f"{n:3d}", 7),
    "divisible": (lambda n: n % 4 == 2, 7),
}


@pytest.mark.parametrize(("ask", "other"), QUESTIONS.values(), ids=QUESTIONS)
def test_an_answer_is_a_condition(ask: Callable[[Any], Any], other: int):
    record = Conditions()
    n = record.symbol("n", 6)
    assert not isinstance(record.fill([other]), str)
    ask(n)
    assert isinstance(record.fill([other]), str)
    assert not isinstance(record.fill([6]), str)


def test_text_gets_its_numbers_later():
    record = Conditions()
    n = record.symbol("n", 6)
    text = f"{n} rows of {n * 2}"
    values = record.fill([9])
    assert not isinstance(values, str)
    assert Filler(values).text(text) == "9 rows of 18"


def test_a_condition_that_does_not_hold_is_told():
    record = Conditions()
    n = record.symbol("x.shape[0]", 6)
    assert not n * 4 < 20
    assert record.fill([4]) == "4 * x.shape[0] < 20 is true now"


def test_it_passes_for_an_integer():
    n = Conditions().symbol("n", 6)
    assert isinstance(n, int)
    assert n.__class__ is int
