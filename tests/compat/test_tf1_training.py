"""TensorFlow's dialect around the training step: updates of parts of variables, arrays in loops, metrics, summaries, hooks."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import staticgrad.compat.tf1 as sgtf
from tests.helpers import tensorflow1

UPDATES = {
    "scatter_update": lambda tf, v: tf.scatter_update(v, [0, 2], [[1.0, 2.0], [3.0, 4.0]]),
    "scatter_add": lambda tf, v: tf.scatter_add(v, [0, 2, 0], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    "scatter_sub": lambda tf, v: tf.scatter_sub(v, [1], [[1.0, 2.0]]),
    "scatter_mul": lambda tf, v: tf.scatter_mul(v, [1, 1], [[1.0, 2.0], [3.0, 4.0]]),
    "scatter_div": lambda tf, v: tf.scatter_div(v, [2], [[2.0, 4.0]]),
    "scatter_max": lambda tf, v: tf.scatter_max(v, [0, 1], [[1.5, 0.0], [9.0, 9.0]]),
    "scatter_nd_add": lambda tf, v: tf.scatter_nd_add(v, [[0, 1], [2, 0]], [10.0, 20.0]),
    "scatter_nd_update": lambda tf, v: tf.scatter_nd_update(v, [[0, 1], [2, 0]], [10.0, 20.0]),
    "two updates": lambda tf, v: tf.group(tf.assign_add(v, v), tf.scatter_add(v, [0], [[1.0, 1.0]])),
}
METRICS = {
    "mean": lambda tf, y, p: tf.metrics.mean(p, weights=y),
    "accuracy": lambda tf, y, p: tf.metrics.accuracy(y, tf.round(p)),
    "mean_squared_error": lambda tf, y, p: tf.metrics.mean_squared_error(y, p),
    "root_mean_squared_error": lambda tf, y, p: tf.metrics.root_mean_squared_error(y, p),
    "precision": lambda tf, y, p: tf.metrics.precision(y, tf.round(p)),
    "recall": lambda tf, y, p: tf.metrics.recall(y, tf.round(p)),
    "auc": lambda tf, y, p: tf.metrics.auc(y, p),
    "auc PR": lambda tf, y, p: tf.metrics.auc(y, p, curve="PR", num_thresholds=50, summation_method="trapezoidal"),
    "false_positives": lambda tf, y, p: tf.metrics.false_positives(y, tf.round(p)),
    "mean_iou": lambda tf, y, p: tf.metrics.mean_iou(tf.cast(y, tf.int32), tf.cast(tf.round(p), tf.int32), 2),
}


def updated(tf, name):
    with tf.Graph().as_default():
        v = tf.Variable(np.arange(6, dtype="f4").reshape(3, 2))
        step = UPDATES[name](tf, v)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            return session.run(v)


def measured(tf, name):
    rng = np.random.default_rng(0)
    with tf.Graph().as_default():
        y, p = tf.placeholder("float", [None]), tf.placeholder("float", [None])
        value, update = METRICS[name](tf, y, p)
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            for n in (7, 5):
                last = session.run(update, {y: rng.integers(0, 2, n), p: rng.uniform(0, 1, n)})
            return [last, session.run(value)]


def test_updates_of_parts():
    base = np.arange(6, dtype="f4").reshape(3, 2)
    np.testing.assert_array_equal(updated(sgtf, "scatter_update"), [[1, 2], [2, 3], [3, 4]])
    np.testing.assert_array_equal(updated(sgtf, "scatter_add"), base + [[6, 8], [0, 0], [3, 4]])
    np.testing.assert_array_equal(updated(sgtf, "scatter_nd_update"), [[0, 10], [2, 3], [20, 5]])
    np.testing.assert_array_equal(updated(sgtf, "two updates"), [[1, 3], [4, 6], [8, 10]])


@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name in UPDATES if name != "two updates"])
def test_updates_are_tensorflows(name):
    tf = tensorflow1()
    np.testing.assert_allclose(updated(sgtf, name), updated(tf, name), rtol=1e-6)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_keeps_its_value(name):
    update, value = measured(sgtf, name)
    np.testing.assert_array_equal(np.float32(update) if name != "mean_iou" else value, value)
    assert np.isfinite(value)


@pytest.mark.oracle
@pytest.mark.parametrize("name", METRICS)
def test_metrics_are_tensorflows(name):
    tf = tensorflow1()
    np.testing.assert_allclose(measured(sgtf, name)[1], measured(tf, name)[1], rtol=1e-4)


def looped(tf):
    """Running sums, written to an array by a loop, and their gradient."""
    with tf.Graph().as_default():
        x = tf.placeholder("float", [5, 3])
        source = tf.TensorArray(tf.float32, size=5, element_shape=[3], clear_after_read=False).unstack(x)
        out = tf.TensorArray(tf.float32, size=5, element_shape=[3], clear_after_read=False)

        def body(i, total, out):
            total = total * 0.5 + source.read(i)
            return i + 1, total, out.write(i, total)

        _, _, out = tf.while_loop(lambda i, t, a: i < 5, body, [0, tf.zeros([3]), out])
        result = out.stack()
        (slope,) = tf.gradients(tf.reduce_sum(result**2), x)
        with tf.Session() as session:
            return session.run([result, slope, out.read(2), out.gather([0, 4])], {x: np.arange(15).reshape(5, 3)})


def test_arrays_in_a_loop():
    x = np.arange(15, dtype="f4").reshape(5, 3)
    expected, total = [], np.zeros(3, "f4")
    for row in x:
        total = total * 0.5 + row
        expected.append(total)
    result, slope, one, some = looped(sgtf)
    np.testing.assert_allclose(result, expected)
    np.testing.assert_allclose(one, expected[2])
    np.testing.assert_allclose(some, [expected[0], expected[4]])
    back, g = np.zeros((5, 3), "f4"), np.zeros(3, "f4")
    for i in reversed(range(5)):
        g = g * 0.5 + 2 * expected[i]
        back[i] = g
    np.testing.assert_allclose(slope, back)


def test_the_body_tells_the_shape_of_elements():
    out = sgtf.TensorArray(sgtf.float32, size=4)
    _, out = sgtf.while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, sgtf.fill([2], sgtf.to_float(i)))), (sgtf.constant(0), out)
    )
    with sgtf.Session() as session:
        np.testing.assert_array_equal(session.run(out.stack()), np.repeat(np.arange(4.0), 2).reshape(4, 2))
    with pytest.raises(ValueError, match="nothing was written"):
        sgtf.TensorArray(sgtf.float32, size=4).stack()


def elements_of_fed_rows(tf):
    """Arrays whose elements have as many rows as are fed, written in a loop and outside of one, and their gradients."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2])
        rows = tf.zeros([tf.shape(x)[0], 2])
        _, _, out = tf.while_loop(
            lambda i, t, a: i < 3, lambda i, t, a: (i + 1, t + x, a.write(i, t * x)), (0, rows, tf.TensorArray(tf.float32, 3))
        )
        stacked = out.stack()
        alone = tf.TensorArray(tf.float32, 2).write(1, x).write(0, 3 * x).stack()
        (slope,) = tf.gradients(tf.reduce_sum(stacked) + tf.reduce_sum(alone**2), x)
        with tf.Session() as session:
            return [session.run([stacked, alone, slope], {x: np.arange(2.0 * n).reshape(n, 2)}) for n in (1, 4)]


