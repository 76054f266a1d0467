"""The functions of PyTorch's modules of optimizers: a step of each is that of the optimizer."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.optim.functions import LISTS, PAIRS, SWITCHES

OPTIONS: dict[str, dict[str, Any]] = {
    "Adadelta": {"rho": 0.8},
    "Adagrad": {"lr_decay": 0.1},
    "Adam": {"amsgrad": True, "betas": (0.8, 0.9)},
    "AdamW": {"maximize": True},
    "Adamax": {},
    "ASGD": {"t0": 2.0},
    "NAdam": {"decoupled_weight_decay": True},
    "RAdam": {},
    "RMSprop": {"momentum": 0.9, "centered": True},
    "Rprop": {"etas": (0.4, 1.3)},
    "SGD": {"momentum": 0.9, "dampening": 0.2},
}
KINDS = {kind.__name__: kind for kind in LISTS}
assert OPTIONS.keys() == KINDS.keys()


def gradients(step: int) -> list[sg.Tensor]:
    return [sg.tensor(np.random.default_rng([step, n]).normal(size=n)) for n in (3, 2)]


@pytest.mark.parametrize("name", KINDS)
def test_steps_are_those_of_the_optimizer(name: str):
    options = {"lr": 0.1, **({} if name == "Rprop" else {"weight_decay": 0.01}), **OPTIONS[name]}
    leaves = [sg.ones(n, dtype=sg.float64, requires_grad=True) for n in (3, 2)]
    optimizer = KINDS[name](leaves, **options)
    for leaf, g in zip(leaves, gradients(0), strict=True):
        leaf.grad = g
    optimizer.step()  # which makes the state
    slots = dict(pair.split("=") for pair in LISTS[KINDS[name]].split()) | ({} if name == "SGD" else {"state_steps": "step"})
    lists = {
        word: [optimizer.state[leaf][slot].clone() for leaf in leaves if slot in optimizer.state[leaf]]
        for word, slot in slots.items()
    }
    params = [leaf.detach().clone() for leaf in leaves]
    with sg.as_torch():
        function = getattr(importlib.import_module(f"torch.optim.{name.lower()}"), name.lower())
    given = dict(optimizer.param_groups[0])
    given = {
        key: value for key, value in given.items() if key not in SWITCHES and key in (*options, "eps", "betas", "maximize")
    }
    for option, pair in PAIRS.items():
        if option in given:
            given |= dict(zip(pair, given.pop(option), strict=True))
    for step in (1, 2):
        for leaf, g in zip(leaves, gradients(step), strict=True):
            leaf.grad = g
        optimizer.step()
        assert function(params, gradients(step), *lists.values(), foreach=False, **given) is None
        for i, leaf in enumerate(leaves):
            np.testing.assert_array_equal(params[i].numpy(), leaf.detach().numpy())
            for word, slot in slots.items():
                if lists[word]:
                    np.testing.assert_array_equal(lists[word][i].numpy(), optimizer.state[leaf][slot].numpy())


def test_a_first_step_makes_what_is_none():
    function = importlib.import_module("staticgrad.optim.functions").FUNCTIONS["sgd"]
    buffers, p = [None], sg.ones(2)
    function([p], [sg.ones(2)], buffers, lr=0.5, momentum=0.9, weight_decay=0, dampening=0, nesterov=False, maximize=False)
    assert (p.tolist(), buffers[0].tolist()) == ([0.5, 0.5], [1.0, 1.0])


def test_errors():
    with sg.as_torch():
        from torch.optim._functional import adam
    with pytest.raises(sg.ArgumentError, match="takes 6 lists, got 7"):
        adam([], [], [], [], [], [], [])
    with pytest.raises(sg.ArgumentError, match="lists of parameters and of gradients"):
        adam()
    with pytest.raises(sg.UnsupportedError, match="divide the gradients"):
        adam([], [], [], [], [], [], grad_scale=sg.ones(()))
