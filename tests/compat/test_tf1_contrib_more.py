"""`tf.contrib`: slim, conditional random fields, SciPy's minimizers, vocabularies, distributions, scopes of arguments."""

from __future__ import annotations

import gzip
import itertools

import numpy as np
import pytest
from scipy import stats

import staticgrad.compat.tf1 as tf

RNG = np.random.default_rng(5)
contrib = tf.contrib
slim = contrib.slim


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches, feed)


# layers ---------------------------------------------------------------------------------------------------------------


def test_scopes_of_arguments():
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    with slim.arg_scope([slim.conv2d, slim.fully_connected], activation_fn=None, weights_regularizer=slim.l2_regularizer(0.1)):
        with slim.arg_scope([slim.conv2d], padding="VALID") as kept:
            h = slim.repeat(x, 2, slim.conv2d, 4, [3, 3], scope="conv")
        out = slim.fully_connected(slim.flatten(h), 2, scope="out")
    with slim.arg_scope(kept):
        assert slim.conv2d(x, 1, 3, scope="again").shape.as_list() == [None, 6, 6, 1]
    assert h.shape.as_list() == [None, 4, 4, 4]
    assert h.op.type == "BiasAdd"
    assert [v.op.name for v in slim.get_model_variables()] == [
        "conv/conv_1/weights", "conv/conv_1/biases", "conv/conv_2/weights", "conv/conv_2/biases", "out/weights", "out/biases",
        "again/weights", "again/biases",
    ]  # fmt: skip
    assert len(tf.losses.get_regularization_losses()) == 4
    assert [v.op.name for v in slim.get_variables("out")] == ["out/weights", "out/biases"]
    assert out.shape.as_list() == [None, 2]
    with pytest.raises(ValueError, match="not decorated"), slim.arg_scope([tf.nn.relu], name="a"):
        pass


def normalized(x, axes, epsilon):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


IMAGES = RNG.standard_normal((2, 3, 4, 6)).astype("f4")
NORMS = {
    "layer": (lambda x: slim.layer_norm(x), normalized(IMAGES, (1, 2, 3), 1e-12), ["LayerNorm/beta", "LayerNorm/gamma"]),
    "instance": (
        lambda x: slim.instance_norm(x, scale=False), normalized(IMAGES, (1, 2), 1e-6), ["InstanceNorm/beta"],
    ),
    "group": (
        lambda x: slim.group_norm(x, 2),
        normalized(IMAGES.reshape(2, 3, 4, 2, 3), (1, 2, 4), 1e-6).reshape(IMAGES.shape),
        ["GroupNorm/beta", "GroupNorm/gamma"],
    ),
    "unit": (lambda x: slim.unit_norm(x, 3), IMAGES / np.sqrt((IMAGES**2).sum(3, keepdims=True) + 1e-7), []),
    "bias": (lambda x: slim.bias_add(x, initializer=tf.ones_initializer()), IMAGES + 1, ["BiasAdd/biases"]),
    "maxout": (lambda x: slim.maxout(x, 2), IMAGES.reshape(2, 3, 4, 2, 3).max(-1), []),
}  # fmt: skip


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("known", [True, False])
def test_normalizations(name, known):
    make, expected, variables = NORMS[name]
    x = tf.placeholder(tf.float32, [2 if known else None, 3, 4, 6])
    found = run(make(x), {x: IMAGES})
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
    assert [v.op.name for v in tf.global_variables()] == variables


def test_separable_convolution():
    x = tf.constant(IMAGES)
    out = slim.separable_conv2d(x, 5, 3, 2, activation_fn=None)
    names = {v.op.name.rsplit("/", 1)[-1]: v for v in slim.get_model_variables()}
    wanted = tf.nn.separable_conv2d(x, names["depthwise_weights"], names["pointwise_weights"], [1, 1, 1, 1], "SAME")
    assert sorted(names) == ["biases", "depthwise_weights", "pointwise_weights"]
    found, expected = run([out, wanted])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_slim_trains_and_evaluates(tmp_path):
    x = tf.constant(RNG.standard_normal((16, 3)).astype("f4"))
    y = tf.constant((RNG.standard_normal(16) > 0).astype("i4"))
    logits = slim.fully_connected(slim.batch_norm(x), 2, activation_fn=None)
    slim.losses.sparse_softmax_cross_entropy(logits, y)
    loss = slim.losses.get_total_loss()
    step = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.5), clip_gradient_norm=1.0)
    last = slim.learning.train(step, str(tmp_path), number_of_steps=5, log_every_n_steps=0, save_summaries_secs=0)
    assert np.isfinite(last)
    values, updates = slim.metrics.aggregate_metric_map({
        "accuracy": slim.metrics.streaming_accuracy(tf.argmax(logits, 1), tf.cast(y, tf.int64)),
        "loss": slim.metrics.streaming_mean(loss),
    })  # fmt: skip
    path = tf.train.latest_checkpoint(str(tmp_path))
    assert path.endswith("-5")
    found = slim.evaluation.evaluate_once("", path, None, 1, eval_op=list(updates.values()), final_op=values)
    assert found["loss"] < last
    assert 0 <= found["accuracy"] <= 1


