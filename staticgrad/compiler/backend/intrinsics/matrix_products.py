"""Products of matrices inside a kernel, by the tiles of `gemm_products.py`, of complex numbers by BLAS. Addresses are plain
integers, as in `vector_tiles.py`."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..kernel_types import Builtin, Complex, Float, complex64, complex128, float32, float64, int64
from ..llvm import I64, Int, call_shared, fortran, letter
from ..object_code import symbol

ONE = 0x3FF0000000000000
"""The bits of 1 as a float64."""


def _product(element: Float) -> Builtin:
    """`f(ta, tb, m, n, k, a, lda, b, ldb, adds, c, ldc)`: C = op(A) op(B), or C += where `adds` is not 0, for (m, k) and
    (k, n)."""
    size = element.bits // 8

    def write(builder: Any, *operands: Any) -> None:
        ta, tb, m, n, k, a, lda, b, ldb, adds, c, ldc = (Int(builder, x) for x in operands)
        one, turned = Int(builder, I64(1)), ta.differs(0)
        rows, steps = turned.choose(one, lda) * size, turned.choose(lda, one) * size
        words = m, n, k, ta, tb, a, rows, steps, b, ldb * size, c, ldc * size, c, ldc * size, adds, Int(builder, I64(ONE))
        call_shared(builder, f"in_place_{element}", words)

    return Builtin(f"product_{element}", (int64,) * 12, write)


def _by_blas(element: Complex) -> Builtin:
    """The same of complex numbers. To BLAS a matrix that lies row by row is its transpose."""
    one, zero = (ir.Constant(element.llvm, [number, 0.0]) for number in (1.0, 0.0))

    def write(builder: Any, *operands: Any) -> None:
        ta, tb, m, n, k, a, lda, b, ldb, adds, c, ldc = (Int(builder, x) for x in operands)
        matrices = [x for place, wide in ((b, ldb), (a, lda)) for x in (place.place(element.llvm), wide)]
        beta = builder.select(adds.differs(0).value, one, zero)
        name = symbol(f"{'c' if element is complex64 else 'z'}gemm")
        fortran(
            builder, name, letter(tb, "T", "N"), letter(ta, "T", "N"), n, m, k, one, *matrices, beta, c.place(element.llvm), ldc
        )

    return Builtin(f"product_{element}", (int64,) * 12, write)


product_f32, product_f64 = _product(float32), _product(float64)
product_c64, product_c128 = _by_blas(complex64), _by_blas(complex128)
