"""`tf.estimator` and `tf.train.Supervisor`: training in several parts, evaluation, predictions, and what is refused."""

from __future__ import annotations

import os

import numpy as np
import pytest

import staticgrad.compat.tf1 as tf

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(96, 4)).astype("f4")
CLASSES = (ROWS[:, 0] > 0).astype("i4")


def model(features, labels, mode, params):
    logits = tf.layers.dense(features["x"], 2)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"class": tf.argmax(logits, 1), "logits": logits})
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train = tf.train.AdamOptimizer(params["rate"]).minimize(loss, global_step=tf.train.get_global_step())
    accuracy = tf.metrics.accuracy(labels, tf.argmax(logits, 1))
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops={"accuracy": accuracy})


def rows(count=None, shuffle=False, **arrays):
    return tf.estimator.inputs.numpy_input_fn({"x": ROWS}, CLASSES, batch_size=32, num_epochs=count, shuffle=shuffle, **arrays)


def test_a_model_is_trained_in_parts_evaluated_and_asked(tmp_path):
    config = tf.estimator.RunConfig(tf_random_seed=1, log_step_count_steps=None)
    estimator = tf.estimator.Estimator(model, str(tmp_path), config, {"rate": 0.1})
    with pytest.raises(ValueError, match="Could not find trained model"):
        estimator.evaluate(rows(1))
    first = estimator.train(rows(shuffle=True), steps=5).evaluate(rows(1))
    assert (first["global_step"], set(first)) == (5, {"accuracy", "loss", "global_step"})
    again = tf.estimator.Estimator(model, str(tmp_path), config, {"rate": 0.1})
    last = again.train(rows(), max_steps=30).train(rows(), max_steps=30).evaluate(rows(1))
    assert last["global_step"] == 30
    assert last["loss"] < first["loss"]
    assert last["accuracy"] > 0.9
    found = list(again.predict(rows(1), predict_keys="class"))
    assert [set(f) for f in found] == [{"class"}] * 96
    assert np.mean([f["class"] for f in found] == CLASSES) == pytest.approx(last["accuracy"])
    assert again.get_variable_value("global_step") == 30
    assert "dense/kernel" in again.get_variable_names()
    assert os.listdir(tmp_path / "eval")


def test_training_ends_with_the_input(tmp_path):
    estimator = tf.estimator.Estimator(model, str(tmp_path), params={"rate": 0.1})
    spec = tf.estimator.TrainSpec(lambda: tf.data.Dataset.from_tensor_slices(({"x": ROWS}, CLASSES)).batch(32))
    measured, _ = tf.estimator.train_and_evaluate(estimator, spec, tf.estimator.EvalSpec(rows(1), steps=2))
    assert measured["global_step"] == 3


MISUSES = {
    "no shuffle": (lambda: rows(shuffle=None), "shuffle must be provided"),
    "lengths": (lambda: tf.estimator.inputs.numpy_input_fn(ROWS, CLASSES[:3], shuffle=False), "same length"),
    "no features": (lambda: tf.estimator.Estimator(lambda x: x), "must include features argument"),
    "no loss": (lambda: tf.estimator.EstimatorSpec("train", train_op=1), "Missing loss"),
    "ready-made": (lambda: tf.estimator.DNNClassifier, "write its model as a function"),
    "handles": (lambda: tf.get_session_handle, "values between runs are variables"),
    "sparse": (lambda: tf.train.batch([tf.SparseTensor([[0, 0]], [1.0], [2, 2])], 3), "sparse_tensor_to_dense"),
}
"""Name -> (a call, the beginning of what the error says)."""


def test_misuses():
    for call, text in MISUSES.values():
        with pytest.raises((ValueError, TypeError, AttributeError), match=text):
            call()


def test_a_supervisor_saves_and_restores(tmp_path):
    found = []
    for _ in range(2):
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            tf.summary.scalar("step", step)
            add = tf.assign_add(step, 1)
            supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
            with supervisor.managed_session() as session:
                while not supervisor.should_stop():
                    if session.run(add) % 3 == 0:
                        supervisor.saver.save(session, supervisor.save_path, supervisor.global_step)
                        supervisor.request_stop()
                found.append(session.run(step))
    assert found == [3, 6]
    with pytest.raises(ZeroDivisionError), supervisor.managed_session():
        raise ZeroDivisionError
