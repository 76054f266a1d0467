"""Extents that values decide, in graphs: forward, gradient and second gradient are eager mode's in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler import program
from staticgrad.tracing.step_loop import FALLBACK
from tests.helpers import sweep

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 4))
M = np.array([[1, 0, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 1]], bool)
K = np.array([2, 0, 2, 5, 0, 1])
C = np.array([1, 0, 2, 3, 0, 1])

Function = Callable[..., Any]

FLOATING: dict[str, Function] = {
    "mean of a mask": lambda x, m, k, c: x[m].mean(),
    "elements of a mask": lambda x, m, k, c: x[m] * 2,
    "masked_select": lambda x, m, k, c: sg.masked_select(x, m).exp(),
    "broadcast mask": lambda x, m, k, c: sg.masked_select(x, m[:, :1]),
    "rows": lambda x, m, k, c: sg.tanh(x[m[:, 0]]) @ sg.transpose(x[m[:, 0]], 0, 1),
    "mask beside a slice": lambda x, m, k, c: x[:, m[1]] ** 2,
    "mask beside an int": lambda x, m, k, c: x[m[:, 1], 2] ** 2,
    "positions of a matrix": lambda x, m, k, c: x[sg.nonzero(m, as_tuple=True)].sum() + sg.nonzero(m)[:, 1].sum(),
    "softmax of elements": lambda x, m, k, c: sg.softmax(x[m], 0) * x[m],
    "sorted elements": lambda x, m, k, c: sg.sort(x[m]).values.cumsum(0),
    "a mask of a mask": lambda x, m, k, c: (y := x[m])[y > 0] ** 2,
    "repeat_interleave": lambda x, m, k, c: sg.repeat_interleave(x, c, 0) ** 2,
    "a slice": lambda x, m, k, c: x[c[0] : k[0] + 1] ** 2,
    "a slice to the end": lambda x, m, k, c: x[:, -c[2] :] ** 2,
    "narrow by a start": lambda x, m, k, c: sg.narrow(x, 0, c[2], 3) ** 2,
    "narrow": lambda x, m, k, c: sg.narrow(x, 1, c[0], c[2]) ** 2,
    "tensor_split": lambda x, m, k, c: sg.cat([p.sum(0) ** 2 for p in sg.tensor_split(x, c[2:4])]),
    "joined": lambda x, m, k, c: sg.cat([x[m], x[:, 0], x[~m]]) ** 3,
    "loss of rows": lambda x, m, k, c: sg.nn.functional.cross_entropy(x[m[:, 0]], sg.remainder(k[m[:, 0]], 4)),
    "layer norm of rows": lambda x, m, k, c: sg.nn.functional.layer_norm(x[m[:, 2]], (4,)),
}  # fmt: skip
WHOLE: dict[str, Function] = {
    "nonzero": lambda x, m, k, c: sg.nonzero(m),
    "argwhere": lambda x, m, k, c: sg.argwhere(k),
    "where": lambda x, m, k, c: sg.where(m)[1],
    "unique": lambda x, m, k, c: sg.unique(k),
    "unique rows": lambda x, m, k, c: sg.cat(
        [sg.reshape(p, (-1,)).to(sg.int64) for p in sg.unique(m, True, True, True, dim=0)]
    ),
    "unique columns": lambda x, m, k, c: sg.unique(m, dim=1).to(sg.int64),
    "unique with all": lambda x, m, k, c: sg.cat(sg.unique(k, return_inverse=True, return_counts=True)),
    "places of a matrix": lambda x, m, k, c: sg.unique(sg.stack([k, c]), return_inverse=True)[1],
    "runs": lambda x, m, k, c: sg.cat(sg.unique_consecutive(k // 2, return_inverse=True, return_counts=True)),
    "bincount": lambda x, m, k, c: sg.bincount(k),
    "bincount at least": lambda x, m, k, c: sg.bincount(k, minlength=9),
    "bincount of weights": lambda x, m, k, c: sg.bincount(k, x[:, 0]),
    "repeats alone": lambda x, m, k, c: sg.repeat_interleave(c),
}


def eagerly(function: Function, dtype: Any, order: int = 0) -> list[np.ndarray]:
    x = sg.tensor(X.astype(dtype), requires_grad=order > 0)
    return [y.detach().numpy() for y in values(function, (x, sg.tensor(M), sg.tensor(K), sg.tensor(C)), order)]


def values(function: Function, given: tuple[Any, ...], order: int) -> list[Any]:
    """A result and, to that order, the gradients of its weighted sum."""
    found = [function(given[0] + sg.sin(given[0]), *given[1:])]
    for i in range(order):
        y = found[-1]
        total = (y * y).sum() if i else (y * sg.sin(y)).sum()
        found.append(sg.grad(total, given[0], create_graph=True)[0])
    return found


def in_session(function: Function, dtype: Any, order: int = 0, known: bool = True, **settings: Any) -> list[np.ndarray]:
    graph = sg.Graph()
    with graph.as_default():
        arrays = [X.astype(dtype), M, K, C]
        given = [sg.placeholder(a.dtype, a.shape if known else [None, *a.shape[1:]]) for a in arrays]
        found = [function(given[0] + sg.sin(given[0]), *given[1:])]
        for i in range(order):
            y = found[-1]
            total = (y * y).sum() if i else (y * sg.sin(y)).sum()
            found.append(sg.gradients([total], [given[0]])[0])
    with sg.Session(graph=graph, **settings) as sess:
        first = sess.run(found, dict(zip(given, arrays, strict=True)))
        others = [arrays[0], ~M, *arrays[2:]]
        sess.run(found, dict(zip(given, others, strict=True)))  # another number of elements
        again = sess.run(found, dict(zip(given, arrays, strict=True)))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    return first


WAYS = [(numerics, name, dtype) for numerics in ("fast", "strict") for name in FLOATING for dtype in ("float32", "float64")]


@pytest.mark.parametrize(
    ("numerics", "name", "dtype"), sweep(WAYS, lambda _, way: (way[0] == "strict") is (way[2] == "float64"))
)
def test_sessions(numerics, name, dtype):
    wanted = eagerly(FLOATING[name], dtype, 2)
    found = in_session(FLOATING[name], dtype, 2, numerics=numerics)
    for a, b in zip(wanted, found, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b, a, rtol=3e-5 if dtype == "float32" else 1e-12, atol=1e-6 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("name", [name for name in FLOATING if name != "tensor_split"])
def test_placeholders_of_unknown_extents(name, monkeypatch):  # how many parts there are is a number of Python
    monkeypatch.setattr(program, "FEW", -1)  # by kernels
    wanted, found = eagerly(FLOATING[name], "float64", 1), in_session(FLOATING[name], "float64", 1, known=False)
    for a, b in zip(wanted, found, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("repeats", [[1, 0, 2, 1], [2]])
def test_repeats_of_an_unknown_number(repeats):
    graph, rows = sg.Graph(), np.arange(12.0).reshape(4, 3)
    with graph.as_default():
        x, c = sg.placeholder("float64", [None, 3]), sg.placeholder("int64", [None])
        y = sg.repeat_interleave(x, c, 0)
    with sg.Session(graph=graph) as sess:
        np.testing.assert_array_equal(sess.run(y, {x: rows, c: repeats}), np.repeat(rows, repeats, 0))
        with pytest.raises(sg.errors.ShapeError, match=r"can't broadcast \(2,\) to \(4,\)"):
            sess.run(y, {x: rows, c: [2, 1]})


@pytest.mark.parametrize("name", [*FLOATING, *WHOLE])
def test_one_compiled_plan(name):
    """Forward, gradient and second gradient in one plan, for several numbers of elements."""
    function, order = (FLOATING[name], 2) if name in FLOATING else (WHOLE[name], 0)

    def step(x, m, k, c):
        return values(function, (x, m, k, c), order)

    fn = sg.compile(step, on_break="error")
    for mask in (M, ~M, M):
        given = [sg.tensor(X, requires_grad=order > 0), sg.tensor(mask), sg.tensor(K), sg.tensor(C)]
        for a, b in zip(step(*given), fn(*given), strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-11, atol=1e-12)
    assert len(fn.recompiles) == 1


@pytest.mark.parametrize("name", FLOATING)
def test_results_that_are_differentiated_outside(name):
    fn = sg.compile(lambda x, m, k, c: FLOATING[name](x + sg.sin(x), m, k, c), on_break="error")
    for mask in (M, M, ~M):
        found = []
        for call in (fn, fn.fn):
            given = [sg.tensor(X, requires_grad=True), sg.tensor(mask), sg.tensor(K), sg.tensor(C)]
            y = call(*given)
            (g,) = sg.grad((y * sg.sin(y)).sum(), given[0], create_graph=True)
            found.append([y, g, sg.grad((g * g).sum(), given[0])[0]])
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-11, atol=1e-12)


def test_extents_of_a_selection_are_numbers_of_the_run():
    """Python computes with them in one plan, and returns them."""

    def step(x: Any, w: Any) -> Any:
        y = x[x[:, 0] > 0]
        loss = ((y @ w) ** 2).sum() / y.shape[0] + y.numel() * w.sum() / y.size(1)
        return loss, sg.grad(loss, w, create_graph=True)[0], y.shape, 2 * y.size(0) - 1, len(x)

    fn = sg.compile(step, on_break="error")
    for sign in (1, -1, 1):
        given = sg.tensor(sign * X), sg.tensor(np.arange(4.0), requires_grad=True)
        for a, b in zip(fn(*given), step(*given), strict=True):
            if isinstance(b, sg.Tensor):
                np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12)
            else:
                assert a == b
                assert type(a) is type(b)
    assert len(fn.recompiles) == 1


def test_code_that_decides_by_an_extent_has_roads():
    def step(x: Any) -> Any:
        y = x[x > 0]
        return y.sum() / max(y.shape[0], 1) if y.shape[0] != 2 else y * 2

    fn = sg.compile(step)
    for values in ([1.0, 2.0, -1.0], [-1.0, -1.0, -1.0], [1.0, 1.0, 1.0], [3.0, -1.0, 2.0]):
        np.testing.assert_array_equal(fn(sg.tensor(values)).numpy(), step(sg.tensor(values)).numpy())


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_in_sessions(name, known):
    if not known and name == "repeats alone":
        known = True
    (wanted,), (found,) = eagerly(WHOLE[name], "float64"), in_session(WHOLE[name], "float64", known=known)
    assert wanted.shape == found.shape
    assert wanted.dtype == found.dtype
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_any_number_of_elements(count):
    graph = sg.Graph()
    with graph.as_default():
        x, m = sg.placeholder("float32", [3]), sg.placeholder("bool", [3])
        total = (x[m] ** 2).sum()
        found = [x[m], total, sg.gradients([total], [x])[0]]
    mask = np.arange(3) < count
    with sg.Session(graph=graph) as sess:
        picked, total, slope = sess.run(found, {x: [1, 2, 3], m: mask})
    values = np.array([1, 2, 3], "float32") * mask
    np.testing.assert_array_equal(picked, values[mask])
    assert total == (values**2).sum()
    np.testing.assert_array_equal(slope, 2 * values)


def test_a_variable_is_trained_on_the_elements_of_a_mask():
    graph = sg.Graph()
    with graph.as_default():
        w = sg.Variable(np.ones(3, "float32"))
        x, m = sg.placeholder("float32", [4, 3]), sg.placeholder("bool", [4])
        loss = ((x[m] * w).sum(1) ** 2).mean()
        step = sg.assign(w, w - 0.1 * sg.gradients([loss], [w])[0])
    rows = np.arange(12, dtype="float32").reshape(4, 3) / 10
    mask, value = np.array([1, 0, 1, 1], bool), np.ones(3, "float32")
    with sg.Session(graph=graph) as sess:
        sess.run(w.initializer)
        for _ in range(3):
            kept = rows[mask]
            value = value - 0.1 * (2 * (kept @ value)[:, None] * kept).mean(0)
            sess.run(step, {x: rows, m: mask})
            np.testing.assert_allclose(sess.run(w), value, rtol=1e-5)
            mask = np.roll(mask, 1)
            mask[0] ^= True


NN = sg.nn.functional
MASKED: dict[str, Function] = {
    "mean": lambda x, m, k: x[m].mean(),
    "cross-entropy": lambda x, m, k: NN.cross_entropy(x[m[:, 0]], sg.remainder(k, 4)[m[:, 0]]),
    "squares": lambda x, m, k: NN.mse_loss(x[m], sg.sin(x)[m]),
    "masked_select": lambda x, m, k: sg.masked_select(x, m).exp().sum(),
    "log_softmax": lambda x, m, k: NN.log_softmax(x[m[:, 0]], 1).gather(1, sg.remainder(k, 4)[m[:, 0]][:, None]).mean(),
    "layer_norm": lambda x, m, k: (NN.layer_norm(x[m[:, 0]], (4,)) * sg.arange(4.0)).sum(),
    "deviation": lambda x, m, k: x[m].std(),
    "rows of a table": lambda x, m, k: x[k[m[:, 0]]].sum(0).max(),
    "logarithms": lambda x, m, k: sg.log(x[x > 0]).sum(),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_losses_have_known_extents(name):
    """No host call, in graphs and compiled functions, with gradient and second gradient."""

    def step(x, m, k):
        return values(MASKED[name], (x, m, k), 2)

    def given():
        return sg.tensor(X, requires_grad=True), sg.tensor(M), sg.tensor(K)

    fn = sg.compile(step, on_break="error")
    for a, b in zip(step(*given()), fn(*given()), strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-10, atol=1e-12)
    assert fn.plan.host_calls == 0
    graph = sg.Graph()
    with graph.as_default():
        fed = [sg.placeholder(a.dtype, a.shape) for a in (X, M, K)]
        y = MASKED[name](fed[0] + sg.sin(fed[0]), *fed[1:])
        slope = sg.gradients([(y * sg.sin(y)).sum()], [fed[0]])[0]
        fetches = [y, slope, sg.gradients([(slope * slope).sum()], [fed[0]])[0]]
    feeds = dict(zip(fed, (X, M, K), strict=True))
    with sg.Session(graph=graph) as sess:
        for a, b in zip(step(*given()), sess.run(fetches, feeds), strict=True):
            np.testing.assert_allclose(b, a.detach().numpy(), rtol=1e-10, atol=1e-12)
        assert sess.plan(fetches, feeds).host_calls == 0


def test_nothing_comes_from_rows_outside_of_a_mask():
    """Neither NaN nor an index that is out of range."""
    x = np.array([[1.0, 2.0], [np.nan, -1.0], [3.0, np.inf]])
    k, m = np.array([1, 7, 0]), np.array([True, False, True])

    @sg.compile(on_break="error")
    def step(x, k, m):
        y = sg.log(x[m]).gather(1, k[m][:, None]).sum()
        return y, sg.grad(y, x)[0]

    total, slope = step(sg.tensor(x, requires_grad=True), sg.tensor(k), sg.tensor(m))
    assert float(total.detach()) == np.log(2) + np.log(3)
    assert slope.tolist() == [[0, 0.5], [0, 0], [1 / 3, 0]]
    with pytest.raises(sg.IndexRangeError):
        step(sg.tensor(x, requires_grad=True), sg.tensor(k), sg.tensor(~m))


def test_in_the_body_of_a_loop():
    """Each iteration has another number of elements; the gradient's loop finds them again."""

    def total(x):
        return sg.scan(lambda c, row: (c + sg.sort(row[row > 0]).values.cumsum(0).sum(), c), sg.zeros((), dtype=x.dtype), x)[0]

    def step(x):
        y = total(x * x * x)
        return y, sg.grad(y, x)[0]

    eager, compiled = (
        [y.detach().numpy() for y in fn(sg.tensor(X, requires_grad=True))] for fn in (step, sg.compile(step, on_break="error"))
    )
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder("float64", [None, 4])
        y = total(x * x * x)
        fetches = [y, sg.gradients([y], [x])[0]]
    with sg.Session(graph=graph) as sess:
        for a, b, c in zip(eager, compiled, sess.run(fetches, {x: X}), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12)
            np.testing.assert_allclose(c, a, rtol=1e-12)


