"""Changes by way of `x.data`: eager mode does not count them, and a backward pass computes with the values that it finds."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import GradientError

X = np.arange(1, 7, dtype=np.float64).reshape(2, 3) / 4


def leaf():
    return sg.tensor(np.linspace(-1, 1, 6).reshape(2, 3), requires_grad=True)


def after_the_forward_pass(p, x):
    y = (p * p * x).sum()
    d = p.data
    d -= 0.1 * x
    p.grad = None
    y.backward()
    return y


def seen_by_a_view(p, x):
    y = sg.tanh(x @ p.T).sum() + (p[0] * p[1]).sum()
    p.data.mul_(0.5)
    p.data.add_(0.25)
    p.grad = None
    y.backward()
    return y


def of_a_part(p, x):
    y = (p**3).sum()
    p.data[0] = x[1]
    p.grad = None
    y.backward()
    return y


def second_gradients(p, x):
    y = (p**3 * x).sum()
    p.data.add_(0.5)
    (g,) = sg.grad(y, [p], create_graph=True)
    (h,) = sg.grad((g**2).sum(), [p])
    p.grad = None
    return h


def of_a_constant(p, x):
    z = x * 2
    y = (p * z).sum()
    z.data.add_(1)
    p.grad = None
    y.backward()
    return y


@pytest.mark.parametrize("on_break", [None, "error"])
@pytest.mark.parametrize(
    "program",
    [after_the_forward_pass, seen_by_a_view, of_a_part, second_gradients, of_a_constant],
)
def test_gradients_are_those_of_eager_mode(program, on_break):
    found = []
    for wrap in (lambda fn: sg.compile(fn, on_break=on_break), lambda fn: fn):
        p = leaf()
        fn, rows = wrap(lambda x, p=p: program(p, x)), []
        for i in range(4):
            rows.append(fn(sg.tensor(X * (i + 1))).detach().numpy().copy().ravel())
            rows += [p.detach().numpy().copy().ravel(), *([] if p.grad is None else [p.grad.numpy().copy().ravel()])]
        found.append(np.concatenate(rows))
    np.testing.assert_allclose(*found, rtol=1e-10)


def test_counted_changes_are_still_refused():
    p = leaf()

    @sg.compile(on_break="error")
    def step(x):
        y = (p * p * x).sum()
        p.data.mul_(0.5)
        p.detach().mul_(0.5)
        y.backward()

    with pytest.raises(GradientError, match="modified by an inplace operation"):
        step(sg.tensor(X))
