"""`tf.random` in TensorFlow 1's dialect: moments of the distributions, permutations, and draws that a seed alone decides."""

from __future__ import annotations

import numpy as np

import staticgrad.compat.tf1 as tf

COUNT = 20000
MOMENTS = {
    "gamma": (lambda: tf.random_gamma([COUNT], 3.0, 2.0), 1.5, 0.75),
    "poisson": (lambda: tf.random.poisson(7.0, [COUNT]), 7.0, 7.0),
    "stateless normal": (lambda: tf.random.stateless_normal([COUNT], [3, 4], 1.0, 2.0), 1.0, 4.0),
    "stateless uniform": (lambda: tf.random.stateless_uniform([COUNT], [3, 4], 0, 10, tf.int32), 4.5, 8.25),
    "stateless truncated": (lambda: tf.random.stateless_truncated_normal([COUNT], [1, 2]), 0.0, 0.774),
    "stateless binomial": (lambda: tf.random.stateless_binomial([COUNT], [1, 2], 10.0, 0.3), 3.0, 2.1),
    "stateless gamma": (lambda: tf.random.stateless_gamma([COUNT], [1, 2], 3.0, 2.0), 1.5, 0.75),
    "stateless poisson": (lambda: tf.random.stateless_poisson([COUNT], [1, 2], 7.0), 7.0, 7.0),
}
"""Name -> (numbers, mean, variance)."""


def test_moments():
    tf.set_random_seed(1)
    made = {name: case[0]() for name, case in MOMENTS.items()}
    with tf.Session() as session:
        first, second = session.run(made), session.run(made)
    for name, (_, mean, variance) in MOMENTS.items():
        assert abs(first[name].mean() - mean) < 0.03 * max(mean, 1), name
        assert abs(first[name].var() - variance) < 0.05 * variance, name
        assert (first[name] == second[name]).all() == name.startswith("stateless"), name


def test_classes_permutations_and_seeds():
    tf.set_random_seed(2)
    x = tf.placeholder(tf.float32, [None, 2])
    shuffled = tf.random.shuffle(x)
    drawn = tf.multinomial(tf.log([[0.2, 0.3, 0.5]]), COUNT)
    seeds = tf.random.split([1, 2], 3)
    mixed = [tf.random.fold_in([1, 2], n) for n in (7, 7, 8)]
    basis = tf.orthogonal_initializer()([6, 4])
    rows = np.arange(8, dtype="f4").reshape(4, 2)
    with tf.Session() as session:
        order, classes, three, (a, b, c), q = session.run([shuffled, drawn, seeds, mixed, basis], {x: rows})
    np.testing.assert_array_equal(np.sort(order, 0), rows)
    np.testing.assert_allclose(np.bincount(classes[0]) / COUNT, [0.2, 0.3, 0.5], atol=0.02)
    assert len({tuple(s) for s in three}) == 3
    assert (a == b).all()
    assert (a != c).any()
    np.testing.assert_allclose(q.T @ q, np.eye(4), atol=1e-5)
