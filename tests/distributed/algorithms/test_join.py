"""Loops of different lengths, in one process. `checks.py` has those of two."""

from __future__ import annotations

import pytest

import staticgrad as sg
import staticgrad.distributed as dist
from staticgrad import nn
from staticgrad.distributed.algorithms.join import Join, Joinable, JoinHook


@pytest.fixture(autouse=True)
def _world():
    dist.init_process_group()
    yield
    dist.destroy_process_group()


class Counted(Joinable):
    """Says what was asked of it."""

    join_process_group = None

    def __init__(self):
        super().__init__()
        self.told = []

    def join_hook(self, **kwargs):
        self.told.append(kwargs)
        return self.Hook(self)

    class Hook(JoinHook):
        def __init__(self, of):
            self.of = of

        def main_hook(self):
            self.of.told.append("main")

        def post_hook(self, is_last_joiner):
            self.of.told.append(is_last_joiner)


def test_a_process_alone_is_the_last():
    first, second = Counted(), Counted()
    with Join([first, second], scale=2):
        assert Join.notify_join_context(first).result()[0].item() == 1
        assert Join.notify_join_context(second) is None
    assert first.told == second.told == [{"scale": 2}, True]
    assert Join.notify_join_context(first) is None
    with pytest.raises(KeyError), Join([first]):
        raise KeyError
    with Join([first], enable=False):
        assert Join.notify_join_context(first) is None
    assert first.told[2:] == [{}, {}]


def test_misuse():
    other = Counted()
    other.join_process_group = dist.group.WORLD
    with pytest.raises(sg.ArgumentError, match="at least one joinable"):
        Join([])
    with pytest.raises(sg.ArgumentError, match="multiple process groups"):
        Join([Counted(), other])


def test_a_module_takes_over_its_own_values():
    model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    before = model.module.weight.item()
    with model.join(divide_by_initial_world_size=False):
        model(sg.ones(3, 1)).sum().backward()
    assert model.module.weight.item() == before
    assert model.module.weight.grad.item() == 3
