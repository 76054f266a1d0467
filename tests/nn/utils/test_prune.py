"""Pruning: which elements go, names of parameters and buffers, training of what is left."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.nn.utils import prune
from tests.helpers import assert_close


def layer(*rows, bias=False):
    made = nn.Linear(len(rows[0]), len(rows), bias=bias)
    with sg.no_grad():
        made.weight.copy_(sg.tensor(rows, dtype=sg.float32))
    return made


ROWS = [1.0, -5.0, 2.0], [0.5, 4.0, -3.0]


@pytest.mark.parametrize(
    ("function", "mask"),
    [
        (lambda m: prune.l1_unstructured(m, "weight", 2), [[0, 1, 1], [0, 1, 1]]),
        (lambda m: prune.l1_unstructured(m, "weight", 0.5), [[0, 1, 0], [0, 1, 1]]),
        (lambda m: prune.l1_unstructured(m, "weight", 1, sg.tensor([[9, 8, 7], [6, 5, 4.0]])), [[1, 1, 1], [1, 1, 0]]),
        (lambda m: prune.ln_structured(m, "weight", 1, n=2, dim=0), [[1, 1, 1], [0, 0, 0]]),
        (lambda m: prune.ln_structured(m, "weight", 0.34, n=1, dim=-1), [[0, 1, 1], [0, 1, 1]]),
        (lambda m: prune.custom_from_mask(m, "weight", sg.tensor([[1, 0, 1], [0, 1, 0]])), [[1, 0, 1], [0, 1, 0]]),
        (lambda m: prune.identity(m, "weight"), [[1, 1, 1], [1, 1, 1]]),
        (lambda m: prune.ln_structured(prune.l1_unstructured(m, "weight", 1), "weight", 1, 1, 0), [[1, 1, 1], [0, 0, 0]]),
        (lambda m: prune.l1_unstructured(prune.l1_unstructured(m, "weight", 3), "weight", 2), [[0, 1, 0], [0, 0, 0]]),
    ],
)  # fmt: skip
def test_masks(function, mask):
    model = layer(*ROWS)
    function(model)
    assert model.weight_mask.int().tolist() == mask
    assert_close(model.weight, sg.tensor(ROWS) * sg.tensor(mask))
    assert list(model.state_dict()) == ["weight_orig", "weight_mask"]


def test_random_ones_have_the_number():
    model = prune.random_unstructured(layer(*ROWS), "weight", 4)
    assert model.weight_mask.sum().item() == 2
    assert prune.random_structured(layer(*ROWS), "weight", 1, dim=1).weight_mask.sum(0).tolist().count(0.0) == 1


def test_random_ones_follow_uniform_draws_as_in_pytorch():
    """Those with the largest draws of elements, or the smallest of slices."""
    weight = nn.Linear(4, 3, bias=False)
    sg.manual_seed(3)
    drawn = sg.rand(12).numpy()
    sg.manual_seed(3)
    mask = prune.random_unstructured(weight, "weight", 5).weight_mask.numpy().reshape(-1)
    assert sorted(drawn[mask == 0]) == sorted(drawn)[-5:]
    weight = nn.Linear(4, 3, bias=False)
    sg.manual_seed(3)
    drawn = sg.rand(4).numpy()
    sg.manual_seed(3)
    mask = prune.random_structured(weight, "weight", 1, dim=1).weight_mask.numpy()[0]
    assert int(np.argmin(drawn)) == int(np.argmin(mask))


@pytest.mark.parametrize("compiled", [False, True])
def test_pruned_elements_stay_0_in_training(compiled):
    model = prune.l1_unstructured(layer(*ROWS), "weight", 3)
    opt = optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        opt.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        opt.step()
        return loss

    run = sg.compile(step) if compiled else step
    losses = [run(sg.ones(2, 3)).item() for _ in range(4)]
    assert losses[-1] < losses[0]
    assert prune.is_pruned(nn.Sequential(model))
    prune.remove(model, "weight")
    assert (model.weight == 0).sum().item() == 3
    assert [name for name, _ in model.named_parameters()] == ["weight"]
    assert not prune.is_pruned(model)
    assert not model._forward_pre_hooks


def test_globally():
    first, second = layer(*ROWS), layer([10.0, 0.1])
    prune.global_unstructured([(first, "weight"), (second, "weight")], prune.L1Unstructured, amount=3)
    assert first.weight_mask.int().tolist() == [[0, 1, 1], [0, 1, 1]]
    assert second.weight_mask.int().tolist() == [[1, 0]]
    with pytest.raises(TypeError, match='Only "unstructured"'):
        prune.global_unstructured([(first, "weight")], prune.LnStructured, amount=1, n=2)


def test_a_method_of_ones_own():
    class Every(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    model = layer(*ROWS)
    Every.apply(model, "weight")
    assert model.weight_mask.int().tolist() == [[0, 1, 0], [1, 0, 1]]
    assert Every().prune(sg.ones(3)).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda m: prune.l1_unstructured(m, "weight", -1), ValueError, "either a float in the range"),
        (lambda m: prune.l1_unstructured(m, "weight", "a"), TypeError, "Invalid type for amount"),
        (lambda m: prune.l1_unstructured(m, "weight", 7), ValueError, "should be smaller than the number"),
        (lambda m: prune.remove(m, "weight"), ValueError, "has to be pruned before"),
        (lambda m: prune.ln_structured(m, "bias", 1, 2, 0), ValueError, "multidimensional"),
        (lambda m: prune.ln_structured(m, "weight", 1, 2, 5), IndexError, "Invalid index 5"),
        (lambda m: prune.l1_unstructured(m, "weight", 1, sg.ones(2)), ValueError, "same shape"),
    ],
)
def test_errors(call, error, text):
    model = layer(*ROWS, bias=True)
    with pytest.raises(error, match=text):
        call(model)
    assert list(model.state_dict()) == ["weight", "bias"]
