"""NumPy's masked arrays: a tensor can't hold the mask, so none becomes one, wherever arrays come in."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import DTypeError, FeedError

MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
SUMMARY = "a masked array can't become a tensor: its mask would be lost"


def ones() -> sg.Tensor:
    return sg.ones(3, dtype=sg.float64)


def placeholder() -> sg.Symbol:
    return sg.placeholder(sg.float64, (3,), name="x")


def feed() -> None:
    with sg.Graph().as_default():
        x = placeholder()
        with sg.Session() as session:
            session.run(x * 2, {x: MASKED})


def in_a_graph(build) -> None:
    with sg.Graph().as_default():
        build()


def called_before() -> None:
    step = sg.compile(lambda x: x * 2)
    step(np.ones(3))
    step(MASKED)


WAYS = {
    "tensor": lambda: sg.tensor(MASKED),
    "tensor of a dtype": lambda: sg.tensor(MASKED, dtype=sg.float32),
    "as_tensor": lambda: sg.as_tensor(MASKED),
    "from_numpy": lambda: sg.from_numpy(MASKED),
    "Tensor": lambda: sg.Tensor(MASKED),
    "a list": lambda: sg.tensor([MASKED, MASKED]),
    "masked": lambda: sg.tensor(np.ma.masked),
    "a list of numbers": lambda: sg.tensor([1.0, np.ma.masked]),
    "nothing masked": lambda: sg.tensor(np.ma.array([1.0])),
    "full": lambda: sg.full((2,), np.ma.masked),
    "operator": lambda: ones() + MASKED,
    "number": lambda: ones() * np.ma.masked,
    "function": lambda: sg.sum(MASKED),
    "NumPy's function": lambda: np.add(ones(), MASKED),
    "index": lambda: ones()[np.ma.array([0, 1], mask=[False, True])],
    "in place": lambda: ones().add_(MASKED),
    "copy_": lambda: ones().copy_(MASKED),
    "fill_": lambda: ones().fill_(np.ma.masked),
    "setitem": lambda: ones().__setitem__(slice(None), MASKED),
    "data": lambda: setattr(ones(), "data", MASKED),
    "constant": lambda: in_a_graph(lambda: sg.constant(MASKED)),
    "symbol": lambda: in_a_graph(lambda: placeholder() + MASKED),
    "Variable": lambda: in_a_graph(lambda: sg.Variable(MASKED)),
    "compiled": lambda: sg.compile(lambda x: x * 2)(MASKED),
    "compiled before": called_before,
    "captured": lambda: sg.compile(lambda x: x * MASKED)(sg.ones(3)),
    "loop": lambda: sg.compile(lambda x: x * 2).loop(np.ma.array(np.ones((4, 3)))),
}


@pytest.mark.parametrize("way", WAYS)
def test_masked_arrays_are_refused(way):
    with pytest.raises(DTypeError) as caught:
        WAYS[way]()
    assert caught.value.summary.endswith(SUMMARY)
    assert "fill it first, x.filled(value)" in str(caught.value)


def test_a_feed_says_for_which_placeholder():
    with pytest.raises(FeedError, match="Cannot feed value of type MaskedArray") as caught:
        feed()
    assert SUMMARY in str(caught.value)


def test_a_filled_array_and_the_mask_beside_it():
    x, mask = sg.tensor(MASKED.filled(0)), sg.tensor(MASKED.mask)
    assert sg.where(mask, 0, x).sum().item() == 4.0
