"""Softmax regression and a hidden layer on the digits, with a decaying learning rate and the accuracy on held-out digits."""

import numpy as np
from sklearn.datasets import load_digits

import staticgrad.compat.tf1 as tf


def run(steps=300):
    digits = load_digits()
    images, labels = (digits.data / 16).astype("float32"), digits.target.astype("int32")
    rng = np.random.RandomState(0)
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [None, 64])
    y = tf.placeholder(tf.int32, [None])
    with tf.variable_scope("hidden"):
        w = tf.get_variable("w", initializer=(rng.randn(64, 100) / 8).astype("float32"))
        h = tf.nn.relu(tf.matmul(x, w) + tf.get_variable("b", [100], initializer=tf.zeros_initializer()))
    with tf.variable_scope("softmax"):
        w = tf.get_variable("w", initializer=(rng.randn(100, 10) / 10).astype("float32"))
        logits = tf.matmul(h, w) + tf.get_variable("b", [10], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), y), tf.float32))
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.01, step, 100, 0.7, staircase=True)
    train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            batch = rng.randint(0, 1500, 100)
            losses.append(sess.run([loss, train], {x: images[batch], y: labels[batch]})[0])
        print("accuracy", sess.run(accuracy, {x: images[1500:], y: labels[1500:]}))
    return losses


if __name__ == "__main__":
    print("loss", run()[-1])