def test_elements_may_have_extents_that_are_fed():
    for n, (looped, alone, slope) in zip((1, 4), elements_of_fed_rows(sgtf), strict=True):
        x = np.arange(2.0 * n).reshape(n, 2)
        np.testing.assert_allclose(looped, [0 * x, x * x, 2 * x * x])
        np.testing.assert_allclose(alone, [3 * x, x])
        np.testing.assert_allclose(slope, 6 * x + 20 * x)


@pytest.mark.oracle
def test_arrays_are_tensorflows():
    tf = tensorflow1()
    for a, b in zip(looped(sgtf), looped(tf), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    for ours, theirs in zip(elements_of_fed_rows(sgtf), elements_of_fed_rows(tf), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_summaries_are_read_back_by_tensorboard(tmp_path):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    x = sgtf.placeholder("float", [None, 4], name="x")
    with sgtf.name_scope("layer"):
        loss = sgtf.reduce_mean(x, name="loss")
        sgtf.summary.scalar("cost", loss)
    sgtf.summary.histogram("values", x)
    sgtf.summary.image("picture", sgtf.reshape(x, [-1, 2, 2, 1]), max_outputs=1)
    sgtf.summary.text("note", "a note")
    merged = sgtf.summary.merge_all()
    with sgtf.Session() as session, sgtf.summary.FileWriter(str(tmp_path), session.graph) as writer:
        for step in range(3):
            value, summary = session.run([loss, merged], {x: np.full((2, 4), step)})
            assert value == step
            writer.add_summary(summary, step)
    found = reader.EventAccumulator(str(tmp_path))
    found.Reload()
    assert [(e.step, e.value) for e in found.Scalars("layer/cost")] == [(0, 0), (1, 1), (2, 2)]
    assert found.Histograms("values")[-1].histogram_value.num > 0
    assert found.Images("picture/image")[0].width == 2
    assert "note" in found.Tags()["tensors"]
    assert {"x", "layer/loss"} <= {node.name for node in found.Graph().node}


class Counting(sgtf.train.SessionRunHook):
    def __init__(self):
        self.calls = []

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("created")

    def before_run(self, run_context):
        self.calls.append("before")

    def after_run(self, run_context, run_values):
        self.calls.append("after")

    def end(self, session):
        self.calls.append("end")


def test_a_monitored_session_saves_restores_and_stops(tmp_path):
    def train(last):
        sgtf.reset_default_graph()
        step = sgtf.train.get_or_create_global_step()
        w = sgtf.Variable(4.0)
        move = sgtf.train.GradientDescentOptimizer(0.25).minimize(sgtf.square(w), global_step=step)
        counting = Counting()
        hooks = [sgtf.train.StopAtStepHook(last_step=last), counting]
        runs = 0
        with sgtf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path), hooks=hooks, save_checkpoint_steps=2, log_step_count_steps=None
        ) as session:
            while not session.should_stop():
                session.run(move)
                runs += 1
            value = session.run(w)
        assert counting.calls[:2] == ["begin", "created"]
        assert counting.calls[-1] == "end"
        return runs, value

    assert train(3) == (3, 0.5)
    assert train(5) == (2, 0.125)


