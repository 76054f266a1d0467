"""`tf.data`: elements of chains of data sets, and the runs that take them."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad.compat.tf1 as sgtf
from tests.helpers import tensorflow1

X = np.arange(24, dtype="f4").reshape(8, 3)
Y = np.arange(8)


def elements(tf, dataset, most=50):
    """All elements, as nested lists."""
    step = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
        return until_the_end(tf, lambda: session.run(step), most)


def until_the_end(tf, call, most=1000):
    """The results of calls until one raises OutOfRangeError."""
    found = []
    try:
        for _ in range(most):
            found.append(call())
    except tf.errors.OutOfRangeError:
        return found
    raise AssertionError(f"no end after {most} calls")


def flat(value):
    if isinstance(value, dict):
        return [flat(v) for v in value.values()]
    if isinstance(value, (tuple, list)):
        return [flat(v) for v in value]
    return np.asarray(value).tolist()


def parity(tf, x, y):
    return tf.equal(y % 2, 0)


CHAINS = {
    "slices": lambda tf: tf.data.Dataset.from_tensor_slices((X, Y)),
    "a dict": lambda tf: tf.data.Dataset.from_tensor_slices({"x": X, "y": Y}).batch(3),
    "one element": lambda tf: tf.data.Dataset.from_tensors((X, Y)),
    "range": lambda tf: tf.data.Dataset.range(2, 9, 3),
    "zip": lambda tf: tf.data.Dataset.zip((tf.data.Dataset.range(5), tf.data.Dataset.from_tensor_slices(X))),
    "map": lambda tf: tf.data.Dataset.from_tensor_slices((X, Y)).map(lambda x, y: (tf.reduce_sum(x) * 2.0, {"y": y + 1})),
    "filter": lambda tf: tf.data.Dataset.from_tensor_slices((X, Y)).filter(lambda x, y: parity(tf, x, y)),
    "repeat": lambda tf: tf.data.Dataset.range(3).repeat(3),
    "batch": lambda tf: tf.data.Dataset.from_tensor_slices((X, Y)).batch(3),
    "batch drop": lambda tf: tf.data.Dataset.from_tensor_slices(X).batch(3, drop_remainder=True),
    "take and skip": lambda tf: tf.data.Dataset.range(9).skip(2).take(4),
    "shard": lambda tf: tf.data.Dataset.range(9).shard(3, 1),
    "concatenate": lambda tf: tf.data.Dataset.range(3).concatenate(tf.data.Dataset.range(7, 9)),
    "flat_map": lambda tf: tf.data.Dataset.from_tensor_slices(X).flat_map(tf.data.Dataset.from_tensor_slices).take(7),
    "cache": lambda tf: tf.data.Dataset.range(3).cache().repeat(2),
    "enumerate": lambda tf: tf.data.Dataset.from_tensor_slices(X).enumerate(5).prefetch(1),
    "generator": lambda tf: tf.data.Dataset.from_generator(lambda: ((i, [i] * 2) for i in range(3)), (tf.int32, tf.float32)),
    "padded": lambda tf: tf.data.Dataset.from_generator(
        lambda: ([1] * n for n in (1, 3, 2)), tf.int32, tf.TensorShape([None])
    ).padded_batch(2, [None]),
    "padded to": lambda tf: tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n)).padded_batch(
        2, padded_shapes=[4], padding_values=np.int64(-1)
    ),
    "apply": lambda tf: tf.data.Dataset.range(4).apply(lambda d: d.map(lambda x: x * x)),
    "shuffled": lambda tf: tf.data.Dataset.range(6).shuffle(10, seed=1).batch(6).map(
        lambda x: tf.sort(x)
    ),
}  # fmt: skip
EXPECTED = {
    "range": [2, 5, 8],
    "repeat": [0, 1, 2] * 3,
    "take and skip": [2, 3, 4, 5],
    "shard": [1, 4, 7],
    "concatenate": [0, 1, 2, 7, 8],
    "flat_map": [float(i) for i in range(7)],
    "cache": [0, 1, 2] * 2,
    "padded": [[[1, 0, 0], [1, 1, 1]], [[1, 1]]],
    "padded to": [[[1, -1, -1, -1], [2, 2, -1, -1]], [[3, 3, 3, -1]]],
    "apply": [0, 1, 4, 9],
    "shuffled": [[0, 1, 2, 3, 4, 5]],
    "filter": [[X[i].tolist(), i] for i in range(0, 8, 2)],
}


@pytest.mark.parametrize("name", CHAINS)
def test_elements(name):
    found = flat(elements(sgtf, CHAINS[name](sgtf)))
    assert found
    if name in EXPECTED:
        assert found == EXPECTED[name]


@pytest.mark.oracle
@pytest.mark.parametrize("name", CHAINS)
def test_elements_are_tensorflows(name):
    tf = tensorflow1()
    with tf.Graph().as_default():
        dataset = CHAINS[name](tf)
        expected = flat(elements(tf, dataset))
        shapes = [None if s.dims is None else s.as_list() for s in tf.nest.flatten(tf.data.get_output_shapes(dataset))]
    ours = CHAINS[name](sgtf)
    assert flat(elements(sgtf, ours)) == expected
    found = [None if s.dims is None else s.as_list() for _, s in ours._spec.kinds]
    assert all(a == e or a is None or all(m in (n, None) for m, n in zip(a, e, strict=True))
               for a, e in zip(found, shapes, strict=True))  # fmt: skip


def test_all_components_of_a_run_are_of_one_element():
    x, y = sgtf.data.Dataset.from_tensor_slices((X, Y)).make_one_shot_iterator().get_next()
    total = sgtf.reduce_sum(x)
    with sgtf.Session() as session:
        for i in range(8):
            number, summed, rows = session.run([y, total, x])
            assert number == i
            assert summed == X[i].sum()
            np.testing.assert_array_equal(rows, X[i])


def test_an_initializable_iterator_takes_what_is_fed():
    given = sgtf.placeholder(sgtf.float32, [None, 2])
    iterator = sgtf.data.Dataset.from_tensor_slices(given).batch(2, drop_remainder=True).make_initializable_iterator()
    step = iterator.get_next()
    assert step.shape.as_list() == [2, 2]
    with sgtf.Session() as session:
        with pytest.raises(sgtf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(step)
        for count in (2, 5):
            session.run(iterator.initializer, {given: np.full((count, 2), count)})
            for _ in range(count // 2):
                np.testing.assert_array_equal(session.run(step), np.full((2, 2), count))
            with pytest.raises(sgtf.errors.OutOfRangeError, match="End of sequence"):
                session.run(step)


def test_a_reinitializable_iterator_changes_between_data_sets():
    train, check = sgtf.data.Dataset.range(3).repeat(), sgtf.data.Dataset.range(10, 12)
    iterator = sgtf.data.Iterator.from_structure(train.output_types, train.output_shapes)
    step = iterator.get_next() * 2
    begin, other = iterator.make_initializer(train), iterator.make_initializer(check)
    with sgtf.Session() as session:
        session.run(begin)
        assert [session.run(step) for _ in range(4)] == [0, 2, 4, 0]
        session.run(other)
        assert [session.run(step) for _ in range(2)] == [20, 22]
        session.run(begin)
        assert session.run(step) == 0


def test_training_from_a_data_set():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 3)).astype("f4")
    y = x @ np.array([[1.0], [-2.0], [0.5]], "f4")
    pairs = sgtf.data.Dataset.from_tensor_slices((x, y)).shuffle(64, seed=0).repeat(20).batch(16)
    a, b = pairs.make_one_shot_iterator().get_next()
    w = sgtf.Variable(np.zeros((3, 1), "f4"))
    loss = sgtf.reduce_mean(sgtf.square(sgtf.matmul(a, w) - b))
    step = sgtf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with sgtf.Session() as session:
        session.run(sgtf.global_variables_initializer())
        until_the_end(sgtf, lambda: session.run(step))
        np.testing.assert_allclose(session.run(w), [[1.0], [-2.0], [0.5]], atol=1e-3)


def test_a_plan_takes_no_element():
    step = sgtf.data.Dataset.range(3).make_one_shot_iterator().get_next() + 1
    with sgtf.Session() as session:
        session.plan(step).explain()
        assert [session.run(step) for _ in range(3)] == [1, 2, 3]


def test_a_fed_tensor_is_refused_in_a_one_shot_iterator():
    given = sgtf.placeholder(sgtf.float32, [None])
    with pytest.raises(ValueError, match="make_initializable_iterator"):
        sgtf.data.Dataset.from_tensor_slices(given).make_one_shot_iterator()


def test_components_of_different_lengths():
    with pytest.raises(ValueError, match="not compatible"):
        elements(sgtf, sgtf.data.Dataset.from_tensor_slices((X, Y[:3])))


ORDERS = {
    "interleave": lambda tf, d: d.range(1, 6).interleave(lambda x: d.from_tensors(x).repeat(6), cycle_length=2, block_length=4),
    "interleave of three": lambda tf, d: d.range(4).interleave(lambda x: d.range(x, x + 3), cycle_length=3),
    "window": lambda tf, d: d.range(7).window(3).flat_map(lambda w: w.batch(3)),
    "window overlapping": lambda tf, d: (
        d.range(8).window(3, shift=1, stride=2, drop_remainder=True).flat_map(lambda w: w.batch(3))
    ),
    "window with gaps": lambda tf, d: d.range(9).window(2, shift=4).flat_map(lambda w: w.batch(2)),
    "window of pairs": lambda tf, d: (
        d.from_tensor_slices((X, Y)).window(2).flat_map(lambda a, b: d.zip((a.batch(2), b.batch(2))))
    ),
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", ORDERS)
def test_orders_are_tensorflows(name):
    tf = tensorflow1()
    made = []
    for each in (sgtf, tf):
        with each.Graph().as_default():
            made.append(elements(each, ORDERS[name](each, each.data.Dataset)))
    assert len(made[0]) == len(made[1])
    for a, b in zip(*made, strict=True):
        for p, q in zip(a if isinstance(a, tuple) else [a], b if isinstance(b, tuple) else [b], strict=True):
            np.testing.assert_array_equal(p, q)


def test_windows_and_reductions():
    d = sgtf.data.Dataset
    found = elements(sgtf, ORDERS["window overlapping"](sgtf, d))
    np.testing.assert_array_equal(found, [[0, 2, 4], [1, 3, 5], [2, 4, 6], [3, 5, 7]])
    total = d.range(5).reduce(np.int64(0), lambda state, x: state + x)
    with sgtf.Session() as session:
        assert session.run(total) == 10
