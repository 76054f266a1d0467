"""Partitioned variables and tables: names, shapes, values, gradients and checkpoints are TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad.compat.tf1 as tf

ONES = tf.ones_initializer()


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def shapes(v):
    return [p.shape.as_list() for p in v]


def test_slices_of_a_scope():
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(3)):
        v = tf.get_variable("v", [7, 2], initializer=ONES)
        scalar = tf.get_variable("scalar", [])
    assert (v.name, v.shape.as_list(), v.dtype) == ("s/v", [7, 2], tf.float32)
    assert [p.name for p in v] == ["s/v/part_0:0", "s/v/part_1:0", "s/v/part_2:0"]
    assert shapes(v) == [[3, 2], [2, 2], [2, 2]]
    assert scalar.name == "s/scalar:0"
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(3), reuse=True):
        assert tf.get_variable("v", [7, 2]) is v
    info = list(v)[1]._get_save_slice_info()
    assert (info.full_name, info.full_shape, info.var_offset, info.var_shape) == ("s/v", [7, 2], [3, 0], [2, 2])
    assert info.spec == "7 2 3,2:0,2"
    assert run(v.as_tensor()).shape == (7, 2)
    assert run(tf.matmul(tf.ones([1, 7]), v)).tolist() == [[7, 7]]


PARTITIONERS = {
    "fixed": (tf.fixed_size_partitioner(3, axis=1), [4, 6], [[4, 2]] * 3),
    "fixed, few": (tf.fixed_size_partitioner(9), [2, 2], [[1, 2]] * 2),
    "largest and least": (tf.min_max_variable_partitioner(4, min_slice_size=8 << 10), [1000, 16], [[250, 16]] * 4),
    "small": (tf.min_max_variable_partitioner(4), [10, 2], [[10, 2]]),
    "bytes": (tf.variable_axis_size_partitioner(1024), [100, 16], [[15, 16]] * 2 + [[14, 16]] * 5),
}


@pytest.mark.parametrize("name", PARTITIONERS)
def test_partitioners(name):
    partitioner, shape, expected = PARTITIONERS[name]
    assert shapes(tf.get_variable("v", shape, partitioner=partitioner)) == expected


def test_initializers_know_of_the_whole():
    def begin(shape, dtype=None, partition_info=None):
        return tf.fill(shape, float(partition_info.single_offset(shape)))

    v = tf.get_variable("v", [7], initializer=begin, partitioner=tf.fixed_size_partitioner(3))
    w = tf.get_variable("w", initializer=np.arange(7, dtype="f4"), partitioner=tf.fixed_size_partitioner(3))
    found = run([v.as_tensor(), w.as_tensor()])
    assert [a.tolist() for a in found] == [[0, 0, 0, 3, 3, 5, 5], [0, 1, 2, 3, 4, 5, 6]]
    with pytest.raises(ValueError, match="more than one dimension"):
        tf.get_variable("x", [4, 4], partitioner=lambda shape, dtype: [2, 2])


TABLES = {"mod": [[[0.0], [3.0]], [[1.0], [4.0]], [[2.0], [5.0]]], "div": [[[0.0], [1.0]], [[2.0], [3.0]], [[4.0]]]}


@pytest.mark.parametrize("strategy", TABLES)
@pytest.mark.parametrize("known", [True, False])
def test_lookups_in_several_tables(strategy, known):
    tables = [tf.Variable(t) for t in TABLES[strategy]]
    ids = tf.placeholder(tf.int32, [2, 3] if known else [None, None])
    rows = tf.nn.embedding_lookup(tables, ids, strategy)
    slopes = tf.gradients(tf.reduce_sum(rows * rows), tables)
    assert all(isinstance(g, tf.IndexedSlices) for g in slopes)
    value, *found = run([rows, *map(tf.convert_to_tensor, slopes)], {ids: [[0, 1, 2], [3, 4, 4]]})
    assert value.tolist() == [[[0], [1], [2]], [[3], [4], [4]]]
    counts = {4: 2}
    for g, table in zip(found, TABLES[strategy], strict=True):
        np.testing.assert_allclose(g, [[2 * x * counts.get(x, x < 5)] for [x] in table])
    with pytest.raises(ValueError, match="strategy"):
        tf.nn.embedding_lookup(tables, ids, "foo")


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_sparse_lookups_in_several_tables(combiner):
    tables = [tf.Variable(t) for t in TABLES["mod"]]
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([5, 4, 1], tf.int64), [2, 2])
    found = run(tf.nn.embedding_lookup_sparse(tables, ids, None, combiner=combiner))
    np.testing.assert_allclose(found, [[{"sum": 9, "mean": 4.5, "sqrtn": 9 / np.sqrt(2)}[combiner]], [1]], rtol=1e-6)


@pytest.mark.parametrize(("optimizer", "slots"), [
    (lambda: tf.train.GradientDescentOptimizer(0.1), []),
    (lambda: tf.train.MomentumOptimizer(0.1, 0.9), ["v/part_0/Momentum", "v/part_1/Momentum"]),
])  # fmt: skip
def test_slices_are_trained(optimizer, slots):
    v = tf.get_variable("v", [5, 1], initializer=ONES, partitioner=tf.fixed_size_partitioner(2))
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(v, [0, 4, 4], partition_strategy="div")))
    step = optimizer().minimize(loss)
    assert [x.op.name for x in tf.global_variables()] == ["v/part_0", "v/part_1", *slots]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(v.as_tensor()), [[0.8], [1.0], [1.0], [1.0], [0.6]], rtol=1e-6)


def test_layers_have_slices():
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        layer = tf.layers.Dense(3, kernel_initializer=ONES)
        out = layer(tf.ones([1, 4]))
    assert [w.op.name.removeprefix("s/dense/") for w in layer.weights] == [
        "kernel/part_0", "kernel/part_1", "bias/part_0", "bias/part_1",
    ]  # fmt: skip
    assert run(out).tolist() == [[4, 4, 4]]


def test_a_checkpoint_has_the_whole(tmp_path):
    with tf.Graph().as_default():
        tf.get_variable("v", initializer=np.arange(14.0).reshape(7, 2), partitioner=tf.fixed_size_partitioner(3))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            path = tf.train.Saver().save(session, str(tmp_path / "m"))
    assert tf.train.list_variables(path) == [("v", [7, 2])]
    for partitioner in (None, tf.fixed_size_partitioner(2)):
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.get_variable("v", [7, 2], tf.float64, partitioner=partitioner)
            tf.train.Saver().restore(session, path)
            assert session.run(tf.convert_to_tensor(v)).ravel().tolist() == list(range(14))


def test_slices_by_hand():
    parts = tf.create_partitioned_variables([4, 2], [2, 1], ONES, name="pv")
    assert [p.name for p in parts] == ["pv/part_0:0", "pv/part_1:0"]
    assert [p.tolist() for p in run(parts)] == [[[1, 1]] * 2] * 2
