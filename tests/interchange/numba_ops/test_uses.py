"""Ops of functions that Numba compiles under transforms, with other shapes, and wherever graphs and plans go."""

from __future__ import annotations

import importlib
import math
import re
import threading
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler.backend import dialect
from tests.helpers import load_no_kernels

RANDOM = np.random.default_rng(0)


def tensor(*shape: int) -> sg.Tensor:
    return sg.tensor(RANDOM.normal(size=shape))


@sg.njit_op
@numba.njit(error_model="numpy")
def act(x, y):
    return math.exp(-x * x) / (1 + y * y)


@sg.njit_op
@numba.njit
def two(x, y):
    return x / (y * y + 1), x * y


def first_of_two(x, y):
    return two(x, y)[0]


@sg.njit_op(signature="(n,m),(m)->(n)", vjp=lambda g, w, x: (sg.outer(g, x), sg.matmul(g, w)))
@numba.njit
def product(w, x):
    return w @ x


@sg.njit_op(signature="(n)->(n),()", vjp=lambda g, h, x: 2 * x * g + h)
@numba.njit
def squares(x):
    return x * x, x.sum()


@sg.njit_op(shape=lambda x: (x[0] - 1,), vjp=lambda g, x: sg.cat([-g[:1], g]) - sg.cat([0 * g[:1], g[1:], 0 * g[:1]]))
@numba.njit
def steps(x):
    return x[1:] - x[:-1]


def same_act(x, y):
    return sg.exp(-x * x) / (1 + y * y)


def same_two(x, y):
    return x / (y * y + 1)


X, Y, W = tensor(4, 3), tensor(4, 3), tensor(5, 3)
PAIRS = {"fused": (act, same_act), "by a kernel of its own": (first_of_two, same_two)}
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "vmap": lambda f: sg.vmap(f)(X, Y),
    "vmap of one": lambda f: sg.vmap(f, in_dims=(0, None))(X, Y[0]),
    "vmap of columns": lambda f: sg.vmap(f, in_dims=(1, 0), out_dims=1)(X, tensor(3, 4) * 0 + Y[:3, :1]),
    "vmap of ranks": lambda f: sg.vmap(lambda x, y: f(x.sum(), y))(X, Y),
    "vmap of vmap": lambda f: sg.vmap(sg.vmap(f))(X, Y),
    "jvp": lambda f: sg.func.jvp(f, (X, Y), (Y, X))[1],
    "jvp of a gradient": lambda f: sg.func.jvp(sg.func.grad(lambda x: f(x, Y).sum()), (X,), (Y,))[1],
    "hessian": lambda f: sg.func.hessian(lambda x: f(x, Y[0]).sum())(X[0]),
    "jacrev": lambda f: sg.func.jacrev(lambda x: f(x, Y[0]))(X[0]),
    "jacfwd": lambda f: sg.func.jacfwd(lambda x: f(x, Y[0]))(X[0]),
    "third derivative": lambda f: sg.func.grad(sg.func.grad(sg.func.grad(lambda x: f(x, Y[0, 0]))))(X[0, 0]),
    "gradients of samples": lambda f: sg.compile(lambda x, y: sg.vmap(sg.func.grad(lambda a, b: f(a, b).sum()))(x, y))(X, Y),
}


