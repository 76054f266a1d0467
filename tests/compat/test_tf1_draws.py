"""`tf.random` in TensorFlow 1's dialect: moments of the distributions, permutations, and draws that a seed alone decides."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad.compat.tf1 as tf
from tests.helpers import tensorflow1

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


def _twice(tf, make):
    """Three runs of each tensor in one session, and in a second one."""
    with tf.Graph().as_default():
        tensors = make()
        found = []
        for _ in range(2):
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                found.append([[np.asarray(session.run(t)).tolist() for _ in range(3)] for t in tensors])
    return found


def _with_seeds(tf):
    """Draws with seeds of their own, in loops and branches, too; the last has none."""

    def loop():
        numbers = tf.TensorArray(tf.float32, 4)
        body = lambda i, out: (i + 1, out.write(i, tf.random_normal([2], seed=5)))  # noqa: E731
        return tf.while_loop(lambda i, _: i < 4, body, (0, numbers))[1].stack()

    a, b, c = (tf.random_normal([2], seed=s) for s in (3, 3, 4))
    branch = tf.cond(tf.constant(True), lambda: tf.random_uniform([2], seed=7), lambda: tf.zeros([2]))
    nested = tf.map_fn(lambda k: tf.map_fn(lambda j: tf.random_uniform([], seed=1) + j, k), tf.zeros([3, 2]))
    return a, b, c, loop(), branch, nested, tf.nn.dropout(tf.ones([64]), 0.5, seed=2), tf.random_normal([2])


def test_seeds_of_operations():
    """Equal seeds give equal sequences, in each session anew; operations of other seeds, iterations and runs differ."""
    first, second = _twice(tf, lambda: _with_seeds(tf))
    assert first[:-1] == second[:-1]
    assert first[-1] != second[-1]
    assert first[0] == first[1] != first[2]
    assert all(runs[0] != runs[1] for runs in first)
    assert len(np.unique(first[3][0])) == 8
    assert len(np.unique(first[5][0])) == 6
    a = tf.random_normal([2], seed=3)
    b = tf.random_normal([2], seed=8)
    with tf.Session() as session:
        session.run([b, a])
        session.run(b)
        assert session.run([a, b])[0].tolist() == _twice(tf, lambda: [tf.random_normal([2], seed=3)])[0][0][1]


def test_the_seed_of_a_graph():
    """It seeds operations and initializers that are made after it; initializers of equal seeds give equal values."""

    def make():
        early = tf.random_normal([2])
        tf.set_random_seed(1)
        starts = [tf.glorot_uniform_initializer(seed=s) for s in (1, 1, 2, None)]
        made = [tf.get_variable(f"v{i}", [2, 2], initializer=start) for i, start in enumerate(starts)]
        return [early, tf.random_normal([2]), tf.random_normal([2]), *made]

    first, second = _twice(tf, make)
    assert first[0] != second[0]
    assert first[1:] == second[1:]
    assert first[1] != first[2]
    assert first[3] == first[4]
    assert len({str(v) for v in first[3:]}) == 3


SEEDS = {
    (None, None): (None, None), (None, 1): (87654321, 1), (1, 1): (1, 1), (0, 0): (0, 2**31 - 1),
    (2**31 - 1, 0): (0, 2**31 - 1), (1, None): (1, 0),
}  # fmt: skip
"""(the graph's, the operation's) -> both as an operation of a new graph takes them."""


def test_get_seed():
    for (of_graph, own), wanted in SEEDS.items():
        with tf.Graph().as_default():
            tf.set_random_seed(of_graph)
            assert tf.get_seed(own) == wanted


def _distributions(tf):
    """Name -> (distribution, values, another one of its kind)."""
    made = tf.distributions
    location, scale, x = tf.constant([[0.5], [-1.0]]), tf.constant([[1.5], [0.7]]), tf.constant([[0.3], [0.9]])
    logits = [[0.1, 0.2, 3.0], [0.0, 1.0, 0.0]]
    return {
        "normal": (made.Normal(location, scale), x, made.Normal(0.0, 1.0)),
        "uniform": (made.Uniform(-1.0, [[2.0], [3.0]]), x, None),
        "exponential": (made.Exponential([[0.5], [2.0]]), x, None),
        "laplace": (made.Laplace(location, scale), x, None),
        "gamma": (made.Gamma([[0.5], [3.0]], [[1.0], [2.0]]), x, None),
        "beta": (made.Beta([[0.5], [3.0]], [[1.0], [2.0]]), x, None),
        "bernoulli": (made.Bernoulli(logits=[[0.3], [-2.0]]), [[1], [0]], made.Bernoulli(probs=[[0.5], [0.2]])),
        "categorical": (made.Categorical(logits=logits), [1, 2], made.Categorical(probs=[[0.3, 0.3, 0.4], [0.1, 0.1, 0.8]])),
    }


def _measured(tf):
    """The values of the methods, and the shapes, dtypes and means of samples, of each distribution."""
    with tf.Graph().as_default(), tf.Session() as session:
        wanted, samples = {}, {}
        for name, (d, x, other) in _distributions(tf).items():
            moments = [d.mode()] if name == "categorical" else [d.mean(), d.stddev(), d.variance()]
            divergence = [] if other is None else [tf.distributions.kl_divergence(d, other)]
            wanted[name] = [d.log_prob(x), d.prob(x), d.entropy(), *moments, *divergence]
            samples[name] = d.sample(), d.sample(4000, seed=1)
        values = session.run(wanted)
        drawn = session.run(samples)
    found = {name: np.concatenate([np.ravel(v).astype("f8") for v in each]) for name, each in values.items()}
    return found, {name: (a.shape, b.shape, str(b.dtype), b.mean(0).ravel()) for name, (a, b) in drawn.items()}


def test_distributions():
    values, samples = _measured(tf)
    for name, (one, many, dtype, mean) in samples.items():
        discrete = name in ("bernoulli", "categorical")
        assert (many, dtype) == ((4000, *one), "int32" if discrete else "float32")
        if name != "categorical":
            np.testing.assert_allclose(mean, values[name][6:8], atol=0.15, err_msg=name)


@pytest.mark.oracle
def test_distributions_are_tensorflows():
    ours, theirs = _measured(tf)[0], _measured(tensorflow1())[0]
    for name, values in ours.items():
        np.testing.assert_allclose(values, theirs[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_distributions_of_unknown_extents():
    location, x = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.float32, [None, 1])
    d = tf.distributions.Normal(location, 2.0)
    (slope,) = tf.gradients(d.log_prob(x), location)
    divergence = tf.distributions.kl_divergence(d, tf.distributions.Normal(0.0, 2.0))
    assert d.batch_shape.as_list() == [None, 1]
    with tf.Session() as session:
        found = session.run([slope, divergence, d.sample(3)], {location: np.ones((2, 1)), x: np.full((2, 1), 3.0)})
    np.testing.assert_allclose(found[0], [[0.5], [0.5]])
    np.testing.assert_allclose(found[1], [[0.125], [0.125]])
    assert found[2].shape == (3, 2, 1)


def test_graphs_as_text_keep_seeds():
    x = tf.random_uniform([3], seed=4, name="x")
    text = tf.get_default_graph().as_graph_def()
    with tf.Session() as session:
        wanted = [session.run(x).tolist() for _ in range(2)]
    with tf.Graph().as_default(), tf.Session() as session:
        (again,) = tf.import_graph_def(text, return_elements=["x:0"], name="")
        assert [session.run(again).tolist() for _ in range(2)] == wanted
