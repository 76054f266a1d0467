"""Ops by kernels: values and cotangents are those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager.calls import op_calls
from staticgrad.ir import REGISTRY
from tests.eager.calls.test_composites import arrays_of, derivatives
from tests.helpers import assert_close, taken

LARGE = (48, 50)

CASES: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "exp": (lambda x: x.exp(), [LARGE]),
    "relu": (lambda x: (x - 0.7).relu(), [LARGE]),
    "sqrt": (lambda x: x.sqrt(), [LARGE]),
    "pow": (lambda x, y: x**y, [LARGE, (50,)]),
    "maximum": (lambda x, y: sg.maximum(x, y), [LARGE, LARGE]),
    "where": (lambda x, y: sg.where(x > 0.7, x * x, y), [LARGE, LARGE]),
    "sum": (lambda x: x.sum(1) * 2, [LARGE]),
    "mean": (lambda x: (x * x).mean(), [LARGE]),
    "softmax": (lambda x: x.softmax(-1), [LARGE]),
    "log_softmax": (lambda x: x.log_softmax(0), [LARGE]),
    "cumsum": (lambda x: x.cumsum(1), [LARGE]),
    "matmul": (lambda x, y: x @ y, [LARGE, (50, 3)]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_agree_with_numpy(name: str):
    function, shapes = CASES[name]
    arrays = arrays_of(shapes)
    with sg.eager_kernels(False):
        wanted = derivatives(function, arrays)
    with sg.eager_kernels(wait=True):
        found = derivatives(function, arrays)
    for a, b in zip(found, wanted, strict=True):
        assert_close(a, b, rtol=1e-9, atol=1e-11)


def test_calls_that_differ_from_the_one_before():
    arrays = [x.astype(dtype) for x in arrays_of([LARGE, LARGE[::-1]]) for dtype in (np.float32, np.float64)]
    with sg.eager_kernels(wait=True):
        for _ in range(2):
            for x in arrays:
                for axis in (0, 1):
                    assert_close(sg.tensor(x).sum(axis).numpy(), x.sum(axis), rtol=1e-5)
                assert_close(sg.exp(sg.tensor(x.T.copy().T)).numpy(), np.exp(x), rtol=1e-5)


def test_an_operand_that_is_not_floating():
    with sg.eager_kernels(wait=True):
        x = sg.tensor(arrays_of([LARGE])[0])
        sg.where(x > 0.7, x, -x)
        assert any(key[0] is REGISTRY["where"] and call.plan is not None for key, call in taken().items())


def test_kernels_are_used_from_a_size_on():
    x = sg.tensor(arrays_of([LARGE])[0])
    with sg.eager_kernels(wait=True):
        before = {*taken()}
        x[:2].exp()
        assert {*taken()} == before
        (x * 1.5).exp().softmax(-1)
    shapes = {key[0].name for key, call in taken().items() if hasattr(key[0], "name") and call.plan is not None}
    assert {"exp", "softmax"} <= shapes


@pytest.mark.parametrize("rows", [100, 5300])
def test_large_matrices_times_vectors(rows: int):
    """NumPy's BLAS would use threads of its own for them."""
    shapes: list[tuple[int, ...]] = [(rows, 50), (50,), (rows,)]
    arrays = arrays_of(shapes)
    with sg.eager_kernels(False):
        wanted = derivatives(lambda x, v, w: (x @ v).tanh() * (w @ x).sum(), arrays)
    with sg.eager_kernels(wait=True):
        found = derivatives(lambda x, v, w: (x @ v).tanh() * (w @ x).sum(), arrays)
    for a, b in zip(found, wanted, strict=True):
        assert_close(a, b, rtol=1e-9, atol=1e-9)
    keys = [key for key, call in taken().items() if isinstance(key, tuple) and key[0] is REGISTRY["matmul"] and call.plan]
    assert any((rows, 50) in key for key in keys) is (50 * rows >= op_calls.THREADED)


def test_arrays_in_another_order_keep_it():
    x = sg.tensor(arrays_of([LARGE])[0], requires_grad=True)
    with sg.eager_kernels(wait=True):
        y = x.T.exp()
        assert y.stride() == x.T.stride()
        (g,) = sg.grad(y, [x], sg.ones(50, 48, dtype=sg.float64).T.contiguous().T)
    assert_close(g.numpy(), np.exp(x.detach().numpy()), rtol=1e-12)


def test_a_cotangent_is_repeated_by_a_view():
    x = arrays_of([LARGE])[0]
    found = []
    for enabled in (False, True):
        with sg.eager_kernels(enabled, wait=True):
            t = sg.tensor(x, requires_grad=True)
            t.exp().sum(1).sum().backward()
            found.append(t.grad.numpy())
    assert_close(*found, rtol=1e-12)


def test_empty_arrays_and_views_are_numpys():
    with sg.eager_kernels(wait=True):
        assert sg.zeros(0, 5).softmax(-1).shape == (0, 5)
        x = sg.zeros(64, 64)
        assert x.T._data.base is not None
        assert sg.zeros(64, 64, requires_grad=True).T.sum().backward() is None


