"""The error of long sums in kernels: at most four times that of NumPy's pairwise summation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from staticgrad.operators import F
from tests.compiler.helpers import Bench

FACTOR = 4
LENGTHS = [100, 1000, 20_000, 1_000_000]

# name: (the sum, whose operand has `n` numbers to add and `k` results, the shape of that operand, the axis)
SUMS: dict[str, tuple[Callable[[Any], Any], Callable[[int, int], tuple[int, ...]], int | None]] = {
    "along rows": (lambda x: F.sum(x, 1), lambda n, k: (k, n), 1),
    "down columns": (lambda x: F.sum(x, 0), lambda n, k: (n, k), 0),
    "of a vector": (lambda x: F.sum(x), lambda n, k: (n,), None),
    "of a matrix": (lambda x: F.sum(x), lambda n, k: (n // 10, 10), None),
    "of sums of rows": (lambda x: F.sum(F.sum(x, 1) * 2) / 2, lambda n, k: (n // 10, 10), None),
}
DRAWS = {"positive": lambda rng, shape: rng.random(shape), "of both signs": lambda rng, shape: rng.standard_normal(shape)}


def errors(totals: Sequence[np.ndarray], x: np.ndarray, axis: int | None) -> list[float]:
    """Of several sums, the mean square difference from the exact one, in units of the dtype's precision times the sum of
    magnitudes."""
    wide = x.astype(np.longdouble)
    exact, scale = wide.sum(axis), np.abs(wide, out=wide).sum(axis) * np.finfo(x.dtype).eps
    return [float(np.mean(np.square((np.asarray(total, np.longdouble) - exact) / scale))) for total in totals]


def pairwise(x: np.ndarray, axis: int | None) -> np.ndarray:
    """NumPy adds in pairs where what it adds lies side by side."""
    rows = x.reshape(1, -1) if axis is None else np.ascontiguousarray(np.moveaxis(x, axis, -1))
    return np.sum(rows, -1).reshape(x.sum(axis).shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("name", SUMS)
def test_error_of_a_sum(name: str, draw: str, n: int, dtype: Any):
    function, shape, axis = SUMS[name]
    rng = np.random.default_rng(0)
    b = Bench()
    plan = b.plan(function(b.feed(value=np.zeros(shape(n, 2), dtype))))
    found = []
    for _ in range(min(100, 8 + 400_000 // n)):
        x = DRAWS[draw](rng, shape(n, 2)).astype(dtype)
        found.append(errors([plan.run([x], {})[0], pairwise(x, axis)], x, axis))
    ours, theirs = np.sqrt(np.mean(found, 0))
    assert ours <= FACTOR * theirs


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, "overflow", "both"])
def test_infinite_sums(special: Any, name: str, dtype: Any):
    function, shape, axis = SUMS[name]
    x = np.ones(shape(140_000, 2), dtype)
    if special == "overflow":
        x[...] = np.finfo(dtype).max / 100_000
    else:
        x.flat[:: x.size // 2 + 1] = np.inf if special == "both" else special
        x.flat[7] = -np.inf if special == "both" else 1
    b = Bench()
    got = b.plan(function(b.feed(value=x))).run(b.arrays, {})[0]
    with np.errstate(all="ignore"):
        expected = np.sum(x, axis)
    np.testing.assert_array_equal(got[~np.isfinite(expected)], expected[~np.isfinite(expected)])


def test_many_small_numbers_beside_a_large_one():
    x = np.full((200_000, 3), 1e-3, np.float32)
    x[0] = 1e4
    b = Bench()
    got = b.plan(F.sum(b.feed(value=x), 0)).run(b.arrays, {})[0]
    np.testing.assert_allclose(got, 1e4 + 200, rtol=1e-6)
    assert abs(np.sum(x, 0)[0] - 10_200) > 1, "one after another they are lost"


def test_large_integers_beside_sums_of_floats():
    """Both are totals of one kernel. float64 does not hold these integers."""
    x = np.arange(6000).reshape(2000, 3) + 2**53
    b = Bench()
    value = b.feed(value=x)
    plan = b.plan(value.astype(np.float32).sum(0), F.amax(value, 0), F.sum(value, 0))
    _, largest, total = plan.run(b.arrays, {})
    assert largest.tolist() == x[-1].tolist()
    assert total.tolist() == x.sum(0).tolist()
