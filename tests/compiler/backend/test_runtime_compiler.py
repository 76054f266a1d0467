"""The runtime's language: compiled, it means what Python means."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable

import numpy as np
import pytest

from staticgrad.compiler.backend import kernel_compiler, numba_compiler, object_code
from staticgrad.compiler.backend.kernel_types import LanguageError
from staticgrad.compiler.backend.runtime_builtins import copy_bytes, entry, exchange, peek, peek_byte, poke, resize

LIMIT = 7
NUMBERS = (-9, -4, -1, 0, 1, 2, 3, 8)


FRONT_ENDS = {"own": kernel_compiler.translated, "Numba's": numba_compiler.translated}


@pytest.fixture(params=FRONT_ENDS)
def native(request: pytest.FixtureRequest) -> Callable[..., Callable[..., int]]:
    """Compiles a function, whose types one of the front ends finds."""

    def compiled(function: Callable[..., int]) -> Callable[..., int]:
        code = object_code.compiled(FRONT_ENDS[request.param]([entry(function)]))
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * function.__code__.co_argcount)
        name = function.__name__
        return kind(object_code.loaded(f"{name}\n".encode() + code)[name])

    return compiled


def arithmetic(a, b):
    c, d = b, a
    c += 3 * a - -d
    return (c << 2) + (a >> 1) ^ (b & 12 | LIMIT)


def division(a, b):
    by = b * b + 1
    return a // by * 1000 + a % by


def choices(a, b):
    if (a < b and not (b == 3 or b > 7)) or a == LIMIT:
        return min(a, b, 2) if a != 1 else max(b, -2)
    elif b >= a:
        a += 100
    else:
        a -= 1 if b <= -1 else 2
    return a


def loops(a, b):
    total, i = 0, -5
    for i in range(a):
        if i == 5:
            continue
        for j in range(b, a, 2):
            if j > 6:
                break
            total += i * j
    while True:
        b += 1
        if b > 10:
            break
        while b % 3 != 0:
            b += 1
            total += b
    return total * 100 + i


def compared(a, b):
    less = a < b
    return less * 10 + (a == b) + (a >= b if b > 0 else a > b)


def calls(a, b):
    return helped(a, helped(b, a)) - helped(b, 1)


def helped(a, b):
    nothing(a)
    return a - 2 * b


def nothing(a):
    if a > 0:
        return
    a += 1


@pytest.mark.parametrize("function", [arithmetic, division, choices, loops, compared])
def test_it_means_what_python_means(function: Callable[..., int], native):
    compiled = native(function)
    for a, b in itertools.product(NUMBERS, NUMBERS):
        assert compiled(a, b) == function(a, b), (a, b)


def test_functions_that_are_called_come_along(native):
    compiled = native(calls)
    for a, b in itertools.product(NUMBERS, NUMBERS):
        assert compiled(a, b) == a - 2 * (b - 2 * a) - (b - 2), (a, b)


def guarded(address, wanted):
    return 1 if address != 0 and peek(address) == wanted else 0


def test_what_a_condition_does_not_need_is_not_read(native):
    place = np.array([5], np.int64)
    compiled = native(guarded)
    assert [compiled(0, 5), compiled(place.ctypes.data, 5), compiled(place.ctypes.data, 6)] == [0, 1, 0]


def memory(words, size):
    more = resize(0, size)
    copy_bytes(more, words, size)
    poke(more + 8, peek(more) + peek_byte(words + 8))
    before = exchange(words, peek(more + 8))
    resize(more, 0)
    return before


def test_memory(native):
    words = np.array([40, 258], np.int64)  # 258: its first byte is 2
    assert native(memory)(words.ctypes.data, 16) == 40
    assert words.tolist() == [42, 258]


# what the language does not have -------------------------------------------------------------------------------------


def text(a):
    return len("abc") + a


def listed(a):
    for x in [a]:
        a += x
    return a


def chained(a):
    return 1 < a < 3


def unknown(a):
    return a + missing  # type: ignore[name-defined]  # noqa: F821


def miscounted(a):
    return peek(a, a)


def attribute(a):
    a.real = 1
    return a


REFUSED = {
    text: "function len",
    listed: "loop over anything but a range",
    chained: "chain of comparisons",
    unknown: "name missing",
    miscounted: "call of peek with 2 operands",
    attribute: "assignment to this",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused_with_its_line(function: Callable[..., int]):
    with pytest.raises(LanguageError, match=f"the language of kernels has no {REFUSED[function]}") as caught:
        kernel_compiler.translated([entry(function)])
    assert "test_runtime_compiler.py:" in str(caught.value)


def test_an_instruction_does_not_run_in_python():
    with pytest.raises(TypeError, match="peek runs in compiled code only"):
        peek(0)
