"""Expressions in TensorFlow 1's dialect that TensorFlow judges: names of the op namespaces, by their families."""

from __future__ import annotations

import numpy as np

RNG = np.random.default_rng(1)
X = RNG.standard_normal((3, 4)).astype("f4")
Y = RNG.standard_normal((3, 4)).astype("f4")
P = (np.abs(X) + 0.5).astype("f4")
UNIT = RNG.uniform(0.1, 0.9, (3, 4)).astype("f4")
INTS = np.array([[7, -7, 3, 1], [5, 9, -1, 2], [4, 4, 4, -8]], "i4")
COUNTS = np.array([3, 1, 4, 1, 5, 1, 3], "i4")

SPECIAL = {
    "sobol_sample": (lambda tf: tf.math.sobol_sample(3, 6, skip=2), ()),
    **{n: (lambda tf, x, n=n: getattr(tf.math, n)(x), (X,)) for n in ("bessel_i0e", "bessel_i1", "bessel_i1e")},
    **{n: (lambda tf, u, n=n: getattr(tf.math, n)(u), (UNIT,)) for n in ("ndtri", "erfcinv")},
    "xlog1py": (lambda tf, x, p: tf.math.xlog1py(x, p), (X, P)),
    "betainc": (lambda tf, p, u: tf.betainc(p, p + 1.0, u), (P, UNIT)),
    "polygamma": (lambda tf, p: tf.polygamma(2.0, p), (P,)),
    "zeta": (lambda tf, p: tf.zeta(p + 1.5, p), (P,)),
    "polyval": (lambda tf, x: tf.math.polyval([x[0], 2.0, x[1]], x), (X,)),
    "cumulative_logsumexp": (lambda tf, x: tf.math.cumulative_logsumexp(x, 1, exclusive=True, reverse=True)[:, :-1], (X,)),
    "truncatediv": (lambda tf, i: tf.truncatediv(i, tf.constant([2, -3, 4, 5])), (INTS,)),
    "is_non_decreasing": (lambda tf, i: tf.is_non_decreasing(i[2, :3]), (INTS,)),
    "is_strictly_increasing": (lambda tf, i: tf.is_strictly_increasing(i[2, :3]), (INTS,)),
    "approx_max_k": (lambda tf, x: tf.math.approx_max_k(x, 2), (X,)),
    "histogram_fixed_width": (lambda tf, x: tf.histogram_fixed_width(x, [-1.0, 1.0], 5), (X,)),
    "histogram_fixed_width_bins": (lambda tf, x: tf.histogram_fixed_width_bins(x, [-1.0, 1.0], 5), (X,)),
    "bincount": (lambda tf, c: tf.bincount(c, minlength=8), (COUNTS,)),
    "bincount weights": (lambda tf, c, x: tf.math.bincount(c[:4], x[0], maxlength=4), (COUNTS, X)),
    "math softmax": (lambda tf, x: tf.math.softmax(x) + tf.math.log_softmax(x, 0) + tf.math.softsign(x), (X,)),
    "math l2_normalize": (lambda tf, x: tf.math.l2_normalize(x, 1) * tf.math.zero_fraction(x + 0.0 * x - x), (X,)),
}

