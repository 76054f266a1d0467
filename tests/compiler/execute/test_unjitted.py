"""Kernels as plain Python: the same vocabulary, the same values."""

from __future__ import annotations

import ast
import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from staticgrad.compiler.backend import dialect, elementary, kernel_cache
from staticgrad.compiler.backend.intrinsics import philox
from staticgrad.compiler.execute.unjitted import Pointer, run_unjitted, vocabulary

FLOATS = np.array([0.0, -0.0, 1.5, -2.5, np.nan, np.inf, -np.inf, 3.0, 1e-30])
INTEGERS = np.array([0, 1, -1, 7, -128, 127, 40, -3, 2])

BODY = """\
@kernel
def kernel(buffers, sizes, start, stop):
    x = {dtype}_at(buffers, 0)
    y = {dtype}_at(buffers, 1)
    out = {result}_at(buffers, 2)
    for i in range(start, stop):
        out[i] = {text}
"""

UNARY = ["relu_{s}(x[i])", "sign_{s}(x[i])", "abs(x[i])"]
BINARY = ["plus_{s}(x[i], y[i])", "maximum_{s}(x[i], y[i])", "minimum_{s}(x[i], y[i])"]
FLOATING = ["math.sqrt(x[i])", "np.floor(x[i])", "np.rint(x[i])", "{t}(1) / x[i]", "{t}(i)", "exp_{s}(x[i])"]
DRAWS = ["uniform_{t}(i64(3), i64(5) + 2, i)", "normal_{t}(i64(3), i64(5) + 2, i)"]

CASES = [
    *((text, kind) for text in UNARY + BINARY for kind in ("f32", "f64", "i32", "i64")),
    *((text, kind) for text in FLOATING + DRAWS for kind in ("f32", "f64")),
    *((f"{{t}}({text})", kind) for text in ("x[i] + y[i]", "x[i] * y[i]", "-x[i]", "x[i] * {t}(sizes[0])") for kind in
      ("u8", "i8", "i16", "i32", "i64")),
    *((f"u8(1) if {text} else u8(0)", "bool") for text in (
        "maximum_bool((x[i] != 0), (y[i] != 0))", "minimum_bool((x[i] != 0), (y[i] != 0))",
        "((x[i] != 0) & (not (y[i] != 0)))", "((x[i] != 0) ^ (y[i] != 0))")),
]  # fmt: skip

DTYPES = {"f32": "f4", "f64": "f8", "u8": "u1", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "bool": "?"}


def native(body: str, buffers: list[np.ndarray], sizes: list[int], stop: int) -> None:
    kernel = kernel_cache.load(body)["kernel"]
    addresses, extents = np.array([b.ctypes.data for b in buffers], np.int64), np.array(sizes, np.int64)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(kernel.address)
    call(addresses.ctypes.data, extents.ctypes.data, 0, stop)


@pytest.mark.parametrize(("text", "kind"), CASES)
def test_python_means_what_machine_code_does(text: str, kind: str):
    dtype = np.dtype(DTYPES[kind])
    sample = FLOATS if dtype.kind == "f" else INTEGERS
    x, y = sample.astype(dtype), sample[::-1].astype(dtype)
    suffix = kind if dtype.kind in "fb" else "int"
    body = BODY.format(dtype=kind, result=kind, text=text.format(s=suffix, t=kind))
    got, expected = np.zeros_like(x), np.zeros_like(x)
    native(body, [x, y, expected], [300], x.size)
    run_unjitted(body, "kernel", [x, y, got], [300], 0, x.size)
    np.testing.assert_allclose(got, expected, rtol=1e-6 if kind == "f32" else 1e-14)


def test_every_name_of_kernels_has_a_meaning():
    names = vocabulary()
    tree = ast.parse(Path(dialect.__file__).read_text())
    helpers = {f.name for f in tree.body if isinstance(f, ast.FunctionDef) and any(
        isinstance(d, ast.Name) and d.id == "inline" for d in f.decorator_list)}  # fmt: skip
    draws = {name for name in vars(philox) if name.startswith(("uniform_", "normal_"))}
    assert helpers | draws | set(elementary.PYTHON) <= set(names)


def test_pointers_refuse_what_lies_outside():
    pointer = Pointer(np.arange(4.0), 1)
    assert pointer[-1] == 0
    pointer[2] = 9
    assert pointer.array.tolist() == [0, 1, 2, 9]
    for place in (-2, 3):
        with pytest.raises(IndexError, match="of a buffer of 4"):
            pointer[place]
        with pytest.raises(IndexError, match="of a buffer of 4"):
            pointer[place] = 0


def test_buffers_have_the_dtype_that_the_kernel_reads():
    body = BODY.format(dtype="f32", result="f32", text="x[i]")
    with pytest.raises(TypeError, match="buffer 0 holds float64, the kernel reads float32"):
        run_unjitted(body, "kernel", [np.zeros(3)] * 3, [], 0, 3)


def test_a_range_of_rows():
    body = BODY.format(dtype="f64", result="f64", text="x[i] + f64(1)")
    out = np.zeros(4)
    run_unjitted(body, "kernel", [np.zeros(4), np.zeros(4), out], [], 1, 3)
    assert out.tolist() == [0, 1, 1, 0]


def test_it_compiles_nothing():
    program = (
        "import numpy as np, numba\n"
        "def refuse(*a, **k): raise AssertionError('compiled')\n"
        "from staticgrad.compiler.execute.unjitted import run_unjitted\n"
        "numba.core.compiler.compile_extra = refuse\n"
        f"out = np.zeros(4)\nrun_unjitted({BODY.format(dtype='f64', result='f64', text='exp_f64(x[i])')!r}, 'kernel',"
        " [np.zeros(4), np.zeros(4), out], [], 0, 4)\n"
        "assert out.tolist() == [1, 1, 1, 1]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
