"""TensorFlow 1's dialect: values, types and names, judged by NumPy and, where it is installed, by TensorFlow."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import staticgrad.compat.tf1 as sgtf
from staticgrad import errors
from tests.compat.tf1_cases import CASES, INTS, REFUSED, J, X, Y
from tests.helpers import tensorflow1


def evaluated(tf, expression, values):
    """The value of an expression on placeholders of unknown leading extents where TensorFlow gives the same, and its dtype."""
    with tf.Graph().as_default():
        places = [tf.placeholder(v.dtype, v.shape) for v in values]
        made = expression(tf, *places)
        with tf.Session() as session:
            return session.run(made, dict(zip(places, values, strict=True))), made.dtype.name, made.shape.as_list()


def dense_gradients(tf, made, sources):
    found = tf.gradients(tf.reduce_sum(made * made), sources)
    return [tf.convert_to_tensor(g) for g in found if g is not None]


def unranked(tf, expression, values, known):
    """The value of an expression on placeholders of unknown rank, or (known) of unknown extents, and of its gradients."""
    with tf.Graph().as_default():
        places = [tf.placeholder(v.dtype, [None] * v.ndim if known else None) for v in values]
        made = expression(tf, *places)
        floating = [x for x in places if x.dtype.is_floating]
        slopes = []
        if made.dtype.is_floating and floating:
            slopes = dense_gradients(tf, made, floating)
        with tf.Session() as session:
            return session.run([made, *slopes], dict(zip(places, values, strict=True)))


def static_gradients(tf, expression, values):
    with tf.Graph().as_default():
        places = [tf.placeholder(v.dtype, v.shape) for v in values]
        made = expression(tf, *places)
        floating = [x for x in places if x.dtype.is_floating]
        if not (made.dtype.is_floating and floating):
            return []
        slopes = dense_gradients(tf, made, floating)
        with tf.Session() as session:
            return session.run(slopes, dict(zip(places, values, strict=True)))


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[2] is not None])
def test_values(name):
    expression, values, reference = CASES[name]
    value, dtype, shape = evaluated(sgtf, expression, values)
    expected = np.asarray(reference(*values))
    close(value, expected)
    assert shape == list(expected.shape)
    assert np.dtype(dtype) == (np.dtype("f4") if expected.dtype.kind == "f" and name != "integer division" else expected.dtype)


NEEDS_EXTENTS = {"unstack", "hessians", "cholesky"}
"""Expressions that need an extent when the graph is built: they, or their gradients, give so many tensors."""
NEEDS_RANK = NEEDS_EXTENTS | {"cond", "case", "while_loop", "scan", "scan initializer", "map_fn", "foldl"}
"""Bodies of branches and loops take tensors of known rank."""
UNKNOWN = [(name, known) for name in CASES for known in (True, False) if name not in (NEEDS_EXTENTS if known else NEEDS_RANK)]


@pytest.mark.parametrize(("name", "known"), UNKNOWN)
def test_values_of_unknown_shapes(name, known):
    """The same values and gradients when shapes are known only in the run."""
    expression, values, _ = CASES[name]
    expected = [evaluated(sgtf, expression, values)[0], *static_gradients(sgtf, expression, values)]
    actual = unranked(sgtf, expression, values, known)
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected, strict=True):
        close(a, b)


@pytest.mark.oracle
@pytest.mark.parametrize("name", CASES)
def test_values_are_tensorflows(name):
    tf = tensorflow1()
    expression, values, _ = CASES[name]
    actual, expected = evaluated(sgtf, expression, values), evaluated(tf, expression, values)
    close(actual[0], expected[0])
    assert actual[1] == expected[1]
    assert len(actual[2]) == len(expected[2])
    assert all(e is None or e == a for a, e in zip(actual[2], expected[2], strict=True))  # more may be known here


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    expression, error = REFUSED[name]
    with pytest.raises(error):
        expression(sgtf)


@pytest.mark.oracle
@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_tensorflows(name):
    tf = tensorflow1()
    expression, error = REFUSED[name]
    with tf.Graph().as_default(), pytest.raises(error):
        expression(tf)


def names(tf):
    """Names of tensors, variables and operations of a small program."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.name_scope("block") as scope:
            a = tf.add(x, 1.0, name="a")
            b = a + x
        with tf.name_scope("block"):
            c = tf.nn.relu(b)
        with tf.name_scope(scope):
            d = tf.identity(c, name="d")
        with tf.variable_scope("net"):
            w = tf.get_variable("w", [3, 2])
            with tf.variable_scope("deep", reuse=tf.AUTO_REUSE):
                v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
                again = tf.get_variable("v", [2])
            y = tf.matmul(x, w) + v
        with tf.variable_scope("net", reuse=True):
            same = tf.get_variable("w", [3, 2])
        return {
            "tensors": [t.name for t in (x, a, b, c, d, y)],
            "types": [t.op.type for t in (x, a, b, c, d)],
            "variables": [t.name for t in tf.global_variables()],
            "scope": [t.name for t in tf.trainable_variables("net")],
            "same": (same is w, again is v, w in [w], w in [v]),
            "found": graph.get_tensor_by_name("block/a:0") is a,
            "reprs": [str(x), repr(x), repr(w), str(y.shape), repr(x.dtype)],
        }


