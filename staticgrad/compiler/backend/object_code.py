"""Machine code: compiled from LLVM code, kept in the kernel cache, loaded into this process. See `code_generation.py`."""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import llvmlite
import llvmlite.binding as llvm

from ...locks import unforked
from ...signals import uninterrupted
from . import blas_symbols, code_generation, source_key
from . import disk_cache as disk


class Made(NamedTuple):
    """Object code, whether it was in the kernel cache, and the addresses of its functions."""

    code: bytes
    found: bool
    addresses: dict[str, int]


@cache
def cpu() -> str:
    """The CPU and the versions of the tools, which machine code depends on besides its source."""
    features = sorted(llvm.get_host_cpu_features().items())
    return f"{llvmlite.__version__} {sys.version} {llvm.get_host_cpu_name()} {features}"


def known(name: str) -> bool:
    """Whether code can call a function of this name in every process: a C function, or a BLAS routine."""
    return name in map(blas_symbols.symbol, blas_symbols.ROUTINES) or hasattr(ctypes.CDLL(None), name)


def loaded(parts: Iterable[bytes], names: Iterable[str]) -> dict[str, int]:
    """The addresses of functions of object code that is linked together and with BLAS. Each call has a namespace of its own."""
    blas_symbols.bind()
    return code_generation.loaded(parts, names)


def file_of(kind: str, files: Iterable[Path]) -> disk.File:
    """The file of one kind of object code. files: the modules that make it; those that they import belong to its key too."""
    digest = hashlib.sha256((cpu() + kind).encode())
    digest.update(source_key.digest(*files))
    key = digest.hexdigest()
    return disk.File(f"{kind}-{key[:24]}.o", key)


def made_or_kept(kind: str, files: Iterable[Path], make: Callable[[], bytes], names: Iterable[str]) -> Made:
    """Functions that the package's own modules make: object code of one kind. files: see `file_of`."""
    file = file_of(kind, files)

    def whole() -> Made:
        with unforked:
            code, found = disk.kept(*file, make)
            return Made(code, found, loaded([code], names))

    return uninterrupted(whole)
