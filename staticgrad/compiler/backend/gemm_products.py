"""The kernels of matrix products C = alpha op(A) op(B) + E. Addresses are plain integers.

sizes: number of products, chunks (0: the range is that of the one product), bytes of scratch for each chunk, then for each
product: transpose A, transpose B, m, n, k, lda, ldb, ldc, batches, the bits of alpha (float64), lde (-1: nothing is added, 0:
one row for all), across, packed, then for each batch the offsets of A, B, C and E in elements. buffers: for each product A, B,
C, E; then the scratch, if there is any. E is C, or shares nothing with it. The range of one product is over rows of C for a
single batch, or columns if it is cut across, else over batches; that of chunks is over chunks, each of which takes its share
of every product. Where nothing is added, the first row of E is read all the same. Packed products need chunks and scratch; see
`gemm_blocks.py`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir

from .gemm_blocks import blocked
from .gemm_form import BROAD, FIRST, FORM, WIDE
from .gemm_in_place import in_place
from .gemm_tiles import Product
from .kernel_types import BUFFERS, SIZES, Builtin, Float, float32, float64, int64
from .llvm import I64, Int, call, steps, where
from .vectors import EIGHT, Elements


def _multiply(of: Elements, packing: bool, builder: Any, buffers: Any, sizes: Any, start: Int, stop: Int) -> None:
    """The range of the products whose forms are in `sizes`, see the top of this file."""

    def size(i: Int) -> Int:
        return Int(builder, builder.load(builder.gep(sizes, [i.value])))

    zero, one = Int(builder, I64(0)), Int(builder, I64(1))
    count, chunks, room, place = size(zero), size(one), size(one + 1), builder.alloca(I64)
    last = builder.load(builder.gep(buffers, [room.differs(0).choose(count * 4, zero).value]))
    scratch = Int(builder, builder.ptrtoint(last, I64)) + room * start
    builder.store(I64(FIRST), place)
    with steps(zero, count, 1) as product:
        at = Int(builder, builder.load(place))
        ta, tb, rows, columns, k, lda, ldb, ldc, batches, bits, lde, across, packed = (size(at + i) for i in range(FORM))
        alone, whole, turn = chunks.equals(0), batches.equals(1), across.differs(0)
        span = turn.choose(columns, whole.choose(rows, batches))
        unit = turn.choose(
            packed.differs(0).choose(Int(builder, I64(BROAD)), WIDE) * of.lanes, whole.choose(Int(builder, I64(EIGHT)), one)
        )
        parts = (span + unit - 1) // unit
        begin, end = (alone.choose(c, (parts * c // chunks.at_least(1) * unit).at_most(span)) for c in (start, stop))
        pointers = [builder.load(builder.gep(buffers, [(product * 4 + i).value])) for i in range(4)]
        addresses = [Int(builder, builder.ptrtoint(pointer, I64)) for pointer in pointers]
        alpha = builder.bitcast(bits.value, ir.DoubleType())
        if of.size == 4:
            alpha = builder.fptrunc(alpha, of.llvm)
        turned = ta.differs(0)
        p = Product(
            ta, tb, addresses[0], turned.choose(one, lda) * of.size, turned.choose(lda, one) * of.size, addresses[1],
            ldb * of.size, addresses[2], ldc * of.size, addresses[3], lde.at_least(0) * of.size,
            (lde >= 0).choose(one, zero), alpha,
        )  # fmt: skip
        top, left = (turn.choose(zero, whole.choose(begin, zero)), turn.choose(begin, zero))
        m, n = turn.choose(rows, whole.choose(end - begin, rows)), turn.choose(end - begin, columns)
        with steps(whole.choose(zero, begin), whole.choose(one, end), 1) as i:
            x, y, z, w = (size(at + FORM + i * 4 + j) * of.size for j in range(4))
            here = p._replace(a=p.a + x, b=p.b + y, c=p.c + z, e=p.e + w).moved(of, top, left)
            if packing:
                with where(packed.differs(0)):
                    call(builder, f"blocked_{of.name}", partial(blocked, of), (scratch, m, n, k, *here))
            with where(packed.equals(0)):
                call(builder, f"in_place_{of.name}", partial(in_place, of), (m, n, k, *here))
        builder.store((at + FORM + batches * 4).value, place)


def _routine(element: Float, packing: bool) -> Builtin:
    name = f"multiply_{element}{'_packed' * packing}"
    write = partial(_multiply, Elements(element), packing)
    return Builtin(
        name, (BUFFERS, SIZES, int64, int64), lambda builder, *operands: call(builder, f"{name}.products", write, operands)
    )


multiply_f32, multiply_f64 = _routine(float32, False), _routine(float64, False)
multiply_f32_packed, multiply_f64_packed = _routine(float32, True), _routine(float64, True)
"""Those that alone compute packed products."""
