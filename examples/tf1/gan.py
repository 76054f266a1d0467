"""A generative adversarial network in one dimension: two optimizers, each with the variables of its scope."""

import numpy as np

import staticgrad.compat.tf1 as tf


def layers(x, sizes, rng):
    for i, units in enumerate(sizes):
        size = x.get_shape().as_list()[-1]
        w = tf.get_variable(f"w{i}", initializer=(rng.randn(size, units) / np.sqrt(size)).astype("float32"))
        b = tf.get_variable(f"b{i}", [units], initializer=tf.zeros_initializer())
        x = tf.matmul(x, w) + b
        if i < len(sizes) - 1:
            x = tf.nn.leaky_relu(x, alpha=0.1)
    return x


def run(steps=500):
    rng = np.random.RandomState(0)
    tf.reset_default_graph()
    real = tf.placeholder(tf.float32, [None, 1])
    noise = tf.placeholder(tf.float32, [None, 4])
    with tf.variable_scope("generator"):
        fake = layers(noise, [16, 1], rng)
    with tf.variable_scope("discriminator"):
        on_real = layers(real, [32, 1], rng)
    with tf.variable_scope("discriminator", reuse=True):
        on_fake = layers(fake, [32, 1], rng)

    def cross_entropy(logits, label):
        labels = tf.ones_like(logits) * label
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=labels))

    d_loss = cross_entropy(on_real, 1.0) + cross_entropy(on_fake, 0.0)
    g_loss = cross_entropy(on_fake, 1.0)
    d_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="discriminator")
    g_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="generator")
    d_train = tf.train.AdamOptimizer(0.005, beta1=0.5).minimize(d_loss, var_list=d_vars)
    g_train = tf.train.AdamOptimizer(0.005, beta1=0.5).minimize(g_loss, var_list=g_vars)
    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            d, _ = sess.run([d_loss, d_train], {real: 3 + 0.5 * rng.randn(64, 1), noise: rng.randn(64, 4)})
            g, _ = sess.run([g_loss, g_train], {noise: rng.randn(64, 4)})
            losses += [d, g]
        made = sess.run(fake, {noise: rng.randn(1000, 4)})
        print("mean", made.mean(), "deviation", made.std())
    return losses


if __name__ == "__main__":
    run()