def test_a_loss_that_is_no_number_stops_training():
    step = sgtf.train.get_or_create_global_step()
    loss = sgtf.log(sgtf.cast(step, "float") * 0.0 - 1.0)
    session = sgtf.train.MonitoredSession(hooks=[sgtf.train.NanTensorHook(loss)])
    with session, pytest.raises(sgtf.train.NanLossDuringTrainingError, match="NaN loss"):
        session.run(loss)


def test_a_coordinator_waits_and_reports():
    coordinator = sgtf.train.Coordinator()

    def work():
        with coordinator.stop_on_exception():
            raise ZeroDivisionError("in a thread")

    thread = threading.Thread(target=work)
    thread.start()
    assert coordinator.wait_for_stop(10)
    with pytest.raises(ZeroDivisionError, match="in a thread"):
        coordinator.join([thread])


def test_count_up_to():
    v = sgtf.Variable(0, name="v")
    step = sgtf.count_up_to(v, 2)
    with sgtf.Session() as session:
        session.run(sgtf.global_variables_initializer())
        assert [session.run(step), session.run(step)] == [0, 1]
        with pytest.raises(sgtf.errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(step)
        assert session.run(v) == 2


@pytest.mark.parametrize("loss", ["nce_loss", "sampled_softmax_loss"])
def test_sampled_losses_train(loss):
    """Word vectors of a chain of classes: each predicts the next, from a sample of the classes."""
    classes, width = 40, 8
    rng = np.random.default_rng(0)
    inputs, labels = sgtf.placeholder(sgtf.int32, [None]), sgtf.placeholder(sgtf.int64, [None, 1])
    table = sgtf.Variable(rng.uniform(-1, 1, (classes, width)).astype("f4"))
    weights, biases = sgtf.Variable(sgtf.zeros([classes, width])), sgtf.Variable(sgtf.zeros([classes]))
    embedded = sgtf.nn.embedding_lookup(table, inputs)
    cost = sgtf.reduce_mean(getattr(sgtf.nn, loss)(weights, biases, labels, embedded, 10, classes))
    step = sgtf.train.AdagradOptimizer(0.5).minimize(cost)
    logits = sgtf.matmul(embedded, weights, transpose_b=True) + biases
    with sgtf.Session() as session:
        session.run(sgtf.global_variables_initializer())
        for _ in range(300):
            x = rng.integers(0, classes, 64)
            session.run(step, {inputs: x, labels: ((x + 1) % classes)[:, None]})
        guess = session.run(logits, {inputs: np.arange(classes)}).argmax(1)
    assert (guess == (np.arange(classes) + 1) % classes).mean() > 0.9


OPTIMIZERS = {
    "Ftrl": lambda tf: tf.train.FtrlOptimizer(0.3, l1_regularization_strength=0.01, l2_regularization_strength=0.02),
    "Ftrl power": lambda tf: tf.train.FtrlOptimizer(0.3, learning_rate_power=-0.7, l2_shrinkage_regularization_strength=0.1),
    "ProximalGradientDescent": lambda tf: tf.train.ProximalGradientDescentOptimizer(0.1, 0.05, 0.1),
    "ProximalAdagrad": lambda tf: tf.train.ProximalAdagradOptimizer(0.2, 0.1, 0.05, 0.1),
    "AdagradDA": lambda tf: tf.train.AdagradDAOptimizer(
        0.3, tf.train.get_or_create_global_step(), l1_regularization_strength=0.01, l2_regularization_strength=0.02
    ),
}


def trained(tf, name):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((12, 3)).astype("f4"), rng.standard_normal((12, 1)).astype("f4")
    with tf.Graph().as_default():
        w = tf.Variable(np.array([[0.5], [-0.3], [0.0]], "f4"))
        optimizer = OPTIMIZERS[name](tf)
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.constant(x), w) - y))
        step = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(6):
                session.run(step)
            return session.run([w, loss])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_regularized_optimizers_descend(name):
    w, loss = trained(sgtf, name)
    assert np.isfinite(w).all()
    assert loss < 1.5


