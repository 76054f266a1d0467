"""Tensors under the protocols of other libraries: DLPack, `einops`, pickle of what is compiled."""

from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from tests.helpers import assert_close, raised


@sg.compile
def doubled(x):
    return x + x


class Counter:
    def __init__(self, step: float):
        self.step = step

    @sg.compile
    def add(self, x):
        return x + self.step


def test_compiled_functions_are_pickled():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    x = sg.ones(2)
    module = sg.compile(nn.Linear(2, 1))
    expected = module(x)
    again = pickle.loads(pickle.dumps(module))
    assert_close(again(x), expected)
    assert again.settings == module.settings
    counter = Counter(2.0)
    assert_close(pickle.loads(pickle.dumps(counter.add))(x), counter.add(x))
    optimizer = sg.optim.Adam(module.parameters(), lr=0.1)
    expected.sum().backward()
    optimizer.step()
    for copied in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert_close(copied.state_dict()["state"][0]["exp_avg"], optimizer.state_dict()["state"][0]["exp_avg"])


def test_dlpack_shares_memory_with_numpy():
    x = sg.tensor([1.0, 2.0])
    array = np.from_dlpack(x)
    array[0] = 5
    assert x[0].item() == 5
    back = sg.from_dlpack(array)
    array[1] = 7
    assert back[1].item() == 7
    with raised(sg.GradientError, "Can't export tensors that require gradient"):
        np.from_dlpack(sg.ones(2, requires_grad=True))
    assert x.__dlpack_device__() == (1, 0)


@pytest.mark.oracle
def test_dlpack_shares_memory_with_pytorch():
    torch = pytest.importorskip("torch")
    for theirs in (torch.ones(2, 3), torch.arange(3), torch.ones(2, 3, dtype=torch.float64).T, torch.tensor([True, False])):
        ours = sg.from_dlpack(theirs)
        assert_close(ours, theirs.numpy())
        back = torch.from_dlpack(ours)
        back.zero_()
        assert not theirs.any()
        assert not ours.any()


def test_einops_takes_tensors_of_all_modes():
    einops = pytest.importorskip("einops")
    array = np.arange(48, dtype="float32").reshape(2, 3, 2, 4)
    pattern = "b c h (w q) -> b (h w) (c q)"

    def patches(x):
        return einops.reduce(einops.rearrange(x, pattern, q=2), "b n c -> b c", "max")

    expected = patches(array)
    x = sg.tensor(array, requires_grad=True)
    assert_close(patches(x), expected)
    einops.repeat(x, "b c h w -> b c h w r", r=2).sum().backward()
    assert_close(x.grad, np.full_like(array, 2))
    compiled = sg.compile(patches)
    for rows in (2, 4, 6):
        given = np.resize(array, (rows, 3, 2, 4))
        assert_close(compiled(sg.tensor(given)), patches(given))
    assert compiled.traces == 2  # the second trace serves any number of rows
    with sg.Graph().as_default() as graph:
        fed = sg.placeholder(sg.float32, (None, 3, 2, 4))
        result = patches(fed)
        with sg.Session(graph=graph) as session:
            assert_close(session.run(result, {fed: array}), expected)
    products = einops.einsum(x, x, "b c h w, b c h w -> b")
    assert_close(products, np.einsum("bchw,bchw->b", array, array), 1e-6)


def test_einops_may_be_imported_first_or_last():
    pytest.importorskip("einops")
    asked = "staticgrad as sg, importlib.util; importlib.util.find_spec('einops'); import einops"  # as torch asks, too
    for order in ("einops, staticgrad as sg", "staticgrad as sg, einops", asked):
        program = f"import {order}; print(einops.rearrange(sg.ones(2, 3), 'a b -> b a').shape)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert done.stdout.strip() == "torch.Size([3, 2])", done.stderr


def test_einops_layers_are_modules():
    pytest.importorskip("einops")
    layers = importlib.import_module("einops.layers.staticgrad")
    x = sg.randn(2, 1, 4, 4)
    mixed = layers.EinMix("b f -> b o", weight_shape="f o", bias_shape="o", f=4, o=3)
    model = nn.Sequential(layers.Reduce("b c (h p) w -> b c h w", "max", p=2), layers.Rearrange("b c h w -> b (c h w)"))
    pooled = x.reshape(2, 1, 2, 2, 4).amax(3)
    assert_close(model(x), pooled.reshape(2, 8))
    assert_close(sg.compile(model)(x), pooled.reshape(2, 8))
    y = sg.randn(2, 4)
    assert_close(mixed(y), y @ mixed.weight + mixed.bias, rtol=1e-6)
    assert [name for name, _ in mixed.named_parameters()] == ["weight", "bias"]
    assert repr(model[1]) == "Rearrange('b c h w -> b (c h w)')"
