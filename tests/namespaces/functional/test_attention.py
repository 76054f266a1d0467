"""Scaled dot-product attention with fewer heads of keys and values than of queries."""

from __future__ import annotations

import math

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad.errors import ArgumentError, ShapeError
from tests.helpers import assert_close, rng_of

RNG = rng_of("grouped heads")
QUERY, KEY, VALUE = RNG.standard_normal((2, 6, 4, 3)), RNG.standard_normal((2, 2, 5, 3)), RNG.standard_normal((2, 2, 5, 7))


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Each head of the keys and values serves as many heads of the query, one after another."""
    k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    e = np.exp(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
    return e / e.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("heads", [1, 2, 6])
@pytest.mark.parametrize("compiled", [False, True])
def test_values_and_gradients(heads: int, compiled: bool):
    key, value = (np.concatenate([x] * 3, 1)[:, :heads] for x in (KEY, VALUE))
    leaves = [sg.tensor(x, requires_grad=True) for x in (QUERY, key, value)]

    def grouped(q: sg.Tensor, k: sg.Tensor, v: sg.Tensor) -> list[sg.Tensor]:
        out = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        return [out, *sg.grad((out**2).sum(), [q, k, v])]

    def repeated(q: sg.Tensor, k: sg.Tensor, v: sg.Tensor) -> list[sg.Tensor]:
        wide = [sg.take(x, sg.tensor(np.repeat(np.arange(heads), 6 // heads)), 1) for x in (k, v)]
        out = F.scaled_dot_product_attention(q, *wide)
        return [out, *sg.grad((out**2).sum(), [q, k, v])]

    found = (sg.compile(grouped) if compiled else grouped)(*leaves)
    assert_close(found[0], attended(QUERY, key, value), 1e-12)
    for mine, other in zip(found, repeated(*leaves), strict=True):
        assert_close(mine, other.detach().numpy(), 1e-12)


def test_heads_that_do_not_divide_are_an_error():
    with pytest.raises(ShapeError) as raised:
        F.scaled_dot_product_attention(QUERY, np.concatenate([KEY] * 2, 1), np.concatenate([VALUE] * 2, 1), enable_gqa=True)
    assert "enable_gqa needs the heads of query to be a multiple of those of key and value" in str(raised.value)
    assert "got 6 and 4" in str(raised.value)


def test_a_scale_is_a_number():
    with pytest.raises(ArgumentError, match="scale has to be a number, got 'a'"):
        F.scaled_dot_product_attention(QUERY, QUERY, QUERY, scale="a")


def test_an_unknown_size_of_a_head_needs_a_scale():
    with sg.Graph().as_default():
        q = sg.placeholder(sg.float64, (2, 4, None))
        with pytest.raises(ShapeError, match="the size of a head is unknown"):
            F.scaled_dot_product_attention(q, q, q)
        out = F.scaled_dot_product_attention(q, q, q, scale=1 / math.sqrt(3))
        with sg.Session() as sess:
            x = QUERY[:, 0]
            assert_close(sess.run(out, {q: x}), attended(*(x[:, None],) * 3)[:, 0], 1e-12)
