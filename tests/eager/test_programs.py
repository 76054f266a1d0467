"""PyTorch's documented beginner programs."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg


def test_y_is_x_plus_w_times_w_plus_1():
    """y = (x + w) * (w + 1): dy/dw = x + 2 w + 1, with every attribute on the way."""
    w = sg.tensor([1.0], requires_grad=True)
    x = sg.tensor([2.0], requires_grad=True)
    a = sg.add(w, x)
    b = sg.add(w, 1)
    y = sg.mul(a, b)

    assert [t.is_leaf for t in (w, x, a, b, y)] == [True, True, False, False, False]
    assert [t.requires_grad for t in (w, x, a, b, y)] == [True] * 5
    assert w.grad_fn is None
    assert x.grad_fn is None
    assert [t.grad_fn.name() for t in (a, b, y)] == ["AddBackward0", "AddBackward0", "MulBackward0"]
    assert y.grad_fn.next_functions == ((a.grad_fn, 0), (b.grad_fn, 0))
    (to_w, _), (to_x, _) = a.grad_fn.next_functions
    assert to_w.name() == "torch::autograd::AccumulateGrad"
    assert to_w.variable is w
    assert to_x.variable is x
    assert b.grad_fn.next_functions[1] == (None, 0)
    assert [t._gradient for t in (w, x, a, b, y)] == [None] * 5

    a.retain_grad()
    assert a.retains_grad
    assert not b.retains_grad
    y.backward()
    assert w.grad.item() == 5.0
    assert x.grad.item() == 2.0
    assert a.grad.item() == 2.0
    with pytest.warns(UserWarning, match="is not a leaf Tensor is being accessed"):
        assert b.grad is None
    assert not w.grad.requires_grad
    assert y.item() == 6.0
    assert y.grad_fn.freed
    with pytest.raises(sg.GradientError, match=r"^Trying to backward through the graph a second time"):
        y.backward()
    assert w.grad.item() == 5.0


def test_rnn_cell_by_hand():
    rng = np.random.default_rng(0)
    x, h, w_x, w_h = (rng.standard_normal(shape) for shape in ((1, 10), (1, 20), (20, 10), (20, 20)))
    W_h = sg.tensor(w_h, requires_grad=True)
    W_x = sg.tensor(w_x, requires_grad=True)
    i2h = W_x @ sg.tensor(x).T
    h2h = W_h @ sg.tensor(h).T
    next_h = (i2h + h2h).tanh()
    loss = next_h.sum()
    loss.backward()

    value = np.tanh(w_x @ x.T + w_h @ h.T)
    np.testing.assert_allclose(next_h.detach().numpy(), value, rtol=1e-14)
    np.testing.assert_allclose(W_h.grad.numpy(), (1 - value**2) @ h, rtol=1e-12)
    np.testing.assert_allclose(W_x.grad.numpy(), (1 - value**2) @ x, rtol=1e-12)


@pytest.mark.parametrize("zeroing", [True, False])
def test_fit_5x(zeroing: bool):
    """Without zeroing, gradients accumulate: the steps are sums over the past, and the fit swings past its goal."""
    x = sg.linspace(0, 1, 20, dtype=sg.float64)
    y = 5 * x
    w = sg.tensor(0.0, dtype=sg.float64, requires_grad=True)
    path = []
    for _ in range(100):
        loss = ((x * w - y) ** 2).mean()
        loss.backward()
        with sg.no_grad():
            w -= 0.5 * w.grad
        if zeroing:
            w.grad = None
        path.append(w.item())
    slope, expected, total = 2 * float((x * x).mean()), [], 0.0
    value = 0.0
    for _ in range(100):
        total = slope * (value - 5) + (0 if zeroing else total)
        value -= 0.5 * total
        expected.append(value)
    np.testing.assert_allclose(path, expected, rtol=1e-9)
    assert abs(path[-1] - 5) < 1e-9 if zeroing else max(path) > 8


def test_two_row_jacobian_by_backward_with_a_gradient():
    x = sg.tensor([2.0, 3.0], requires_grad=True)

    def f(x):
        return sg.stack([x[0] ** 2 + 3 * x[1], x[1] ** 2 + 2 * x[0]])

    y = f(x)
    rows = []
    for seed in ([1.0, 0.0], [0.0, 1.0]):
        x.grad = None
        y.backward(sg.tensor(seed), retain_graph=True)
        rows.append(x.grad.tolist())
    assert rows == [[4, 3], [2, 6]]
    with pytest.raises(sg.GradientError, match=r"^grad can be implicitly created only for scalar outputs"):
        f(x).backward()


def test_two_layer_regression_with_clamp():
    """The numpy-to-autograd tutorial: forward by matmul and clamp, update by hand under no_grad."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((64, 13)), rng.standard_normal((64, 1))
    w1, w2 = rng.standard_normal((13, 32)) * 0.1, rng.standard_normal((32, 1)) * 0.1
    tx, ty = sg.tensor(x), sg.tensor(y)
    t1, t2 = sg.tensor(w1, requires_grad=True), sg.tensor(w2, requires_grad=True)
    losses = []
    for _ in range(200):
        loss = (tx.mm(t1).clamp(min=0).mm(t2) - ty).pow(2).mean()
        loss.backward()
        with sg.no_grad():
            t1 -= 0.05 * t1.grad
            t2 -= 0.05 * t2.grad
            t1.grad.zero_()
            t2.grad.zero_()
        losses.append(loss.item())

        hidden = np.maximum(x @ w1, 0)
        error = 2 * (hidden @ w2 - y) / len(x)
        g2, g1 = hidden.T @ error, x.T @ ((error @ w2.T) * (hidden > 0))
        w1 -= 0.05 * g1
        w2 -= 0.05 * g2
    assert losses[-1] < 0.6 * losses[0]
    assert t1.requires_grad
    assert t1.is_leaf
    np.testing.assert_allclose(t1.detach().numpy(), w1, rtol=1e-8)
    np.testing.assert_allclose(t2.detach().numpy(), w2, rtol=1e-8)


