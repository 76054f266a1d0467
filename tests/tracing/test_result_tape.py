"""Results of compiled functions that callers differentiate."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn

X = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")


def gradients(fn, model, x, loss):
    x = sg.tensor(x, requires_grad=True)
    model.zero_grad()
    sg.manual_seed(1)
    loss(fn(x)).backward()
    return [p.grad.numpy().copy() for p in model.parameters()] + [x.grad.numpy().copy()]


@pytest.mark.parametrize(
    ("layer", "take"),
    [(nn.Tanh(), lambda m: m), (nn.Dropout(0.5), lambda m: m), (nn.Tanh(), lambda m: lambda x: (m(x), 2 * m(x).sum()))],
)
def test_gradients_agree_with_eager_mode(layer, take):
    sg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), layer, nn.Linear(4, 2))
    fn = sg.compile(take(model))

    def loss(y):
        return (y[0] ** 2).sum() * y[1] if isinstance(y, tuple) else (y**2).sum()

    for count in (4, 4, 3, 2):  # values are computed again; returned by the plan; other extents
        found = gradients(fn, model, X[:count], loss)
        for a, b in zip(found, gradients(take(model), model, X[:count], loss), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_rules_of_the_tape_hold():
    w = sg.ones(3, requires_grad=True)
    fn = sg.compile(lambda x: (x * w * w).exp().sum())
    x = sg.ones(3)
    y = fn(x)
    assert y.requires_grad
    y.backward()
    with pytest.raises(sg.GradientError, match="a second time"):
        y.backward()
    y = fn(x)
    with sg.no_grad():
        w.add_(1)
    with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
        y.backward()
    with sg.no_grad():
        assert not fn(x).requires_grad


@pytest.mark.usefixtures("interpreted")
def test_an_argument_that_no_gradient_reads_may_change():
    """In the call itself, and after it."""

    def step(x, count):
        y = (x**3).sum()
        count.add_(1)
        return y

    fn = sg.compile(step)
    for calls in range(1, 4):
        x, count = sg.tensor([1.0, 2.0], requires_grad=True), sg.zeros(())
        y = fn(x, count)
        count.add_(1)
        (g,) = sg.grad(y, [x], create_graph=calls > 1)
        np.testing.assert_array_equal(g.detach().numpy(), [3, 12])
        if calls > 1:
            np.testing.assert_array_equal(sg.grad(g.sum(), [x])[0].numpy(), [6, 12])
        assert count.item() == 2
    y = fn(x, count)
    with sg.no_grad():
        x.add_(1)
    with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
        y.backward()


def freed(w, x):
    loss = ((x * w) ** 2).sum()
    loss.backward()
    return loss, loss * 2


def freed_without_saved_values(w, x):
    loss = (x + w).sum()
    loss.backward()
    return loss


def one_of_two(w, x):
    first, second = ((x * w) ** 2).sum(), (w**2).sum()
    first.backward()
    return first, second


def kept(w, x):
    loss = ((x * w) ** 2).sum()
    loss.backward(retain_graph=True)
    return loss


def detached(w, x):
    loss = freed(w, x)[0]
    return loss.detach(), (x * w).argmax()


def unrecorded(w, x):
    with sg.no_grad():
        return x * w, w[0]


def updated(w, x):
    loss = freed(w, x)[0]
    with sg.no_grad():
        w -= 0.1 * w.grad
    return loss, w, w.sum()


def leaves_of_its_own(w, x):
    return sg.zeros(2, requires_grad=True), (x * w).detach().requires_grad_()


def own_leaf_freed(w, x):
    leaf = sg.ones(3).requires_grad_()
    loss = (leaf * x * leaf).sum()
    loss.backward()
    return leaf, loss


def own_leaf_used(w, x):
    leaf = sg.ones(3).requires_grad_()
    return leaf, (leaf * w).sum()


RETURNED = [
    freed, freed_without_saved_values, one_of_two, kept, detached, unrecorded, updated, leaves_of_its_own, own_leaf_freed,
    own_leaf_used,
]  # fmt: skip


@pytest.mark.parametrize("function", RETURNED)
def test_results_require_grad_as_in_eager_mode(function):
    """With the same leaves, and the same outcome of another backward pass from each; `updated` for the third time too."""

    def facts(call, w, x):
        results = call(w, x)
        results = results if isinstance(results, tuple) else (results,)
        found = []
        for y in results:
            found.append((y.requires_grad, y.is_leaf, y.grad_fn is None))
            try:
                y.sum().backward()
            except sg.GradientError as error:
                found.append(str(error).splitlines()[0])
            w.grad = None
        return found

    compiled = sg.compile(function)
    for _ in range(3):
        x = sg.tensor([1.0, 2.0, 3.0])
        eager, ours = (facts(call, sg.ones(3, requires_grad=True), x) for call in (function, compiled))
        assert eager == ours


def test_steps_of_a_loop_return_losses_that_require_grad():
    w = sg.ones(3, requires_grad=True)
    step = sg.compile(lambda x: freed(w, x)[0])
    losses = step.loop([sg.ones(3)] * 4)
    assert [loss.requires_grad for loss in losses] == [True] * 4
    with pytest.raises(sg.GradientError, match="a second time"):
        losses[-1].backward()
    with pytest.raises(sg.GradientError, match="a second time"):
        sg.grad(step(sg.ones(3)), [w])


def test_an_argument_with_a_tape_of_its_own():
    w = sg.ones(3, requires_grad=True)
    fn = sg.compile(lambda h: (h * h).sum())
    fn(w * 2).backward()
    assert w.grad.tolist() == [8, 8, 8]
    step = sg.compile(lambda h: (h * h).sum().backward(), on_break="error")
    with pytest.raises(sg.TraceError, match="an argument with a tape of its own"):
        step(w * 2)


class Cube(sg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


def changed_in_place(x, w):
    y = (x * w).clone()
    y[:1] = x[1:2] * w
    return (y.sin() ** 2).sum()


HIGHER = {
    "a network": lambda x, w: nn.functional.softmax(sg.tanh(x * w) @ x.T, 1).square().sum(),
    "random numbers": lambda x, w: nn.functional.dropout(sg.tanh(x * w), 0.4).square().sum(),
    "several results": lambda x, w: (x * w, (x * w).exp().sum()),
    "a constant part": lambda x, w: (x.detach() * w * x).square().sum(),
    "in-place changes": changed_in_place,
    "a loop": lambda x, w: sg.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, sg.sin(h * w)), (sg.tensor(0), x))[1].sum(),
    "a Function": lambda x, w: (Cube.apply(x) * w).sum(),
}


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", HIGHER)
def test_gradients_of_every_order_agree_with_eager_mode(name):
    """Also of a trace that other extents share, and where the plan returns saved values."""
    take, w = HIGHER[name], sg.tensor([0.5, -1.0, 1.5], dtype=float, requires_grad=True)
    fn = sg.compile(lambda x: take(x, w))

    def orders(function, array):
        x = sg.tensor(array, dtype=float, requires_grad=True)
        sg.manual_seed(1)
        y, found = function(x), []
        for _ in range(3):
            y = (y[0] ** 2).sum() * y[1] if isinstance(y, tuple) else y
            gradient = sg.grad(y, [x, w], create_graph=True)
            found += [g.detach().numpy() for g in gradient]
            y = sum((g**2).sum() for g in gradient)
        return found

    for count in (4, 4, 3):
        for a, b in zip(orders(fn, X[:count]), orders(lambda x: take(x, w), X[:count]), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("interpreted")
def test_refused_gradients_of_gradients():
    w = sg.ones(3, requires_grad=True)

    def hooked(x):
        y = x * w
        y.register_hook(lambda g: 2 * g)
        return (y * y).sum()

    (g,) = sg.grad(sg.compile(hooked)(sg.ones(3)), [w], create_graph=True)
    with pytest.raises(sg.GradientError, match="the function registers a hook"):
        g.sum().backward()
    x = sg.ones(3)
    (g,) = sg.grad(sg.compile(lambda x: (x * w * w).sum())(x), [w], create_graph=True)
    x.add_(1)
    with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
        g.sum().backward()


def returned_leaf(x, keep):
    v = sg.ones(3, requires_grad=True)
    keep.append(v)
    return (v * v * x).sum()


def leaf_that_nobody_has(x, keep):
    v = sg.ones(3, requires_grad=True)
    return (v * v * x).sum() * 2


def point(x, keep):
    v = x.detach().requires_grad_()
    y = (v**3).sum()
    (g,) = sg.autograd.grad(y, v, create_graph=True)
    keep.append(g)
    return g.sum()


@pytest.mark.parametrize("options", [{}, {"numerics": "strict"}, {"on_break": "split"}], ids=str)
@pytest.mark.parametrize("step", [returned_leaf, leaf_that_nobody_has, point])
def test_results_that_depend_on_leaves_made_inside_require_grad(step, options):
    found = []
    for fn in (sg.compile(step, **options), step):
        for _ in range(3):
            keep = []
            loss = fn(sg.tensor([1.0, 2.0, 3.0]), keep)
            flags = loss.requires_grad, loss.is_leaf, [x.requires_grad for x in keep]
            loss.backward()
            with pytest.raises(sg.errors.GradientError):
                loss.backward()
            found.append((loss.item(), flags, [x.grad.tolist() for x in keep if x.is_leaf]))
    assert found[:3] == found[3:]


@pytest.mark.usefixtures("interpreted")
def test_a_gradient_of_an_argument_names_the_value_that_a_change_overwrote():
    """Other arguments are not used, as in PyTorch."""

    def step(x, other):
        y = x.exp()
        loss = (y * y).sum()
        y.mul_(3.0)
        return loss, other * 2.0

    for function in (step, sg.compile(step)):
        for _ in range(2):
            x, other = sg.ones(3, requires_grad=True), sg.ones(2, requires_grad=True)
            loss, doubled = function(x, other)
            with pytest.raises(sg.GradientError, match=r"modified by an inplace operation: .*, which MulBackward0 needs"):
                sg.grad(loss, [x])
            with pytest.raises(sg.GradientError, match="appears to not have been used in the graph"):
                sg.grad(loss, [other])
            assert sg.grad(doubled.sum(), [other])[0].tolist() == [2, 2]
