"""Calls of `nn.functional`, each of tensors of some shapes: compared between modes, with differences, and with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.helpers import rng_of


class Row(NamedTuple):
    """call(library's functional, *tensors) -> a tensor or several. given: shapes of normal numbers, or arrays.

    torch: how often PyTorch differentiates it. fixed: operands by which it does not.
    """

    name: str
    call: Callable[..., Any]
    given: tuple[Any, ...]
    torch: int = 2
    fixed: tuple[int, ...] = ()

    def arrays(self, dtype: Any = np.float64) -> list[np.ndarray]:
        """The operands: floating ones in the dtype."""
        rng = rng_of(self.name)
        made = [rng.normal(size=g) if isinstance(g, tuple) else np.asarray(g) for g in self.given]
        return [a.astype(dtype) if a.dtype.kind == "f" else a for a in made]


rng = rng_of("tests/functional")
IMAGE, VOLUME, SERIES = (2, 4, 7, 6), (2, 2, 5, 4, 6), (2, 4, 9)
SCORES, CLASSES = (5, 4), np.array([0, 3, 1, -100, 2])
DENSE, DENSE_CLASSES = (2, 3, 4), np.array([[0, 2, 1, -100], [2, 2, -100, 0]])
WEIGHT = np.array([0.5, 2.0, 1.0, 0.25])
SIGNS = np.array([1, -1, 1, 1, -1])
BITS = (rng.random((5, 4)) > 0.5).astype(np.float64)
SHARES = rng.dirichlet(np.ones(4), size=5)
UNIT = rng.random((5, 4)) * 0.8 + 0.1
POSITIVE = rng.random((5, 4)) + 0.5
PAIR = (5, 4), (5, 4)
TABLE, INDEX = (6, 3), np.array([[0, 5, 2], [2, 2, 1]])
FLAT, OFFSETS = np.array([0, 5, 2, 2, 1, 3, 0]), np.array([0, 3, 3, 5])
LABELS = np.array([[3, 0, -1, 1], [0, 1, 2, 3], [2, -1, 2, 0], [-1, 1, 2, 3], [1, 3, -1, -1]])
GRID = rng.random((2, 3, 5, 2)) * 2.2 - 1.1
GRID3 = (np.floor(rng.random((2, 2, 3, 2, 3)) * 6) - 0.5 + rng.random((2, 2, 3, 2, 3)) * 0.6) / np.array([6, 4, 5]) * 2 - 1
"""Between the pixels of VOLUME, away from their centres, where the derivative jumps."""
SPREAD = rng.permutation(2 * 4 * 7 * 6).reshape(IMAGE) / 10.0
"""No two elements are near to each other."""
CTC_TARGETS = np.array([[1, 2, 2], [3, 1, 0]])

LOSSES = [
    Row("mse weighted", lambda F, x, t, w: F.mse_loss(x, t, weight=w), (*PAIR, POSITIVE)),
    Row("l1 weighted", lambda F, x, t, w: F.l1_loss(x, t, weight=w, reduction="sum"), (*PAIR, POSITIVE)),
    Row("mse size_average", lambda F, x, t: F.mse_loss(x, t, False), PAIR),
    Row("mse reduce", lambda F, x, t: F.mse_loss(x, t, reduce=False), PAIR),
    Row("smooth_l1", lambda F, x, t: F.smooth_l1_loss(x, t, beta=0.7), PAIR),
    Row("smooth_l1 beta 0", lambda F, x, t: F.smooth_l1_loss(x, t, beta=0.0, reduction="none"), PAIR),
    Row("huber", lambda F, x, t: F.huber_loss(x, t, delta=0.6), PAIR),
    Row("huber weighted", lambda F, x, t, w: F.huber_loss(x, t, weight=w), (*PAIR, POSITIVE)),
    Row("kl_div", lambda F, x, t: F.kl_div(x, t, reduction="batchmean"), ((5, 4), SHARES)),
    Row("kl_div log", lambda F, x, t: F.kl_div(x, t, reduction="sum", log_target=True), PAIR),
    Row("poisson", lambda F, x, t: F.poisson_nll_loss(x, t, full=True), ((5, 4), POSITIVE * 2)),
    Row("poisson rates", lambda F, x, t: F.poisson_nll_loss(x, t, log_input=False, reduction="sum"), (POSITIVE, POSITIVE * 2)),
    Row("gaussian", lambda F, x, t, v: F.gaussian_nll_loss(x, t, v, full=True), (*PAIR, POSITIVE)),
    Row("gaussian of rows", lambda F, x, t, v: F.gaussian_nll_loss(x, t, v), (*PAIR, POSITIVE[:, :1])),
    Row("soft margin", lambda F, x, t: F.soft_margin_loss(x, t), ((5,), SIGNS * 1.0), fixed=(1,)),
    Row("hinge embedding", lambda F, x, t: F.hinge_embedding_loss(x, t, 0.7), ((5,), SIGNS)),
    Row("margin ranking", lambda F, a, b, t: F.margin_ranking_loss(a, b, t, 0.3), ((5,), (5,), SIGNS)),
    Row("cosine embedding", lambda F, a, b, t: F.cosine_embedding_loss(a, b, t, 0.1), (*PAIR, SIGNS)),
    Row("triplet", lambda F, a, p, n: F.triplet_margin_loss(a, p, n, 0.8, swap=True), (*PAIR, (5, 4))),
    Row("triplet p", lambda F, a, p, n: F.triplet_margin_loss(a, p, n, p=3, reduction="none"), (*PAIR, (5, 4))),
    Row("triplet distance",
        lambda F, a, p, n: F.triplet_margin_with_distance_loss(a, p, n, distance_function=lambda x, y: (x - y).abs().sum(-1)),
        (*PAIR, (5, 4))),
    Row("nll", lambda F, x, t, w: F.nll_loss(x, t, w), (SCORES, CLASSES, WEIGHT), fixed=(2,)),
    Row("nll dense", lambda F, x, t: F.nll_loss(x, t, ignore_index=2, reduction="sum"), (DENSE, np.abs(DENSE_CLASSES) % 3)),
    Row("cross entropy ignored", lambda F, x, t: F.cross_entropy(x, t), (SCORES, CLASSES)),
    Row("cross entropy weighted", lambda F, x, t, w: F.cross_entropy(x, t, w), (SCORES, CLASSES, WEIGHT), fixed=(2,)),
    Row("cross entropy smoothed",
        lambda F, x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.2), (SCORES, CLASSES, WEIGHT), fixed=(2,)),
    Row("cross entropy smoothed ignored", lambda F, x, t: F.cross_entropy(x, t, label_smoothing=0.2), (SCORES, CLASSES)),
    Row("cross entropy dense", lambda F, x, t: F.cross_entropy(x, t, reduction="none"), (DENSE, DENSE_CLASSES)),
    Row("cross entropy soft", lambda F, x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.1), (SCORES, SHARES, WEIGHT)),
    Row("linear cross entropy",
        lambda F, x, w, t, b: F.linear_cross_entropy(x, w, t, linear_bias=b), ((5, 3), (4, 3), CLASSES, (4,))),
    Row("bce", lambda F, x, t, w: F.binary_cross_entropy(x, t, w), (UNIT, SHARES, POSITIVE), fixed=(1, 2)),
    Row("bce with logits",
        lambda F, x, t, w, p: F.binary_cross_entropy_with_logits(x, t, w, pos_weight=p), ((5, 4), BITS, POSITIVE, WEIGHT),
        fixed=(2, 3)),
    Row("multi margin",
        lambda F, x, t, w: F.multi_margin_loss(x, t, 2, 0.9, w), (SCORES, np.abs(CLASSES) % 4, WEIGHT), 1, (2,)),
    Row("multi margin of one", lambda F, x, t: F.multi_margin_loss(x, t, reduction="none"), ((4,), np.array(2)), 1),
    Row("multilabel margin", lambda F, x, t: F.multilabel_margin_loss(x, t), (SCORES, LABELS), 1),
    Row("multilabel soft margin", lambda F, x, t, w: F.multilabel_soft_margin_loss(x, t, w), ((5, 4), BITS, WEIGHT)),
    Row("ctc", lambda F, x, t: F.ctc_loss(F.log_softmax(x, -1), t, (6, 5), (3, 2)), ((6, 2, 4), CTC_TARGETS), 1),
    Row("ctc joined", lambda F, x, t, m, n: F.ctc_loss(F.log_softmax(x, -1), t, m, n, 3, "none"),
        ((6, 2, 4), np.array([1, 0, 2, 2]), np.array([6, 4]), np.array([3, 1])), 1),
    Row("ctc impossible", lambda F, x, t: F.ctc_loss(F.log_softmax(x, -1), t, (3, 5), (3, 2), zero_infinity=True),
        ((6, 2, 4), CTC_TARGETS), 1),
]  # fmt: skip

ACTIVATIONS = [
    Row(name, call, ((3, 4),), 1 if name.startswith("hard") else 2)
    for name, call in (
        ("relu6", lambda F, x: F.relu6(x * 4)), ("hardtanh", lambda F, x: F.hardtanh(x, -0.6, 0.4)),
        ("hardsigmoid", lambda F, x: F.hardsigmoid(x * 3)), ("hardswish", lambda F, x: F.hardswish(x * 3)),
        ("leaky_relu", lambda F, x: F.leaky_relu(x, 0.2)), ("elu", lambda F, x: F.elu(x, 0.7)),
        ("selu", lambda F, x: F.selu(x)), ("celu", lambda F, x: F.celu(x, 0.6)), ("silu", lambda F, x: F.silu(x)),
        ("mish", lambda F, x: F.mish(x)), ("threshold", lambda F, x: F.threshold(x, 0.1, 20.0)),
        ("rrelu", lambda F, x: F.rrelu(x, 0.1, 0.5)), ("gelu tanh", lambda F, x: F.gelu(x, approximate="tanh")),
        ("softplus", lambda F, x: F.softplus(x, 3, 2)), ("logsigmoid", lambda F, x: F.logsigmoid(x)),
        ("hardshrink", lambda F, x: F.hardshrink(x, 0.3)), ("softshrink", lambda F, x: F.softshrink(x, 0.3)),
        ("tanhshrink", lambda F, x: F.tanhshrink(x)), ("softsign", lambda F, x: F.softsign(x)),
        ("glu", lambda F, x: F.glu(x)), ("softmin", lambda F, x: F.softmin(x, 0)),
        ("relu in place", lambda F, x: F.relu(x * 1, inplace=True)), ("elu_", lambda F, x: F.elu_(x * 1, 0.5)),
    )
] + [Row("prelu", lambda F, x, w: F.prelu(x, w), (IMAGE, (4,)))]  # fmt: skip

WINDOWS = [
    Row("conv3d", lambda F, x, w, b: F.conv3d(x, w, b, (1, 2, 1), (1, 0, 2), (2, 1, 1)), (VOLUME, (3, 2, 2, 3, 2), (3,))),
    Row("conv3d groups same", lambda F, x, w: F.conv3d(x, w, padding="same", groups=2), (VOLUME, (4, 1, 3, 2, 3))),
    Row("conv transpose 1d", lambda F, x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1, 2), (SERIES, (4, 3, 3), (6,))),
    Row("conv transpose 3d", lambda F, x, w, b: F.conv_transpose3d(x, w, b, (2, 1, 2), 1, (1, 0, 0), 1, (1, 2, 1)),
        (VOLUME, (2, 3, 3, 2, 3), (3,))),
    Row("conv_tbc", lambda F, x, w, b: F.conv_tbc(x, w, b, 1), ((7, 2, 3), (3, 3, 4), (4,))),
    Row("unfold", lambda F, x: F.unfold(x, (3, 2), (1, 2), 1, (2, 1)), (IMAGE,)),
    Row("fold", lambda F, x: F.fold(x, (4, 5), 2, 1, 1, (2, 1)), ((2, 8, 18),)),
    Row("max pool indices", lambda F, x: F.max_pool2d(x, 3, 2, 1, return_indices=True), (SPREAD,)),
    Row("max pool 1d indices", lambda F, x: F.max_pool1d(x, 2, return_indices=True), (SERIES,)),
    Row("max pool 3d", lambda F, x: F.max_pool3d(x, (2, 2, 3), 2, (1, 0, 1), ceil_mode=True, return_indices=True), (VOLUME,)),
    Row("adaptive max", lambda F, x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True), (IMAGE,)),
    Row("adaptive max 1d", lambda F, x: F.adaptive_max_pool1d(x, 4), (SERIES,)),
    Row("adaptive max 3d", lambda F, x: F.adaptive_max_pool3d(x, (2, None, 4)), (VOLUME,)),
    Row("fractional",
        lambda F, x, s: F.fractional_max_pool2d(x, 2, (3, 4), _random_samples=s), (IMAGE, rng.random((2, 4, 2))),
        fixed=(1,)),
    Row("fractional 3d", lambda F, x, s: F.fractional_max_pool3d(x, (2, 1, 2), output_ratio=(0.5, 0.6, 0.7), _random_samples=s),
        (VOLUME, rng.random((2, 2, 3))), fixed=(1,)),
    Row("unpool", lambda F, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=(7, 6)), (IMAGE,)),
    Row("avg pool divisor", lambda F, x: F.avg_pool2d(x, 3, 2, 1, True, divisor_override=5), (IMAGE,)),
    Row("avg pool 3d", lambda F, x: F.avg_pool3d(x, (2, 2, 3), 2, (1, 0, 1), True, False), (VOLUME,)),
    Row("adaptive avg 1d", lambda F, x: F.adaptive_avg_pool1d(x, 4), (SERIES,)),
    Row("adaptive avg 3d", lambda F, x: F.adaptive_avg_pool3d(x, (2, None, 4)), (VOLUME,)),
    Row("lp pool", lambda F, x: F.lp_pool2d(x * x + 1, 3, (2, 3), 2), (IMAGE,)),
    Row("lp pool 3d", lambda F, x: F.lp_pool3d(x * x + 1, 2, 2), (VOLUME,)),
]  # fmt: skip

SAMPLING = [
    Row(f"{mode} {name}", lambda F, x, mode=mode, named=named: F.interpolate(x, mode=mode, **named), (shape,))
    for mode, shape in (("nearest", IMAGE), ("nearest-exact", SERIES), ("linear", SERIES), ("bilinear", IMAGE),
                        ("bicubic", IMAGE), ("trilinear", VOLUME), ("area", IMAGE))
    for name, named in (("size", {"size": {1: 5, 2: (9, 4), 3: (4, 6, 5)}[len(shape) - 2]}), ("scale", {"scale_factor": 1.7}))
]  # fmt: skip
SAMPLING += [
    Row(f"{mode} corners", lambda F, x, mode=mode: F.interpolate(x, (9, 4), mode=mode, align_corners=True), (IMAGE,))
    for mode in ("bilinear", "bicubic")
]
SAMPLING += [
    Row(f"{mode} antialias", lambda F, x, mode=mode: F.interpolate(x, (3, 8), mode=mode, antialias=True), (IMAGE,), 1)
    for mode in ("bilinear", "bicubic")
]
SAMPLING += [
    Row("recomputed", lambda F, x: F.interpolate(x, scale_factor=0.7, mode="bilinear", recompute_scale_factor=True), (IMAGE,)),
    Row("affine grid", lambda F, x: F.affine_grid(x, (2, 3, 4, 5)), ((2, 2, 3),)),
    Row("affine grid 3d", lambda F, x: F.affine_grid(x, (2, 3, 2, 4, 5), align_corners=True), ((2, 3, 4),)),
    *(Row(f"grid {mode} {padding}",
          lambda F, x, g, m=mode, p=padding, c=corners: F.grid_sample(x, g, m, p, align_corners=c), (IMAGE, GRID),
          1 if mode == "nearest" else 2)
      for mode, padding, corners in (("bilinear", "zeros", False), ("bilinear", "border", True),
                                     ("bilinear", "reflection", False), ("nearest", "reflection", True),
                                     ("bicubic", "zeros", False), ("bicubic", "border", True))),
    Row("grid 3d", lambda F, x, g: F.grid_sample(x, g, align_corners=False), (VOLUME, GRID3)),
    Row("pixel shuffle", lambda F, x: F.pixel_shuffle(x, 2), (IMAGE,)),
    Row("pixel unshuffle", lambda F, x: F.pixel_unshuffle(x, 2), ((3, 4, 6),)),
    Row("channel shuffle", lambda F, x: F.channel_shuffle(x, 2), (IMAGE,), 1),
    Row("pad cut and reflected", lambda F, x: F.pad(x, (-1, 2, 1, -2), "reflect"), (IMAGE,)),
    Row("pad cut and replicated", lambda F, x: F.pad(x, (-7, 3), "replicate"), (SERIES,)),
    Row("pad cut and around", lambda F, x: F.pad(x, (2, -1), "circular"), (SERIES,)),
]  # fmt: skip

OTHERS = [
    Row("instance norm", lambda F, x, w, b: F.instance_norm(x, weight=w, bias=b), (IMAGE, (4,), (4,))),
    Row("local response norm", lambda F, x: F.local_response_norm(x, 3, 0.1), (IMAGE,)),
    Row("local response norm of series", lambda F, x: F.local_response_norm(x, 2, 0.1, 0.5, 2.0), (SERIES,)),
    Row("normalize", lambda F, x: F.normalize(x, 3.0, 0), ((3, 4),)),
    Row("cosine similarity", lambda F, a, b: F.cosine_similarity(a, b, -1), ((3, 4), (2, 1, 4))),
    Row("pairwise distance", lambda F, a, b: F.pairwise_distance(a, b, 3, keepdim=True), ((3, 4), (4,))),
    Row("pdist", lambda F, x: F.pdist(x, 1.5), ((4, 3),), 1),
    Row("bilinear", lambda F, a, b, w, c: F.bilinear(a, b, w, c), ((3, 2), (3, 4), (5, 2, 4), (5,))),
    Row("linear of vectors", lambda F, x, w: F.linear(x, w), ((3, 4), (4,))),
    Row("embedding by frequency", lambda F, w, i: F.embedding(i, w, 2, scale_grad_by_freq=True), (TABLE, INDEX), 1),
    Row("embedding bag padded", lambda F, w, i: F.embedding_bag(i, w, padding_idx=2), (TABLE, INDEX), 1),
    Row("embedding bag offsets", lambda F, w, i, o: F.embedding_bag(i, w, o, padding_idx=0), (TABLE, FLAT, OFFSETS), 1),
    Row("embedding bag last", lambda F, w, i, o: F.embedding_bag(i, w, o, mode="sum", include_last_offset=True),
        (TABLE, FLAT, np.array([0, 3, 3, 7])), 1),
    Row("embedding bag max", lambda F, w, i, o: F.embedding_bag(i, w, o, mode="max"), (TABLE, FLAT, OFFSETS), 1),
    Row("embedding bag weighted",
        lambda F, w, i, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s), (TABLE, FLAT, OFFSETS, (7,)), 1),
    Row("one hot", lambda F, i: F.one_hot(i, 7), (INDEX,)),
    Row("attention heads",
        lambda F, q, k, v, w, b, o: F.multi_head_attention_forward(
            q, k, v, 4, 2, w, b, None, None, True, 0.0, o, None, need_weights=True, average_attn_weights=False
        ),
        ((3, 2, 4), (5, 2, 4), (5, 2, 4), (12, 4), (12,), (4, 4))),
    Row("attention heads with keys",
        lambda F, x, w, k, v, o: F.multi_head_attention_forward(
            x, x, x, 4, 2, w, None, k, v, False, 0.0, o, None, need_weights=False
        )[0],
        ((3, 2, 4), (12, 4), (1, 1, 4), (1, 1, 4), (4, 4)), 1),
]  # fmt: skip

ROWS = [*LOSSES, *ACTIVATIONS, *WINDOWS, *SAMPLING, *OTHERS]
