"""The orthogonal parametrization: its weights stay orthogonal, and are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.nn.utils.parametrizations import orthogonal

MAPS = [None, "matrix_exp", "cayley", "householder"]
SHAPES = [(4, 4), (5, 3), (3, 5)]


def gap(weight: Any) -> float:
    w = weight.detach().numpy()
    w = w if w.shape[0] >= w.shape[1] else w.T
    return float(np.abs(w.T @ w - np.eye(w.shape[1])).max())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", MAPS)
def test_weights_stay_orthogonal(shape, name):
    layer = orthogonal(nn.Linear(*shape[::-1]), orthogonal_map=name)
    opt = sg.optim.SGD(layer.parameters(), lr=0.1)
    before = layer.weight.detach().numpy()
    for _ in range(2):
        opt.zero_grad()
        (layer(sg.ones(2, shape[1])) ** 3).sum().backward()
        opt.step()
    assert np.abs(layer.weight.detach().numpy() - before).max() > 1e-3
    assert gap(layer.weight) < 1e-5


def test_an_orthogonal_matrix_can_be_assigned():
    layer = orthogonal(nn.Linear(4, 4).double())
    q = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    layer.weight = sg.tensor(q)
    np.testing.assert_allclose(layer.weight.detach().numpy(), q, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: orthogonal(nn.Linear(2, 2), orthogonal_map="qr"), sg.ArgumentError, "orthogonal_map has to be one of"),
        (lambda: orthogonal(nn.Linear(2, 2), "bias"), sg.ShapeError, "Expected a matrix"),
        (lambda: orthogonal(nn.Linear(2, 2), "no"), sg.ArgumentError, "has no parameter or buffer with name 'no'"),
    ],
)
def test_bad_arguments(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.oracle
@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", MAPS)
def test_against_torch(shape, name, trivial):
    torch = pytest.importorskip("torch")
    from torch.nn.utils import parametrizations

    rng = np.random.default_rng(0)
    start, original, x = rng.normal(size=shape), rng.normal(size=shape) * 0.3, rng.normal(size=(7, shape[1]))
    base = np.linalg.qr(rng.normal(size=(max(shape),) * 2))[0]
    original = original + 2 * np.eye(*shape) if name == "householder" or (name is None and shape[0] != shape[1]) else original
    results = []
    for lib, make in ((torch, parametrizations.orthogonal), (sg, orthogonal)):
        layer = lib.nn.Linear(shape[1], shape[0], bias=False).double()
        with lib.no_grad():
            layer.weight.copy_(lib.from_numpy(start))
        make(layer, orthogonal_map=name, use_trivialization=trivial)
        first = layer.weight.detach().numpy()
        own = layer.parametrizations.weight
        with lib.no_grad():
            own.original.copy_(lib.from_numpy(original))
            if trivial:
                own[0].base.copy_(lib.from_numpy(base))
        (layer(lib.from_numpy(x)) ** 3).sum().backward()
        drawn = trivial and shape[0] != shape[1]  # columns that complete the base
        results.append([*([] if drawn else [first]), layer.weight.detach().numpy(), own.original.grad.numpy()])
    for expected, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
