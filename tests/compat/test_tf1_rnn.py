"""Recurrent cells in TensorFlow 1's dialect. Expected numbers are those of TensorFlow's `compat.v1`."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad.compat.tf1 as tf

X = np.random.RandomState(0).randn(5, 7, 3).astype("f4")
LENGTHS = [7, 3, 0, 1, 7]
cells = tf.nn.rnn_cell

EXPECTED = {
    "gru": (
        lambda: cells.GRUCell(4),
        [0.72447, 2.7946, 0.8199, 15.4866, 7.8865],
        ["gru_cell/gates/kernel", "gru_cell/gates/bias", "gru_cell/candidate/kernel", "gru_cell/candidate/bias"],
    ),
    "lstm": (
        lambda: cells.BasicLSTMCell(4),
        [1.84976, 54.4649, 22.7671],
        ["basic_lstm_cell/kernel", "basic_lstm_cell/bias"],
    ),
    "two layers": (
        lambda: cells.MultiRNNCell([cells.LSTMCell(4), cells.GRUCell(6)]),
        [0.27698, 7.5454, 3.0627, 0.3100, 0.3300, 6.6434, 7.9793],
        [
            *(f"multi_rnn_cell/cell_0/lstm_cell/{name}" for name in ("kernel", "bias")),
            *(
                f"multi_rnn_cell/cell_1/gru_cell/{part}/{name}"
                for part in ("gates", "candidate")
                for name in ("kernel", "bias")
            ),
        ],
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_dynamic_rnn(name):
    """The loss and the sums of |gradient|, with all weights 0.1 and lengths of their own."""
    make, numbers, names = EXPECTED[name]
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 7, 3])
        with tf.variable_scope("m", initializer=tf.constant_initializer(0.1)):
            out, _ = tf.nn.dynamic_rnn(make(), x, sequence_length=LENGTHS, dtype=tf.float32)
        loss = tf.reduce_sum(out * out)
        variables = tf.trainable_variables()
        assert [v.name for v in variables] == [f"m/rnn/{n}:0" for n in names]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            value, *gradients = session.run([loss, *tf.gradients(loss, variables)], {x: X})
        np.testing.assert_allclose([value, *(np.abs(g).sum() for g in gradients)], numbers, rtol=1e-4, atol=6e-5)


def test_unrolled_looped_and_backward_agree():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [5, 7, 3])
        cell = cells.BasicRNNCell(4)
        looped, last = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
        with tf.variable_scope("rnn", reuse=True):
            unrolled, final = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
        (forward, backward), _ = tf.nn.bidirectional_dynamic_rnn(cells.GRUCell(2), cells.GRUCell(2), x, dtype=tf.float32)
        kept = cells.DropoutWrapper(cell, output_keep_prob=1.0)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            a, b, c, d = session.run([looped, last, tf.stack(unrolled, 1), final], {x: X})
            np.testing.assert_allclose(a, c, rtol=1e-6)
            np.testing.assert_allclose(b, d, rtol=1e-6)
            np.testing.assert_allclose(a[:, -1], b, rtol=1e-6)
            assert [v.shape for v in session.run([forward, backward], {x: X})] == [(5, 7, 2)] * 2
            assert kept.output_size == 4


def test_moving_averages_masks_segments_and_defaults():
    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0], name="v")
        average = tf.train.ExponentialMovingAverage(0.9)
        update = average.apply([v])
        assert average.average(v).name == "v/ExponentialMovingAverage:0"
        place = tf.placeholder_with_default(tf.constant([1.0, 1.0]), [2])
        mask = tf.sequence_mask(tf.constant([1, 3]), 3, tf.float32)
        sums = tf.unsorted_segment_sum(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([1, 0, 1]), 3)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            v.load([2.0, 2.0], session)
            session.run(update)
            np.testing.assert_allclose(session.run(average.average(v)), [1.1, 2.0], rtol=1e-6)
            np.testing.assert_array_equal(session.run(place + v), [3, 3])
            np.testing.assert_array_equal(session.run(place + v, {place: [0.0, 5.0]}), [2, 7])
            np.testing.assert_array_equal(session.run(mask), [[1, 0, 0], [1, 1, 1]])
            np.testing.assert_array_equal(session.run(sums), [[2], [5], [0]])


def test_flags():
    flags = tf.flags.Flags()
    flags.define("rate", 0.1, "learning rate", float)
    assert flags.parse(["program", "--rate=0.5", "rest"]) == ["program", "rest"]
    assert flags.rate == 0.5
    flags.rate = 2.0
    assert flags.rate == 2.0


class Leaky(cells.RNNCell):
    """A cell of one's own, without the base's constructor, whose variable is made where it is called first."""

    state_size = output_size = 3

    def __call__(self, inputs, state, scope=None):
        decay = tf.get_variable("decay", [3], initializer=tf.constant_initializer(0.5))
        new = decay * state + inputs
        return new, new


class Counting:
    """No RNNCell, with a first state of its own."""

    state_size, output_size = (3,), 3

    def zero_state(self, batch_size, dtype):
        return (tf.fill([batch_size, 3], tf.constant(1.0, dtype)),)

    def __call__(self, inputs, state, scope=None):
        return state[0] * inputs, (state[0] + 1,)


@pytest.mark.parametrize("batch", [None, 5])
def test_cells_of_ones_own(batch):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [batch, 7, 3])
        leaky, _ = tf.nn.dynamic_rnn(Leaky(), x, dtype=tf.float32)
        counted, (last,) = tf.nn.dynamic_rnn(Counting(), x, dtype=tf.float32)
        (slope,) = tf.gradients(leaky[:, -1], tf.trainable_variables())
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found, times, end, g = session.run([leaky, counted, last, slope], {x: X})
    state = np.zeros((5, 3), "f4")
    derivative = np.zeros((5, 3), "f4")
    for t in range(7):
        derivative = state + 0.5 * derivative
        state = 0.5 * state + X[:, t]
        np.testing.assert_allclose(found[:, t], state, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(g, derivative.sum(0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(times, X * np.arange(1, 8, dtype="f4")[:, None], rtol=1e-6)
    np.testing.assert_array_equal(end, np.full((5, 3), 8, "f4"))


def test_a_zero_state_for_a_batch_of_any_size():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2])
        state = cells.LSTMCell(4).zero_state(tf.shape(x)[0], tf.float32)
        assert state.c.shape.as_list() == [None, 4]
        with tf.Session() as session:
            assert session.run(state.h, {x: np.ones((6, 2))}).shape == (6, 4)


def test_unrolled_cells_take_a_batch_of_any_size():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 7, 3])
        outputs, _ = tf.nn.static_rnn(Counting(), tf.unstack(x, axis=1), dtype=tf.float32)
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(outputs[3], {x: X}), 4 * X[:, 3])
        with pytest.raises(ValueError, match="you must give a dtype"):
            tf.nn.static_rnn(Counting(), tf.unstack(x, axis=1))
        with pytest.raises(ValueError, match="you must give a dtype"):
            tf.nn.dynamic_rnn(Counting(), x)
