"""Numba compiles all kernels; its own front end can type them, too, and LLVM alone compiles to the same bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad.compiler.backend import kernel_cache, object_code
from staticgrad.errors import CompileError
from tests.helpers import load_no_kernels
from tests.processes import ended, start

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
def njit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Numba's own front end compiles, in this process."""
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv(kernel_cache.TIERS, "0")
    chosen(monkeypatch, "njit")


def chosen(monkeypatch: pytest.MonkeyPatch, compiler: str) -> None:
    """A process with another compiler."""
    monkeypatch.setenv(object_code.COMPILER, compiler)
    load_no_kernels(monkeypatch)
    monkeypatch.setattr(kernel_cache, "_codes", {})


def value(program: Callable[..., Any], x: sg.Tensor) -> np.ndarray:
    """What kernels compute for it."""
    return sg.compile(program, wait=True)(x).numpy()


def test_both_front_ends_compute_the_same(njit: None, monkeypatch: pytest.MonkeyPatch):
    x = sg.tensor(X.astype(np.float32))
    by_numba = {name: value(program, x) for name, program in PROGRAMS.items()}
    compiled = len(kernel_cache._loaded)
    assert compiled > len(PROGRAMS)
    chosen(monkeypatch, "numba")
    for name, program in PROGRAMS.items():
        expected, bound = by_numba[name], 50 * np.finfo(np.float32).eps
        np.testing.assert_allclose(value(program, x), expected, rtol=bound, atol=bound * abs(expected).max(), err_msg=name)
    assert len(kernel_cache._loaded) == compiled


def test_integers(njit: None):
    x = sg.tensor(COUNTS)
    found = value(lambda x: x // 3 + x % -4 + abs(x) ** 2, x)
    np.testing.assert_array_equal(found, COUNTS // 3 + COUNTS % -4 + abs(COUNTS) ** 2)


def test_numba_and_llvm_alone_give_the_same_bits(njit: None, monkeypatch: pytest.MonkeyPatch):
    """The same text, the same passes, the same CPU."""
    found = []
    for compiler in ("numba", "llvm"):
        chosen(monkeypatch, compiler)
        found.append([value(program, sg.tensor(X.astype(np.float32))).tobytes() for program in PROGRAMS.values()])
    assert found[0] == found[1]


def test_files_of_the_compilers_are_apart(monkeypatch: pytest.MonkeyPatch):
    text, names = kernel_cache.library_source("strided_moves", "clear"), set()
    for compiler in object_code.COMPILERS:
        monkeypatch.setenv(object_code.COMPILER, compiler)
        names.add(kernel_cache.file(text).name)
    assert len(names) == len(object_code.COMPILERS)


def test_another_compiler_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(object_code.COMPILER, "gcc")
    with pytest.raises(CompileError, match="STATICGRAD_KERNELS=gcc: it is numba, njit or llvm"):
        sg.compile(lambda x: x * 2 + 1, wait=True)(sg.tensor(X))


SETTINGS = {
    "NUMBA_OPT": "0", "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_LOOP_VECTORIZE": "0",
    "NUMBA_SLP_VECTORIZE": "1", "NUMBA_ENABLE_AVX": "0", "NUMBA_DISABLE_JIT": "1",
}  # fmt: skip
OBJECT = """
import hashlib
from staticgrad.compiler.backend import kernel_cache
lines = "x = f32_at(buffers, 0)", "for i in range(start, stop):", "    x[i] = exp_f32(x[i]) + sin_f32(x[i])"
body = "@kernel\\ndef kernel(buffers, sizes, start, stop):\\n" + "".join(f"    {line}\\n" for line in lines)
print(hashlib.sha256(kernel_cache.compiled(kernel_cache.header(body) + body)).hexdigest())
"""


def test_settings_of_numbas_change_nothing(monkeypatch: pytest.MonkeyPatch):
    """They are for the user's functions."""
    monkeypatch.delenv(object_code.COMPILER, raising=False)
    usual, complaints = ended(start(OBJECT))
    assert len(usual) == 65, complaints
    for name, setting in SETTINGS.items():
        monkeypatch.setenv(name, setting)
    assert ended(start(OBJECT))[0] == usual
