"""Floor division, remainder and integer powers in kernels: NumPy's results to the bit, at every edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.operators import F
from tests.compiler.helpers import Bench

EDGES = [0.0, 1, 2.5, 3, 0.1, 0.3, 0.9, 7, 1e30, 1e-30, 1e-40, np.inf, np.nan]
DIVISIONS = {"floor_divide": np.floor_divide, "remainder": np.remainder}
INTEGERS = [np.int64, np.int32, np.int16, np.int8, np.uint8]


def grid(dtype: Any) -> list[np.ndarray]:
    """All pairs of edges, and of some ordinary numbers."""
    if np.dtype(dtype).kind == "f":
        rng = np.random.default_rng(0)
        numbers = np.array([*EDGES, *(rng.standard_normal(30) * 10.0 ** rng.integers(-5, 6, 30))])
        numbers = np.array([*numbers, *-numbers, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max], dtype)
    else:
        limits = np.iinfo(dtype)
        numbers = np.array([0, 1, 2, 3, 7, 100, limits.max, limits.max - 1, limits.min], dtype)
        numbers = np.array([*numbers, *(-numbers[1:5] if limits.min else [])], dtype)
    return [np.ascontiguousarray(a) for a in np.meshgrid(numbers, numbers)]


def compiled(function: Any, *arrays: np.ndarray) -> np.ndarray:
    b = Bench()
    plan = b.plan(function(*(b.feed(value=a) for a in arrays)))
    assert plan.host_calls == 0
    return plan.run(b.arrays, {})[0]


def identical(actual: np.ndarray, expected: np.ndarray) -> None:
    """Signs of zeros included."""
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)
    if actual.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(actual), np.signbit(np.where(np.isnan(expected), actual, expected)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, *INTEGERS])
@pytest.mark.parametrize("name", DIVISIONS)
def test_division(name: str, dtype: Any):
    x, y = grid(dtype)
    if np.dtype(dtype).kind != "f":
        x, y = x[y != 0], y[y != 0]
    with np.errstate(all="ignore"):
        expected = DIVISIONS[name](x, y)
    identical(compiled(getattr(F, name), x, y), expected)


def in_session(numerics: str) -> Any:
    def run(function: Any, x: Any, y: Any) -> Any:
        with sg.Graph().as_default():
            inputs = [sg.placeholder(a.dtype, a.shape) for a in (x, y)]
            result = function(*inputs)
            with sg.Session(numerics=numerics) as session:
                return session.run(result, dict(zip(inputs, (x, y), strict=True)))

    return run


MODES = {
    "eager": lambda function, x, y: function(sg.tensor(x), sg.tensor(y)).numpy(),
    "session": in_session("fast"),
    "strict session": in_session("strict"),
    "compiled": lambda function, x, y: sg.compile(function)(sg.tensor(x), sg.tensor(y)).numpy(),
    "strict": lambda function, x, y: sg.compile(function, numerics="strict")(sg.tensor(x), sg.tensor(y)).numpy(),
}
WAYS = {
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "a number //": lambda x, y: 7 // y,
    "a number %": lambda x, y: 7 % y,
    "numpy": lambda x, y: np.floor_divide(x, y),
    "in a loop": lambda x, y: sg.scan(lambda c, v: (c + x[0] // v, None), x[0], y)[0],
}


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
def test_integers_divided_by_zero(way: str, mode: str, dtype: Any):
    x, y = np.array([5, 6, 7]), np.array([1, 2, 1], dtype)
    if way == "in a loop":
        assert MODES[mode](WAYS[way], x, y) == sum([5 // int(v) for v in y], 5)
    else:
        np.testing.assert_array_equal(MODES[mode](WAYS[way], x, y), WAYS[way](x, y))
    with pytest.raises(sg.DivisionError) as caught:
        MODES[mode](WAYS[way], x, np.array([1, 0, 1], dtype))
    assert isinstance(caught.value, ZeroDivisionError)
    assert isinstance(caught.value, RuntimeError)  # as in PyTorch
    lines = str(caught.value).splitlines()
    assert lines[0] == "ZeroDivisionError: integer division or modulo by zero"
    assert "test_integer_division.py" in lines[1]
    assert "  give other divisors there, sg.where(y == 0, 1, y), or divide floats" in lines


@pytest.mark.parametrize("divide", [lambda x: x // 0, lambda x: x % np.array([0, 1]), lambda x: x // False])
def test_divisors_that_are_known(divide: Any):
    """Refused when the graph is built; 1 needs no check."""
    x = sg.tensor([4, 5])
    with pytest.raises(sg.DivisionError):
        divide(x)
    with sg.Graph().as_default() as graph:
        p = sg.placeholder(sg.int64, [2])
        with pytest.raises(sg.DivisionError):
            divide(p)
        assert (p // 2).node.inputs[1].op.leaf == "constant"
        assert not any(node.op.name == "divisor" for node in graph.nodes)


def test_floats_divided_by_zero():
    x = sg.tensor([1.0, -1.0])
    np.testing.assert_array_equal((x // 0).numpy(), [np.inf, -np.inf])
    assert np.isnan((x % 0).numpy()).all()
    np.testing.assert_array_equal((sg.tensor([1, 1]) // 0.0).numpy(), [np.inf, np.inf])


def test_a_division_by_zero_leaves_what_comes_before():
    count, total = sg.tensor([6, 8]), sg.tensor([0.0, 0.0])

    @sg.compile
    def step(n):
        total.add_(1.0)
        count.floor_divide_(n)
        return total * 2

    step(sg.tensor([2, 1]))
    with pytest.raises(sg.DivisionError, match="integer division or modulo by zero"):
        step(sg.tensor([1, 0]))
    np.testing.assert_array_equal(count.numpy(), [3, 8])
    np.testing.assert_array_equal(total.numpy(), [2, 2])
    with pytest.raises(sg.DivisionError):
        count //= 0
    np.testing.assert_array_equal(count.numpy(), [3, 8])


def test_a_branch_that_is_not_taken_divides_nothing():
    choose = sg.compile(lambda x, y: sg.cond(y[0] == 0, lambda: x, lambda: x // y))
    np.testing.assert_array_equal(choose(sg.tensor([4]), sg.tensor([0])).numpy(), [4])
    np.testing.assert_array_equal(choose(sg.tensor([4]), sg.tensor([2])).numpy(), [2])


@pytest.mark.oracle
@pytest.mark.parametrize("way", ["//", "%"])
def test_error_of_pytorch(way: str):
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as caught:
        WAYS[way](torch.tensor([1]), torch.tensor([0]))
    assert str(caught.value) == "ZeroDivisionError"


@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_wrap_around(dtype: Any):
    x, y = grid(dtype)
    y = (y.astype(np.int64) % 70).astype(dtype)
    identical(compiled(F.pow, x, y), x**y)
    identical(compiled(lambda x: x**5, x), x**5)


@pytest.mark.parametrize(
    ("base", "exponent"), [(np.int32, np.int64), (np.int64, np.int8), (np.uint8, np.int64), (np.int8, np.uint8)]
)
def test_powers_of_two_dtypes(base: Any, exponent: Any):
    x, y = np.array([1, 2, 3], base), np.array([0, 5, 3], exponent)
    identical(compiled(F.pow, x, y), x**y)
