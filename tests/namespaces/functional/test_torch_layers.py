"""PyTorch's functions of layers at the top level: as those of `nn.functional` and the modules, with their own arguments."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.nn.functional as F
from staticgrad import nn
from staticgrad.functional import torch_layers
from tests.helpers import assert_close

rng = np.random.default_rng(0)


def real(*shape: int) -> sg.Tensor:
    return sg.tensor(rng.standard_normal(shape))


X, IMAGE, WEIGHT = real(4, 6), real(2, 3, 5, 5), real(8, 3, 3, 3)
CLASSES = sg.tensor([0, 2, 1, 1])
SCALE, SHIFT = real(3), real(3)
SIGNS = sg.tensor([1.0, -1.0, 1.0, -1.0])

SAME = {
    "conv2d": (lambda: sg.conv2d(IMAGE, WEIGHT, None, 2, 1), lambda: F.conv2d(IMAGE, WEIGHT, None, 2, 1)),
    "max_pool2d": (lambda: sg.max_pool2d(IMAGE, 2), lambda: F.max_pool2d(IMAGE, 2)),
    "adaptive_max_pool1d": (lambda: sg.adaptive_max_pool1d(X, 2)[0], lambda: F.adaptive_max_pool1d(X, 2)),
    "batch_norm": (
        lambda: sg.batch_norm(IMAGE, SCALE, SHIFT, None, None, True, 0.1, 1e-5, True),
        lambda: F.batch_norm(IMAGE, None, None, SCALE, SHIFT, True, 0.1, 1e-5),
    ),
    "instance_norm": (
        lambda: sg.instance_norm(IMAGE, SCALE, SHIFT, None, None, True, 0.1, 1e-5, True),
        lambda: F.instance_norm(IMAGE, None, None, SCALE, SHIFT, True, 0.1, 1e-5),
    ),
    "layer_norm": (lambda: sg.layer_norm(X, (6,), None, None, 1e-5, True), lambda: F.layer_norm(X, (6,))),
    "group_norm": (lambda: sg.group_norm(IMAGE, 3, SCALE, SHIFT), lambda: F.group_norm(IMAGE, 3, SCALE, SHIFT)),
    "embedding": (lambda: sg.embedding(X, CLASSES), lambda: F.embedding(CLASSES, X)),
    "constant_pad_nd": (lambda: sg.constant_pad_nd(X, (1, 2), 3.0), lambda: F.pad(X, (1, 2), "constant", 3.0)),
    "kl_div": (lambda: sg.kl_div(X, X.softmax(1), 2), lambda: F.kl_div(X, X.softmax(1), reduction="sum")),
    "margin_ranking_loss": (
        lambda: sg.margin_ranking_loss(X[:, 0], X[:, 1], SIGNS, 0.5, 0),
        lambda: F.margin_ranking_loss(X[:, 0], X[:, 1], SIGNS, 0.5, reduction="none"),
    ),
    "cosine_embedding_loss": (
        lambda: sg.cosine_embedding_loss(X, X * 2 + 1, SIGNS),
        lambda: F.cosine_embedding_loss(X, X * 2 + 1, SIGNS),
    ),
    "hinge_embedding_loss": (
        lambda: sg.hinge_embedding_loss(X[:, 0], SIGNS, 0.5, 1),
        lambda: F.hinge_embedding_loss(X[:, 0], SIGNS, 0.5),
    ),
    "poisson_nll_loss": (
        lambda: sg.poisson_nll_loss(X, X.exp(), True, False, 1e-8, 1),
        lambda: F.poisson_nll_loss(X, X.exp()),
    ),
    "triplet_margin_loss": (
        lambda: sg.triplet_margin_loss(X, X + 1, X * 2, 1.0, 2.0, 1e-6, False, 2),
        lambda: F.triplet_margin_loss(X, X + 1, X * 2, reduction="sum"),
    ),
    "binary_cross_entropy_with_logits": (
        lambda: sg.binary_cross_entropy_with_logits(X, X.sigmoid(), None, X[0].abs(), 1),
        lambda: F.binary_cross_entropy_with_logits(X, X.sigmoid(), pos_weight=X[0].abs()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_as_the_function_of_nn_functional(name):
    mine, expected = SAME[name]
    assert_close(mine(), expected())


@pytest.mark.parametrize(
    ("kind", "name"), [(nn.RNNCell, "rnn_tanh_cell"), (nn.GRUCell, "gru_cell"), (nn.LSTMCell, "lstm_cell")]
)
def test_cells_are_those_of_the_modules(kind, name):
    cell, x = kind(6, 5, dtype=sg.float64), X
    state = (real(4, 5), real(4, 5)) if name == "lstm_cell" else real(4, 5)
    expected = cell(x, state)
    found = getattr(sg, name)(x, state, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    for a, b in zip(found, expected, strict=True) if name == "lstm_cell" else [(found, expected)]:
        assert_close(a, b)


def test_a_cell_compiles_and_differentiates():
    weights = [real(9, 6), real(9, 3)]
    for w in weights:
        w.requires_grad_()

    def loss(x, h):
        return (sg.gru_cell(x, h, *weights) ** 2).sum()

    x, h = X, real(4, 3)
    loss(x, h).backward()
    step = sg.compile(lambda x, h: sg.grad(loss(x, h), weights))
    for found, w in zip(step(x, h), weights, strict=True):
        assert_close(found, w.grad, 1e-12)


def test_a_wrong_reduction_is_refused():
    with pytest.raises(sg.ArgumentError, match=r"^reduction is 0 \(none\), 1 \(mean\) or 2 \(sum\) here, got 3"):
        sg.kl_div(X, X, 3)


@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name in torch_layers.__all__ if name.endswith("_cell")])
def test_cells_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    gates = {"lstm_cell": 4, "gru_cell": 3}.get(name, 1)
    arrays = [rng.standard_normal(shape) for shape in ((gates * 5, 6), (gates * 5, 5), (gates * 5,), (gates * 5,))]
    x, h = rng.standard_normal((4, 6)), rng.standard_normal((2, 4, 5))

    def run(library):
        t = library.tensor
        state = (t(h[0]), t(h[1])) if name == "lstm_cell" else t(h[0])
        found = getattr(library, name)(t(x), state, *map(t, arrays))
        return [part.numpy() for part in (found if name == "lstm_cell" else [found])]

    for a, b in zip(run(sg), run(torch), strict=True):
        assert_close(a, b, 1e-12)
