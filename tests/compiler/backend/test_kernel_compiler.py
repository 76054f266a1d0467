"""The language of kernels: its arithmetic, its statements, and what it does not have."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

from staticgrad.compiler.backend import kernel_cache
from staticgrad.compiler.backend.dialect import i64_at, inline, kernel, sign_int
from staticgrad.compiler.backend.kernel_compiler import Kernel, translated
from staticgrad.compiler.backend.kernel_types import LanguageError


def run(lines: str, *arrays: np.ndarray, sizes: Sequence[int] = (), start: int = 0, stop: int = 0) -> None:
    """Compile and run a kernel of these lines, in which x0, x1, ... are the arrays."""
    readers = [f"x{i} = {a.dtype.kind!s}{8 * a.itemsize}_at(buffers, {i})" for i, a in enumerate(arrays)]
    body = "\n".join(f"    {line}" for line in [*readers, *lines.splitlines()])
    found = kernel_cache.load(f"@kernel\ndef kernel(buffers, sizes, start, stop):\n{body}\n")["kernel"]
    buffers = np.array([a.ctypes.data for a in arrays], np.int64)
    words = np.array([*sizes, 0], np.int64)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(found.address)
    call(buffers.ctypes.data, words.ctypes.data, start, stop)


INTEGERS = np.array([-(2**63), -7, -2, -1, 0, 1, 2, 7, 8, 2**63 - 1])


@pytest.mark.parametrize("divisor", [-8, -3, -1, 0, 1, 3, 8])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_integers_are_divided_as_numpy_divides_them(divisor: int, known: bool):
    """0 for a divisor of 0. The divisor is an argument, or a number of the source."""
    quotients, rests = np.empty_like(INTEGERS), np.empty_like(INTEGERS)
    by = str(divisor) if known else "sizes[0]"
    lines = f"for i in range(start, stop):\n    x1[i] = x0[i] // {by}\n    x2[i] = x0[i] % {by}"
    run(lines, INTEGERS, quotients, rests, sizes=[divisor], stop=INTEGERS.size)
    fits = (INTEGERS != -(2**63)) | (divisor != -1)  # no int64 is 2**63
    assert quotients[fits].tolist() == (INTEGERS // divisor)[fits].tolist()
    assert rests.tolist() == (INTEGERS % divisor).tolist()


MIXED = [  # expression over f32 x0 and i32 x1, the same in NumPy's types
    ("x0[0] + x1[0]", np.float32(0.1).astype(float) + 3),
    ("x0[0] * f32(0.1)", float(np.float32(0.1) * np.float32(0.1))),
    ("x1[0] / 2", 1.5),
    ("i32(x0[0] * 100)", 10),
    ("-x1[0]", -3),
    ("abs(-x0[0])", float(np.float32(0.1))),
    ("2.5 if x1[0] > 2 and not x1[0] == 4 else 1", 2.5),
    ("f64(x1[0] == 3 or x1[5000000] == 1)", 1),
    ("min(x1[0], 2) + max(x0[0], 7)", 9),
    ("(np.uint64(1) << np.uint64(63)) >> np.uint64(62)", 2),
    ("x0[0] != np.nan", 1),
    ("math.copysign(np.floor(x0[0] + 2.5), -1.0)", -2),
]


@pytest.mark.parametrize(("text", "expected"), MIXED)
def test_the_types_of_arithmetic(text: str, expected: float):
    x, i, out = np.array([0.1], np.float32), np.array([3], np.int32), np.zeros(1)
    run(f"x2[0] = {text}", x, i, out)
    assert out[0] == expected


def test_statements():
    """Loops in both directions, `while`, `continue`, `break`, several names at once, and results of several values."""
    out = np.zeros(8, np.int64)
    lines = """\
low, high = 0, sizes[0]
low, high = high, low
x0[0], x0[1] = low, high
total = 0
for i in range(10, 0, -3):
    if i == 7:
        continue
    total += i
x0[2] = total
k = 0
while k < 100:
    k += 1
    if k * k > 50:
        break
x0[3] = k
for i in range(start, stop):
    x0[4] += i
if sizes[0] == 5:
    kind = 1
else:
    kind = 2
x0[5] = kind"""
    run(lines, out, sizes=[5], start=2, stop=5)
    assert out[:6].tolist() == [5, 0, 15, 8, 9, 1]


@inline
def ends(first, last, found):
    """Functions may return early, and several values."""
    if found > last:
        return last, True
    for i in range(first, last):
        if i == found:
            return i, True
    return -1, False


@inline
def put(function, out, at, value):
    """A function gets functions, and knows the numbers that it gets."""
    out[at] = function(value)


def test_functions_become_part_of_the_kernel():
    def calls(buffers, sizes, start, stop):
        out = i64_at(buffers, 0)
        for i in range(3):
            place, known = ends(start, stop, 2 * i + 3)
            out[i] = place if known else -7
        put(sign_int, out, 3, -9)

    text = translated(kernel(calls))
    assert isinstance(kernel(calls), Kernel)
    assert text.count("define ") == 1


REFUSED = [
    ("x = 1\nfor i in range(start, stop):\n    y = x\n    x = f64(2)", "variable of several types: x"),
    ("x = 1\nfor i in range(start, stop):\n    x = f64(2)\ny = x", "value of x here"),
    ("y = unknown(1)", "name unknown"),
    ("y = [1]", "List"),
    ("y = 1 < start < 2", "chain of comparisons"),
    ("y = f64(1) // 2", "FloorDiv of floats"),
    ("for i in (1, 2):\n    y = i", "loop over anything but a range"),
    ("if start:\n    y = 1\nelse:\n    y = f64(1)\nz = y", "value of y here"),
    ("y = exp_f64(1.0, 2.0)", "call of exp_f64 with 2 operands"),
    ("with start:\n    pass", "With"),
]


@pytest.mark.parametrize(("lines", "what"), REFUSED)
def test_what_the_language_does_not_have(lines: str, what: str):
    body = "\n".join(f"    {line}" for line in lines.splitlines())
    text = f"@kernel\ndef kernel(buffers, sizes, start, stop):\n{body}\n"
    with pytest.raises(LanguageError, match=rf"the language of kernels has no {what}\n  <kernels.py>:\d+   "):
        kernel_cache.llvm_code(kernel_cache.header(text) + text)


def test_a_byte_stays_one_in_a_loop_that_combines_it_with_truth_values():
    x, found = np.array([0, 3, 0], np.int64), np.zeros(1, np.uint8)
    run("q = x1[0]\nfor i in range(start, stop):\n    q = maximum_bool(q, x0[i] == 3)\nx1[0] = q", x, found, stop=3)
    assert found == 1
