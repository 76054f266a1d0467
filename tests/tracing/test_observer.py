"""The observer of a trace: reads that Python's lookup makes through descriptors."""

from __future__ import annotations

import functools

import numpy as np

import staticgrad as sg
from staticgrad import garbage
from staticgrad.tracing.observer.object_ages import ObjectAges

X = np.ones(3, np.float32)


class Scale:
    def __init__(self) -> None:
        self.factor = 2.0

    @functools.cached_property
    def squared(self) -> float:
        return self.factor**2


def test_a_cached_property_that_the_trace_computes_first():
    scale = Scale()

    @sg.compile
    def step(x):
        return x * scale.squared

    for _ in range(3):
        np.testing.assert_array_equal(step(X).numpy(), 4 * X)
    assert step.recompiles == ["first call", "same arguments, but scale.squared is new"]
    del scale.__dict__["squared"]
    scale.factor = 3.0
    np.testing.assert_array_equal(step(X).numpy(), 9 * X)


def test_an_object_at_the_address_of_one_that_ended_is_new():
    """Such a list was returned itself, with values of the trace."""
    ages, young = ObjectAges(), [[i] for i in range(20)]
    before = set(map(id, young))
    garbage.pause()
    try:
        ages.start()
        young.clear()
        made = [[i] for i in range(200)]
        ages.stop()
        same = [x for x in made if id(x) in before]
        assert same
        assert not any(map(ages.is_old, same))
    finally:
        garbage.resume()
