"""Recurrent layers: against their equations, in every mode, one native loop whatever the length; errors."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.errors import ArgumentError, ShapeError

rng = np.random.default_rng(0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, h, c, w, u, b, d):
    ys = []
    for v in x:
        i, f, g, o = np.split(v @ w.T + b + h @ u.T + d, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        ys.append(h)
    return np.stack(ys), h, c


def gru(x, h, w, u, b, d):
    ys = []
    for v in x:
        (xr, xz, xn), (hr, hz, hn) = np.split(v @ w.T + b, 3, 1), np.split(h @ u.T + d, 3, 1)
        r, z = sigmoid(xr + hr), sigmoid(xz + hz)
        h = (1 - z) * np.tanh(xn + r * hn) + z * h
        ys.append(h)
    return np.stack(ys), h


def rnn(x, h, w, u, b, d):
    ys = []
    for v in x:
        h = np.tanh(v @ w.T + b + h @ u.T + d)
        ys.append(h)
    return np.stack(ys), h


@pytest.mark.parametrize(("kind", "reference", "states"), [(nn.LSTM, lstm, 2), (nn.GRU, gru, 1), (nn.RNN, rnn, 1)])
def test_layers_in_every_mode(kind, reference, states):
    layer = kind(3, 4, dtype=sg.float64)
    x = rng.normal(size=(6, 2, 3))
    first = [rng.normal(size=(1, 2, 4)) for _ in range(states)]
    expected = reference(x, *(s[0] for s in first), *(p.detach().numpy() for p in layer.parameters()))

    def run(x, *hx):
        y, last = layer(x, hx if states > 1 else hx[0])
        return [y, *(last if states > 1 else [last])]

    def check(results):
        np.testing.assert_allclose(results[0], expected[0], rtol=1e-12)
        for mine, other in zip(results[1:], expected[1:], strict=True):
            np.testing.assert_allclose(mine[0], other, rtol=1e-12)

    tensors = [sg.tensor(a) for a in (x, *first)]
    check([r.detach().numpy() for r in run(*tensors)])
    check([r.detach().numpy() for r in sg.compile(run)(*tensors)])
    with sg.Graph().as_default():
        inputs = [sg.placeholder(sg.float64, [None, *a.shape[1:]]) for a in (x, *first)]
        results = run(*inputs)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            check(sess.run(results, dict(zip(inputs, (x, *first), strict=True))))


def test_second_gradients_go_through_the_loop():
    layer = nn.GRU(2, 3, dtype=sg.float64)
    x, along = rng.normal(size=(4, 2, 2)), rng.normal(size=(4, 2, 2))

    def slope(x):
        (g,) = sg.grad((layer(x)[0] ** 2).sum(), [x], create_graph=True)
        return (g * along).sum()

    def second(x):
        return sg.grad(slope(x), [x])[0]

    leaf = sg.tensor(x, requires_grad=True)
    h = 1e-5
    moved = [slope(sg.tensor(x + s * h * along, requires_grad=True)).item() for s in (1, -1)]
    found = second(leaf).numpy()
    assert (found * along).sum() == pytest.approx((moved[0] - moved[1]) / (2 * h), rel=1e-6)
    compiled = sg.compile(second)(sg.tensor(x, requires_grad=True))
    np.testing.assert_allclose(compiled.numpy(), found, rtol=1e-9, atol=1e-12)


def test_a_longer_sequence_compiles_nothing_and_is_one_native_call():
    layer = nn.LSTM(3, 4, 2, bidirectional=True)

    @sg.compile
    def step(x):
        return layer(x)[0].sum()

    step(sg.randn(5, 2, 3))
    kernels = step.plan.kernels
    step(sg.randn(50, 2, 3))
    assert step.plan.kernels == kernels
    assert step.plan.host_calls == 0


def test_parameters_and_repr():
    layer = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)
    shapes = {name: p.shape for name, p in layer.named_parameters()}
    assert list(shapes)[:5] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse"]
    assert shapes["weight_ih_l1_reverse"] == (16, 8)
    assert shapes["weight_hh_l1"] == (16, 4)
    assert repr(layer) == "LSTM(3, 4, num_layers=2, batch_first=True, bidirectional=True)"
    assert not [name for name, _ in nn.GRU(3, 4, bias=False).named_parameters() if "bias" in name]


def test_dropout_lies_between_layers_while_training():
    sg.manual_seed(0)
    layer, x = nn.RNN(2, 3, 2, dropout=0.5), sg.randn(4, 2, 2)
    one, two = layer(x)[0].detach().numpy(), layer(x)[0].detach().numpy()
    assert np.abs(one - two).max() > 0
    layer.eval()
    np.testing.assert_array_equal(layer(x)[0].detach().numpy(), layer(x)[0].detach().numpy())


X = np.zeros((5, 2, 3), np.float32)
ERRORS = [
    (lambda: nn.LSTM(4, 4)(X), ShapeError, "input.size(-1) must be equal to input_size. Expected 4, got 3"),
    (lambda: nn.LSTM(3, 4)(X[None]), ShapeError, "LSTM: Expected input to be 2D or 3D, got 4D instead"),
    (lambda: nn.LSTM(3, 4)(X, (np.zeros((1, 1, 4)), np.zeros((1, 2, 4)))), ShapeError,
     "Expected hidden[0] size (1, 2, 4), got [1, 1, 4]"),
    (lambda: nn.GRU(3, 4, 2)(X, np.zeros((1, 2, 4))), ShapeError, "Expected hidden size (2, 2, 4), got [1, 2, 4]"),
    (lambda: nn.LSTM(3, 4)(X, (np.zeros((1, 2, 4)),)), ShapeError, "LSTM: expected 2 hidden states, got 1"),
    (lambda: nn.GRU(3, 4)(X, (np.zeros((1, 2, 4)),) * 2), ShapeError, "GRU: expected 1 hidden states, got 2"),
    (lambda: nn.LSTM(3, 0), ArgumentError, "hidden_size must be greater than zero"),
    (lambda: nn.GRU(3, 4, 0), ArgumentError, "num_layers must be greater than zero"),
    (lambda: nn.RNN(3, 4, nonlinearity="sin"), ArgumentError,
     "Unknown nonlinearity 'sin'. Select from 'tanh' or 'relu'."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(text)
    assert "test_recurrent.py" in str(caught.value)
