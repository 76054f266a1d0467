"""layer_norm, gelu, silu, embedding: values, gradients, and the same in every mode."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import erf

import staticgrad as sg
import staticgrad.functional as F
from staticgrad import nn
from staticgrad.errors import ArgumentError, IndexRangeError, ShapeError

rng = np.random.default_rng(0)
X = rng.normal(size=(4, 3, 6))
W, B = rng.normal(size=6), rng.normal(size=6)
TABLE = rng.normal(size=(7, 5))
INDEX = np.array([[0, 6, 3], [3, 3, 1]])


def normed(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b


CASES = [
    ("layer_norm", lambda x, w, b: F.layer_norm(x, 6, w, b), (X, W, B), normed),
    ("layer_norm, two axes", lambda x: F.layer_norm(x, (3, 6)), (X,),
     lambda x: (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5)),
    ("gelu", F.gelu, (X,), lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2)))),
    ("gelu tanh", lambda x: F.gelu(x, "tanh"), (X,),
     lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    ("silu", F.silu, (X,), lambda x: x / (1 + np.exp(-x))),
    ("embedding", lambda w: F.embedding(INDEX, w), (TABLE,), lambda w: w[INDEX]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "function", "operands", "reference"), CASES, ids=[c[0] for c in CASES])
def test_values_and_gradients_in_every_mode(name, function, operands, reference):
    expected = reference(*operands)
    weights = rng.normal(size=expected.shape)

    def gradients(*tensors):
        return sg.grad((function(*tensors) * weights).sum(), list(tensors))

    eager = [sg.tensor(o, requires_grad=True) for o in operands]
    out, grads = function(*eager), gradients(*eager)
    np.testing.assert_allclose(out.detach().numpy(), expected, rtol=1e-10, atol=1e-12)
    for position, operand in enumerate(operands):
        direction = rng.normal(size=operand.shape)
        h = 1e-6
        shifted = [
            reference(*(o + s * h * direction if i == position else o for i, o in enumerate(operands))) for s in (1, -1)
        ]
        slope = ((shifted[0] - shifted[1]) * weights).sum() / (2 * h)
        assert (grads[position].numpy() * direction).sum() == pytest.approx(slope, rel=1e-6, abs=1e-7)

    compiled = sg.compile(lambda *t: (function(*t), gradients(*t)))(*eager)
    np.testing.assert_allclose(compiled[0].numpy(), expected, rtol=1e-10, atol=1e-12)
    with sg.Graph().as_default():
        inputs = [sg.placeholder(sg.float64, o.shape) for o in operands]
        fetches = [function(*inputs), *sg.gradients(sg.sum(function(*inputs) * weights), inputs)]
        with sg.Session() as sess:
            results = sess.run(fetches, dict(zip(inputs, operands, strict=True)))
    np.testing.assert_allclose(results[0], expected, rtol=1e-10, atol=1e-12)
    for mine, theirs, other in zip(grads, compiled[1], results[1:], strict=True):
        np.testing.assert_allclose(theirs.numpy(), mine.numpy(), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(other, mine.numpy(), rtol=1e-9, atol=1e-11)


def test_layers():
    sg.manual_seed(0)
    norm, table = nn.LayerNorm(6), nn.Embedding(7, 5)
    assert norm.weight is not None
    assert norm(sg.tensor(X, dtype=sg.float32)).shape == X.shape
    assert table(sg.tensor(INDEX)).shape == (2, 3, 5)
    assert nn.GELU()(sg.tensor([0.0])).item() == 0
    assert nn.SiLU()(sg.tensor([0.0])).item() == 0
    assert repr(norm) == "LayerNorm((6,), eps=1e-05, elementwise_affine=True)"
    assert nn.LayerNorm(6, elementwise_affine=False).weight is None


ERRORS = [
    (lambda: F.layer_norm(X, 5), ShapeError, "normalized_shape (5,) is not the end of the input's shape (4, 3, 6)"),
    (lambda: F.layer_norm(X, 6, W[:3]), ShapeError, "layer_norm: the weight has shape (3,), not (6,)"),
    (lambda: F.gelu(X, "fast"), ArgumentError, "gelu: approximate must be 'none' or 'tanh', got 'fast'"),
    (lambda: F.embedding(np.array([7]), TABLE), IndexRangeError, "index 7 is out of range for axis 0 with extent 7"),
    (lambda: F.embedding(np.array([-1]), TABLE), IndexRangeError, "index -1 is out of range"),
    (lambda: nn.Embedding(-1, 2), ArgumentError, "Embedding: num_embeddings must be an integer >= 0, got -1"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)
