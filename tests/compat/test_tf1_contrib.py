"""`tf.contrib`'s layers, decoders and attention: variables, values written out in NumPy, and steps that train."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import staticgrad.compat.tf1 as tf

RNG = np.random.default_rng(3)
layers, seq2seq = tf.contrib.layers, tf.contrib.seq2seq
IDS = RNG.integers(0, 7, (3, 5)).astype("i4")
LENGTHS = np.array([5, 2, 4], "i4")


def names():
    return [v.name for v in tf.global_variables()]


def test_layers_have_contribs_variables():
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    h = layers.conv2d(x, 4, 3, stride=2, normalizer_fn=layers.batch_norm, normalizer_params={"is_training": True})
    h = layers.fully_connected(layers.flatten(layers.max_pool2d(h, 2)), 5, weights_regularizer=layers.l2_regularizer(0.1))
    out = layers.linear(h, 2, scope="out")
    assert names() == [
        "Conv/weights:0", "Conv/BatchNorm/beta:0", "Conv/BatchNorm/moving_mean:0", "Conv/BatchNorm/moving_variance:0",
        "fully_connected/weights:0", "fully_connected/biases:0", "out/weights:0", "out/biases:0",
    ]  # fmt: skip
    assert len(tf.get_collection("update_ops")) == 2
    loss = tf.reduce_mean(tf.square(out - 1.0)) + tf.add_n(tf.get_collection("regularization_losses"))
    step = layers.optimize_loss(loss, tf.train.get_or_create_global_step(), 0.05, "Adam", clip_gradients=5.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feed = {x: RNG.standard_normal((4, 8, 8, 3)).astype("f4")}
        losses = [session.run(step, feed) for _ in range(8)]
        assert losses[-1] < losses[0]
        assert session.run(tf.train.get_global_step()) == 8


def test_decoding_the_targets_is_the_loop_of_the_cell():
    """The outputs of the decoder are those of `dynamic_rnn` with the same weights; finished rows are zeros."""
    inputs = tf.constant(RNG.standard_normal((3, 5, 4)).astype("f4"))
    cell = tf.nn.rnn_cell.GRUCell(6)
    helper = seq2seq.TrainingHelper(inputs, LENGTHS)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(3, tf.float32))
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, impute_finished=True)
    expected, last = tf.nn.dynamic_rnn(cell, inputs, LENGTHS, dtype=tf.float32)
    slope, wanted = (tf.gradients(tf.reduce_sum(o * o), cell.trainable_variables)[0] for o in (outputs.rnn_output, expected))
    assert outputs.rnn_output.shape.as_list() == [3, 5, 6]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run([outputs.rnn_output, state, lengths, slope, expected, last, wanted])
    for a, b in zip(found[:4], [*found[4:6], LENGTHS, found[6]], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("kind", [seq2seq.BahdanauAttention, seq2seq.LuongAttention])
def test_one_step_of_attention(kind):
    memory = RNG.standard_normal((3, 4, 2)).astype("f4")
    mechanism = kind(6, tf.constant(memory), memory_sequence_length=[4, 2, 3])
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(6), mechanism, attention_layer_size=5)
    out, state = cell(tf.constant(RNG.standard_normal((3, 2)).astype("f4")), cell.zero_state(3, tf.float32))
    by_name = {v.name.split(":")[0]: v for v in tf.global_variables()}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, new, w = session.run([out, state, by_name])
    mask = np.arange(4) < np.array([[4], [2], [3]])
    keys = (memory * mask[..., None]) @ w["memory_layer/kernel"]
    if kind is seq2seq.LuongAttention:
        score = np.einsum("bu,btu->bt", new.cell_state, keys)
    else:
        query = new.cell_state @ w["attention_wrapper/bahdanau_attention/query_layer/kernel"]
        score = np.tanh(keys + query[:, None]) @ w["attention_wrapper/bahdanau_attention/attention_v"]
    aligned = softmax(np.where(mask, score, -np.inf))
    context = np.einsum("bt,btd->bd", aligned, memory)
    attention = np.concatenate([new.cell_state, context], 1) @ w["attention_wrapper/attention_layer/kernel"]
    np.testing.assert_allclose(new.alignments, aligned, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got, attention, rtol=1e-5, atol=1e-6)


def test_a_translator_trains_and_decodes_greedily():
    """A copy task with attention: the loss falls, and greedy decoding ends at the end token."""
    with tf.variable_scope("model"):
        table = tf.get_variable("table", [7, 6])
        encoded, state = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(8), tf.nn.embedding_lookup(table, IDS), LENGTHS, dtype=tf.float32
        )
        mechanism = seq2seq.BahdanauAttention(8, encoded, LENGTHS)
        cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(8), mechanism, attention_layer_size=8)
        start = cell.zero_state(3, tf.float32).clone(cell_state=state)
        head = tf.layers.Dense(7, use_bias=False)
        train = seq2seq.BasicDecoder(cell, seq2seq.TrainingHelper(tf.nn.embedding_lookup(table, IDS), LENGTHS), start, head)
        outputs, _, _ = seq2seq.dynamic_decode(train)
        greedy = seq2seq.GreedyEmbeddingHelper(table, tf.fill([3], 1), 2)
        guessed, _, lengths = seq2seq.dynamic_decode(
            seq2seq.BasicDecoder(cell, greedy, start, head), maximum_iterations=6, scope="decoder_1"
        )
    weights = tf.sequence_mask(LENGTHS, 5, dtype=tf.float32)
    loss = seq2seq.sequence_loss(outputs.rnn_output, tf.constant(IDS), weights)
    step = tf.train.AdamOptimizer(0.03).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step])[0] for _ in range(12)]
        ids, ends = session.run([guessed.sample_id, lengths])
    assert losses[-1] < 0.8 * losses[0]
    assert ids.shape == (3, 6)
    for row, end in zip(ids, ends, strict=True):
        assert (row[: end - 1] != 2).all()
        assert end == 6 or row[end - 1] == 2


def test_losses_of_lists_are_those_of_sequences():
    logits = tf.constant(RNG.standard_normal((3, 5, 7)).astype("f4"))
    weights = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]], "f4")
    whole = seq2seq.sequence_loss(logits, tf.constant(IDS), tf.constant(weights))
    listed = tf.contrib.legacy_seq2seq.sequence_loss_by_example(
        tf.unstack(logits, axis=1), tf.unstack(tf.constant(IDS), axis=1), [tf.constant(w) for w in weights.T]
    )
    with tf.Session() as session:
        total, rows = session.run([whole, listed])
    np.testing.assert_allclose(total, (rows * weights.sum(1)).sum() / weights.sum(), rtol=1e-5)


def test_sparse_placeholders_are_fed_triples():
    x = tf.sparse_placeholder(tf.float32, [None, 4], name="x")
    dense = tf.sparse_tensor_to_dense(x)
    value = tf.SparseTensorValue(np.array([[0, 1], [1, 3]]), np.array([2.0, 3.0], "f4"), np.array([2, 4]))
    with tf.Session() as session:
        got, again = session.run([dense, x], {x: value})
        np.testing.assert_array_equal(got, [[0, 2, 0, 0], [0, 0, 0, 3]])
        assert isinstance(again, tf.SparseTensorValue)
        np.testing.assert_array_equal(again.values, value.values)
        larger = session.run(dense, {x: (np.array([[2, 0]]), np.array([1.0], "f4"), np.array([3, 4]))})
        assert larger.shape == (3, 4)


def test_beam_search_finds_what_a_search_of_all_sequences_finds():
    """As many beams as there are sequences: the best ones, ended by 0, in order."""
    random = np.random.RandomState(0)
    table, recurrent, out = (random.randn(*shape).astype("f4") for shape in ((5, 3), (6, 3), (3, 5)))
    starts = random.randn(2, 3).astype("f4")

    def cell(x, h):
        y = tf.tanh(tf.matmul(tf.concat([x, h], 1), recurrent))
        return y, y

    def probability(state, sequence):
        token, total = 1, 0.0
        for word in sequence:
            state = np.tanh(np.concatenate([table[token], state]) @ recurrent)
            logits = state @ out
            total += logits[word] - np.log(np.exp(logits).sum())
            token = word
        return total

    rows = tf.placeholder(tf.float32, [None, 3])
    decoder = seq2seq.BeamSearchDecoder(
        cell, tf.constant(table), tf.fill([tf.shape(rows)[0]], 1), 0, seq2seq.tile_batch(rows, 16), 16,
        output_layer=lambda x: tf.matmul(x, tf.constant(out)),
    )  # fmt: skip
    decoded, last, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=3, output_time_major=True)
    with tf.Session() as session:
        ids, scores, lengths = session.run([decoded.predicted_ids, last.log_probs, last.lengths], {rows: starts})
    every = {s[: s.index(0) + 1] if 0 in s else s for s in itertools.product(range(5), repeat=3)}
    for b, state in enumerate(starts):
        best = sorted(every, key=lambda s, state=state: -probability(state, s))[:3]
        for k, sequence in enumerate(best):
            assert tuple(ids[: len(sequence), b, k]) == sequence
            assert not ids[len(sequence) :, b, k].any()
            assert lengths[b, k] == len(sequence)
            assert scores[b, k] == pytest.approx(probability(state, sequence), rel=1e-4)


def test_sparse_placeholders_of_any_rank():
    x = tf.sparse_placeholder(tf.float32)
    fetches = [tf.sparse_tensor_to_dense(x), tf.sparse_reduce_sum(x, 1), tf.sparse_reshape(x, [4, 3]).indices]
    with pytest.raises(ValueError, match="the number of axes is needed here"):
        tf.sparse_transpose(x)
    with tf.Session() as session:
        dense, sums, places = session.run(fetches, {x: tf.SparseTensorValue([[0, 1], [2, 3]], np.array([1, 2], "f4"), [3, 4])})
    np.testing.assert_array_equal(dense, [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 2]])
    np.testing.assert_array_equal(sums, [1, 0, 2])
    np.testing.assert_array_equal(places, [[0, 1], [3, 2]])


def test_a_case_without_a_default():
    n = tf.placeholder(tf.int32, [])
    chosen = tf.case([(n < 1, lambda: tf.constant(1.0)), (n < 2, lambda: tf.constant(2.0))])
    with tf.Session() as session:
        assert [session.run(chosen, {n: k}) for k in (0, 1)] == [1, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="None of conditions"):
            session.run(chosen, {n: 5})
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder"):
            session.run(chosen)