ELEMENTS = {
    "repeat": (lambda tf, x: tf.repeat(x, 2, axis=1), (X,)),
    "repeat counts": (lambda tf, x: tf.repeat(x, [2, 0, 1], axis=0), (X,)),
    "repeat flat": (lambda tf, x: tf.repeat(x, 2), (X,)),
    "setdiff1d": (lambda tf, c: tf.setdiff1d(c, tf.constant([1, 5])), (COUNTS,)),
    "unique_with_counts": (lambda tf, c: tf.unique_with_counts(c), (COUNTS,)),
    "unravel_index": (lambda tf, c: tf.unravel_index(c, [3, 2]), (COUNTS,)),
    **{
        f"tensor_scatter {n}": (lambda tf, x, y, n=n: getattr(tf, f"tensor_scatter_nd_{n}")(x, [[2], [0]], y[:2]), (X, Y))
        for n in ("update", "add", "sub", "max", "min")
    },
    "tensor_scatter elements": (lambda tf, x, y: tf.tensor_scatter_add(x, [[2, 1], [0, 3]], y[0, :2]), (X, Y)),
    "batch_gather": (lambda tf, x: tf.batch_gather(x, [[0, 1], [3, 3], [2, 0]]), (X,)),
    "gather batch_dims": (
        lambda tf, m: tf.gather(m, [[0, 1, 1], [1, 0, 0]], axis=2, batch_dims=1),
        (RNG.standard_normal((2, 3, 2, 4)).astype("f4"),),
    ),
    "gather_nd batch_dims": (lambda tf, x: tf.gather_nd(x, [[1], [0], [3]], batch_dims=1), (X,)),
    "ensure_shape": (lambda tf, x: tf.ensure_shape(x, [3, None]), (X,)),
    "identity_n": (lambda tf, x, y: tf.identity_n([x, y]), (X, Y)),
    "shape_n": (lambda tf, x, y: tf.shape_n([x, y[:2]]), (X, Y)),
    "parallel_stack": (lambda tf, x: tf.parallel_stack([x, x]), (X,)),
    "guarantee_const": (lambda tf, x: tf.guarantee_const(x), (X,)),
    "broadcast_dynamic_shape": (lambda tf, x: tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(x[:, :1])), (X,)),
    "space_to_batch": (
        lambda tf, m: tf.space_to_batch(m, [[1, 1], [0, 2]], 2),
        (RNG.standard_normal((2, 4, 6, 1)).astype("f4"),),
    ),
    "batch_to_space": (
        lambda tf, m: tf.batch_to_space(m, [[0, 1], [1, 0]], 2),
        (RNG.standard_normal((4, 2, 3, 1)).astype("f4"),),
    ),
    "required paddings": (lambda tf, x: tf.required_space_to_batch_paddings([7, 5], [2, 3], [[1, 0], [0, 1]]), (X,)),
    "extract_volume_patches": (
        lambda tf, m: tf.extract_volume_patches(m, [1, 2, 2, 1, 1], [1, 2, 1, 1, 1], "SAME"),
        (RNG.standard_normal((1, 3, 3, 2, 2)).astype("f4"),),
    ),
    "diag": (lambda tf, x: tf.diag(x[:2, :2]), (X,)),
    "diag_part": (lambda tf, x: tf.diag_part(tf.reshape(x[0], [1, 2, 1, 2])[:, :1, :, :1]), (X,)),
}

IMAGE = RNG.standard_normal((2, 7, 6, 3)).astype("f4")
FILTER = RNG.standard_normal((3, 2, 3, 4)).astype("f4")
VOLUME = RNG.standard_normal((2, 5, 4, 3, 2)).astype("f4")
BLOCK = RNG.standard_normal((3, 2, 2, 2, 3)).astype("f4")
SEQUENCE = RNG.standard_normal((2, 9, 3)).astype("f4")
KERNEL = RNG.standard_normal((3, 3, 4)).astype("f4")
SLOPE = RNG.standard_normal((2, 4, 3, 4)).astype("f4")
COUNT = np.abs(RNG.standard_normal((3, 4))).astype("f4")


def _depthwise(tf, m, w):
    return tf.nn.depthwise_conv2d(m, w, [1, 2, 2, 1], "SAME")


