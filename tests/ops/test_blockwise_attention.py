"""Attention some queries at a time, in native code, against its definition in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.functional as F
from staticgrad.base.types import TensorType
from staticgrad.compiler.lower import instruction_builder
from staticgrad.errors import ShapeError
from staticgrad.ops import attention as blockwise_attention
from staticgrad.ops.attention import attention, attention_gradient_op, attention_op
from staticgrad.ops.rewrites import layer_rules
from tests.helpers import rng_of

ATTRS = {"scale": 1.0, "causal": False, "masked": False, "rate": 0.0}
SHAPES = {  # matrices, queries, keys, width, width of values
    "blocks": (3, 150, 150, 24, 24),
    "few keys": (2, 70, 9, 5, 3),
    "many keys": (1, 65, 210, 16, 40),
    "one": (1, 1, 1, 1, 1),
}


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch):
    """Small ones, too."""
    monkeypatch.setattr(layer_rules, "FEW", -1)


def step(q: Any, k: Any, v: Any, g: Any, causal: bool) -> Any:
    out = attention(q, k, v, 0.4, causal)
    return out, *sg.grad((out * g).sum(), [q, k, v])


def masks(queries: int, keys: int, dtype: str) -> dict[str, Any]:
    rng = rng_of("masks")
    return {
        "no mask": None,
        "causal": None,
        "window": np.abs(np.arange(queries)[:, None] - np.arange(keys)) < 5,
        "padding": np.arange(keys)[None, None] < np.array([1, keys // 2 + 1, 0])[:, None, None],
        "queries": rng.random((1, queries, 1)) < 0.7,
        "numbers": rng.standard_normal((queries, keys)).astype(dtype),
        "numbers of queries": rng.standard_normal((3, queries, 1)).astype(dtype),
        "numbers of keys": rng.standard_normal((3, 1, keys)).astype(dtype),
        "numbers of all": rng.standard_normal((3, queries, keys)).astype(dtype),
        "numbers, hidden keys": np.where(np.tri(queries, keys, dtype=bool), 1, -np.inf).astype(dtype),
    }


def exact(operands: Any, more: Any, attrs: Any) -> list[np.ndarray]:
    """The result and the gradients in float64, for the random numbers of the operands' dtype."""
    _, factors = blockwise_attention._weights(operands[0], operands[1], more, attrs)
    q, k, v, g = (x.astype(np.float64) for x in operands)
    more = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in more]
    found = blockwise_attention._weights
    blockwise_attention._weights = lambda *args: (found(*args)[0], factors)
    try:
        of_mask = bool(attrs["masked"]) and more[0].dtype.kind == "f"
        flat = attention_gradient_op.eval(q, k, v, g, *more, **attrs, of_mask=of_mask)
        ends = np.cumsum([x.size for x in (q, k, v)])[: 3 if of_mask else 2]
        return [attention_op.eval(q, k, v, *more, **attrs), *np.split(flat, ends)]
    finally:
        blockwise_attention._weights = found


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_and_gradients(name: str, dtype: str):
    items, queries, keys, wide, broad = SHAPES[name]
    rng = rng_of(name)
    q, k, v, g = (
        rng.standard_normal((items, *shape)).astype(dtype)
        for shape in ((queries, wide), (keys, wide), (keys, broad), (queries, broad))
    )
    given = [sg.tensor(x, requires_grad=True) for x in (q, k, v)]
    for what, mask in masks(queries, keys, dtype).items():
        if mask is not None and mask.ndim == 3 and mask.shape[0] not in (1, items):
            continue
        for rate in (0.0, 0.3) if what in ("no mask", "causal", "window") else (0.0,):
            attrs = {"scale": 0.4, "causal": what == "causal", "masked": mask is not None, "rate": rate}
            more = [x for x in (mask, np.array([9, 3]) if rate else None) if x is not None]

            def run(q: Any, k: Any, v: Any, g: Any, *more: Any, attrs: Any = attrs) -> Any:
                mask, seed = blockwise_attention._more(more, attrs)
                out = attention(q, k, v, 0.4, attrs["causal"], mask, attrs["rate"], seed)
                numbers = [mask] if attrs["masked"] and mask.requires_grad else []
                return out, *sg.grad((out * g).sum(), [q, k, v, *numbers])

            compiled = sg.compile(run)
            more_given = [sg.tensor(x, requires_grad=x.dtype.kind == "f") for x in more]
            found = [x.detach().numpy() for x in compiled(*given, sg.tensor(g), *more_given)]
            names = [row.name for row in compiled.plan.instructions if row.kind == "routine"]
            assert names[:2] == ["attention", "attention_gradient"], compiled.plan.explain()
            for mine, other in zip(found, exact((q, k, v, g), more, attrs), strict=True):
                tolerance = 200 * np.finfo(dtype).eps * max(1.0, float(np.abs(other).max()))
                np.testing.assert_allclose(mine.reshape(-1), other.reshape(-1), rtol=0, atol=tolerance, err_msg=what)


def test_chunks_share_a_matrix(monkeypatch: pytest.MonkeyPatch):
    """Threads take blocks of one matrix: their parts of the cotangents of keys and values are added up."""
    monkeypatch.setattr(instruction_builder, "PARALLEL_WORK", 0)
    q, k, v, g = rng_of("chunks").standard_normal((4, 3, 200, 8)).astype(np.float32)
    given = [sg.tensor(x, requires_grad=True) for x in (q, k, v)]
    for causal in (False, True):
        compiled = sg.compile(lambda q, k, v, g, causal=causal: step(q, k, v, g, causal))
        found = [x.detach().numpy() for x in compiled(*given, sg.tensor(g))]
        assert all(row.chunks > 1 for row in compiled.plan.instructions if row.name.startswith("attention"))
        attrs = {"scale": 0.4, "causal": causal, "masked": False, "rate": 0.0}
        for mine, other in zip(found, exact((q, k, v, g), (), attrs), strict=True):
            np.testing.assert_allclose(mine.reshape(-1), other.reshape(-1), rtol=0, atol=1e-4)


