"""Every test begins with an empty default graph. NumPy runs the plans: kernels have tests of their own."""

from __future__ import annotations

import pytest

import staticgrad as sg


@pytest.fixture(autouse=True)
def empty_graph(interpreted):
    sg.reset_default_graph()
    yield
    sg.reset_default_graph()
