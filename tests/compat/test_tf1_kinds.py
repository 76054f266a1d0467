"""Arrays of elements of different extents, averages, folds, segments, scatters, sparse gradients, feeds, threads, names.
The values are TensorFlow's."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import staticgrad.compat.tf1 as tf


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches, feed)


def lists(value):
    if isinstance(value, (list, tuple)):
        return [lists(v) for v in value]
    return np.asarray(value).tolist()


def array(size=0, **options):
    return tf.TensorArray(tf.float32, size, infer_shape=False, **options)


def filled_in_a_loop(n, made):
    def body(i, ta):
        return i + 1, ta.write(i, tf.fill([i + 1], tf.cast(i, tf.float32)))

    return tf.while_loop(lambda i, ta: i < n, body, [0, made])[1]


def fed(value, make, shape=None, dtype=tf.float32):
    place = tf.placeholder(dtype, shape)
    return make(place), {place: value}


def gradient_in_a_loop():
    x = tf.constant([1.0, 2.0, 3.0])

    def body(i, ta):
        return i + 1, ta.write(i, x[: i + 1] * x[i])

    ta = tf.while_loop(lambda i, ta: i < 3, body, [0, array(3)])[1]
    return tf.gradients(tf.reduce_sum(ta.concat()), x)


ROWS = [[1.0, 2.0], [3.0, 4.0]]
CASES = {
    "written": (lambda: [*map(array(2).write(0, [1.0, 2.0]).write(1, [3.0, 4.0, 5.0]).read, (0, 1))], [[1, 2], [3, 4, 5]]),
    "rows": (
        lambda: array(2).write(1, tf.ones([1, 2])).write(0, tf.zeros([2, 2])).concat(), [[0, 0], [0, 0], [1, 1]],
    ),
    "split": (lambda: array(3).split([1.0, 2.0, 3.0, 4.0], [1, 2, 1]).read(1), [2, 3]),
    "split by a tensor": (
        lambda: fed([1, 2, 1], lambda n: array(3).split([1.0, 2.0, 3.0, 4.0], n).read(1), [3], tf.int32), [2, 3],
    ),
    "loop": (lambda: fed(3, lambda n: filled_in_a_loop(n, array(n)).concat(), [], tf.int32), [0, 1, 1, 2, 2, 2]),
    "loop that grows": (
        lambda: fed(3, lambda n: filled_in_a_loop(n, array(0, dynamic_size=True)).read(2), [], tf.int32), [2, 2, 2],
    ),
    "gradient of a loop": (gradient_in_a_loop, [[1 * 2 + 2 + 3, 2 * 2 + 1 + 3, 3 * 2 + 1 + 2]]),
    "several elems": (
        lambda: tf.scan(lambda c, e: (c[0] + e[0], c[1] * e[1]), (tf.range(1.0, 4.0), tf.range(1.0, 4.0))),
        [[1, 3, 6], [1, 2, 6]],
    ),
    "elems of unknown rank": (lambda: fed(ROWS, lambda p: tf.map_fn(lambda x: x * 2, p)), [[2, 4], [6, 8]]),
    "scan of unknown rank": (
        lambda: fed(ROWS, lambda p: tf.scan(lambda c, e: c + tf.reduce_sum(e), p, initializer=0.0)), [3, 10],
    ),
    "elements of unknown rank": (
        lambda: fed(ROWS, lambda p: tf.TensorArray(tf.float32, 2).write(0, p).write(1, p * 2).stack()),
        [ROWS, [[2, 4], [6, 8]]],
    ),
    "elements of unknown rank, read": (
        lambda: fed(ROWS, lambda p: tf.TensorArray(tf.float32, 2).write(1, p).write(0, p * 2).read(1)), ROWS,
    ),
    "elements of unknown rank, with a gradient": (
        lambda: fed(ROWS, lambda p: tf.gradients(tf.reduce_sum(array(2).write(1, p * p).write(0, p).stack()), p)),
        [[[3, 5], [7, 9]]],
    ),
    "elements of unknown rank in a loop": (
        lambda: fed(ROWS, lambda p: tf.while_loop(
            lambda i, ta: i < 3,
            lambda i, ta: (i + 1, ta.write(i, p * tf.cast(i, tf.float32))),
            [0, tf.TensorArray(tf.float32, 3)],
        )[1].stack()),
        [[[0, 0], [0, 0]], ROWS, [[2, 4], [6, 8]]],
    ),
    "slices of unknown rank": (
        lambda: fed(ROWS, lambda p: tf.TensorArray(tf.float32, 2).unstack(p).read(1)), [3, 4],
    ),
    "fold of nothing": (lambda: fed([], lambda p: tf.foldl(lambda c, e: c + e, p, initializer=5.0), [None]), 5),
    "fold from the end": (lambda: tf.foldr(lambda c, e: c * 2 + e, tf.range(4.0)), 34),
    "mean of integers": (lambda: tf.segment_mean(tf.constant([7, 8, 9]), [0, 0, 1]), [7, 9]),
    "quotients of integers": (lambda: tf.scatter_div(tf.Variable([9, -7, 6]), [0, 1], [2, 2]), [4, -3, 6]),
    "integer labels": (
        lambda: tf.nn.softmax_cross_entropy_with_logits(labels=tf.constant([[0, 1]]), logits=[[0.0, 0.0]]),
        [np.float32(np.log(2))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_are_tensorflows(name):
    make, expected = CASES[name]
    made = make()
    found = run(*made) if isinstance(made, tuple) and isinstance(made[-1], dict) else run(made)
    assert lists(found) == lists(expected)


def test_arrays_of_one_shape_refuse_another():
    with pytest.raises(ValueError, match="Inconsistent shapes"):
        tf.TensorArray(tf.float32, 2).write(0, [1.0, 2.0]).write(1, [3.0])


def test_segments_have_to_be_in_order():
    with pytest.raises(tf.errors.InvalidArgumentError, match="not increasing"):
        run(*fed([1, 0, 2], lambda ids: tf.segment_sum(tf.constant([1.0, 2.0, 3.0]), ids), [3], tf.int32))


@pytest.mark.parametrize("name", ["identity", "stop_gradient", "cast", "clip", "scaled"])
def test_rows_stay_rows(name):
    slices = tf.IndexedSlices(tf.constant(ROWS), tf.constant([2, 0]), tf.constant([3, 2]))
    calls = {
        "identity": tf.identity, "stop_gradient": tf.stop_gradient, "cast": lambda s: tf.cast(s, tf.float64),
        "clip": lambda s: tf.clip_by_value(s, 1.5, 3.5), "scaled": lambda s: tf.scalar_mul(2.0, s),
    }  # fmt: skip
    expected = {"clip": [[1.5, 2], [3, 3.5]], "scaled": [[2, 4], [6, 8]]}
    made = calls[name](slices)
    assert isinstance(made, tf.IndexedSlices)
    assert lists(run([made.values, made.indices])) == [expected.get(name, ROWS), [2, 0]]


TABLE, IDS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [2, 0, 2]


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize(
    "optimizer",
    [tf.train.GradientDescentOptimizer(0.5), tf.train.MomentumOptimizer(0.5, 0.5), tf.train.AdagradOptimizer(0.5)],
    ids=["sgd", "momentum", "adagrad"],
)
def test_gradients_of_rows_come_out_of_a_branch(optimizer, taken):
    flag, table = tf.placeholder(tf.bool, []), tf.Variable(TABLE)
    loss = tf.cond(flag, lambda: tf.reduce_sum(tf.gather(table, IDS) ** 2), lambda: tf.reduce_sum(table[1] ** 3))
    (g,) = tf.gradients(loss, table)
    (second,) = tf.gradients(tf.reduce_sum(tf.convert_to_tensor(g) ** 2), table)
    train = optimizer.minimize(loss)
    first = [[2, 4], [0, 0], [20, 24]] if taken else [[0, 0], [27, 48], [0, 0]]
    then = [[8, 16], [0, 0], [160, 192]] if taken else [[0, 0], [36 * 27, 36 * 64], [0, 0]]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert lists(session.run([tf.convert_to_tensor(g), second], {flag: taken})) == [first, then]
        session.run(train, {flag: taken})
        by = np.array(first) if "Adagrad" not in type(optimizer).__name__ else first / np.sqrt(0.1 + np.square(first))
        np.testing.assert_allclose(session.run(table), np.array(TABLE) - 0.5 * by, rtol=1e-6)


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("kinds", ["rows rows", "rows whole", "whole rows"])
def test_branches_give_slices(kinds, taken):
    """As in TensorFlow both are slices where the first one is, so training may skip a gradient, or clip it."""
    flag, table = tf.placeholder(tf.bool, []), tf.Variable(TABLE)
    (g,) = tf.gradients(tf.reduce_sum(tf.gather(table, IDS) ** 2), table)
    assert isinstance(g, tf.IndexedSlices)
    whole, rows = np.array([[2, 4], [0, 0], [20, 24]]), np.array([[10, 12], [2, 4], [10, 12]])
    other = {"rows": lambda: tf.IndexedSlices(g.values * 2, tf.cast(g.indices, tf.int64), g.dense_shape),
             "whole": lambda: tf.zeros_like(table)}  # fmt: skip
    first, second = kinds.split()
    branches = (lambda: g, other[second]) if first == "rows" else (other["whole"], lambda: g)
    found, (count, extra) = tf.cond(flag, lambda: (branches[0](), [1, g.values]), lambda: (branches[1](), [2, g.values * 0]))
    assert isinstance(found, tf.IndexedSlices) is (first == "rows")
    train = tf.train.GradientDescentOptimizer(0.5).apply_gradients([(found, table)])
    factor = {"rows rows": (1, 2), "rows whole": (1, 0), "whole rows": (0, 1)}[kinds][not taken]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        dense, n, more, parts = session.run([tf.convert_to_tensor(found), count, extra, found], {flag: taken})
        assert lists(dense) == (whole * factor).tolist()
        assert (n, lists(more)) == (2 - taken, (rows * taken).tolist())
        if first == "rows" and (taken or second == "rows"):
            assert lists([parts.values, parts.indices]) == [(rows * factor).tolist(), IDS]
        elif first == "rows":
            assert lists([parts.values, parts.indices]) == [(whole * 0).tolist(), [0, 1, 2]]
        session.run(train, {flag: taken})
        np.testing.assert_allclose(session.run(table), np.array(TABLE) - 0.5 * factor * whole)


def test_slices_of_a_branch_without_the_shape_of_the_whole():
    made = [tf.IndexedSlices(tf.constant([[v]]), tf.constant([i])) for v, i in ((1.0, 0), (2.0, 3))]
    flag = tf.placeholder(tf.bool, [])
    found = tf.cond(flag, lambda: made[0], lambda: made[1])
    assert isinstance(found, tf.IndexedSlices)
    assert found.dense_shape is None
    for taken in (True, False):
        assert lists(run([found.values, found.indices], {flag: taken})) == [[[2.0 - taken]], [0 if taken else 3]]


def test_averages_with_and_without_bias():
    from staticgrad.compat.tf1.python.training import moving_averages

    v, w = tf.Variable(10.0, name="v"), tf.Variable(10.0, name="w")
    plain = moving_averages.assign_moving_average(v, 2.0, 0.9, zero_debias=False)
    debiased = moving_averages.assign_moving_average(w, 2.0, 0.9)
    ema = tf.train.ExponentialMovingAverage(0.9, zero_debias=True)
    x = v * 1.0
    update = ema.apply([x])
    assert [u.op.name for u in tf.global_variables()][2:] == [
        "w/biased", "w/local_step", "mul/ExponentialMovingAverage", "mul/ExponentialMovingAverage/biased",
        "mul/ExponentialMovingAverage/local_step",
    ]  # fmt: skip
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert session.run(ema.average(x)) == pytest.approx(10.0, rel=1e-6)
        assert [session.run(plain) for _ in range(2)] == pytest.approx([9.2, 8.48], rel=1e-6)
        assert [session.run(debiased) for _ in range(2)] == pytest.approx([2.0, 2.0], rel=1e-5)


def test_values_that_were_read_are_not_fed():
    axis, x = tf.constant(0), tf.constant(ROWS)
    total, chosen = tf.reduce_sum(x, axis), tf.placeholder_with_default(0, [])
    later = tf.reduce_sum(x, chosen)
    assert lists(run([later, x * 2.0], {x: [[1.0, 1.0], [1.0, 2.0]]})) == [[2, 3], [[2, 2], [2, 4]]]
    assert lists(run(later, {chosen: 1})) == [3, 7]
    with pytest.raises(tf.errors.InvalidArgumentError, match="read when the graph was built"):
        run(total, {axis: 1})


def test_a_custom_gradient_has_those_of_variables():
    @tf.custom_gradient
    def scaled(x):
        with tf.variable_scope("f"):
            w = tf.get_variable("w", [], initializer=tf.constant_initializer(3.0))

        def grad(dy, variables=None):
            return dy * w * 10.0, [dy * x * 100.0 for _ in variables]

        return x * w, grad

    x = tf.constant(2.0)
    y = scaled(x)
    assert lists(run([y, *tf.gradients(y, [x, *tf.trainable_variables()])])) == [6, 30, 200]
    step = tf.train.GradientDescentOptimizer(0.001).minimize(y)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(tf.trainable_variables()[0]) == pytest.approx(2.8)


def test_scopes_are_each_threads_own():
    graph, found, go = tf.get_default_graph(), {}, threading.Event()

    def work(i):
        with graph.as_default(), tf.variable_scope(f"t{i}"):
            go.wait(10)
            found[i] = tf.get_variable("v", []).name, tf.constant(1.0, name="c").name

    with tf.variable_scope("main"), tf.name_scope("names"):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for t in threads:
            t.start()
        go.set()
        for t in threads:
            t.join()
        assert tf.get_variable("v", []).name == "main/v:0"
    assert found == {i: (f"t{i}/v:0", f"t{i}/c:0") for i in range(3)}


def test_slots_of_a_second_optimizer():
    v = tf.Variable([1.0, 2.0], name="v")
    for _ in range(2):
        tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    assert [x.op.name for x in tf.global_variables()] == [
        "v", "beta1_power", "beta2_power", "v/Adam", "v/Adam_1", "beta1_power_1", "beta2_power_1", "v/Adam_2", "v/Adam_3",
    ]  # fmt: skip


def test_a_saver_reshapes(tmp_path):
    with tf.Graph().as_default():
        v = tf.Variable([[1.0, 2.0]], name="a")
        with tf.Session() as session:
            session.run(v.initializer)
            path = tf.train.Saver(sharded=True).save(session, str(tmp_path / "m"))
    w = tf.Variable([1.0, 0.0], name="a")
    with tf.Session() as session:
        tf.train.Saver(reshape=True).restore(session, path)
        assert lists(session.run(w)) == [1, 2]
        with pytest.raises(TypeError, match="must be a Session"):
            tf.train.Saver().save(None, str(tmp_path / "x"))
        with pytest.raises(ValueError, match="path components"):
            tf.train.Saver().save(session, str(tmp_path / "x"), latest_filename="a/b")