@pytest.mark.parametrize("shape", [(200, 200), (3, 200, 200), (3, 1, 200), (200, 1), ()])
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_the_gradient_of_a_mask_takes_no_array_of_all_scores(
    shape: tuple[int, ...], rate: float, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(instruction_builder, "PARALLEL_WORK", 0)
    rng = rng_of("of mask")
    q, k, v, g = rng.standard_normal((4, 3, 200, 8))
    mask = rng.standard_normal((1,) * (3 - len(shape)) + shape)
    attrs = {"scale": 0.4, "causal": False, "masked": True, "rate": rate}
    seed = [np.array([9, 3])] if rate else []

    def run(q: Any, k: Any, v: Any, mask: Any, g: Any, *seed: Any) -> Any:
        out = attention(q, k, v, 0.4, False, mask, rate, *seed)
        return out, *sg.grad((out * g).sum(), [q, k, v, mask])

    compiled = sg.compile(run)
    given = [sg.tensor(x, requires_grad=True) for x in (q, k, v, mask)]
    found = [x.detach().numpy() for x in compiled(*given, sg.tensor(g), *map(sg.tensor, seed))]
    names = [row.name for row in compiled.plan.instructions if row.kind == "routine"]
    assert names[:2] == ["attention", "attention_gradient"], compiled.plan.explain()
    for mine, other in zip(found, exact((q, k, v, g), [mask, *seed], attrs), strict=True):
        np.testing.assert_allclose(mine.reshape(-1), other.reshape(-1), rtol=0, atol=1e-12 * max(1.0, np.abs(other).max()))


def test_gradients_of_a_mask_under_vmap():
    q, k, v = rng_of("samples").standard_normal((3, 4, 2, 5, 3))
    mask = sg.tensor(rng_of("samples").standard_normal((5, 5)))

    def of_mask(q: Any, k: Any, v: Any) -> Any:
        return sg.func.grad(lambda m: (attention(q, k, v, 0.4, False, m) ** 2).sum())(mask)

    mapped = sg.vmap(of_mask)(*map(sg.tensor, (q, k, v)))
    for i in range(4):
        np.testing.assert_allclose(mapped[i].numpy(), of_mask(*[sg.tensor(x[i]) for x in (q, k, v)]).numpy(), atol=1e-12)


def test_dropout_is_the_same_in_all_forms(monkeypatch: pytest.MonkeyPatch):
    """Eager, compiled by blocks and written in products; gradients of gradients too."""
    x = rng_of("dropout").standard_normal((3, 2, 6, 4))
    mask = np.tri(6, dtype=bool)

    def run(q: Any, k: Any, v: Any) -> Any:
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=sg.tensor(mask), dropout_p=0.4)
        grads = sg.grad((out**2).sum(), [q, k, v], create_graph=True)
        return out, *grads, *sg.grad(sum((g**2).sum() for g in grads), [q, k, v])

    results = []
    for few, wrap in ((-1, sg.compile), (1 << 20, sg.compile), (-1, lambda fn: fn)):
        monkeypatch.setattr(layer_rules, "FEW", few)
        sg.manual_seed(1)
        given = [sg.tensor(part, requires_grad=True) for part in x]
        results.append([part.detach().numpy() for part in wrap(run)(*given)])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_mask_of_numbers_has_a_gradient():
    q, k, v = rng_of("bias").standard_normal((3, 2, 5, 4))
    bias = rng_of("bias").standard_normal((5, 5))
    bias[0, 3:] = -np.inf
    tensors = [sg.tensor(x, requires_grad=True) for x in (q, k, v)]
    finite = sg.tensor(np.where(np.isfinite(bias), bias, 0), requires_grad=True)

    def loss(q: Any, k: Any, v: Any, bias: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    sg.autograd.gradcheck(loss, (*tensors, finite))
    sg.autograd.gradgradcheck(loss, (*tensors, finite))
    hidden = sg.tensor(bias, requires_grad=True)
    (found,) = sg.grad((loss(*tensors, hidden) ** 2).sum(), [hidden])
    assert np.isfinite(found.numpy()).all()
    assert (found.numpy()[0, 3:] == 0).all()


def test_heads_are_read_where_they_lie():
    """Query, key and value are parts of one array, and heads are beside each other: nothing is copied, and no array has all
    scores."""
    joined = rng_of("heads").standard_normal((2, 100, 3, 4, 8)).astype(np.float32)

    def heads(joined: Any) -> Any:
        q, k, v = (joined[:, :, i].transpose(1, 2) for i in range(3))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    compiled = sg.compile(heads)
    found = compiled(sg.from_numpy(joined)).numpy()
    q, k, v = (joined[:, :, i].swapaxes(1, 2) for i in range(3))
    np.testing.assert_allclose(
        found, attention_op.eval(q, k, v, **ATTRS | {"scale": 8**-0.5, "causal": True}), rtol=1e-4, atol=1e-5
    )
    assert [row.name for row in compiled.plan.instructions] == ["attention"]
    assert all(buffer.nbytes <= joined.nbytes for buffer, _ in compiled.plan.instructions[0].buffers)
    assert "attention by attention_blocks.forward_f32" in compiled.plan.explain()


def test_few_scores_are_products(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(layer_rules, "FEW", 4 * 3 * 3)
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
        attention_op.infer(*[TensorType(shape, np.dtype(np.float32)) for shape in shapes], **ATTRS)
