"""Loops whose variables change their shapes, in all modes, and programs of TensorFlow's dialect."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.compat.tf1 as sgtf
from tests.helpers import raised, tensorflow1


def doubled(x):
    """Rows doubled three times, with the copies twice as large: eight times as many, whose sum is 27 times as large."""
    shapes = ((), (None, 2))
    body = lambda i, y: (i + 1, sg.concatenate([y, y * 2], axis=0))  # noqa: E731
    return sg.while_loop(lambda i, y: i < 3, body, (sg.tensor(0), x), shape_invariants=shapes)[1]


@sg.compile
def compiled(x):
    y = doubled(x)
    y.sum().backward()
    return y, x.grad


def test_all_modes_agree():
    first = sg.tensor(np.ones((1, 2), "f4"), requires_grad=True)
    y = doubled(first)
    y.sum().backward()
    again, slope = compiled(sg.tensor(np.ones((1, 2), "f4"), requires_grad=True))
    with sg.Graph().as_default(), sg.Session() as session:
        p = sg.placeholder(sg.float32, [None, 2])
        out = doubled(p)
        (back,) = sg.gradients([(out**2).sum()], [p])
        (second,) = sg.gradients([back.sum()], [p])
        for rows in (1, 3):
            given = np.ones((rows, 2), "f4")
            value, g, gg = session.run([out, back, second], {p: given})
            assert value.shape == (8 * rows, 2)
            np.testing.assert_array_equal(g, 2 * 125 * given)
            np.testing.assert_array_equal(gg, 2 * 125 * given)
    for value, gradient in ((y, first.grad), (again, slope)):
        np.testing.assert_array_equal(value.detach().numpy()[:, 0], [1, 2, 2, 4, 2, 4, 4, 8])
        np.testing.assert_array_equal(gradient.numpy(), [[27, 27]])


def test_refusals():
    x = sg.tensor(np.ones((1, 2), "f4"))
    join = lambda axis: lambda y: sg.concatenate([y, y], axis=axis)  # noqa: E731
    with raised(sg.errors.ShapeError, "The shape for loop_vars[0] is not an invariant"):
        sg.while_loop(lambda y: True, join(0), (x,))
    with raised(sg.errors.ShapeError, "The shape for loop_vars[0] is not an invariant"):
        sg.while_loop(lambda y: True, join(1), (x,), shape_invariants=((None, 2),))
    with raised(sg.errors.ShapeError, "The shape invariant specified for loop_vars[0] is not compatible"):
        sg.while_loop(lambda y: True, join(0), (x,), shape_invariants=((None, 3),))
    with raised(sg.errors.ArgumentError, "shape_invariants has to have the structure of loop_vars"):
        sg.while_loop(lambda y: True, join(0), (x,), shape_invariants=())


# in TensorFlow's dialect: (fetches, several feeds) of `tf`


def known_count(tf):
    i, m = tf.constant(0), tf.ones([2, 2])
    shapes = [i.get_shape(), tf.TensorShape([None, 2])]
    return tf.while_loop(
        lambda i, m: i < 5, lambda i, m: [i + 1, tf.concat([m, m], axis=0)], [i, m], shape_invariants=shapes
    ), [{}]


def fed_count(tf):
    x, n = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [])
    w = tf.Variable([0.5, 2.0])
    grow = lambda i, m: (i + 1, tf.concat([m, m[-1:] * w + tf.to_float(i)], 0))  # noqa: E731
    shapes = (tf.TensorShape([]), tf.TensorShape([None, 2]))
    _, out = tf.while_loop(lambda i, m: i < n, grow, (0, tf.expand_dims(x, 0)), shape_invariants=shapes)
    return [out, *tf.gradients(tf.reduce_sum(out**2), [x, w]), tf.shape(out)], [{x: [1.0, 2.0], n: k} for k in (0, 3)]


def condition_by_a_variable(tf):
    w, x = tf.Variable(3.0), tf.placeholder(tf.float32, [None])
    shapes = [tf.TensorShape([None])]
    out = tf.while_loop(lambda m: tf.reduce_sum(m) < 40.0, lambda m: tf.concat([m, [w]], 0), [x], shape_invariants=shapes)
    return [out, tf.gradients(out * out, w)[0]], [{x: [1.0, 2.0]}, {x: [5.0]}, {x: [50.0]}]


def greedy_decoding(tf):
    table = tf.Variable(np.roll(np.eye(5, dtype="f4"), 1, 1))
    tokens = tf.placeholder(tf.int32, [None, 1])

    def step(t, last, i):
        after = tf.argmax(tf.nn.embedding_lookup(table, t[:, -1]), 1, output_type=tf.int32)
        return tf.concat([t, after[:, None]], 1), after, i + 1

    going = lambda t, last, i: tf.logical_and(tf.reduce_any(tf.not_equal(last, 4)), i < 9)  # noqa: E731
    shapes = [tf.TensorShape([None, None]), tf.TensorShape([None]), tf.TensorShape([])]
    return tf.while_loop(going, step, [tokens, tokens[:, 0], 0], shape_invariants=shapes), [
        {tokens: [[0], [1]]}, {tokens: [[4], [4]]}, {tokens: [[2]]},
    ]  # fmt: skip


def unknown_rank(tf):
    x = tf.placeholder(tf.float32, [4, 3])
    shapes = [tf.TensorShape([]), tf.TensorShape(None)]
    _, out = tf.while_loop(lambda i, m: i < 2, lambda i, m: (i + 1, tf.reduce_sum(m, 0)), [0, x], shape_invariants=shapes)
    return [out, tf.gradients(out, x)[0]], [{x: np.ones((4, 3))}]


def unchanged(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    shapes = [tf.TensorShape([]), tf.TensorShape([None, None])]
    _, out = tf.while_loop(lambda i, m: i < 4, lambda i, m: (i + 1, m * 2), [0, x], shape_invariants=shapes)
    return [out, tf.gradients(out, x)[0]], [{x: np.ones((2, 3))}]


def drawn(tf):
    shapes = [tf.TensorShape([]), tf.TensorShape([None, 2])]
    grow = lambda i, m: (i + 1, tf.concat([m, tf.random_normal([1, 2])], 0))  # noqa: E731
    return tf.shape(tf.while_loop(lambda i, m: i < 3, grow, [0, tf.ones([1, 2])], shape_invariants=shapes)[1]), [{}]


PROGRAMS = [known_count, fed_count, condition_by_a_variable, greedy_decoding, unknown_rank, unchanged, drawn]


def results(tf, program):
    with tf.Graph().as_default():
        fetches, feeds = program(tf)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return [session.run(fetches, feed) for feed in feeds]


def test_values_in_the_dialect():
    (out,) = results(sgtf, known_count)
    assert out[0] == 5
    assert out[1].shape == (64, 2)
    (short, *_), (long, _, slope, shape) = results(sgtf, fed_count)
    assert short.shape == (1, 2)
    np.testing.assert_allclose(long, [[1, 2], [0.5, 4], [1.25, 9], [2.625, 20]])
    np.testing.assert_allclose(slope, [12.6875, 1160])
    assert shape.tolist() == [4, 2]
    assert [len(values) for values, _ in results(sgtf, condition_by_a_variable)] == [15, 13, 1]
    assert results(sgtf, greedy_decoding)[2][0].tolist() == [[2, 3, 4]]
    assert results(sgtf, drawn)[0].tolist() == [4, 2]


@pytest.mark.oracle
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_tensorflows(program):
    tf = tensorflow1()
    for ours, theirs in zip(results(sgtf, program), results(tf, program), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_explanations_say_how_often_a_loop_is_written():
    sgtf.reset_default_graph()
    n = sgtf.placeholder(sgtf.int32, [])
    any_length = (sgtf.TensorShape([]), sgtf.TensorShape([None]))
    out = sgtf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, sgtf.concat([x, x], 0)), (0, sgtf.zeros([1])), any_length)
    with sgtf.Session() as session:
        assert session.run(out[1], {n: 3}).shape == (8,)
        told = str(session.plan(out[1], {n: 3}).explain())
    assert "while_loop: 3 iterations are written one after the other, because their shapes differ" in told
