"""Lazy modules: their shapes from the first input or from a state dict, and the plain modules that they become."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.errors import TraceError, UninitializedError

pytestmark = pytest.mark.usefixtures("refusing")

ROWS: list[tuple[Callable[[], Any], Callable[[], Any], tuple[int, ...]]] = [
    (lambda: nn.LazyLinear(3), lambda: nn.Linear(5, 3), (2, 5)),
    (lambda: nn.LazyConv1d(4, 3, bias=False), lambda: nn.Conv1d(6, 4, 3, bias=False), (2, 6, 7)),
    (lambda: nn.LazyConv2d(4, 3, padding=1, groups=2), lambda: nn.Conv2d(6, 4, 3, padding=1, groups=2), (2, 6, 5, 5)),
    (lambda: nn.LazyConv3d(4, 2), lambda: nn.Conv3d(3, 4, 2), (3, 4, 4, 4)),
    (lambda: nn.LazyConvTranspose1d(4, 3, 2), lambda: nn.ConvTranspose1d(6, 4, 3, 2), (2, 6, 7)),
    (lambda: nn.LazyConvTranspose2d(4, 3), lambda: nn.ConvTranspose2d(6, 4, 3), (2, 6, 5, 5)),
    (lambda: nn.LazyConvTranspose3d(4, 2), lambda: nn.ConvTranspose3d(3, 4, 2), (2, 3, 4, 4, 4)),
    (lambda: nn.LazyBatchNorm1d(), lambda: nn.BatchNorm1d(4), (3, 4)),
    (lambda: nn.LazyBatchNorm2d(eps=0.1), lambda: nn.BatchNorm2d(4, eps=0.1), (3, 4, 2, 2)),
    (lambda: nn.LazyBatchNorm3d(affine=False), lambda: nn.BatchNorm3d(4, affine=False), (3, 4, 2, 2, 2)),
    (lambda: nn.LazyInstanceNorm1d(), lambda: nn.InstanceNorm1d(4, affine=True, track_running_stats=True), (4, 5)),
    (lambda: nn.LazyInstanceNorm2d(), lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True), (3, 4, 2, 2)),
    (lambda: nn.LazyInstanceNorm3d(), lambda: nn.InstanceNorm3d(4, affine=True, track_running_stats=True), (3, 4, 2, 2, 2)),
]
IDS = [type(row[1]()).__name__ for row in ROWS]


@pytest.mark.parametrize(("lazy", "plain", "shape"), ROWS, ids=IDS)
def test_the_first_input_makes_it_a_plain_module(lazy, plain, shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    sg.manual_seed(5)
    wanted = plain()
    module = lazy()
    held = list(module.parameters())
    sg.manual_seed(5)
    result = module(sg.tensor(x))
    assert type(module) is type(wanted)
    assert repr(module) == repr(wanted)
    assert [p is q for p, q in zip(held, module.parameters(), strict=True)] == [True] * len(held)
    np.testing.assert_array_equal(result.detach().numpy(), wanted(sg.tensor(x)).detach().numpy())
    for name, value in wanted.state_dict().items():
        np.testing.assert_array_equal(module.state_dict()[name].numpy(), value.numpy())
    if held:
        result.sum().backward()
        optim.SGD(held, lr=0.1).step()


@pytest.mark.parametrize(("lazy", "plain", "shape"), ROWS, ids=IDS)
def test_a_state_dict_brings_the_shapes(lazy, plain, shape):
    x = sg.tensor(np.random.default_rng(0).normal(size=shape).astype(np.float32))
    source, module = plain().eval(), nn.Sequential(lazy()).eval()
    module.load_state_dict({f"0.{name}": value for name, value in source.state_dict().items()})
    np.testing.assert_array_equal(module(x).detach().numpy(), source(x).detach().numpy())
    assert type(module[0]) is type(source)


def test_before_the_first_input():
    module = nn.LazyLinear(3)
    assert isinstance(module.weight, nn.UninitializedParameter)
    assert isinstance(module.weight, nn.Parameter)
    assert module.has_uninitialized_params()
    with pytest.raises(UninitializedError, match="Can't access the shape of an uninitialized parameter"):
        _ = module.weight.shape
    twin = copy.deepcopy(module)
    twin(sg.ones(2, 4))
    assert module.has_uninitialized_params()
    with pytest.raises(TraceError, match="call the module once on an example before"):
        sg.compile(module.__call__)(sg.ones(2, 4))
    module(sg.ones(2, 6))
    assert sg.compile(module.__call__)(sg.ones(2, 6)).shape == (2, 3)


def test_in_a_graph():
    module = nn.LazyLinear(3)
    with sg.Graph().as_default(), sg.Session() as sess:
        x = sg.placeholder(np.float32, [None, 4])
        y = module(x)
        sess.run(sg.global_variables_initializer())
        assert sess.run(y, {x: np.ones((2, 4), np.float32)}).shape == (2, 3)
    assert type(module) is nn.Linear