def test_variables_from_a_checkpoint(tmp_path):
    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0], name="old/v")
        with tf.Session() as session:
            session.run(v.initializer)
            path = tf.train.Saver().save(session, str(tmp_path / "m"))
    w = tf.get_variable("w", [2])
    start = slim.assign_from_checkpoint_fn(path, {"old/v": w})
    with tf.Session() as session:
        start(session)
        assert session.run(w).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="missing variable"):
        slim.assign_from_checkpoint(path, [w])


# conditional random fields --------------------------------------------------------------------------------------------

UNARY = RNG.standard_normal((3, 4, 3)).astype("f4")
TABLE = RNG.standard_normal((3, 3)).astype("f4")
TAGS = RNG.integers(0, 3, (3, 4)).astype("i4")
LENGTHS = np.array([4, 2, 1], "i4")


def score(row, tags):
    return sum(UNARY[row, i, t] for i, t in enumerate(tags)) + sum(TABLE[a, b] for a, b in itertools.pairwise(tags))


def all_tags(row):
    return list(itertools.product(range(3), repeat=int(LENGTHS[row])))


@pytest.mark.parametrize("known", [True, False])
def test_chains_of_tags(known):
    x = tf.placeholder(tf.float32, [3, 4, 3] if known else [None, None, 3])
    likelihood, _ = contrib.crf.crf_log_likelihood(x, TAGS, LENGTHS, tf.constant(TABLE))
    norm = contrib.crf.crf_log_norm(x, LENGTHS, TABLE)
    tags, best = contrib.crf.crf_decode(x, TABLE, LENGTHS)
    slope = tf.gradients(norm, x)[0]
    found = run([likelihood, norm, tags, best, slope], {x: UNARY})
    for row in range(3):
        scores = {t: score(row, t) for t in all_tags(row)}
        total = np.logaddexp.reduce(list(scores.values()))
        np.testing.assert_allclose(found[1][row], total, rtol=1e-5)
        np.testing.assert_allclose(found[0][row], scores[tuple(TAGS[row, : LENGTHS[row]])] - total, rtol=1e-4, atol=1e-5)
        top = max(scores, key=scores.get)
        assert found[2][row].tolist() == [*top, *[0] * (4 - LENGTHS[row])]
        np.testing.assert_allclose(found[3][row], scores[top], rtol=1e-5)
        own, value = contrib.crf.viterbi_decode(UNARY[row, : LENGTHS[row]], TABLE)
        assert (tuple(own), float(value)) == (top, pytest.approx(scores[top], rel=1e-5))
        marginal = [sum(np.exp(s - total) for t, s in scores.items() if t[0] == k) for k in range(3)]
        np.testing.assert_allclose(found[4][row, 0], marginal, rtol=1e-4)


# optimizers -----------------------------------------------------------------------------------------------------------


def test_scipys_minimizer():
    v, w = tf.Variable([2.0, -1.0]), tf.Variable(3.0, dtype=tf.float64)
    target = tf.placeholder(tf.float32, [])
    loss = tf.reduce_sum((v - target) ** 2) + tf.cast((w - 1.0) ** 2, tf.float32)
    steps, losses = [], []
    optimizer = contrib.opt.ScipyOptimizerInterface(loss, method="L-BFGS-B", options={"maxiter": 50})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        optimizer.minimize(session, {target: 0.5}, fetches=[loss, v], step_callback=steps.append,
                           loss_callback=lambda value, _: losses.append(value))  # fmt: skip
        found = session.run([v, w])
    np.testing.assert_allclose(found[0], [0.5, 0.5], atol=1e-4)
    np.testing.assert_allclose(found[1], 1.0, atol=1e-4)
    assert losses[-1] < losses[0]
    assert len(steps[0]) == 3


def test_scipys_minimizer_with_bounds_and_constraints():
    v = tf.Variable([0.0, 0.0], dtype=tf.float64)
    loss = tf.reduce_sum((v - 2.0) ** 2)
    bounded = contrib.opt.ScipyOptimizerInterface(loss, var_to_bounds={v: (-np.inf, [1.0, 3.0])})
    equal = contrib.opt.ScipyOptimizerInterface(loss, equalities=[tf.reduce_sum(v) - 1.0], method="SLSQP")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        bounded.minimize(session)
        np.testing.assert_allclose(session.run(v), [1.0, 2.0], atol=1e-5)
        equal.minimize(session)
        np.testing.assert_allclose(session.run(v), [0.5, 0.5], atol=1e-5)


