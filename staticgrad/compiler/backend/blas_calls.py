"""Calls of BLAS routines in LLVM code; `blas_symbols.py` binds them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from .blas_symbols import symbol
from .llvm import I32, Int, function

SYMBOLS = {"f32": symbol("sgemm"), "f64": symbol("dgemm")}


def gemm(
    element: str, builder: Any, ta: Int, tb: Int, m: Int, n: Int, k: Int, alpha: Any, a: Int, lda: Int, b: Int, ldb: Int,
    adds: Int, c: Int, ldc: Int,
) -> None:  # fmt: skip
    """Emit a call: C = alpha op(A) op(B), or C += where `adds` is not 0; column-major, a, b and c are addresses."""

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
