"""A recurrent network over characters of English text, as one loop: tf.scan, and truncated backpropagation through time."""

from pydoc_data.topics import topics

import numpy as np

import staticgrad.compat.tf1 as tf


def run(steps=200, units=64, batch=16, length=20):
    text = "".join(c for c in topics["assignment"] + topics["class"] if 32 <= ord(c) < 127)
    letters = sorted(set(text))
    ids = np.array([letters.index(c) for c in text], "int32")
    rng = np.random.RandomState(0)
    tf.reset_default_graph()
    x = tf.placeholder(tf.int32, [length, batch])
    y = tf.placeholder(tf.int32, [length, batch])
    start = tf.placeholder(tf.float32, [batch, units])
    inner = tf.Variable((rng.randn(units, units) / 8).astype("float32"))
    outer = tf.Variable((rng.randn(len(letters), units) / 8).astype("float32"))
    states = tf.scan(lambda h, v: tf.tanh(tf.matmul(h, inner) + v), tf.gather(outer, x), initializer=start)
    logits = tf.tensordot(states, outer, [[2], [1]])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.AdamOptimizer(0.005).minimize(loss)
    last = states[length - 1]
    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        rows = len(ids) // batch
        table = ids[: rows * batch].reshape(batch, rows).T
        state = np.zeros((batch, units), "float32")
        for i in range(steps):
            at = i * length % (rows - length - 1)
            feed = {x: table[at : at + length], y: table[at + 1 : at + length + 1], start: state}
            value, state, _ = sess.run([loss, last, train], feed)
            losses.append(value)
    return losses


if __name__ == "__main__":
    print("loss", run()[-1])
