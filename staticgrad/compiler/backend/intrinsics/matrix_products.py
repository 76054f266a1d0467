"""Products of matrices inside a kernel, by the tiles of `gemm_in_place.py`. Addresses are plain integers, as in
`vector_tiles.py`; `like` is any pointer to the elements' dtype."""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from ..gemm_in_place import in_place
from ..gemm_tiles import Elements, Product
from ..kernel_types import Pointer, builtin, int64
from ..llvm import I64, Int, call
from .vector_tiles import _element


@builtin(Pointer, *[int64] * 12)
def product(builder, like, ta, tb, m, n, k, a, lda, b, ldb, adds, c, ldc):
    """C = op(A) op(B), or C += where `adds` is not 0, for (m, k) and (k, n)."""
    llvm, size = _element(like)
    ta, tb, m, n, k, a, lda, b, ldb, adds, c, ldc = (
        Int(builder, arg) for arg in (ta, tb, m, n, k, a, lda, b, ldb, adds, c, ldc)
    )
    one, turned = Int(builder, I64(1)), ta.differs(0)
    p = Product(
        ta, tb, a, turned.choose(one, lda) * size, turned.choose(lda, one) * size, b, ldb * size, c, ldc * size, c,
        ldc * size, adds, ir.Constant(llvm, 1.0),
    )  # fmt: skip
    of = Elements("f32" if size == 4 else "f64")
    call(builder, f"in_place_{of.name}", partial(in_place, of), (m, n, k, *p))
