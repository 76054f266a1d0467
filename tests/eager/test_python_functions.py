"""Methods that call Python for every element, or ask where elements are in memory."""

from __future__ import annotations

import pytest

import staticgrad as sg


def test_apply_and_map_change_a_tensor():
    x = sg.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = x.t()
    assert y.apply_(lambda v: v * 10) is y
    assert x.tolist() == [[10, 20], [30, 40]]
    x.map_(sg.ones(2, 2), lambda a, b: a - b)
    assert y.tolist() == [[9, 29], [19, 39]]


def test_what_they_refuse():
    w = sg.ones(2, requires_grad=True)
    with pytest.raises(sg.GradientError, match="apply_"):
        (w * 2).apply_(abs)
    with pytest.raises(sg.ShapeError, match="map_: shapes differ"):
        sg.ones(2).map_(sg.ones(3), max)


def test_places_in_memory():
    x = sg.zeros(3, 4)
    assert [x.storage_offset(), x[1].storage_offset(), x[1:, 2].storage_offset()] == [0, 4, 6]
    assert x[1].is_set_to(x[1])
    assert not x[1].is_set_to(x[2])
    assert not x.is_set_to(x.t())


def test_functions_that_are_methods_too():
    x = sg.tensor([0.3, 2.0])
    assert x.hardshrink().tolist() == [0, 2]
    assert x.polygamma(1).tolist() == sg.polygamma(1, x).tolist()
    assert not x.is_inference()
