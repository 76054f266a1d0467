"""Attention with functions of scores and masks, against `scaled_dot_product_attention`."""

from __future__ import annotations

import math

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.nn import attention
from staticgrad.nn import functional as F
from staticgrad.nn.attention import bias
from staticgrad.nn.attention import flex_attention as flex
from tests.helpers import assert_close, rng_of


def operands(heads=2):
    rng = rng_of("flex")
    shapes = (2, 2, 4, 3), (2, heads, 5, 3), (2, heads, 5, 6)
    return [sg.tensor(rng.standard_normal(shape)).requires_grad_() for shape in shapes]


def causal(batch, head, query, key):
    return query >= key


def by_mask(q, k, v):
    return flex.flex_attention(q, k, v, block_mask=flex.create_block_mask(causal, None, None, 4, 5))


def by_scores(q, k, v):
    return flex.flex_attention(q, k, v, lambda s, b, h, i, j: sg.where(i >= j, s, -math.inf))


@pytest.mark.parametrize("function", [by_mask, by_scores])
def test_causal(function):
    q, k, v = operands()
    expected = F.scaled_dot_product_attention(q, k, v, bias.causal_upper_left(4, 5))
    for run in (function, sg.compile(function)):
        found = run(q, k, v)
        assert_close(found, expected, rtol=1e-12)
        pairs = zip(
            sg.grad((found**2).sum(), [q, k, v]), sg.grad((expected**2).sum(), [q, k, v], retain_graph=True), strict=True
        )
        for own, other in pairs:
            assert_close(own, other, rtol=1e-10, atol=1e-14)


def test_scores_read_a_table_by_head():
    q, k, v = operands()
    slope = sg.tensor([0.5, -1.0], dtype=sg.float64)
    added = slope[:, None, None] * (sg.arange(4)[:, None] - sg.arange(5))
    found = flex.flex_attention(q, k, v, lambda s, b, h, i, j: s + slope[h] * (i - j))
    assert_close(found, F.scaled_dot_product_attention(q, k, v, added), rtol=1e-12)


def test_grouped_heads_and_the_sums():
    q, k, v = operands(heads=1)
    out, sums = flex.flex_attention(q, k, v, enable_gqa=True, return_lse=True)
    assert_close(out, F.scaled_dot_product_attention(q, k, v, enable_gqa=True), rtol=1e-12)
    assert_close(sums, sg.logsumexp(q @ k.mT / math.sqrt(3), -1), rtol=1e-12)
    with pytest.raises(sg.ArgumentError, match="same number of heads"):
        flex.flex_attention(q, k, v)
    with pytest.raises(sg.ShapeError, match="4D tensors"):
        flex.flex_attention(q[0], k, v)


def test_a_query_that_looks_nowhere_gets_0():
    q, k, v = operands()
    mask = flex.create_block_mask(lambda b, h, i, j: i + j < 0, None, None, 4, 5)
    assert_close(flex.flex_attention(q, k, v, block_mask=mask), np.zeros((2, 2, 4, 6)))


def test_masks():
    both = flex.and_masks(causal, lambda b, h, i, j: i - j < 2)
    assert flex.create_mask(both, 1, 1, 3, 3)[0, 0].tolist() == [[True, False, False], [True, True, False], [False, True, True]]
    either = flex.or_masks(causal, lambda b, h, i, j: j == 2)
    assert flex.create_block_mask(either, None, None, 2, 3).to_dense()[0, 0].tolist() == [[1, 0, 1], [1, 1, 1]]
    assert bias.causal_lower_right(2, 3).tolist() == [[True, True, False], [True, True, True]]
    with attention.sdpa_kernel([attention.SDPBackend.MATH]):
        pass
    with pytest.raises(TypeError, match="SDPBackend"), attention.sdpa_kernel("math"):
        pass


def test_an_unknown_number_of_features_needs_a_scale():
    with sg.Graph().as_default():
        q, k, v = (sg.placeholder("float32", (1, 1, 3, None)) for _ in range(3))
        with pytest.raises(sg.ShapeError, match=r"^flex_attention: the size of a head is unknown"):
            flex.flex_attention(q, k, v)
