"""The space of a union, found from what the two groups were, is that of all their nodes from nothing."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from staticgrad.compiler.fusion import fuse
from staticgrad.compiler.fusion.iteration_domain import FusionFailure, GroupDomain, Union, domain_of, united
from staticgrad.compiler.fusion.layout import Layouts
from staticgrad.compiler.passes.functionalize import functionalize
from staticgrad.compiler.pipeline import compile_plan
from staticgrad.ir import Node
from tests.compiler.helpers import without_machine_code
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
        assert (*union.extents, union.kind, union.post) == expected
        for node, (kind, post) in union.changed.items():
            domain = small.domain if node in small.domain.rank else large.domain
            assert (kind, post) == (domain.rank[node], node in domain.post) != (union.kind[node], node in union.post)
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
