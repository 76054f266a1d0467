"""Gradients as tensors of the graph."""

import numpy as np
import pytest

from staticgrad import eager
from staticgrad.errors import ArgumentError, GradientError, GraphError
from staticgrad.operators import F
from staticgrad.static import Graph, Session, Variable, constant, gradients, placeholder

X = np.array([0.5, -1.5, 2.0])


def x64(shape=(None,)):
    return placeholder(np.float64, shape, name="x")


@pytest.mark.parametrize(
    ("f", "derivatives"),
    [
        (lambda x: x * x * x, (3 * X**2, 6 * X, 6 + 0 * X)),
        (F.exp, (np.exp(X),) * 3),
        (F.sin, (np.cos(X), -np.sin(X), -np.cos(X))),
        (lambda x: 1 / x, (-(X**-2), 2 * X**-3, -6 * X**-4)),
        (F.tanh, (1 - np.tanh(X) ** 2, -2 * np.tanh(X) * (1 - np.tanh(X) ** 2), None)),
    ],
)
def test_derivatives_up_to_the_third(f, derivatives):
    x = x64()
    y, sess = f(x), Session()
    for expected in derivatives:
        (y,) = gradients(y, x)
        if expected is not None:
            np.testing.assert_allclose(sess.run(y, {x: X}), expected, rtol=1e-12)


def test_second_derivatives_mix():
    x, y = placeholder(np.float64, ()), placeholder(np.float64, ())
    dx, dy = gradients(x * x * F.exp(y), [x, y])
    dxy, dyx = gradients(dx, y)[0], gradients(dy, x)[0]
    values = Session().run([dx, dy, dxy, dyx], {x: 3, y: 0.5})
    np.testing.assert_allclose(values, np.exp(0.5) * np.array([6, 9, 6, 6]), rtol=1e-12)


def test_several_ys_add_up_with_their_weights():
    x = x64()
    ys = [x * x, 3 * x]
    plain = gradients(ys, [x])[0]
    weighted = gradients(ys, [x], grad_ys=[np.array([1.0, 2, 3]), None])[0]
    symbolic = gradients(ys[0], x, grad_ys=x)[0]
    values = Session().run([plain, weighted, symbolic], {x: X})
    np.testing.assert_allclose(values, [2 * X + 3, 2 * X * [1, 2, 3] + 3, 2 * X * X])


def test_inner_tensors_and_unconnected_ones():
    x, other = x64(), x64()
    h = F.exp(x)
    y = h * h
    found = gradients(y, [h, other, y, eager.tensor(1.0)])
    assert found[1] is None
    assert found[3] is None
    dh, dy = Session().run([found[0], found[2]], {x: X})
    np.testing.assert_allclose(dh, 2 * np.exp(X))
    np.testing.assert_array_equal(dy, np.ones(3))


def test_nothing_flows_past_stop_gradients():
    a = Variable(0.0, name="a")
    b = a * 2
    total = gradients(a + b, [a, b])
    partial = gradients(a + b, [a, b], stop_gradients=[a, b])
    sess = Session()
    sess.run(a.initializer)
    assert sess.run([total, partial]) == [[3, 1], [1, 1]]


def test_of_a_captured_tensor():
    w = eager.tensor([1.0, 2.0], requires_grad=True)
    c = eager.tensor([3.0, 4.0])
    x = placeholder(np.float32, (2,))
    dw, dc = gradients(F.sum(x * w * c), [w, c])
    with Session() as sess:
        sess.run(x.graph.variables[0].initializer)
        values = sess.run([dw, dc], {x: [10, 100]})
    np.testing.assert_array_equal(values, [[30, 400], [10, 200]])


def test_gradients_of_a_product_over_nothing_with_an_unknown_batch():
    x, w = x64((None, 2, 0)), placeholder(np.float64, (0, 4))
    found = gradients(F.sum(F.matmul(x, w) + 1), [x, w])
    assert [g.shape for g in Session().run(found, {x: np.ones((3, 2, 0)), w: np.ones((0, 4))})] == [(3, 2, 0), (0, 4)]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: gradients([], x), GradientError, "gradients need a Tensor, got an empty list"),
        (lambda x: gradients(x, 3.0), ArgumentError, "gradients: xs has to be a tensor or a list of tensors, got float"),
        (lambda x: gradients(x, other_graph()), GraphError, "Tensor 'constant' is not an element of this graph."),
        (lambda x: gradients([x, other_graph()], x), GraphError, "Tensor 'constant' is not an element of this graph."),
    ],
)
def test_wrong_arguments(call, error, text):
    with pytest.raises(error) as caught:
        call(x64())
    assert caught.value.summary == text


def other_graph():
    with Graph().as_default():
        return constant(1.0)
