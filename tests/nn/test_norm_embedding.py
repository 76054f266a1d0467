"""Norms, attention, gelu, silu, embedding: values, gradients, and the same in every mode."""

from __future__ import annotations

import math
import re

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


IMAGES, C3 = rng.normal(size=(4, 3, 2, 5)), (3, 1, 1)
W3, B3 = rng.normal(size=3), rng.normal(size=3)
LONG, W4, B4 = 2 + rng.normal(size=(2, 4, 18)), rng.normal(size=4), rng.normal(size=4)
QUERY, KEY, VALUE = rng.normal(size=(2, 3, 4, 5)), rng.normal(size=(2, 3, 6, 5)), rng.normal(size=(2, 3, 6, 2))
SEEN = rng.random((4, 6)) < 0.6
SEEN[1] = False


def scaled(x: np.ndarray, axes: tuple[int, ...], eps: float = 1e-5) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, seen: np.ndarray) -> np.ndarray:
    e = np.where(seen, np.exp(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])), 0)
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total) @ v


CASES = [
    ("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (IMAGES, W3, B3),
     lambda x, w, b: scaled(x, (0, 2, 3)) * w.reshape(C3) + b.reshape(C3)),
    ("batch_norm of vectors", lambda x: F.batch_norm(x, training=True, eps=0.1), (X[:, :, 0],), lambda x: scaled(x, (0,), 0.1)),
    ("batch_norm evaluated", lambda x: F.batch_norm(x, sg.tensor(B3), sg.tensor(W3**2)), (IMAGES,),
     lambda x: (x - B3.reshape(C3)) / np.sqrt(W3.reshape(C3) ** 2 + 1e-5)),
    ("group_norm", lambda x, w, b: F.group_norm(x, 3, w, b), (IMAGES, W3, B3),
     lambda x, w, b: scaled(x, (2, 3)) * w.reshape(C3) + b.reshape(C3)),
    ("group_norm of one group", lambda x: F.group_norm(x, 1), (IMAGES,), lambda x: scaled(x, (1, 2, 3))),
    ("group_norm of long channels", lambda x, w, b: F.group_norm(x, 2, w, b), (LONG, W4, B4),
     lambda x, w, b: scaled(x.reshape(2, 2, 36), (2,)).reshape(x.shape) * w[:, None] + b[:, None]),
    ("group_norm of long channels, without a weight", lambda x: F.group_norm(x, 4), (LONG,), lambda x: scaled(x, (2,))),
    ("rms_norm", lambda x, w: F.rms_norm(x, 6, w, 0.1), (X, W),
     lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.1) * w),
    ("rms_norm, two axes", lambda x: F.rms_norm(x, (3, 6)), (X,),
     lambda x: x / np.sqrt((x * x).mean((1, 2), keepdims=True) + np.finfo(float).eps)),
    ("attention", F.scaled_dot_product_attention, (QUERY, KEY, VALUE), lambda q, k, v: attended(q, k, v, SEEN | True)),
    ("attention, causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (QUERY, KEY, VALUE),
     lambda q, k, v: attended(q, k, v, np.tri(4, 6, dtype=bool))),
    ("attention, masked", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, SEEN), (QUERY, KEY, VALUE),
     lambda q, k, v: attended(q, k, v, SEEN)),
    ("layer_norm", lambda x, w, b: F.layer_norm(x, 6, w, b), (X, W, B), normed),
    ("layer_norm, two axes", lambda x: F.layer_norm(x, (3, 6)), (X,),
     lambda x: (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5)),
    ("gelu", F.gelu, (X,), lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2)))),
    ("gelu tanh", lambda x: F.gelu(x, "tanh"), (X,),
     lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    ("silu", F.silu, (X,), lambda x: x / (1 + np.exp(-x))),
    ("embedding", lambda w: F.embedding(INDEX, w), (TABLE,), lambda w: w[INDEX]),
    ("embedding, squared beside padding", lambda w: F.embedding(INDEX, w, int(INDEX.flat[0]) - 7) ** 2, (TABLE,),
     lambda w: np.where(np.isin(INDEX, INDEX.flat[0])[..., None], TABLE[INDEX], w[INDEX]) ** 2),
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
        shifted = [reference(*(o + s * h * direction if i == position else o for i, o in enumerate(operands))) for s in (1, -1)]
        slope = ((shifted[0] - shifted[1]) * weights).sum() / (2 * h)
        assert (grads[position].numpy() * direction).sum() == pytest.approx(slope, rel=1e-6, abs=1e-7)

    compiled = sg.compile(lambda *t: (function(*t), gradients(*t)))(*eager)
    np.testing.assert_allclose(compiled[0].detach().numpy(), expected, rtol=1e-10, atol=1e-12)
    with sg.Graph().as_default():
        inputs = [sg.placeholder(sg.float64, o.shape) for o in operands]
        fetches = [function(*inputs), *sg.gradients(sg.sum(function(*inputs) * weights), inputs)]
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            results = sess.run(fetches, dict(zip(inputs, operands, strict=True)))
    np.testing.assert_allclose(results[0], expected, rtol=1e-10, atol=1e-12)
    for mine, theirs, other in zip(grads, compiled[1], results[1:], strict=True):
        np.testing.assert_allclose(theirs.numpy(), mine.numpy(), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(other, mine.numpy(), rtol=1e-9, atol=1e-11)


def batch_gradients(normalize, x, w, b, seed, create_graph=False):
    leaves = [t.detach().requires_grad_() for t in (x, w, b)]
    return leaves, sg.grad(normalize(*leaves), leaves, seed, create_graph=create_graph)


def test_a_backward_pass_of_batch_norm_keeps_no_second_array_of_the_batch():
    """Of arrays of the batch's size its kernels write the gradient only."""
    x, seed = (sg.tensor(rng.normal(size=(40, 7))) for _ in range(2))
    w, b = (sg.tensor(rng.normal(size=7)) for _ in range(2))
    gradients = sg.compile(
        lambda *t: batch_gradients(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), *t)[1], wait=True
    )
    gradients(x, w, b, seed)
    assert len(re.findall(r"\by\d+ = .*f64\[40,7\]", gradients.plan.source())) == 1


@pytest.mark.parametrize("compiled", [False, True])
def test_second_gradients_of_batch_norm(compiled):
    """Its variance and mean are differentiated as those of the definition."""

    def definition(x, w, b):
        mean = x.mean((0, 2), keepdims=True)
        var = ((x - mean) ** 2).mean((0, 2), keepdims=True)
        return (x - mean) / sg.sqrt(var + 1e-5) * w.reshape((-1, 1)) + b.reshape((-1, 1))

    def second(normalize, x, w, b, seed, along):
        leaves, first = batch_gradients(normalize, x, w, b, seed, create_graph=True)
        return sg.grad(first[:2], leaves[:2], [along, w])

    x, seed, along = (sg.tensor(rng.normal(size=(6, 3, 4))) for _ in range(3))
    w, b = (sg.tensor(rng.normal(size=3)) for _ in range(2))
    by_batch, by_definition = (
        (sg.compile(second, wait=True) if compiled else second)(function, x, w, b, seed, along)
        for function in (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), definition)
    )
    for mine, other in zip(by_batch, by_definition, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-9, atol=1e-11)


