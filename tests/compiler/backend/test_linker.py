"""The linker of object code, against LLVM's."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler.backend import code_generation, object_code
from staticgrad.compiler.runtime import instruction_loop, loader

KNOWN = platform.machine() == "x86_64" and sys.platform == "linux"
"""Whether this machine's code is code for this linker."""
CALLER = """
@numbers = internal constant [4 x i64] [i64 7, i64 11, i64 13, i64 17]
declare i64 @labs(i64)
define i64 @helper(i64 %x) noinline {
  %y = mul i64 %x, 3
  ret i64 %y
}
define i64 @tried(i64 %i) {
  %place = getelementptr [4 x i64], [4 x i64]* @numbers, i64 0, i64 %i
  %number = load i64, i64* %place
  %negative = sub i64 0, %number
  %positive = call i64 @labs(i64 %negative)
  %tripled = call i64 @helper(i64 %positive)
  ret i64 %tripled
}
"""
WRITABLE = """
@count = global i64 1
define i64 @tried(i64 %i) {
  %old = load i64, i64* @count
  %new = add i64 %old, %i
  store i64 %new, i64* @count
  ret i64 %new
}
"""
LACKING = """
declare i64 @there_is_no_such_function(i64)
define i64 @tried(i64 %i) {
  %x = call i64 @there_is_no_such_function(i64 %i)
  ret i64 %x
}
"""
PROGRAM = """
import sys
import numpy as np
import staticgrad as sg
f = sg.compile(lambda a, b: (sg.tanh(a @ b) + 1).sum(), wait=True)
a = np.ones((130, 70), "float32")
assert 33799 < float(f(a, a.T)) < 33801
heavy = ("scipy", "threadpoolctl", "numba", "networkx", "llvmlite.binding")
print(*[name for name in sys.modules if name.startswith(heavy)])
"""


def function(address: int) -> Callable[[int], int]:
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)


def test_code_is_linked_as_llvm_links_it():
    made = code_generation.compiled(CALLER)
    theirs, ours = code_generation.loaded(made, ["tried"]), object_code.linked(made, object_code._outside)
    assert (ours is not None) == KNOWN
    for addresses in (theirs, ours or theirs):
        assert [function(addresses["tried"])(i) for i in range(4)] == [21, 33, 39, 51]


@pytest.mark.parametrize("code", [b"", b"\x7fELF", b"something else" * 10], ids=("empty", "short", "other"))
def test_other_formats_are_left_to_llvm(code: bytes):
    assert object_code.linked(code, object_code._outside) is None


def test_code_with_variables_is_left_to_llvm():
    made = code_generation.compiled(WRITABLE)
    assert object_code.linked(made, object_code._outside) is None
    count = function(object_code.loaded(b"tried\n" + made)["tried"])
    assert (count(1), count(2)) == (2, 4)


def test_a_function_that_is_not_there_is_an_error():
    if KNOWN:
        with pytest.raises(sg.CompileError, match="machine code calls there_is_no_such_function, which is not there"):
            object_code.loaded(b"tried\n" + code_generation.compiled(LACKING))


def test_memory_that_can_not_be_executed_is_an_error(monkeypatch):
    monkeypatch.setattr(object_code, "_protect", lambda: lambda *_: -1)
    made = code_generation.compiled(CALLER)
    if KNOWN:
        with pytest.raises(sg.CompileError, match="the system does not let machine code be executed"):
            object_code.loaded(b"tried\n" + made)


def test_a_process_with_a_full_cache_imports_neither_llvm_nor_scipy():
    # the first process fills the kernel cache
    done = [subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False) for _ in range(2)][-1]
    assert (done.returncode, done.stdout.strip() == "") == (0, KNOWN and object_code.openblas() is not None), done.stderr


def test_the_runtime_is_called_with_its_operands():
    for name, count in loader.OPERANDS.items():
        assert vars(instruction_loop)[name].function.__code__.co_argcount == count


def test_vectors_are_aligned():
    """Constants that are loaded as whole vectors lie where their section wants them."""
    lanes = ", ".join(f"double {i}.0" for i in range(4))
    made = code_generation.compiled(f"""
        define void @tried(<4 x double>* %out) {{
          %old = load <4 x double>, <4 x double>* %out, align 8
          %new = fadd <4 x double> %old, <{lanes}>
          store <4 x double> %new, <4 x double>* %out, align 8
          ret void
        }}""")
    x = np.ones(4)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(object_code.loaded(b"tried\n" + made)["tried"])(x.ctypes.data)
    np.testing.assert_array_equal(x, np.arange(4) + 1.0)
