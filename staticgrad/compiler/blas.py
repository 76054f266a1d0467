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
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .lang import Pointer

INT = ir.IntType(32)


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


def _gemm(name: str, element: Any, llvm: Any) -> Any:
    """`gemm(ta, tb, m, n, k, a, a_at, lda, b, b_at, ldb, c, c_at, ldc)`, column major, C = op(A) op(B).

    The address is looked up when the process starts, through a symbol, so compiled code can be cached on disk.
    """
    symbol = f"staticgrad_{name}"
    binding.add_symbol(symbol, address_of(name))

    @intrinsic
    def gemm(typingctx, ta, tb, m, n, k, a, a_at, lda, b, b_at, ldb, c, c_at, ldc):
        if not all(isinstance(p, Pointer) and p.dtype == element for p in (a, b, c)):
            return None

        def codegen(context, builder, sig, args):
            def slot(value):
                place = cgutils.alloca_once(builder, value.type)
                builder.store(value, place)
                return place

            def flag(value):
                yes = builder.icmp_signed("!=", value, ir.Constant(value.type, 0))
                char = ir.IntType(8)
                return slot(builder.select(yes, ir.Constant(char, ord("T")), ir.Constant(char, ord("N"))))

            def extent(value):
                return slot(builder.trunc(value, INT))

            ta, tb, m, n, k, a, a_at, lda, b, b_at, ldb, c, c_at, ldc = args
            one, zero = slot(ir.Constant(llvm, 1.0)), slot(ir.Constant(llvm, 0.0))
            operands = [
                flag(ta), flag(tb), extent(m), extent(n), extent(k), one, builder.gep(a, [a_at]), extent(lda),
                builder.gep(b, [b_at]), extent(ldb), zero, builder.gep(c, [c_at]), extent(ldc),
            ]  # fmt: skip
            kind = ir.FunctionType(ir.VoidType(), [o.type for o in operands])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol), operands)
            return context.get_dummy_value()

        i = types.int64
        return types.void(i, i, i, i, i, a, i, i, b, i, i, c, i, i), codegen

    return gemm


sgemm = _gemm("sgemm", types.float32, ir.FloatType())
dgemm = _gemm("dgemm", types.float64, ir.DoubleType())
