"""Machine code: compiled from LLVM code by Numba's JIT, loaded into this process.

A process whose code is all in the cache imports neither Numba nor LLVM, where `linker.py` can link the code.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeVar

import llvmlite

from ...base.locks import unforked
from ...base.signals import uninterrupted
from ...errors import CompileError
from . import blas_symbols, linker
from .cpu import L2, description

Result = TypeVar("Result")


COMPILER = "STATICGRAD_KERNELS"
"""The environment variable that chooses the compiler of kernels and of the runtime."""
COMPILERS = {
    "numba": "Numba's code library compiles what the package's own front end has typed",
    "njit": "Numba types and compiles",
    "llvm": "LLVM without Numba compiles what the package's own front end has typed",
}


DEFAULT = "numba"


def compiler() -> str:
    """The compiler by its name. Raises CompileError for an unknown one."""
    chosen = os.environ.get(COMPILER, DEFAULT)
    if chosen not in COMPILERS:
        raise CompileError(f"{COMPILER}={chosen}: it is {', '.join([*COMPILERS][:-1])} or {[*COMPILERS][-1]}")
    return chosen


@cache
def tools(compiler: str) -> str:
    """The CPU with its cache, and the versions of the tools, which machine code depends on besides its source."""
    found = f"{compiler} {llvmlite.__version__} {sys.version} {description()} {L2}"
    if compiler == "llvm":
        return found
    spec = importlib.util.find_spec("numba")  # finds it without loading it
    assert spec is not None
    assert spec.origin is not None
    with open(os.path.join(os.path.dirname(spec.origin), "_version.py")) as stream:
        return found + stream.read()


def compiled(code: str, inlined: Iterable[str] = ()) -> bytes:
    """The object code of a text of LLVM code. inlined: texts of functions that it calls."""
    if compiler() == "llvm":
        from .code_generation import compiled
    else:
        from .numba_library import compiled
    return compiled(code, inlined)


def known(name: str) -> bool:
    """Whether code can call a function of this name in every process: a C function, or a BLAS routine."""
    return name in _routines() or hasattr(ctypes.CDLL(None), name)


@cache
def _routines() -> dict[str, str]:
    """BLAS routines by the symbols of kernels."""
    return {blas_symbols.symbol(name): name for name in blas_symbols.ROUTINES}


def _outside(name: str) -> int:
    """The address of a function that is no machine code of ours; 0 where there is none."""
    if name in _routines():
        return blas_symbols.address_of(_routines()[name])
    function = getattr(ctypes.CDLL(None), name, None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def loaded(content: bytes) -> dict[str, int]:
    """The addresses of functions by their names: of a line with these names, and object code, which is linked with BLAS and the
    C library. Each call has a namespace of its own."""
    line, _, code = content.partition(b"\n")
    names = line.decode().split()
    addresses = linker.linked(code, _outside)
    if addresses is not None:
        return {name: addresses[name] for name in names}

    def by_llvm() -> dict[str, int]:
        from . import code_generation

        blas_symbols.bind()
        return code_generation.loaded(code, names)

    return undisturbed(by_llvm)


def undisturbed(work: Callable[[], Result]) -> Result:
    """The result of work of LLVM's, which survives neither an exception of a signal handler at an arbitrary place nor a fork.
    Code that is in the cache and that `linker.py` links needs no such care, nor the thread that it takes."""

    def whole() -> Result:
        with unforked:
            return work()

    return uninterrupted(whole)