def test_a_record_says_from_which_size_on():
    sizes = {name: op_calls.least_of(REGISTRY[name]) for name in ("add", "exp", "sum", "softmax", "permute")}
    assert sizes["softmax"] == sizes["sum"] == 1 < sizes["exp"] < sizes["add"] < sizes["permute"]


def test_values_at_the_extremum_of_each_column():
    x = np.random.default_rng(4).standard_normal((64, 48)).astype(np.float32)
    found = []
    for enabled in (False, True):
        with sg.eager_kernels(enabled, wait=True):
            t = sg.tensor(x, requires_grad=True)
            for _ in range(20):  # until the backward pass has a plan
                (g,) = sg.autograd.grad((t.max(0).values * sg.arange(48.0)).sum(), [t])
            found.append([t.max(0).values.detach().numpy(), t.max(0).indices.numpy(), g.numpy()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_positions_along_other_axes_than_the_last_are_numpys(name, dtype):
    rng = np.random.default_rng(5)
    for shape, axis in [((70, 33), 0), ((17, 17, 17), 1), ((17, 17, 17), 0), ((1, 2000), 0), ((2000, 1), 0), ((3, 5, 400), 1)]:
        x = rng.integers(-4, 4, shape).astype(dtype)  # with equal elements
        x[rng.random(shape) < 0.02] = np.nan
        with sg.eager_kernels(wait=True):
            found = getattr(sg, name)(sg.tensor(x), axis)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found.numpy(), getattr(x, name)(axis))


TRANSPOSED: dict[str, tuple[Any, tuple[int, ...]]] = {
    "log-sum-exp": (lambda x: x.mT.logsumexp(1), (130, 140)),
    "log-sum-exp over the first axis": (lambda x: x.mT.logsumexp(0, keepdim=True), (130, 140)),
    "softmax": (lambda x: x.mT.softmax(1), (130, 140)),
    "a sum": (lambda x: x.permute(1, 2, 0).sum(1), (20, 30, 40)),
    "a sum over two axes": (lambda x: x.permute(1, 2, 0).sum((0, 2), keepdims=True), (20, 30, 40)),
    "a maximum": (lambda x: x.permute(2, 0, 1).amax(2), (20, 30, 40)),
    "elementwise": (lambda x: x.permute(2, 0, 1).sigmoid(), (20, 30, 40)),
    "two operands": (lambda x: (y := x.permute(1, 0, 2)) * y, (40, 30, 40)),
}


def steps(x: sg.Tensor) -> list[int]:
    """The strides that matter."""
    return [step for step, extent in zip(x.stride(), x.shape, strict=True) if extent > 1]


@pytest.mark.parametrize("name", TRANSPOSED)
def test_operands_with_moved_axes_have_kernels(name: str, monkeypatch: pytest.MonkeyPatch):
    function, shape = TRANSPOSED[name]
    taken: list[Any] = []
    moved = op_calls._with_axes_moved
    monkeypatch.setattr(op_calls, "_with_axes_moved", lambda *args: taken.append((args[0].name, moved(*args))) or taken[-1][1])
    (array,) = arrays_of([shape])
    with sg.eager_kernels(False):
        wanted = derivatives(function, [array])
        strides = steps(function(sg.tensor(array)))
    with sg.eager_kernels(wait=True):
        found = derivatives(function, [array])
        assert steps(function(sg.tensor(array))) == strides
    assert taken
    assert taken[0][1] is not None, taken
    for a, b in zip(found, wanted, strict=True):
        assert_close(a, b, rtol=1e-9, atol=1e-11)


def test_operands_with_moved_axes_ask_for_one_plan():
    before = {*taken()}
    with sg.eager_kernels(wait=True):
        sg.ones(41, 997).mT.logsumexp(1)
    (key,) = {*taken()} - before
    assert (41, 997) in key


POSITIONS = {
    "of maxima": lambda x: x.argmax(1),
    "of minima": lambda x: x.argmin(1, keepdim=True),
    "beside values": lambda x: x.max(1).indices,
    "values": lambda x: x.min(1).values,
}


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("order", [(2, 0, 1), (1, 2, 0), (1, 0, 2), (2, 1, 0), (0, 2, 1)])
def test_positions_are_row_major_as_numpys(name: str, order: tuple[int, ...]):
    """Whatever the order of memory of the operand is, so that `view` takes them before and after there is a kernel."""
    (array,) = arrays_of([(20, 30, 40)])
    found = []
    for enabled in (False, True):
        with sg.eager_kernels(enabled, wait=True):
            x = sg.tensor(array.astype(np.float32)).permute(*order)
            out = POSITIONS[name](x)
            found.append((steps(out), out.view(-1).tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("function", [lambda x: x.mT + x, lambda x: x.mT.cumsum(0), lambda x: x[:, ::2].mT.exp()])
def test_other_operands_in_another_order_are_numpys(function: Any):
    (array,) = arrays_of([(200, 200)])
    with sg.eager_kernels(False):
        wanted = function(sg.tensor(array))
    with sg.eager_kernels(wait=True):
        found = function(sg.tensor(array))
    assert_close(found.numpy(), wanted.numpy(), rtol=1e-12)
    assert steps(found) == steps(wanted)