def test_layers():
    sg.manual_seed(0)
    norm, table = nn.LayerNorm(6), nn.Embedding(7, 5)
    assert norm.weight is not None
    assert norm(sg.tensor(X, dtype=sg.float32)).shape == X.shape
    assert table(sg.tensor(INDEX)).shape == (2, 3, 5)
    assert nn.GELU()(sg.tensor([0.0])).item() == 0
    assert nn.SiLU()(sg.tensor([0.0])).item() == 0
    assert repr(norm) == "LayerNorm((6,), eps=1e-05, elementwise_affine=True, bias=True)"
    assert nn.LayerNorm(6, elementwise_affine=False).weight is None


@pytest.mark.parametrize("compiled", [False, True])
def test_padding_stays_as_it_is(compiled):
    table = nn.Embedding(5, 3, padding_idx=-1)
    assert table.padding_idx == 4
    assert repr(table) == "Embedding(5, 3, padding_idx=4)"
    assert not table.weight.detach().numpy()[4].any()
    before = table.weight.detach().numpy().copy()
    opt = sg.optim.SGD(table.parameters(), lr=0.5)

    def step(index):
        opt.zero_grad()
        table(index).exp().sum().backward()
        opt.step()

    run = sg.compile(step) if compiled else step
    for _ in range(2):
        run(sg.tensor([[4, 0], [4, 4]]))
    after = table.weight.detach().numpy()
    assert (after[0] < before[0]).all()
    np.testing.assert_array_equal(after[1:], before[1:])


