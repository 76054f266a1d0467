"""A recurrent classifier that reads the digits row by row, with gradients clipped by their global norm."""

import numpy as np
from sklearn.datasets import load_digits

import staticgrad.compat.tf1 as tf


def run(steps=200):
    digits = load_digits()
    images, labels = (digits.images / 16).astype("float32"), digits.target.astype("int64")
    rng = np.random.RandomState(0)
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [None, 8, 8])
    y = tf.placeholder(tf.int64, [None])
    units = 32
    kernel = tf.Variable((rng.randn(8 + units, 4 * units) / 6).astype("float32"))
    bias = tf.Variable(tf.zeros([4 * units]))
    rows = tf.unstack(x, axis=1)
    c = h = tf.zeros_like(tf.matmul(rows[0], tf.zeros([8, units])))
    for row in rows:
        i, j, f, o = tf.split(tf.matmul(tf.concat([row, h], 1), kernel) + bias, 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
    logits = tf.matmul(h, tf.Variable((rng.randn(units, 10) / 6).astype("float32")))
    loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
    optimizer = tf.train.AdamOptimizer(0.005)
    gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
    clipped, norm = tf.clip_by_global_norm(gradients, 1.0)
    train = optimizer.apply_gradients(zip(clipped, variables, strict=True))
    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            batch = rng.randint(0, 1500, 64)
            losses.append(sess.run([loss, train, norm], {x: images[batch], y: labels[batch]})[0])
        correct = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(logits, 1), y)))
        print("accuracy", sess.run(correct, {x: images[1500:], y: labels[1500:]}))
    return losses


if __name__ == "__main__":
    print("loss", run()[-1])
