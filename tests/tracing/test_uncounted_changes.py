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


def used_itself(p, x):
    d = p.data
    y = (p * d * x).sum()
    d.mul_(2)
    y.backward()


def view_used(p, x):
    d = p.data
    v = d[0]
    y = (p[0] * v * x[0]).sum()
    d.mul_(2)
    y.backward()


def detached_used(p, x):
    d = p.data
    y = (p * d.detach() * x).sum()
    d.add_(1)
    y.backward()


def counted_after_it(p, x):
    y = (p * p * x).sum()
    p.data.mul_(0.5)
    with sg.no_grad():
        p.add_(1)
    y.backward()


def replaced(p, x):
    y = (p * p * x).sum()
    p.data = x * 1
    y.backward()


def changed_and_replaced(p, x):
    y = (p * p * x).sum()
    p.data.mul_(0.5)
    p.data = x * 1
    y.backward()


def replaced_and_changed(p, x):
    y = (p[0] * p[0] * x).sum()
    p.data = x * 1
    p.data.mul_(0.5)
    (y + (p * x).sum()).backward()


@pytest.mark.parametrize("on_break", [None, "error"])
@pytest.mark.parametrize(
    "program",
    [used_itself, view_used, detached_used, counted_after_it, replaced, changed_and_replaced, replaced_and_changed],
)
def test_changes_are_counted_where_eager_mode_counts_them(program, on_break):
    for wrap in (lambda fn: sg.compile(fn, on_break=on_break), lambda fn: fn):
        p = leaf()
        step = wrap(lambda x, p=p: program(p, x))
        for _ in range(2):
            with pytest.raises(GradientError, match="modified by an inplace operation"):
                step(sg.tensor(X))


def other_data(p, x):
    d, e = p.data, p.data
    y = (p * d * x).sum()
    e.mul_(2)
    y.backward()


def counted_beside_it(p, x):
    d = p.data
    y = (d * x.requires_grad_()).sum()
    with sg.no_grad():
        p.mul_(2)
    y.backward()
    return x.grad * 1


@pytest.mark.parametrize("program", [other_data, counted_beside_it])
def test_changes_are_not_counted_where_eager_mode_does_not(program):
    found = []
    for wrap in (lambda fn: sg.compile(fn, on_break="error"), lambda fn: fn):
        p = leaf()
        step, rows = wrap(lambda x, p=p: program(p, x)), []
        for _ in range(3):
            p.grad = None
            result = step(sg.tensor(X))
            rows += [t.detach().numpy().copy() for t in (p, p.grad, result) if t is not None]
        found.append(rows)
    np.testing.assert_allclose(*found, rtol=1e-10)


def test_eager_records_do_not_notice_them():
    p = leaf()
    step = sg.compile(lambda x: p.data.add_(x))
    given = sg.compile(lambda q, x: q.data.add_(x))
    for change in (lambda: step(sg.tensor(X)), lambda: given(p, sg.tensor(X))) * 3:
        y = (p * p).sum()
        before = p._version
        change()
        p.grad = None
        y.backward()
        np.testing.assert_allclose(p.grad.numpy(), 2 * p.detach().numpy(), rtol=1e-12)
        assert p._version == before


def test_gradients_of_results_read_what_is_there_by_then():
    p = leaf()

    @sg.compile
    def loss(x):
        y = (p**3 * x).sum()
        p.data.mul_(0.5)
        return y

    for _ in range(4):
        y = loss(sg.tensor(X))
        p.data.add_(1)
        p.grad = None
        y.backward()
        np.testing.assert_allclose(p.grad.numpy(), 3 * p.detach().numpy() ** 2 * X, rtol=1e-12)
    y = loss(sg.tensor(X))
    with sg.no_grad():
        p.add_(1)
    with pytest.raises(GradientError, match="modified by an inplace operation"):
        y.backward()
