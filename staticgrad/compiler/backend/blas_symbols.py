"""The BLAS that SciPy ships: the addresses of its routines, bound to the symbols that compiled kernels call."""

from __future__ import annotations

import ctypes
import importlib
import importlib.machinery
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import llvmlite.binding as binding

from ...signals import uninterrupted

ROUTINES = ("sgemm", "dgemm")


def symbol(name: str) -> str:
    """The symbol of a routine in kernels. Addresses differ from process to process, and machine code is kept on disk."""
    return f"staticgrad_{name}"


@cache
def bind() -> None:
    """Define the symbols for code that is loaded from now on."""
    for name in ROUTINES:
        binding.add_symbol(symbol(name), address_of(name))


@cache
def cython_blas() -> ModuleType:
    """SciPy's module of BLAS capsules, loaded without the rest of scipy.linalg, which costs 0.1 s. It can be loaded only
    once."""
    return uninterrupted(_cython_blas)


def _cython_blas() -> ModuleType:
    name = "scipy.linalg.cython_blas"
    if name in sys.modules:
        return sys.modules[name]
    package = importlib.util.find_spec("scipy")
    places = package.submodule_search_locations if package is not None else None
    for place in places if places is not None else ():
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            file = Path(place) / "linalg" / f"cython_blas{suffix}"
            if file.exists():
                spec = importlib.util.spec_from_file_location(name, file)
                assert spec is not None
                assert spec.loader is not None
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                sys.modules[name] = module
                return module
    return importlib.import_module(name)


def address_of(name: str) -> int:
    """The address of a BLAS routine, from its capsule."""
    capsule = cython_blas().__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address: int = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return address
