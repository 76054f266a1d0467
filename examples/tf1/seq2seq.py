"""Sequence to sequence: an LSTM encoder, and a decoder that attends to it by dot products, learn to sort tokens."""

import numpy as np

import staticgrad.compat.tf1 as tf


class Cell:
    """An LSTM cell with its weights from NumPy's generator, for `tf.nn.dynamic_rnn` and by itself."""

    def __init__(self, rng, inputs, units):
        first = rng.randn(inputs + units, 4 * units) / np.sqrt(inputs + units)
        self.kernel = tf.get_variable("kernel", initializer=first.astype("float32"))
        self.bias = tf.get_variable("bias", [4 * units], initializer=tf.zeros_initializer())
        self.state_size, self.output_size = (units, units), units

    def zero_state(self, batch_size, dtype):
        return tuple(tf.zeros([batch_size, units], dtype) for units in self.state_size)

    def __call__(self, inputs, state, scope=None):
        c, h = state
        i, j, f, o = tf.split(tf.matmul(tf.concat([inputs, h], 1), self.kernel) + self.bias, 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, (c, h)


def run(steps=300, tokens=8, length=6, units=32, size=16, batch=64):
    rng = np.random.RandomState(0)
    start = tokens  # the token that begins a decoded sequence
    tf.reset_default_graph()
    source = tf.placeholder(tf.int32, [None, length], name="source")
    target = tf.placeholder(tf.int32, [None, length], name="target")
    with tf.variable_scope("embedding"):
        first = rng.uniform(-1, 1, (tokens + 1, size)).astype("float32")
        embedding = tf.get_variable("table", initializer=first)

    with tf.variable_scope("encoder"):
        memory, state = tf.nn.dynamic_rnn(Cell(rng, size, units), tf.nn.embedding_lookup(embedding, source), dtype=tf.float32)

    with tf.variable_scope("decoder"):
        cell = Cell(rng, size, units)
        mixed = tf.get_variable("mixed", initializer=(rng.randn(2 * units, units) / 8).astype("float32"))
        output = tf.get_variable("output", initializer=(rng.randn(units, tokens) / 6).astype("float32"))

        def decoded(token, state):
            """The scores of the next token, how it attends to the source, and the next state."""
            h, state = cell(tf.nn.embedding_lookup(embedding, token), state)
            scores = tf.squeeze(tf.matmul(memory, tf.expand_dims(h, 2)), [2])
            weights = tf.nn.softmax(scores)
            context = tf.reduce_sum(memory * tf.expand_dims(weights, 2), 1)
            attended = tf.tanh(tf.matmul(tf.concat([context, h], 1), mixed))
            return tf.matmul(attended, output), weights, state

        begin = tf.fill([tf.shape(source)[0]], start)
        logits, known, token = [], state, begin
        for i in range(length):  # teacher forcing
            scores, _, known = decoded(token, known)
            logits.append(scores)
            token = target[:, i]
        logits = tf.stack(logits, 1)

    def attend(i, token, state, answer, attention):
        scores, weights, state = decoded(token, state)
        token = tf.cast(tf.argmax(scores, 1), tf.int32)
        return i + 1, token, state, answer.write(i, token), attention.write(i, weights)

    answer, attention = tf.TensorArray(tf.int32, length), tf.TensorArray(tf.float32, length)
    done = tf.while_loop(lambda i, *_: i < length, attend, (0, begin, state, answer, attention))
    answer, attention = tf.transpose(done[3].stack()), tf.transpose(done[4].stack(), [1, 0, 2])

    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits))
    optimizer = tf.train.AdamOptimizer(0.01)
    gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
    clipped, _ = tf.clip_by_global_norm(gradients, 5.0)
    train = optimizer.apply_gradients(zip(clipped, variables, strict=True))

    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            given = rng.randint(0, tokens, (batch, length))
            losses.append(sess.run([loss, train], {source: given, target: np.sort(given, 1)})[0])
        given = rng.randint(0, tokens, (500, length))
        found, weights = sess.run([answer, attention], {source: given})
        print("sorted:", np.mean(np.all(found == np.sort(given, 1), 1)), "of 500; for instance", given[0], "->", found[0])
        print("attention:", np.round(weights[0], 2), sep="\n")
    return losses


if __name__ == "__main__":
    print("loss", run()[-1])
