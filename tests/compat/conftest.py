"""Every test begins with an empty default graph."""

from __future__ import annotations

import pytest

import staticgrad as sg


@pytest.fixture(autouse=True)
def empty_graph():
    sg.reset_default_graph()
    yield
    sg.reset_default_graph()
