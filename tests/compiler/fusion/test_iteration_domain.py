"""The space of a union, found from what the two groups were, is that of all their nodes from nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from staticgrad.autodiff.reverse import gradients
from staticgrad.compiler.fusion import fuse
from staticgrad.compiler.fusion.iteration_domain import GroupDomain, Union, domain_of, united
from staticgrad.compiler.fusion.node_facts import FusionFailure, Layouts
from staticgrad.compiler.passes.specialize import functionalize
from staticgrad.compiler.pipeline import compile_plan
from staticgrad.ir import Node
from staticgrad.operators import F, Symbol
from tests.compiler.helpers import Bench, without_machine_code
from tests.compiler.programs import build, random_program


def outcome(shared: GroupDomain) -> tuple[Any, ...]:
    domain = shared.domain
    return domain.rows, domain.columns, domain.rank, domain.post


def from_nothing(small: GroupDomain, large: GroupDomain, layouts: Layouts, position: Mapping[Node, int]) -> Any:
    members = sorted({*small.domain.rank, *large.domain.rank}, key=position.__getitem__)
    try:
        return outcome(domain_of(members, layouts))
    except FusionFailure as reason:
        return str(reason)


@pytest.mark.parametrize("start", range(0, 100, 10))
def test_unions_of_random_programs(monkeypatch: pytest.MonkeyPatch, start: int):
    without_machine_code(monkeypatch)
    compared = 0

    def watched(small: GroupDomain, large: GroupDomain, layouts: Layouts, position: Mapping[Node, int]) -> Union:
        nonlocal compared
        compared += 1
        expected = from_nothing(small, large, layouts, position)
        if isinstance(expected, str):
            with pytest.raises(FusionFailure) as caught:
                united(small, large, layouts, position)
            assert str(caught.value) == expected
            raise caught.value
        union = united(small, large, layouts, position)
        assert (*union.extents, union.rank, union.post) == expected
        for node, (kind, post) in union.changed.items():
            domain = small.domain if node in small.domain.rank else large.domain
            assert (kind, post) == (domain.rank[node], node in domain.post) != (union.rank[node], node in union.post)
        commit = union.commit

        def committed() -> None:
            commit()
            assert outcome(large) == expected

        union.commit = committed  # type: ignore[method-assign]
        return union

    monkeypatch.setattr(fuse, "united", watched)
    for seed in range(start, start + 10):
        built, _ = build(random_program(random.Random(seed).choice))
        ready = functionalize(built.graph, built.fetches, built.feeds, built.effects)
        compile_plan(ready, {node: node.type for node in ready.feeds})
    assert compared > 20


# scans ----------------------------------------------------------------------------------------------------------------


SCANS: dict[str, tuple[Callable[[Bench], Symbol], int]] = {  # and how many rows the plan has
    "scaled": (lambda b: F.cumsum(b.feed(6, 40), 1) * b.feed(40) + b.feed(6, 1), 1),
    "of a vector": (lambda b: F.exp(F.cumsum(b.feed(40), 0)), 1),
    "float64": (lambda b: F.cumsum(b.feed(6, 40, dtype=np.float64), 1) - 1, 1),
    "integers": (lambda b: F.cumsum(b.feed(6, 40, dtype=np.int64), 1) * 2, 1),
    "booleans": (lambda b: F.cumsum(b.feed(value=np.arange(40) % 3 == 0), 0) * 2, 2),  # a cast comes before it
    "zeros of both signs": (lambda b: 1 / F.cumsum(b.feed(value=np.array([-0.0] * 20 + [0.0] * 20, np.float32)), 0), 1),
    "read by a reduction": (lambda b: F.sum(F.square(F.cumsum(b.feed(6, 40), 1)), 1), 1),
    "before and after a reduction": (lambda b: (y := F.cumsum(b.feed(6, 40), 1)) - F.amax(y, 1, keepdims=True), 1),
    "in a tile of rows": (lambda b: F.softmax(F.cumsum(b.feed(70, 40), 1)), 1),
    "with its operand": (lambda b: F.cumsum((x := b.feed(6, 40)), 1) * x, 1),
    "of a strided operand": (lambda b: F.cumsum(F.permute(b.feed(40, 6), (1, 0)), 1) * 2, 1),
    "of a long row": (lambda b: F.sum(F.cumsum(b.feed(2, 9000), 1) * 1e-3, 1), 1),
    "of a computed operand": (lambda b: F.cumsum(F.exp(b.feed(6, 40)), 1) * 2, 2),
    "two": (lambda b: F.cumsum(b.feed(6, 40), 1) * F.cumsum(b.feed(6, 40), 1), 1),
    "of short rows": (lambda b: F.cumsum(b.feed(6, 5), 1) * 2, 2),
    "along another axis": (lambda b: F.cumsum(b.feed(6, 40), 0) * 2, 2),
    "a result": (lambda b: F.cumsum(b.feed(6, 40), 1), 1),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", SCANS)
def test_scans(name: str, threads: int, monkeypatch: pytest.MonkeyPatch):
    """A running sum along the columns is part of the kernel that reads it, where its operand lies in memory."""
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.get_num_threads", lambda: threads)
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.PARALLEL_WORK", 0)
    write, rows = SCANS[name]
    b = Bench()
    plan = b.check(write(b))
    assert len([row for row in plan.instructions if row.kind != "fold"]) == rows, plan.explain()


def test_a_scan_rounds_as_the_routine_does():
    """Totals are float64: the kernel has the routine's bits."""
    results = []
    for kernels in (0, 1):
        b = Bench()
        x = F.cumsum(b.feed(value=np.random.default_rng(0).random((2, 100_000), np.float32)), 1)
        plan = b.plan(x * 2 if kernels else x)
        assert plan.kernels == kernels
        results.append(plan.run(b.arrays, {})[0] / (1 + kernels))
    np.testing.assert_array_equal(*results)


def test_a_scan_is_differentiable_twice():
    b = Bench()
    x = b.feed(4, 20)
    y = F.sum(F.square(F.cumsum(F.square(x), 1)) * b.feed(20))
    (first,) = gradients([y], [x])
    (second,) = gradients([F.sum(F.square(first))], [x])
    b.check(y, first, second, rtol=1e-4)
