"""A variational autoencoder of the digits. The noise is fed, so that every run can be repeated."""

import numpy as np
from sklearn.datasets import load_digits

import staticgrad.compat.tf1 as tf


def dense(x, units, rng, name, activation=None):
    with tf.variable_scope(name):
        size = x.get_shape().as_list()[-1]
        w = tf.get_variable("w", initializer=(rng.randn(size, units) / np.sqrt(size)).astype("float32"))
        b = tf.get_variable("b", [units], initializer=tf.constant_initializer(0.0))
        out = tf.matmul(x, w) + b
        return out if activation is None else activation(out)


def run(steps=300, latent=4):
    images = (load_digits().data / 16).astype("float32")
    rng = np.random.RandomState(0)
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [None, 64])
    noise = tf.placeholder(tf.float32, [None, latent])
    h = dense(x, 64, rng, "encoder", tf.nn.softplus)
    mean, log_variance = dense(h, latent, rng, "mean"), dense(h, latent, rng, "log_variance")
    z = mean + tf.exp(0.5 * log_variance) * noise
    logits = dense(dense(z, 64, rng, "decoder", tf.nn.softplus), 64, rng, "pixels")
    reconstruction = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), 1)
    divergence = -0.5 * tf.reduce_sum(1 + log_variance - tf.square(mean) - tf.exp(log_variance), 1)
    loss = tf.reduce_mean(reconstruction + divergence)
    train = tf.train.AdamOptimizer(learning_rate=0.003).minimize(loss)
    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            batch = images[rng.randint(0, len(images), 100)]
            feed = {x: batch, noise: rng.randn(100, latent)}
            losses.append(sess.run([train, loss], feed_dict=feed)[1])
    return losses


if __name__ == "__main__":
    print("loss", run()[-1])
