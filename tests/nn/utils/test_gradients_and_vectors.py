"""Clipping gradients, and vectors of parameters."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.errors import ArgumentError, GradientError, ShapeError
from staticgrad.nn import utils

ORDERS = [2.0, 1, 3, 0, float("inf"), "inf"]
GRADS = [np.array([[1.0, -2.0], [0.0, 4.0]]), np.array([3.0]), None]


def parameters(tensor=sg.tensor):
    found = [tensor(np.ones((2, 2)), requires_grad=True), tensor(np.ones(1)), tensor(np.ones(3), requires_grad=True)]
    found[1].requires_grad_(True)
    for p, g in zip(found, GRADS, strict=True):
        p.grad = None if g is None else tensor(g)
    return found


def whole():
    return np.concatenate([g.ravel() for g in GRADS if g is not None])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("bound", [0.5, 100.0])
def test_norms(order, bound):
    params = parameters()
    total = utils.clip_grad_norm_(params, bound, order)
    wanted = np.linalg.norm(whole(), float(order)) if order else 2.0  # the norm of the gradients' norms, as in PyTorch
    assert total.item() == pytest.approx(wanted)
    factor = min(bound / (wanted + 1e-6), 1.0)
    for p, g in zip(params, GRADS, strict=True):
        if g is not None:
            np.testing.assert_allclose(p.grad.numpy(), g * factor, rtol=1e-12)
        else:
            assert p.grad is None


def test_one_parameter_and_none():
    p = parameters()[0]
    assert utils.clip_grad_norm_(p, 1.0).item() == pytest.approx(np.sqrt(21))
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_a_norm_that_is_not_finite():
    params = parameters()
    params[0].grad = sg.tensor(np.array([[np.inf, 1.0], [1.0, 1.0]]))
    with pytest.raises(GradientError, match=r"The total norm of order 2\.0 for gradients from `parameters` is non-finite"):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert params[1].grad.item() == 3.0


def test_values():
    params = parameters()
    utils.clip_grad_value_(params, 1.5)
    np.testing.assert_array_equal(params[0].grad.numpy(), [[1.0, -1.5], [0.0, 1.5]])


@pytest.mark.parametrize("clip", [lambda ps: utils.clip_grad_norm_(ps, 0.1), lambda ps: utils.clip_grad_value_(ps, 0.05)])
def test_compiled_as_eager(clip):
    rng = np.random.default_rng(0)
    data = [(sg.tensor(rng.normal(size=(5, 3))), sg.tensor(rng.normal(size=(5, 2)))) for _ in range(3)]
    results = []
    for compiled in (False, True):
        sg.manual_seed(0)
        model = nn.Linear(3, 2).double()
        opt = optim.SGD(model.parameters(), 0.5)

        def step(x, y, model=model, opt=opt):
            opt.zero_grad()
            ((model(x) - y) ** 2).mean().backward()
            total = clip(model.parameters())
            opt.step()
            return total

        run = sg.compile(step) if compiled else step
        totals = [run(x, y) for x, y in data]
        results.append([p.detach().numpy() for p in model.parameters()] + [t.numpy() for t in totals if t is not None])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_in_a_session():
    """Gradients of a graph are a list: they are scaled by their norm."""
    with sg.Graph().as_default(), sg.Session() as sess:
        w = sg.Variable(np.array([3.0, 4.0]))
        opt = optim.SGD(lr=1.0)
        pairs = opt.compute_gradients((w * w).sum())
        total = utils.get_total_norm([g for g, _ in pairs])
        train = opt.apply_gradients([(g / total, v) for g, v in pairs])
        sess.run(sg.global_variables_initializer())
        assert sess.run(total) == pytest.approx(10.0)
        sess.run(train)
        np.testing.assert_allclose(sess.run(w), [2.4, 3.2])


def test_vectors():
    model = nn.Linear(3, 2)
    vector = utils.parameters_to_vector(model.parameters())
    assert vector.shape == (8,)
    vector.sum().backward()
    np.testing.assert_array_equal(model.weight.grad.numpy(), np.ones((2, 3)))
    memory = model.weight.detach().numpy()
    utils.vector_to_parameters(sg.arange(8, dtype="float32"), model.parameters())
    np.testing.assert_array_equal(model.weight.detach().numpy(), np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(model.bias.detach().numpy(), [6, 7])
    np.testing.assert_array_equal(memory, np.arange(6).reshape(2, 3))
    with pytest.raises(ShapeError, match="8 elements are needed, the vector has 3"):
        utils.vector_to_parameters(sg.ones(3), model.parameters())
    with pytest.raises(ArgumentError, match="but got: list"):
        utils.vector_to_parameters([1.0], model.parameters())


@pytest.mark.oracle
def test_against_torch():
    torch = pytest.importorskip("torch")
    for name in utils.__all__:
        if inspect.isfunction(getattr(utils, name)) and name != "clip_grad_norm":
            both = (inspect.signature(getattr(lib, name)).parameters.values() for lib in (utils, torch.nn.utils))
            mine, other = ([(p.name, p.default) for p in found] for found in both)
            assert mine == other, name
    for order in ORDERS:
        mine, theirs = parameters(), parameters(torch.tensor)
        for lib, params in ((utils, mine), (torch.nn.utils, theirs)):
            lib.clip_grad_norm_(params, 0.7, order)
        for a, b in zip(mine, theirs, strict=True):
            if b.grad is not None:
                np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-12)
