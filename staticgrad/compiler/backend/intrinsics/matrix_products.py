"""Products of matrices inside a kernel, by the tiles of `gemm_products.py`. Addresses are plain integers, as in
`vector_tiles.py`."""

from __future__ import annotations

from typing import Any

from ..kernel_types import Builtin, Float, float32, float64, int64
from ..llvm import I64, Int, call_shared

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


product_f32, product_f64 = _product(float32), _product(float64)
