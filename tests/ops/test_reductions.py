"""Reductions: of integers, along axes named twice or not at all, of what has no axes; long running sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import ArgumentError, ShapeError
from staticgrad.operators import F
from tests.helpers import assert_close
from tests.ops.modes import MODES, eager, slopes

EVERY = ["eager", *MODES]


def run(mode: str, program: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    return (eager if mode == "eager" else MODES[mode])(program, arrays)


@pytest.mark.parametrize("mode", EVERY)
def test_integers_do_not_overflow(mode: str):
    bytes_, ints = np.array([1, 200], np.uint8), np.array([50_000, -50_000], np.int32)

    def program(x: Any, y: Any) -> list[Any]:
        spread = [F.var(x, correction=0), F.std(y, correction=0)]
        return [F.norm(x), F.norm(y), *spread, F.mean(x), F.sum(x), F.cumsum(x), F.einsum("i->", x)]

    single = np.float32
    expected = [
        single(np.sqrt(40001)), single(np.sqrt(5e9)), single(99.5**2), single(5e4), single(100.5), 201, [1, 201], 201,
    ]  # fmt: skip
    for result, value in zip(run(mode, program, [bytes_, ints]), expected, strict=True):
        assert_close(result, np.array(value), 1e-6)


@pytest.mark.parametrize("mode", EVERY)
@pytest.mark.parametrize("equation", ["ij,ij->i", "ij,ij->", "ij,jk->ik", "ii->i", "ij->ji"])
def test_products_of_small_integers_keep_their_dtype(equation: str, mode: str):
    """As in NumPy and PyTorch, they wrap around."""
    x = np.array([[200, 100], [100, 200]], np.uint8)
    operands = [x] * (equation.count(",") + 1)
    (found,) = run(mode, lambda *xs: [F.einsum(equation, *xs)], operands)
    assert_close(found, np.asarray(np.einsum(equation, *operands)))


@pytest.mark.parametrize("shape", [(1_000_000,), (250_000, 2), (2, 250_000)], ids=str)
def test_running_sums_carry_float64(shape: tuple[int, ...]):
    axis = int(np.argmax(shape))
    x = np.random.default_rng(0).random(shape).astype(np.float32)
    exact = np.cumsum(x, axis, dtype=np.float64)

    def program(x: Any) -> list[Any]:
        return [F.cumsum(x, axis), *slopes(F.cumsum(x, axis) * F.stop_gradient(x), [x])]

    expected = eager(program, [x])
    assert np.abs(expected[0] / exact - 1).max() < 1e-7
    seen = np.flip(np.cumsum(np.flip(x, axis), axis, dtype=np.float64), axis)
    assert np.abs(expected[1] / seen - 1).max() < 1e-7
    for mode in MODES.values():
        for found, value in zip(mode(program, [x]), expected, strict=True):
            assert_close(found, value)


WORDED = ["sum", "mean", "argmax", "argmin", "all", "any", "logsumexp", "softmax", "log_softmax", "cumsum", "squeeze"]


@pytest.mark.parametrize("name", WORDED)
def test_an_axis_is_named_once(name: str):
    for call in (lambda x: getattr(x, name)(dim=0, axis=1), lambda x: getattr(x, name)(0, dim=1)):
        for function in (call, sg.compile(call)):
            with pytest.raises(ArgumentError, match=f"{name.rstrip('_')}_?: 'axis' is given twice, as .* and as '(dim|axis)'"):
                function(sg.ones(1, 3))


def test_keepdims_is_given_once():
    with pytest.raises(ArgumentError, match="sum: 'keepdims' is given twice, as 'keepdims' and as 'keepdim'"):
        sg.ones(2).sum(0, True, keepdim=True)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("mode", EVERY)
def test_extrema_of_two_tensors_are_elementwise(mode: str, name: str):
    x, y = np.array([[1.0, 5.0], [3.0, 2.0]]), np.array([2.0, 3.0])
    found = run(mode, lambda x, y: [getattr(F, name)(x, y), *slopes(getattr(x, name)(y), [y])], [x, y])
    assert_close(found[0], getattr(np, name + "imum")(x, y))
    assert found[1].sum() == 2


def test_a_tensor_is_no_axis():
    with pytest.raises(ShapeError, match=r"maximum: shapes don't broadcast, \(2, 3\) and \(0, 3\)"):
        sg.max(sg.ones(2, 3), sg.zeros(0, 3))
    for axis in (sg.zeros(0), np.zeros(0)):
        with pytest.raises(ArgumentError, match="axis must be an integer, several, or None, got"):
            sg.sum(sg.ones(2, 3), axis)


@pytest.mark.parametrize("mode", EVERY)
def test_axis_0_of_what_has_no_axes(mode: str):
    names = ["sum", "mean", "amax", "amin", "logsumexp", "softmax", "log_softmax", "cumsum", "norm", "argmax"]

    def program(x: Any) -> list[Any]:
        return [getattr(F, name)(x, dim=axis) for name in names for axis in (0, -1)]

    expected = [2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 0.0, 2.0, 2.0, 0]
    for i, result in enumerate(run(mode, program, [np.array(2.0)])):
        assert_close(result, np.array(expected[i // 2]), 1e-12)
    with pytest.raises(ArgumentError, match="axis 1 is out of range for 0 axes"):
        sg.tensor(2.0).sum(1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
@pytest.mark.parametrize("shape", [(70, 64), (3, 1500), (5, 20, 65)], ids=str)
def test_rows_of_many_elements_are_those_of_a_few(name: str, shape: tuple[int, ...], dtype: str):
    """NumPy computes large arrays by functions of their own; NaN and infinite numbers too."""
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    x[0, ..., 3], x[1, ..., :], x[2, ..., 5] = np.nan, -np.inf, np.inf
    rows = x.reshape(-1, shape[-1])
    with sg.eager_kernels(False):
        found = getattr(sg, name)(sg.tensor(x), -1).numpy().reshape(len(rows), -1)
        wanted = [getattr(sg, name)(sg.tensor(row), -1).numpy().reshape(-1) for row in rows]
    assert_close(found, np.stack(wanted), {"float16": 4e-3, "float32": 1e-6, "float64": 1e-14}[dtype])


@pytest.mark.parametrize("shape", [(300, 40), (20, 30, 9), (130, 2)], ids=str)
def test_cotangents_of_rows_are_added(shape: tuple[int, ...]):
    b = sg.zeros(shape[-1], dtype=sg.float64, requires_grad=True)
    g = np.random.default_rng(0).standard_normal(shape)
    with sg.eager_kernels(False):
        (sg.tensor(g) + b).backward(sg.tensor(g))
    assert_close(b.grad.numpy(), g.reshape(-1, shape[-1]).sum(0), 1e-13)


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_of_many_matrices_with_one_in_any_order(order: str):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((5, 7, 3)), np.asarray(rng.standard_normal((3, 4)), order=order)
    with sg.eager_kernels(False):
        found = sg.matmul(sg.from_numpy(x), sg.from_numpy(y)).numpy()
    assert_close(found, np.stack([each @ y for each in x]), 1e-14)
