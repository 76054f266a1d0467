"""References of plans to the arrays of variables."""

from __future__ import annotations

import gc
import sys
import weakref
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

import staticgrad as sg
from staticgrad.compiler.runtime import plan_memory
from staticgrad.compiler.runtime.plan_memory import references


def test_references_are_those_of_plans():
    w = sg.zeros(3)
    array = w._data

    def step(x):
        w.add_(x)
        return x * 2

    first, second = sg.compile(step), sg.compile(step)
    assert references(array) == 0
    first(sg.ones(3))
    assert references(array) == 2
    second(sg.ones(3))
    assert references(array) == 4
    w.data = sg.zeros(3)
    first(sg.ones(3))
    assert references(array) == 2
    assert references(w._data) == 2
    del first, second
    gc.collect()
    assert references(array) == references(w._data) == 0


def test_another_thread_makes_plans_meanwhile(monkeypatch):
    monkeypatch.setattr(plan_memory, "plans", weakref.WeakValueDictionary())

    class Plan:
        builder = SimpleNamespace(cell_buffers={})
        results = SimpleNamespace(copies=())
        bound: ClassVar[dict] = {}

    def meanwhile(frame, event, arg):
        """At each line of the table's code, where the interpreter may turn to the thread that has finished a kernel."""
        if frame.f_code.co_filename == weakref.__file__ and len(kept) < 50:
            kept.append(Plan())
            plan_memory.made(kept[-1])
        return meanwhile

    kept = [Plan()]
    plan_memory.made(kept[0])
    before = sys.gettrace()
    sys.settrace(meanwhile)
    try:
        assert references(np.zeros(1)) == 0
    finally:
        sys.settrace(before)
    assert len(kept) > 1
