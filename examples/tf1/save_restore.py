"""A checkpoint: training that goes on after a restart as if there had been none."""

import os
import tempfile

import numpy as np
from sklearn.datasets import load_iris

import staticgrad.compat.tf1 as tf


def graph():
    tf.reset_default_graph()
    rng = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    y = tf.placeholder(tf.int32, [None], name="y")
    h = tf.nn.tanh(tf.matmul(x, tf.Variable(rng.randn(4, 8).astype("float32"), name="w")))
    logits = tf.matmul(h, tf.Variable(rng.randn(8, 3).astype("float32"), name="v"))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="loss")
    step = tf.train.get_or_create_global_step()
    return x, y, loss, step, tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step)


def run(steps=100):
    iris = load_iris()
    features, labels = iris.data.astype("float32") / 5, iris.target.astype("int32")
    losses = []
    with tempfile.TemporaryDirectory() as folder:
        for half in range(2):
            x, y, loss, step, train = graph()
            saver = tf.train.Saver(max_to_keep=1)
            with tf.Session() as sess:
                if half == 0:
                    sess.run(tf.global_variables_initializer())
                else:
                    saver.restore(sess, tf.train.latest_checkpoint(folder))
                for _ in range(steps // 2):
                    losses.append(sess.run([loss, train], {x: features, y: labels})[0])
                path = saver.save(sess, os.path.join(folder, "model"), global_step=step)
                print(os.path.basename(path), "at step", sess.run(step))
    return losses


if __name__ == "__main__":
    print("loss", run()[-1])
