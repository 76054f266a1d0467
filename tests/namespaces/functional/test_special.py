"""`nn.functional` beyond values: in-place activations, random ones, tables that are changed, errors, corner cases."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import staticgrad as sg
from staticgrad.errors import ArgumentError, DTypeError, GradientError, GraphError, IndexRangeError, ShapeError
from staticgrad.nn import functional as F
from tests.helpers import raised

X = np.random.default_rng(0).normal(size=(3, 4)) * 2

# in place -------------------------------------------------------------------------------------------------------------

CHANGING: dict[str, Callable[..., Any]] = {
    "relu": lambda x: F.relu(x, inplace=True),
    "relu_": lambda x: F.relu_(x),
    "elu": lambda x: F.elu(x, 0.5, True),
    "elu_": lambda x: F.elu_(x, 0.5),
    "silu": lambda x: F.silu(x, inplace=True),
    "mish": lambda x: F.mish(x, True),
    "hardswish": lambda x: F.hardswish(x, True),
    "threshold_": lambda x: F.threshold_(x, 0.1, 2.0),
    "hardtanh_": lambda x: F.hardtanh_(x, -0.5, 0.5),
    "selu_": lambda x: F.selu_(x),
    "celu_": lambda x: F.celu_(x, 0.7),
    "leaky_relu_": lambda x: F.leaky_relu_(x, 0.2),
    "dropout": lambda x: F.dropout(x, 0.5, True, True),
}


@pytest.mark.parametrize("through_a_view", [False, True])
@pytest.mark.parametrize("name", CHANGING)
def test_the_input_takes_over_the_result(name: str, through_a_view: bool):
    """The tensor, and the one whose memory it shares, in eager mode and compiled; gradients are those of the function."""
    plain = getattr(F, name.rstrip("_"))
    settings: dict[str, tuple[Any, ...]] = {
        "elu": (0.5,), "threshold": (0.1, 2.0), "hardtanh": (-0.5, 0.5), "celu": (0.7,), "leaky_relu": (0.2,),
        "dropout": (0.5, True),
    }  # fmt: skip

    def changed(x):
        y = x * 1
        part = y.reshape(12) if through_a_view else y
        result = CHANGING[name](part)
        assert result is part
        return y, *sg.grad((y * y).sum(), [x])

    def fresh(x):
        y = plain(x * 1, *settings.get(name.rstrip("_"), ()))
        return y, *sg.grad((y * y).sum(), [x])

    sg.manual_seed(3)
    wanted = [v.detach().numpy() for v in fresh(sg.tensor(X, requires_grad=True))]
    for run in (changed, sg.compile(changed)):
        sg.manual_seed(3)
        found = run(sg.tensor(X, requires_grad=True))
        for mine, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine.detach().numpy(), other, rtol=1e-12, atol=1e-14)


def test_a_leaf_that_requires_grad_is_not_changed():
    with pytest.raises(GradientError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        F.relu_(sg.tensor(X, requires_grad=True))


def test_a_symbol_of_a_graph_gives_a_new_one():
    with sg.Graph().as_default(), sg.Session() as sess:
        x = sg.placeholder(np.float64, [3, 4])
        y = F.elu(x, inplace=True)
        np.testing.assert_allclose(sess.run(y, {x: X}), np.where(X > 0, X, np.expm1(X)))


# random ---------------------------------------------------------------------------------------------------------------

DRAWN: dict[str, Callable[..., Any]] = {
    "rrelu": lambda x: F.rrelu(x, 0.1, 0.3, True),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x, 0.7),
    "gumbel_softmax hard": lambda x: F.gumbel_softmax(x, hard=True, dim=0),
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.4, True),
    "feature_alpha_dropout": lambda x: F.feature_alpha_dropout(F.relu(x)[:, :, None] + np.zeros(5), 0.4, True),
    "dropout1d": lambda x: F.dropout1d(x[:, :, None] + np.zeros(5), 0.4),
    "dropout2d": lambda x: F.dropout2d(x[:, :, None, None] + np.zeros((2, 5)), 0.4),
    "dropout3d": lambda x: F.dropout3d(x[:, :, None, None, None] + np.zeros((2, 1, 3)), 0.4),
}


@pytest.mark.parametrize("name", DRAWN)
def test_the_same_numbers_compiled(name: str):
    def run(x):
        y = DRAWN[name](x)
        return y, *sg.grad((y * y).sum(), [x])

    results = []
    for function in (run, sg.compile(run)):
        sg.manual_seed(7)
        results.append([v.detach().numpy() for v in function(sg.tensor(X, requires_grad=True))])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_what_random_functions_draw():
    sg.manual_seed(0)
    ones = sg.ones((100, 50, 3))
    channels = F.dropout1d(ones, 0.25).numpy()
    assert set(np.unique(channels.sum(2))) == {0.0, 4.0}
    assert abs((channels == 0).mean() - 0.25) < 0.03
    x = sg.randn(200_000)
    y = F.alpha_dropout(x, 0.3, training=True).numpy()
    assert abs(y.mean()) < 0.01
    assert abs(y.var() - 1) < 0.02
    assert F.alpha_dropout(x, 0.3) is x
    hard = F.gumbel_softmax(sg.zeros((2000, 4)), hard=True).numpy()
    assert set(np.unique(hard)) == {0.0, 1.0}
    assert np.abs(hard.mean(0) - 0.25).max() < 0.04
    slopes = F.rrelu(-sg.ones(10_000), 0.2, 0.6, True).numpy()
    assert slopes.min() < -0.59
    assert slopes.max() > -0.21
    assert abs(slopes.mean() + 0.4) < 0.01


# tables ---------------------------------------------------------------------------------------------------------------


def test_rows_that_are_named_are_scaled_to_the_largest_norm():
    table = sg.tensor(np.array([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]), requires_grad=True)
    rows = F.embedding(sg.tensor([0, 1, 0]), table, max_norm=1.0)
    np.testing.assert_allclose(rows.detach().numpy(), [[0.6, 0.8], [0.3, 0.4], [0.6, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(table.detach().numpy(), [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]], rtol=1e-6)
    rows.sum().backward()
    np.testing.assert_array_equal(table.grad.numpy(), [[2, 2], [1, 1], [0, 0]])


def test_no_table_of_a_graph_is_scaled():
    with sg.Graph().as_default(), pytest.raises(GraphError, match="embedding: max_norm changes the weight in place"):
        F.embedding(sg.placeholder(np.int64, [2]), sg.ones((3, 2)), max_norm=1.0)


# references -----------------------------------------------------------------------------------------------------------


def alignments(scores: np.ndarray, target: list[int], blank: int) -> float:
    """The likelihood of a target, summed over all paths one by one."""
    total = -np.inf
    for path in np.ndindex(*scores.shape[1:] * len(scores)):
        kept = [label for i, label in enumerate(path) if i == 0 or label != path[i - 1]]
        if [label for label in kept if label != blank] == target:
            total = np.logaddexp(total, scores[np.arange(len(scores)), list(path)].sum())
    return -float(total)


@pytest.mark.parametrize("target", [[1, 2], [1, 1], [2], []])
def test_ctc_sums_over_all_alignments(target: list[int]):
    scores = scipy.special.log_softmax(np.random.default_rng(1).normal(size=(4, 3)), 1)
    padded = sg.tensor(np.array([*target, 0, 0][: max(len(target), 1)]), dtype=sg.int64)
    loss = F.ctc_loss(sg.tensor(scores), padded, sg.tensor(4), sg.tensor(len(target)), reduction="none")
    assert loss.item() == pytest.approx(alignments(scores, target, 0), rel=1e-10)


def test_ctc_of_impossible_targets():
    scores = sg.tensor(np.log(np.full((2, 1, 3), 1 / 3)), requires_grad=True)
    given = (sg.tensor([[1, 1]]), sg.tensor([2]), sg.tensor([2]))
    assert F.ctc_loss(scores, *given).item() == math.inf
    loss = F.ctc_loss(scores, *given, zero_infinity=True)
    loss.backward()
    assert loss.item() == 0
    assert not scores.grad.numpy().any()


def test_references_of_scipy():
    x, t = X, np.random.default_rng(2).random((3, 4))
    assert F.poisson_nll_loss(sg.tensor(x), sg.tensor(t)).item() == pytest.approx((np.exp(x) - t * x).mean())
    assert F.kl_div(sg.tensor(np.log(t + 0.1)), sg.tensor(t), reduction="sum").item() == pytest.approx(
        (scipy.special.xlogy(t, t) - t * np.log(t + 0.1)).sum()
    )
    gelu = x * scipy.special.ndtr(x)
    np.testing.assert_allclose(F.gelu(sg.tensor(x)).numpy(), gelu, rtol=1e-12)
    huber = scipy.special.huber(0.7, x)
    np.testing.assert_allclose(
        F.huber_loss(sg.tensor(x), sg.zeros((3, 4), dtype=sg.float64), "none", 0.7).numpy(), huber, rtol=1e-12
    )
    from scipy.spatial import distance

    np.testing.assert_allclose(F.pdist(sg.tensor(x), 3).numpy(), distance.pdist(x, "minkowski", p=3), rtol=1e-12)


def test_extreme_probabilities_have_finite_losses():
    p = sg.tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True)
    loss = F.binary_cross_entropy(p, sg.tensor([0.0, 1.0, 1.0, 0.0]), reduction="none")
    np.testing.assert_allclose(loss.detach().numpy(), [0, 0, 100, 100])
    loss.sum().backward()
    assert np.isfinite(p.grad.numpy()).all()


def test_values_that_are_no_probabilities_or_variances():
    """Refused where values are at hand."""
    target = sg.tensor([0.0, 1.0])
    loss = sg.compile(lambda p: F.binary_cross_entropy(p, target))
    for values in ([0.5, 1.5], [-0.1, 0.5], [0.5, math.nan]):
        p = sg.tensor(values, requires_grad=True)
        for reduction in ("none", "mean", "sum"):
            with raised(sg.ArgumentError, "all elements of input should be between 0 and 1"):
                F.binary_cross_entropy(p, target, reduction=reduction)
        assert math.isnan(loss(p).item())
    weight = sg.tensor([math.nan, 1.0])
    assert math.isnan(F.binary_cross_entropy(sg.tensor([0.5, 1.0]), target, weight).item())
    for variance in (sg.tensor([1.0, -1.0]), np.array([1.0, -1.0], "float32"), -1.0):
        with raised(sg.ArgumentError, "var has negative entry/entries"):
            F.gaussian_nll_loss(target, target, variance)


def test_all_targets_ignored():
    z = sg.tensor(X, requires_grad=True)
    ignored = sg.tensor([-100, -100, -100])
    assert math.isnan(F.cross_entropy(z, ignored).item())
    assert F.cross_entropy(z, ignored, reduction="sum").item() == 0
    F.cross_entropy(z, ignored, reduction="sum").backward()
    assert not z.grad.numpy().any()


def test_scores_of_ignored_samples_may_be_anything():
    z = sg.tensor([[1.0, 2.0], [math.inf, math.nan]], requires_grad=True)
    loss = F.cross_entropy(z, sg.tensor([0, -100]))
    assert loss.item() == pytest.approx(math.log1p(math.e))


def test_number_of_classes_from_the_largest():
    assert F.one_hot(sg.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert F.one_hot(sg.tensor([0, 2])).dtype == sg.int64


# errors ---------------------------------------------------------------------------------------------------------------

ONES, LABELS = sg.ones((3, 4)), sg.tensor([0, 1, 2])
ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: F.mse_loss(ONES, ONES, "sum"), ArgumentError, "size_average has to be True, False or None, got 'sum'"),
    (lambda: F.mse_loss(ONES, ONES, weight=sg.ones(4)), ShapeError, "Weights and input must have the same size."),
    (lambda: F.smooth_l1_loss(ONES, ONES, beta=-1.0), ArgumentError, "smooth_l1_loss does not support negative values"),
    (lambda: F.huber_loss(ONES, ONES, delta=0), ArgumentError, "huber_loss does not support non-positive values for delta"),
    (lambda: F.gaussian_nll_loss(ONES, ONES, -1.0), ArgumentError, "var has negative entry/entries"),
    (lambda: F.gaussian_nll_loss(ONES, ONES, sg.ones(2)), ArgumentError, "var is of incorrect size"),
    (lambda: F.nll_loss(ONES, LABELS, sg.ones(3)), ShapeError, "weight tensor should be defined either for all or no"),
    (lambda: F.cross_entropy(ONES, LABELS, ignore_index=0.5), ArgumentError, "cross_entropy: ignore_index has to be"),
    (lambda: F.multi_margin_loss(ONES, LABELS, 3), ArgumentError, "only p == 1 and p == 2 supported"),
    (lambda: F.multi_margin_loss(ONES, sg.tensor([0, 1, 4])), IndexRangeError, "Target 4 is out of bounds."),
    (lambda: F.multilabel_margin_loss(ONES, LABELS), ShapeError, "inconsistent target size"),
    (lambda: F.triplet_margin_loss(ONES, ONES, ONES, 0), ArgumentError, "margin must be greater than 0, got 0"),
    (lambda: F.cosine_embedding_loss(ONES, ONES, sg.ones((3, 1))), ShapeError, "0D or 1D target tensor expected"),
    (lambda: F.margin_ranking_loss(ONES, ONES, LABELS), ShapeError, "margin_ranking_loss : All input tensors should have same"),
    (lambda: F.ctc_loss(sg.ones((4, 1, 3)), sg.tensor([[1]]), [5], [1]), ArgumentError, "Expected input_lengths to have value"),
    (lambda: F.ctc_loss(sg.ones((4, 1, 3)), sg.tensor([[1]]), [4], [1], 3), ArgumentError, "blank must be in label range"),
    (lambda: F.glu(sg.ones((2, 3))), ShapeError, "Halving dimension must be even, but dimension 1 is size 3"),
    (lambda: F.softshrink(ONES, -1), ArgumentError, "lambda must be greater or equal to 0"),
    (lambda: F.prelu(ONES, sg.ones(3)), ShapeError, "Mismatch of parameter numbers and input channel size."),
    (lambda: F.rrelu(ONES, 0.5, 0.1), ArgumentError, "Lower bound should be less than or equal to the upper bound"),
    (lambda: F.conv3d(sg.ones((1, 2, 3, 3, 3)), sg.ones((1, 3, 1, 1, 1))), ShapeError, "Given groups=1, weight of size"),
    (lambda: F.conv3d(sg.ones((1, 2, 3, 3)), sg.ones((1, 2, 3, 3))), ShapeError, "conv3d: the weight needs 5 axes"),
    (lambda: F.fold(sg.ones((1, 8, 3)), 3, 2), ShapeError, "Given output_size=(3, 3)"),
    (lambda: F.unfold(sg.ones((1, 1, 2, 2)), 3), ShapeError, "Given input with spatial size (2, 2)"),
    (lambda: F.max_unpool2d(sg.ones((1, 2, 2)), sg.zeros((1, 2, 2), dtype=sg.int64), 2, output_size=(9, 4)), ArgumentError,
     "invalid output_size [9, 4]"),
    (lambda: F.avg_pool2d(sg.ones((1, 4, 4)), 2, divisor_override=0), ArgumentError, "divisor must be not zero"),
    (lambda: F.interpolate(sg.ones((1, 1, 4)), 2, mode="bilinear"), ShapeError, "interpolate: mode 'bilinear'"),
    (lambda: F.interpolate(sg.ones((1, 1, 4, 4), dtype=sg.int32), 2, mode="bilinear"), DTypeError, "not implemented for int32"),
    (lambda: F.interpolate(sg.ones((1, 1, 4), dtype=sg.uint8), 2, mode="linear"), DTypeError, "is not implemented for uint8"),
    (lambda: F.interpolate(sg.ones((1, 1, 4)), 2, 2.0), ArgumentError, "only one of size or scale_factor should be defined"),
    (lambda: F.interpolate(sg.ones((1, 1, 4)), 2, align_corners=True), ArgumentError, "align_corners option can only be set"),
    (lambda: F.interpolate(sg.ones((1, 1, 4)), 2, antialias=True), ArgumentError, "Anti-alias option is restricted to"),
    (lambda: F.grid_sample(sg.ones((1, 1, 4, 4)), sg.ones((1, 2, 2, 3))), ShapeError, "grid_sampler(): expected input"),
    (lambda: F.grid_sample(sg.ones((1, 1, 4, 4)), sg.ones((1, 2, 2, 2)), "cubic"), ArgumentError, "nn.functional.grid_sample"),
    (lambda: F.affine_grid(sg.ones((1, 2, 3)), (1, 1, 2)), ShapeError, "affine_grid only supports 4D and 5D sizes"),
    (lambda: F.pixel_shuffle(sg.ones((1, 3, 2, 2)), 2), ShapeError, "pixel_shuffle: channels have to be a multiple of 4"),
    (lambda: F.instance_norm(sg.ones((1, 2))), ShapeError, "instance_norm: expected (n, c, ...)"),
    (lambda: F.instance_norm(sg.ones((2, 2, 1))), ArgumentError, "Expected more than 1 spatial element when training"),
    (lambda: F.pdist(sg.ones(3)), ShapeError, "pdist only supports 2D tensors"),
    (lambda: F.embedding_bag(sg.tensor([[0]]), ONES, mode="max", per_sample_weights=sg.ones((1, 1))), ArgumentError,
     "embedding_bag: per_sample_weights was not None."),
    (lambda: F.one_hot(sg.tensor([3]), 3), IndexRangeError, "index 3 is out of range"),
    (lambda: F.dropout2d(ONES, 2.0), ArgumentError, "dropout probability has to be between 0 and 1, but got 2.0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS, ids=[row[2][:40] for row in ERRORS])
def test_error(call: Callable[[], Any], kind: type[Exception], text: str):
    with pytest.raises(kind, match=re.escape(text)) as caught:
        call()
    assert "test_special.py" in str(caught.value)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize(
    ("pool", "touched"),
    [
        (lambda x: F.avg_pool2d(x, 2), 1),
        (lambda x: F.avg_pool2d(x, 3, stride=1, padding=1), 9),
        (lambda x: F.adaptive_avg_pool2d(x, 3), 1),
        (lambda x: F.avg_pool1d(x[0], 2), 1),
    ],
)
def test_a_special_value_stays_in_its_windows(pool: Any, touched: int, value: float):
    x = np.ones((1, 1, 6, 6))
    x[0, 0, 2, 2] = value
    x = sg.tensor(x, requires_grad=True)
    out = pool(x)
    special = ~np.isfinite(out.detach().numpy())
    assert special.sum() == touched
    out.backward(sg.tensor(np.where(special, value, 1.0)))
    assert 0 < np.isfinite(x.grad.numpy()).sum() < 36


BYTES: list[tuple[dict[str, Any], list[list[int]]]] = [
    ({"scale_factor": 2, "mode": "bilinear"},
     [[0, 64, 191, 192, 66, 3], [25, 67, 151, 158, 88, 52], [75, 74, 70, 89, 131, 151], [100, 77, 30, 55, 152, 200]]),
    ({"size": (3, 5), "mode": "bicubic"}, [[0, 123, 255, 119, 0], [55, 84, 131, 119, 110], [118, 44, 0, 118, 238]]),
    ({"size": (1, 2), "mode": "bilinear", "antialias": True}, [[81, 113]]),
    ({"size": (3, 2), "mode": "bicubic", "antialias": True}, [[102, 99], [80, 115], [57, 131]]),
    ({"size": (3, 5), "mode": "bilinear", "align_corners": True},
     [[0, 128, 255, 129, 3], [50, 91, 131, 117, 102], [100, 54, 7, 104, 200]]),
]  # fmt: skip
"""Arguments, and what PyTorch 2.13 makes of an image of bytes."""


@pytest.mark.parametrize(("named", "expected"), BYTES, ids=range(len(BYTES)))
def test_interpolated_bytes_are_rounded_as_in_pytorch(named, expected):
    x = sg.tensor([[[[0, 255, 3], [100, 7, 200]]]], dtype=sg.uint8)
    for f in (F.interpolate, sg.compile(F.interpolate)):
        found = f(x, **named)
        assert found.dtype == sg.uint8
        assert found[0, 0].tolist() == expected


@pytest.mark.oracle
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_interpolated_bytes_of_random_images(torch, mode: str, antialias: bool):
    rng = np.random.default_rng(0)
    for shape in ((1, 3, 8, 9), (2, 1, 5, 7)):
        image = rng.integers(0, 256, shape).astype(np.uint8)
        for size in ((4, 4), (13, 11), (8, 20)):
            for corners in (False, True):
                named = {"size": size, "mode": mode, "antialias": antialias, "align_corners": corners}
                expected = torch.nn.functional.interpolate(torch.tensor(image), **named)
                np.testing.assert_array_equal(F.interpolate(sg.tensor(image), **named).numpy(), expected.numpy())


@pytest.mark.parametrize(
    "f",
    [
        lambda x: F.adaptive_max_pool1d(x, 2), lambda x: F.adaptive_max_pool2d(x[None], 2), lambda x: F.max_pool1d(x, 2),
        lambda x: F.fractional_max_pool2d(x[None], 2, output_size=1), lambda x: F.prelu(x, sg.tensor([0.25], dtype=sg.float64)),
    ],
)  # fmt: skip
def test_second_gradients_of_piecewise_linear_functions_are_zero(f):
    x = sg.tensor(np.arange(12.0).reshape(1, 3, 4) - 5, requires_grad=True)

    def twice(x):
        (g,) = sg.grad(f(x).sum(), x, create_graph=True)
        return sg.grad(g.sum(), x)[0]

    for run in (twice, sg.compile(twice)):
        assert run(x).tolist() == np.zeros((1, 3, 4)).tolist()
