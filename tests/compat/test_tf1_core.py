"""The core of TensorFlow 1's dialect: names in scopes, calls of Python in a run, checks, sparse gradients, parts of runs, meta
graphs; judged by TensorFlow where it is installed."""

from __future__ import annotations

import io
import os
import warnings
from collections import namedtuple

import numpy as np
import pytest

import staticgrad.compat.tf1 as sgtf
from tests.compat.tf1_programs import PROGRAMS
from tests.compat.tf1_scopes import NAMES, names
from tests.helpers import tensorflow1


def test_names_in_nested_scopes():
    assert names(sgtf) == NAMES


@pytest.mark.oracle
def test_names_in_nested_scopes_are_tensorflows():
    tf = tensorflow1()
    assert names(tf) == NAMES


SUMS = {
    "deep_q": 3.014942,
    "towers": 1.2,
    "batch_norm": 44.02787,
    "environment": 25.545,
    "averaged_evaluation": 0.9934703,
    "assignments_in_branches": 87,
    "assignments_in_loops": 273,
    "growing_arrays": 207.9396,
    "python_in_bodies": 91,
    "unknown_ranks": 777.8,
    "input_pipeline": 128.9525,
    "rows_of_tables": 146.4635,
    "own_gradients": 29.3091,
    "feedable_iterators": 72,
}
"""Of the absolute values of all numbers that TensorFlow gives."""


