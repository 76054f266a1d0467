"""The tables of calls: what is used stays, entries and bytes are bounded, and `report` tells what is there."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager.calls import call_cache
from staticgrad.eager.calls.call_cache import CallCache, shared
from staticgrad.eager.calls.kernels import PlannedCall
from staticgrad.eager.calls.report import report
from staticgrad.eager.calls.routes import USES
from staticgrad.eager.execution import PLANS
from staticgrad.eager.grad_mode import modes
from staticgrad.nn import functional as F
from tests.helpers import known


class Held(NamedTuple):
    nbytes: int


@pytest.mark.parametrize(("most", "room", "size"), [(8, 1000, 0), (1000, 80, 10), (8, 80, 10)])
def test_what_is_used_stays_while_others_come_and_go(most: int, room: int, size: int):
    table = CallCache(most, room)
    table["hot"] = hot = Held(size)
    for i in range(500):
        table[i] = Held(size)
        assert table["hot"] is hot
        assert table[i] is not None
    entries = table.everything()
    assert len(entries) <= 2 * most
    assert sum(value.nbytes for value in entries.values()) <= 2 * room
    assert table.dropped >= 500 - 2 * 8


def test_a_plan_larger_than_the_room_is_kept_alone():
    table = CallCache(8, 100)
    for i in range(5):
        table[i] = Held(1000)
        assert table[i] == Held(1000)
    assert len(table.everything()) <= 2


def test_misses_are_keys_that_are_nowhere():
    table = CallCache(2)
    table["a"] = 1
    assert (table["a"], table["b"], table.misses) == (1, None, 1)
    table["b"], table["c"] = 2, 3  # "a" and "b" are the older generation
    assert (table["a"], table.misses) == (1, 1)


def test_the_memory_of_plans_is_counted():
    w = sg.ones(33, 65, requires_grad=True)
    with sg.eager_kernels(wait=True):
        F.layer_norm(w, (65,)).sum().backward()
    (call,) = [
        call for key, call in known(PlannedCall).items() if getattr(key[0], "name", "") == "layer_norm" and (33, 65) in key
    ]
    assert call.nbytes == call.plan.memory.arena + call.use.reverse.plan.memory.arena


def test_programs_with_no_end_of_shapes_keep_few(monkeypatch: pytest.MonkeyPatch):
    """Every kind of call has entries in the two tables, and nothing else grows."""
    monkeypatch.setattr(modes.now, "calls", CallCache(24))
    monkeypatch.setattr(shared, "most", 24)
    monkeypatch.setattr(PLANS, "most", 24)
    with sg.eager_kernels(wait=True):
        for n in range(1, 40):
            w = sg.ones(3, n, requires_grad=True)
            loss = F.gelu(sg.cat([w, w * n], 0).narrow(0, 0, 2) @ w.T).softmax(-1).sum()
            loss.backward()
            assert w.grad is not None
            sg.hstack([w] * n)
    assert len(modes.now.calls.everything()) <= 48
    assert len(shared.everything()) <= 48
    assert len(PLANS.everything()) <= 48


def test_threads_count_for_themselves_and_share_what_is_made():
    x = sg.ones(3, 7)
    tables: list[CallCache] = []

    def run() -> None:
        with sg.eager_kernels(wait=True):
            F.gelu(x)
        tables.append(modes.now.calls)

    for _ in range(2):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    first, second = [[call for call in table.everything().values() if isinstance(call, PlannedCall)] for table in tables]
    assert tables[0] is not tables[1]
    assert len(first) == 1
    assert first == second


def test_report_tells_what_computes_each_call(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(modes.now, "calls", CallCache(100))
    monkeypatch.setattr(call_cache, "runs", call_cache.Counter())
    x = sg.ones(3, 11, 7)
    for _ in range(USES + 5):
        sg.flip(x, (0, 2))
    sg.flip(x, (1,))
    with sg.eager_kernels(wait=False):
        F.elu(x, 1.5)
    with sg.eager_kernels(wait=True):
        for _ in range(3):
            F.celu(x, 0.5)
        sg.linalg.svd(sg.eye(3))
    found: dict[str, Any] = {row.what: row for row in report().rows}
    assert found["flip 3x11x7 0 2"][1:] == ("route", 5, 0)
    assert found["flip 3x11x7 1"][1:] == (f"the function itself, 1 of {USES} calls", 0, 0)
    assert found["elu 3x11x7 1.5"].state == "NumPy, 1 of 16 calls"
    assert found["celu 3x11x7 0.5"][1:3] == ("plan", 3)
    assert found["linalg_svd 3x3"].state == "NumPy: kernels have no part in it, or not all"
    facts = report().facts["thread"]
    assert facts["entries"] == len(modes.now.calls.everything())
    assert np.sign(facts["misses"]) == 1
