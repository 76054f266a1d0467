"""Losses: values against NumPy, gradients against differences, errors, and the same values in a graph."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.functional as F
from staticgrad import nn
from staticgrad.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from staticgrad.functional import checks

rng = np.random.default_rng(0)
N, C = 5, 3
Z = rng.normal(size=(N, C))
Y = np.array([0, 2, 1, 1, 0])
P = rng.dirichlet(np.ones(C), size=N)
Z4 = rng.normal(size=(N, C, 2))
Y4 = rng.integers(0, C, size=(N, 2))
A, B = rng.normal(size=(N, C)), rng.normal(size=(N, C))
T01 = (rng.random((N, C)) > 0.5).astype(np.float64)


def log_softmax(z: np.ndarray, axis: int) -> np.ndarray:
    shifted = z - z.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def picked(z: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return np.take_along_axis(z, np.expand_dims(y, axis), axis).squeeze(axis)


def smoothed(z: np.ndarray, y: np.ndarray, e: float) -> np.ndarray:
    target = (1 - e) * np.eye(C)[y] + e / C
    return -(target * log_softmax(z, 1)).sum(1)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def bce(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    return -(t * np.log(sigmoid(x)) + (1 - t) * np.log(1 - sigmoid(x)))


def smooth(e: float):
    return lambda z, y, reduction: F.cross_entropy(z, y, reduction=reduction, label_smoothing=e)


LOSSES = [
    # name, function, operands, unreduced value in NumPy
    ("mse", F.mse_loss, (A, B), lambda x, t: (x - t) ** 2),
    ("l1", F.l1_loss, (A, B), lambda x, t: np.abs(x - t)),
    ("nll", F.nll_loss, (Z, Y), lambda z, y: -picked(z, y, 1)),
    ("nll (N, C, d)", F.nll_loss, (Z4, Y4), lambda z, y: -picked(z, y, 1)),
    ("cross_entropy", F.cross_entropy, (Z, Y), lambda z, y: -picked(log_softmax(z, 1), y, 1)),
    ("cross_entropy int32", F.cross_entropy, (Z, Y.astype(np.int32)), lambda z, y: -picked(log_softmax(z, 1), y, 1)),
    ("cross_entropy uint8", F.cross_entropy, (Z, Y.astype(np.uint8)), lambda z, y: -picked(log_softmax(z, 1), y, 1)),
    ("cross_entropy (N, C, d)", F.cross_entropy, (Z4, Y4), lambda z, y: -picked(log_softmax(z, 1), y, 1)),
    ("cross_entropy (C,)", F.cross_entropy, (Z[0], Y[0]), lambda z, y: -log_softmax(z, 0)[y]),
    ("cross_entropy probabilities", F.cross_entropy, (Z, P), lambda z, p: -(p * log_softmax(z, 1)).sum(1)),
    ("cross_entropy smoothed", smooth(0.1), (Z, Y), lambda z, y: smoothed(z, y, 0.1)),
    ("cross_entropy smoothed probabilities", smooth(0.2), (Z, P),
     lambda z, p: -((0.8 * p + 0.2 / C) * log_softmax(z, 1)).sum(1)),
    ("bce with logits", F.binary_cross_entropy_with_logits, (A, T01), bce),
    ("bce with logits, soft", F.binary_cross_entropy_with_logits, (A, sigmoid(B)), bce),
]  # fmt: skip
ids = [row[0] for row in LOSSES]
REDUCE = {"mean": np.mean, "sum": np.sum, "none": lambda v: v}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("name", "fn", "operands", "expected"), LOSSES, ids=ids)
def test_value(name, fn, operands, expected, reduction):
    out = fn(*map(sg.tensor, operands), reduction=reduction)
    np.testing.assert_allclose(out.numpy(), REDUCE[reduction](expected(*operands)), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("name", "fn", "operands", "expected"), LOSSES, ids=ids)
def test_arrays_are_taken(name, fn, operands, expected):
    out = fn(*operands, reduction="sum")
    np.testing.assert_allclose(out.numpy(), expected(*operands).sum(), rtol=1e-12)


@pytest.mark.parametrize(("name", "fn", "operands", "expected"), LOSSES, ids=ids)
def test_float32(name, fn, operands, expected):
    narrow = [a.astype(np.float32) if a.dtype == np.float64 else a for a in map(np.asarray, operands)]
    out = fn(*map(sg.tensor, narrow), reduction="mean")
    assert out.dtype == np.float32
    np.testing.assert_allclose(out.numpy(), expected(*operands).mean(), rtol=2e-5)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("name", "fn", "operands", "expected"), LOSSES, ids=ids)
def test_gradient(name, fn, operands, expected, reduction):
    """Along one random direction of all floating operands, by central differences of the NumPy value."""
    along = [rng.normal(size=np.shape(a)) if np.asarray(a).dtype.kind == "f" else None for a in operands]
    weight = rng.normal(size=np.shape(REDUCE[reduction](expected(*operands))))

    def at(h: float) -> float:
        moved = [a if d is None else a + h * d for a, d in zip(operands, along, strict=True)]
        return float((weight * REDUCE[reduction](expected(*moved))).sum())

    tensors = [sg.tensor(a, requires_grad=d is not None) for a, d in zip(operands, along, strict=True)]
    fn(*tensors, reduction=reduction).backward(sg.tensor(weight))
    slope = sum((t.grad.numpy() * d).sum() for t, d in zip(tensors, along, strict=True) if d is not None)
    assert slope == pytest.approx((at(1e-6) - at(-1e-6)) / 2e-6, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize(("name", "fn", "operands", "expected"), LOSSES, ids=ids)
def test_second_gradient(name, fn, operands, expected):
    """The gradient's derivative along one direction, by central differences of the gradient."""
    x0, rest = np.asarray(operands[0]), operands[1:]
    along, probe = rng.normal(size=x0.shape), rng.normal(size=x0.shape)

    def slope(h: float) -> float:
        x = sg.tensor(x0 + h * along, requires_grad=True)
        (g,) = sg.autograd.grad(fn(x, *rest, reduction="sum"), [x])
        return float((g.numpy() * probe).sum())

    x = sg.tensor(x0, requires_grad=True)
    (g,) = sg.autograd.grad(fn(x, *rest, reduction="sum"), [x], create_graph=True)
    expected_slope = (slope(1e-5) - slope(-1e-5)) / 2e-5
    if not g.requires_grad:  # linear in x
        assert expected_slope == pytest.approx(0, abs=1e-9)
        return
    (gg,) = sg.autograd.grad((g * sg.tensor(probe)).sum(), [x], allow_unused=True)
    got = 0.0 if gg is None else float((gg.numpy() * along).sum())
    assert got == pytest.approx(expected_slope, rel=1e-6, abs=1e-8)