SPATIAL = {
    "conv": (lambda tf, m, w: tf.conv(m, w, [1, 2, 1, 1], "SAME"), (IMAGE, FILTER)),
    "conv3d": (lambda tf, v, b: tf.nn.conv3d(v, b, [1, 2, 1, 1, 1], "SAME"), (VOLUME, BLOCK)),
    "conv3d valid": (lambda tf, v, b: tf.nn.conv3d(v, filters=b, strides=[1, 1, 2, 1, 1], padding="VALID"), (VOLUME, BLOCK)),
    "conv3d_transpose": (
        lambda tf, v, b: tf.nn.conv3d_transpose(v, tf.transpose(b, [0, 1, 2, 4, 3]), [2, 10, 4, 3, 3], [1, 2, 1, 1, 1]),
        (VOLUME, BLOCK),
    ),
    "conv1d_transpose": (
        lambda tf, s, k: tf.nn.conv1d_transpose(s, tf.transpose(k, [0, 2, 1]), [2, 18, 4], 2),
        (SEQUENCE, KERNEL),
    ),
    "conv_transpose": (
        lambda tf, m, w: tf.nn.conv_transpose(m, tf.transpose(w, [0, 1, 3, 2]), [2, 15, 12, 4], 2, "VALID"),
        (IMAGE, FILTER),
    ),
    "atrous_conv2d_transpose": (
        lambda tf, m, w: tf.nn.atrous_conv2d_transpose(m, tf.transpose(w, [0, 1, 3, 2]), [2, 11, 8, 4], 2, "VALID"),
        (IMAGE, FILTER),
    ),
    "conv2d paddings": (
        lambda tf, m, w: tf.nn.conv2d(m, w, [1, 1, 2, 1], [[0, 0], [1, 2], [0, 1], [0, 0]]),
        (IMAGE, FILTER),
    ),
    "convolution": (lambda tf, m, w: tf.nn.convolution(m, w, "SAME", dilation_rate=[2, 1]), (IMAGE, FILTER)),
    "convolution 1": (lambda tf, s, k: tf.nn.convolution(s, k, "VALID", strides=[2]), (SEQUENCE, KERNEL)),
    "convolution 3": (lambda tf, v, b: tf.nn.convolution(v, b, "SAME"), (VOLUME, BLOCK)),
    "conv1d keywords": (
        lambda tf, s, k: tf.nn.conv1d(input=s, filters=k, stride=1, padding="SAME", dilations=2),
        (SEQUENCE, KERNEL),
    ),
    "conv2d_backprop_input": (
        lambda tf, w, d: tf.nn.conv2d_backprop_input([2, 7, 6, 3], w, d, [1, 2, 2, 1], "SAME"),
        (FILTER, SLOPE),
    ),
    "conv2d_backprop_filter": (
        lambda tf, m, d: tf.nn.conv2d_backprop_filter(m, [3, 2, 3, 4], d, [1, 2, 2, 1], "SAME"),
        (IMAGE, SLOPE),
    ),
    "conv3d_backprop_filter": (
        lambda tf, v: tf.nn.conv3d_backprop_filter_v2(v, [3, 2, 2, 2, 2], v, [1, 1, 1, 1, 1], "SAME"),
        (VOLUME,),
    ),
    "depthwise_conv2d_native": (lambda tf, m, w: tf.nn.depthwise_conv2d_native(m, w, [1, 2, 2, 1], "SAME"), (IMAGE, FILTER)),
    "depthwise dilations": (
        lambda tf, m, w: tf.nn.depthwise_conv2d(m, w, [1, 1, 1, 1], "VALID", dilations=[2, 1]),
        (IMAGE, FILTER),
    ),
    "depthwise backprop": (
        lambda tf, m, w: [
            tf.nn.depthwise_conv2d_backprop_input([2, 7, 6, 3], w, _depthwise(tf, m, w), [1, 2, 2, 1], "SAME"),
            tf.nn.depthwise_conv2d_backprop_filter(m, [3, 2, 3, 4], _depthwise(tf, m, w), [1, 2, 2, 1], "SAME"),
        ],
        (IMAGE, FILTER),
    ),
    "max_pool3d": (lambda tf, v: tf.nn.max_pool3d(v, 2, [1, 2, 1, 2, 1], "SAME"), (VOLUME,)),
    "avg_pool3d": (lambda tf, v: tf.nn.avg_pool3d(v, [1, 2, 2, 2, 1], 2, "SAME"), (VOLUME,)),
    "max_pool_v2": (lambda tf, s: tf.nn.max_pool_v2(s, 3, 2, "SAME"), (SEQUENCE,)),
    "avg_pool1d": (lambda tf, s: tf.nn.avg_pool1d(s, 3, 2, "SAME") + tf.nn.max_pool1d(s, [3], [2], "SAME"), (SEQUENCE,)),
    "pool": (lambda tf, m: tf.nn.pool(m, [3, 2], "MAX", "VALID", dilation_rate=[2, 1]), (IMAGE,)),
    "pool mean": (lambda tf, v: tf.nn.pool(v, [2, 2, 2], "AVG", "VALID", strides=[1, 2, 1]), (VOLUME,)),
    "max_pool_with_argmax": (lambda tf, m: tf.nn.max_pool_with_argmax(m, [1, 3, 2, 1], [1, 2, 2, 1], "SAME"), (IMAGE,)),
    "argmax in batch": (
        lambda tf, m: tf.nn.max_pool_with_argmax(m, [1, 2, 2, 1], [1, 2, 2, 1], "VALID", include_batch_in_index=True)[1],
        (IMAGE,),
    ),
    "dilation2d": (lambda tf, m, w: tf.nn.dilation2d(m, w[:, :, :, 0], [1, 1, 2, 1], [1, 2, 1, 1], "SAME"), (IMAGE, FILTER)),
    "erosion2d": (lambda tf, m, w: tf.nn.erosion2d(m, w[:, :, :, 0], [1, 1, 1, 1], [1, 1, 2, 1], "VALID"), (IMAGE, FILTER)),
    "space_to_batch nn": (lambda tf, m: tf.nn.space_to_batch(m[:, :4], [[0, 0], [1, 1]], 2), (IMAGE,)),
    "with_space_to_batch": (
        lambda tf, m, w: tf.nn.with_space_to_batch(
            m, [2, 2], "SAME", lambda x, n, p: tf.nn.conv2d(x, w, [1, 1, 1, 1], p), filter_shape=[3, 2]
        ),
        (IMAGE, FILTER),
    ),
}
STATISTICS = {
    "sufficient_statistics": (lambda tf, x: tf.nn.sufficient_statistics(x, [1], shift=0.5)[:3], (X,)),
    "normalize_moments": (
        lambda tf, x: tf.nn.normalize_moments(*tf.nn.sufficient_statistics(x, [0], shift=tf.constant(0.5))),
        (X,),
    ),
    "weighted_moments": (lambda tf, x, c: tf.nn.weighted_moments(x, [0], c), (X, COUNT)),
    "weighted_moments row": (lambda tf, x, c: tf.nn.weighted_moments(x, [1], c[0], keepdims=True), (X, COUNT)),
    "global normalization": (
        lambda tf, x, y: tf.nn.batch_norm_with_global_normalization(
            tf.reshape(x, [1, 3, 1, 4]), y[0], tf.square(y[1]), y[2], y[0], 1e-3, True
        ),
        (X, Y),
    ),
    "average loss": (
        lambda tf, x: tf.nn.compute_average_loss(x[:, 0], global_batch_size=6) + tf.nn.scale_regularization_loss(x),
        (X,),
    ),
    "silu": (lambda tf, x: tf.nn.silu(x) + tf.nn.swish(x, 0.5), (X,)),
}

