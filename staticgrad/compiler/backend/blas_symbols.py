"""The BLAS and LAPACK that SciPy ships: the addresses of its routines, bound to the symbols that compiled kernels call.

SciPy's wheels have an OpenBLAS beside them, which is loaded without SciPy: in 4 ms instead of 60. Elsewhere SciPy's modules of
capsules tell the addresses.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

from ...base.interpreter import module
from ...base.libraries import extension, folders

BLAS, LAPACK = ("gemm", "trsm"), ("potrf", "potri", "getrf", "geqrf", "orgqr", "ungqr")
KINDS = {"orgqr": "sd", "ungqr": "cz"}
"""The letters of kinds of numbers, of routines that don't exist for all of them."""
ROUTINES = tuple([f"{letter}{name}" for name in (*BLAS, *LAPACK) for letter in KINDS.get(name, "sdcz")])
WHEELS = ("../scipy.libs", ".dylibs")
"""The folders of a wheel's libraries, as seen from SciPy's."""
PREFIX = "scipy_"
"""How the names of all functions begin in the OpenBLAS of the wheels."""


def symbol(name: str) -> str:
    """The symbol of a routine in kernels. Addresses differ from process to process, and machine code is kept on disk."""
    return f"staticgrad_{name}"


def bind(others: Mapping[str, int]) -> None:
    """Define the symbols, and these, for code that LLVM loads from now on."""
    import llvmlite.binding as binding

    for name, address in {**{symbol(name): address_of(name) for name in ROUTINES}, **others}.items():
        binding.add_symbol(name, address)


@cache
def openblas() -> ctypes.CDLL | None:
    """The library of SciPy's wheels, the very one that SciPy itself loads; None where SciPy was built otherwise."""
    for folder in folders():
        for place in WHEELS:
            where = os.path.realpath(os.path.join(folder, place))
            for name in sorted(os.listdir(where) if os.path.isdir(where) else ()):
                if not name.startswith("libscipy_openblas"):
                    continue
                library = ctypes.CDLL(os.path.join(where, name))
                if all(hasattr(library, f"{PREFIX}{name}_") for name in ROUTINES):  # not in one for 64-bit extents
                    return library
    return None


def thread_functions() -> list[Any] | None:
    """OpenBLAS's functions that get and set its number of threads; None where SciPy was built with another BLAS."""
    library = openblas()
    if library is not None:
        return [library[f"{PREFIX}openblas_{which}_num_threads"] for which in ("get", "set")]
    capsules("blas")
    for found in module("threadpoolctl").ThreadpoolController().lib_controllers:
        if found.internal_api == "openblas" and "scipy" in os.path.basename(os.path.dirname(found.filepath)):
            prefix, suffix = found._symbol_prefix, found._symbol_suffix
            return [getattr(found.dynlib, f"{prefix}openblas_{which}_num_threads{suffix}") for which in ("get", "set")]
    return None


def capsules(library: str) -> ModuleType:
    """SciPy's module of capsules of "blas" or "lapack"."""
    return extension(f"scipy.linalg.cython_{library}")


@cache
def address_of(name: str) -> int:
    """The address of a routine."""
    library = openblas()
    if library is not None:
        found: Any = ctypes.cast(library[f"{PREFIX}{name}_"], ctypes.c_void_p).value
        return int(found)
    capsule = capsules("lapack" if name[1:] in LAPACK else "blas").__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address: int = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return address
