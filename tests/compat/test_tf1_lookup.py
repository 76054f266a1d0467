"""Tables of texts and integers, parts of texts, and hashes. Values are TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad.compat.tf1 as tf
from staticgrad.compat.tf1.strings import fingerprint

WORDS = ["emerson", "lake", "palmer"]


def run(*fetches, feed=None, initialize=True):
    with tf.Session() as session:
        if initialize:
            session.run([tf.tables_initializer(), tf.global_variables_initializer()])
        return session.run(list(fetches), feed)


def words(*items):
    return np.array([item.encode() for item in items], object)


def file_of(tmp_path, *lines):
    path = tmp_path / "vocabulary.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def test_places_of_texts_in_a_list():
    table = tf.contrib.lookup.index_table_from_tensor(WORDS, default_value=-1)
    ids = tf.placeholder(tf.string, [None, 2])
    found = table.lookup(ids)
    assert found.shape.as_list() == [None, 2]
    assert found.dtype is tf.int64
    values, count = run(found, table.size(), feed={ids: [["lake", "and"], ["emerson", "palmer"]]})
    np.testing.assert_array_equal(values, [[1, -1], [0, 2]])
    assert count == 3


def test_other_texts_go_to_buckets_by_their_fingerprints():
    table = tf.contrib.lookup.index_table_from_tensor(tf.constant(WORDS), num_oov_buckets=4)
    texts = [*WORDS, "a", "b", "tarkus"]
    found, count = run(table.lookup(tf.constant(texts)), table.size())
    np.testing.assert_array_equal(found, [0, 1, 2, *(3 + fingerprint(t.encode()) % 4 for t in texts[3:])])
    assert count == 7
    only = tf.lookup.StaticVocabularyTable(None, 10)
    np.testing.assert_array_equal(run(only.lookup(tf.constant(["a", "b"])))[0], [9, 2])


def test_texts_at_places_and_values_of_keys():
    back = tf.contrib.lookup.index_to_string_table_from_tensor(WORDS, default_value="UNK")
    np.testing.assert_array_equal(run(back.lookup(tf.constant([2, 0, 7], tf.int64)))[0], words("palmer", "emerson", "UNK"))
    entries = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1.5, 2.5], value_dtype=tf.float32)
    table = tf.lookup.StaticHashTable(entries, 0.25)
    np.testing.assert_array_equal(run(table.lookup(tf.constant(["b", "c"])))[0], np.array([2.5, 0.25], "f4"))
    whole = tf.lookup.KeyValueTensorInitializer([3, 4], [5, 6], tf.int64, tf.int64)
    np.testing.assert_array_equal(run(tf.lookup.StaticHashTable(whole, -1).lookup(tf.constant([4, 9], tf.int64)))[0], [6, -1])


def test_lines_of_files(tmp_path):
    path = file_of(tmp_path, *WORDS)
    table = tf.contrib.lookup.index_table_from_file(path, vocab_size=2)
    back = tf.contrib.lookup.index_to_string_table_from_file(path)
    ids, texts = run(table.lookup(tf.constant(WORDS)), back.lookup(tf.constant([0, 2], tf.int64)))
    np.testing.assert_array_equal(ids, [0, 1, -1])
    np.testing.assert_array_equal(texts, words("emerson", "palmer"))
    columns = tf.lookup.TextFileInitializer(file_of(tmp_path, "a,3", "b,5"), tf.string, 0, tf.int64, 1, delimiter=",")
    np.testing.assert_array_equal(run(tf.lookup.StaticHashTable(columns, -1).lookup(tf.constant(["b"])))[0], [5])
    few = tf.contrib.lookup.index_table_from_file(path, vocab_size=9)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid vocab_size"):
        run(few.lookup(tf.constant(WORDS)))


def test_tables_that_change():
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    insert = table.insert(tf.constant(["x", "y"]), tf.constant([5, 6], tf.int64))
    remove, found, count = table.remove(tf.constant(["x"])), table.lookup(tf.constant(["x", "y", "z"])), table.size()
    keys, values = table.export()
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(found), [-1, -1, -1])
        session.run(insert)
        np.testing.assert_array_equal(session.run(found), [5, 6, -1])
        session.run(remove)
        assert session.run(count) == 1
        np.testing.assert_array_equal(session.run(keys), words("y"))
        np.testing.assert_array_equal(session.run(values), [6])
    with tf.Session() as other:
        assert other.run(count) == 0  # a session has tables of its own


def test_errors():
    table = tf.contrib.lookup.index_table_from_tensor(WORDS)
    found = table.lookup(tf.constant(["lake"]))
    with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
        run(found, initialize=False)
    with pytest.raises(TypeError, match="Signature mismatch"):
        table.lookup(tf.constant([1, 2]))
    twice = tf.contrib.lookup.HashTable(tf.contrib.lookup.KeyValueTensorInitializer(["a", "a"], [1, 2]), -1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="different value for same key"):
        run(twice.lookup(tf.constant(["a"])))
    with pytest.raises(ValueError, match="oov_buckets must be > 0"):
        tf.lookup.StaticVocabularyTable(None, 0)
    with pytest.raises(NotImplementedError, match="vectors"):
        tf.contrib.lookup.MutableHashTable(tf.string, tf.float32, [0.0, 0.0])


def test_parts_of_texts():
    rows = tf.string_split(["hello world", "a b  c", ""])
    found, bytes_, cut = run(rows, tf.string_split(["ab", "c"], ""), tf.strings.split(["a--b--c"], "--", maxsplit=1))
    np.testing.assert_array_equal(found.indices, [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]])
    np.testing.assert_array_equal(found.values, words("hello", "world", "a", "b", "c"))
    np.testing.assert_array_equal(found.dense_shape, [3, 3])
    np.testing.assert_array_equal(bytes_.values, words("a", "b", "c"))
    np.testing.assert_array_equal(cut.values, words("a", "b--c"))
    kept = run(tf.string_split(["a||b c"], delimiter="| ", skip_empty=False))[0]
    np.testing.assert_array_equal(kept.values, words("a", "", "b", "c"))
    with pytest.raises(NotImplementedError, match="SparseTensor"):
        tf.strings.split(["a"], result_type="RaggedTensor")


def test_a_model_of_texts_is_trained():
    table = tf.contrib.lookup.index_table_from_tensor(WORDS, num_oov_buckets=1)
    text = tf.placeholder(tf.string, [None])
    ids = table.lookup(tf.string_split(text))
    rows = tf.get_variable("rows", [4, 2], initializer=tf.ones_initializer())
    seen = tf.nn.embedding_lookup_sparse(rows, ids, None, combiner="sum")
    step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(seen))
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        session.run(step, {text: ["emerson lake lake", "palmer and"]})
        np.testing.assert_allclose(session.run(rows), [[0.9, 0.9], [0.8, 0.8], [0.9, 0.9], [0.9, 0.9]], rtol=1e-6)


TEN = "abcdefghij"
FINGERPRINTS = {
    1: 12917804110809363939, 20: 16014814510007390469, 50: 5021922200276674999, 64: 8115176665984236569,
    65: 12090645907386023856, 128: 11127909914777135623, 200: 10143958508126119551,
}  # fmt: skip
"""By lengths of the text "abcdefghij...", of FarmHash."""


def test_hashes_have_the_bits_of_tensorflow_s():
    texts = tf.constant(["a", "b", "c", "d"])
    fast, strong, plain = run(
        tf.string_to_hash_bucket_fast(texts, 10),
        tf.string_to_hash_bucket_strong(texts[:3], 10, [98765, 132]),
        tf.string_to_hash_bucket(texts[:3], 10),
    )
    np.testing.assert_array_equal(fast, [9, 2, 2, 5])
    np.testing.assert_array_equal(strong, [4, 2, 8])
    np.testing.assert_array_equal(plain, [8, 0, 7])
    for n, expected in FINGERPRINTS.items():
        assert fingerprint((TEN * 20)[:n].encode()) == expected
    with pytest.raises(ValueError, match="must be at least minimum 1"):
        tf.strings.to_hash_bucket_fast(texts, 0)
