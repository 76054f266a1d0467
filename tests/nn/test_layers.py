"""Layers and first values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.errors import ArgumentError, ShapeError
from staticgrad.nn import functional as F
from tests.helpers import assert_close

X = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
X4 = (2, 3, 4, 5)

LAYERS = [
    (nn.ReLU(), lambda x: np.maximum(x, 0)),
    (nn.Tanh(), np.tanh),
    (nn.Sigmoid(), lambda x: 1 / (1 + np.exp(-x))),
    (nn.Softmax(0), lambda x: np.exp(x) / np.exp(x).sum(0)),
    (nn.Softmax(-1), lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    (nn.Identity(1, unused=True), lambda x: x),
    (nn.Flatten(0), lambda x: x.reshape(-1)),
    (nn.Flatten(), lambda x: x),
    (nn.Dropout(0.5).eval(), lambda x: x),
    (nn.Dropout(1.0), lambda x: x * 0),
]


@pytest.mark.parametrize(("layer", "expected"), LAYERS, ids=[repr(layer) for layer, _ in LAYERS])
def test_layer(layer, expected):
    out = layer(sg.tensor(X))
    assert out.dtype == np.float32
    np.testing.assert_allclose(out.numpy(), expected(X), rtol=1e-6, atol=1e-7)


def test_flatten_keeps_leading_axes():
    assert nn.Flatten()(sg.ones(2, 3, 4)).shape == (2, 12)
    assert nn.Flatten(2)(sg.ones(2, 3, 4, 5)).shape == (2, 3, 20)
    assert nn.Flatten()(sg.ones(2)).shape == (2,)


LOSSES = [
    (nn.MSELoss(), X, X * 2, (X**2).mean()),
    (nn.L1Loss(reduction="sum"), X, X * 2, np.abs(X).sum()),
    (nn.CrossEntropyLoss(), np.zeros((2, 4), np.float32), np.array([1, 3]), math.log(4)),
    (nn.CrossEntropyLoss(label_smoothing=0.3), np.zeros((2, 4), np.float32), np.array([1, 3]), math.log(4)),
    (nn.NLLLoss(reduction="sum"), -np.ones((2, 4), np.float32), np.array([1, 3]), 2.0),
    (nn.BCEWithLogitsLoss(), np.zeros(3, np.float32), np.ones(3, np.float32), math.log(2)),
]


@pytest.mark.parametrize(("loss", "x", "target", "expected"), LOSSES, ids=[repr(row[0]) for row in LOSSES])
def test_loss(loss, x, target, expected):
    assert loss(sg.tensor(x), sg.tensor(target)).item() == pytest.approx(expected, rel=1e-6)


def test_linear():
    layer = nn.Linear(4, 2)
    w, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    assert w.shape == (2, 4)
    np.testing.assert_allclose(layer(sg.tensor(X)).detach().numpy(), X @ w.T + b, rtol=1e-6)
    assert nn.Linear(4, 2, bias=False).bias is None
    assert list(nn.Linear(4, 2, bias=False).state_dict()) == ["weight"]
    assert nn.Linear(0, 2)(sg.ones(3, 0)).tolist() == [[0, 0]] * 3


def test_linear_starts_as_pytorch_does():
    sg.manual_seed(3)
    layer = nn.Linear(100, 50)
    bound = 1 / math.sqrt(100)
    sg.manual_seed(3)
    np.testing.assert_array_equal(layer.weight.detach().numpy(), (sg.rand(50, 100) * (2 * bound) - bound).numpy())
    np.testing.assert_array_equal(layer.bias.detach().numpy(), (sg.rand(50) * (2 * bound) - bound).numpy())
    assert np.abs(layer.weight.detach().numpy()).max() == pytest.approx(bound, rel=1e-2)
    sg.manual_seed(3)
    np.testing.assert_array_equal(nn.Linear(100, 50).weight.detach().numpy(), layer.weight.detach().numpy())


def test_layers_made_inside_a_graph_have_values():
    sg.manual_seed(3)
    outside = nn.Linear(3, 2)
    sg.manual_seed(3)
    with sg.Graph().as_default():
        inside = nn.Linear(3, 2)
    np.testing.assert_array_equal(inside.weight.detach().numpy(), outside.weight.detach().numpy())


SHAPE = (200, 100)
FANS = {"fan_in": 100, "fan_out": 200}
INITS = [
    # fill, mean, standard deviation, largest magnitude
    (lambda t: nn.init.uniform_(t, -2, 4), 1, 6 / math.sqrt(12), 4),
    (lambda t: nn.init.normal_(t, 1, 0.5), 1, 0.5, None),
    (nn.init.zeros_, 0, 0, 0),
    (nn.init.ones_, 1, 0, 1),
    (lambda t: nn.init.constant_(t, 3.5), 3.5, 0, 3.5),
    (nn.init.xavier_uniform_, 0, math.sqrt(2 / 300), math.sqrt(6 / 300)),
    (lambda t: nn.init.xavier_uniform_(t, gain=2), 0, 2 * math.sqrt(2 / 300), 2 * math.sqrt(6 / 300)),
    (nn.init.xavier_normal_, 0, math.sqrt(2 / 300), None),
    (nn.init.kaiming_uniform_, 0, math.sqrt(2 / 100), math.sqrt(6 / 100)),
    (lambda t: nn.init.kaiming_uniform_(t, a=math.sqrt(5)), 0, 1 / math.sqrt(300), 1 / math.sqrt(100)),
    (lambda t: nn.init.kaiming_uniform_(t, mode="fan_out", nonlinearity="relu"), 0, 0.1, math.sqrt(6 / 200)),
    (lambda t: nn.init.kaiming_normal_(t, nonlinearity="linear"), 0, 0.1, None),
]


@pytest.mark.parametrize(("fill", "mean", "deviation", "largest"), INITS)
def test_init(fill, mean, deviation, largest):
    sg.manual_seed(0)
    t = nn.Parameter(np.full(SHAPE, np.nan))
    assert fill(t) is t
    values = t.detach().numpy()
    assert t.requires_grad
    assert t.is_leaf
    assert values.dtype == np.float64
    assert values.mean() == pytest.approx(mean, abs=4 * deviation / math.sqrt(values.size) + 1e-12)
    assert values.std() == pytest.approx(deviation, rel=0.03, abs=1e-12)
    if largest is not None:
        assert np.abs(values).max() <= largest
        assert np.abs(values).max() == pytest.approx(largest, rel=1e-2)


def test_init_errors():
    with pytest.raises(ShapeError, match="Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"):
        nn.init.xavier_uniform_(sg.zeros(3))
    with pytest.raises(ArgumentError, match="Unsupported nonlinearity swish"):
        nn.init.calculate_gain("swish")
    with pytest.raises(ArgumentError, match="Mode fan_avg not supported"):
        nn.init.kaiming_uniform_(sg.zeros(3, 3), mode="fan_avg")


def test_convolutional_fans():
    assert nn.init.fans(sg.zeros(8, 4, 3, 3)) == (36, 72)


@pytest.mark.oracle
def test_layers_against_torch():
    torch = pytest.importorskip("torch")
    ours = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3), nn.Softmax(-1))
    theirs = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3), torch.nn.Softmax(-1))
    ours.load_state_dict({name: p.detach().numpy() for name, p in theirs.named_parameters()})
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    np.testing.assert_allclose(ours(sg.tensor(X)).detach().numpy(), theirs(torch.tensor(X)).detach().numpy(), rtol=1e-5)


@pytest.mark.parametrize(("start", "end", "shape"), [(1, 2, (2, 12, 5)), (0, 1, (6, 4, 5)), (-3, -2, (2, 12, 5)), (2, 2, X4)])
def test_flatten_between_axes(start, end, shape):
    """Axes that are not joined may have unknown extents."""
    x = np.arange(120.0).reshape(X4)
    assert_close(nn.Flatten(start, end)(sg.tensor(x)), x.reshape(shape))
    with sg.Graph().as_default(), sg.Session() as sess:
        fed = sg.placeholder(sg.float64, (None, 3, 4, 5) if start else (2, 3, 4, None))
        assert_close(sess.run(nn.Flatten(start, end)(fed), {fed: x}), x.reshape(shape))


def test_flatten_refuses_what_it_cannot_join():
    with pytest.raises(ArgumentError, match="start_dim cannot come after end_dim"):
        nn.Flatten(2, 1)(sg.ones(2, 3, 4, 5))
    with sg.Graph().as_default(), pytest.raises(ShapeError, match="an extent to join is unknown"):
        nn.Flatten(1, 2)(sg.placeholder(sg.float32, (2, None, 4, 5)))


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_an_axis_that_is_left_out_is_warned_of(name):
    function = getattr(F, name)
    for shape, axis in (((3,), 0), ((2, 3), 1), ((2, 3, 4), 0)):
        x = sg.randn(*shape)
        with pytest.warns(UserWarning, match=f"^Implicit dimension choice for {name} has been deprecated") as caught:
            found = function(x)
        assert caught[0].filename == __file__
        assert_close(found, function(x, dim=axis))
