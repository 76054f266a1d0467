"""Skip-gram embeddings of English words with negative sampling, on the standard library's own text."""

import collections
import re
from pydoc_data.topics import topics

import numpy as np

import staticgrad.compat.tf1 as tf


def run(steps=400, vocabulary=500, size=16, negatives=8):
    words = re.findall("[a-z]+", " ".join(topics.values()).lower())
    common = [w for w, _ in collections.Counter(words).most_common(vocabulary)]
    index = {w: i for i, w in enumerate(common)}
    ids = np.array([index[w] for w in words if w in index], "int32")
    rng = np.random.RandomState(0)
    tf.reset_default_graph()
    center = tf.placeholder(tf.int32, shape=[None])
    context = tf.placeholder(tf.int32, shape=[None, 1 + negatives])
    start = rng.uniform(-1, 1, (vocabulary, size)).astype("float32")
    embeddings = tf.Variable(start, name="embeddings")
    output = tf.Variable(tf.zeros([vocabulary, size]), name="output")
    hidden = tf.nn.embedding_lookup(embeddings, center)
    scores = tf.reduce_sum(tf.expand_dims(hidden, 1) * tf.nn.embedding_lookup(output, context), 2)
    labels = tf.concat([tf.ones_like(scores[:, :1]), tf.zeros_like(scores[:, 1:])], 1)
    loss = tf.reduce_mean(tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=scores), 1))
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    normalized = tf.nn.l2_normalize(embeddings, 1)
    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            at = rng.randint(1, len(ids) - 1, 128)
            neighbor, others = ids[at + rng.choice([-1, 1], 128)], rng.randint(0, vocabulary, (128, negatives))
            feed = {center: ids[at], context: np.concatenate([neighbor[:, None], others], 1)}
            losses.append(sess.run([loss, train], feed)[0])
        vectors = sess.run(normalized)
        print("nearest to 'list':", [common[i] for i in np.argsort(-vectors @ vectors[index["list"]])[1:6]])
    return losses


if __name__ == "__main__":
    print("loss", run()[-1])
