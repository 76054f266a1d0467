"""sg.compare: a function in every mode, with its differences, times and what could not be run."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.errors import ArgumentError

rng = np.random.default_rng(0)
X, W = rng.normal(size=(6, 4)).astype(np.float32), rng.normal(size=(4, 3)).astype(np.float32)
Y = np.array([0, 2, 1, 1, 0, 2])


def test_values_and_gradients_of_all_modes():
    result = sg.compare(lambda x, w: sg.tanh(x @ w).sum(axis=1), X, W, repeats=2)
    assert [m.name for m in result.modes] == ["eager", "session", "compiled"]
    assert result.ok
    assert result.agree(rtol=1e-5)
    for mode in result.modes:
        np.testing.assert_allclose(mode.values[0], np.tanh(X @ W).sum(1), rtol=1e-5)
        np.testing.assert_allclose(mode.gradients[0], (1 - np.tanh(X @ W) ** 2) @ W.T, rtol=1e-4, atol=1e-5)
        assert mode.call_us > 0
        assert mode.first_ms > 0
    for mode in result.modes[1:]:
        assert [d.what for d in mode.differences] == ["output 0", "gradient 0", "gradient 1"]
        assert max(d.absolute for d in mode.differences) < 1e-5
    assert result["compiled"].host_calls == 0


def test_table_and_data():
    result = sg.compare(lambda x: {"a": x * 2, "b": (x.sum(), 3)}, X, repeats=1)
    text = str(result)
    assert "difference from eager" in text
    assert all(name in text for name in ("eager", "session", "compiled"))
    data = result.as_dict()
    assert [m["name"] for m in data["modes"]] == ["eager", "session", "compiled"]
    assert "values" not in data["modes"][0]
    assert len(result["eager"].values) == 3


def test_random_functions_draw_the_same_numbers_and_leave_the_generator():
    sg.manual_seed(3)
    before = sg.eager.generator.state
    result = sg.compare(lambda x: F.dropout(x, 0.5) + sg.rand(6, 4), X, repeats=2)
    assert result.agree(rtol=1e-6)
    assert sg.eager.generator.state == before


def test_a_training_step_leaves_everything_as_it_was():
    sg.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        loss = F.cross_entropy(model(x), sg.tensor(Y))
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    before = [p.detach().numpy().copy() for p in model.parameters()]
    result = sg.compare(step, X, repeats=2)
    assert all((p.detach().numpy() == b).all() for p, b in zip(model.parameters(), before, strict=True))
    assert "session" in str(result)
    assert result["session"].error  # backward() of a symbol is for traces: said, not raised
    np.testing.assert_allclose(result["compiled"].values[0], result["eager"].values[0], rtol=1e-5)


def test_integers_have_no_gradients_and_wrong_results_are_seen():
    result = sg.compare(lambda i, x: x[i], Y, X, repeats=1)
    assert result.agree()
    assert len(result["eager"].gradients) == 1
    result["compiled"].values[0] = result["compiled"].values[0] + 1
    assert not result.agree()


def test_errors():
    with pytest.raises(ArgumentError, match="unknown mode 'fast'"):
        sg.compare(sg.exp, X, modes=["fast"])
    with pytest.raises(ArgumentError, match="repeats must be at least 1"):
        sg.compare(sg.exp, X, repeats=0)
    with pytest.raises(ArgumentError, match="there is no mode"):
        sg.compare(sg.exp, X, repeats=1)["slow"]
