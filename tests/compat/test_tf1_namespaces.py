"""Names of TensorFlow 1's op namespaces: values, gradients, dtypes and static shapes are TensorFlow's."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import staticgrad.compat.tf1 as sgtf
from tests.compat.tf1_namespace_cases import CASES
from tests.helpers import tensorflow1


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    return [value]


def waves(tf):
    """An initializer that gives different numbers, the same in both libraries."""

    def values(shape, dtype=None, partition_info=None, **options):
        size = int(np.prod([int(n) for n in shape]))
        return tf.constant(np.sin(np.arange(1, size + 1)).reshape([int(n) for n in shape]) * 0.5, dtype or tf.float32)

    return values


def tensorflow():
    """TensorFlow's `compat.v1`, with the cells and layers that its package still holds."""
    tf = tensorflow1()
    from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl, rnn_cell_wrapper_impl
    from tensorflow.python.keras.legacy_tf_layers import convolutional, core, pooling

    def space(*modules):
        found = {name: getattr(m, name) for m in modules for name in dir(m) if not name.startswith("_")}
        return SimpleNamespace(**found)

    cells = space(rnn_cell_wrapper_impl, rnn_cell_impl)
    cells.DropoutWrapper, cells.ResidualWrapper = rnn_cell_impl.DropoutWrapper, rnn_cell_impl.ResidualWrapper
    parts = {name: getattr(tf, name) for name in dir(tf) if not name.startswith("_")}
    nn = SimpleNamespace(
        **{name: getattr(tf.nn, name) for name in dir(tf.nn) if not name.startswith("_")} | {"rnn_cell": cells}
    )
    return SimpleNamespace(**parts | {"nn": nn, "layers": space(core, convolutional, pooling)})


def judged(tf, expression, values, shapes=None):
    """(values of all results, gradients of the sum of their squares, dtypes, static shapes)."""
    with tf.Graph().as_default():
        places = [tf.placeholder(v.dtype, v.shape if shapes is None else shapes(v)) for v in values]
        with tf.variable_scope("m", initializer=waves(tf)):
            made = leaves(expression(tf, *places))
        floating = [x for x in places if x.dtype.is_floating] + tf.trainable_variables()
        squares = [tf.reduce_sum(m * m) for m in made if m.dtype.is_floating]
        try:
            slopes = tf.gradients(squares, floating) if squares and floating else []
        except LookupError:  # TensorFlow has no gradient
            slopes = None
        slopes = slopes and [tf.convert_to_tensor(g) if hasattr(g, "indices") else g for g in slopes]
        found = None if slopes is None else [g is not None for g in slopes]
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            feed = dict(zip(places, values, strict=True))
            out, grads = session.run([made, [g for g in slopes or [] if g is not None]], feed)
        variables = [v.name for v in tf.global_variables()]
        return out, grads, found, [m.dtype.base_dtype.name for m in made], [m.shape for m in made], variables


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:.*is deprecated and will be removed in a future version:UserWarning")  # TensorFlow's own
@pytest.mark.parametrize("name", CASES)
def test_names_are_tensorflows(name):
    tf = tensorflow()
    expression, values = CASES[name][:2]
    actual, expected = judged(sgtf, expression, values), judged(tf, expression, values)
    assert len(actual[0]) == len(expected[0])
    for a, e in zip(actual[0], expected[0], strict=True):
        close(a, e)
    if expected[2] is not None:  # some of TensorFlow's functions have no gradient that have one here
        assert all(a or not e for a, e in zip(actual[2], expected[2], strict=True))
        mine = iter(actual[1])
        found = [next(mine) if a else None for a in actual[2]]
        for a, e in zip([f for f, e in zip(found, expected[2], strict=True) if e], expected[1], strict=True):
            close(a, e)
    assert actual[3] == expected[3]
    assert actual[5] == expected[5]
    for a, e in zip(actual[4], expected[4], strict=True):  # more may be known here
        assert e.dims is None or all(n is None or m == n for m, n in zip(a.as_list(), e.as_list(), strict=True))


UNKNOWN = ("batch_gather", "embeddings mean", "recall_at_k", "repeat counts", "sparse matmul")
"""Rows for a plan of known and of unknown extents."""


def test_extents_may_be_unknown():
    """The same values when extents are known only in the run; all rows are one plan."""
    pairs, feed = {}, {}
    for name in UNKNOWN:
        expression, values = CASES[name][:2]
        pairs[name] = []
        for unknown in (False, True):
            places = [sgtf.placeholder(v.dtype, [None] * v.ndim if unknown else v.shape) for v in values]
            feed.update(zip(places, values, strict=True))
            pairs[name].append(leaves(expression(sgtf, *places)))
    with sgtf.Session() as session:
        session.run(sgtf.local_variables_initializer())
        for name, (known, unknown) in session.run(pairs, feed).items():
            for a, b in zip(known, unknown, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(("machine", "x86", "arm"), [("x86_64", True, False), ("aarch64", False, True), ("arm64", False, True)])
def test_targets_of_the_cpu(machine: str, x86: bool, arm: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("platform.machine", lambda: machine)
    available = [sgtf.test.is_cpu_target_available(target) for target in ("x86", "x86_64", "aarch64", "arm64")]
    assert available == [x86, x86, arm, arm]
