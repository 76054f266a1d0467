"""An autoencoder of the digits with tied weights, trained by RMSProp."""

import numpy as np
from sklearn.datasets import load_digits

import staticgrad.compat.tf1 as tf


def run(steps=300):
    images = (load_digits().data / 16).astype("float32")
    rng = np.random.RandomState(0)
    tf.reset_default_graph()
    x = tf.placeholder("float", [None, 64])
    first = tf.Variable((rng.randn(64, 32) / 8).astype("float32"), name="encoder")
    second = tf.Variable((rng.randn(32, 8) / 6).astype("float32"), name="code")
    with tf.name_scope("encode"):
        code = tf.nn.sigmoid(tf.matmul(tf.nn.sigmoid(tf.matmul(x, first)), second))
    with tf.name_scope("decode"):
        out = tf.nn.sigmoid(tf.matmul(tf.nn.sigmoid(tf.matmul(code, second, transpose_b=True)), tf.transpose(first)))
    loss = tf.reduce_mean(tf.pow(x - out, 2))
    train = tf.train.RMSPropOptimizer(0.01).minimize(loss)
    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(steps):
            batch = images[np.arange(i * 256, i * 256 + 256) % len(images)]
            losses.append(sess.run([train, loss], {x: batch})[1])
    return losses


if __name__ == "__main__":
    print("loss", run()[-1])
