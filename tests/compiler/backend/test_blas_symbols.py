"""SciPy's BLAS: the library of its wheels, and the module of capsules that other builds have, are one BLAS."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from staticgrad.compiler.backend import object_code
from tests.helpers import rng_of


@pytest.fixture
def capsules(monkeypatch):
    """As where SciPy is no wheel."""
    monkeypatch.setattr(object_code, "openblas", lambda: None)


def product(address: int) -> np.ndarray:
    """Of two matrices, by dgemm at an address."""
    a, b = rng_of("both roads").standard_normal((2, 9, 9))
    c, n, one, zero = np.zeros((9, 9)), ctypes.c_int(9), ctypes.c_double(1), ctypes.c_double(0)
    flag, size, alpha, beta = ctypes.c_char(b"N"), *map(ctypes.byref, (n, one, zero))
    places = [ctypes.c_void_p(x.ctypes.data) for x in (b, a, c)]
    gemm = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(address)
    flag = ctypes.byref(flag)
    gemm(flag, flag, size, size, size, alpha, places[0], size, places[1], size, beta, places[2], size)
    np.testing.assert_allclose(c, a @ b, rtol=1e-12)
    return c


def test_both_roads_find_the_same_routines(capsules, monkeypatch):
    other = product(object_code.address_of("dgemm"))
    threads = object_code.thread_functions()
    monkeypatch.undo()
    np.testing.assert_array_equal(product(object_code.address_of("dgemm")), other)
    assert places(object_code.thread_functions()) == places(threads)


def places(functions: list | None) -> list[int | None]:
    return [ctypes.cast(f, ctypes.c_void_p).value for f in functions or ()]