@pytest.mark.parametrize("name", ["NadamOptimizer", "LazyAdamOptimizer", "AdaMaxOptimizer", "AdamWOptimizer"])
def test_optimizers_go_down(name):
    v = tf.Variable([2.0, -1.0])
    loss = tf.reduce_sum(v**2)
    given = (0.01, 0.1) if name == "AdamWOptimizer" else (0.1,)
    step = getattr(contrib.opt, name)(*given).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step])[0] for _ in range(20)]
    assert losses[-1] < 0.5 * losses[0]


# distributions, texts and digits --------------------------------------------------------------------------------------


def test_densities():
    d = contrib.distributions
    x = np.array([[0.3, -0.4]], "f4")
    loc, scale = np.array([[0.1, 0.2]], "f4"), np.array([[0.5, 2.0]], "f4")
    normal = d.MultivariateNormalDiag(loc, scale)
    assert (normal.batch_shape.as_list(), normal.event_shape.as_list()) == ([1], [2])
    found = run({
        "normal": normal.log_prob(x), "t": d.StudentT(3.0, 0.0, 2.0).log_prob(0.7), "poisson": d.Poisson(2.0).log_prob(3.0),
        "dirichlet": d.Dirichlet([1.0, 2.0, 3.0]).log_prob([0.2, 0.3, 0.5]),
        "one hot": d.OneHotCategorical(probs=[0.2, 0.3, 0.5]).log_prob([0, 0, 1]),
        "samples": normal.sample(1000, seed=1), "relaxed": d.RelaxedOneHotCategorical(0.5, [0.0, 1.0]).sample(5, seed=1),
        "kl": normal.kl_divergence(normal),
    })  # fmt: skip
    expected = {
        "normal": stats.norm.logpdf(x, loc, scale).sum(-1), "t": stats.t.logpdf(0.7, 3, 0, 2),
        "poisson": stats.poisson.logpmf(3, 2), "dirichlet": stats.dirichlet.logpdf([0.2, 0.3, 0.5], [1, 2, 3]),
        "one hot": np.log(0.5), "kl": [0.0],
    }  # fmt: skip
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-6, err_msg=key)
    np.testing.assert_allclose(found["samples"].std(0), scale, rtol=0.1)
    np.testing.assert_allclose(found["relaxed"].sum(-1), 1.0, rtol=1e-5)


def test_vocabularies(tmp_path):
    texts = ["the cat sat", "the dog, the cat!"]
    made = contrib.learn.preprocessing.VocabularyProcessor(4)
    rows = np.array(list(made.fit_transform(texts)))
    assert rows.tolist() == [[1, 2, 3, 0], [1, 4, 1, 2]]
    assert len(made.vocabulary_) == 5
    made.save(str(tmp_path / "v"))
    again = contrib.learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "v"))
    assert np.array(list(again.transform(["a dog"]))).tolist() == [[0, 4, 0, 0]]
    assert next(iter(again.reverse([[2, 0]]))) == "cat <UNK>"


def test_digits_in_files(tmp_path):
    images = RNG.integers(0, 256, (20, 28, 28)).astype("u1")
    labels = RNG.integers(0, 10, 20).astype("u1")
    for name, array in (("train", images), ("t10k", images[:5])):
        with gzip.open(tmp_path / f"{name}-images-idx3-ubyte.gz", "wb") as file:
            file.write(b"\0\0\x08\x03" + np.array(array.shape, ">i4").tobytes() + array.tobytes())
        (tmp_path / f"{name}-labels-idx1-ubyte").write_bytes(
            b"\0\0\x08\x01" + np.array([len(array)], ">i4").tobytes() + labels[: len(array)].tobytes()
        )
    from staticgrad.compat.tf1.examples.tutorials.mnist import input_data

    data = input_data.read_data_sets(str(tmp_path), one_hot=True, validation_size=4, seed=0)
    assert (data.train.num_examples, data.validation.num_examples, data.test.num_examples) == (16, 4, 5)
    np.testing.assert_allclose(data.test.images, images[:5].reshape(5, -1) / 255, rtol=1e-6)
    assert data.test.labels.argmax(1).tolist() == labels[:5].tolist()
    batches = [data.train.next_batch(6)[0] for _ in range(3)]
    assert (data.train.epochs_completed, [len(b) for b in batches]) == (1, [6, 6, 6])
    with pytest.raises(FileNotFoundError, match="train-images"):
        input_data.read_data_sets(str(tmp_path / "none"))
