"""Expressions in TensorFlow 1's dialect, with what NumPy makes of them."""

from __future__ import annotations

import numpy as np

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4)).astype("f4")
Y = RNG.standard_normal((3, 4)).astype("f4")
P = (np.abs(X) + 0.5).astype("f4")
INTS = np.array([[7, -7, 3, 0], [5, 9, -1, 2], [4, 4, 4, -8]], "i4")
J = np.array([[2, 2, -2, 5], [3, -4, 2, 1], [1, 2, 3, 3]], "i4")
IMAGE = RNG.standard_normal((2, 7, 6, 3)).astype("f4")
FILTER = RNG.standard_normal((3, 2, 3, 4)).astype("f4")
LABELS = np.array([0, 3, 1], "i4")
SOFT = np.exp(Y) / np.exp(Y).sum(1, keepdims=True)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def cross(p, x):
    return -(p * np.log(softmax(x))).sum(-1)


def correlated(x, w, stride, same):
    n, h, wide, _ = x.shape
    kh, kw, _, out = w.shape
    if same:
        oh, ow = -(-h // stride), -(-wide // stride)
        ph, pw = max((oh - 1) * stride + kh - h, 0), max((ow - 1) * stride + kw - wide, 0)
        x = np.pad(x, ((0, 0), (ph // 2, ph - ph // 2), (pw // 2, pw - pw // 2), (0, 0)))
    else:
        oh, ow = (h - kh) // stride + 1, (wide - kw) // stride + 1
    result = np.zeros((n, oh, ow, out), "f4")
    for i in range(oh):
        for j in range(ow):
            patch = x[:, i * stride : i * stride + kh, j * stride : j * stride + kw]
            result[:, i, j] = np.tensordot(patch, w, 3)
    return result


def pooled(x, k, stride, same, reduce):
    n, h, wide, c = x.shape
    low = np.nan
    if same:
        oh, ow = -(-h // stride), -(-wide // stride)
        ph, pw = max((oh - 1) * stride + k - h, 0), max((ow - 1) * stride + k - wide, 0)
        x = np.pad(x, ((0, 0), (ph // 2, ph - ph // 2), (pw // 2, pw - pw // 2), (0, 0)), constant_values=low)
    else:
        oh, ow = (h - k) // stride + 1, (wide - k) // stride + 1
    return np.stack(
        [
            np.stack([reduce(x[:, i * stride : i * stride + k, j * stride : j * stride + k], (1, 2)) for j in range(ow)], 1)
            for i in range(oh)
        ],
        1,
    )


def hessian(tf, x):
    row = x[0]
    return tf.hessians(tf.reduce_sum(row**3.0), [row])[0]


CASES = {
    # name: (the expression, its operands, NumPy's value or None where only TensorFlow judges)
    "operators": (lambda tf, x, y: (x + y) * 2.0 - x / (y * y + 1.0), (X, Y), lambda x, y: (x + y) * 2 - x / (y * y + 1)),
    "reflected": (lambda tf, x: 1.0 - 2.0 / (3.0 + abs(-x)), (X,), lambda x: 1 - 2 / (3 + np.abs(x))),
    "integer division": (lambda tf, i, j: i / j, (INTS, J), lambda i, j: i / j),
    "floor division": (lambda tf, i, j: i // j, (INTS, J), lambda i, j: i // j),
    "modulo": (lambda tf, i, j: i % j, (INTS, J), lambda i, j: i % j),
    "div of integers": (lambda tf, i, j: tf.div(i, j), (INTS, J), lambda i, j: i // j),
    "div of floats": (lambda tf, x, y: tf.div(x, y), (X, Y), lambda x, y: x / y),
    "div_no_nan": (lambda tf, x: tf.div_no_nan(x, tf.zeros_like(x)), (X,), lambda x: 0 * x),
    "pow": (lambda tf, x: x**3.0, (P,), lambda x: x**3),
    "comparison": (lambda tf, x, y: tf.logical_and(x > y, tf.less_equal(x, 1.0)), (X, Y), lambda x, y: (x > y) & (x <= 1)),
    "mean": (lambda tf, x: tf.reduce_mean(x, 1), (X,), lambda x: x.mean(1)),
    "mean of integers": (lambda tf, i: tf.reduce_mean(i, 1), (INTS,), lambda i: np.trunc(i.mean(1)).astype("i4")),
    "sum": (lambda tf, x: tf.reduce_sum(x, [0, 1], keepdims=True), (X,), lambda x: x.sum(keepdims=True)),
    "sum keep_dims": (
        lambda tf, x: tf.reduce_sum(x, reduction_indices=[1], keep_dims=True),
        (X,),
        lambda x: x.sum(1, keepdims=True),
    ),
    "sum of integers": (lambda tf, i: tf.reduce_sum(i), (INTS,), lambda i: i.sum(dtype="i4")),
    "no axes": (lambda tf, x: tf.reduce_sum(x, axis=[]), (X,), lambda x: x),
    "max": (lambda tf, x: tf.reduce_max(x, axis=-1), (X,), lambda x: x.max(-1)),
    "prod": (lambda tf, x: tf.reduce_prod(x, 0), (X,), lambda x: x.prod(0)),
    "logsumexp": (lambda tf, x: tf.reduce_logsumexp(x), (X,), lambda x: np.log(np.exp(x).sum())),
    "all": (lambda tf, x: tf.reduce_all(x > -9.0, 0), (X,), lambda x: (x > -9).all(0)),
    "argmax": (lambda tf, x: tf.argmax(x), (X,), lambda x: x.argmax(0)),
    "argmin": (lambda tf, x: tf.argmin(x, 1, output_type=tf.int32), (X,), lambda x: x.argmin(1).astype("i4")),
    "cumsum": (lambda tf, x: tf.cumsum(x), (X,), lambda x: x.cumsum(0)),
    "cumsum exclusive": (lambda tf, x: tf.cumsum(x, 1, exclusive=True), (X,), lambda x: x.cumsum(1) - x),
    "cumsum reverse": (lambda tf, x: tf.cumsum(x, 1, reverse=True), (X,), lambda x: x[:, ::-1].cumsum(1)[:, ::-1]),
    "matmul": (lambda tf, x, y: tf.matmul(x, y, transpose_b=True), (X, Y), lambda x, y: x @ y.T),
    "tensordot": (lambda tf, x, y: tf.tensordot(x, y, [[0], [0]]), (X, Y), lambda x, y: np.tensordot(x, y, [[0], [0]])),
    "einsum": (lambda tf, x, y: tf.einsum("ij,kj->ik", x, y), (X, Y), lambda x, y: x @ y.T),
    "add_n": (lambda tf, x, y: tf.add_n([x, y, x]), (X, Y), lambda x, y: x + y + x),
    "cast": (lambda tf, x: tf.cast(x * 3.0, tf.int32), (X,), lambda x: (x * 3).astype("i4")),
    "to_float": (lambda tf, i: tf.to_float(i), (INTS,), lambda i: i.astype("f4")),
    "clip": (lambda tf, x: tf.clip_by_value(x, -0.5, 0.5), (X,), lambda x: x.clip(-0.5, 0.5)),
    "clip_by_norm": (lambda tf, x: tf.clip_by_norm(x, 1.0), (X,), lambda x: x / max(np.sqrt((x * x).sum()), 1)),
    "global norm": (
        lambda tf, x, y: tf.clip_by_global_norm([x, y], 1.5)[0][1],
        (X, Y),
        lambda x, y: y * 1.5 / max(np.sqrt((x * x).sum() + (y * y).sum()), 1.5),
    ),
    "reshape": (lambda tf, x: tf.reshape(x, [-1, 2]), (X,), lambda x: x.reshape(-1, 2)),
    "transpose": (lambda tf, m: tf.transpose(m, [0, 3, 1, 2]), (IMAGE,), lambda m: m.transpose(0, 3, 1, 2)),
    "expand_dims": (
        lambda tf, x: tf.squeeze(tf.expand_dims(x, 1), [1]) + tf.expand_dims(x, -1)[:, :, 0],
        (X,),
        lambda x: 2 * x,
    ),
    "concat": (lambda tf, x, y: tf.concat([x, y], 1), (X, Y), lambda x, y: np.concatenate([x, y], 1)),
    "stack": (lambda tf, x, y: tf.stack([x, y], axis=1), (X, Y), lambda x, y: np.stack([x, y], 1)),
    "unstack": (lambda tf, x: tf.unstack(x, axis=1)[2], (X,), lambda x: x[:, 2]),
    "split": (lambda tf, x: tf.split(x, 2, axis=1)[1], (X,), lambda x: x[:, 2:]),
    "split sizes": (lambda tf, x: tf.split(x, [1, 3], 1)[1], (X,), lambda x: x[:, 1:]),
    "tile": (lambda tf, x: tf.tile(x, [2, 3]), (X,), lambda x: np.tile(x, (2, 3))),
    "pad": (lambda tf, x: tf.pad(x, [[1, 0], [2, 1]]), (X,), lambda x: np.pad(x, ((1, 0), (2, 1)))),
    "pad reflect": (
        lambda tf, x: tf.pad(x, [[1, 1], [2, 1]], "REFLECT"),
        (X,),
        lambda x: np.pad(x, ((1, 1), (2, 1)), "reflect"),
    ),
    "slice": (lambda tf, x: tf.slice(x, [1, 0], [-1, 2]), (X,), lambda x: x[1:, :2]),
    "subscript": (lambda tf, x: x[1:, ::2, tf.newaxis], (X,), lambda x: x[1:, ::2, None]),
    "gather": (lambda tf, x: tf.gather(x, [2, 0, 2]), (X,), lambda x: x[[2, 0, 2]]),
    "gather axis": (lambda tf, x: tf.gather(x, [1, 0], axis=1), (X,), lambda x: x[:, [1, 0]]),
    "reverse": (lambda tf, x: tf.reverse(x, [1]), (X,), lambda x: x[:, ::-1]),
    "one_hot": (lambda tf, i: tf.one_hot(i, 5), (INTS,), lambda i: (i[..., None] == np.arange(5)).astype("f4")),
    "one_hot axis": (
        lambda tf, i: tf.one_hot(i[0], 3, 2.0, -1.0, axis=0),
        (INTS,),
        lambda i: np.where(np.arange(3)[:, None] == i[0], 2, -1).astype("f4"),
    ),
    "where": (lambda tf, x, y: tf.where(x > 0.0, x, y), (X, Y), lambda x, y: np.where(x > 0, x, y)),
    "where rows": (
        lambda tf, x, y: tf.where(tf.reduce_sum(x, 1) > 0.0, x, y),
        (X, Y),
        lambda x, y: np.where(x.sum(1, keepdims=True) > 0, x, y),
    ),
    "fill": (lambda tf, x: tf.fill([2, 3], 7.0) + x[0, 0], (X,), lambda x: np.full((2, 3), 7, "f4") + x[0, 0]),
    "range": (lambda tf, i: tf.range(4) + i[0], (INTS,), lambda i: np.arange(4, dtype="i4") + i[0]),
    "constant shape": (
        lambda tf, x: x + tf.constant([1.0, 2.0], shape=[3, 4]),
        (X,),
        lambda x: x + np.array([1, *[2] * 11], "f4").reshape(3, 4),
    ),
    "softmax": (lambda tf, x: tf.nn.softmax(x), (X,), softmax),
    "log_softmax": (lambda tf, x: tf.nn.log_softmax(x, axis=0), (X,), lambda x: np.log(softmax(x, 0))),
    "relu6": (lambda tf, x: tf.nn.relu6(x * 5.0), (X,), lambda x: (x * 5).clip(0, 6)),
    "elu": (lambda tf, x: tf.nn.elu(x), (X,), lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    "selu": (lambda tf, x: tf.nn.selu(x), (X,), None),
    "leaky_relu": (lambda tf, x: tf.nn.leaky_relu(x), (X,), lambda x: np.where(x > 0, x, 0.2 * x)),
    "crelu": (lambda tf, x: tf.nn.crelu(x), (X,), lambda x: np.maximum(np.concatenate([x, -x], 1), 0)),
    "softplus": (lambda tf, x: tf.nn.softplus(x), (X,), lambda x: np.log1p(np.exp(x))),
    "softsign": (lambda tf, x: tf.nn.softsign(x), (X,), lambda x: x / (1 + np.abs(x))),
    "sparse cross entropy": (
        lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.constant(LABELS), logits=x),
        (X,),
        lambda x: cross(np.eye(4)[LABELS], x),
    ),
    "soft cross entropy": (
        lambda tf, x, p: tf.nn.softmax_cross_entropy_with_logits_v2(labels=p, logits=x),
        (X, SOFT),
        lambda x, p: cross(p, x),
    ),
    "sigmoid cross entropy": (
        lambda tf, x, p: tf.nn.sigmoid_cross_entropy_with_logits(labels=p, logits=x),
        (X, SOFT),
        lambda x, p: np.log1p(np.exp(x)) - x * p,
    ),
    "weighted cross entropy": (lambda tf, x, p: tf.nn.weighted_cross_entropy_with_logits(p, x, 2.0), (X, SOFT), None),
    "conv2d same": (
        lambda tf, m, w: tf.nn.conv2d(m, w, [1, 1, 1, 1], "SAME"),
        (IMAGE, FILTER),
        lambda m, w: correlated(m, w, 1, True),
    ),
    "conv2d same stride": (
        lambda tf, m, w: tf.nn.conv2d(m, w, [1, 2, 2, 1], "SAME"),
        (IMAGE, FILTER),
        lambda m, w: correlated(m, w, 2, True),
    ),
    "conv2d valid": (
        lambda tf, m, w: tf.nn.conv2d(m, w, strides=[1, 2, 2, 1], padding="VALID"),
        (IMAGE, FILTER),
        lambda m, w: correlated(m, w, 2, False),
    ),
    "conv2d_transpose": (
        lambda tf, m, w: tf.nn.conv2d_transpose(m, tf.transpose(w, [0, 1, 3, 2]), [2, 14, 12, 4], [1, 2, 2, 1]),
        (IMAGE, FILTER),
        None,
    ),
    "conv2d_transpose valid": (
        lambda tf, m, w: tf.nn.conv2d_transpose(m, tf.transpose(w, [0, 1, 3, 2]), [2, 15, 12, 4], [1, 2, 2, 1], "VALID"),
        (IMAGE, FILTER),
        None,
    ),
    "depthwise": (lambda tf, m, w: tf.nn.depthwise_conv2d(m, w, [1, 1, 1, 1], "SAME"), (IMAGE, FILTER), None),
    "max_pool": (
        lambda tf, m: tf.nn.max_pool(m, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
        (IMAGE,),
        lambda m: pooled(m, 2, 2, True, np.nanmax),
    ),
    "max_pool 3": (
        lambda tf, m: tf.nn.max_pool(m, [1, 3, 3, 1], [1, 2, 2, 1], "VALID"),
        (IMAGE,),
        lambda m: pooled(m, 3, 2, False, np.max),
    ),
    "avg_pool": (
        lambda tf, m: tf.nn.avg_pool(m, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
        (IMAGE,),
        lambda m: pooled(m, 3, 2, True, np.nanmean),
    ),
    "moments": (lambda tf, x: tf.nn.moments(x, [0])[1], (X,), lambda x: x.var(0)),
    "batch_normalization": (
        lambda tf, x, y: tf.nn.batch_normalization(x, y[0], tf.square(y[1]), y[2], y[0], 1e-3),
        (X, Y),
        lambda x, y: (x - y[0]) / np.sqrt(y[1] ** 2 + 1e-3) * y[0] + y[2],
    ),
    "l2_normalize": (lambda tf, x: tf.nn.l2_normalize(x, 1), (X,), lambda x: x / np.sqrt((x * x).sum(1, keepdims=True))),
    "l2_loss": (lambda tf, x: tf.nn.l2_loss(x), (X,), lambda x: (x * x).sum() / 2),
    "mean_squared_error": (lambda tf, x, y: tf.losses.mean_squared_error(x, y), (X, Y), lambda x, y: ((x - y) ** 2).mean()),
    "weighted loss": (
        lambda tf, x, y: tf.losses.absolute_difference(x, y, weights=tf.constant([1.0, 0.0, 3.0])[:, None]),
        (X, Y),
        lambda x, y: (np.abs(x - y) * np.array([[1], [0], [3]])).sum() / 8,
    ),
    "huber_loss": (lambda tf, x, y: tf.losses.huber_loss(x, y), (X, Y), None),
    "log_loss": (lambda tf, p: tf.losses.log_loss(tf.constant(SOFT), tf.sigmoid(p)), (X,), None),
    "hinge_loss": (lambda tf, x: tf.losses.hinge_loss(tf.constant([[0.0, 1.0, 1.0, 0.0]] * 3), x), (X,), None),
    "softmax loss": (lambda tf, x: tf.losses.softmax_cross_entropy(tf.one_hot(LABELS, 4), x, label_smoothing=0.1), (X,), None),
    "sigmoid loss": (lambda tf, x: tf.losses.sigmoid_cross_entropy(tf.constant(SOFT), x, label_smoothing=0.1), (X,), None),
    "cond": (
        lambda tf, x, y: tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: y),
        (X, Y),
        lambda x, y: x * 2 if x.sum() > 0 else y,
    ),
    "case": (
        lambda tf, x: tf.case([(x[0, 0] > 9.0, lambda: x), (x[0, 0] > -9.0, lambda: x + 1.0)], default=lambda: x * 0.0),
        (X,),
        lambda x: x + 1,
    ),
    "while_loop": (
        lambda tf, x: tf.while_loop(lambda i, v: i < 3, lambda i, v: [i + 1, v * x + v], [tf.constant(0), x])[1],
        (X,),
        lambda x: x * (x + 1) ** 3,
    ),
    "scan": (
        lambda tf, x: tf.scan(lambda a, v: a * 0.5 + v, x),
        (X,),
        lambda x: np.stack([x[0], x[0] / 2 + x[1], (x[0] / 2 + x[1]) / 2 + x[2]]),
    ),
    "scan initializer": (
        lambda tf, x: tf.scan(lambda a, v: a + v, x, initializer=tf.ones([4]), reverse=True),
        (X,),
        lambda x: 1 + x[::-1].cumsum(0)[::-1],
    ),
    "map_fn": (lambda tf, x: tf.map_fn(lambda v: tf.reduce_sum(v) * v, x), (X,), lambda x: x.sum(1, keepdims=True) * x),
    "foldl": (lambda tf, x: tf.foldl(lambda a, v: a * v, x), (X,), lambda x: x.prod(0)),
    "gradients": (lambda tf, x, y: tf.gradients(x * x * y, [x])[0], (X, Y), lambda x, y: 2 * x * y),
    "second gradient": (lambda tf, x: tf.gradients(tf.gradients(x**3.0, x)[0], x)[0], (P,), lambda x: 6 * x),
    "grad_ys": (lambda tf, x: tf.gradients(tf.tanh(x), x, grad_ys=[x])[0], (X,), lambda x: x * (1 - np.tanh(x) ** 2)),
    "hessians": (lambda tf, x: hessian(tf, x), (X,), lambda x: np.diag(6 * x[0])),
    "stop_gradient": (lambda tf, x: tf.gradients(x * tf.stop_gradient(x), x)[0], (X,), lambda x: x),
    "exponential_decay": (
        lambda tf, i: tf.train.exponential_decay(0.1, i[0, 0], 3, 0.5, staircase=True),
        (INTS,),
        lambda i: 0.025,
    ),
    "polynomial_decay": (
        lambda tf, i: tf.train.polynomial_decay(0.1, i[0, 0], 10, 0.01, 2.0),
        (INTS,),
        lambda i: 0.09 * 0.3**2 + 0.01,
    ),
    "cosine_decay": (
        lambda tf, i: tf.train.cosine_decay(0.1, i[0, 0], 10),
        (INTS,),
        lambda i: 0.05 * (1 + np.cos(np.pi * 0.7)),
    ),
    "inverse_time_decay": (
        lambda tf, i: tf.train.inverse_time_decay(0.1, i[0, 0], 2, 0.5),
        (INTS,),
        lambda i: 0.1 / (1 + 0.5 * 3.5),
    ),
    "natural_exp_decay": (
        lambda tf, i: tf.train.natural_exp_decay(0.1, i[0, 0], 2, 0.5),
        (INTS,),
        lambda i: 0.1 * np.exp(-1.75),
    ),
    "piecewise_constant": (lambda tf, i: tf.train.piecewise_constant(i[0, 0], [3, 7], [1.0, 0.5, 0.1]), (INTS,), lambda i: 0.5),
}

SPD = (X @ X.T + 3 * np.eye(3)).astype("f4")
WIDE = RNG.standard_normal((2, 9, 3)).astype("f4")
KERNEL = RNG.standard_normal((3, 3, 4)).astype("f4")
COLORS = RNG.uniform(0, 1, (2, 6, 8, 3)).astype("f4")
SEGMENTS = np.array([0, 0, 2], "i4")

CASES |= {
    **{
        name: (lambda tf, x, n=name: getattr(tf, n)(x), (X * 0.2 + (1.5 if name == "acosh" else 0),), None)
        for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan", "erfc", "is_inf", "rint")
    },
    **{
        f"math {name}": (lambda tf, x, n=name: getattr(tf.math, n)(x), (P,), None)
        for name in ("digamma", "lgamma", "log_sigmoid", "softplus", "reciprocal_no_nan")
    },
    "atan2": (lambda tf, x, y: tf.atan2(x, y), (X, Y), np.arctan2),
    "xlogy": (lambda tf, x, p: tf.math.xlogy(x, p), (X, P), None),
    "igamma": (lambda tf, x, p: tf.igamma(tf.stop_gradient(x), p), (P, P + 1), None),
    "count_nonzero": (lambda tf, i: tf.count_nonzero(i, 1), (INTS,), lambda i: np.count_nonzero(i, 1)),
    "variance": (lambda tf, x: tf.math.reduce_variance(x, 1), (X,), lambda x: x.var(1)),
    "std": (lambda tf, x: tf.math.reduce_std(x, 0), (X,), lambda x: x.std(0)),
    "cumprod": (lambda tf, x: tf.cumprod(x, 1, exclusive=True, reverse=True), (X,), None),
    "norm": (lambda tf, x: tf.norm(x, axis=1), (X,), lambda x: np.sqrt((x * x).sum(1))),
    "norm 1": (lambda tf, x: tf.norm(x, ord=1, axis=0, keepdims=True), (X,), lambda x: np.abs(x).sum(0, keepdims=True)),
    "lbeta": (lambda tf, p: tf.lbeta(p), (P,), None),
    "saturate_cast": (lambda tf, x: tf.saturate_cast(x * 300.0, tf.uint8), (X,), None),
    "gather_nd": (lambda tf, x: tf.gather_nd(x, [[0, 1], [2, 3]]), (X,), lambda x: x[[0, 2], [1, 3]]),
    "gather_nd rows": (lambda tf, x: tf.gather_nd(x, [[2], [0]]), (X,), lambda x: x[[2, 0]]),
    "scatter_nd": (lambda tf, x: tf.scatter_nd([[1], [1], [4]], x, [6, 4]), (X,), None),
    "boolean_mask": (lambda tf, x: tf.boolean_mask(x, [True, False, True]), (X,), lambda x: x[[0, 2]]),
    "dynamic_partition": (lambda tf, x: tf.dynamic_partition(x, [1, 0, 1], 2)[1], (X,), lambda x: x[[0, 2]]),
    "dynamic_stitch": (lambda tf, x, y: tf.dynamic_stitch([[2, 0, 1], [5, 4, 3]], [x, y]), (X, Y), None),
    **{
        f"{kind}": (lambda tf, x, n=kind: getattr(tf, n)(x, tf.constant(SEGMENTS)), (X,), None)
        for kind in ("segment_sum", "segment_mean", "segment_max", "segment_min", "segment_prod")
    },
    **{
        f"unsorted {kind}": (
            lambda tf, x, n=kind: getattr(tf, f"unsorted_segment_{n}")(x, tf.constant([2, 0, 2]), 3),
            (X,),
            None,
        )
        for kind in ("sum", "mean", "max", "min", "prod", "sqrt_n")
    },
    "top_k": (lambda tf, x: tf.nn.top_k(x, 2)[0], (X,), lambda x: np.sort(x, 1)[:, :1:-1]),
    "top_k places": (lambda tf, x: tf.nn.top_k(x, 2)[1], (X,), None),
    "in_top_k": (lambda tf, x: tf.nn.in_top_k(x, tf.constant(LABELS), 2), (X,), None),
    "sort": (lambda tf, x: tf.sort(x, direction="DESCENDING"), (X,), lambda x: np.sort(x)[:, ::-1]),
    "argsort": (lambda tf, x: tf.argsort(x), (X,), lambda x: np.argsort(x).astype("i4")),
    "confusion_matrix": (lambda tf, i: tf.confusion_matrix(tf.abs(i[0]), tf.constant([1, 7, 3, 0]), 9), (INTS,), None),
    "reverse_sequence": (lambda tf, x: tf.reverse_sequence(x, [2, 4, 3], seq_axis=1, batch_axis=0), (X,), None),
    "roll": (lambda tf, x: tf.roll(x, 2, 1), (X,), lambda x: np.roll(x, 2, 1)),
    "broadcast_to": (lambda tf, x: tf.broadcast_to(x[0], [3, 4]), (X,), lambda x: np.broadcast_to(x[0], (3, 4))),
    "matrix_band_part": (lambda tf, x: tf.matrix_band_part(x, 1, 0), (X,), None),
    "inverse": (lambda tf, a: tf.matrix_inverse(a), (SPD,), np.linalg.inv),
    "determinant": (lambda tf, a: tf.matrix_determinant(a), (SPD,), np.linalg.det),
    "cholesky": (lambda tf, a: tf.cholesky(a), (SPD,), np.linalg.cholesky),
    "solve": (lambda tf, a, x: tf.matrix_solve(a, x), (SPD, X), np.linalg.solve),
    "triangular_solve": (lambda tf, a, x: tf.matrix_triangular_solve(a, x, adjoint=True), (SPD, X), None),
    "trace": (lambda tf, a: tf.trace(a), (SPD,), np.trace),
    "matrix_diag": (lambda tf, x: tf.matrix_diag(x), (X,), None),
    "matrix_set_diag": (lambda tf, a, x: tf.matrix_set_diag(a, x[:, 0]), (SPD, X), None),
    "svd": (lambda tf, x: tf.svd(x, compute_uv=False), (X,), lambda x: np.linalg.svd(x, compute_uv=False)),
    "conv1d": (lambda tf, x, w: tf.nn.conv1d(x, w, 2, "SAME"), (WIDE, KERNEL), None),
    "separable_conv2d": (
        lambda tf, m, w: tf.nn.separable_conv2d(m, w, tf.ones([1, 1, 12, 2]), [1, 1, 1, 1], "SAME"),
        (IMAGE, FILTER),
        None,
    ),
    "atrous_conv2d": (lambda tf, m, w: tf.nn.atrous_conv2d(m, w, 2, "SAME"), (IMAGE, FILTER), None),
    "space_to_depth": (lambda tf, m: tf.space_to_depth(m, 2), (COLORS,), None),
    "depth_to_space": (lambda tf, m: tf.depth_to_space(tf.concat([m, m, m, m], 3), 2), (COLORS,), None),
    "space_to_batch": (lambda tf, m: tf.space_to_batch_nd(m, [2, 2], [[1, 1], [0, 2]]), (COLORS,), None),
    "batch_to_space": (lambda tf, m: tf.batch_to_space_nd(tf.concat([m, m], 0), [2, 2], [[1, 0], [0, 1]]), (COLORS,), None),
    "patches": (lambda tf, m: tf.extract_image_patches(m, [1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 2, 1], "SAME"), (COLORS,), None),
    "lrn": (lambda tf, m: tf.nn.lrn(m, 1, 1.0, 0.1, 0.75), (IMAGE,), None),
    "fused_batch_norm": (
        lambda tf, m, w: tf.nn.fused_batch_norm(m, w[0, 0, :, 0] + 2.0, w[0, 1, :, 1])[0],
        (IMAGE, FILTER),
        None,
    ),
    "log_poisson_loss": (lambda tf, p, x: tf.nn.log_poisson_loss(p, x, True), (P * 3, X), None),
    **{
        f"resize {name}": (lambda tf, m, k=k: tf.image.resize_images(m, [9, 5], k), (COLORS,), None)
        for k, name in enumerate(("bilinear", "nearest", "bicubic", "area"))
    },
    "resize corners": (lambda tf, m: tf.image.resize_bilinear(m, [11, 4], align_corners=True), (COLORS,), None),
    "flip": (lambda tf, m: tf.image.flip_left_right(tf.image.flip_up_down(m)), (COLORS,), lambda m: m[:, ::-1, ::-1]),
    "central_crop": (lambda tf, m: tf.image.central_crop(m, 0.5), (COLORS,), None),
    "crop or pad": (lambda tf, m: tf.image.resize_image_with_crop_or_pad(m, 4, 11), (COLORS,), None),
    "contrast": (lambda tf, m: tf.image.adjust_contrast(m, 2.0), (COLORS,), None),
    "grayscale": (lambda tf, m: tf.image.rgb_to_grayscale(m), (COLORS,), None),
    "standardization": (lambda tf, m: tf.image.per_image_standardization(m), (COLORS,), None),
    "rot90": (lambda tf, m: tf.image.rot90(m, 3), (COLORS,), None),
    "total_variation": (lambda tf, m: tf.image.total_variation(m), (COLORS,), None),
}

"""By name: (expression of tf and placeholders, their values, NumPy's result or None where only TensorFlow judges)."""

REFUSED = {
    "two dtypes": (lambda tf: tf.constant(1.0) + tf.constant(1.0, tf.float64), TypeError),
    "float to integer": (lambda tf: tf.constant(3) * 1.5, TypeError),
    "truth": (lambda tf: bool(tf.constant(1.0) > 0.0), TypeError),
    "iteration": (lambda tf: list(tf.constant([1.0])), TypeError),
    "matmul of vectors": (lambda tf: tf.matmul(tf.constant([1.0]), tf.constant([1.0])), ValueError),
    "uneven split": (lambda tf: tf.split(tf.constant([1.0, 2.0, 3.0]), 2), ValueError),
    "constant too large": (lambda tf: tf.constant([1.0, 2.0], shape=[1]), (TypeError, ValueError)),
    "variable again": (lambda tf: [tf.get_variable("v", [1]) for _ in range(2)], ValueError),
    "no such tensor": (lambda tf: tf.get_default_graph().get_tensor_by_name("nothing:0"), KeyError),
    "a name without output": (lambda tf: tf.get_default_graph().get_tensor_by_name("nothing"), ValueError),
    "no gradient": (lambda tf: tf.train.AdamOptimizer().minimize(tf.constant(1.0), var_list=[tf.Variable(1.0)]), ValueError),
    "fetch None": (lambda tf: [tf.constant(1.0), tf.Session().run(None)], TypeError),
}
