"""Checkpoints: what is saved is restored, and a file that is damaged or does not fit changes nothing."""

from __future__ import annotations

import os

import numpy as np
import pytest

import staticgrad.compat.tf1 as tf


@pytest.fixture
def program():
    with tf.Graph().as_default():
        a = tf.get_variable("scope/a", initializer=np.arange(6, dtype="f4").reshape(2, 3))
        b = tf.get_variable("b", initializer=np.int64(7))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            yield session, a, b


def test_round_trip_and_the_list_of_checkpoints(program, tmp_path):
    session, a, b = program
    saver = tf.train.Saver(max_to_keep=2)
    paths = []
    for step in range(4):
        b.load(step, session)
        paths.append(saver.save(session, str(tmp_path / "model"), global_step=step))
    assert paths == [str(tmp_path / f"model-{step}") for step in range(4)]
    assert saver.last_checkpoints == paths[2:]
    assert tf.train.latest_checkpoint(str(tmp_path)) == paths[3]
    assert tf.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths == paths[2:]
    assert [tf.train.checkpoint_exists(path) for path in paths] == [False, False, True, True]
    a.load(np.zeros((2, 3)), session)
    saver.restore(session, paths[2])
    np.testing.assert_array_equal(session.run(a), np.arange(6).reshape(2, 3))
    assert session.run(b) == 2


def test_names_of_a_dict(program, tmp_path):
    session, a, _ = program
    path = tf.train.Saver({"other": a}).save(session, str(tmp_path / "m"))
    with tf.Graph().as_default():
        other = tf.get_variable("other", [2, 3])
        with tf.Session() as second:
            tf.train.Saver([other]).restore(second, path)
            np.testing.assert_array_equal(second.run(other), np.arange(6).reshape(2, 3))


DAMAGE = {
    "flipped": lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
    "truncated": lambda data: data[:-5],
    "empty": lambda data: b"",
    "header": lambda data: data[:20] + b"\xff" + data[21:],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_changes_nothing(program, tmp_path, damage):
    session, a, b = program
    saver = tf.train.Saver()
    path = saver.save(session, str(tmp_path / "m"))
    file = tmp_path / "m.safetensors"
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    a.load(np.ones((2, 3)), session)
    with pytest.raises(tf.errors.InvalidArgumentError):
        saver.restore(session, path)
    np.testing.assert_array_equal(session.run(a), np.ones((2, 3)))
    assert session.run(b) == 7


def test_a_checkpoint_that_does_not_fit_changes_nothing(program, tmp_path):
    session, a, b = program
    path = tf.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Graph().as_default():
        first = tf.get_variable("b", initializer=np.int64(1))
        wrong = tf.get_variable("scope/a", [3, 3], initializer=tf.zeros_initializer())
        missing = tf.get_variable("c", [1], initializer=tf.zeros_initializer())
        with tf.Session() as second:
            second.run(tf.global_variables_initializer())
            with pytest.raises(tf.errors.InvalidArgumentError, match="lhs shape"):
                tf.train.Saver([first, wrong]).restore(second, path)
            with pytest.raises(tf.errors.NotFoundError, match="Key c not found"):
                tf.train.Saver([first, missing]).restore(second, path)
            assert second.run(first) == 1
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        tf.train.Saver().restore(session, str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="Parent directory"):
        tf.train.Saver().save(session, str(tmp_path / "no" / "way" / "m"))
    assert tf.train.latest_checkpoint(os.path.dirname(tf.train.Saver().save(session, str(tmp_path / "new" / "m"))))


def test_checkpoints_of_objects(tmp_path):
    """Variables and slots by the attributes that lead to them; the last ones of a folder stay."""
    v, step = tf.Variable(np.zeros(3, "f4")), tf.train.get_or_create_global_step()
    optimizer = tf.train.AdamOptimizer(0.1)
    train = optimizer.minimize(tf.reduce_sum((v - 1.0) ** 2), global_step=step)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v, optimizer=optimizer, step=step), str(tmp_path), 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = []
        for _ in range(3):
            session.run(train)
            values.append(session.run([v, optimizer.get_slot(v, "m"), step]))
            manager.save()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint", "ckpt-2.safetensors", "ckpt-3.safetensors"]
        manager.checkpoint.restore(manager.checkpoints[0]).assert_consumed().run_restore_ops()
        for found, expected in zip(session.run([v, optimizer.get_slot(v, "m"), step]), values[1], strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("backup", [None, 7.0])
def test_rows_are_found_by_their_texts(tmp_path, axis, backup):
    """Of a vocabulary in another order, with texts that the checkpoint lacks."""
    (tmp_path / "old").write_text("cat\ndog\nbird\n")
    (tmp_path / "new").write_text("bird\nfish\ncat\nunused\n")
    values = np.arange(6, dtype="float32").reshape(3, 2)
    values = values if axis == 0 else values.T
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("embedding", initializer=values)
        tf.get_variable("other", initializer=[1.0])
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    info = tf.train.VocabInfo(
        str(tmp_path / "new"), 3, 1, str(tmp_path / "old"), axis=axis,
        backup_initializer=None if backup is None else tf.constant_initializer(backup),
    )  # fmt: skip
    rest = backup or 0.0
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.get_variable("table", [4, 2][:: 1 if axis == 0 else -1])
        other = tf.get_variable("other", [1])
        tf.train.warm_start(path, ".*", {"table": info}, {"table": "embedding"})
        session.run(tf.global_variables_initializer())
        found = session.run(table)
        assert (found if axis == 0 else found.T).tolist() == [[4, 5], [rest, rest], [0, 1], [rest, rest]]
        assert session.run(other).tolist() == [1]
        with pytest.raises(ValueError, match=r"names that no variable has: \['tabel'\]"):
            tf.train.warm_start(path, ".*", {"tabel": info}, {"table": "embedding"})
    with tf.Graph().as_default():
        tf.get_variable("table", [5, 2])
        with pytest.raises(ValueError, match="which the vocabulary of"):
            tf.train.warm_start(path, ".*", {"table": info._replace(axis=0)}, {"table": "embedding"})
