"""Attention some queries at a time, in native code, against its definition in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.functional as F
from staticgrad.errors import ShapeError
from staticgrad.ops.blockwise_attention import attention, attention_gradient_op, attention_op
from staticgrad.ops.rewrites import attention_rules
from staticgrad.types import TensorType
from tests.helpers import rng_of

SHAPES = {  # matrices, queries, keys, width, width of values
    "blocks": (3, 150, 150, 24, 24),
    "few keys": (2, 70, 9, 5, 3),
    "many keys": (1, 65, 210, 16, 40),
    "one": (1, 1, 1, 1, 1),
}


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch):
    """Small ones, too."""
    monkeypatch.setattr(attention_rules, "FEW", -1)


def step(q: Any, k: Any, v: Any, g: Any, causal: bool) -> Any:
    out = attention(q, k, v, 0.4, causal)
    return out, *sg.grad((out * g).sum(), [q, k, v])


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_and_gradients(name: str, causal: bool, dtype: str):
    items, queries, keys, wide, broad = SHAPES[name]
    rng = rng_of(name)
    q, k, v, g = (
        rng.standard_normal((items, *shape)).astype(dtype)
        for shape in ((queries, wide), (keys, wide), (keys, broad), (queries, broad))
    )
    given = [sg.tensor(x, requires_grad=True) for x in (q, k, v)]
    compiled = sg.compile(lambda q, k, v, g: step(q, k, v, g, causal))
    found = [x.detach().numpy() for x in compiled(*given, sg.tensor(g))]
    names = [row.name for row in compiled.plan.instructions if row.kind == "routine"]
    assert names == ["attention", "attention_gradient"], compiled.plan.explain()
    exact = [x.astype(np.float64) for x in (q, k, v, g)]
    attrs = {"scale": 0.4, "causal": causal}
    flat = attention_gradient_op.eval(*exact, **attrs)
    ends = np.cumsum([x.size for x in exact[:3]])[:2]
    expected = [attention_op.eval(*exact[:3], **attrs), *np.split(flat, ends)]
    for mine, other in zip(found, expected, strict=True):
        tolerance = 200 * np.finfo(dtype).eps * max(1.0, float(np.abs(other).max()))
        np.testing.assert_allclose(mine.reshape(-1), other.reshape(-1), rtol=0, atol=tolerance)


def test_heads_are_read_where_they_lie():
    """Query, key and value are parts of one array, and heads are beside each other: nothing is copied, and no array has all
    scores."""
    joined = rng_of("heads").standard_normal((2, 100, 3, 4, 8)).astype(np.float32)

    def heads(joined: Any) -> Any:
        q, k, v = (joined[:, :, i].transpose(1, 2) for i in range(3))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    compiled = sg.compile(heads)
    found = compiled(joined).numpy()
    q, k, v = (joined[:, :, i].swapaxes(1, 2) for i in range(3))
    np.testing.assert_allclose(found, attention_op.eval(q, k, v, 8**-0.5, True), rtol=1e-4, atol=1e-5)
    assert [row.name for row in compiled.plan.instructions] == ["attention"]
    assert all(buffer.nbytes <= joined.nbytes for buffer, _ in compiled.plan.instructions[0].buffers)
    assert "attention by attention_blocks.forward_f32" in compiled.plan.explain()


def test_few_scores_are_products(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attention_rules, "FEW", 4 * 3 * 3)
    x = np.ones((1, 3, 2), np.float32)
    compiled = sg.compile(lambda x: step(x, x, x, x, True))
    compiled(sg.tensor(x, requires_grad=True))
    names = [row.name for row in compiled.plan.instructions]
    assert "attention" not in names
    assert "softmax_f32" in names


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        (((2, 3, 4), (1, 3, 4), (2, 3, 4)), "batches of matrices that are equally many"),
        (((2, 3, 4), (2, 3, 2), (2, 3, 4)), "don't fit"),
        (((2, 3, 4), (2, 3, 4), (2, 2, 4)), "don't fit"),
    ],
)
def test_shapes_have_to_fit(shapes: tuple[tuple[int, ...], ...], text: str):
    with pytest.raises(ShapeError, match=text):
        attention_op.infer(*[TensorType(shape, np.dtype(np.float32)) for shape in shapes], scale=1.0, causal=False)
