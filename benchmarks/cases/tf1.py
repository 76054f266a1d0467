"""Programs in TensorFlow 1's dialect, by ours and by TensorFlow's `compat.v1`: the same text, run by `Session.run` or by a
callable. A fresh batch in, the result or the loss out; float32."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..frameworks import batches, tf1_for, tf1_session
from ..registry import Arrays, Case, Job, add_cases, implements

BATCH, UNITS, WORDS, SIZE, NEGATIVES = 64, 32, 500, 16, 8


def drawn(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, np.float32) / np.float32(np.sqrt(np.prod(shape[:-1])))


def matrices() -> Arrays:
    """x (16, 8, 8)"""
    return {"x": np.random.default_rng(0).standard_normal((16, 8, 8), np.float32)}


def digits() -> Arrays:
    """x (28, 64, 8, 8) from 0 to 1 and y (28, 64): scikit-learn's digits."""
    from sklearn.datasets import load_digits

    found = load_digits()
    rows = np.random.default_rng(0).permutation(len(found.target))[: len(found.target) // BATCH * BATCH]
    images = (found.images[rows] / 16).astype(np.float32)
    return {"x": images.reshape(-1, BATCH, 8, 8), "y": found.target[rows].astype(np.int32).reshape(-1, BATCH)}


def images() -> Arrays:
    """The digits, and the weights of two convolutions and a linear layer."""
    rng = np.random.default_rng(0)
    return digits() | {"first": drawn(rng, 3, 3, 1, 16), "second": drawn(rng, 3, 3, 16, 32), "last": drawn(rng, 128, 10)}


def rows() -> Arrays:
    """The digits, and the weights of an LSTM over their rows and a linear layer."""
    rng = np.random.default_rng(0)
    weights = {"kernel": drawn(rng, 8 + UNITS, 4 * UNITS), "bias": np.zeros(4 * UNITS, np.float32)}
    return digits() | weights | {"last": drawn(rng, UNITS, 10)}


def words() -> Arrays:
    """center (16, 128) and context (16, 128, 9), numbers of words with frequencies like a language's; two tables (500, 16)."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, WORDS + 1)
    found = rng.choice(WORDS, (16, 128, 2 + NEGATIVES), p=frequency / frequency.sum()).astype(np.int32)
    tables = {"embeddings": rng.uniform(-1, 1, (WORDS, SIZE)).astype(np.float32), "output": np.zeros((WORDS, SIZE), np.float32)}
    return {"center": found[:, :, 0].copy(), "context": found[:, :, 1:].copy()} | tables


CASES = add_cases(
    Case("tf1-square", "TF1's dialect: the square of one 8x8 array", matrices, target=20.0),
    Case("tf1-cnn", "TF1's dialect: CNN on digits, batch 64, momentum", images, target=5.0),
    Case("tf1-lstm", "TF1's dialect: LSTM over rows of digits, batch 64, Adam, clipping", rows, target=5.0),
    Case("tf1-word2vec", "TF1's dialect: skip-gram with 8 negatives, batch 128, SGD", words, target=5.0),
)
TF1 = {"tf1": ("run", "callable"), "tensorflow": ("run", "callable", "run, 1 thread", "callable, 1 thread")}
Built = tuple[Any, list[Any], Mapping[str, Any]]
"""What to fetch first of a list, what to feed, and variables by their names among the arrays."""


def case(index: int, *names: str) -> Callable[[Callable[[Any, Arrays], Built]], Callable[[Any, Arrays], Built]]:
    """Register a function that builds the graph of a case, for both. names: of the arrays to feed."""

    def register(build: Callable[[Any, Arrays], Built]) -> Callable[[Any, Arrays], Built]:
        def job(data: Arrays, backend: str, variant: str) -> Job:
            tf = tf1_for(backend)
            fetches, feeds, variables = build(tf, data)
            sess, call = tf1_session(tf, fetches, feeds, variant)
            batch, scalar = batches(data, *names), isinstance(fetches, list)
            step = (lambda: float(call(*batch())[0])) if scalar else (lambda: call(*batch()))
            return Job(step, lambda: sess.run(dict(variables)) if variables else {})

        for backend, variants in TF1.items():
            implements(CASES[index : index + 1], backend, variants=variants)(job)
        return build

    return register


@case(0, "x")
def square(tf: Any, data: Arrays) -> Built:
    x = tf.placeholder(tf.float32, [8, 8])
    return tf.square(x), [x], {}


@case(1, "x", "y")
def cnn(tf: Any, data: Arrays) -> Built:
    x, y = tf.placeholder(tf.float32, [None, 8, 8]), tf.placeholder(tf.int32, [None])
    variables = {name: tf.Variable(data[name], name=name) for name in ("first", "second", "last")}
    h = tf.expand_dims(x, 3)
    for name in ("first", "second"):
        h = tf.nn.relu(tf.nn.conv2d(h, variables[name], strides=[1, 1, 1, 1], padding="SAME"))
        h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    logits = tf.matmul(tf.reshape(h, [-1, 128]), variables["last"])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    return [loss, tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)], [x, y], variables


@case(2, "x", "y")
def lstm(tf: Any, data: Arrays) -> Built:
    x, y = tf.placeholder(tf.float32, [None, 8, 8]), tf.placeholder(tf.int32, [None])
    variables = {name: tf.Variable(data[name], name=name) for name in ("kernel", "bias", "last")}
    c = h = tf.zeros([tf.shape(x)[0], UNITS])
    for row in tf.unstack(x, axis=1):
        i, j, f, o = tf.split(tf.matmul(tf.concat([row, h], 1), variables["kernel"]) + variables["bias"], 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
    logits = tf.matmul(h, variables["last"])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    optimizer = tf.train.AdamOptimizer(0.005)
    gradients, changed = zip(*optimizer.compute_gradients(loss), strict=True)
    clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
    return [loss, optimizer.apply_gradients(zip(clipped, changed, strict=True))], [x, y], variables


@case(3, "center", "context")
def word2vec(tf: Any, data: Arrays) -> Built:
    center, context = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None, 1 + NEGATIVES])
    variables = {name: tf.Variable(data[name], name=name) for name in ("embeddings", "output")}
    hidden = tf.nn.embedding_lookup(variables["embeddings"], center)
    scores = tf.reduce_sum(tf.expand_dims(hidden, 1) * tf.nn.embedding_lookup(variables["output"], context), 2)
    labels = tf.concat([tf.ones_like(scores[:, :1]), tf.zeros_like(scores[:, 1:])], 1)
    loss = tf.reduce_mean(tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=scores), 1))
    return [loss, tf.train.GradientDescentOptimizer(1.0).minimize(loss)], [center, context], variables
