"""Calls that run out of memory; `python -m tests.faults.memory 1000` makes many."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.compiler.execute import plan as plans
from staticgrad.tracing import specialization as entries
from tests.processes import ended, start


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_calls_that_need_more_memory_than_there_is():
    out, err = ended(start("from tests.faults.memory import main; main(24, 0)"), 300)
    assert out == "24 right\n", err


def test_gradients_that_are_held_keep_their_values_where_there_is_no_memory_for_others(monkeypatch):
    sg.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    opt = optim.SGD(net.parameters(), lr=0.1)

    @sg.compile
    def step(x):
        loss = (net(x) ** 2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    x = np.ones((5, 3), np.float32)
    step(x)
    held = [p.grad for p in net.parameters()]
    before = [g.numpy().copy() for g in held]
    genuine, left = np.empty, [2]

    def scarce(*args, **options):
        left[0] -= 1
        if left[0] < 0:
            raise MemoryError("no memory")
        return genuine(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(entries.np, "empty", scarce)
        with pytest.raises(MemoryError):
            step(x)
    for _ in range(2):
        step(x)
        assert all((g.numpy() == old).all() for g, old in zip(held, before, strict=True))
    assert all(p.grad is not g for p, g in zip(net.parameters(), held, strict=True))


def test_spare_arrays_are_given_up_before_a_call_fails():
    f = sg.compile(lambda x: x + 1)
    x = sg.zeros(1 << 16)
    for _ in range(3):
        f(x)
    assert any(array is not None for pool in f.plan.results.pools for array in pool)
    plans.give_up_spare()
    assert all(array is None for pool in f.plan.results.pools for array in pool)
    assert f(x).numpy()[0] == 1
