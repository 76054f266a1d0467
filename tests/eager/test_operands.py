"""Arrays as operands of eager ops: the tape keeps their values, whatever is written to them afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.nn import functional as F
from tests.helpers import assert_same


def draw(*shape):
    return np.random.default_rng(3).standard_normal(shape)


def integers(n, *shape):
    return np.random.default_rng(4).integers(0, n, shape)


def flags(*shape):
    return np.random.default_rng(5).random(shape) > 0.5


def assigned(w, key, value):
    h = w * 1
    h[key] = value
    return h * h


CALLS = {
    "product": (lambda w, a: a * w, draw(3, 4)), "power": (lambda w, a: (w * w + 1) ** a, draw(3, 4)),
    "matmul": (lambda w, a: w @ a, draw(4, 2)), "dot": (lambda w, a: sg.dot(w[0], a), draw(4)),
    "outer": (lambda w, a: sg.outer(w[0], a), draw(4)), "a function of NumPy": (np.multiply, draw(3, 4)),
    "maximum": (sg.maximum, draw(3, 4)), "einsum": (lambda w, a: sg.einsum("ij,jk->ik", w, a), draw(4, 2)),
    "reshape": (lambda w, a: sg.reshape(a, (3, 4)) * w, draw(12)), "lerp": (lambda w, a: sg.lerp(w, w * 2, a), draw(3, 4)),
    "a mask of where": (lambda w, a: sg.where(a, w, w * 3), flags(3, 4)),
    "masked_fill": (lambda w, a: w.masked_fill(a, 2.0), flags(3, 4)),
    "an index": (lambda w, a: w[a], integers(3, 5)), "a mask": (lambda w, a: w[a], flags(3, 4)),
    "gather": (lambda w, a: sg.gather(w, 0, a), integers(3, 2, 4)), "take": (sg.take, integers(12, 5)),
    "scatter_add": (lambda w, a: sg.zeros(3, 4, dtype=w.dtype).scatter_add(0, a, w), integers(3, 3, 4)),
    "an assigned value": (lambda w, a: assigned(w, 0, a), draw(4)),
    "an assigned mask": (lambda w, a: assigned(w, a, 5.0), flags(3, 4)),
    "mul_": (lambda w, a: (w * 1).mul_(a), draw(3, 4)), "addcmul": (lambda w, a: sg.addcmul(w, a, w), draw(3, 4)),
    "linear": (lambda w, a: F.linear(a, w), draw(2, 4)), "embedding": (lambda w, a: F.embedding(a, w), integers(3, 7)),
    "cross_entropy": (F.cross_entropy, integers(4, 3)), "mse_loss": (F.mse_loss, draw(3, 4)),
    "layer_norm": (lambda w, a: F.layer_norm(w, (4,), a), draw(4)), "solve": (lambda w, a: sg.linalg.solve(a, w), draw(3, 3)),
    "attention": (lambda w, a: F.scaled_dot_product_attention(w[None], a, a), draw(1, 5, 4)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_a_write_after_the_call_changes_neither_value_nor_gradient(name, dtype):
    function, given = CALLS[name]

    def results(written):
        w = sg.tensor(draw(3, 4)[::-1].astype(dtype), requires_grad=True)
        array = given.astype(dtype) if given.dtype.kind == "f" else given.copy()
        y = function(w, array)
        if written:
            array[...] = ~array if array.dtype == bool else 0 if array.dtype.kind == "i" else 9
        (y * y).sum().backward()
        return y.detach().numpy(), w.grad.numpy()

    assert_same(results(True), results(False))
