"""Data pipes: methods that classes register, and what a loader makes of them."""

from __future__ import annotations

import pytest

from staticgrad.utils import data as D


class Numbers(D.IterDataPipe):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


@pytest.fixture(autouse=True)
def _names(monkeypatch):
    monkeypatch.setattr(D.IterDataPipe, "functions", {})
    monkeypatch.setattr(D.MapDataPipe, "functions", {})


def test_a_registered_class_is_a_method_of_pipes_and_loads_in_batches():
    @D.functional_datapipe("scaled")
    class Scaled(D.IterDataPipe):
        def __init__(self, source, factor):
            self.source, self.factor = source, factor

        def __iter__(self):
            return (self.factor * x for x in self.source)

    pipe = Numbers(4).scaled(2).scaled(factor=5)
    assert isinstance(pipe, Scaled)
    assert [batch.tolist() for batch in D.DataLoader(pipe, batch_size=2)] == [[0, 10], [20, 30]]
    assert not hasattr(D.MapDataPipe(), "scaled")


def test_map_pipes_have_names_of_their_own():
    @D.functional_datapipe("first")
    class First(D.MapDataPipe):
        def __init__(self, source):
            self.source = source

        def __getitem__(self, key):
            return self.source[key][0]

    assert First([[3, 4]]).first is not None
    assert First([[3, 4]])[0] == 3


def test_names_that_are_taken_and_other_classes_are_refused():
    D.functional_datapipe("again")(Numbers)
    with pytest.raises(ValueError, match="Unable to add DataPipe function name again as it is already taken"):
        D.functional_datapipe("again")(Numbers)
    with pytest.raises(TypeError, match="can only decorate IterDataPipe or MapDataPipe"):
        D.functional_datapipe("list")(list)
    with pytest.raises(AttributeError, match="'Numbers' object has no attribute 'missing'"):
        Numbers(1).missing  # noqa: B018
