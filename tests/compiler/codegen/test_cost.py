"""Arithmetic and bytes of kernels, counted on their loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from staticgrad.compiler.codegen.printers import Cost
from staticgrad.compiler.execute.explain import cost
from staticgrad.compiler.execute.plan import Plan
from staticgrad.operators import F, Symbol
from staticgrad.ops.pointwise import TRANSCENDENTAL
from tests.compiler.helpers import Bench


def kernel_costs(plan: Plan) -> list[Cost]:
    return [cost(row) for row in plan.instructions if row.kernel is not None]


R, C = 300, 20

CASES: dict[str, tuple[Callable[[Bench], Symbol], int, int]] = {  # result, flops, elements of float32 moved
    "elementwise": (lambda b: b.feed(R, C) * b.feed(R, C) + 1.5, 2 * R * C, 3 * R * C),
    "transcendental": (lambda b: F.atan(b.feed(R, C)), TRANSCENDENTAL * R * C, 2 * R * C),
    "bias": (lambda b: b.feed(R, C) + b.feed(C), R * C, 2 * R * C + C),
    "an operand read twice": (lambda b: (x := b.feed(R, C)) * x, R * C, 2 * R * C),
    "a scalar": (lambda b: b.feed(R, C) * b.feed(), R * C, 2 * R * C + 1),
    "a column": (lambda b: b.feed(R, C) * b.feed(R, 1), R * C, 2 * R * C + R),
    "sums of rows": (lambda b: F.sum(b.feed(R, 1000) * 2, 1), 2 * R * 1000, R * 1001),
}


@pytest.mark.parametrize("name", CASES)
def test_cost(name: str):
    write, flops, elements = CASES[name]
    b = Bench()
    [found] = kernel_costs(b.plan(write(b)))
    # Row and chunk bookkeeping is small beside the elements.
    assert flops <= found.flops <= 1.02 * flops
    assert 4 * elements <= found.bytes <= 1.02 * 4 * elements + 64


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [1, 100, 1000])
def test_all_chunks_and_strips_together_are_the_rows(rows: int, threads: int, monkeypatch: pytest.MonkeyPatch):
    """A softmax and a sum over columns walk chunks, strips and tiles of rows; each element is counted once in each phase."""
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.get_num_threads", lambda: threads)
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.PARALLEL_WORK", 0)
    b = Bench()
    plan = b.plan(F.sum(F.softmax(b.feed(rows, 40)), 0))
    [found] = kernel_costs(plan)
    per_element = 1 + (1 + TRANSCENDENTAL) + 1 + 1 + 1  # max; exp(x - max); sum; quotient; sum over rows
    recomputed = 1 + TRANSCENDENTAL
    assert per_element * rows * 40 <= found.flops
    assert found.flops <= (per_element + recomputed) * rows * 40 + 30 * (rows + 40 * (rows // 64 + 2 * threads + 1))


def test_a_gather_reads_the_rows_that_it_takes():
    b = Bench()
    table, numbers = b.feed(10_000, 32), b.feed(value=np.arange(8))
    [found] = kernel_costs(b.plan(F.take(table, numbers, 0) * 2))
    assert found.bytes <= 8 * 32 * 4 * 2 + 8 * 8


def test_explain_and_profile_say_what_a_row_costs():
    b = Bench()
    plan = b.check(F.exp(b.feed(R, C)))
    flops, size = TRANSCENDENTAL * R * C, 8 * R * C
    assert f"{size:>10,d} B {flops:>12,d} flop" in plan.explain()
    row = plan.graph.nodes[0]
    assert (row["cost"], row["bytes"]) == (flops, size)
    profile = plan.profile(10)
    assert profile.costs == [Cost(flops, size)]
    assert "Gflop/s" in str(profile)