def test_running_statistics_are_state_in_every_mode():
    """Three batches of training: the same buffers, eager, compiled and in a Session; then the same evaluation."""
    batches = [rng.normal(size=(6, 3, 2)) for _ in range(3)]

    def model():
        return nn.BatchNorm1d(3, momentum=0.3, dtype=sg.float64)

    eager, traced, static = model(), model(), model()
    optimizers = [sg.optim.SGD(m.parameters(), lr=0.1) for m in (eager, traced, static)]

    def step(m, opt, x):
        loss = (m(x) ** 3).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    compiled = sg.compile(lambda x: step(traced, optimizers[1], x))
    expected = [step(eager, optimizers[0], sg.tensor(x)).item() for x in batches]
    np.testing.assert_allclose([compiled(x).item() for x in batches], expected, rtol=1e-12)
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float64, [None, 3, 2])
        loss = sg.mean(static(x) ** 3)
        train = optimizers[2].minimize(loss)
        assert len(sg.get_collection(sg.GraphKeys.UPDATE_OPS)) == 3
        static.eval()
        evaluated = static(x)
        names = ["running_mean", "running_var", "num_batches_tracked", "weight", "bias"]
        variables = [graph.standing_for(getattr(static, name)) for name in names]
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            losses = [sess.run([loss, train], {x: batch})[0] for batch in batches]
            result, *values = sess.run([evaluated, *[graph.variable_of[v] for v in variables]], {x: batches[0]})
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    assert eager.num_batches_tracked.item() == 3
    for name, value in zip(names, values, strict=True):
        mine = getattr(eager, name).detach().numpy()
        np.testing.assert_allclose(getattr(traced, name).detach().numpy(), mine, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(value, mine, rtol=1e-12, err_msg=name)
    everything = np.concatenate([b.transpose(1, 0, 2).reshape(3, -1) for b in batches[:1]], 1)
    assert np.abs(eager.running_mean.numpy() / everything.mean(1)).max() < 10  # moved, towards the batches
    np.testing.assert_allclose(result, eager.eval()(sg.tensor(batches[0])).detach().numpy(), rtol=1e-12)


def test_rms_norm_with_a_weight_of_unknown_extent():
    with sg.Graph().as_default():
        x, w = sg.placeholder(sg.float64, [None, 6]), sg.placeholder(sg.float64, [None])
        found = sg.Session().run(F.rms_norm(x, 6, w), {x: X[0], w: W})
    np.testing.assert_allclose(found, F.rms_norm(X[0], 6, W).numpy(), rtol=1e-12)


def statistics(norm):
    return [getattr(norm, name).tolist() for name in ("running_mean", "running_var", "num_batches_tracked")]


def test_an_input_that_does_not_fit_counts_for_nothing():
    norm = nn.BatchNorm1d(3)
    before = statistics(norm)
    with pytest.raises(ShapeError, match="running_mean should contain 5 elements not 3"):
        norm(sg.ones(2, 5))
    assert statistics(norm) == before


def test_an_empty_batch_leaves_the_statistics():
    """It is a batch that counts, as in PyTorch, with nothing to learn from."""
    first, nothing = rng.normal(size=(4, 3)).astype(np.float32), np.zeros((0, 3), np.float32)
    eager, traced, static = nn.BatchNorm1d(3), nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    eager(sg.tensor(first))
    mean, var, _ = statistics(eager)
    assert eager(sg.tensor(nothing)).shape == (0, 3)
    assert statistics(eager) == [mean, var, 2]
    step = sg.compile(traced.forward)
    for batch in (first, nothing):
        assert step(batch).shape == batch.shape
    np.testing.assert_allclose(traced.running_mean.numpy(), mean, rtol=1e-6)
    np.testing.assert_allclose(traced.running_var.numpy(), var, rtol=1e-6)
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float32, [None, 3])
        static(x)
        updates = sg.get_collection("update_ops")
        held = [graph.standing_for(t) for t in (static.running_mean, static.running_var, static.num_batches_tracked)]
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            for batch in (first, nothing):
                sess.run(updates, {x: batch})
            for found, expected in zip(sess.run(held), (mean, var, 2), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-6)
            with pytest.raises(ArgumentError, match=r"Expected more than 1 value .* got input size \[1, 3\]"):
                sess.run(updates, {x: first[:1]})
            assert sess.run(held[2]) == 2
            np.testing.assert_allclose(sess.run(held[1]), var, rtol=1e-6)


