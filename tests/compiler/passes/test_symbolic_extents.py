"""Arithmetic with symbols agrees with that of numbers, and what depends on a value is on record."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from staticgrad.compiler.passes.symbolic_extents import Conditions, Filler, SymbolicExtent, Unfollowed

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


ASKED: dict[str, Callable[[Any], Any]] = {
    "text": str, "repr": repr, "format": lambda n: f"{n} rows", "text of a shape": lambda n: str((n, 2)),
    "bits": lambda n: n.bit_length(), "and": lambda n: n & 3, "or": lambda n: 1 | n, "inverted": lambda n: ~n,
    "shift": lambda n: n << 1, "power": lambda n: n**2, "root": lambda n: n**0.5, "round": round, "ceil": math.ceil,
    "pair": lambda n: divmod(20, n)[0], "real part": lambda n: n.real, "float": float, "percent": lambda n: "%d" % n,  # noqa: UP031
}  # fmt: skip


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_trace_sees_a_number(ask: Callable[[Any], Any]):
    record = Conditions()
    n = record.symbol("n", 6)
    record.exposed = True
    assert ask(n) == ask(6)


def test_a_trace_can_not_take_an_extent_for_a_key():
    record = Conditions()
    n = record.symbol("n", 6)
    hash(n)
    record.exposed = True
    for look_up in (hash, {}.get, {6}.__contains__, lambda n: {n: 1}):
        record.unfollowed = ""
        with pytest.raises(Unfollowed, match="an extent is a key"):
            look_up(n)
        assert record.unfollowed == "an extent is a key"


def test_arrays_do_not_compute_with_an_extent():
    n = Conditions().symbol("n", 6)
    for compute in (
        lambda: np.ones(3) * n,
        lambda: n * np.ones(3),
        lambda: n + np.float32(2),
        lambda: np.float32(2) - n,
        lambda: np.sqrt(n),
    ):
        with pytest.raises(Unfollowed, match="NumPy computes with an extent"):
            compute()
    assert not hasattr(n, "__array__")


def test_copies_are_the_extent_and_pickles_the_number():
    n = Conditions().symbol("n", 6)
    assert copy.copy(n) is n
    assert copy.deepcopy([n])[0] is n
    assert type(pickle.loads(pickle.dumps(n))) is int


def test_expressions_move_to_another_record():
    record, other = Conditions(), Conditions()
    n = record.symbol("n", 6)
    found = [(n + 1) * n, n // 4, n % 4]
    assert not n < 3
    m = other.symbol("n", 9)
    values = record.evaluated([m])
    assert not isinstance(values, str)
    moved = [values[x._number] for x in found]
    assert moved[0] is (m + 1) * m
    assert moved[1] is m // 4
    assert [x._value for x in moved] == [90, 2, 1]
    assert other.conditions == []


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