@pytest.mark.oracle
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_regularized_optimizers_are_tensorflows(name):
    tf = tensorflow1()
    for a, b in zip(trained(sgtf, name), trained(tf, name), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_session_of_its_own_with_listeners_and_fed_values(tmp_path):
    told = []

    class Listener(sgtf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            told.append(global_step_value)

    step, x = sgtf.train.get_or_create_global_step(), sgtf.placeholder(sgtf.float32, [])
    hooks = [
        sgtf.train.CheckpointSaverHook(str(tmp_path), save_steps=2, listeners=[Listener()]),
        sgtf.train.FeedFnHook(lambda: {x: 2.0}),
        sgtf.train.StopAtStepHook(3),
    ]
    fetch = [sgtf.assign_add(step, 1), x]
    with sgtf.train.SingularMonitoredSession(hooks) as session:
        while not session.should_stop():
            assert session.run(fetch)[1] == 2
    assert told == [0, 2, 3]


def test_batches_of_several_lists_and_of_chosen_elements():
    joined = sgtf.train.batch_join([[sgtf.constant(1), sgtf.constant(2.0)], [sgtf.constant(3), sgtf.constant(4.0)]], 4)
    chosen = sgtf.train.maybe_batch([sgtf.range(6)], sgtf.range(6) > 2, 3, enqueue_many=True)
    with sgtf.Session() as session:
        coordinator = sgtf.train.Coordinator()
        threads = sgtf.train.start_queue_runners(session, coordinator)
        (ids, values), rows = session.run([joined, chosen])
        coordinator.request_stop()
        coordinator.join(threads)
    assert sorted(ids) == [1, 1, 3, 3]
    np.testing.assert_array_equal(values, ids + 1)
    np.testing.assert_array_equal(rows, [3, 4, 5])


def test_layers_of_keras_take_texts():
    layers, x = sgtf.keras.layers, sgtf.placeholder(sgtf.float32, [None, 8, 8, 1])
    h = layers.Conv2D(4, 3, padding="same", activation="relu", kernel_initializer="he_normal")(x)
    h = layers.BatchNormalization()(layers.MaxPooling2D()(h), training=True)
    pooled, dense = layers.GlobalAveragePooling2D()(h), layers.Dense(3, "softmax")(layers.Flatten()(h))
    joined = layers.Concatenate()([pooled, dense])
    words = layers.Embedding(10, 4)(sgtf.constant([[1, 2]]))
    with sgtf.Session() as session:
        session.run(sgtf.global_variables_initializer())
        found = session.run([joined, dense, words, layers.Reshape((2, -1))(h)], {x: np.ones((2, 8, 8, 1))})
    assert [v.shape for v in found] == [(2, 7), (2, 3), (1, 2, 4), (2, 2, 32)]
    np.testing.assert_allclose(found[1].sum(1), 1, rtol=1e-6)
    assert [v.name for v in sgtf.trainable_variables()][:2] == ["conv2d/kernel:0", "conv2d/bias:0"]
    with pytest.raises(ValueError, match="Unknown activation"):
        layers.Dense(3, "rely")
