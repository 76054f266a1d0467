"""Attention layers against NumPy written from the paper: values, gradients, masks, layouts, in every mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn
from staticgrad.errors import ArgumentError, ShapeError
from tests.helpers import assert_close, directional, rng_of

RNG = rng_of("attention layers")
N, L, S, E = 2, 4, 5, 6
QUERY, KEY, VALUE = RNG.standard_normal((N, L, E)), RNG.standard_normal((N, S, 3)), RNG.standard_normal((N, S, 7))
HIDDEN = np.triu(np.ones((L, L), bool), 1)
"""Keys that a query may not look at: those after it."""
PADDED = np.array([[False, False, False, True], [False, True, False, False]])
ADDED = RNG.standard_normal((N * 2, L, L))


def projections(layer: Any) -> list[np.ndarray]:
    if layer.in_proj_weight is not None:
        return np.split(layer.in_proj_weight.detach().numpy(), 3)
    return [w.detach().numpy() for w in (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)]


def attended(layer: Any, q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """The result and the weights of each head; operands are (n, length, features), the mask is added to the scores."""
    biases = [0.0] * 3 if layer.in_proj_bias is None else np.split(layer.in_proj_bias.detach().numpy(), 3)
    parts = [x @ w.T + b for x, w, b in zip((q, k, v), projections(layer), biases, strict=True)]
    q, k, v = (p.reshape(*p.shape[:2], layer.num_heads, -1).swapaxes(1, 2) for p in parts)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]) + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    joined = (weights @ v).swapaxes(1, 2).reshape(len(q), -1, layer.embed_dim)
    bias = 0.0 if layer.out_proj.bias is None else layer.out_proj.bias.detach().numpy()
    return joined @ layer.out_proj.weight.detach().numpy().T + bias, weights


def hidden(mask: np.ndarray) -> np.ndarray:
    return np.where(mask, -np.inf, 0.0)


class Row(NamedTuple):
    """layer(*operands, **options), and the mask that the options add to the scores (n, heads, l, s)."""

    make: Callable[[], Any]
    operands: tuple[np.ndarray, ...] = (QUERY,)
    options: dict[str, Any] = {}
    mask: Any = 0.0


def heads(n: int, **options: Any) -> Callable[[], Any]:
    return lambda: nn.MultiheadAttention(E, n, batch_first=True, dtype=sg.float64, **options)


ROWS = {
    "one tensor": Row(heads(2)),
    "no bias": Row(heads(3, bias=False)),
    "two tensors": Row(heads(2), (QUERY, RNG.standard_normal((N, S, E)))),
    "other features": Row(heads(2, kdim=3, vdim=7), (QUERY, KEY, VALUE)),
    "other features, no bias": Row(heads(2, kdim=3, vdim=7, bias=False), (QUERY, KEY, VALUE)),
    "attn_mask": Row(heads(2), options={"attn_mask": HIDDEN}, mask=hidden(HIDDEN)),
    "attn_mask of numbers": Row(heads(2), options={"attn_mask": ADDED}, mask=ADDED.reshape(N, 2, L, L)),
    "key_padding_mask": Row(heads(2), options={"key_padding_mask": PADDED}, mask=hidden(PADDED)[:, None, None]),
    "both masks": Row(heads(2), options={"attn_mask": HIDDEN, "key_padding_mask": PADDED},
                      mask=hidden(HIDDEN) + hidden(PADDED)[:, None, None]),
    "masks of two kinds": Row(heads(2), options={"attn_mask": ADDED, "key_padding_mask": PADDED},
                              mask=ADDED.reshape(N, 2, L, L) + hidden(PADDED)[:, None, None]),
    "causal": Row(heads(2), options={"attn_mask": HIDDEN, "is_causal": True, "need_weights": False}, mask=hidden(HIDDEN)),
}  # fmt: skip


def run(layer: Any, row: Row, operands: Any) -> tuple[Any, Any]:
    masks = {k: sg.tensor(v) if isinstance(v, np.ndarray) else v for k, v in row.options.items()}
    query, key, value = (*operands, *(operands[-1:] * (3 - len(operands))))
    return layer(query, key, value, **masks)


@pytest.mark.parametrize("name", ROWS)
def test_values_and_gradients_in_every_mode(name: str):
    row = ROWS[name]
    sg.manual_seed(0)
    layer = row.make()
    q, k, v = (*row.operands, *(row.operands[-1:] * (3 - len(row.operands))))
    expected, weights = attended(layer, q, k, v, row.mask)
    seed = rng_of(name).standard_normal(expected.shape)
    wanted = list(layer.parameters())

    def program(*operands: Any) -> list[Any]:
        out, found = run(layer, row, operands)
        gradients = sg.grad((out * seed).sum(), [*operands, *wanted])
        return [out, *([] if found is None else [found]), *gradients]

    leaves = [sg.tensor(x, requires_grad=True) for x in row.operands]
    eager = program(*leaves)
    assert_close(eager[0], expected, 1e-12)
    if len(eager) > 1 + len(leaves) + len(wanted):
        assert_close(eager[1], weights.mean(1), 1e-12)
    along = [rng_of(name + " along").standard_normal(x.shape) for x in row.operands]

    def weighed(*operands: np.ndarray) -> np.ndarray:
        return np.sum(run(layer, row, [sg.tensor(x) for x in operands])[0].detach().numpy() * seed)

    first = eager[-len(leaves) - len(wanted) :][: len(leaves)]
    exact = sum(float(np.sum(g.numpy() * a)) for g, a in zip(first, along, strict=True))
    assert exact == pytest.approx(float(directional(weighed, row.operands, along)), rel=1e-6)

    compiled = sg.compile(program)(*leaves)
    with sg.Graph().as_default():
        inputs = [sg.placeholder(x.dtype, x.shape) for x in row.operands]
        out, found = run(layer, row, inputs)
        fetches = [out, *([] if found is None else [found]), *sg.gradients(sg.sum(out * seed), [*inputs, *wanted])]
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            session = sess.run(fetches, dict(zip(inputs, row.operands, strict=True)))
    for mine, traced, static in zip(eager, compiled, session, strict=True):
        assert_close(traced, mine, 1e-10, what="compiled")
        assert_close(static, mine, 1e-10, what="session")


def test_layouts_and_weights_of_heads():
    """Length first is the default; without a batch there is no axis for it."""
    first = heads(2)()
    other = nn.MultiheadAttention(E, 2, dtype=sg.float64)
    other.load_state_dict(first.state_dict())
    x = sg.tensor(QUERY)
    out, weights = first(x, x, x, average_attn_weights=False)
    assert_close(weights, attended(first, QUERY, QUERY, QUERY)[1], 1e-12)
    turned = x.transpose(0, 1)
    found, averaged = other(turned, turned, turned)
    assert_close(found.transpose(0, 1), out.detach().numpy(), 1e-12)
    assert_close(averaged, weights.mean(1).detach().numpy(), 1e-12)
    single, ofone = other(x[1], x[1], x[1])
    assert_close(single, out[1].detach().numpy(), 1e-12)
    assert ofone.shape == (L, L)
    assert first(x, x, x, need_weights=False)[1] is None


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu", sg.tanh])
def test_the_encoder_layer_is_what_it_is_made_of(norm_first: bool, activation: Any):
    sg.manual_seed(0)
    layer = nn.TransformerEncoderLayer(E, 2, 8, 0.0, activation, 1e-3, True, norm_first, dtype=sg.float64)
    x = sg.tensor(QUERY, requires_grad=True)
    function = {"relu": sg.relu, "gelu": F.gelu}.get(activation, activation)

    def written(x: Any) -> Any:
        def attend(x: Any) -> Any:
            return layer.self_attn(x, x, x, attn_mask=sg.tensor(HIDDEN))[0]

        def feed(x: Any) -> Any:
            return layer.linear2(function(layer.linear1(x)))

        if norm_first:
            x = x + attend(layer.norm1(x))
            return x + feed(layer.norm2(x))
        x = layer.norm1(x + attend(x))
        return layer.norm2(x + feed(x))

    def program(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: (fn(x), *sg.grad((fn(x) ** 3).sum(), [x, *layer.parameters()]))

    expected = program(written)(x)
    for run in (program(lambda x: layer(x, sg.tensor(HIDDEN))), sg.compile(program(lambda x: layer(x, sg.tensor(HIDDEN))))):
        for found, value in zip(run(x), expected, strict=True):
            assert_close(found, value.detach().numpy(), 1e-10)


def test_dropout_is_for_training():
    layer = nn.TransformerEncoderLayer(E, 2, 8, 0.5, batch_first=True)
    x = sg.tensor(QUERY, dtype=sg.float32)
    layer.eval()
    assert_close(layer(x), layer(x).detach().numpy())
    layer.train()
    assert (layer(x) != layer(x)).any()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a, x: a(x[0, 0], x, x), ShapeError, "query should be unbatched 2D or batched 3D tensor but received 1-D"),
        (lambda a, x: a(x, x[0], x[0]), ShapeError, "For 'batched (3-D)' `query`, expected `key` and `value` to be 3-D"),
        (lambda a, x: a(x, x[..., :2], x), ShapeError, "was expecting key dimension of 6, but got 2"),
        (lambda a, x: a(x, x, x, is_causal=True), ArgumentError, "Need attn_mask if specifying the is_causal hint."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error(call: Any, error: type[Exception], text: str):
    with pytest.raises(error) as raised:
        call(heads(2)(), sg.tensor(QUERY))
    assert text in str(raised.value)
