"""Products of which one slice is read are products of slices; others are left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from staticgrad.operators import F
from tests.compiler.helpers import Bench

CASES: dict[str, tuple[Callable[[Any, Any], list[Any]], bool]] = {
    "columns": (lambda a, b: [F.exp((a @ b)[:, 3:])], True),
    "rows": (lambda a, b: [F.exp((a @ b)[1:4])], True),
    "both, turned": (lambda a, b: [(b.T @ a.T)[2:, :-1]], True),
    "of a batch": (lambda a, b: [(F.stack([a, a + 1]) @ b)[:, 1:3, 2:4]], True),
    "none of the rows": (lambda a, b: [(a @ b)[:0]], True),
    "the same slice twice": (lambda a, b: [(a @ b)[:, 3:], (a @ b)[:, 3:] * 2], True),
    "read as a whole": (lambda a, b: [(a @ b)[:, 3:], F.exp(a @ b)], False),
    "a result": (lambda a, b: [(a @ b)[:, 3:], a @ b], False),
    "two slices": (lambda a, b: [(a @ b)[:, 3:], (a @ b)[:, :3]], False),
    "one row without its axis": (lambda a, b: [(a @ b)[2]], False),
    "steps": (lambda a, b: [(a @ b)[::2]], False),
    "of a batch, some": (lambda a, b: [(F.stack([a, a + 1]) @ b)[:1]], False),
}


@pytest.mark.parametrize("name", CASES)
def test_slices(name: str):
    write, narrowed = CASES[name]
    b = Bench()
    plan = b.check(*write(b.feed(5, 6), b.feed(6, 7)), rtol=1e-5)
    assert ("slice of a product" in dict(plan.rewrites)) is narrowed
