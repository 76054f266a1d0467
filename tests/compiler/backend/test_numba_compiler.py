"""Numba compiles the kernels too, and its code computes what that of the package's own compiler does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad.compiler.backend import kernel_cache, machine_code
from staticgrad.errors import CompileError

rng = np.random.default_rng(5)
X = rng.uniform(-3, 3, (33, 47))
COUNTS = rng.integers(-9, 10, (7, 5))

PROGRAMS: dict[str, Callable[..., Any]] = {
    "elementwise": lambda x: sg.tanh(x) * sg.sigmoid(x) + sg.exp(-x * x) - sg.relu(x),
    "rare arguments": lambda x: sg.sin(x * 1e5) + sg.cos(x),
    "rows": lambda x: sg.log_softmax(x, -1) + F.layer_norm(x, (47,)),
    "columns": lambda x: sg.logsumexp(x, 0) + x.std(0),
    "extrema": lambda x: sg.stack([x.amax(0), x.amin(0), sg.maximum(x[0], x[1])]),
    "moves": lambda x: sg.cat([x.T[3:9, ::-2], x.reshape(47, 33)[:6, :17]], 1),
    "running sums": lambda x: sg.cumsum(x, 1),
    "convolution": lambda x: F.max_pool2d(F.conv2d(x.reshape(1, 3, 11, 47), x[:6, :9].reshape(2, 3, 3, 3), padding=1), 2),
    "scan": lambda x: sg.scan(lambda carry, row: (carry * 0.5 + row, carry.sum()), x[0], x)[1],
}


@pytest.fixture
def numba(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Kernels are compiled by Numba, in this process."""
    monkeypatch.setenv(kernel_cache.COMPILER, "numba")
    monkeypatch.setenv(machine_code.TIERS, "0")
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_cache, "_loaded", {})
    monkeypatch.setattr(machine_code, "_codes", {})


def value(program: Callable[..., Any], x: sg.Tensor) -> np.ndarray:
    """What kernels compute for it."""
    return sg.compile(program, wait=True)(x).numpy()


def test_both_compute_the_same(numba: None, monkeypatch: pytest.MonkeyPatch):
    x = sg.tensor(X.astype(np.float32))
    by_numba = {name: value(program, x) for name, program in PROGRAMS.items()}
    compiled = len(kernel_cache._loaded)
    assert compiled > len(PROGRAMS)
    monkeypatch.setenv(kernel_cache.COMPILER, "direct")
    monkeypatch.setattr(kernel_cache, "_loaded", {})
    monkeypatch.setattr(machine_code, "_codes", {})
    for name, program in PROGRAMS.items():
        expected, bound = by_numba[name], 50 * np.finfo(np.float32).eps
        np.testing.assert_allclose(value(program, x), expected, rtol=bound, atol=bound * abs(expected).max(), err_msg=name)
    assert len(kernel_cache._loaded) == compiled


def test_integers(numba: None):
    x = sg.tensor(COUNTS)
    found = value(lambda x: x // 3 + x % -4 + abs(x) ** 2, x)
    np.testing.assert_array_equal(found, COUNTS // 3 + COUNTS % -4 + abs(COUNTS) ** 2)


def test_files_of_the_two_are_apart(numba: None, monkeypatch: pytest.MonkeyPatch):
    text = kernel_cache.library_source("strided_moves", "clear")
    by_numba = kernel_cache.file(text)
    monkeypatch.delenv(kernel_cache.COMPILER)
    assert kernel_cache.file(text).name != by_numba.name


def test_another_compiler_is_refused(numba: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(kernel_cache.COMPILER, "gcc")
    with pytest.raises(CompileError, match="STATICGRAD_KERNELS=gcc: it is direct or numba"):
        sg.compile(lambda x: x * 2 + 1, wait=True)(sg.tensor(X))