def test_cross_entropy_gradient_is_softmax_minus_onehot():
    z = sg.tensor(Z, requires_grad=True)
    F.cross_entropy(z, sg.tensor(Y), reduction="sum").backward()
    np.testing.assert_allclose(z.grad.numpy(), np.exp(log_softmax(Z, 1)) - np.eye(C)[Y], atol=1e-15)


def test_extremes_stay_finite():
    big = sg.tensor([[1e4, -1e4, 0.0]], dtype=np.float32, requires_grad=True)
    loss = F.cross_entropy(big, sg.tensor([1]))
    loss.backward()
    assert loss.item() == pytest.approx(2e4)
    np.testing.assert_allclose(big.grad.numpy(), [[1.0, -1.0, 0.0]])
    x = sg.tensor([-200.0, 200.0, 0.0], requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, sg.tensor([0.0, 1.0, 1.0]), reduction="sum")
    loss.backward()
    assert loss.item() == pytest.approx(np.log(2))
    np.testing.assert_allclose(x.grad.numpy(), [0.0, 0.0, -0.5], atol=1e-7)  # sigmoid(0) - 1 at 0 too


def test_linear():
    x, w, b = rng.normal(size=(4, 2, 3)), rng.normal(size=(5, 3)), rng.normal(size=5)
    np.testing.assert_allclose(F.linear(x, w, b).numpy(), x @ w.T + b)
    np.testing.assert_allclose(F.linear(sg.tensor(x), sg.tensor(w)).numpy(), x @ w.T)
    np.testing.assert_allclose(F.linear(sg.tensor(x[0, 0]), sg.tensor(w), sg.tensor(b)).numpy(), w @ x[0, 0] + b)