def close(found: Any, right: Any) -> None:
    np.testing.assert_allclose(np.asarray(found.detach()), np.asarray(right.detach()), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("pair", PAIRS)
def test_transforms(pair, transform):
    op, same = PAIRS[pair]
    close(TRANSFORMS[transform](op), TRANSFORMS[transform](same))


ARRAYS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "vmap of all": lambda: (sg.vmap(product)(tensor(4, 5, 3) * 0 + W, X), X @ W.T),
    "vmap of a batch": lambda: (sg.vmap(product, in_dims=(None, 0))(W, sg.stack([X, Y])), sg.stack([X, Y]) @ W.T),
    "vmap of the other": lambda: (sg.vmap(product, in_dims=(0, None))(sg.stack([W, 2 * W]), X), sg.stack([X, 2 * X]) @ W.T),
    "vmap of two results": lambda: (sg.vmap(lambda x: sg.mul(*squares(x)))(X), X * X * X.sum(-1, keepdims=True)),
    "vmap of their gradient": lambda: (
        sg.vmap(sg.func.grad(lambda x: sg.mul(*squares(x)).sum()))(X),
        sg.vmap(sg.func.grad(lambda x: (x * x * x.sum()).sum()))(X),
    ),
    "vmap of a shape by a rule": lambda: (sg.vmap(steps)(X), X[:, 1:] - X[:, :-1]),
    "jvp": lambda: (sg.func.jvp(product, (W, X), (W * 2, X * 3))[1], 5 * (X @ W.T)),
    "jvp of a shape by a rule": lambda: (sg.func.jvp(steps, (X[0],), (Y[0],))[1], Y[0, 1:] - Y[0, :-1]),
    "hessian": lambda: (sg.func.hessian(lambda x: (product(W, x) ** 2).sum())(X[0]), 2 * W.T @ W),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", ARRAYS)
def test_transforms_of_functions_of_arrays(name):
    close(*ARRAYS[name]())


def test_gradcheck():
    x, y, w = (t.detach().requires_grad_() for t in (X, Y, W))
    assert sg.autograd.gradcheck(act, (x, y))
    assert sg.autograd.gradgradcheck(act, (x, y))
    assert sg.autograd.gradcheck(two, (x, y))
    assert sg.autograd.gradgradcheck(product, (w, x))


def test_a_branch_that_is_not_taken_has_no_part_in_derivatives():
    @sg.njit_op
    @numba.njit
    def root(x):
        return math.sqrt(x) if x > 0 else 0.0

    def third(x):
        return sg.func.grad(sg.func.grad(sg.func.grad(root)))(x)

    x = sg.tensor([0.0, 4.0], requires_grad=True)
    assert sg.grad(root(x).sum(), x)[0].tolist() == [0.0, 0.25]
    close(sg.vmap(third)(x.detach()), sg.tensor([0.0, 3 / 8 / 4**2.5]))


def test_code_with_numbers_of_numpys_is_differentiated():
    @sg.njit_op
    @numba.njit
    def waves(x):
        width = np.cos(0.5)
        return width / (1.0 + x * x) + np.float64(2.0) * x

    x = sg.tensor([0.5], requires_grad=True, dtype=sg.float64)
    close(sg.grad(waves(x).sum(), x)[0], 2 - 2 * x * math.cos(0.5) / (1 + x * x) ** 2)


def test_new_shapes_are_not_traced_again():
    @sg.compile
    def f(x, y):
        return act(x, y).sum(), product(W, x), two(x, y)[1]

    for n in (4, 6, 7, 9):
        x, y = tensor(n, 3), tensor(n, 3)
        for found, right in zip(f(x, y), (same_act(x, y).sum(), x @ W.T, x * y), strict=True):
            close(found, right)
    assert sum("not traced again" in line for line in f.recompiles) == 2


def test_unknown_extents():
    w, x, y = map(np.asarray, (W, X, Y))
    with sg.Graph().as_default(), sg.Session() as session:
        p, q = (sg.placeholder(sg.float64, [None, 3]) for _ in range(2))
        values = [act(p, q), two(p, q)[0], two(p, 2.0)[1], product(w, p)]
        slopes = sg.gradients(values[0].sum() + values[1].sum() + (values[3] ** 2).sum(), [p])
        with pytest.raises(sg.ShapeError, match="extents are unknown"):
            steps(p[:, 0])
        for n in (4, 2):
            found = session.run([*values, *slopes], {p: x[:n], q: y[:n]})
            rows = sg.tensor(x[:n], requires_grad=True)
            right = [same_act(rows, Y[:n]), same_two(rows, Y[:n]), rows * 2.0, rows @ W.T]
            right += sg.grad(right[0].sum() + right[1].sum() + (right[3] ** 2).sum(), rows)
            for a, b in zip(found, right, strict=True):
                np.testing.assert_allclose(a, np.asarray(b.detach()), rtol=1e-10)


def test_compare_graph_of_and_unjitted():
    assert sg.compare(act, np.asarray(X), np.asarray(Y), repeats=1).agree()
    assert sg.compare(product, np.asarray(W), np.asarray(X), repeats=1).agree()
    assert "act" in str(sg.graph_of(act(X.requires_grad_(), 2.0)))
    X.requires_grad_(False)
    for fn, operands in ((lambda x, y: act(x, y) * 2, (X, Y)), (lambda w, x: product(w, x) * 2, (W, X))):
        step = sg.compile(fn)
        right = step(*operands)
        [found] = step.plan.run_unjitted([np.asarray(x) for x in operands], {})
        np.testing.assert_allclose(found, np.asarray(right), rtol=1e-12)
        assert step.plan.host_calls == 0


MATH = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "erf",
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elementary_functions_in_kernels_are_vectorized_ones(dtype, monkeypatch, tmp_path):
    """They are those of kernels, within 3 units in the last place of C's."""
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path))  # where no kernel is
    load_no_kernels(monkeypatch)
    monkeypatch.setattr(dialect, "LINKED", {})
    x = sg.tensor(np.linspace(0.05, 0.95, 101).astype(dtype))
    for name in MATH:
        source = f"def fn(x): return {'np.exp2' if name == 'exp2' else f'math.{name}'}(x)"
        scope: dict[str, Any] = {"math": math, "np": np}
        exec(source, scope)
        op = sg.njit_op(numba.njit(scope["fn"]))
        right, found = np.asarray(op(x)), np.asarray(sg.compile(lambda x, op=op: op(x) + 0)(x))
        np.testing.assert_array_max_ulp(found, right, 3)
        [code] = [code for symbol, code in dialect.LINKED.items() if symbol.startswith("fn_")]
        dialect.LINKED.clear()
        assert "staticgrad_inlined_" in code[0]
        assert not re.search(r"(?m)^declare .*@(?!staticgrad_)", code[0]), name


