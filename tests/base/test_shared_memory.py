"""Tensors in memory that processes share."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import sys

import numpy as np
import pytest

import staticgrad as sg

METHODS = ["spawn", "forkserver", "fork"]


def add(x: sg.Tensor, part: sg.Tensor, model: sg.nn.Module) -> None:
    with sg.no_grad():
        part.add_(1.0)
        model.weight.copy_(sg.full((2, 3), 5.0))
    sys.exit(int(not (x.is_shared() and part.is_shared() and model.weight.requires_grad)))


@pytest.mark.parametrize("method", METHODS)
def test_a_process_writes_what_another_one_reads(method: str):
    context = multiprocessing.get_context(method)
    x, model = sg.zeros(3, 4).share_memory_(), sg.nn.Linear(3, 2)
    assert model.share_memory() is model
    process = context.Process(target=add, args=(x, x.t()[1:3, 1], model))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert x.tolist() == [[0.0] * 4, [0.0, 1.0, 1.0, 0.0], [0.0] * 4]
    assert model.weight.detach().unique().tolist() == [5.0]


def test_values_stay_and_copies_are_of_this_process():
    x = sg.arange(6.0).reshape(2, 3)
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert x.share_memory_().is_shared()
    assert x[1].is_shared()
    assert x.untyped_storage().is_shared()
    for other in (x.clone(), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert other.tolist() == x.tolist()
        assert not other.is_shared()
    assert sg.zeros(0).share_memory_().tolist() == []


def test_training_in_shared_memory_gives_the_same_bits():
    def trained(shares: bool, compiled: bool) -> np.ndarray:
        sg.manual_seed(0)
        model, x = sg.nn.Linear(4, 1), sg.randn(8, 4)
        if shares:
            model.share_memory()
        optimizer = sg.optim.Adam(model.parameters(), lr=0.1)

        def step() -> None:
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()

        run = sg.compile(step) if compiled else step
        for _ in range(4):
            run()
        assert model.weight.is_shared() == shares
        return model.weight.detach().numpy()

    for compiled in (False, True):
        np.testing.assert_array_equal(trained(True, compiled), trained(False, compiled))


def test_graphs_have_no_memory_to_share():
    with sg.Graph().as_default(), pytest.raises(sg.GraphError, match="share_memory_"):
        sg.placeholder(sg.float32, (2,)).share_memory_()
