"""Sums that products compute as they go: where it is done, where it must not be, and what lies in whose memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.operators import F
from tests.compiler.helpers import Bench

DTYPES = [np.float32, np.float64]


def product(b: Bench, *shape: int) -> Any:
    return b.feed(*shape[:-1], 6) @ b.feed(6, shape[-1])


def host(x: Any) -> Any:
    """A use that no kernel takes in."""
    return F.cumsum(x, 0)


CASES: dict[str, tuple[Callable[[Bench], list[Any]], list[str]]] = {
    "a bias": (lambda b: [product(b, 4, 5) + b.feed(5)], ["4x6x5 + x2"]),
    "a bias that comes first": (lambda b: [b.feed(5) + product(b, 4, 5)], ["4x6x5 + x0"]),
    "a bias in a row of its own": (lambda b: [product(b, 4, 5) + b.feed(1, 5)], ["4x6x5 + x2"]),
    "a bias of a batch": (lambda b: [product(b, 3, 4, 5) + b.feed(5)], ["12x6x5 + x2"]),
    "positions of a batch": (lambda b: [product(b, 3, 4, 5) + b.feed(4, 5)], ["4x6x5 x3 + x2"]),
    "rows of something wider": (lambda b: [product(b, 4, 5) + b.feed(4, 9)[:, 2:7]], ["4x6x5 + slice"]),
    "a matrix": (lambda b: [product(b, 20, 40) + b.feed(20, 40)], ["20x6x40 + x2"]),
    "a difference": (lambda b: [b.feed(20, 40) - product(b, 20, 40)], ["-1 * 20x6x40 + x0"]),
    "a factor": (lambda b: [product(b, 20, 40) * 0.5], ["0.5 * 20x6x40"]),
    "a factor of an operand": (lambda b: [(b.feed(4, 6) * 0.5) @ b.feed(6, 5)], ["0.5 * 4x6x5"]),
    "factors of both operands": (lambda b: [(b.feed(4, 6) * 0.5) @ (b.feed(5, 6) * 3.0).mT], ["1.5 * 4x6x5"]),
    "a factor on the way": (lambda b: [b.feed(20, 40) + 0.5 * -product(b, 20, 40)], ["-0.5 * 20x6x40 + x0"]),
    "twice the same": (lambda b: [(x := product(b, 4, 5)) + x], ["2 * 4x6x5"]),
    "two products": (lambda b: [product(b, 4, 5) + product(b, 4, 5)], ["4x6x5", "4x6x5 + add"]),
    "three, and a bias": (
        lambda b: [product(b, 4, 5) + product(b, 4, 5) - product(b, 4, 5) + b.feed(5)],
        ["4x6x5 + x6", "4x6x5 + add", "-1 * 4x6x5 + add"],
    ),
    "another shape of the same memory": (
        lambda b: [F.reshape(product(b, 12, 5), (3, 4, 5)) + b.feed(3, 4, 5)],
        ["12x6x5 + x2"],
    ),
    "one row": (lambda b: [product(b, 1, 5) + b.feed(1, 5)], ["1x6x5 + x2"]),
    "one column": (lambda b: [product(b, 2, 4, 1) + b.feed(2, 4, 1)], ["8x6x1 + x2"]),
    "no rows": (lambda b: [product(b, 0, 5) + b.feed(5)], ["0x6x5 + x2"]),
    "no columns": (lambda b: [product(b, 4, 0) + b.feed(4, 0)], ["4x6x0 + x2"]),
    "no steps": (lambda b: [b.feed(4, 0) @ b.feed(0, 5) + b.feed(5)], ["4x0x5 + x2"]),
    "more work than adding": (lambda b: [F.tanh(product(b, 4, 5) + b.feed(5))], ["4x6x5"]),
    "a factor that is a value": (lambda b: [product(b, 4, 5) * b.feed()], ["4x6x5"]),
    "a bias along columns": (lambda b: [product(b, 4, 5) + b.feed(4, 1)], ["4x6x5"]),
    "turned rows": (lambda b: [product(b, 4, 5) + b.feed(5, 4).mT], ["4x6x5"]),
    "rows from right to left": (lambda b: [product(b, 4, 5) + b.feed(4, 5)[:, ::-1]], ["4x6x5"]),
    "a number": (lambda b: [product(b, 4, 5) + 2.0], ["4x6x5"]),
    "two values to begin with": (lambda b: [product(b, 4, 5) + b.feed(4, 5) + b.feed(5)], ["4x6x5"]),
    "what is added has a factor": (lambda b: [product(b, 4, 5) + 0.5 * b.feed(4, 5)], ["4x6x5"]),
    "a product that is fetched": (lambda b: [(x := product(b, 4, 5)) + b.feed(5), x], ["4x6x5"]),
    "a view of it is fetched": (lambda b: [(x := product(b, 4, 5)) + b.feed(5), x[1:]], ["4x6x5"]),
    "a product that is read elsewhere": (lambda b: [(x := product(b, 4, 5)) + b.feed(5), host(x)], ["4x6x5"]),
    "a product that cancels out": (lambda b: [(x := product(b, 4, 5)) - x], ["4x6x5"]),
    "it is turned around": (lambda b: [F.cumsum(product(b, 4, 5), 0).mT + b.feed(5, 4)], ["4x6x5"]),
    "the product of one is added to the other": (
        lambda b: [host((x := product(b, 4, 5) + b.feed(5)) + x @ b.feed(5, 5))],
        ["4x6x5 + x2", "4x5x5 + add"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_sums_of_products(name: str):
    write, expected = CASES[name]
    b = Bench()
    plan = b.check(*write(b), rtol=1e-4)
    assert [row.name for row in plan.instructions if row.kind == "gemm"] == expected, plan.explain()


@pytest.mark.parametrize("factors", [(1e30, 1e30), (1e-30, 1e-30), (1e30, 1e30, 1e-30), (np.inf,), (np.nan,)])
@pytest.mark.parametrize("value", [0.0, 1e4])
def test_factors_beyond_the_range_stay_apart(factors: tuple[float, ...], value: float):
    """0 * 1e30 * 1e30 is 0; times infinity, which float32 makes of 1e60, it is not a number."""
    b = Bench()
    y = b.feed(value=np.full((4, 6), value, np.float32)) @ b.feed(value=np.ones((6, 5), np.float32))
    for factor in factors:
        y = y * factor
    plan = b.check(y, y + b.feed(5))
    assert [row.name for row in plan.instructions if row.kind == "gemm"] == ["4x6x5"]
    plan = b.check(y)
    assert any("its factor is outside the range of float32" in str(decision) for decision in plan.decisions)


def test_integers_stay_with_the_host():
    b = Bench()
    b.check(b.feed(4, 6, dtype=np.int64) @ b.feed(6, 5, dtype=np.int64) + b.feed(5, dtype=np.int64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_plan_says_what_it_did(dtype: Any):
    b = Bench()
    x, w, v, c = (b.feed(*shape, dtype=dtype) for shape in ((4, 6), (6, 5), (5,), (4, 5)))
    text = b.check((x @ w) * 3.0 + v, rtol=1e-4).explain()
    assert "yes  matmul fused with add: 1 product accumulates into its memory, starting from placeholder" in text
    assert "3 * 4x6x5 + x2" in text
    text = b.check((x @ w) + v + c, rtol=1e-4).explain()
    assert "no   matmul not fused with add: a product can start from one value only" in text


# memory -------------------------------------------------------------------------------------------------------------------


def over(b: Bench, *fetches: Any) -> list[str]:
    plan = b.check(*fetches, rtol=1e-4)
    return [note.split(", ")[0] for note in plan.notes if "written over" in note or "in place" in note or "copied" in note]


def test_a_product_is_added_to_what_nobody_needs_any_more():
    b = Bench()
    assert over(b, host(host(b.feed(4, 5)) + product(b, 4, 5))) == ["add f32[4,5]: written over cumsum"]


def test_a_chain_of_sums_shares_one_memory():
    b = Bench()
    x = host(b.feed(4, 5))
    for _ in range(3):
        x = host(x + x @ b.feed(5, 5))
    assert over(b, x) == []  # each product reads what it would be written over
    y = F.exp(product(b, 4, 5))
    found = over(b, host(y + host(y) @ b.feed(5, 5)))
    assert found == ["exp f32[4,5]: written over matmul", "add f32[4,5]: written over exp"]


HAZARDS: dict[str, Callable[[Bench], list[Any]]] = {
    "it is read again": lambda b: [host((x := host(b.feed(4, 5))) + product(b, 4, 5)), host(x)],
    "it is fetched": lambda b: [host((x := host(b.feed(4, 5))) + product(b, 4, 5)), x],
    "a view of it is fetched": lambda b: [host((x := host(b.feed(4, 5))) + product(b, 4, 5)), x[1:]],
    "it is an operand too": lambda b: [host((x := host(b.feed(5, 5))) + x @ b.feed(5, 5))],
    "it is the other operand too": lambda b: [host((x := host(b.feed(5, 5))) + b.feed(5, 5) @ x.mT)],
    "a later product reads it": lambda b: [host((x := host(b.feed(5, 5))) + product(b, 5, 5) + b.feed(5, 5) @ x)],
    "it is a feed": lambda b: [host(b.feed(4, 5) + product(b, 4, 5))],
    "it is a constant": lambda b: [host(F.add(product(b, 4, 5), np.ones((4, 5), np.float32)))],
    "it is one row for all": lambda b: [host(host(b.feed(1, 5)) + product(b, 4, 5))],
    "it is a part of something": lambda b: [host(host(b.feed(8, 5))[:4] + product(b, 4, 5))],
}


@pytest.mark.parametrize("name", HAZARDS)
def test_a_product_is_not_added_where_it_lies(name: str):
    b = Bench()
    assert over(b, *HAZARDS[name](b)) == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_variable_is_updated_by_a_product(dtype: Any):
    """w - 0.1 x' g, where w lies; not when the product reads it."""
    b = Bench()
    w, x, g = b.variable(20, 40, dtype=dtype), b.feed(8, 20, dtype=dtype), b.feed(8, 40, dtype=dtype)
    b.assign(w, w - 0.1 * (x.mT @ g))
    assert over(b) == ["w: written in place by the kernel that computes sub"]
    b = Bench()
    w = b.variable(20, 20, dtype=dtype)
    b.assign(w, w - 0.1 * (w @ b.feed(20, 20, dtype=dtype)))
    assert over(b) == ["w: copied at the end"]


def test_the_old_value_is_read_before_the_product_is_added():
    b = Bench()
    w, v = b.variable(5, 5), b.variable(5, 5, name="v")
    b.assign(w, w + product(b, 5, 5))
    b.assign(v, v + product(b, 5, 5) + w @ b.feed(5, 5))
    assert over(b, host(w), host(v @ w)) == [f"{name}: written in place by the kernel that computes add" for name in "wv"]


def test_a_loop_adds_products_to_what_it_carries():
    """An explicit Euler step of a linear system, compiled and eager."""
    rng = np.random.default_rng(0)
    y, a, c = (rng.standard_normal(shape).astype(np.float32) for shape in ((12, 5), (5, 5), (12, 5)))

    def steps(y: Any, a: Any, c: Any) -> Any:
        return sg.scan(lambda y, _: ((y + 0.1 * (c @ a)) @ a, y), y, None, length=6)

    compiled = sg.compile(steps)
    for got, expected in zip(compiled(y, a, c), steps(*map(sg.tensor, (y, a, c))), strict=True):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-3, atol=1e-3)
