"""References of plans to the arrays of variables."""

from __future__ import annotations

import gc

import staticgrad as sg
from staticgrad.compiler.execute.bound_arrays import references


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
