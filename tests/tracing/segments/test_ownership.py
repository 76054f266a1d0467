"""Who else sees the memory of tensors of a run in segments."""

from __future__ import annotations

import numpy as np

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.nn import functional as F
from staticgrad.tracing.segments.calls import exclusive


def test_after_eager_training_a_step_has_no_further_cuts():
    """Plans of the eager optimizer's step, and of another compiled function, are bound to the parameters."""
    x, y = sg.tensor(np.random.default_rng(0).standard_normal((4, 16)).astype("float32")), sg.tensor([0, 1, 1, 0])
    losses = []
    for compiles in (sg.compile, lambda fn: fn):
        sg.manual_seed(0)
        model = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2))
        optimizer = optim.Adam(model.parameters(), lr=0.01)

        def train(x, y, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        def cut(x, y, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            found = float(loss)
            loss.backward()
            optimizer.step()
            return found

        with sg.eager_kernels(wait=True):
            for _ in range(4):
                train(x, y)
        whole, segmented = compiles(train), compiles(cut)
        losses.append([float(whole(x, y)) for _ in range(2)] + [segmented(x, y) for _ in range(4)])
        if compiles is sg.compile:
            assert [segment.where is None for segment in segmented.segmented.roads.segments] == [False, True]
    np.testing.assert_allclose(*losses, rtol=1e-5)


def test_references_of_plans_do_not_count():
    w = sg.zeros(3, requires_grad=True)

    def alone():
        array = w._data
        return exclusive(array, 2)  # an assertion would hold the array

    assert alone()

    @sg.compile
    def step(x):
        with sg.no_grad():
            w.add_(x)
        return w.sum()

    step(sg.ones(3))
    assert alone()
    alias = w.detach()
    assert not alone()
    del alias
    assert alone()


def test_a_gradient_in_the_memory_of_another_one_changes_with_it():
    """As in eager mode, where `grad` returns the seed for both."""

    def change(x, seed):
        a, b = x.detach().requires_grad_(), (2 * x).requires_grad_()
        first, second = sg.grad(a + b, [a, b], seed)
        first += 1
        return first, second, seed * 1

    for function in (change, sg.compile(change)):
        for found in function(sg.arange(3.0), sg.ones(3)):
            assert found.tolist() == [2, 2, 2]


def test_memory_below_an_array_is_held_too():
    owner = bytearray(np.arange(3.0).tobytes())
    made = {
        "view": lambda: np.arange(3.0).view(),
        "view of a view": lambda: np.frombuffer(bytearray(24)).view()[:],
        "buffer": lambda: np.frombuffer(bytearray(24)),
        "held buffer": lambda: np.frombuffer(owner),
        "held view of a buffer": lambda: np.frombuffer(owner).view()[1:],
    }

    def alone(name):
        array = made[name]()
        return exclusive(array, 2)

    assert {name: alone(name) for name in made} == {name: "held" not in name for name in made}
