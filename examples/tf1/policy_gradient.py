"""REINFORCE on the cart and pole of Barto, Sutton and Anderson (1983), whose equations are written out here."""

import numpy as np

import staticgrad.compat.tf1 as tf


def moved(state, action):
    """The state after 0.02 s, and whether the pole fell or the cart left the track."""
    x, v, angle, spin = state
    force = 10.0 if action else -10.0
    sine, cosine = np.sin(angle), np.cos(angle)
    push = (force + 0.05 * spin * spin * sine) / 1.1
    turn = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1))
    shift = push - 0.05 * turn * cosine / 1.1
    state = np.array([x + 0.02 * v, v + 0.02 * shift, angle + 0.02 * spin, spin + 0.02 * turn])
    return state, abs(state[0]) > 2.4 or abs(state[2]) > 0.2095


def run(steps=100):
    rng = np.random.RandomState(0)
    tf.reset_default_graph()
    states = tf.placeholder(tf.float32, [None, 4])
    actions = tf.placeholder(tf.int32, [None])
    returns = tf.placeholder(tf.float32, [None])
    w = tf.Variable((rng.randn(4, 32) / 2).astype("float32"))
    v = tf.Variable((rng.randn(32, 2) / 6).astype("float32"))
    logits = tf.matmul(tf.nn.tanh(tf.matmul(states, w)), v)
    policy = tf.nn.softmax(logits)
    log_probability = -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
    loss = -tf.reduce_mean(log_probability * returns)
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    losses, lengths = [], []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            state, over, seen, done = rng.uniform(-0.05, 0.05, 4), False, [], []
            while not over and len(seen) < 200:
                p = sess.run(policy, {states: state[None]})[0, 1]
                action = int(rng.rand() < p)
                seen.append(state)
                done.append(action)
                state, over = moved(state, action)
            total = np.cumsum(0.99 ** np.arange(len(seen)))[::-1]
            total = (total - total.mean()) / (total.std() + 1e-8)
            losses.append(sess.run([loss, train], {states: np.array(seen), actions: done, returns: total})[0])
            lengths.append(len(seen))
    print("steps upright, the last ten episodes:", np.mean(lengths[-10:]))
    return losses


if __name__ == "__main__":
    run()
