"""Linear regression on scikit-learn's diabetes data: placeholders, variables, gradient descent."""

import numpy as np
from sklearn.datasets import load_diabetes

import staticgrad.compat.tf1 as tf


def run(steps=200):
    data = load_diabetes()
    features = data.data.astype("float32") * 20
    target = (data.target[:, None] / 100).astype("float32")
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [None, 10], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    w = tf.Variable(tf.zeros([10, 1]), name="weights")
    b = tf.Variable(tf.zeros([1]), name="bias")
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
    train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            losses.append(sess.run([loss, train], feed_dict={x: features, y: target})[0])
        print("bias", sess.run(b), "weights", np.round(sess.run(w)[:, 0], 3))
    return losses


if __name__ == "__main__":
    print("loss", run()[-1])
