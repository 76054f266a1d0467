"""The example of user passes: what its pass changes, and its critical path."""

from __future__ import annotations

import sys
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import graph_passes

    yield graph_passes
    sys.modules.pop("graph_passes", None)


def test_the_pass_removes_the_divisions_that_the_step_wrote(example):
    plain, batch = example.training_step()
    passed, _ = example.training_step([example.reciprocals])
    losses = [[float(step(*batch)) for _ in range(5)] for step in (plain, passed)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    before, after = (example.operations(step.graph()) for step in (plain, passed))
    assert before["div"] - after["div"] >= 2
    assert after["mul"] > before["mul"]


def test_the_longest_chain_is_networkx_s(example):
    longest = example.LongestChain()
    step, batch = example.training_step([longest])
    step(*batch)
    dag = step.graph("simplify").dag
    assert nx.is_path(dag, longest.nodes)
    heaviest = dict.fromkeys(dag, 0)
    for node in nx.topological_sort(dag):
        heaviest[node] = max((heaviest[before] + node.type.size for before in dag.pred[node]), default=0)
    assert sum(node.type.size for node in longest.nodes[1:]) == max(heaviest.values())


def test_it_prints_both(example, capsys):
    example.main()
    out = capsys.readouterr().out
    assert "reciprocals, after specialize" in out
    assert "longest chain: " in out
    assert "critical path: " in out