def test_dropout():
    x = sg.ones(1000)
    assert F.dropout(x, 0.5, training=False) is x
    sg.manual_seed(0)
    out = F.dropout(x, 0.25).numpy()
    assert set(np.unique(out)) <= {np.float32(0), np.float32(1 / 0.75)}
    assert 0.2 < (out == 0).mean() < 0.3


ERRORS = [
    # call, class, start of the text, a part of the details
    (lambda: F.mse_loss(sg.tensor([1, 2]), sg.tensor([1, 2])), DTypeError,
     "mse_loss: the input must be floating, got int64", "astype"),
    (lambda: F.mse_loss(sg.ones(3), sg.ones(3), reduction="average"), ArgumentError,
     "'average' is not a valid value for reduction", "mean, sum, none"),
    (lambda: F.cross_entropy(sg.ones(4, 3), sg.tensor([0, 1, 2])), ShapeError,
     "Expected input batch_size (4) to match target batch_size (3).", "cross_entropy: scores (4, 3), target (3,)"),
    (lambda: F.cross_entropy(sg.ones(4, 3), sg.zeros(4, 1, dtype=np.int64)), ShapeError,
     "0D or 1D target tensor expected, multi-target not supported", "target (4, 1)"),
    (lambda: F.cross_entropy(sg.ones(4, 3, 2), sg.zeros(4, 5, dtype=np.int64)), ShapeError,
     "expected target size (4, 2), got (4, 5)", "cross_entropy"),
    (lambda: F.cross_entropy(sg.ones(4, 3), sg.ones(4)), DTypeError,
     "cross_entropy: a target of class indices must be integers, got float32", "class probabilities need"),
    (lambda: F.cross_entropy(sg.ones(2, 2), sg.zeros(2, 2, dtype=np.int64)), DTypeError,
     "Expected floating point type for target with class probabilities, got int64", "class indices have the shape"),
    (lambda: F.cross_entropy(sg.tensor([[1, 2]]), sg.tensor([1])), DTypeError,
     "cross_entropy: the logits must be floating, got int64", "astype"),
    (lambda: F.cross_entropy(sg.ones(2, 3), sg.tensor([1, 3])), IndexRangeError,
     "Target 3 is out of bounds.", "cross_entropy: the classes are 0 to 2"),
    (lambda: F.cross_entropy(sg.ones(2, 3), sg.tensor([1, -1])), IndexRangeError,
     "Target -1 is out of bounds.", "cross_entropy: the classes are 0 to 2"),
    (lambda: F.nll_loss(sg.ones(2, 3), sg.tensor([-5, 0])), IndexRangeError,
     "Target -5 is out of bounds.", "nll_loss"),
    (lambda: F.cross_entropy(sg.tensor(1.0), sg.tensor(0)), ShapeError, "cross_entropy: scores need an axis", ""),
    (lambda: F.cross_entropy(sg.ones(2, 3), sg.tensor([0, 1]), label_smoothing=1.5), ArgumentError,
     "label_smoothing must be between 0.0 and 1.0. Got: 1.5", ""),
    (lambda: F.binary_cross_entropy_with_logits(sg.ones(3), sg.ones(2)), ShapeError,
     "Target size ((2,)) must be the same as input size ((3,))", "does not broadcast"),
    (lambda: F.binary_cross_entropy_with_logits(sg.ones(2), sg.tensor([0, 1])), DTypeError,
     "binary_cross_entropy_with_logits: the target must be floating, got int64", "astype"),
    (lambda: F.linear(sg.ones(5, 7), sg.ones(3, 4)), ShapeError,
     "mat1 and mat2 shapes cannot be multiplied (5x7 and 4x3)", "linear: x (5, 7) needs a last extent of 4"),
    (lambda: F.linear(sg.ones(5, 4), sg.ones(3, 4), sg.ones(4)), ShapeError, "linear: bias (4,) must be (out,)", ""),
    (lambda: F.linear(sg.ones(5, 4), sg.ones(1, 3, 4)), ShapeError, "linear: need x (..., in) and weight (out, in)", ""),
    (lambda: F.dropout(sg.ones(2), 1.5), ArgumentError,
     "dropout probability has to be between 0 and 1, but got 1.5", ""),
]  # fmt: skip


