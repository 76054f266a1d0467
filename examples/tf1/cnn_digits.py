"""A convolutional network on the digits: conv2d, max_pool, dropout whose probability is fed."""

import numpy as np
from sklearn.datasets import load_digits

import staticgrad.compat.tf1 as tf


def weight(rng, *shape):
    return tf.Variable((rng.randn(*shape) / np.sqrt(np.prod(shape[:-1]))).astype("float32"))


def run(steps=200, keep=1.0):
    digits = load_digits()
    images, labels = (digits.images[..., None] / 16).astype("float32"), np.eye(10, dtype="float32")[digits.target]
    rng = np.random.RandomState(0)
    tf.reset_default_graph()
    tf.set_random_seed(0)
    x = tf.placeholder(tf.float32, [None, 8, 8, 1])
    y = tf.placeholder(tf.float32, [None, 10])
    keep_prob = tf.placeholder(tf.float32, [])
    h = tf.nn.relu(tf.nn.conv2d(x, weight(rng, 3, 3, 1, 16), strides=[1, 1, 1, 1], padding="SAME"))
    h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    h = tf.nn.relu(tf.nn.conv2d(h, weight(rng, 3, 3, 16, 32), strides=[1, 1, 1, 1], padding="SAME"))
    h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    h = tf.nn.dropout(tf.reshape(h, [-1, 2 * 2 * 32]), keep_prob=keep_prob)
    logits = tf.matmul(h, weight(rng, 128, 10))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))
    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            batch = rng.randint(0, 1500, 64)
            feed = {x: images[batch], y: labels[batch], keep_prob: keep}
            losses.append(sess.run([loss, train], feed)[0])
        print("accuracy", sess.run(accuracy, {x: images[1500:], y: labels[1500:], keep_prob: 1.0}))
    return losses


if __name__ == "__main__":
    print("loss", run(keep=0.8)[-1])
