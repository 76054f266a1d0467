"""Products: tiles of registers, what they leave over, and transposes, against NumPy in float64."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler import jit
from tests.helpers import rng_of

ROWS, COLUMNS, DEPTHS = (1, 7, 8, 31, 33, 64), (1, 8, 15, 16, 17, 33, 100), (1, 5, 8, 257, 520)
ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("turned_a", "turned_b"), list(itertools.product((0, 1), repeat=2)))
def test_all_remainders(dtype: str, turned_a: int, turned_b: int):
    """Rows beyond eights, columns beyond vectors, depths beyond a panel; nothing is written beside the result."""
    kernel = ENTRY(jit.library("gemm", f"gemm_f{8 * int(dtype[1])}").address)
    rng = rng_of(dtype)
    for m, n, k in itertools.product(ROWS, COLUMNS, DEPTHS):
        a = rng.standard_normal((k, m) if turned_a else (m, k)).astype(dtype)
        b = rng.standard_normal((n, k) if turned_b else (k, n)).astype(dtype)
        c = np.full(m * n + 16, 7, dtype)
        sizes = np.array([turned_a, turned_b, m, n, k, a.shape[1], b.shape[1], n, 1, 0, 0, 0], np.int64)
        places = np.array([x.ctypes.data for x in (a, b, c)], np.int64)
        kernel(places.ctypes.data, sizes.ctypes.data, 0, m)
        exact = (a.T if turned_a else a).astype(np.float64) @ (b.T if turned_b else b)
        tolerance = float(np.finfo(dtype).eps) * 4 * (k + 8)
        np.testing.assert_allclose(c[: m * n].reshape(m, n), exact, rtol=0, atol=tolerance, err_msg=str((m, n, k)))
        assert (c[m * n :] == 7).all()


def test_a_range_of_rows_is_a_part_of_the_product():
    """What two threads do: rows [0, 5) and [5, 20) of a product with a transposed left operand."""
    kernel = ENTRY(jit.library("gemm", "gemm_f32").address)
    rng = rng_of("range")
    a, b = rng.standard_normal((40, 20)).astype("f4"), rng.standard_normal((40, 48)).astype("f4")
    c = np.empty((20, 48), np.float32)
    sizes = np.array([1, 0, 20, 48, 40, 20, 48, 48, 1, 0, 0, 0], np.int64)
    places = np.array([x.ctypes.data for x in (a, b, c)], np.int64)
    for begin, end in ((0, 5), (5, 20)):
        kernel(places.ctypes.data, sizes.ctypes.data, begin, end)
    np.testing.assert_allclose(c, a.T @ b, rtol=1e-4, atol=1e-5)


def test_special_values_go_the_way_of_arithmetic():
    a, b = np.ones((16, 3), np.float32), np.ones((3, 32), np.float32)
    a[1, 1], a[2, 2], b[0, 3] = np.nan, np.inf, -np.inf
    found = sg.compile(lambda a, b: a @ b)(a, b).numpy()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, a @ b)


def test_products_by_one_matrix_are_one_product():
    rng = rng_of("batch")
    x, w = rng.standard_normal((4, 8, 16)).astype("f4"), rng.standard_normal((16, 32)).astype("f4")
    names = []
    for fn in (lambda x, w: x @ w, lambda x, w: x.mT @ w[:8]):
        step = sg.compile(fn)
        expected = fn(sg.tensor(x), sg.tensor(w)).numpy()
        np.testing.assert_allclose(step(x, w).numpy(), expected, rtol=1e-4, atol=1e-5)
        names.append(next(row.name for row in step.plan.rows if row.kind == "gemm"))
    assert names == ["32x16x32", "16x8x32 x4"]
