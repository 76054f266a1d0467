"""The observer of a trace: reads that Python's lookup makes through descriptors."""

from __future__ import annotations

import functools

import numpy as np

import staticgrad as sg

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