STEPS = RNG.standard_normal((5, 4, 3)).astype("f4")
STATE = RNG.standard_normal((5, 4)).astype("f4")
LENGTHS = [4, 2, 0, 1, 4]


def _own_cell(tf):
    class Minimal(tf.nn.rnn_cell.RNNCell):
        """A user's cell, whose variables `call` makes."""

        @property
        def state_size(self):
            return 4

        @property
        def output_size(self):
            return 4

        def call(self, inputs, state):
            w = tf.get_variable("w", [3, 4])
            u = tf.get_variable("u", [4, 4])
            new = tf.tanh(tf.matmul(inputs, w) + tf.matmul(state, u))
            return new * 2.0, new

    return Minimal()


def _built_cell(tf):
    class WithBuild(tf.nn.rnn_cell.RNNCell):
        state_size = 4
        output_size = 4

        def build(self, inputs_shape):
            self.w = self.add_weight(name="w", shape=[int(inputs_shape[-1]), 4], trainable=True)
            self.built = True

        def call(self, inputs, state):
            new = tf.sigmoid(tf.matmul(inputs, self.w) - state)
            return new, new

    return WithBuild()


def _looped(make, **options):
    return lambda tf, x: tf.nn.dynamic_rnn(make(tf), x, dtype=tf.float32, **options)


def _residual(tf):
    c = tf.nn.rnn_cell
    return c.MultiRNNCell([c.ResidualWrapper(c.BasicRNNCell(3)), c.DeviceWrapper(c.BasicRNNCell(2), "/cpu:0")])


