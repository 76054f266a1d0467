"""Operations that are written when shapes and sizes are known: in TensorFlow's dialect, whose programs ask for them."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.compat.tf1 as tf
from staticgrad import errors


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def numbers(*shape, dtype="f4"):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("numerics", ["fast", "strict"])
def test_a_shape_that_depends_on_the_batch(graph, dtype, numerics):
    x = tf.placeholder(dtype, [None, 6])
    n = tf.shape(x)[0]
    y = tf.reshape(tf.exp(x), [n, 2, 3]) * tf.ones([n, 1, 1], dtype)
    assert y.shape.as_list() == [None, 2, 3]
    (first,) = tf.gradients(tf.reduce_sum(y * y), x)
    (second,) = tf.gradients(tf.reduce_sum(first * first), x)
    session = sg.Session(graph, numerics=numerics)
    for batch in (4, 1, 5):
        value = numbers(batch, 6, dtype=dtype)
        got = session.run([y, first, second], {x: value})
        assert got[0].shape == (batch, 2, 3)
        np.testing.assert_allclose(got[1], 2 * np.exp(2 * value), rtol=1e-5)
        np.testing.assert_allclose(got[2], 16 * np.exp(4 * value), rtol=1e-5)


def test_sizes_that_are_fed(graph):
    x, sizes, axis = tf.placeholder("float", [None]), tf.placeholder("int32", [2]), tf.placeholder("int32", [])
    table = tf.reshape(x, sizes)
    total = tf.reduce_sum(table, axis)
    (slope,) = tf.gradients(tf.reduce_sum(total**2), x)
    value = numbers(12)
    with tf.Session() as session:
        for shape, along in (((3, 4), 0), ((3, 4), 1), ((2, 6), 0), ((3, 4), 0)):
            got, gradient = session.run([total, slope], {x: value, sizes: shape, axis: along})
            expected = value.reshape(shape).sum(along)
            np.testing.assert_allclose(got, expected, rtol=1e-5)
            spread = np.broadcast_to(np.expand_dims(2 * expected, along), shape)
            np.testing.assert_allclose(gradient, spread.ravel(), rtol=1e-5)


def test_a_plan_serves_one_value_of_each_size():
    x, n = tf.placeholder("float", [None]), tf.placeholder("int32", [])
    y = tf.tile(x, [n])
    with tf.Session() as session:
        for count in (2, 3, 2, 3, 2):
            np.testing.assert_array_equal(session.run(y, {x: [1, 2], n: count}), [1, 2] * count)
        (runner,) = session._session._runners.values()
        assert len(runner.program.plans) == 2


def test_many_runs_with_sizes():
    x, n = tf.placeholder("float", [None]), tf.placeholder("int32", [])
    total = tf.reduce_sum(tf.tile(x, [n]))
    with tf.Session() as session:
        got = session.run_steps(total, {x: np.ones((3, 2), "f4"), n: np.array([1, 2, 3], "i4")})
    np.testing.assert_array_equal(got, [2, 4, 6])


def test_a_size_that_the_run_computes():
    n, x = tf.Variable(3, name="count"), tf.placeholder("int32", [None])
    y = tf.fill([n + tf.reduce_sum(x)], 2.0)
    total = tf.reduce_sum(y * tf.range(tf.cast(tf.size(y), "float32")))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for given in ([1], [2, 1], [1]):
            count = 3 + sum(given)
            assert session.run(y, {x: given}).tolist() == [2] * count
            assert session.run(total, {x: given}) == count * (count - 1)
        session.run(tf.assign(n, 0))
        assert session.run(y, {x: [2]}).tolist() == [2, 2]


def test_a_wrong_size_is_an_error_at_the_users_line():
    x, n = tf.placeholder("float", [None]), tf.placeholder("int32", [])
    y = tf.reshape(x, [n, 4])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="can't reshape") as caught:
            session.run(y, {x: np.ones(10), n: 3})
        assert "y = tf.reshape(x, [n, 4])" in str(caught.value)
        assert session.run(y, {x: np.ones(8), n: 2}).shape == (2, 4)


def test_set_shape_tells_more_and_is_checked():
    x = tf.placeholder("float")
    x.set_shape([None, 3])
    assert x.shape.as_list() == [None, 3]
    y = tf.layers.dense(x, 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y, {x: np.ones((4, 3))}).shape == (4, 2)
        with pytest.raises(ValueError, match="shape"):
            session.run(y, {x: np.ones((4, 5))})
    with pytest.raises(ValueError, match="not compatible"):
        x.set_shape([None, 4])


def test_random_numbers_of_the_shape_of_a_batch():
    x = tf.placeholder("float", [None, 50])
    noise = tf.random_normal(tf.shape(x), mean=3.0)
    mixed = x + noise * tf.random_uniform([tf.shape(x)[0], 1])
    tf.set_random_seed(1)
    with tf.Session() as session:
        a, b = session.run([noise, mixed], {x: np.zeros((40, 50))}), session.run(noise, {x: np.zeros((3, 50))})
    assert a[0].shape == a[1].shape == (40, 50)
    assert b.shape == (3, 50)
    assert abs(a[0].mean() - 3) < 0.1
    assert abs(a[0].std() - 1) < 0.1


def test_inside_a_loop():
    x = tf.placeholder("float", [None, 4])

    def body(i, total):
        rows = tf.shape(x)[0]
        return i + 1, total + tf.reduce_sum(tf.reshape(x, [rows * 2, 2]), 0)

    _, total = tf.while_loop(lambda i, t: i < 3, body, [tf.constant(0), tf.zeros([2])])
    (slope,) = tf.gradients(tf.reduce_sum(total), x)
    value = numbers(5, 4)
    with tf.Session() as session:
        got, gradient = session.run([total, slope], {x: value})
    np.testing.assert_allclose(got, 3 * value.reshape(10, 2).sum(0), rtol=1e-5)
    np.testing.assert_array_equal(gradient, np.full((5, 4), 3, "f4"))


def test_training_with_a_placeholder_of_any_rank():
    x = tf.placeholder("float")
    w = tf.Variable(np.full((3, 1), 0.5, "f4"))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    value = numbers(6, 3)
    expected = np.full((3, 1), 0.5, "f4")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step, {x: value})
            expected = expected - 0.1 * 2 / 6 * value.T @ (value @ expected)
        np.testing.assert_allclose(session.run(w), expected, rtol=1e-5)


def test_what_is_unknown_is_not_claimed():
    """Of a convolution of images of unknown size nothing is known but the rank and the channels."""
    x, w = tf.placeholder("float", [None, None, None, 2]), tf.placeholder("float", [None, None, 2, 3])
    y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID")
    assert y.shape.as_list() == [None, None, None, 3]
    with tf.Session() as session:
        assert session.run(y, {x: np.ones((1, 7, 9, 2)), w: np.ones((3, 2, 2, 3))}).shape == (1, 5, 8, 3)


def test_a_graph_with_deferred_operations_is_not_written_to_a_file():
    x = tf.placeholder("float", [None])
    y = tf.reshape(x, [tf.shape(x)[0], 1])
    with pytest.raises(errors.StaticgradError):
        sg.to_json(y.graph)


COMPUTED = {
    "sequence_mask": lambda h, n: tf.sequence_mask(n + 1, dtype=tf.float32),
    "where": lambda h, n: tf.cast(tf.where(h > 0), "float32"),
    "boolean_mask": lambda h, n: tf.boolean_mask(h, h > 0),
    "rows": lambda h, n: tf.boolean_mask(h, h[:, 0] > 0.8),
    "unique": lambda h, n: tf.cast(tf.unique(tf.mod(n * 3, 4))[0], "float32"),
    "dynamic_partition": lambda h, n: tf.concat(tf.dynamic_partition(h, tf.cast(h[:, 0] > 0.9, "int32"), 2), 0),
    "gather_nd": lambda h, n: tf.gather_nd(h, tf.where(h > 0)),
    "range": lambda h, n: tf.cast(tf.range(tf.reduce_sum(n)), "float32"),
    "tile": lambda h, n: tf.tile(h, [tf.reduce_max(n), 1]),
    "slice": lambda h, n: h[:, : tf.argmax(h[0], output_type=tf.int32)],
    "cond": lambda h, n: tf.cond(tf.reduce_sum(n) > 3, lambda: tf.reduce_max(tf.boolean_mask(h, h > 0)), lambda: 0.0),
    "while": lambda h, n: tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.reduce_sum(tf.boolean_mask(h, h > a))), [0, 0.0]
    )[1],
    "map_fn": lambda h, n: tf.map_fn(lambda row: tf.reduce_max(tf.boolean_mask(row, row > 0)), h),
}
"""Sizes that the run computes, of values in (-1, 1) and counts."""
H = np.tanh(np.array([[1, -2, 3], [4, 5, -6]], "f4"))
WANTED = {
    "sequence_mask": [[1, 1, 1, 0], [1, 1, 1, 1]],
    "where": np.argwhere(H > 0),
    "boolean_mask": H[H > 0],
    "rows": H[H[:, 0] > 0.8],
    "unique": [2, 1],
    "dynamic_partition": H,
    "gather_nd": H[H > 0],
    "range": np.arange(5),
    "tile": np.tile(H, (3, 1)),
    "slice": H[:, :2],
    "cond": H.max(),
    "while": H[H > 0].sum(),
    "map_fn": H.max(1),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_sizes_that_the_run_computes(name):
    x, n = tf.placeholder("float", [None, 3]), tf.placeholder("int32", [None])
    y = COMPUTED[name](tf.tanh(x), n)
    with tf.Session() as session:
        for _ in range(2):
            found = session.run(y, {x: [[1, -2, 3], [4, 5, -6]], n: [2, 3]})
            np.testing.assert_allclose(found, WANTED[name], rtol=1e-6)


def test_the_gradient_of_a_partition_that_is_computed():
    x = tf.placeholder("float", [None, 2])
    low, high = tf.dynamic_partition(x * 1.0, tf.cast(x[:, 0] > 1, "int32"), 2)
    (slope,) = tf.gradients(tf.reduce_sum(low**2) + tf.reduce_sum(high * 5), [x])
    (second,) = tf.gradients(tf.reduce_sum(slope**2), [x])
    with tf.Session() as session:
        first, second = session.run([slope, second], {x: [[0, 1], [2, 3], [1, 4]]})
    assert first.tolist() == [[0, 2], [5, 5], [2, 8]]
    assert second.tolist() == [[0, 8], [0, 0], [8, 32]]
