"""Each test builds a graph of its own."""

import pytest

from staticgrad.static import Graph


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as graph:
        yield graph