def test_a_state_that_no_train_step_needs_is_left_alone():
    with sg.Graph().as_default():
        norm, w = nn.BatchNorm1d(2), sg.Variable(1.0)
        norm(sg.placeholder(sg.float32, [4, 2]))
        train = sg.optim.SGD(lr=0.1).minimize(w * w)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            sess.run(train)
            assert sess.run(w) == pytest.approx(0.8)
        with pytest.raises(ArgumentError, match="get_collection: no collection is named 'losses'"):
            sg.get_collection("losses")


def test_attention_without_features():
    """The scores are 0, so a query takes the mean of the values at which it looks, as in PyTorch."""
    q, k = sg.ones(3, 0), sg.ones(4, 0)
    v = sg.tensor([[0.0], [1.0], [2.0], [3.0]])
    for attend in (F.scaled_dot_product_attention, sg.compile(F.scaled_dot_product_attention)):
        assert attend(q, k, v).tolist() == [[1.5]] * 3
        assert attend(q, k, v, is_causal=True).tolist() == [[0.0], [0.5], [1.0]]


def test_attention_holds_its_weights_once():
    """The scores, and the weights made of them, are the only (t, t) arrays of a forward pass; the backward pass adds the
    two cotangents."""
    q = np.random.default_rng(0).normal(size=(4, 64, 8)).astype(np.float32)

    def step(q):
        out = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        return sg.grad((out * out).sum(), [q])[0]

    compiled = sg.compile(step)
    compiled(sg.tensor(q, requires_grad=True))
    square = [s for row in compiled.plan.instructions for s, _ in row.buffers if s.nbytes == 4 * 64 * 64 * 4]
    assert len(dict.fromkeys(square)) <= 4
    assert compiled.plan.host_calls == 0


def test_module_dict():
    layers = nn.ModuleDict({"a": nn.Linear(2, 3)})
    layers["b"] = nn.ReLU()
    layers.update([("c", nn.Linear(3, 1))])
    assert list(layers) == list(layers.keys()) == ["a", "b", "c"]
    assert len(layers) == 3
    assert "b" in layers
    assert [name for name, _ in layers.named_parameters()] == ["a.weight", "a.bias", "c.weight", "c.bias"]
    assert isinstance(layers.pop("b"), nn.ReLU)
    assert [name for name, _ in layers.items()] == ["a", "c"]
    del layers["a"]
    assert len(layers.values()) == 1
    layers.clear()
    assert not len(layers)
    with pytest.raises(KeyError):
        layers["a"]


