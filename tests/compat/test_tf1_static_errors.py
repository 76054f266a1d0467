"""Errors that TensorFlow raises when a graph is built: their classes are TensorFlow's."""

from __future__ import annotations

import pytest

import staticgrad.compat.tf1 as tf


def P(*shape, dtype=None):
    return tf.placeholder(dtype or tf.float32, list(shape))


CASES = {
    ValueError: {
        "slice rank": lambda: tf.slice(P(5), [3, 0], [1, 1]),
        "subscripts": lambda: P(5)[1, 2],
        "subscript": lambda: P(5)[7],
        "gather_nd": lambda: tf.gather_nd(P(5), [[0, 1]]),
        "softmax": lambda: tf.nn.softmax(P()),
        "tile": lambda: tf.tile(P(2, 3), [2]),
        "pad": lambda: tf.pad(P(2, 3), [[1, 1]]),
        "segments": lambda: tf.segment_sum(P(3), P(3, 1, dtype=tf.int32)),
        "top_k": lambda: tf.nn.top_k(P(), 1),
        "keep_prob": lambda: tf.nn.dropout(P(3), keep_prob=1.5),
        "rate": lambda: tf.nn.dropout(P(3), rate=1.5),
        "dropout of integers": lambda: tf.nn.dropout(tf.constant([1]), rate=0.5),
        "mask": lambda: tf.boolean_mask(P(2, 3), P(3, dtype=tf.bool)),
        "mask without axes": lambda: tf.boolean_mask(P(2, 3), P(dtype=tf.bool)),
        "lrn": lambda: tf.nn.lrn(P(3, 3)),
        "unique": lambda: tf.unique(P(2, 3)),
        "partition": lambda: tf.dynamic_partition(P(5), P(4, dtype=tf.int32), 2),
        "name": lambda: tf.constant(1, name="a b"),
        "name begins": lambda: tf.constant(1, name="_x"),
        "scope": lambda: tf.name_scope("a b").__enter__(),
        "collections": lambda: tf.Variable(1.0, collections="foo"),
        "none": lambda: tf.constant(None),
        "same name": lambda: tf.train.Saver([tf.Variable(1.0, name="a")] * 2),
        "scalar elems": lambda: tf.map_fn(lambda x: x, 1.0),
    },
    TypeError: {
        "softmax of integers": lambda: tf.nn.softmax(tf.constant([1, 2])),
        "sqrt of integers": lambda: tf.sqrt(tf.constant([1, 2])),
        "sigmoid of integers": lambda: tf.sigmoid(tf.constant([1, 2])),
        "exp of an integer": lambda: tf.exp(tf.constant(1)),
        "nan of an integer": lambda: tf.is_nan(tf.constant(1)),
        "sum of booleans": lambda: tf.constant(True) + tf.constant(True),
        "mean of booleans": lambda: tf.reduce_mean(tf.constant([True])),
        "all of floats": lambda: tf.reduce_all(P(2)),
        "and of floats": lambda: tf.logical_and(P(2), P(2)),
        "condition": lambda: tf.where(P(3), P(3), P(3)),
        "one_hot": lambda: tf.one_hot(P(2), 3),
        "float segments": lambda: tf.segment_sum(P(3), P(3)),
        "label": lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=P(2), logits=P(2, 4)),
        "pred": lambda: tf.cond(P(dtype=tf.int32), lambda: tf.constant(1), lambda: tf.constant(1)),
        "loop's condition": lambda: tf.while_loop(lambda x: x, lambda x: x + 1, [1]),
    },
}


@pytest.mark.parametrize(("error", "name"), [(error, name) for error, cases in CASES.items() for name in cases])
def test_graphs_refuse(error, name):
    with pytest.raises(error):
        CASES[error][name]()
