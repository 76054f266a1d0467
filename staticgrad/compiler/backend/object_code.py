"""Machine code: compiled from LLVM code, kept in the kernel cache, loaded into this process. See `code_generation.py`.

A process whose code is all in the cache does not import LLVM, where `linker.py` can link the code.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import llvmlite

from ...locks import unforked
from ...signals import uninterrupted
from . import blas_symbols, linker, source_key
from . import disk_cache as disk
from .cpu import L2, description

Result = TypeVar("Result")


class Made(NamedTuple):
    """Object code, whether it was in the kernel cache, and the addresses of its functions."""

    code: bytes
    found: bool
    addresses: dict[str, int]


@cache
def cpu() -> str:
    """The CPU with its cache, and the versions of the tools, which machine code depends on besides its source."""
    return f"{llvmlite.__version__} {sys.version} {description()} {L2}"


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


def loaded(parts: Iterable[bytes], names: Iterable[str]) -> dict[str, int]:
    """The addresses of functions of object code that is linked together and with BLAS. Each call has a namespace of its own."""
    parts = list(parts)
    addresses = linker.linked(parts, _outside)
    if addresses is not None:
        return {name: addresses[name] for name in names}

    def by_llvm() -> dict[str, int]:
        from . import code_generation

        blas_symbols.bind()
        return code_generation.loaded(parts, names)

    return undisturbed(by_llvm)


def undisturbed(work: Callable[[], Result]) -> Result:
    """The result of work of LLVM's, which survives neither an exception of a signal handler at an arbitrary place nor a fork.
    Code that is in the cache and that `linker.py` links needs no such care, nor the thread that it takes."""

    def whole() -> Result:
        with unforked:
            return work()

    return uninterrupted(whole)


def file_of(kind: str, files: Iterable[Path]) -> disk.File:
    """The file of one kind of object code. files: the modules that make it; those that they import belong to its key too."""
    digest = hashlib.sha256((cpu() + kind).encode())
    digest.update(source_key.digest(*files))
    key = digest.hexdigest()
    return disk.File(f"{kind}-{key[:24]}.o", key)


def made_or_kept(kind: str, files: Iterable[Path], make: Callable[[], bytes], names: Iterable[str]) -> Made:
    """Functions that the package's own modules make: object code of one kind. files: see `file_of`."""
    code, found = disk.kept(*file_of(kind, files), lambda: undisturbed(make))
    return Made(code, found, loaded([code], names))