ERRORS = [
    (
        lambda: F.batch_norm(IMAGES[:1, :, :1, :1], training=True),
        ArgumentError,
        "Expected more than 1 value per channel when training, got input size [1, 3, 1, 1]",
    ),
    (lambda: F.batch_norm(IMAGES), ArgumentError, "running_mean must be defined in evaluation mode"),
    (lambda: F.batch_norm(IMAGES, training=True, weight=W), ShapeError, "weight should contain 3 elements not 6"),
    (lambda: nn.BatchNorm2d(3)(X), ShapeError, "expected 4D input (got 3D input)"),
    (lambda: nn.BatchNorm1d(3)(IMAGES), ShapeError, "expected 2D or 3D input (got 4D input)"),
    (lambda: nn.BatchNorm2d(4)(sg.tensor(IMAGES)), ShapeError, "running_mean should contain 3 elements not 4"),
    (
        lambda: F.group_norm(IMAGES, 2),
        ShapeError,
        "Expected number of channels in input to be divisible by num_groups, but got input of shape [4, 3, 2, 5] and num",
    ),
    (lambda: F.group_norm(IMAGES, 0), ArgumentError, "Expected num groups to be greater than 0, got 0"),
    (lambda: nn.GroupNorm(3, 10), ArgumentError, "num_channels (10) must be divisible by num_groups (3)"),
    (
        lambda: F.rms_norm(X, 5),
        ShapeError,
        "Given normalized_shape=[5], expected input with shape [*5], but got input of size[4, 3, 6]",
    ),
    (
        lambda: F.scaled_dot_product_attention(QUERY, VALUE, VALUE),
        ShapeError,
        "scaled_dot_product_attention: query and key have different sizes of a head, 5 and 2",
    ),
    (
        lambda: F.scaled_dot_product_attention(QUERY, KEY, QUERY),
        ShapeError,
        "scaled_dot_product_attention: key and value have different lengths, 6 and 4",
    ),
    (
        lambda: F.scaled_dot_product_attention(W, W, W),
        ShapeError,
        "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: 1",
    ),
    (
        lambda: F.scaled_dot_product_attention(QUERY, KEY, VALUE, SEEN, is_causal=True),
        ArgumentError,
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
    ),
    (
        lambda: F.scaled_dot_product_attention(QUERY, KEY, VALUE, SEEN[:3]),
        ShapeError,
        "scaled_dot_product_attention: attn_mask [3, 6] doesn't broadcast to the scores [2, 3, 4, 6]",
    ),
    (lambda: nn.MultiheadAttention(10, 3), ArgumentError, "embed_dim must be divisible by num_heads"),
    (lambda: nn.MultiheadAttention(6, 3)(X[:, :, :4], X, X), ShapeError, "was expecting embedding dimension of 6, but got 4"),
    (
        lambda: nn.MultiheadAttention(6, 3)(X, X, X, is_causal=True),
        ArgumentError,
        "Need attn_mask if specifying the is_causal hint.",
    ),
    (lambda: nn.TransformerEncoderLayer(6, 3, activation="tanh"), ArgumentError, "activation should be relu/gelu, not tanh"),
    (
        lambda: sg.einsum("ij,jk", X[0], X[0]),
        ShapeError,
        "einsum(): subscript j has size 3 for operand 1 which does not broadcast with previously seen size 6",
    ),
    (
        lambda: sg.einsum("ij->iz", X[0]),
        ArgumentError,
        "einsum(): output subscript z does not appear in the equation for any input operand",
    ),
    (lambda: sg.einsum("ij,jk", X[0]), ArgumentError, "einsum(): fewer operands were provided than specified in the equation"),
    (
        lambda: sg.einsum("ij", X),
        ArgumentError,
        "einsum(): the number of subscripts in the equation (2) does not match the number of dimensions (3) for operand 0",
    ),
    (lambda: F.layer_norm(X, 5), ShapeError, "normalized_shape (5,) is not the end of the input's shape (4, 3, 6)"),
    (lambda: F.layer_norm(X, 6, W[:3]), ShapeError, "layer_norm: the weight has shape (3,), not (6,)"),
    (lambda: F.gelu(X, "fast"), ArgumentError, "gelu: approximate must be 'none' or 'tanh', got 'fast'"),
    (lambda: F.embedding(np.array([7]), TABLE), IndexRangeError, "index 7 is out of range for axis 0 with extent 7"),
    (lambda: F.embedding(np.array([-1]), TABLE), IndexRangeError, "index -1 is out of range"),
    (lambda: nn.Embedding(-1, 2), ArgumentError, "Embedding: num_embeddings must be an integer >= 0, got -1"),
    (lambda: nn.Embedding(3, 2, 3), ArgumentError, "embedding: padding_idx must be within the 3 entries, got 3"),
    (lambda: F.embedding(INDEX, TABLE, -8), ArgumentError, "embedding: padding_idx must be within the 7 entries, got -8"),
    (lambda: F.embedding(INDEX, TABLE, 1.0), ArgumentError, "embedding: padding_idx has to be an integer or None, got 1.0"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


NORMS = {
    "layer_norm": lambda x, eps: F.layer_norm(x, 6, eps=eps),
    "rms_norm": lambda x, eps: F.rms_norm(x, 6, eps=eps),
    "group_norm": lambda x, eps: F.group_norm(x, 3, eps=eps),
    "batch_norm": lambda x, eps: F.batch_norm(x, training=True, eps=eps),
    "LayerNorm": lambda x, eps: nn.LayerNorm(6, eps)(x),
    "RMSNorm": lambda x, eps: nn.RMSNorm(6, eps)(x),
    "GroupNorm": lambda x, eps: nn.GroupNorm(3, 3, eps)(x),
    "BatchNorm1d": lambda x, eps: nn.BatchNorm1d(3, eps)(x),
}


@pytest.mark.parametrize("eps", [-10, -1e-9, math.nan, math.inf, "1", [1.0], 1j], ids=repr)
@pytest.mark.parametrize("name", NORMS)
def test_an_eps_that_gives_no_root(name, eps):
    """A negative or missing one would give NaN without a word."""
    norm = NORMS[name]

    def in_a_graph():
        with sg.Graph().as_default():
            norm(sg.placeholder(sg.float64, X.shape), eps)

    for run in (lambda: norm(sg.tensor(X), eps), lambda: sg.compile(lambda x: norm(x, eps))(X), in_a_graph):
        with pytest.raises(ArgumentError) as caught:
            run()
        assert caught.value.summary.startswith(f"{name}: eps has to be a finite number >= 0, got ")
        assert caught.value.where.file == __file__


@pytest.mark.parametrize("eps", [0, 0.5, np.float32(0.5), sg.tensor(0.5)], ids=repr)
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "group_norm", "batch_norm"])
def test_kinds_of_eps(name, eps):
    if name == "batch_norm" and isinstance(eps, int):
        with pytest.raises(ArgumentError, match="eps must be positive during training, but got 0"):
            NORMS[name](sg.tensor(X), eps)
        return
    axes = {"batch_norm": (0, 2)}.get(name, (2,))
    expected = X / np.sqrt((X**2).mean(-1, keepdims=True) + float(eps)) if name == "rms_norm" else scaled(X, axes, float(eps))
    np.testing.assert_allclose(NORMS[name](sg.tensor(X), eps).numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(sg.compile(lambda x: NORMS[name](x, eps))(X).numpy(), expected, rtol=1e-12)


PLAIN = {
    "layer_norm": lambda x, w, b: F.layer_norm(x, 3, w, b),
    "rms_norm": lambda x, w, b: F.rms_norm(x, 3, w),
    "group_norm": lambda x, w, b: F.group_norm(x, 1, w, b),
    "batch_norm": lambda x, w, b: F.batch_norm(x, b, w, w, b),
    "conv1d": lambda x, w, b: F.conv1d(sg.expand_dims(x, 2), np.ones((3, 3, 1)), b),
}


@pytest.mark.parametrize("name", PLAIN)
def test_weights_may_be_lists(name):
    x, w, b = X[:, :, 0], [1.0, 2.0, 3.0], [0.5, 0.25, 0.125]
    call = PLAIN[name]
    expected = call(sg.tensor(x), sg.tensor(w), sg.tensor(b)).numpy()
    np.testing.assert_array_equal(call(sg.tensor(x), w, b).numpy(), expected)
    np.testing.assert_allclose(sg.compile(lambda x: call(x, w, b))(x).numpy(), expected, rtol=1e-12)
    with sg.Graph().as_default(), sg.Session() as sess:
        place = sg.placeholder(x.dtype, x.shape)
        np.testing.assert_allclose(sess.run(call(place, w, b), {place: x}), expected, rtol=1e-12)
