"""Profiles: the values that instructions are timed on; host calls, of which each has a row with its time; variables keep their
values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler.execute import profile as profiling


def test_host_calls_are_timed(tmp_path: Path):
    w = sg.tensor(np.eye(3, dtype=np.float32), requires_grad=True)

    @sg.compile
    def step(x):
        with sg.no_grad():
            w.add_(1)
        return sg.linalg.svdvals(x).sum() + sg.linalg.eigvalsh(x).sum() + w.sum()

    step(np.eye(3, dtype=np.float32))
    before = w.detach().numpy().copy()
    found = sg.profile(step, repeats=10)
    np.testing.assert_array_equal(w.detach().numpy(), before)
    hosts = {name: us for kind, name, us in found.instructions if kind == "host"}
    assert {"linalg_svdvals", "linalg_eigvalsh"} <= {*hosts}
    assert min(hosts.values()) > 0
    assert found.untimed == 0
    assert "not timed" not in str(found)
    found.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {*hosts} <= {event["name"] for event in events if event.get("cat") == "host"}


def test_a_call_that_refuses_the_numbers_is_counted():
    def never(x):
        return sg.linalg.cholesky(-x @ x.T - 1).sum()

    step = sg.compile(lambda x: sg.where(x.sum() > 1e9, never(x), sg.zeros(())))
    try:
        step(np.eye(3, dtype=np.float32))
    except sg.errors.StaticgradError:
        return
    assert sg.profile(step, repeats=1).untimed == 1


def test_instructions_are_timed_on_values_of_a_run(monkeypatch: pytest.MonkeyPatch):
    """Positions are from everywhere in a table, logarithms are of positive numbers, and results are those of a run."""
    table = sg.tensor(np.linspace(1, 2, 5000 * 8).reshape(5000, 8).astype(np.float32), requires_grad=True)

    @sg.compile
    def step(index, x):
        rows = table[index]
        (rows.log() * x.sqrt()).sum().backward()
        with sg.no_grad():
            table.sub_(0.1 * table.grad)
            table.grad = None
        return rows.log().sum()

    step(sg.arange(64), sg.ones(64, 8))
    before = table.detach().numpy().copy()
    seen: list[tuple[list[np.ndarray], dict[int, float]]] = []
    kept = profiling._round

    def watched(plan, feeds, runs, counts):
        assert runs
        found = kept(plan, feeds, runs, counts)
        seen.append((list(feeds), found))
        return found

    monkeypatch.setattr(profiling, "_round", watched)
    found = step.profile(20)
    np.testing.assert_array_equal(table.detach().numpy(), before)
    assert len(seen) == 2
    index, x = seen[0][0]
    assert 1000 < index.max() < 5000
    assert len(np.unique(index)) > 50
    assert ((x >= 0.25) & (x < 0.75)).all()
    assert all(us > 0 for _, _, us in found.instructions)


def test_a_plan_that_refuses_random_numbers_is_timed_on_zeros_or_without_a_run():
    step = sg.compile(lambda i, j, table: table[i // j] + 1.0)
    step(sg.full((50,), 90), sg.full((50,), 30), sg.ones(4, 3))
    found = step.profile(10)
    assert len(found.instructions) == len(step.plan.native)


def test_a_term_of_a_convolution_is_two_operations_as_that_of_a_product():
    step = sg.compile(lambda x, w: sg.nn.functional.conv2d(x, w))
    step(sg.ones(2, 8, 10, 10), sg.ones(16, 8, 3, 3))
    found = step.profile(10)
    flops = sum(cost.flops for cost in found.costs)
    terms = 2 * 16 * 8 * 8 * 8 * 3 * 3
    assert 2 * terms <= flops < 2.2 * terms
