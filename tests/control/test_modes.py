"""Loops and branches in three modes: values, gradients and second gradients are those of the Python loop."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from tests.control.programs import CASES, Case, agree, compiled, derived, drawn, in_session, tensors
from tests.helpers import assert_close, real

DTYPES = [pytest.param(np.float64, id="f64"), pytest.param(np.float32, id="f32")]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_compiled(name, dtype, request):
    """As machine code in float64; NumPy runs the plans in float32."""
    if dtype is np.float32:
        request.getfixturevalue("interpreted")
    case = CASES[name]
    arrays = drawn(name, case, dtype)
    found, step = compiled(case, arrays)
    agree(found, derived(case, tensors(arrays)), dtype, "compiled")
    assert step.plan.host_calls == 0


@pytest.mark.parametrize("name", CASES)
def test_session_with_unknown_extents(name):
    case = CASES[name]
    arrays = drawn(name, case, np.float64)
    agree(in_session(case, arrays), derived(case, tensors(arrays)), np.float64, "session")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("every", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("reverse", [False, True])
def test_checkpoints_change_nothing(every, reverse, dtype):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in ((2, 3), (3, 3), (7, 2, 3))]

    def run(c, w, x, every):
        last, ys = sg.scan(lambda h, v: (sg.tanh(h @ w + v), h * 2), c, x, reverse=reverse, checkpoint_every=every)
        return (last**2).sum() + (ys**3).sum()

    def gradients(c, w, x, every):
        first = sg.grad(run(c, w, x, every), [c, w, x], create_graph=True)
        return [*first, *sg.grad(sum((g**2).sum() for g in first), [c, w, x])]

    plain = gradients(*tensors(arrays), None)
    agree(sg.compile(gradients)(*tensors(arrays), every), plain, dtype, "compiled")
    agree(gradients(*tensors(arrays), every), plain, dtype, "eager")


@pytest.mark.parametrize("pred", [True, False, 1, np.True_, np.False_, np.int64(0)], ids=repr)
def test_a_python_decision(pred):
    """Where Python knows the answer only that function runs, in every mode."""
    runs = []

    def choose(x):
        return sg.cond(pred, lambda: runs.append("yes") or x * 2, lambda: runs.append("no") or x[:1])

    values = np.array([1.0, 2.0])
    expected = values * 2 if pred else values[:1]
    np.testing.assert_array_equal(choose(sg.tensor(values)).numpy(), expected)
    np.testing.assert_array_equal(sg.compile(choose)(sg.tensor(values)).numpy(), expected)
    with sg.Graph().as_default(), sg.Session() as sess:
        np.testing.assert_array_equal(sess.run(choose(sg.constant(values))), expected)
    assert runs == ["yes" if pred else "no"] * 3


RETURNED = {
    "cond": lambda y: sg.cond(y.sum() > -100, lambda: y, lambda: y * 2),
    "while_loop without iterations": lambda y: sg.while_loop(lambda h: h.sum() > 100, lambda h: h + 1, y),
    "while_loop that returns something else": lambda y: sg.while_loop(lambda h: h.sum() < 1, lambda h: y, y * 0),
    "scan that carries": lambda y: sg.scan(lambda c, _: (c, None), y, length=2)[0],
    "scan without iterations": lambda y: sg.scan(lambda c, v: (c + 1, v), y, y[:0])[0],
}


@pytest.mark.parametrize("name", RETURNED)
def test_results_have_memory_of_their_own(name):
    """A change in place of what a function returned is no change of what it had from outside."""
    values = np.array([1.0, 2.0])

    def step(x):
        y = x * 1
        result = RETURNED[name](y)
        result.mul_(3)
        return y, result

    for found in (step(sg.tensor(values)), sg.compile(step)(sg.tensor(values))):
        for part, right in zip(found, (values, values * 3), strict=True):
            np.testing.assert_array_equal(part.numpy(), right)


@pytest.mark.parametrize("value", [1.0, -1.0])
def test_results_of_a_branch_are_tensors(value):
    """Also where a function returns numbers and arrays, and where the decision is an array's."""

    def choose(x, number):
        decision = x > 0 if number is None else np.array(number > 0)
        return sg.cond(decision, lambda: (1.0, np.ones(2), x), lambda: (2.0, np.zeros(2), -x))

    for number in (None, value):
        eager, step = choose(sg.tensor(value), number), sg.compile(choose)
        for found, expected in zip(step(sg.tensor(value), number), eager, strict=True):
            assert type(found) is type(expected) is sg.Tensor
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_a_decision_by_an_array_draws_as_in_a_graph():
    def draw(x):
        return sg.cond(np.array(True), lambda: sg.rand(2), lambda: x), sg.rand(2)

    sg.manual_seed(3)
    eager = draw(sg.zeros(2))
    sg.manual_seed(3)
    for found, expected in zip(sg.compile(draw)(sg.zeros(2)), eager, strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("limit", [None, 3])
def test_checkpoints_of_a_while_loop(limit):
    c = np.random.default_rng(0).standard_normal((2, 3))

    def gradients(c, every):
        last = sg.while_loop(
            lambda v: (v**2).sum() > 0.1, lambda v: sg.sin(v) * 0.7, c, max_steps=limit, checkpoint_every=every
        )
        (g,) = sg.grad((last**2).sum(), [c], create_graph=True)
        return [g, *sg.grad((g**3).sum(), [c])]

    for every in (1, 2, 4):
        agree(sg.compile(gradients)(*tensors([c]), every), gradients(*tensors([c]), None), np.float64, f"{every}")


@pytest.mark.parametrize("length", [0, 1, 2, 10, 1000])
def test_lengths_in_one_program(length):
    """A plan for each length, the same kernels for all."""
    x = np.random.default_rng(length).standard_normal((length, 4)) * 0.1
    with sg.Graph().as_default():
        xs = sg.placeholder(sg.float64, [None, 4])
        last, ys = sg.scan(lambda c, v: (sg.tanh(c + v), c.sum()), np.ones(4), xs)
        (g,) = sg.gradients((last**2).sum() + ys.sum() + xs.sum(), xs)
        with sg.Session() as session:
            found = session.run([last, ys, g], {xs: x})
    t = sg.tensor(x, requires_grad=True)
    last, ys = sg.scan(lambda c, v: (sg.tanh(c + v), c.sum()), np.ones(4), t)
    agree(found, [last, ys, *sg.grad((last**2).sum() + ys.sum() + t.sum(), [t])], np.float64, f"{length}")


def test_a_trip_count_that_depends_on_values():
    """One plan, whose stacks grow as far as a run needs them."""

    @sg.compile
    def newton(a, x):
        root = sg.while_loop(lambda v: abs(v * v - a) > 1e-12 * a, lambda v: v - (v * v - a) / (2 * v), x)
        (g,) = sg.grad(root, [a], create_graph=True)
        return root, g, sg.grad(g, [a])[0]

    for a in (4.0, 2.0, 1e8, 1e-6, 1e8):
        root, g, h = newton(sg.tensor(a, dtype=sg.float64, requires_grad=True), np.ones(()))
        np.testing.assert_allclose([root.item(), g.item(), h.item()], [a**0.5, 0.5 * a**-0.5, -0.25 * a**-1.5], rtol=1e-6)
    assert len(newton.recompiles) == 1


def test_thousands_of_iterations_of_a_growing_stack():
    @sg.compile
    def decay(x):
        last, _ = sg.while_loop(lambda v, i: i < 5000, lambda v, i: (v * 0.9995, i + 1), (x, np.int64(0)))
        return sg.grad(last.sum(), [x])[0]

    g = decay(sg.ones(300, dtype=sg.float64, requires_grad=True))
    np.testing.assert_allclose(g.numpy(), 0.9995**5000, rtol=1e-9)


def test_training_step_in_a_scan():
    """The carry is a weight, the body a whole step of gradient descent."""
    rng = np.random.default_rng(0)
    x, y, w = rng.standard_normal((20, 8, 3)), rng.standard_normal((20, 8)), np.zeros(3)

    def train(w, x, y):
        def step(w, batch):
            loss = ((batch[0] @ w - batch[1]) ** 2).mean()
            g = 2 * (batch[0] * sg.expand_dims(batch[0] @ w - batch[1], 1)).mean(0)
            return w - 0.1 * g, loss

        return sg.scan(step, w, (x, y))

    agree(sg.compile(train)(w, x, y), train(*map(sg.tensor, (w, x, y))), np.float64, "train")


@pytest.mark.parametrize("order", [3, 4])
def test_higher_gradients_through_a_loop_of_unknown_length(order):
    """From the third on, a stack has several cotangents, which are added item by item."""

    def program(x, gradient):
        y, _ = sg.while_loop(lambda x, n: x < 50, lambda x, n: (x * sg.exp(0.3 * x) + sg.sin(x), n + 1), (x, np.int64(0)))
        for _ in range(order):
            y = gradient(y, x)
        return y

    def taped(x):
        return program(x, lambda y, x: sg.grad(y, [x], create_graph=True)[0])

    x = sg.tensor(1.3, dtype=sg.float64, requires_grad=True)
    expected = taped(x).detach().numpy()
    assert_close(sg.compile(taped)(x), expected, 1e-12)
    with sg.Graph().as_default():
        fed = sg.placeholder(sg.float64, ())
        result = program(fed, lambda y, x: sg.gradients(y, [x])[0])
        with sg.Session() as sess:
            assert_close(sess.run(result, {fed: 1.3}), expected, 1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_loops_in_blocks_inside_of_a_body(dtype):
    """Of which gradients keep the carries of blocks."""

    def loss(c, x):
        def body(h, v):
            inner, ys = sg.scan(lambda a, b: (sg.tanh(a * b) + v, a.sum()), h, sg.stack([v, v * 2, h]), checkpoint_every=2)
            last = sg.while_loop(lambda a: (a**2).sum() > 1.0, lambda a: sg.tanh(a * v) * 0.5, v + 1, checkpoint_every=2)
            return inner, (ys, inner * 2, last)

        last, (ys, inner, ends) = sg.scan(body, c, x)
        return (last**2).sum() + (ys**2).sum() + (inner**2).sum() + (ends**2).sum()

    case = Case(loss, (real(2, 3), real(5, 2, 3)))
    arrays = drawn("blocks", case, dtype)
    expected = derived(case, tensors(arrays))
    agree(compiled(case, arrays)[0], expected, dtype, "compiled")
    agree(in_session(case, arrays, known=True), expected, dtype, "session")
    agree(sg.compile(lambda *given: derived(case, given), numerics="strict")(*tensors(arrays)), expected, dtype, "strict")


@pytest.mark.parametrize("name", CASES)
def test_no_trace_is_cut(name):
    case = CASES[name]
    arrays = drawn(name, case, np.float64)
    step = sg.compile(case.fn, on_break="error")
    agree([step(*tensors(arrays))], [case.fn(*tensors(arrays))], np.float64, name)
