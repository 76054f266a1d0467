"""`utils.checkpoint`: gradients of the plain function, values dropped and computed again, in both variants and compiled."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.utils.checkpoint import checkpoint as sg_checkpoint
from tests.helpers import raised


@pytest.fixture
def checkpoint(T: Any) -> Any:
    if T is sg:
        return sg_checkpoint
    import torch.utils.checkpoint

    return torch.utils.checkpoint.checkpoint


def leaf(T, *values):
    return T.tensor(values, dtype=T.float64, requires_grad=True)


def chain(T):
    return T.nn.Sequential(*itertools.chain(*[(T.nn.Linear(4, 4), T.nn.Tanh(), T.nn.Dropout(0.5)) for _ in range(3)]))


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("parts", [None, 3])
def test_gradients_and_random_numbers(T, reentrant, parts, checkpoint):
    module = pytest.importorskip("torch.utils.checkpoint") if T is not sg else sg.utils.checkpoint
    T.manual_seed(0)
    model, x = chain(T), T.randn(5, 4).requires_grad_(True)

    def run(forward):
        T.manual_seed(3)
        model.zero_grad()
        x.grad = None
        forward().sum().backward()
        return [t.grad.numpy().copy() for t in (x, *model.parameters())], T.rand(1).item()

    expected, following = run(lambda: model(x))
    if parts is None:
        found, then = run(lambda: checkpoint(model, x, use_reentrant=reentrant))
    else:
        found, then = run(lambda: module.checkpoint_sequential(model, parts, x, use_reentrant=reentrant))
    assert then == following
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_values_are_dropped():
    seen = []

    def f(x):
        h = x.exp()
        h2 = h.sin()
        seen.extend(map(weakref.ref, (h._data, h2._data)))
        return (h2 * h2).sum()

    x = leaf(sg, 1.0, 2.0)
    loss = sg_checkpoint(f, x, use_reentrant=False)
    assert [r() for r in seen] == [None, None]
    loss.backward(retain_graph=True)
    assert [r() for r in seen] == [None] * 4
    first = x.grad.tolist()
    loss.backward()
    assert len(seen) == 6
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.array(first))


def test_second_derivatives_and_keywords(T, checkpoint):
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)

    def f(x, *, power):
        return ((x * w) ** power).sum()

    y = checkpoint(f, x, use_reentrant=False, power=3)
    g, h = T.autograd.grad(y, [x, w], create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), [81.0, 768.0])
    np.testing.assert_allclose(T.autograd.grad(g.sum(), w)[0].numpy(), [81.0, 576.0])


def test_nested(T, checkpoint):
    x = leaf(T, 0.5, 1.0)
    y = checkpoint(lambda x: checkpoint(lambda h: h.exp().sin(), x * 2, use_reentrant=False).sum(), x, use_reentrant=False)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(np.exp([1.0, 2.0])) * np.exp([1.0, 2.0]) * 2)


def test_other_computation(T, checkpoint):
    x, turn = leaf(T, 1.0, 2.0), itertools.count(1)
    y = checkpoint(lambda x: x.exp().sin().sum() if next(turn) % 2 else x.sin().sum(), x, use_reentrant=False)
    text = "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation."
    with raised(RuntimeError, text):
        y.backward()
    turn = itertools.count(1)
    y = checkpoint(lambda x: x[: next(turn)].exp().sum(), x, use_reentrant=False)
    with raised(RuntimeError, "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata"):
        y.backward()


def test_warnings_and_wrong_arguments(T, checkpoint):
    x = leaf(T, 1.0)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(lambda x: x * 2, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"):
        checkpoint(lambda x: x * 2, x.detach(), use_reentrant=True)
    with raised(ValueError, "Unexpected keyword arguments: power"):
        checkpoint(lambda x, power: x, x, use_reentrant=True, power=2)
    with raised(RuntimeError, "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an"):
        T.autograd.grad(checkpoint(lambda x: x * 2, x, use_reentrant=True), x)


def test_no_recording(T, checkpoint):
    with T.no_grad():
        assert not checkpoint(lambda x: x * 2, leaf(T, 1.0), use_reentrant=False).requires_grad


@pytest.mark.parametrize("reentrant", [False, True])
def test_compiled(reentrant):
    sg.manual_seed(0)
    model = sg.nn.Sequential(sg.nn.Linear(4, 4), sg.nn.Tanh(), sg.nn.Linear(4, 1))

    def step(x):
        model.zero_grad()
        sg_checkpoint(model, x, use_reentrant=reentrant).sum().backward()

    x, found = sg.randn(5, 4).requires_grad_(True), []
    for run in (step, sg.compile(step)):
        run(x)
        found.append([p.grad.numpy().copy() for p in model.parameters()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
