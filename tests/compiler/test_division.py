"""Floor division, remainder and integer powers in kernels: NumPy's results to the bit, at every edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
    with np.errstate(all="ignore"):
        expected = DIVISIONS[name](x, y)
    identical(compiled(getattr(F, name), x, y), expected)


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
