"""BLAS routines for kernels; `capsules.py` binds them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .capsules import bind, symbol
from .lang import Pointer

INT = ir.IntType(32)

bind()  # Numba links each kernel that it compiles


def _gemm(name: str, element: Any, llvm: Any) -> Any:
    """`gemm(ta, tb, m, n, k, a, a_at, lda, b, b_at, ldb, c, c_at, ldc)`, column major, C = op(A) op(B)."""

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
            builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol(name)), operands)
            return context.get_dummy_value()

        i = types.int64
        return types.void(i, i, i, i, i, a, i, i, b, i, i, c, i, i), codegen

    return gemm


sgemm = _gemm("sgemm", types.float32, ir.FloatType())
dgemm = _gemm("dgemm", types.float64, ir.DoubleType())
