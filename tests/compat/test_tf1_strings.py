"""Tensors of strings: values, static errors, bodies of loops and branches, data sets. Values are TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad.compat.tf1 as tf


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches, feed)


def words(*items):
    return np.array([item.encode() for item in items], object)


def loop():
    return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.string_join([s, "x"])), [0, tf.constant("")])[1]


def element():
    data = tf.data.Dataset.from_tensor_slices(["a", "b"]).map(lambda x: tf.string_join([x, "!"]))
    return tf.data.make_one_shot_iterator(data).get_next()


CASES = {
    "constant": (lambda: tf.constant("abc"), b"abc"),
    "list": (lambda: tf.constant(["a", "bc"]), words("a", "bc")),
    "bytes with zeros": (lambda: tf.constant([b"a\0", b"\0"]), np.array([b"a\0", b"\0"], object)),
    "shape": (lambda: tf.shape(tf.constant(["a", "b"])), np.array([2], "i4")),
    "join": (lambda: tf.string_join(["a", tf.constant(["b", "c"]), "d"], separator="-"), words("a-b-d", "a-c-d")),
    "sum": (lambda: tf.constant(["a"]) + "b", words("ab")),
    "integers": (lambda: tf.as_string([1, -20]), words("1", "-20")),
    "floats": (lambda: tf.as_string([1.5, 1e10]), words("1.500000", "10000000000.000000")),
    "booleans": (lambda: tf.as_string([True, False]), words("true", "false")),
    "precision": (lambda: tf.as_string(1.23456, precision=2), b"1.23"),
    "width": (lambda: tf.as_string(7, width=4, fill="0"), b"0007"),
    "scientific": (lambda: tf.as_string(12345.678, scientific=True), b"1.234568e+04"),
    "shortest": (lambda: tf.as_string(1.5, shortest=True), b"1.5"),
    "equal": (lambda: tf.equal(tf.constant(["a", "b"]), "a"), np.array([True, False])),
    "gather": (lambda: tf.gather(["a", "b", "c"], [2, 0]), words("c", "a")),
    "subscript": (lambda: tf.constant(["a", "b", "c"])[1], b"b"),
    "concat": (lambda: tf.concat([["a"], tf.constant(["b"])], 0), words("a", "b")),
    "stack": (lambda: tf.stack(["a", "b"]), words("a", "b")),
    "reshape": (lambda: tf.reshape(tf.constant(["a", "b"]), [2, 1]), words("a", "b").reshape(2, 1)),
    "where": (lambda: tf.where([True, False], ["a", "b"], ["c", "d"]), words("a", "d")),
    "zeros": (lambda: tf.zeros([2], tf.string), words("", "")),
    "unique": (lambda: tf.unique(["a", "b", "a"])[0], words("a", "b")),
    "length": (lambda: tf.strings.length(["abc", ""]), np.array([3, 0], "i4")),
    "substr": (lambda: tf.substr(["abcd"], 1, 2), words("bc")),
    "number": (lambda: tf.string_to_number(["1.5", "2"]), np.array([1.5, 2.0], "f4")),
    "lower": (lambda: tf.strings.lower("ABc"), b"abc"),
    "strip": (lambda: tf.string_strip(" a "), b"a"),
    "regex": (lambda: tf.regex_replace("abc", "b", "X"), b"aXc"),
    "reduce": (lambda: tf.reduce_join([["a", "b"], ["c", "d"]], 1, separator="+"), words("a+b", "c+d")),
    "format": (lambda: tf.strings.format("x={} y={}", (tf.constant(1), tf.constant([1.5, 2.0]))), b"x=1 y=[1.5 2]"),
    "decode": (lambda: tf.decode_raw(tf.constant(b"\x01\x02"), tf.uint8), np.array([1, 2], "u1")),
    "variable": (lambda: tf.Variable("a").assign("b"), b"b"),
    "py_func": (lambda: tf.py_func(lambda x: x + b"!", [tf.constant("a")], tf.string), b"a!"),
    "cond": (lambda: tf.cond(tf.constant(1) > 2, lambda: tf.constant("a"), lambda: tf.constant("b")), b"b"),
    "while_loop": (loop, b"xxx"),
    "map_fn": (lambda: tf.map_fn(lambda x: tf.string_join([x, "!"]), tf.constant(["a", "b"])), words("a!", "b!")),
    "data set": (element, b"a!"),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_tensorflows(name):
    make, expected = CASES[name]
    found = run(make())
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tolist() == expected.tolist()
    else:
        assert found == expected


def test_placeholders_take_texts():
    one, many = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [None])
    assert (one.dtype, many.shape.as_list()) == (tf.string, [None])
    call = tf.string_join([one, many])
    assert run(call, {one: "a", many: ["b", b"c"]}).tolist() == [b"ab", b"ac"]
    with tf.Session() as session:
        assert session.make_callable(call, [one, many])("x", ["y"]).tolist() == [b"xy"]


def test_operations_on_numbers_refuse_them():
    with pytest.raises(TypeError, match="DataType string"):
        tf.exp(tf.constant("a"))
    with pytest.raises(TypeError, match="type string"):
        tf.equal(tf.constant(3, tf.int64), tf.constant("a"))
    with pytest.raises(TypeError, match="Expected float32, got 'a'"):
        tf.constant("a", tf.float32)
    with pytest.raises(TypeError, match="Expected string, got 1"):
        tf.constant(1, tf.string)
    with pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly convert string: q"):
        run(tf.string_to_number("q"))


def test_printed_and_asserted(capfd):
    assert run(tf.Print(tf.constant(1), [tf.constant("abc"), tf.constant(["x"]), "y"], "seen ")) == 1
    assert capfd.readouterr().err == "seen [abc][x][y]\n"
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[bad\] \[x\]"):
        run(tf.Assert(tf.constant(False), [tf.constant("bad"), "x"]))


def test_elements_in_batches():
    data = tf.data.Dataset.from_tensor_slices((["a", "b", "c"], [1, 2, 3])).batch(2)
    text, number = tf.data.make_one_shot_iterator(data).get_next()
    assert (text.dtype, number.dtype) == (tf.string, tf.int32)
    assert [x.tolist() for x in run([text, number])] == [[b"a", b"b"], [1, 2]]
