"""Backward passes and optimizer steps that a run repeats as a whole."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.tracing.segments import deferral


@pytest.fixture
def repeated(monkeypatch):
    found = {"step": [], "backward": []}
    for name, known in found.items():
        function = getattr(deferral, f"repeat_{name}")

        def counted(*args, function=function, known=known):
            known.append(function(*args))
            return known[-1]

        monkeypatch.setattr(deferral, f"repeat_{name}", counted)
    return found


def trained(wrap, change):
    sg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.Adam(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return float(loss)

    fn, losses = wrap(step), []
    for i in range(8):
        change(i, model, optimizer)
        losses.append(fn(sg.ones(2, 3)))
    return [*losses, *np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])]


def nothing(i, model, optimizer):
    pass


def another_rate(i, model, optimizer):
    optimizer.lr = 0.1 / (i + 1)


def frozen(i, model, optimizer):
    if i == 5:
        model[0].weight.requires_grad_(False)


def hooked(i, model, optimizer):
    if i == 5:
        model[2].bias.register_hook(lambda g: 3 * g)


def gradient_at_the_start(i, model, optimizer):
    optimizer.param_groups[0]["weight_decay"] = 0.0 if i < 5 else 0.1


def other_data(i, model, optimizer):
    if i == 5:
        model[0].weight.data = model[0].weight.data * 2


@pytest.mark.parametrize("change", [nothing, another_rate, frozen, hooked, gradient_at_the_start, other_data])
def test_repeated_calls_agree_with_eager_mode(change, repeated):
    found = trained(sg.compile, change)
    np.testing.assert_allclose(found, trained(lambda step: step, change), rtol=2e-4, atol=1e-5)
    for known in repeated.values():
        assert known[4] is True
        assert sum(known) >= (5 if change in (nothing, another_rate) else 3)


@pytest.mark.parametrize("use", ["shift", "factor", "exponent"])
def test_numbers_that_differ_between_runs(use, repeated):
    """A backward pass that doesn't read them is repeated; one that computes with them takes them as arguments; one whose
    operations follow from them is not repeated for another number."""

    def losses(wrap):
        w, found, state = sg.tensor(np.array([1.0, 2.0], "float32"), requires_grad=True), [], [0.5]

        @wrap
        def step(x):
            state[0] = 0.9 * state[0] + 0.1 * float(x.sum())
            y = w - state[0] if use == "shift" else w * state[0] if use == "factor" else (w * w) ** state[0]
            w.grad = None
            (y * x).sum().backward()
            with sg.no_grad():
                w.sub_(0.1 * w.grad)
            return float(y.sum())

        for i in range(8):
            found.append(step(sg.tensor(np.array([i, 1.0], "float32"))))
        return [*found, *w.tolist()]

    found = losses(sg.compile)
    np.testing.assert_allclose(found, losses(lambda step: step), rtol=1e-5, atol=1e-5)
    assert repeated["backward"][-1] is (use != "exponent")


def test_checks_of_distributions_do_not_cut():
    logits = sg.zeros(3, requires_grad=True)

    @sg.compile
    def step(x, actions):
        scale = float(x.sum())
        policy = sg.distributions.Categorical(logits=logits * scale + x)
        return policy.log_prob(actions).sum()

    for _ in range(2):
        step(sg.ones(4, 3), sg.tensor([0, 1, 2, 0]))
    assert len(step.segmented.roads.segments) == 2
    with pytest.raises(sg.StaticgradError, match="within the support"):
        step(sg.ones(4, 3), sg.tensor([0, 1, 5, 0]))