@pytest.mark.parametrize("name", ["mask", "positions", "different", "rows"])
def test_small_parts_are_numpys_and_their_calls_fast(name, monkeypatch):
    """No program for each number of elements; arguments are checked and results made in one native call."""
    calls: dict[str, Function] = {
        "mask": lambda x: (x[x > 0], x.sum()),
        "positions": lambda x: sg.nonzero(x > 0),
        "different": lambda x: sg.unique(sg.round(x * 2), return_counts=True),
        "rows": lambda x: sg.exp(x[x[:, 0] > 0] @ x[:4].mT),
    }
    fn, rng = sg.compile(calls[name], on_break="error"), np.random.default_rng(0)
    fn(sg.tensor(rng.standard_normal((9, 9))))
    monkeypatch.setattr(program.Program, "__init__", None)
    for _ in range(20):
        x = sg.tensor(rng.standard_normal((9, 9)))
        found, wanted = fn(x), calls[name](x)
        assert fn.latest.fast_call((x,)) is not FALLBACK
        for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, wanted)), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
        assert not np.shares_memory((found[0] if isinstance(found, tuple) else found).numpy(), x.numpy())


@pytest.mark.parametrize("kind", ["complex64", "float16", "bfloat16", "uint16"])
def test_other_dtypes(kind):
    mask = np.array([1, 0, 1, 1, 0], bool)
    graph = sg.Graph()
    with graph.as_default():
        x, m = sg.placeholder(kind, [5]), sg.placeholder("bool", [5])
        y = sg.cat([x[m], x])
    with sg.Session(graph=graph) as sess:
        found = sess.run(y, {x: np.arange(5), m: mask})
    assert found.dtype == x.dtype
    assert found.tolist() == [0, 2, 3, *range(5)]


@pytest.mark.parametrize("numerics", ["fast", "strict"])
def test_sparse_tensors_of_a_run(numerics):
    value = X * M
    fn = sg.compile(lambda x: (x.to_sparse() * 2).to_dense(), on_break="error", numerics=numerics)
    np.testing.assert_array_equal(fn(sg.tensor(value)).numpy(), value * 2)
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder("float64", [6, 4])
        y = x.to_sparse()
        assert "nnz=?" in repr(y)
        dense, parts = y.to_dense(), [y.indices(), y.values()]
    with sg.Session(graph=graph, numerics=numerics) as sess:
        np.testing.assert_array_equal(sess.run(dense, {x: value}), value)
        places, values = sess.run(parts, {x: value})
        np.testing.assert_array_equal(value[tuple(places)], values)
        with pytest.raises(sg.errors.GraphError, match=r"fetch its parts, x.indices\(\) and x.values\(\)"):
            sess.run(y, {x: value})
