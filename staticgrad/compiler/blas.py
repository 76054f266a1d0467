"""BLAS routines for kernels, bound by address to the library that SciPy ships."""

from __future__ import annotations

import ctypes
import importlib
import importlib.machinery
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite.binding as binding
from llvmlite import ir

from .code import I32, Int, function


@cache
def cython_blas() -> ModuleType:
    """SciPy's module of BLAS capsules, loaded without the rest of scipy.linalg, which costs 0.1 s."""
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
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))


SYMBOLS = {"f32": "staticgrad_sgemm", "f64": "staticgrad_dgemm"}
"""The names by which compiled code finds the routines: it can be cached on disk, their addresses are those of a process."""
for _symbol in SYMBOLS.values():
    binding.add_symbol(_symbol, address_of(_symbol.removeprefix("staticgrad_")))


def gemm(
    element: str, builder: Any, ta: Int, tb: Int, m: Int, n: Int, k: Int, alpha: Any, a: Int, lda: Int, b: Int, ldb: Int,
    adds: Int, c: Int, ldc: Int,
) -> None:  # fmt: skip
    """Write a call: C = alpha op(A) op(B), or added to C where `adds` is not 0; column major, a, b, c are addresses."""

    def slot(value: Any) -> Any:
        with builder.goto_entry_block():
            place = builder.alloca(value.type)
        builder.store(value, place)
        return place

    def flag(turned: Int) -> Any:
        char = ir.IntType(8)
        return slot(builder.select(turned.differs(0).value, ir.Constant(char, ord("T")), ir.Constant(char, ord("N"))))

    def extent(value: Int) -> Any:
        return slot(builder.trunc(value.value, I32))

    def place(address: Int) -> Any:
        return builder.inttoptr(address.value, alpha.type.as_pointer())

    beta = builder.select(adds.differs(0).value, ir.Constant(alpha.type, 1.0), ir.Constant(alpha.type, 0.0))
    operands = [
        flag(ta), flag(tb), extent(m), extent(n), extent(k), slot(alpha), place(a), extent(lda), place(b), extent(ldb),
        slot(beta), place(c), extent(ldc),
    ]  # fmt: skip
    kind = ir.FunctionType(ir.VoidType(), [o.type for o in operands])
    builder.call(function(builder, SYMBOLS[element], kind), operands)
