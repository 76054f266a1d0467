"""Names of TensorFlow 1's op namespaces: values, gradients, dtypes and static shapes are TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad.compat.tf1 as sgtf
from tests.compat.tf1_name_cases import CASES


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    return [value]


def judged(tf, expression, values, shapes=None):
    """(values of all results, gradients of the sum of their squares, dtypes, static shapes)."""
    with tf.Graph().as_default():
        places = [tf.placeholder(v.dtype, v.shape if shapes is None else shapes(v)) for v in values]
        made = leaves(expression(tf, *places))
        floating = [x for x in places if x.dtype.is_floating]
        squares = [tf.reduce_sum(m * m) for m in made if m.dtype.is_floating]
        try:
            slopes = tf.gradients(squares, floating) if squares and floating else []
        except LookupError:  # TensorFlow has no gradient
            slopes = None
        found = None if slopes is None else [g is not None for g in slopes]
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            feed = dict(zip(places, values, strict=True))
            out, grads = session.run([made, [g for g in slopes or [] if g is not None]], feed)
        return out, grads, found, [m.dtype.name for m in made], [m.shape for m in made]


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("name", CASES)
def test_names_are_tensorflows(name):
    tf = pytest.importorskip("tensorflow").compat.v1
    expression, values = CASES[name][:2]
    actual, expected = judged(sgtf, expression, values), judged(tf, expression, values)
    assert len(actual[0]) == len(expected[0])
    for a, e in zip(actual[0], expected[0], strict=True):
        close(a, e)
    if expected[2] is not None:
        assert actual[2] == expected[2]
        for a, e in zip(actual[1], expected[1], strict=True):
            close(a, e)
    assert actual[3] == expected[3]
    for a, e in zip(actual[4], expected[4], strict=True):
        assert a.is_compatible_with(e.as_list() if e.dims is not None else None)  # more may be known here
        assert e.dims is None or (a.dims is not None and all(n is None or m == n for m, n in zip(a.as_list(), e.as_list())))