EXPECTED_NAMES = {
    "tensors": ["x:0", "block/a:0", "block/add:0", "block_1/Relu:0", "block/d:0", "net/add:0"],
    "types": ["Placeholder", "AddV2", "AddV2", "Relu", "Identity"],
    "variables": ["net/w:0", "net/deep/v:0"],
    "scope": ["net/w:0", "net/deep/v:0"],
    "same": (True, True, True, False),
    "found": True,
    "reprs": [
        'Tensor("x:0", shape=(?, 3), dtype=float32)',
        "<tf.Tensor 'x:0' shape=(?, 3) dtype=float32>",
        "<tf.Variable 'net/w:0' shape=(3, 2) dtype=float32_ref>",
        "(?, 2)",
        "tf.float32",
    ],
}


def test_names():
    assert names(sgtf) == EXPECTED_NAMES


@pytest.mark.oracle
def test_names_are_tensorflows():
    tf = tensorflow1()
    expected = names(tf)
    expected["scope"] = expected["scope"][:2]
    assert expected == EXPECTED_NAMES


def training(tf, optimizer):
    """Losses of ten steps."""
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 4])
        w = tf.get_variable("w", initializer=np.eye(4, dtype="f4") * 0.3)
        hidden = tf.tanh(tf.matmul(x, w))
        out = tf.matmul(hidden, tf.get_variable("v", [4, 4], initializer=tf.constant_initializer(0.1)))
        loss = tf.losses.mean_squared_error(y, out)
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(0.05, step, 3, 0.8)
        train = optimizer(tf, rate).minimize(loss, global_step=step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, train], {x: X, y: Y})[0] for _ in range(10)]
            assert session.run(step) == 10
        return np.array(losses)