def test_inference_under_no_grad():
    w = sg.ones(3, 3, requires_grad=True)
    x = sg.ones(2, 3)
    with sg.no_grad():
        y = (x @ w).relu()
        assert not sg.is_grad_enabled()
        with sg.enable_grad():
            assert (x @ w).requires_grad
        assert not sg.is_grad_enabled()
    assert sg.is_grad_enabled()
    assert not y.requires_grad
    assert y.grad_fn is None
    assert y.is_leaf

    @sg.no_grad()
    def predict(x):
        return x @ w

    assert not predict(x).requires_grad
    assert predict.__name__ == "predict"
    with sg.set_grad_enabled(False):
        assert not (x @ w).requires_grad
    with pytest.raises(sg.GradientError, match=r"^element 0 of tensors does not require grad and does not have a grad_fn"):
        y.sum().backward()


def test_no_grad_ends_with_an_exception():
    with pytest.raises(KeyError), sg.no_grad():
        raise KeyError
    assert sg.is_grad_enabled()


def test_frozen_parameters():
    backbone, head = sg.ones(3, 3, requires_grad=True), sg.ones(3, 1, requires_grad=True)
    backbone.requires_grad_(False)
    hidden = sg.ones(2, 3) @ backbone
    assert not hidden.requires_grad
    (hidden @ head).sum().backward()
    assert backbone.grad is None
    assert head.grad.tolist() == [[6.0]] * 3
    backbone.requires_grad = True
    (sg.ones(2, 3) @ backbone @ head).sum().backward()
    assert backbone.grad.tolist() == [[2.0] * 3] * 3


def test_freezing_between_forward_and_backward():
    """What was recorded counts, as in PyTorch: unfreezing later adds no path, freezing stops the accumulation."""
    d = sg.tensor(3.0, requires_grad=True)
    g = sg.tensor(2.0, requires_grad=True)
    seen = g * d
    d.requires_grad_(False)
    frozen = g * d
    d.requires_grad_(True)
    frozen.backward()
    assert d.grad is None
    assert g.grad.item() == 3.0
    seen.backward()
    assert d.grad.item() == 2.0
    late = sg.tensor(5.0)
    y = g * late
    late.requires_grad_()
    (y * late).backward()
    assert late.grad.item() == 10.0, "only through the operation recorded since"


def test_accumulating_over_micro_batches_equals_one_batch():
    rng = np.random.default_rng(2)
    x, w = rng.standard_normal((8, 3)), rng.standard_normal((3, 2))
    whole, parts = sg.tensor(w, requires_grad=True), sg.tensor(w, requires_grad=True)
    (sg.tensor(x) @ whole).square().sum().backward()
    for rows in np.split(x, 4):
        (sg.tensor(rows) @ parts).square().sum().backward()
    np.testing.assert_allclose(parts.grad.numpy(), whole.grad.numpy(), rtol=1e-12)


def test_logistic_regression_learns():
    rng = np.random.default_rng(3)
    x = sg.tensor(rng.standard_normal((200, 2)).astype(np.float32))
    target = (x[:, 0] + 2 * x[:, 1] > 0).float()
    w, b = sg.zeros(2, requires_grad=True), sg.zeros(1, requires_grad=True)
    for _ in range(50):
        p = (x @ w + b).sigmoid()
        loss = -(target * p.log() + (1 - target) * (1 - p).log()).mean()
        gw, gb = sg.grad(loss, [w, b])
        with sg.no_grad():
            w -= gw
            b -= gb
    accuracy = ((p > 0.5) == (target > 0.5)).float().mean().item()
    assert accuracy > 0.97
    assert loss.item() < 0.25
