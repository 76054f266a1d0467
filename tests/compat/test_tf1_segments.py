"""Segments of TensorFlow's: numbers below 0 are dropped, equal extrema share a gradient, zeros have that of the others."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.compat.tf1 as tf

DATA = np.array([[3.0, 1.0], [3.0, 0.0], [0.0, 2.0], [7.0, 7.0], [0.0, 4.0]], "f4")
IDS = np.array([0, 0, 2, -1, 2])
LOW, HIGH = np.finfo("f4").min, np.finfo("f4").max
EXPECTED = {
    "sum": ([[6, 1], [0, 0], [0, 6]], [[1, 1], [1, 1], [1, 1], [0, 0], [1, 1]]),
    "mean": ([[3, 0.5], [0, 0], [0, 3]], [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0, 0], [0.5, 0.5]]),
    "sqrt_n": (np.array([[6, 1], [0, 0], [0, 6]]) / 2**0.5, np.array([[1, 1], [1, 1], [1, 1], [0, 0], [1, 1]]) / 2**0.5),
    "prod": ([[9, 0], [1, 1], [0, 8]], [[3, 0], [3, 1], [0, 4], [0, 0], [0, 2]]),
    "max": ([[3, 1], [LOW, LOW], [0, 4]], [[0.5, 1], [0.5, 0], [0.5, 0], [0, 0], [0.5, 1]]),
    "min": ([[3, 0], [HIGH, HIGH], [0, 2]], [[0.5, 0], [0.5, 1], [0.5, 1], [0, 0], [0.5, 0]]),
}


@pytest.mark.parametrize("session_of", [tf.Session, lambda: sg.Session(numerics="strict")], ids=["fast", "strict"])
@pytest.mark.parametrize("name", EXPECTED)
def test_values_and_gradients(name, session_of):
    with tf.Graph().as_default():
        data, ids = tf.placeholder(tf.float32, [5, 2]), tf.placeholder(tf.int32, [5])
        out = getattr(tf, f"unsorted_segment_{name}")(data, ids, 3)
        (slope,) = tf.gradients(out, data)
        with session_of() as session:
            for found, expected in zip(session.run([out, slope], {data: DATA, ids: IDS}), EXPECTED[name], strict=True):
                np.testing.assert_allclose(found, np.asarray(expected, "f4"), rtol=1e-6)
            with pytest.raises(
                (sg.errors.IndexRangeError, tf.errors.InvalidArgumentError),
                match="index 3 is out of range for axis 0 with extent 3",
            ):
                session.run(out, {data: DATA, ids: IDS + 1})


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min"])
def test_sorted_segments(name):
    with tf.Graph().as_default(), tf.Session() as session:
        rows = DATA[[0, 1, 2, 4]]
        found = session.run(getattr(tf, f"segment_{name}")(tf.constant(rows), tf.constant([0, 0, 2, 2])))
        fold = getattr(np, name)
        expected = np.stack([fold(rows[:2], 0), np.full(2, name == "prod"), fold(rows[2:], 0)])
        np.testing.assert_allclose(found, expected)


def test_many_segments():
    """A table of all slices by all segments would have 16 GB."""
    n = 60_000
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.constant(np.arange(n, dtype="f4"))
        out = tf.unsorted_segment_max(data, tf.constant(np.arange(n) // 2), n)
        found, slope = session.run([out, tf.gradients(out, data)[0]])
        np.testing.assert_array_equal(found[: n // 2], np.arange(1, n, 2))
        np.testing.assert_array_equal(slope, np.arange(n) % 2)