RECURRENT = {
    "basic": (_looped(lambda tf: tf.nn.rnn_cell.BasicRNNCell(4), sequence_length=LENGTHS), (STEPS,)),
    "gru": (_looped(lambda tf: tf.nn.rnn_cell.GRUCell(4)), (STEPS,)),
    "peepholes": (
        _looped(lambda tf: tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True, cell_clip=0.4, num_proj=3, proj_clip=0.3)),
        (STEPS,),
    ),
    "one state": (_looped(lambda tf: tf.nn.rnn_cell.BasicLSTMCell(4, state_is_tuple=False)), (STEPS,)),
    "projected one state": (_looped(lambda tf: tf.nn.rnn_cell.LSTMCell(4, num_proj=2, state_is_tuple=False)), (STEPS,)),
    "wrapped": (_looped(_residual), (STEPS,)),
    "own cell": (_looped(_own_cell), (STEPS,)),
    "own cell with build": (_looped(_built_cell, time_major=True), (STEPS,)),
    "all kept": (
        _looped(lambda tf: tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(2), 1.0, 1.0, state_keep_prob=1.0)),
        (STEPS,),
    ),
    "static": (
        lambda tf, x: tf.nn.static_rnn(
            tf.nn.rnn_cell.LSTMCell(2), tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=LENGTHS
        ),
        (STEPS,),
    ),
    "bidirectional": (
        lambda tf, x: tf.nn.bidirectional_dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.LSTMCell(3), x, sequence_length=LENGTHS, dtype=tf.float32
        ),
        (STEPS,),
    ),
    "static bidirectional": (
        lambda tf, x: tf.nn.static_bidirectional_rnn(
            tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.BasicRNNCell(3), tf.unstack(x, axis=1), dtype=tf.float32
        ),
        (STEPS,),
    ),
    "cell by hand": (
        lambda tf, x, h: tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(4), _own_cell(tf)][:1])(x[:, 0], (h,)),
        (STEPS, STATE),
    ),
}
LAYERS = {
    "dense": (lambda tf, x: tf.layers.dense(tf.layers.dense(x, 5, tf.nn.relu), 2, use_bias=False, name="out"), (X,)),
    "dense again": (lambda tf, x: [tf.layers.dense(x, 5, name="d"), tf.layers.dense(x, 5, name="d", reuse=True)], (X,)),
    "dense of 3": (lambda tf, m: tf.layers.dense(m, 5), (STEPS,)),
    "conv1d": (lambda tf, s: tf.layers.conv1d(s, 4, 3, 2, "same", activation=tf.tanh), (SEQUENCE,)),
    "conv2d": (lambda tf, m: tf.layers.conv2d(m, 4, [3, 2], (2, 1)), (IMAGE,)),
    "conv3d": (lambda tf, v: tf.layers.conv3d(v, 2, 2, padding="same"), (VOLUME,)),
    "conv2d_transpose": (lambda tf, m: tf.layers.conv2d_transpose(m, 4, 3, (2, 2), "same"), (IMAGE,)),
    "conv2d_transpose valid": (lambda tf, m: tf.layers.conv2d_transpose(m, 4, [3, 2], (2, 3)), (IMAGE,)),
    "conv3d_transpose": (lambda tf, v: tf.layers.conv3d_transpose(v, 4, 2, (2, 1, 1), "same"), (VOLUME,)),
    "separable_conv2d": (lambda tf, m: tf.layers.separable_conv2d(m, 4, 3, depth_multiplier=2), (IMAGE,)),
    "separable_conv1d": (lambda tf, s: tf.layers.separable_conv1d(s, 4, 3, strides=2, padding="same"), (SEQUENCE,)),
    "max_pooling1d": (
        lambda tf, s: tf.layers.max_pooling1d(s, 3, 2, "same") + tf.layers.average_pooling1d(s, 3, 2, "same"),
        (SEQUENCE,),
    ),
    "max_pooling2d": (lambda tf, m: tf.layers.max_pooling2d(m, 3, 2), (IMAGE,)),
    "average_pooling2d": (lambda tf, m: tf.layers.average_pooling2d(m, [3, 2], 2, "same"), (IMAGE,)),
    "pooling3d": (lambda tf, v: tf.layers.max_pooling3d(v, 2, 1) + tf.layers.average_pooling3d(v, 2, 1), (VOLUME,)),
    "flatten": (lambda tf, m: tf.layers.flatten(m), (IMAGE,)),
    "objects": (lambda tf, x: (lambda d, e: [d(x), d(x) + e(x)])(tf.layers.Dense(3), tf.layers.Dense(3)), (X,)),
}

