"""Names of the dialect that no other test calls, beside TensorFlow: expressions of `tf`, and how training begins and ends."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad.compat.tf1 as sgtf
from tests.helpers import tensorflow1

X = np.array([[1.5, -2.25, 0.5], [3.0, 0.75, -1.0]], "f4")
IDS, PICTURE = [0, 1, 0, 2], np.linspace(0, 1, 2 * 4 * 5 * 3, dtype="f4").reshape(2, 4, 5, 3)
SQUARE = np.array([[4.0, 1.0], [1.0, 3.0]], "f4")

EXPRESSIONS = {
    "accumulate_n": lambda tf: tf.accumulate_n([tf.constant(X), tf.constant(X)]),
    "clip_by_average_norm": lambda tf: tf.clip_by_average_norm(tf.constant(X), 0.2),
    "floor_div": lambda tf: tf.floor_div(tf.constant(X), 0.4),
    "floormod": lambda tf: tf.floormod(tf.constant(X), 0.4),
    "truncatemod": lambda tf: tf.truncatemod(tf.constant([-7, 7]), 3),
    "realdiv": lambda tf: tf.realdiv(tf.constant(X), 0.5),
    "scalar_mul": lambda tf: tf.scalar_mul(2.5, tf.constant(X)),
    "global_norm": lambda tf: tf.global_norm([tf.constant(X), tf.constant(SQUARE)]),
    "invert_permutation": lambda tf: tf.invert_permutation([2, 0, 1]),
    "matrix_diag_part": lambda tf: tf.matrix_diag_part(tf.constant(SQUARE)),
    "matrix_transpose": lambda tf: tf.matrix_transpose(tf.constant(X)),
    "matrix_square_root": lambda tf: tf.matrix_square_root(tf.constant(SQUARE)),
    "matrix_solve_ls": lambda tf: tf.matrix_solve_ls(tf.constant(X.T), tf.constant([[1.0], [2.0], [3.0]])),
    "self_adjoint_eigvals": lambda tf: tf.self_adjoint_eigvals(tf.constant(SQUARE)),
    "reverse_v2": lambda tf: tf.reverse_v2(tf.constant(X), [1]),
    "foldr": lambda tf: tf.foldr(lambda a, x: a * 0.5 + x, tf.constant(X)),
    "vectorized_map": lambda tf: tf.vectorized_map(lambda row: tf.reduce_sum(row) * row, tf.constant(X)),
    "where_v2": lambda tf: tf.where_v2(tf.constant(X) > 0, tf.constant(X), 0.0),
    "switch_case": lambda tf: tf.switch_case(tf.constant(1), [lambda: tf.constant(1.0), lambda: tf.constant(2.0)]),
    "sparse_matmul": lambda tf: tf.sparse_matmul(tf.constant(X), tf.constant(X.T)),
    "to_double": lambda tf: tf.to_double(tf.constant([1, 2])),
    "to_int64": lambda tf: tf.to_int64(tf.constant([1.7, -1.7])),
    "range of int64": lambda tf: tf.range(tf.constant(2, tf.int64), 5),
    "range of nothing": lambda tf: tf.range(0, 0),
    "linspace of float64": lambda tf: tf.lin_space(tf.constant(0.0, tf.float64), 0.1, 3),
    "floor's gradient": lambda tf: tf.constant(tf.gradients(tf.floor(tf.constant(X)), [tf.constant(X)]) == [None]),
    "tensor_scatter_sub": lambda tf: tf.tensor_scatter_sub(tf.constant(X), [[0], [0]], tf.constant(X)),
    "tensor_scatter_nd_max": lambda tf: tf.tensor_scatter_nd_max(tf.constant(X), [[0, 1]], [9.0]),
    "tensor_scatter_nd_min": lambda tf: tf.tensor_scatter_nd_min(tf.constant(X), [[0, 0]], [-9.0]),
    "sparse_segment_mean": lambda tf: tf.sparse_segment_mean(tf.constant(X), [1, 0, 1], [0, 0, 1]),
    "unsorted_segment_max": lambda tf: tf.unsorted_segment_max(tf.constant([1.0, 5.0, 2.0, 3.0]), IDS, 3),
    "unsorted_segment_mean": lambda tf: tf.unsorted_segment_mean(tf.constant([1.0, 5.0, 2.0, 3.0]), IDS, 3),
    "unsorted_segment_prod": lambda tf: tf.unsorted_segment_prod(tf.constant([1.0, 5.0, 2.0, 3.0]), IDS, 3),
    "unsorted_segment_sqrt_n": lambda tf: tf.unsorted_segment_sqrt_n(tf.constant([1.0, 5.0, 2.0, 3.0]), IDS, 4),
    "reduce_euclidean_norm": lambda tf: tf.math.reduce_euclidean_norm(tf.constant(X), 1),
    "multiply_no_nan": lambda tf: tf.math.multiply_no_nan(tf.constant([np.inf, 2.0]), tf.constant([0.0, 3.0])),
    "xdivy": lambda tf: tf.math.xdivy(tf.constant([[0.0], [4.0]]), tf.constant([0.0, 2.0])),
    "bessel_i0": lambda tf: tf.math.bessel_i0(tf.constant(X)),
    "bias_add": lambda tf: tf.nn.bias_add(tf.constant(PICTURE), [1.0, 2.0, 3.0]),
    "relu_layer": lambda tf: tf.nn.relu_layer(tf.constant(X), tf.constant(X.T), [0.5, -0.5]),
    "xw_plus_b": lambda tf: tf.nn.xw_plus_b(tf.constant(X), tf.constant(X.T), [0.5, -0.5]),
    "local_response_normalization": lambda tf: tf.nn.local_response_normalization(tf.constant(PICTURE), 1),
    "avg_pool_v2": lambda tf: tf.nn.avg_pool_v2(tf.constant(PICTURE), 2, 2, "SAME"),
    "get_total_loss": lambda tf: (tf.losses.add_loss(tf.constant(2.0)), tf.losses.get_total_loss())[1],
    "integer losses": lambda tf: tf.losses.absolute_difference(tf.constant([1, 4]), tf.constant([3, 3]), [[2.0], [0.5]][0]),
    "losses of a column of labels": lambda tf: tf.losses.sparse_softmax_cross_entropy([[0], [2]], tf.constant(X), [1, 0]),
    "adjust_brightness": lambda tf: tf.image.adjust_brightness(tf.constant(PICTURE), 0.1),
    "adjust_gamma": lambda tf: tf.image.adjust_gamma(tf.constant(PICTURE), 2.0, 0.5),
    "convert_image_dtype": lambda tf: tf.image.convert_image_dtype(tf.constant(PICTURE), tf.uint8),
    "crop_to_bounding_box": lambda tf: tf.image.crop_to_bounding_box(tf.constant(PICTURE), 1, 2, 2, 3),
    "pad_to_bounding_box": lambda tf: tf.image.pad_to_bounding_box(tf.constant(PICTURE), 1, 2, 7, 9),
    "grayscale_to_rgb": lambda tf: tf.image.grayscale_to_rgb(tf.constant(PICTURE[..., :1])),
    "image_gradients": lambda tf: tf.stack(tf.image.image_gradients(tf.constant(PICTURE))),
    "psnr": lambda tf: tf.image.psnr(tf.constant(PICTURE), tf.constant(PICTURE * 0.9), 1.0),
    "resize_area": lambda tf: tf.image.resize_area(tf.constant(PICTURE), [3, 4]),
    "resize_bicubic": lambda tf: tf.image.resize_bicubic(tf.constant(PICTURE), [7, 6]),
    "resize_nearest_neighbor": lambda tf: tf.image.resize_nearest_neighbor(tf.constant(PICTURE), [3, 8]),
    "resize_with_crop_or_pad": lambda tf: tf.image.resize_with_crop_or_pad(tf.constant(PICTURE), 6, 3),
    "transpose_image": lambda tf: tf.image.transpose_image(tf.constant(PICTURE)),
    "expm": lambda tf: tf.linalg.expm(tf.constant(SQUARE)),
    "lstsq": lambda tf: tf.linalg.lstsq(tf.constant(X.T), tf.constant([[1.0], [2.0], [3.0]])),
    "matvec": lambda tf: tf.linalg.matvec(tf.constant(X), [1.0, 2.0, 3.0]),
    "tensor_diag": lambda tf: tf.linalg.tensor_diag([1.0, 2.0]),
    "band_part": lambda tf: tf.linalg.band_part(tf.constant(X), 0, 1),
    "piecewise_constant_decay": lambda tf: tf.train.piecewise_constant_decay(tf.constant(7), [5, 9], [1.0, 0.5, 0.1]),
}


def evaluated(tf, name):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(EXPRESSIONS[name](tf))


def monitored(tf):
    """What hooks, scaffolds and step functions see."""
    seen = []

    class Hook(tf.train.SessionRunHook):
        def before_run(self, run_context):
            seen.append(run_context.original_args.fetches.name)
            return tf.train.SessionRunArgs(five)

        def after_run(self, run_context, run_values):
            seen.append(int(run_values.results))

    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        move, five = tf.assign_add(step, 1, name="move"), tf.constant(5)
        final = tf.train.FinalOpsHook(step)
        hooks = [Hook(), final, tf.train.GlobalStepWaiterHook(0)]
        scaffold = tf.train.Scaffold(init_fn=lambda scaffold, session: seen.append(type(scaffold).__name__))
        creator = tf.train.ChiefSessionCreator(scaffold)
        with tf.train.MonitoredSession(creator, hooks) as session:
            session.run(move)
            seen.append(session.run_step_fn(lambda step_context: int(step_context.session.run(move))))
            with pytest.raises(StopIteration):
                session.run_step_fn(lambda step_context: step_context.request_stop())
            seen.append(session.should_stop())
        with pytest.raises(ValueError, match="step_fn"):
            session.run_step_fn(lambda other: None)
        return [*seen, int(final.final_ops_values), len(tf.get_collection("savers"))]


def managed(tf, folder):
    """A session of a manager, which restores at the second start."""
    seen = []
    for _ in range(2):
        with tf.Graph().as_default():
            w = tf.Variable(1.0)
            saver, manager = tf.train.Saver(), tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
            double = tf.assign(w, w * 2)
            session = manager.prepare_session("", tf.global_variables_initializer(), saver, checkpoint_dir=folder)
            seen.append(float(session.run(double)))
            saver.save(session, folder + "/model")
            session.close()
    return seen


def batched(tf):
    """Shapes and contents of the joins that fill batches from several lists."""
    seen = []
    for make in (
        lambda x, keep: tf.train.shuffle_batch([x], 4, 8, 2, seed=1),
        lambda x, keep: tf.train.maybe_batch([x], keep, 4),
        lambda x, keep: tf.train.maybe_shuffle_batch([x], 4, 8, 2, keep),
        lambda x, keep: tf.train.batch_join([[x], [x]], 4),
        lambda x, keep: tf.train.shuffle_batch_join([[x], [x]], 4, 8, 2),
        lambda x, keep: tf.train.maybe_batch_join([[x], [x]], keep, 4),
        lambda x, keep: tf.train.maybe_shuffle_batch_join([[x], [x]], 4, 8, 2, keep),
    ):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.train.range_input_producer(6, shuffle=False).dequeue()
            out = make(x, tf.less(x, 3) if "maybe" in str(make.__code__.co_names) else True)
            coordinator = tf.train.Coordinator()
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            threads = tf.train.start_queue_runners(session, coordinator)
            values = np.concatenate([session.run(out) for _ in range(6)])
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=5)
            seen.append((out.shape.as_list(), len(values), sorted(set(values.tolist()))))
    return seen


def test_a_monitored_session_ends_with_hooks_and_step_functions():
    assert monitored(sgtf) == ["Scaffold", "move:0", 5, 2, False, 2, 1]


def test_a_manager_restores_a_session(tmp_path):
    assert managed(sgtf, str(tmp_path)) == [2.0, 4.0]


def test_joins_fill_batches():
    every, some = ([4], 24, [0, 1, 2, 3, 4, 5]), ([4], 24, [0, 1, 2])
    assert batched(sgtf) == [every, some, some, every, every, some, some]


def test_values_that_were_wrong():
    """Dtypes of empty and wide ranges, quotients by zero, and gradients of steps, as in TensorFlow."""
    assert evaluated(sgtf, "range of nothing").dtype == np.int32
    assert evaluated(sgtf, "range of int64").dtype == np.int64
    assert evaluated(sgtf, "linspace of float64").tolist() == [0.0, 0.05, 0.1]
    assert evaluated(sgtf, "floor's gradient")
    np.testing.assert_array_equal(evaluated(sgtf, "xdivy"), [[0, 0], [np.inf, 2]])
    with pytest.raises(ValueError, match="Can not squeeze"):
        sgtf.squeeze(sgtf.constant(X), [1])
    with pytest.raises(ValueError, match="weights can not be broadcast"):
        sgtf.losses.mean_squared_error(sgtf.constant(X), sgtf.constant(X), [[1.0, 2.0], [3.0, 4.0]])


def test_checks_of_a_branch_that_is_not_taken_do_nothing():
    x = sgtf.placeholder(sgtf.float32, [])
    check = sgtf.cond(x > 0, sgtf.no_op, lambda: sgtf.Assert(False, ["negative"]))
    with sgtf.Session() as session:
        session.run(check, {x: 1.0})
        with pytest.raises(sgtf.errors.InvalidArgumentError, match="negative"):
            session.run(check, {x: -1.0})


def test_averages_are_listed_under_their_variables():
    v, average = sgtf.Variable(4.0, name="v"), sgtf.train.ExponentialMovingAverage(0.5, zero_debias=True)
    update = average.apply([v, sgtf.multiply(v, 2.0, name="twice")])
    assert sgtf.moving_average_variables() == [v]
    assert average.average_name(v) == "v/ExponentialMovingAverage"
    with sgtf.Session() as session:
        session.run(sgtf.global_variables_initializer())
        session.run(update)
        found = {x.op.name: session.run(x) for x in sgtf.global_variables()}
    assert found["v/ExponentialMovingAverage"] == 4.0
    assert found["twice/ExponentialMovingAverage"] == 8.0  # 4.0 without the correction of its beginning at 0


@pytest.mark.oracle
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_rare_names_are_tensorflows(name):
    tf = tensorflow1()
    ours, theirs = np.asarray(evaluated(sgtf, name)), np.asarray(evaluated(tf, name))
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.oracle
def test_sessions_for_training_are_tensorflows(tmp_path):
    tf = tensorflow1()
    assert monitored(sgtf) == monitored(tf)
    assert managed(sgtf, str(tmp_path / "ours")) == managed(tf, str(tmp_path / "theirs"))
    assert batched(sgtf) == batched(tf)