def outcome(tf, name):
    with tf.Graph().as_default():
        return [x if isinstance(x, str) else np.asarray(x, "f8") for x in PROGRAMS[name](tf)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    total = sum(np.abs(x).sum() for x in outcome(sgtf, name) if not isinstance(x, str))
    assert total == pytest.approx(SUMS[name], rel=2e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_tensorflows(name):
    tf = tensorflow1()
    ours, theirs = outcome(sgtf, name), outcome(tf, name)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(b, str):
            assert a == b
        else:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


X = [1.0, 2.0, -3.0, 4.0]
CHECKS = {
    "Assert": (lambda tf, x: tf.Assert(tf.reduce_all(x > 0), [x, "text"]), "assertion failed: [1 2 -3...] [text]"),
    "equal": (
        lambda tf, x: tf.assert_equal(x, tf.constant(1.0, name="one"), message="hello"),
        "assertion failed: [hello] [Condition x == y did not hold element-wise:] [x (x:0) = ] [1 2 -3...] [y (one:0) = ] [1]",
    ),
    "less": (lambda tf, x: tf.assert_less(x, 4.0, data=[x]), "assertion failed: [1 2 -3...]"),
    "positive": (lambda tf, x: tf.assert_positive(x), "assertion failed: [] [Condition x > 0 did not hold element-wise:]"),
    "rank": (lambda tf, x: tf.assert_rank(x, 2), "must have rank 2.  Received rank 1, shape (4,)"),
    "rank in": (lambda tf, x: tf.assert_rank_in(x, [2, 3]), "must have rank in (2, 3).  Received rank 1, shape (4,)"),
    "scalar": (lambda tf, x: tf.assert_scalar(x), "Expected scalar shape for x:0, saw shape: (4,)."),
    "type": (lambda tf, x: tf.assert_type(x, tf.int32), "x:0 must be of type tf.int32; got tf.float32"),
    "iterable": (lambda tf, x: tf.assert_proper_iterable(3), 'Expected argument "values" to be iterable.'),
    "constants": (lambda tf, x: tf.assert_equal(1.0, 2.0, message="no"), "Condition x == y did not hold element-wise:"),
    "infinite": (lambda tf, x: tf.check_numerics(x / 0.0, "bad"), "bad : Tensor had Inf values"),
    "not a number": (lambda tf, x: tf.verify_tensor_all_finite(tf.log(x), "log"), "log : Tensor had NaN values"),
    "all": (lambda tf, x: [tf.log(x, name="log"), tf.add_check_numerics_ops()][1], "log:0 : Tensor had NaN values"),
    "other dtype": (
        lambda tf, x: tf.py_func(lambda a: a.astype("f8"), [x], tf.float32),
        " is double, but expects float",
    ),
    "count": (lambda tf, x: tf.py_func(lambda a: (a, a), [x], tf.float32), " returns 2 values, but expects to see 1 values."),
    "exception": (lambda tf, x: tf.py_func(lambda a: int("q"), [x], tf.float32), "ValueError: invalid literal for int()"),
    "unknown": (lambda tf, x: tf.py_func(lambda a: 1 // 0, [x], tf.float32), "ZeroDivisionError: "),
}
"""By name: (an operation that fails, words of its error)."""


def failure(tf, name):
    """The class and the text of an error."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4], name="x")
        try:
            session.run(CHECKS[name][0](tf, x), {x: X})
        except Exception as error:
            return type(error).__name__, str(error)


@pytest.mark.parametrize("name", CHECKS)
def test_errors(name):
    assert CHECKS[name][1] in failure(sgtf, name)[1]


@pytest.mark.oracle
@pytest.mark.parametrize("name", CHECKS)
def test_errors_are_tensorflows(name):
    tf = tensorflow1()
    kind, text = failure(tf, name)
    assert CHECKS[name][1] in text
    assert failure(sgtf, name)[0] == kind


def test_errors_of_the_program_have_codes():
    error = sgtf.errors.OutOfRangeError(None, None, "the end")
    assert (error.message, error.error_code, error.op) == ("the end", sgtf.errors.OUT_OF_RANGE, None)
    assert sgtf.errors.exception_type_from_error_code(5) is sgtf.errors.NotFoundError
    assert sgtf.errors.error_code_from_exception_type(sgtf.errors.AbortedError) == sgtf.errors.ABORTED


def printing(tf, stream):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.arange(40, dtype="f4").reshape(8, 5) / 3)
        session.run(tf.print("x", x, {"k": tf.constant([1.5])}, output_stream=f"file://{stream}", sep="|", end="!\n"))
    with open(stream, encoding="utf-8") as file:
        return file.read()


PRINTED = """x|[[0 0.333333343 0.666666687 1 1.33333337]
 [1.66666663 2 2.33333325 2.66666675 3]
 [3.33333325 3.66666675 4 4.33333349 4.66666651]
 ...
 [8.33333302 8.66666698 9 9.33333302 9.66666698]
 [10 10.333333 10.666667 11 11.333333]
 [11.666667 12 12.333333 12.666667 13]]|{'k': [1.5]}!
"""


def test_printing(tmp_path):
    assert printing(sgtf, tmp_path / "out") == PRINTED


@pytest.mark.oracle
def test_printing_is_tensorflows(tmp_path):
    tf = tensorflow1()
    assert printing(tf, tmp_path / "out") == PRINTED


def test_prints_and_checks_in_bodies(capfd):
    tf = sgtf
    x, n = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [])

    def body(i, v):
        v = tf.Print(v * 2.0, [i, v], "at ")
        with tf.control_dependencies([tf.Assert(tf.reduce_all(v < 9.0), [v])]):
            return i + 1, tf.identity(v)

    _, v = tf.while_loop(lambda i, v: i < n, body, [0, x])
    (g,) = tf.gradients(v, x)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run([v, g], {x: [1.0, 2.0], n: 2}), [[4, 8], [4, 4]])
        assert capfd.readouterr().err == "at [0][1 2]\nat [1][2 4]\n"
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[8 16\]"):
            session.run(v, {x: [1.0, 2.0], n: 3})


def test_a_run_with_calls_is_one_run():
    """What is drawn, taken from a data set or assigned before a call of Python is the same after it."""
    tf = sgtf
    noise, total = tf.random_normal([3]), tf.Variable(0.0)
    element = tf.data.Dataset.range(5).make_one_shot_iterator().get_next()
    with tf.control_dependencies([total.assign_add(1.0)]):
        seen, taken, kept = tf.py_func(lambda a, b, c: (a, b, c), [noise, element, total.read_value()],
                                       [tf.float32, tf.int64, tf.float32])  # fmt: skip
    after, last = tf.Print(noise, [noise], first_n=0), total.assign_add(0.0)
    with tf.Session() as session:
        session.run(total.initializer)
        for k in range(3):
            a, b, c, d, e, f, g = session.run([noise, seen, element, taken, kept, after, last])
            assert (a == b).all()
            assert (a == f).all()
            assert (c, d, e, g) == (k, k, k + 1, k + 1)
        assert seen.eval().shape == (3,)


def test_custom_gradients_say_what_is_wrong():
    tf = sgtf
    w = tf.Variable(1.0, name="w")
    uses = tf.custom_gradient(lambda x: (x * w, lambda dy: dy))
    with pytest.raises(TypeError, match="'variables' keyword argument"):
        uses(tf.constant(1.0))
    x = tf.constant(1.0)
    y = tf.custom_gradient(lambda a: (a * 2.0, lambda dy: (dy, dy)))(x)
    with pytest.raises(ValueError, match="expected to return 1 gradients, but returned 2 instead"):
        tf.gradients(y, x)
    override = tf.get_default_graph().gradient_override_map({"Identity": "nobody registered this"})
    with override, pytest.raises(LookupError, match="gradient registry has no entry for"):
        tf.identity(x)
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'nonsense'"):
        tf.gradients(y, x, unconnected_gradients="nonsense")


def test_queues():
    tf = sgtf
    queue = tf.PaddingFIFOQueue(10, tf.int32, [[None]])
    rows = tf.placeholder(tf.int32, [None])
    add, take, size, close = queue.enqueue([rows]), queue.dequeue_many(2), queue.size(), queue.close()
    mixed = tf.RandomShuffleQueue(10, 0, [tf.int64], [[]], seed=1)
    fill, order = mixed.enqueue_many([np.arange(6)]), mixed.dequeue_up_to(6)
    first = tf.PriorityQueue(10, tf.float32, [[]])
    put, best = first.enqueue_many([np.array([3, 1, 2]), np.array([3.0, 1.0, 2.0], "f4")]), first.dequeue()
    with tf.Session() as session, tf.Session() as other:
        for row in ([1], [2, 3], [4]):
            session.run(add, {rows: row})
        assert (session.run(size), other.run(size)) == (3, 0)
        np.testing.assert_array_equal(session.run(take), [[1, 0], [2, 3]])
        session.run(close)
        with pytest.raises(tf.errors.OutOfRangeError, match=r"insufficient elements \(requested 2, current size 1\)"):
            session.run(take)
        with pytest.raises(tf.errors.CancelledError, match="is closed"):
            session.run(add, {rows: [1]})
        session.run([fill, put])
        assert sorted(session.run(order)) == list(range(6))
        assert session.run(best)[0] == 1


def test_a_run_in_parts():
    tf = sgtf
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    first = a + tf.random_uniform([])
    second = first * b
    with tf.Session() as session:
        handle = session.partial_run_setup([first, second], [a, b])
        value = session.partial_run(handle, first, {a: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="has already been fed"):
            session.partial_run(handle, second, {a: 1.0})
        assert session.partial_run(handle, second, {b: 2.0}) == pytest.approx(2 * value)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup'"):
            session.partial_run(handle, second, {b: 2.0})
        assert session.list_devices()[0].device_type == "CPU"


def test_a_graph_that_grows_between_runs_is_told_once():
    tf = sgtf
    x = tf.placeholder(tf.float32, [])
    with tf.Session() as session:

        def run():
            for _ in range(3):
                session.run(x + 1.0, {x: 1.0})

        with pytest.warns(UserWarning, match=r"the graph grows between runs: 'add_.' was made again at test_tf1_core.py"):
            run()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):
                session.run(x.op, {x: 1.0})
                session.run(x - 1.0, {x: 1.0})


def test_variables_without_values():
    tf = sgtf
    a, b = tf.Variable(1.0, name="a"), tf.Variable([2.0], name="b")
    report, has = tf.report_uninitialized_variables(), tf.is_variable_initialized(a)
    with tf.Session() as session:
        assert (session.run(report).tolist(), session.run(has)) == ([b"a", b"b"], False)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value a"):
            session.run(tf.assert_variables_initialized())
        session.run(a.initializer)
        assert (session.run(report).tolist(), session.run(has)) == ([b"b"], True)
        session.run(b.initializer)
        assert len(session.run(report)) == 0


def test_run_metadata_holds_the_profile(monkeypatch):
    monkeypatch.undo()  # of the fixture that has NumPy run plans: a profile times kernels
    tf = sgtf
    w = tf.Variable([1.0, 2.0])
    step = tf.assign_add(w, [1.0, 1.0])
    with tf.Session() as session:
        session.run(w.initializer)
        metadata = tf.RunMetadata()
        session.run(step, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        assert metadata.profile is not None


def test_meta_graphs_and_readers(tmp_path):
    tf = sgtf
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("net/w", initializer=np.array([[1.0], [2.0]], "f4"))
        y = tf.matmul(x, w, name="y")
        halves = tf.split(w, 2, name="halves")
        tf.add_to_collection("fetch", y)
        train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(y), name="train")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train, {x: [[1.0, 1.0]]})
            path = tf.train.Saver().save(session, str(tmp_path / "m"), 3)
            expected = session.run([y, halves[1]], {x: [[3.0, 4.0]]})
    with tf.Graph().as_default() as graph, tf.Session() as session:
        saver = tf.train.import_meta_graph(f"{path}.meta")
        saver.restore(session, path)
        fetches = [tf.get_collection("fetch")[0], graph.get_tensor_by_name("halves:1")]
        found = session.run(fetches, {"x:0": [[3.0, 4.0]]})
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        before = session.run("net/w:0")
        session.run("train", {"x:0": [[1.0, 1.0]]})
        assert (session.run("net/w:0") < before).all()
        assert [v.name for v in tf.trainable_variables()] == ["net/w:0"]
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run("net/w:0"), [[1], [2]])
    assert ("net/w", [2, 1]) in tf.train.list_variables(str(tmp_path))
    reader = tf.train.NewCheckpointReader(path)
    assert reader.has_tensor("net/w")
    np.testing.assert_array_equal(reader.get_tensor("net/w"), tf.train.load_variable(path, "net/w:0"))
    with pytest.raises(tf.errors.NotFoundError, match="Key other not found in checkpoint"):
        reader.get_tensor("other")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("my/w", [2, 1])
        tf.train.init_from_checkpoint(str(tmp_path), {"net/": "my/"})
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(v), reader.get_tensor("net/w"))
        with pytest.raises(ValueError, match="is not found in"):
            tf.train.init_from_checkpoint(path, {"other": v})
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "nothing.meta"))


def test_graph_definitions():
    tf = sgtf
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        tf.identity(x * 2.0, name="y")
    text = graph.as_graph_def().SerializeToString()
    with tf.Graph().as_default(), tf.Session() as session:
        definition = tf.GraphDef.FromString(text)
        assert [(n.name, n.op, n.input) for n in definition.node][0] == ("x", "Placeholder", [])
        for name in ("import/y:0", "other/y:0"):
            (y,) = tf.import_graph_def(
                definition, {"x:0": tf.constant([1.0, 2.0])}, ["y:0"], name=None if name.startswith("import") else "other"
            )
            assert y.name == name
            np.testing.assert_array_equal(session.run(y), [2, 4])
        with pytest.raises(ValueError, match="not found in graph_def"):
            tf.import_graph_def(definition, return_elements=["nothing:0"])


@pytest.mark.oracle
def test_a_checkpoint_of_tensorflows_is_read(tmp_path):
    tf = tensorflow1()
    value = np.arange(6, dtype="f4").reshape(2, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("scope/w", initializer=value)
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"), 7)
    with sgtf.Graph().as_default(), sgtf.Session() as session:
        w = sgtf.get_variable("scope/w", [2, 3])
        assert sgtf.train.latest_checkpoint(str(tmp_path)) == path
        sgtf.train.Saver().restore(session, path)
        np.testing.assert_array_equal(session.run(w), value)
    assert sgtf.train.list_variables(path) == [("scope/w", [2, 3])]


class TestCases(sgtf.test.TestCase):
    """A user's test case."""

    def test_evaluation(self):
        tf = sgtf
        with self.session() as session:
            self.assertAllClose(session.run(tf.constant([1.0, 2.0])), [1, 2])
            self.assertAllEqual(self.evaluate(tf.constant(3)), 3)
        with self.cached_session():
            assert tf.constant(2).eval() == 2
            x = tf.constant([1.0, 2.0])
            assert tf.test.compute_gradient_error(x, [2], x**3, [2], delta=1e-2) < 1e-2
        with pytest.raises(AssertionError):
            self.assertAllClose({"a": [1.0]}, {"a": [2.0]})


def test_files(tmp_path):
    gfile, errors = sgtf.gfile, sgtf.errors
    folder, path = str(tmp_path / "a" / "b"), str(tmp_path / "a" / "b" / "f")
    gfile.MakeDirs(folder)
    with gfile.GFile(path, "w") as file:
        file.write("one\ntwo")
    assert list(gfile.GFile(path)) == ["one\n", "two"]
    gfile.Copy(path, path + "2")
    with pytest.raises(errors.AlreadyExistsError):
        gfile.Copy(path, path + "2")
    assert gfile.Glob(folder + "/*") == [path, path + "2"]
    assert (gfile.Stat(path).length, gfile.IsDirectory(folder), sorted(gfile.ListDirectory(folder))) == (7, True, ["f", "f2"])
    with pytest.raises(errors.NotFoundError):
        gfile.GFile(path + "3").read()
    gfile.DeleteRecursively(folder)
    assert not gfile.Exists(folder)


def test_log_entries(caplog):
    for _ in range(4):
        sgtf.logging.log_first_n(sgtf.logging.ERROR, "first %d", 2, 1)
        sgtf.logging.log_every_n(sgtf.logging.ERROR, "every", 2)
    assert [r.getMessage() for r in caplog.records].count("first 1") == 2
    assert [r.getMessage() for r in caplog.records].count("every") == 2


def test_print_streams():
    stream = io.StringIO()
    with sgtf.Session() as session:
        session.run(sgtf.print("a", sgtf.constant([1, 2]), output_stream=stream))
    assert stream.getvalue() == f"a [1 2]{os.linesep}"


def _unlike(tf):
    """Branches of other shapes by what is fed, and by what is computed: static shapes, values, gradients of two orders."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, p = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.bool, [])
        v = tf.Variable(2.0)
        ranks = tf.cond(p, lambda: x, lambda: tf.reshape(tf.concat([x, x], 0), [2, 3]))
        lengths = tf.cond(tf.reduce_sum(x) > v, lambda: x * v, lambda: tf.concat([x, x], 0))
        nest = tf.cond(p, lambda: (x, tf.zeros([2])), lambda: (x * 2, tf.zeros([5])))
        slopes = tf.gradients(tf.reduce_sum(tf.square(lengths)), [x, v])
        (slope,) = tf.gradients(tf.reduce_sum(ranks**3), x)
        (curvature,) = tf.gradients(slope, x)
        session.run(tf.global_variables_initializer())
        feeds = [{x: value, p: truth} for truth in (True, False) for value in ([1, 1, 1], [0, 0, 1])]
        found = [session.run([ranks, lengths, *nest, *slopes, slope, curvature], feed) for feed in feeds]
        return [ranks.shape.ndims, lengths.shape.as_list()], [[np.asarray(t).tolist() for t in one] for one in found]


def test_branches_of_other_shapes():
    shapes, found = _unlike(sgtf)
    assert shapes == [None, [None]]
    assert found[0][:4] == [[1, 1, 1], [2, 2, 2], [1, 1, 1], [0, 0]]
    assert found[3][:4] == [[[0, 0, 1]] * 2, [0, 0, 1, 0, 0, 1], [0, 0, 2], [0] * 5]


@pytest.mark.oracle
def test_branches_of_other_shapes_are_tensorflows():
    assert _unlike(sgtf) == _unlike(tensorflow1())


def _fed(tf):
    """Floating numbers in the place of integers, numbers in that of booleans, and keys that are nests of tensors."""
    with tf.Graph().as_default(), tf.Session() as session:
        n, p = tf.placeholder(tf.int32, [2]), tf.placeholder(tf.bool, [2])
        state = tf.nn.rnn_cell.LSTMStateTuple(tf.zeros([2]), tf.placeholder(tf.float32, [2])) if tf is sgtf else None
        found = [session.run([n + 1, tf.logical_not(p)], {n: np.array([1.0, 2.0]), p: np.array([0, 1])})]
        if state is not None:
            total = state.c + state.h
            assert session.run(total, {state: (np.ones(2), np.full(2, 2.0))}).tolist() == [3, 3]
            with pytest.raises(ValueError, match="2 parts is fed a value of 1"):
                session.run(total, {state: (np.ones(2),)})
        return [x.tolist() for x in found[0]]


def test_feeds_by_value():
    assert _fed(sgtf) == [[2, 3], [True, False]]
    n = sgtf.placeholder(sgtf.int32, [])
    with sgtf.Session() as session, pytest.raises(ValueError, match="can't become int32 without loss"):
        session.run(n, {n: 1.5})


@pytest.mark.oracle
def test_feeds_are_tensorflows():
    assert _fed(sgtf) == _fed(tensorflow1())


def test_paths_of_modules():
    from staticgrad.compat.tf1.python.framework import ops
    from staticgrad.compat.tf1.python.ops import rnn, rnn_cell

    assert ops.get_default_graph() is sgtf.get_default_graph()
    assert (rnn.dynamic_rnn, rnn_cell.LSTMCell) == (sgtf.nn.dynamic_rnn, sgtf.nn.rnn_cell.LSTMCell)
    with pytest.raises(AttributeError, match="import it from the dialect's public modules"):
        ops.nothing  # noqa: B018


def _nests(tf):
    Pair = namedtuple("Pair", "x y")
    nest = {"b": [1, Pair(2, (3, 4))], "a": 5}
    errors = []
    for one, other in (([1], [1, 2]), ([1], (1,)), ({"a": 1}, {"b": 1})):
        try:
            tf.nest.assert_same_structure(one, other)
        except (ValueError, TypeError) as error:
            errors.append((type(error), str(error)[:55]))
    mapped = tf.nest.map_structure(lambda x, y: x * y, nest, tf.nest.pack_sequence_as(nest, range(5)))
    return tf.nest.flatten(nest), list(mapped), str(mapped), tf.nest.is_nested((1,)), tf.nest.is_nested("a"), errors


def test_nests():
    flat, keys, _, *nested, errors = _nests(sgtf)
    assert (flat, keys, nested, len(errors)) == ([5, 1, 2, 3, 4], ["b", "a"], [True, False], 3)
    with pytest.raises(ValueError, match="Structure had 1 atoms"):
        sgtf.nest.pack_sequence_as([1], [1, 2])


@pytest.mark.oracle
def test_nests_are_tensorflows():
    assert _nests(sgtf) == _nests(tensorflow1())


def test_initializers_have_tensorflows_names():
    assert sgtf.Variable(1.0, name="v").initializer.name == "v/Assign"
