"""TensorFlow 1's functions at special points, in one table for its own module and for this library's.

Run by a Python that has TensorFlow, this file writes `tf1_special_points.json`, the results that it gives:
`python tests/ops/tf1_special_points.py`.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

nan, inf = np.nan, np.inf
POINTS = np.array([nan, inf, -inf, 0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 6.0, 20.0, 1e-30])
FEW = nan, inf, 0.0, 1.0, -1.0, 2.0, 0.5
PAIRS = [a.reshape(-1) for a in np.meshgrid(FEW, FEW)]
RESULTS = pathlib.Path(__file__).with_suffix(".json")

ONE = [
    *("abs", "sqrt", "rsqrt", "square", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh"),
    *(
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "sigmoid",
        "erf",
        "erfc",
        "lgamma",
        "digamma",
        "sign",
        "floor",
        "ceil",
        "round",
    ),
    *("negative", "reciprocal", "log_sigmoid", "nn.relu", "nn.relu6", "nn.elu", "nn.selu", "nn.leaky_relu", "nn.softplus"),
    *("nn.softsign", "nn.swish"),
]
TWO = [
    *("add", "subtract", "multiply", "divide", "div_no_nan", "maximum", "minimum", "pow", "floormod", "floordiv", "atan2"),
    *("squared_difference", "math.xlogy", "math.xlog1py", "math.xdivy", "math.multiply_no_nan"),
]


def rows(*values: list[float]) -> list[np.ndarray]:
    return [np.array(values, np.float64)]


def one(*values: float) -> list[np.ndarray]:
    return [np.array(values, np.float64)]


EDGES: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "where": (lambda tf, x, y: tf.where(x > 0, x, y), PAIRS),
    "where of rows": (
        lambda tf, x, y: tf.where(tf.constant([True, False]), x, y), [*rows([1, 2], [3, 4]), *rows([5, 6], [7, 8])]
    ),
    "where keeps out sqrt": (lambda tf, x: tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x)), [POINTS]),
    "where keeps out rsqrt": (lambda tf, x: tf.where(x > 0, tf.rsqrt(x), tf.zeros_like(x)), [POINTS]),
    "where keeps out reciprocal": (lambda tf, x: tf.where(x > 0, tf.reciprocal(x), tf.zeros_like(x)), [POINTS]),
    "where does not keep out log": (lambda tf, x: tf.where(x > 0, tf.log(x), tf.zeros_like(x)), [POINTS]),
    "clip_by_value": (lambda tf, x: tf.clip_by_value(x, -1.0, 1.0), [POINTS]),
    "clip_by_value by tensors": (lambda tf, x, y: tf.clip_by_value(x, y, tf.ones_like(y)), PAIRS),
    "clip_by_norm of zeros": (lambda tf, x: tf.clip_by_norm(x, 1.0), one(0, 0)),
    "clip_by_norm": (lambda tf, x: tf.clip_by_norm(x, 1.0), one(3, 4)),
    "clip_by_norm at its bound": (lambda tf, x: tf.clip_by_norm(x, 5.0), one(3, 4)),
    "clip_by_norm along an axis": (lambda tf, x: tf.clip_by_norm(x, 5.0, axes=[1]), rows([3, 4], [0, 0], [6, 8])),
    "clip_by_norm of infinities": (lambda tf, x: tf.clip_by_norm(x, 1.0), one(inf, 1)),
    "clip_by_global_norm": (lambda tf, x, y: tf.clip_by_global_norm([x, y], 1.0)[0][0], [*one(3, 4), *one(0, 0)]),
    "clip_by_global_norm of zeros": (lambda tf, x: tf.clip_by_global_norm([x], 1.0)[0][0], one(0, 0)),
    "clip_by_global_norm of infinities": (lambda tf, x: tf.clip_by_global_norm([x], 1.0)[0][0], one(inf, 0)),
    "global_norm of zeros": (lambda tf, x: tf.global_norm([x]), one(0, 0)),
    "norm of zeros": (lambda tf, x: tf.norm(x), one(0, 0)),
    "reduce_euclidean_norm of zeros": (lambda tf, x: tf.math.reduce_euclidean_norm(x), one(0, 0)),
    "reduce_std of equal numbers": (lambda tf, x: tf.math.reduce_std(x), one(3, 3)),
    "reduce_max": (lambda tf, x: tf.reduce_max(x, 1), rows([1, 3, 3], [2, 2, 2], [inf, inf, 0])),
    "reduce_min": (lambda tf, x: tf.reduce_min(x, 1), rows([1, 1, 3], [2, 2, 2], [-inf, -inf, 0])),
    "reduce_max with NaN": (lambda tf, x: tf.reduce_max(x), one(nan, 1, nan)),
    "reduce_prod": (lambda tf, x: tf.reduce_prod(x, 1), rows([1, 0, 3], [0, 2, 0], [2, 3, 4])),
    "reduce_logsumexp": (lambda tf, x: tf.reduce_logsumexp(x, 1), rows([1, 0, 3], [-inf, 0, 0], [1000, 1000, 0])),
    "cumprod": (lambda tf, x: tf.cumprod(x, 1), rows([1, 0, 3], [0, 2, 0], [2, 3, 4])),
    "cumulative_logsumexp": (lambda tf, x: tf.math.cumulative_logsumexp(x, 0), one(0, 90, 180, 400, -400, -800)),
    "softmax": (lambda tf, x: tf.nn.softmax(x), rows([1, 0, 3], [1000, 1000, 0], [-inf, 0, 0])),
    "log_softmax": (lambda tf, x: tf.nn.log_softmax(x), rows([1, 0, 3], [1000, 1000, 0])),
    "l2_normalize": (lambda tf, x: tf.nn.l2_normalize(x, 1), rows([3, 4], [0, 0], [1e-8, 0])),
    "leaky_relu by 2": (lambda tf, x: tf.nn.leaky_relu(x, alpha=2.0), [POINTS]),
    "top_k": (lambda tf, x: tf.nn.top_k(x, 2)[0], one(3, 1, 3, 3)),
    "unsorted_segment_max": (lambda tf, x: tf.math.unsorted_segment_max(x, [0, 0, 0, 1], 2), one(1, 3, 3, 2)),
    "max_pool": (
        lambda tf, x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [np.array([3.0, 1, 3, 3]).reshape(1, 2, 2, 1)]
    ),
    "self_adjoint_eigvals": (lambda tf, x: tf.self_adjoint_eigvals(x), [np.eye(2)]),
    "svd": (lambda tf, x: tf.svd(x, compute_uv=False), [np.eye(2)]),
    "absolute_difference": (lambda tf, x: tf.losses.absolute_difference(tf.zeros_like(x), x, reduction="none"), [POINTS]),
    "huber_loss": (lambda tf, x: tf.losses.huber_loss(tf.zeros_like(x), x, reduction="none"), [POINTS]),
    "hinge_loss": (lambda tf, x: tf.losses.hinge_loss(tf.ones_like(x), x, reduction="none"), [POINTS]),
    "sigmoid_cross_entropy": (
        lambda tf, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones_like(x), logits=x), [POINTS]
    ),
    "weighted_cross_entropy": (
        lambda tf, x: tf.nn.weighted_cross_entropy_with_logits(targets=tf.ones_like(x) * 0.25, logits=x, pos_weight=2.0),
        [POINTS],
    ),
    "moments": (lambda tf, x: tf.nn.moments(x, [0])[1], one(3, 3)),
}  # fmt: skip


def _named(name: str) -> Callable[..., Any]:
    def call(tf: Any, *xs: Any) -> Any:
        found = tf
        for part in name.split("."):
            found = getattr(found, part)
        return found(*xs)

    return call


CASES = {name: (_named(name), [POINTS]) for name in ONE} | {name: (_named(name), PAIRS) for name in TWO} | EDGES


def results(tf: Any, name: str, session: Callable[[], Any]) -> dict[str, list[float]]:
    """The value, the gradients by each operand, those for cotangents of 0, and second gradients, of float64; without those that
    do not exist."""
    function, arrays = CASES[name]
    with tf.Graph().as_default():
        xs = [tf.placeholder("float64", a.shape) for a in arrays]
        y = function(tf, *xs)
        fetched = {"value": y}
        first = _gradients(tf, y, xs, 1.0)
        for place, zeros in enumerate(_gradients(tf, y, xs, 0.0)):
            fetched[f"gradient of 0 by {place}"] = zeros
        total = None
        for place, g in enumerate(first):
            fetched[f"gradient by {place}"] = g
            if g is not None:
                part = tf.reduce_sum(g * _weights(tf, g, 1.7 + place))
                total = part if total is None else total + part
        for place, h in enumerate([] if total is None else _gradients(tf, total, xs, 1.0)):
            fetched[f"second gradient by {place}"] = h
        fetched = {key: value for key, value in fetched.items() if value is not None}
        with session() as sess:
            found = sess.run(fetched, dict(zip(xs, arrays, strict=True)))
    return {key: [float(f"{v:.9g}") for v in np.ravel(value)] for key, value in found.items()}


def _weights(tf: Any, like: Any, turn: float) -> Any:
    shape = like.shape.as_list()
    return tf.constant((1.5 + np.cos(turn * np.arange(int(np.prod(shape))))).reshape(shape), like.dtype)


def _gradients(tf: Any, y: Any, xs: list[Any], scale: float) -> list[Any]:
    try:
        found: list[Any] = tf.gradients(y, xs, _weights(tf, y, 1.0) * scale)
    except LookupError:  # TensorFlow has none
        return [None] * len(xs)
    return found


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_eager_execution()
    table = {name: results(tensorflow, name, tensorflow.Session) for name in CASES}
    RESULTS.write_text("{\n" + ",\n".join(f'"{name}": {json.dumps(found)}' for name, found in table.items()) + "\n}\n")
