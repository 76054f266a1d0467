"""Dropout by a placeholder of unknown rank, as programs write it: several layers draw different numbers, and train."""

from __future__ import annotations

import numpy as np

import staticgrad.compat.tf1 as tf


def test_rates_of_unknown_rank():
    x, keep = tf.placeholder("float", [None, 4]), tf.placeholder("float")
    layers = [tf.nn.dropout(x, keep) for _ in range(3)]
    known = tf.nn.dropout(x, 0.5)
    with tf.Session() as session:
        found = session.run([*layers, known], {x: np.ones((64, 4)), keep: 0.5})
        alone = session.run([layers[2], layers[0]], {x: np.ones((8, 4)), keep: 0.5})
    for a in found:
        assert set(np.unique(a)) == {0, 2}
        assert 0.3 < (a > 0).mean() < 0.7
    assert all((a != b).any() for i, a in enumerate(found) for b in found[:i])
    assert (alone[0] != alone[1]).any()


def test_a_network_trains_with_two_such_layers():
    rng = np.random.default_rng(0)
    x, y = tf.placeholder("float", [None, 4]), tf.placeholder("float", [None, 3])
    keep = tf.placeholder("float")
    w, v = tf.Variable(rng.standard_normal((4, 8)).astype("f4")), tf.Variable(rng.standard_normal((8, 3)).astype("f4"))
    hidden = tf.nn.dropout(tf.nn.relu(tf.matmul(tf.nn.dropout(x, keep), w)), keep)
    cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=tf.matmul(hidden, v), labels=y))
    step = tf.train.RMSPropOptimizer(0.01, 0.9).minimize(cost)
    inputs = rng.standard_normal((32, 4))
    feed = {x: inputs, y: np.eye(3)[np.argmax(inputs[:, :3], 1)]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(cost, {**feed, keep: 1.0})
        for _ in range(60):
            session.run(step, {**feed, keep: 0.8})
        assert session.run(cost, {**feed, keep: 1.0}) < 0.7 * before