OPTIMIZERS = {
    "GradientDescent": lambda tf, rate: tf.train.GradientDescentOptimizer(rate),
    "Momentum": lambda tf, rate: tf.train.MomentumOptimizer(rate, 0.9),
    "Nesterov": lambda tf, rate: tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True),
    "Adam": lambda tf, rate: tf.train.AdamOptimizer(rate),
    "RMSProp": lambda tf, rate: tf.train.RMSPropOptimizer(rate, momentum=0.5),
    "centered RMSProp": lambda tf, rate: tf.train.RMSPropOptimizer(rate, centered=True),
    "Adagrad": lambda tf, rate: tf.train.AdagradOptimizer(rate),
    "Adadelta": lambda tf, rate: tf.train.AdadeltaOptimizer(rate),
}
LAST = {
    "GradientDescent": 0.97960728,
    "Momentum": 0.94595259,
    "Nesterov": 0.93862575,
    "Adam": 0.72319436,
    "RMSProp": 0.96189505,
    "centered RMSProp": 0.9756152,
    "Adagrad": 0.9548766,
    "Adadelta": 0.99547744,
}
"""The loss of the tenth step, from TensorFlow 2.x's `compat.v1`."""


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    losses = training(sgtf, OPTIMIZERS[name])
    assert losses[-1] == pytest.approx(LAST[name], rel=2e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_are_tensorflows(name):
    tf = tensorflow1()
    np.testing.assert_allclose(training(sgtf, OPTIMIZERS[name]), training(tf, OPTIMIZERS[name]), rtol=1e-5)


def test_layers():
    with sgtf.Graph().as_default():
        x = sgtf.placeholder(sgtf.float32, [None, 8, 8, 3])
        h = sgtf.layers.conv2d(x, 4, 3, activation=sgtf.nn.relu)
        h = sgtf.layers.max_pooling2d(h, 2, 2)
        h = sgtf.layers.dense(sgtf.layers.flatten(h), 5, kernel_regularizer=sgtf.nn.l2_loss)
        out = sgtf.layers.dense(h, 2, name="out")
        assert [v.name for v in sgtf.global_variables()] == [
            "conv2d/kernel:0", "conv2d/bias:0", "dense/kernel:0", "dense/bias:0", "out/kernel:0", "out/bias:0",
        ]  # fmt: skip
        assert (h.shape.as_list(), out.shape.as_list()) == ([None, 5], [None, 2])
        (penalty,) = sgtf.losses.get_regularization_losses()
        with sgtf.Session() as session:
            session.run(sgtf.global_variables_initializer())
            kernel, value = session.run([sgtf.global_variables()[2], penalty])
            close(value, (kernel**2).sum() / 2)
            assert session.run(out, {x: np.ones((3, 8, 8, 3))}).shape == (3, 2)


def test_batch_normalization_moves_its_averages_while_it_trains():
    with sgtf.Graph().as_default():
        x, on = sgtf.placeholder(sgtf.float32, [None, 4]), sgtf.placeholder(sgtf.bool, [])
        y = sgtf.layers.batch_normalization(x, training=on, momentum=0.9)
        updates = sgtf.get_collection(sgtf.GraphKeys.UPDATE_OPS)
        mean = sgtf.global_variables()[2]
        assert [v.name.split("/")[1] for v in sgtf.global_variables()] == [
            "gamma:0", "beta:0", "moving_mean:0", "moving_variance:0",
        ]  # fmt: skip
        with sgtf.Session() as session:
            session.run(sgtf.global_variables_initializer())
            trained = session.run([y, *updates], {x: X, on: True})[0]
            close(trained, (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-3))
            close(session.run(mean), 0.1 * X.mean(0))
            session.run([y, *updates], {x: X, on: False})
            close(session.run(mean), 0.1 * X.mean(0))


def test_dropout_takes_a_fed_probability():
    with sgtf.Graph().as_default():
        sgtf.set_random_seed(3)
        x, keep = sgtf.placeholder(sgtf.float32, [None, 50]), sgtf.placeholder(sgtf.float32, [])
        y = sgtf.nn.dropout(x, keep)
        ones = np.ones((40, 50), "f4")
        with sgtf.Session() as session:
            close(session.run(y, {x: ones, keep: 1.0}), ones)
            half = session.run(y, {x: ones, keep: 0.5})
            assert set(np.unique(half)) == {0.0, 2.0}
            assert 0.45 < (half == 0).mean() < 0.55
            assert (session.run(y, {x: ones, keep: 0.5}) != half).any()


def test_initializers_have_their_variances():
    with sgtf.Graph().as_default():
        shape = [200, 300]
        made = {
            0.02: sgtf.truncated_normal_initializer(stddev=0.02 / 0.8796256610342398),
            (2 / 500) ** 0.5: sgtf.glorot_uniform_initializer(),
            (2 / 200) ** 0.5: sgtf.initializers.he_normal(),
            0.5: sgtf.random_normal_initializer(stddev=0.5),
            1 / 3**0.5: sgtf.random_uniform_initializer(-1, 1),
        }
        variables = [sgtf.get_variable(f"v{i}", shape, initializer=init) for i, init in enumerate(made.values())]
        with sgtf.Session() as session:
            session.run(sgtf.global_variables_initializer())
            for deviation, value in zip(made, session.run(variables), strict=True):
                assert abs(value.mean()) < 0.02 * max(deviation, 0.1)
                assert value.std() == pytest.approx(deviation, rel=0.02)
            assert np.abs(session.run(variables[0])).max() <= 0.04 / 0.8796 + 1e-6


def test_errors_have_tensorflows_classes():
    with sgtf.Graph().as_default():
        x = sgtf.placeholder(sgtf.float32, [2])
        v = sgtf.Variable(1.0)
        with sgtf.Session() as session:
            with pytest.raises(sgtf.errors.FailedPreconditionError) as caught:
                session.run(v)
            assert isinstance(caught.value, errors.UninitializedError)
            with pytest.raises(ValueError, match="Cannot feed value of shape"):
                session.run(x, {x: [1.0, 2.0, 3.0]})
        sgtf.get_default_graph().finalize()
        with pytest.raises(RuntimeError, match="finalized"):
            x + 1.0
    with pytest.raises(AttributeError, match="reduce_sum"):
        sgtf.reduce_summ  # noqa: B018


def test_constants_of_plain_numbers_and_variables_as_operands():
    with sgtf.Graph().as_default():
        assert [sgtf.constant(v).dtype.name for v in (3, 1.5, [1, 2], True, np.float64(1))] == [
            "int32", "float32", "int32", "bool", "float64",
        ]  # fmt: skip
        assert sgtf.as_dtype("float") is sgtf.float32
        v = sgtf.Variable([1.0, 2.0])
        total, doubled = sgtf.add(1, 2), v * 2.0
        bumped = v.assign_add([1.0, 1.0])
        with sgtf.control_dependencies([bumped]):
            after = v.read_value()
        with sgtf.Session() as session:
            session.run(v.initializer)
            assert session.run(total) == 3
            close(session.run(doubled), [2, 4])
            close(session.run(after), [2, 3])
            v.load([9.0, 9.0], session)
            close(v.eval(), [9, 9])


def test_integers_by_zero_are_an_error():
    with sgtf.Graph().as_default():
        i, j = sgtf.placeholder(sgtf.int32, INTS.shape), sgtf.placeholder(sgtf.int32, J.shape)
        with sgtf.Session() as session, pytest.raises(sgtf.errors.InvalidArgumentError):
            session.run(i // j, {i: INTS, j: J * 0})


def test_arguments_have_tensorflows_names_and_places():
    """`name` follows the own parameters, deprecated names follow it; operands may be given by name."""
    x = sgtf.constant([[1.0, 2.0]])
    words = ["input_tensor", "axis", "keepdims", "name", "reduction_indices", "keep_dims"]
    assert list(inspect.signature(sgtf.reduce_sum).parameters) == words
    assert sgtf.reduce_sum(x, reduction_indices=1, keep_dims=True).shape == [1, 1]
    assert sgtf.reduce_sum(x, 1, None, "sum", None, True).shape == [1, 1]
    assert sgtf.add(x=1.0, y=x, name="by_name").op.name == "by_name"
    assert sgtf.nn.softplus(features=x, name="soft").op.name == "soft"
    assert sgtf.squeeze(x, squeeze_dims=[0]).shape == [2]
    for call in (lambda: sgtf.add(1.0), lambda: sgtf.add(1.0, 2.0, x=3.0), lambda: sgtf.tanh(x, axis=1)):
        with pytest.raises(TypeError):
            call()


# floats of 16 bits ----------------------------------------------------------------------------------------------------------

HALF_CASES = {
    "layer": lambda tf, x: tf.nn.relu(tf.matmul(x, tf.ones([3, 2], x.dtype)) * 0.5 + tf.cast([1, 2], x.dtype)),
    "softmax": lambda tf, x: tf.nn.softmax(x) + tf.nn.log_softmax(x),
    "reductions": lambda tf, x: tf.reduce_mean(x, 0) + tf.reduce_max(x, 0) - tf.reduce_sum(x * x),
    "moves": lambda tf, x: tf.concat([tf.transpose(x)[1:], tf.gather(tf.transpose(x), [0])], 0),
    "gradient": lambda tf, x: tf.gradients(tf.reduce_sum(tf.tanh(x) * x), x)[0],
    "cast": lambda tf, x: tf.cast(tf.cast(x, tf.uint16), tf.float32) + tf.cast(x, tf.float32),
}


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", HALF_CASES)
def test_floats_of_16_bits(name: str, kind: str):
    x = np.array([[0.5, 1.0, 2.25], [3.0, 0.125, 1.5]], getattr(sgtf, kind).as_numpy_dtype)

    with sgtf.Graph().as_default(), sgtf.Session() as session:
        made = HALF_CASES[name](sgtf, sgtf.constant(x))
        value, dtype = session.run(made), made.dtype.name
    assert dtype == ("float32" if name == "cast" else kind)
    assert value.dtype == getattr(sgtf, dtype).as_numpy_dtype
    wide = np.array(x, np.float32)
    with sgtf.Graph().as_default(), sgtf.Session() as session:
        exact = session.run(HALF_CASES[name](sgtf, sgtf.constant(wide)))
    close = 2e-2 if kind == "bfloat16" else 3e-3
    np.testing.assert_allclose(value.astype(float), exact, close, close)


def test_variables_and_optimizers_of_16_bits():
    with sgtf.Graph().as_default(), sgtf.Session() as session:
        w = sgtf.get_variable("w", [3, 2], sgtf.bfloat16, sgtf.random_normal_initializer())
        loss = sgtf.reduce_mean(sgtf.square(w + 1))
        steps = [
            sgtf.train.GradientDescentOptimizer(0.2),
            sgtf.train.MomentumOptimizer(0.1, 0.5),
            sgtf.train.AdamOptimizer(0.1, beta2=0.9),
        ]
        trained = [step.minimize(loss) for step in steps]
        session.run(sgtf.global_variables_initializer())
        for step in trained:
            before, _ = session.run([loss, step])
            after = session.run(loss)
            assert after.dtype == sgtf.bfloat16.as_numpy_dtype
            assert after < before
        drawn = session.run(sgtf.random_uniform([50], 2, 3, sgtf.float16))
        assert drawn.dtype == np.float16
        assert 2 <= drawn.min() <= drawn.max() <= 3
    assert sgtf.as_dtype("half") is sgtf.half is sgtf.float16
    assert (sgtf.float16.max, sgtf.uint32.max, sgtf.bfloat16.size) == (65504, 2**32 - 1, 2)
