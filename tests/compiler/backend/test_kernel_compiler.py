"""The language of kernels: its arithmetic, its statements, and what it does not have."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

from staticgrad.compiler.backend import code_generation, kernel_cache
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
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(found)
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

    text = translated([kernel(calls)])
    assert isinstance(kernel(calls), Kernel)
    assert text.count("define ") == 1


def test_a_name_has_the_type_of_its_value():
    """Two loops of one kernel may use a name for values of different types. Those of the second are not made those of the
    first, which would round them here."""
    x, numbers, found = np.array([2**53 + 1, 2**53 + 3]), np.array([0.5, 1.5]), np.zeros(5, np.int64)
    lines = """\
for i in range(start, stop):
    t = x1[i]
    t = t + 1.0
    x2[0] = i64(t * 2)
for i in range(start, stop):
    t = x0[i]
    t = t + x0[0]
    x2[i + 1] = t
t = 1.5
if sizes[0] > 0:
    t = 2
    x2[3] = (2**53 + t) // 1
x2[4] = i64(t * 2)"""
    run(lines, x, numbers, found, sizes=[1], stop=2)
    assert found.tolist() == [5, 2**54 + 2, 2**54 + 4, 2**53 + 2, 4]


CASTS = [np.nan, np.inf, -np.inf, 300.0, -300.0, 127.9, -128.9, 255.5, -2.5, 3e9, -3e9, -(2.0**31) - 0.5, 2.0**63, 1e20, -1e20]


@pytest.mark.parametrize("of", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_floats_that_an_integer_does_not_hold(of: type):
    """The same in vectors and beside them."""
    x = np.array([*CASTS] * 9, of)
    for name in ("u8", "i8", "i16", "i32", "i64"):
        out = np.zeros(x.size, name[0] + str(int(name[1:]) // 8))
        run(f"for i in range(start, stop):\n    x1[i] = {name}(x0[i])", x, out, stop=x.size)
        wide = np.int64 if name == "i64" else np.int32
        least, whole = np.iinfo(wide).min, np.trunc(x.astype(np.float64))
        held = (whole >= least) & (whole < -float(least))
        expected = np.where(held, np.where(held, whole, 0).astype(wide), least).astype(out.dtype)
        np.testing.assert_array_equal(out, expected, err_msg=name)


REFUSED = [
    ("x = 1\nwhile x < 9:\n    x = f64(2)", "variable of several types: x"),
    ("x = 1\nfor i in range(start, stop):\n    y = x\n    if i == 3:\n        x = 2.0\n        continue", "variable of .* x"),
    ("x = 1\nfor i in range(start, stop):\n    if i == 3:\n        x = 2.0\n        break\ny = x", "value of x here"),
    ("x = 1\nif start:\n    if stop:\n        x = 2.0\ny = x", "value of x here"),
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


OUTLINED = """\
@outlined
def add(x, y, factor):
    for i in range(3):
        y[i] += factor * x[i]


@outlined
def total(x, n) -> i64:
    result = 0
    for i in range(n):
        result += i64(x[i])
    return result


@kernel
def kernel(buffers, sizes, start, stop):
    x, y = f64_at(buffers, 0), f64_at(buffers, 1)
    add(x, y, 2)
    add(y, x, 2)
    add(x, y, total(x, 3))
"""


def test_functions_that_stay_functions(monkeypatch: pytest.MonkeyPatch):
    """One for all calls of these types and known operands, whichever buffers they are given; the result has the type that the
    function is annotated with."""
    code = kernel_cache.llvm_code(kernel_cache.header(OUTLINED) + OUTLINED)[1]
    assert sorted(line.split("@")[1].split("(")[0] for line in code.splitlines() if line.startswith("define")) == [
        '"add"', '"add.1"', '"kernel"', '"total"',
    ]  # fmt: skip
    for compiler in ("numba", "njit"):
        monkeypatch.setenv("STATICGRAD_KERNELS", compiler)
        x, y = np.array([1.0, 2, 3]), np.array([4.0, 5, 6])
        buffers = np.array([x.ctypes.data, y.ctypes.data])
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)
        call(kernel_cache.load(OUTLINED)["kernel"])(buffers.ctypes.data, 0, 0, 0)
        assert x.tolist() == [13, 20, 27]
        assert y.tolist() == [6 + 60 * 13, 9 + 60 * 20, 12 + 60 * 27]


def test_a_byte_stays_one_in_a_loop_that_combines_it_with_truth_values():
    x, found = np.array([0, 3, 0], np.int64), np.zeros(1, np.uint8)
    run("q = x1[0]\nfor i in range(start, stop):\n    q = maximum_bool(q, x0[i] == 3)\nx1[0] = q", x, found, stop=3)
    assert found == 1


def test_vectors_are_for_all_strides():
    """LLVM does not guess that a stride which only the run knows is 1, and leave all others to a loop of single elements."""
    lines = (
        "x, y, s = f32_at(buffers, 0), f32_at(buffers, 1), sizes[0]",
        "for i in range(start, stop):",
        "    y[i] = exp_f32(x[i * s])",
    )
    source = "\n    ".join(["@kernel\ndef kernel(buffers, sizes, start, stop):", *lines]) + "\n"
    _, code = kernel_cache.llvm_code(kernel_cache.header(source) + source)
    optimized = str(code_generation.optimized(code))
    assert "vector.body" in optimized
    assert "ident.check" not in optimized
