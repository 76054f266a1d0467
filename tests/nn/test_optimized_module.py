"""Modules under `sg.compile`."""

from __future__ import annotations

import copy

import pytest

import staticgrad as sg
from staticgrad import nn, optim


def test_a_compiled_module_is_a_module_with_the_module_as_its_child():
    inner = nn.Sequential(nn.Linear(3, 2), nn.Dropout())
    model = sg.compile(inner)
    assert isinstance(model, nn.Module)
    assert model._orig_mod is inner
    names = ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert list(model.state_dict()) == [name for name, _ in model.named_parameters()] == names
    model.load_state_dict(model.state_dict())
    assert list(nn.Sequential(model).state_dict()) == ["0." + name for name in names]
    assert repr(model).startswith("OptimizedModule(\n  (_orig_mod): Sequential(\n")
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    model.eval()
    assert (model.training, inner.training, inner[1].training) == (False, False, False)
    model(sg.ones(1, 3)).sum().backward()
    optimizer.step()
    assert model[0].bias.grad.tolist() == [1, 1]
    assert sum(p.numel() for p in model.parameters()) == 8
    assert len(model) == len(list(model)) == 2
    assert model.plan is model.forward.plan
    copied = copy.deepcopy(model)
    with sg.no_grad():
        inner[0].weight.zero_()
        inner[0].bias.zero_()
    assert model(sg.ones(1, 3)).tolist() == [[0, 0]] != copied(sg.ones(1, 3)).tolist()


def test_members_are_those_of_the_module():
    inner = nn.Linear(3, 2)
    inner.name = "mine"
    model = sg.compile(inner)
    model.scale = 2
    assert (inner.scale, model.name) == (2, "mine")
    del model.scale
    assert not hasattr(inner, "scale")
    with pytest.raises(AttributeError, match="missing"):
        model.missing  # noqa: B018
    seen = []
    model.register_forward_hook(lambda module, args, output: seen.append(module))
    model(sg.ones(1, 3))
    assert seen == [model]


def test_a_module_compiled_in_place_stays_what_it_is():
    model = nn.Linear(3, 2)
    expected = model(sg.ones(1, 3))
    model.compile(fullgraph=True)
    assert list(model.state_dict()) == ["weight", "bias"]
    copied = copy.deepcopy(model)
    with sg.no_grad():
        model.weight.zero_()
    assert sg.allclose(copied(sg.ones(1, 3)), expected)
    assert model(sg.ones(1, 3)).tolist() == [model.bias.tolist()]