SPD = (X @ X.T + 3 * np.eye(3)).astype("f4")
SQUARES = RNG.standard_normal((2, 3, 3)).astype("f4")
BAND = RNG.standard_normal((2, 3, 4)).astype("f4")
MATRICES = {
    "lu": (lambda tf, a: tf.linalg.lu(a), (SQUARES,)),
    "lu_reconstruct": (lambda tf, a: tf.linalg.lu_reconstruct(*tf.linalg.lu(a)), (SQUARES,)),
    "lu_solve": (lambda tf, a, x: tf.linalg.lu_solve(*tf.linalg.lu(a), x[:3]), (SPD, X)),
    "lu_matrix_inverse": (lambda tf, a: tf.linalg.lu_matrix_inverse(*tf.linalg.lu(a)), (SPD,)),
    "matrix_rank": (lambda tf, a: tf.linalg.matrix_rank(tf.concat([a, a], 1)), (SQUARES,)),
    "pinv": (lambda tf, x: tf.linalg.pinv(x), (X,)),
    "normalize": (lambda tf, x: tf.linalg.normalize(x, axis=1), (X,)),
    "sqrtm": (lambda tf, a: tf.linalg.sqrtm(a), (SPD,)),
    "tridiagonal_matmul": (lambda tf, b: tf.linalg.tridiagonal_matmul(b, tf.transpose(b, [0, 2, 1])), (BAND,)),
    "tridiagonal_solve": (lambda tf, b, x: tf.linalg.tridiagonal_solve(b[0] + [[0.0], [4.0], [0.0]], x[0]), (BAND, X)),
    "tridiagonal_solve matrix": (
        lambda tf, a, x: tf.linalg.tridiagonal_solve(a, x, diagonals_format="matrix", partial_pivoting=False),
        (SPD, X),
    ),
    "eigh_tridiagonal": (lambda tf, x: tf.stop_gradient(tf.linalg.eigh_tridiagonal(x[0], x[1, :3])), (X,)),
    "diag k": (lambda tf, x: tf.linalg.diag(x, k=1, num_cols=6, padding_value=7.0), (X,)),
    "diag band": (lambda tf, b: tf.linalg.diag(b, k=(-1, 1)), (BAND,)),
    "diag_part band": (lambda tf, b: tf.linalg.diag_part(b, k=(-1, 2), padding_value=9.0), (BAND,)),
    "diag_part left": (lambda tf, b: tf.linalg.diag_part(b, k=(-2, 1), align="LEFT_RIGHT"), (BAND,)),
    "set_diag band": (lambda tf, a, x: tf.linalg.set_diag(a, x[:2, :3], k=(0, 1)), (SPD, X)),
    "adjoint": (lambda tf, x: tf.linalg.adjoint(matrix=x), (X,)),
}
COLORED = RNG.uniform(0.05, 0.95, (2, 13, 12, 3)).astype("f4")
OTHER = RNG.uniform(0.05, 0.95, (2, 13, 12, 3)).astype("f4")
BYTES = RNG.integers(0, 255, (2, 5, 4, 3)).astype("u1")
BOXES = np.array([[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.0, 0.5], [-0.2, 0.3, 0.6, 1.3]], "f4")
RECTANGLES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1]], "f4")
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5], "f4")
IMAGES = {
    **{
        n: (lambda tf, m, n=n: getattr(tf.image, n)(m), (COLORED,))
        for n in ("rgb_to_hsv", "hsv_to_rgb", "rgb_to_yiq", "rgb_to_yuv", "yiq_to_rgb", "yuv_to_rgb", "sobel_edges")
    },
    "adjust_hue": (lambda tf, m: tf.image.adjust_hue(m, 0.3), (COLORED,)),
    "adjust_saturation": (lambda tf, m: tf.image.adjust_saturation(m, 1.4), (COLORED,)),
    "adjust_saturation of bytes": (lambda tf, m: tf.image.adjust_saturation(m, 0.5), (BYTES,)),
    "ssim": (lambda tf, m, o: tf.image.ssim(m, o, 1.0), (COLORED, OTHER)),
    "ssim of bytes": (lambda tf, b: tf.image.ssim(b, b[:, ::-1], 255, filter_size=3), (BYTES,)),
    "ssim_multiscale": (
        lambda tf, m, o: tf.image.ssim_multiscale(m, 0.7 * m + 0.3 * o, 1.0, power_factors=(0.3, 0.7), filter_size=5),
        (COLORED, OTHER),
    ),
    "crop_and_resize": (
        lambda tf, m, b: tf.image.crop_and_resize(m, b, [0, 1, 1], [4, 3], extrapolation_value=2.0),
        (COLORED, BOXES),
    ),
    "crop_and_resize nearest": (
        lambda tf, m: tf.image.crop_and_resize(m, BOXES, box_indices=[0, 1, 1], crop_size=[1, 5], method="nearest"),
        (COLORED,),
    ),
    "resize_image_with_pad": (lambda tf, m: tf.image.resize_image_with_pad(m, 20, 9), (COLORED,)),
    "draw_bounding_boxes": (
        lambda tf, m: tf.image.draw_bounding_boxes(
            m, [[[0.1, 0.2, 0.8, 0.9]], [[0.0, 0.0, 1.0, 0.5]]], colors=[[1.0, 0.5, 0.0]]
        ),
        (COLORED,),
    ),
    "extract_patches": (
        lambda tf, m: tf.image.extract_patches(m, [1, 3, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"),
        (COLORED,),
    ),
    "extract_glimpse": (
        lambda tf, m: tf.image.extract_glimpse(m, [3, 4], [[0.1, -0.2], [0.0, 0.3]], uniform_noise=False),
        (COLORED,),
    ),
    "non_max_suppression": (lambda tf, b, s: tf.image.non_max_suppression(b, s, 3, 0.5), (RECTANGLES, SCORES)),
    "non_max_suppression_with_scores": (
        lambda tf, b, s: tf.image.non_max_suppression_with_scores(b, s, 4, 1.0, 0.2, soft_nms_sigma=0.5),
        (RECTANGLES, SCORES),
    ),
    "non_max_suppression_padded": (
        lambda tf, b, s: tf.image.non_max_suppression_padded(b, s, 5, 0.5, 0.6, pad_to_max_output_size=True),
        (RECTANGLES, SCORES),
    ),
    "non_max_suppression_overlaps": (
        lambda tf, s: tf.image.non_max_suppression_overlaps(tf.constant(np.eye(5, dtype="f4") + 0.4), s, 3, 0.3),
        (SCORES,),
    ),
}

BINARY = (RNG.random((3, 4)) > 0.5).astype("f4")
CLASSES = np.array([[1, 3], [0, 0], [2, -1]], "i8")
AT = [0.3, 0.5, 0.8]


def _updated(name, *more, **options):
    """The value after one update."""
    return lambda tf, *x: getattr(tf.metrics, name)(*x, *more, **options)[1]


METRICS = {
    **{
        f"{n} at": (_updated(f"{n}_at_thresholds", AT, weights=[[1.0], [2.0], [0.5]]), (BINARY, UNIT))
        for n in ("true_positives", "true_negatives", "false_positives", "false_negatives", "precision", "recall")
    },
    "sensitivity": (_updated("sensitivity_at_specificity", 0.6, num_thresholds=20), (BINARY, UNIT)),
    "specificity": (_updated("specificity_at_sensitivity", 0.6, num_thresholds=20), (BINARY, UNIT)),
    "precision_at_k": (_updated("precision_at_k", 2), (CLASSES, X)),
    "precision_at_k class": (_updated("precision_at_k", 3, class_id=1, weights=[1.0, 2.0, 1.0]), (CLASSES, X)),
    "recall_at_k": (_updated("recall_at_k", 2), (CLASSES, X)),
    "recall_at_top_k": (
        lambda tf, c: tf.metrics.recall_at_top_k(c, tf.constant([[1, 2], [0, 3], [2, 1]], tf.int64))[1],
        (CLASSES,),
    ),
    "average_precision_at_k": (_updated("average_precision_at_k", 3), (CLASSES, X)),
    "mean_tensor": (_updated("mean_tensor", weights=[[1.0], [2.0], [0.0]]), (X,)),
    "mean_relative_error": (lambda tf, x, y: tf.metrics.mean_relative_error(x, y, tf.nn.relu(x))[1], (X, Y)),
    "mean_cosine_distance": (_updated("mean_cosine_distance", 1), (X, Y)),
    "percentage_below": (_updated("percentage_below", 0.2), (X,)),
    "mean_per_class_accuracy": (
        lambda tf, c: tf.metrics.mean_per_class_accuracy(c, tf.constant([3, 1, 1, 1, 5, 0, 3]), 6)[1],
        (COUNTS,),
    ),
    "cosine_distance": (lambda tf, x, y: tf.losses.cosine_distance(x, y, axis=1, weights=[[1.0], [0.0], [2.0]]), (X, Y)),
    "mean_pairwise_squared_error": (lambda tf, x, y: tf.losses.mean_pairwise_squared_error(x, y), (X, Y)),
    "mean_pairwise weights": (
        lambda tf, x, y: tf.losses.mean_pairwise_squared_error(x, y, weights=[[1.0], [0.0], [2.0]]),
        (X, Y),
    ),
    "cosine_decay_restarts": (
        lambda tf, c: [tf.train.cosine_decay_restarts(0.1, c[i], 2, m_mul=0.9, alpha=0.1) for i in range(5)],
        (COUNTS,),
    ),
    "restarts of one length": (lambda tf, c: tf.train.cosine_decay_restarts(0.1, c[2], 3, t_mul=1.0), (COUNTS,)),
    "linear_cosine_decay": (lambda tf, c: tf.train.linear_cosine_decay(0.1, c[0], 10, 0.7), (COUNTS,)),
    "noisy_linear_cosine_decay": (
        lambda tf, c: tf.train.noisy_linear_cosine_decay(0.1, c[0], 10, initial_variance=1e-12),
        (COUNTS,),
    ),
}

PLACES = [[0, 1], [0, 3], [2, 0], [2, 2]]


def _sp(tf, x, places=PLACES, shape=(3, 4)):
    return tf.SparseTensor(places, x[0], list(shape))


def _flat(*tensors):
    """The parts of sparse tensors."""
    return [part for t in tensors for part in ((t.indices, t.values, t.dense_shape) if hasattr(t, "dense_shape") else (t,))]


LOGITS = RNG.standard_normal((6, 2, 5)).astype("f4")
SPARSE = {
    "to_dense": (lambda tf, x: tf.sparse.to_dense(_sp(tf, x)), (X,)),
    "to_dense default": (lambda tf, x: tf.sparse_tensor_to_dense(_sp(tf, x), default_value=7.0), (X,)),
    "sparse_to_dense": (lambda tf, x: tf.sparse_to_dense(PLACES, [3, 4], x[0], 2.0), (X,)),
    "sparse matmul": (lambda tf, x, y: tf.sparse_tensor_dense_matmul(_sp(tf, x), tf.transpose(y)), (X, Y)),
    "sparse matmul adjoint": (lambda tf, x, y: tf.sparse.sparse_dense_matmul(_sp(tf, x), y, adjoint_a=True), (X, Y)),
    "sparse sum": (lambda tf, x: tf.sparse_reduce_sum(_sp(tf, x), 1), (X,)),
    "sparse max": (lambda tf, x: tf.sparse.reduce_max(_sp(tf, x), axis=1, keepdims=True), (X,)),
    "sparse softmax": (lambda tf, x: _flat(tf.sparse.softmax(_sp(tf, x))), (X,)),
    "sparse transpose": (lambda tf, x: _flat(tf.sparse_transpose(_sp(tf, x))), (X,)),
    "sparse reorder": (lambda tf, x: _flat(tf.sparse_reorder(_sp(tf, x, PLACES[::-1]))), (X,)),
    "sparse reshape": (lambda tf, x: _flat(tf.sparse_reshape(_sp(tf, x), [2, -1])), (X,)),
    "sparse concat": (lambda tf, x: _flat(tf.sparse_concat(1, [_sp(tf, x), _sp(tf, x)])), (X,)),
    "sparse retain": (lambda tf, x: _flat(tf.sparse_retain(_sp(tf, x), [True, False, True, True])), (X,)),
    "sparse slice": (lambda tf, x: _flat(tf.sparse_slice(_sp(tf, x), [0, 1], [3, 2])), (X,)),
    "sparse split": (lambda tf, x: _flat(*tf.sparse_split(sp_input=_sp(tf, x), num_split=3, axis=1)), (X,)),
    "sparse expand_dims": (lambda tf, x: _flat(tf.sparse.expand_dims(_sp(tf, x), 1)), (X,)),
    "sparse add dense": (lambda tf, x, y: tf.sparse_add(_sp(tf, x), y), (X, Y)),
    "sparse add": (
        lambda tf, x: tf.sparse.to_dense(tf.sparse_add(_sp(tf, x), _sp(tf, x, [[0, 1], [1, 1], [1, 2], [2, 3]]))),
        (P,),
    ),
    "sparse maximum": (
        lambda tf, x: tf.stop_gradient(
            tf.sparse.to_dense(tf.sparse_maximum(_sp(tf, x), _sp(tf, -x, [[0, 1], [1, 1], [1, 2], [2, 3]])))
        ),
        (P,),
    ),
    "sparse times": (lambda tf, x, y: _flat(_sp(tf, x) * y), (X, Y)),
    "sparse fill_empty_rows": (
        lambda tf, x: _flat(tf.sparse_fill_empty_rows(_sp(tf, x), 5.0)[0]) + [tf.sparse_fill_empty_rows(_sp(tf, x), 5.0)[1]],
        (X,),
    ),
    "sparse from_dense": (lambda tf, x: _flat(tf.sparse.from_dense(tf.nn.relu(x))), (X,)),
    "sparse eye": (lambda tf: _flat(tf.sparse.eye(2, 3)), ()),
    "sparse to_indicator": (
        lambda tf: tf.sparse_to_indicator(tf.SparseTensor(PLACES, tf.constant([3, 1, 0, 4], tf.int64), [3, 4]), 6),
        (),
    ),
    "sparse_segment_sum": (lambda tf, x: tf.sparse_segment_sum(x, [0, 2, 1], tf.constant([0, 0, 1])), (X,)),
    "sparse_segment_sqrt_n": (lambda tf, x: tf.sparse_segment_sqrt_n(x, [0, 2, 1], tf.constant([0, 0, 1])), (X,)),
    **{
        f"embeddings {combiner}": (
            lambda tf, x, y, c=combiner: tf.nn.embedding_lookup_sparse(
                x, tf.SparseTensor(PLACES, tf.constant([2, 0, 1, 2], tf.int64), [3, 4]), _sp(tf, y), combiner=c
            ),
            (X, P),
        )
        for combiner in ("sum", "mean", "sqrtn")
    },
    "safe embeddings": (
        lambda tf, x: tf.nn.safe_embedding_lookup_sparse(
            x, tf.SparseTensor(PLACES, tf.constant([2, -1, 1, 2], tf.int64), [3, 4])
        ),
        (X,),
    ),
    "ctc_loss": (
        lambda tf, g: tf.nn.ctc_loss(tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 1, 3]), [2, 3]), g, [6, 4]),
        (LOGITS,),
    ),
    "ctc_loss_v2": (
        lambda tf, g: tf.nn.ctc_loss_v2(tf.constant([[1, 2, 2], [3, 1, 0]]), g, [3, 2], [6, 5], blank_index=0),
        (LOGITS,),
    ),
    "collapse_repeated": (lambda tf: tf.nn.collapse_repeated(tf.constant([[1, 1, 2, 2, 1], [1, 1, 1, 2, 3]]), [4, 5]), ()),
}

FAMILIES = {
    "": SPECIAL | ELEMENTS | SPATIAL | STATISTICS | SPARSE | METRICS | MATRICES | IMAGES,
    "cell: ": RECURRENT,
    "layer: ": LAYERS,
}
CASES = {f"{family}{name}": case for family, cases in FAMILIES.items() for name, case in cases.items()}
"""By name: (expression of tf and placeholders, their values)."""
