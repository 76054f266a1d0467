"""Exchanges with gradients, in one process: copies."""

from __future__ import annotations

import pytest

import staticgrad as sg
import staticgrad.distributed as dist
from staticgrad.distributed.nn import functional as D


@pytest.fixture(autouse=True)
def _world():
    dist.init_process_group()
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize(
    "exchange",
    [
        D.all_reduce,
        lambda x: D.all_reduce(x, "avg"),
        lambda x: D.reduce(x, 0),
        lambda x: D.broadcast(x, 0),
        lambda x: D.all_gather(x)[0],
        lambda x: D.reduce_scatter(x, [x]),
        lambda x: D.all_to_all([x], [x])[0],
    ],
)
def test_first_and_second_gradients(exchange):
    x = sg.tensor([1.0, 2.0], requires_grad=True)
    y = exchange(x)
    assert y.tolist() == [1, 2]
    (g,) = sg.grad((y**3).sum(), x, create_graph=True)
    assert g.tolist() == [3, 12]
    (h,) = sg.grad(g.sum(), x)
    assert h.tolist() == [6, 12]


def test_sizes():
    with pytest.raises(sg.ShapeError, match="lists of 1 tensors"):
        D.all_to_all([], [sg.ones(2)])