@pytest.mark.parametrize(("call", "cls", "start", "detail"), ERRORS, ids=[row[2][:40] for row in ERRORS])
def test_error(call, cls, start, detail):
    with pytest.raises(cls) as caught:
        call()
    assert caught.value.summary.startswith(start)
    assert detail in str(caught.value)
    assert "test_functional.py" in str(caught.value)


# in a graph, with extents that are not known --------------------------------------------------------------------------


def open_placeholder(array: np.ndarray):
    return sg.placeholder(array.dtype, tuple(None for _ in array.shape))


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize(("name", "fn", "operands", "expected"), LOSSES, ids=ids)
def test_value_and_gradient_in_a_graph(name, fn, operands, expected, reduction):
    arrays = [np.asarray(a) for a in operands]
    with sg.Graph().as_default():
        feeds = [open_placeholder(a) for a in arrays]
        loss = fn(*feeds, reduction=reduction)
        (gradient,) = sg.gradients(loss, [feeds[0]])
        with sg.Session() as sess:
            value, g = sess.run([loss, gradient], dict(zip(feeds, arrays, strict=True)))
    x = sg.tensor(arrays[0], requires_grad=True)
    fn(x, *arrays[1:], reduction=reduction).sum().backward()
    np.testing.assert_allclose(value, REDUCE[reduction](expected(*operands)), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(g, x.grad.numpy(), rtol=1e-12, atol=1e-14)


def test_linear_in_a_graph_of_unknown_batch():
    with sg.Graph().as_default():
        x = sg.placeholder(np.float64, (None, 3))
        y = F.linear(x, np.ones((2, 3)), np.ones(2))
        assert y.shape == (None, 2)
        with pytest.raises(ShapeError, match="mat1 and mat2 shapes cannot be multiplied"):
            F.linear(x, np.ones((2, 4)))
        with sg.Session() as sess:
            np.testing.assert_allclose(sess.run(y, {x: np.ones((4, 3))}), np.full((4, 2), 4.0))


def test_target_out_of_bounds_in_a_graph():
    with sg.Graph().as_default():
        y = sg.placeholder(np.int64, (None,))
        loss = F.cross_entropy(np.zeros((2, 3), np.float32), y)
        with sg.Session() as sess:
            assert sess.run(loss, {y: np.array([0, 2])}) == pytest.approx(np.log(3))
            with pytest.raises(IndexRangeError, match="-1"):
                sess.run(loss, {y: np.array([0, -1])})


# PyTorch --------------------------------------------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("name", "fn", "operands", "expected"), LOSSES, ids=ids)
def test_against_torch(name, fn, operands, expected, reduction):
    torch = pytest.importorskip("torch")
    twins = {
        F.mse_loss: torch.nn.functional.mse_loss,
        F.l1_loss: torch.nn.functional.l1_loss,
        F.nll_loss: torch.nn.functional.nll_loss,
        F.cross_entropy: torch.nn.functional.cross_entropy,
        F.binary_cross_entropy_with_logits: torch.nn.functional.binary_cross_entropy_with_logits,
    }
    kwargs = {"label_smoothing": 0.2 if "probabilities" in name else 0.1} if "smoothed" in name else {}
    twin = twins[F.cross_entropy if kwargs else fn]
    other = [torch.tensor(np.asarray(a)) for a in operands]
    if name.startswith(("nll", "cross_entropy")) and other[1].dtype not in (torch.float64, torch.uint8):
        other[1] = other[1].long()
    other[0].requires_grad_(True)
    theirs = twin(*other, reduction=reduction, **kwargs)
    theirs.sum().backward()
    x = sg.tensor(operands[0], requires_grad=True)
    ours = fn(x, *map(sg.tensor, operands[1:]), reduction=reduction)
    ours.sum().backward()
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(x.grad.numpy(), other[0].grad.numpy(), rtol=1e-12, atol=1e-14)


OUT_OF_RANGE = {
    "cross_entropy": (lambda t: F.cross_entropy(Z, t), "Target 5 is out of bounds.", "cross_entropy: the classes are 0 to 2"),
    "nll_loss": (lambda t: F.nll_loss(Z, t), "Target 5 is out of bounds.", "nll_loss: the classes are 0 to 2"),
    "cross_entropy of images": (lambda t: F.cross_entropy(Z4, sg.stack([t, t], 1)), "Target 5 is out of bounds.",
                                "cross_entropy: the classes are 0 to 2"),
    "embedding": (lambda t: F.embedding(t, Z[:3]), "index 5 is out of range for axis 0 with extent 3", ""),
    "take": (lambda t: sg.take(Z[:3], t, 0), "index 5 is out of range for axis 0 with extent 3", ""),
    "one_hot": (lambda t: F.one_hot(t, 3), "index 5 is out of range for axis 0 with extent 3", ""),
}  # fmt: skip


@pytest.mark.parametrize("numerics", ["fast", "strict", "eager", "session"])
@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_bad_labels_have_one_text_in_every_mode(name, numerics):
    """That of the first of several, in the order of memory."""
    call, text, detail = OUT_OF_RANGE[name]
    target = np.array([0, 1, 5, -7, 9])

    def run():
        if numerics == "eager":
            return call(sg.tensor(target))
        if numerics != "session":
            return sg.compile(call, numerics=numerics)(target)
        with sg.Graph().as_default(), sg.Session() as sess:
            place = sg.placeholder(sg.int64, [5])
            return sess.run(call(place), {place: target})

    with pytest.raises(IndexRangeError) as caught:
        run()
    assert caught.value.summary == text
    assert detail in caught.value.details or not detail
    assert caught.value.where.file == __file__


def test_a_float64_array_into_a_float32_model_warns_once(monkeypatch):
    monkeypatch.setattr(checks, "_widened", False)
    model = nn.Linear(3, 2)
    x = np.ones((4, 3))
    with pytest.warns(RuntimeWarning, match="the input is float64 and the weights are float32") as caught:
        assert model(sg.tensor(x)).dtype == sg.float64
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(sg.tensor(x))
        nn.Conv1d(3, 2, 1)(sg.ones(1, 3, 4, dtype=sg.float64))
    step = sg.compile(lambda x: model(x).sum())
    step(x)
    assert "bias, weight of float32 become float64, because x is" in str(step.explain(detail=True))
    step(x.astype("float32"))
    assert "become float64" not in str(step.explain(detail=True))


@pytest.mark.parametrize("call", [sg.softmax, sg.log_softmax, sg.nn.functional.softmax, sg.nn.functional.log_softmax])
def test_softmax_of_integers_is_refused_as_in_pytorch(call):
    x = sg.tensor([1, 2])
    with pytest.raises(RuntimeError, match="not implemented for int64"):
        call(x, 0)
    with pytest.raises(RuntimeError, match="not implemented for int64"):
        sg.compile(lambda x: call(x, 0))(x)
    np.testing.assert_allclose(call(x, 0, dtype=sg.float32).numpy(), call(x.float(), 0).numpy())
    np.testing.assert_allclose(call(np.array([1, 2]), 0).numpy(), call(x.float(), 0).numpy())
