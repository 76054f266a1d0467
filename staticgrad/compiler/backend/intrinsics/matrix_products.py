"""Products of matrices inside a kernel, by the tiles of `gemm_products.py`. Addresses are plain integers, as in
`vector_tiles.py`; `of` is that of any pointer to the elements."""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from ..gemm_products import Product, in_place
from ..llvm import I64, Elements, Int, call, routine


@routine
def product(
    of: Elements, ta: Int, tb: Int, m: Int, n: Int, k: Int, a: Int, lda: Int, b: Int, ldb: Int, adds: Int, c: Int, ldc: Int
) -> None:
    """C = op(A) op(B), or C += where `adds` is not 0, for (m, k) and (k, n)."""
    one, turned, size = Int(ta.builder, I64(1)), ta.differs(0), of.size
    p = Product(
        ta, tb, a, turned.choose(one, lda) * size, turned.choose(lda, one) * size, b, ldb * size, c, ldc * size, c,
        ldc * size, adds, ir.Constant(of.llvm, 1.0),
    )  # fmt: skip
    call(ta.builder, f"in_place_{of.name}", partial(in_place, of), (m, n, k, *p))
