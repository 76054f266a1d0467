"""Calls of functions of several operations on the tape, which are repeated at once when they are known."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.nn import functional as F
from staticgrad.tracing.segments import calls

DTYPES = {"float32": 2e-5, "float64": 1e-10}


def data(dtype, *shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


FUNCTIONS = {
    "linear": lambda x, w: F.linear(x, w, w[0]),
    "linear of rank 3": lambda x, w: F.linear(x.reshape(2, 3, 3), w).reshape(6, 3),
    "mse": lambda x, w: F.mse_loss(F.linear(x, w), x),
    "mse, one operand twice": lambda x, w: F.mse_loss(x @ w, x @ w) + F.cosine_similarity(x * w[0], x * w[0]).sum(),
    "cross entropy": lambda x, w: F.cross_entropy(x @ w, sg.tensor([0, 1, 2, 0, 1, 2]), label_smoothing=0.1),
    "layer norm": lambda x, w: F.layer_norm(F.linear(x, w), (3,), w[0], w[1]),
    "group norm": lambda x, w: F.group_norm((x @ w)[:, :, None], 1, w[0], w[1])[..., 0] * x,
    "softmax": lambda x, w: F.softmax(F.linear(x, w), -1) * F.log_softmax(x @ w, -1),
    "activations": lambda x, w: F.gelu(F.silu(F.softplus(x @ w))) + F.elu(x @ w) + F.leaky_relu(x @ w, 0.2),
    "attention": lambda x, w: F.scaled_dot_product_attention(*[(x @ w)[None].tanh()] * 3),
    "norm": lambda x, w: F.normalize(x @ w, dim=-1) + sg.linalg.norm(w),
    "statistics": lambda x, w: (x @ w).var(0) + (x @ w).std(),
    "binary cross entropy": lambda x, w: F.binary_cross_entropy_with_logits(F.linear(x, w), (x > 0).to(x.dtype)),
    "nested": lambda x, w: F.huber_loss(F.layer_norm(F.linear(F.tanh(F.linear(x, w)), w.T), (3,)), x.detach()),
}


def run(wrap, function, dtype, mode):
    """Losses, gradients and names of nodes of eight calls with changing branches."""
    w, log = sg.tensor(data(dtype, 3, 3, seed=1), requires_grad=True), []

    @wrap
    def step(x, k):
        x = x.requires_grad_(mode != "no grad")
        with sg.set_grad_enabled(mode != "no grad"):
            first = function(x, w)
            loss = (first**2).sum()
            if float(loss.detach()) > 0.5 * k:  # the tape lives on over the cut
                loss = loss + function(x * 0.5, w).sum()
            if mode == "no grad":
                return loss, first.sum()
            log.append((first.grad_fn.name(), [None if n is None else n.name() for n, _ in first.grad_fn.next_functions]))
            if mode == "second":
                (g,) = sg.grad(loss, [w], create_graph=True)
                log.append(g.requires_grad)
                loss = (g**2).sum() + loss.sum()
            gx, gw = sg.grad(loss, [x, w], allow_unused=True)
            if k == 4:
                w.data = w.data * 0.9
        return loss, gw if gx is None else gw + gx.sum()

    values = []
    for i in range(8):
        k = [0, 0, 1e9, 0, 4, 1e9, 0, 4][i]
        values += [x.detach().numpy().ravel() for x in step(sg.tensor(data(dtype, 6, 3) * (1 + 0.1 * i)), k)]
    return np.concatenate([*values, w.detach().numpy().ravel()]), log


@pytest.mark.parametrize(
    ("dtype", "mode"), [("float32", "first"), ("float64", "second"), ("float64", "no grad")]
)  # second gradients of small groups are too ill-conditioned for float32
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=[*FUNCTIONS])
def test_values_gradients_and_nodes_are_those_of_eager_mode(request: pytest.FixtureRequest, function, dtype, mode):
    """Plans of every second function are machine code where there are first gradients, and NumPy runs the others."""
    if mode != "first" or [*FUNCTIONS.values()].index(function) % 2:
        request.getfixturevalue("interpreted")
    found, log = run(lambda step: sg.compile(step, on_break="split"), function, dtype, mode)
    expected, names = run(lambda step: step, function, dtype, mode)
    np.testing.assert_allclose(found, expected, rtol=DTYPES[dtype], atol=DTYPES[dtype])
    assert log == names


def test_known_calls_are_followed(monkeypatch):
    followed = []
    monkeypatch.setattr(calls, "_follow", lambda *args, follow=calls._follow: followed.append(1) or follow(*args))
    model = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))

    @sg.compile(on_break="split")
    def step(x):
        loss = F.mse_loss(model(x), sg.zeros(6, 2))
        loss.backward()
        return loss.item() > 0.1

    counts = []
    for _ in range(4):
        step(sg.ones(6, 3))
        for p in model.parameters():
            p.grad = None
        counts.append(len(followed))
        followed.clear()
    assert counts[0] == 0
    assert counts[-1] >= 3


def test_a_saved_value_that_was_changed_is_an_error():
    """The records of a call that is repeated know when their operands were read."""

    def step(x, w, change):
        y = F.linear(x, w)
        z = F.linear(sg.tanh(y), w)
        if float(z.detach().sum()) > 1e9:
            return z
        if change:
            with sg.no_grad():
                w.mul_(2)
        z.sum().backward()
        g, w.grad = w.grad, None
        return g

    compiled = sg.compile(step, on_break="split")
    w = sg.tensor(data("float32", 3, 3), requires_grad=True)
    x = sg.tensor(data("float32", 6, 3, seed=2))
    for change in (False, False, True, False, True):
        if change:
            with pytest.raises(sg.GradientError, match="inplace"):
                compiled(x, w, change)
        else:
            np.testing.assert_allclose(compiled(x, w, change).numpy(), step(x, w, change).numpy(), rtol=2e-5)


def test_other_flags_are_other_calls():
    def step(x, w, frozen):
        w.requires_grad_(not frozen)
        y = F.linear(x, w)
        loss = (y**2).sum()
        if float(loss.detach()) < 0:
            return loss
        return y.requires_grad, None if frozen else sg.grad(loss, [w])[0].sum().item()

    compiled = sg.compile(step, on_break="split")
    w, x = sg.tensor(data("float64", 3, 3), requires_grad=True), sg.tensor(data("float64", 6, 3, seed=2))
    for frozen in (False, False, True, True, False, True, False):
        found, expected = compiled(x, w, frozen), step(x, w, frozen)
        assert found[0] is expected[0] is (not frozen)
        assert found[1] == (None if frozen else pytest.approx(expected[1], rel=1e-10))