def test_export(tmp_path, monkeypatch):
    step = sg.compile(lambda x, y: act(x, y) * 2)
    right = step(X, Y)
    step.export(tmp_path / "exported_act")
    monkeypatch.syspath_prepend(tmp_path)
    found = importlib.import_module("exported_act").load()(np.asarray(X), np.asarray(Y))
    np.testing.assert_array_equal(found, np.asarray(right))
    step = sg.compile(lambda w, x: product(w, x) * 2)
    step(W, X)
    with pytest.raises(sg.ArgumentError, match="product calls a function of Numba's"):
        step.export(tmp_path / "other")


def test_functions_of_one_name_are_told_apart():
    def scaled(by):
        @numba.njit
        def inner(x):
            return x * by

        return sg.njit_op(inner)

    step = sg.compile(lambda x: scaled(2.0)(x) + scaled(3.0)(x))
    assert step(sg.ones(3)).tolist() == [5, 5, 5]


def test_an_op_with_the_name_of_another():
    @sg.njit_op
    @numba.njit
    def bounded(x):
        if x > 1:
            raise ValueError("large")
        return x

    step = sg.compile(lambda x: bounded(x) + 1)
    assert step(sg.ones(2)).tolist() == [2, 2]
    with pytest.raises(ValueError, match="large"):
        step(sg.ones(2) * 2)


def test_chunks_of_a_large_batch_agree():
    x, y = (sg.tensor(RANDOM.normal(size=200_003)) for _ in range(2))
    for fn, same in ((act, same_act), (lambda x, y: two(x, y)[1], sg.mul)):
        close(sg.compile(lambda x, y, fn=fn: fn(x, y))(x, y), same(x, y))


def test_threads():
    found: list[Any] = []

    def work(k):
        x = X + k
        found.append(np.allclose(np.asarray(sg.compile(lambda x: act(x, Y) + product(W, x).sum())(x)),
                                 np.asarray(same_act(x, Y) + (x @ W.T).sum())))  # fmt: skip

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


@pytest.mark.parametrize(
    ("fn", "error"),
    [(lambda x: x @ x.T, None), (lambda x: np.linalg.inv(x + 2 * np.eye(3)), None), (lambda x: np.sort(x), None)],
    ids=["product", "inverse", "sort"],
)
def test_functions_that_take_pythons_lock(fn, error):
    """Numba's calls of BLAS and LAPACK do, to report errors."""
    op = sg.njit_op(numba.njit(fn), signature="(n,n)->(n,n)")
    x = RANDOM.normal(size=(2, 3, 3))
    right = np.stack([fn(part) for part in x])
    for run in (op, sg.compile(op)):
        np.testing.assert_allclose(np.asarray(run(x)), right, rtol=1e-9)
