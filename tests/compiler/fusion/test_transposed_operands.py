"""Which transposed operands elementwise kernels read from a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from staticgrad.compiler.fusion.node_facts import LARGE
from staticgrad.operators import F
from tests.compiler.helpers import Bench

assert LARGE <= 260 * 270

CASES: dict[str, tuple[Callable[[Bench], Any], list[str]]] = {
    "a result": (lambda b: b.feed(260, 270).T + 1.0, ["copy", "add"]),
    "two orders": (lambda b: b.feed(260, 270).T * b.feed(270, 260), ["copy", "mul"]),
    "two orders, one value later": (lambda b: F.exp(b.feed(260, 270).T) * b.feed(270, 260), ["copy", "exp+mul"]),
    "before a softmax": (lambda b: F.sum(b.feed(260, 270).T + b.feed(270, 260), -1), ["copy", "add+sum"]),
    "one order, reduced": (lambda b: F.sum(F.exp(b.feed(260, 270).T), 1), ["exp+sum"]),
    "one order, left in it": (lambda b: F.exp(b.feed(260, 270).T).T, ["exp"]),
    "small": (lambda b: b.feed(26, 27).T + 1.0, ["add"]),
    "repeated": (lambda b: F.broadcast_to(b.feed(270), (260, 270)).T + 1.0, ["add"]),
    "a result that is a view": (lambda b: F.exp(b.feed(260, 270))[:, 1:].T, ["exp", "copy"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_instructions(name: str):
    make, expected = CASES[name]
    b = Bench()
    plan = b.check(make(b))
    assert [row.name for row in plan.instructions] == expected, plan.explain()
