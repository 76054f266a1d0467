"""Matrix products C = alpha op(A) op(B) + E with operands in place, by tiles; those at an edge compute the rows or columns
beside whole tiles.

For the sizes of small and medium networks this beats BLAS, which packs both operands before it computes: A is read in place,
transposed or not, and so is B unless it is stored transposed. BLAS takes single rows of large B, which it reads from end to
end.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir

from .blas_calls import gemm
from .cpu import BYTES
from .gemm_form import DEPTH, NEAR, WIDE
from .gemm_tiles import Elements, Product, panel, tile
from .llvm import EIGHT, I64, Int, call, call_one_of, steps, where

LONG = 1 << 20
"""Elements of B from which the product of a single row is BLAS's."""


def _rectangle(of: Elements, builder: Any, edge: Int, m: Int, n: Int, k: Int, *operands: Any) -> None:
    """A product by tiles; unless it is at an edge, of whole tiles."""
    p, place = Product(*operands), builder.alloca(ir.ArrayType(ir.IntType(8), DEPTH * WIDE * BYTES))
    place.align = BYTES
    room = Int(builder, builder.ptrtoint(place, I64))
    packs = p.tb.differs(0) | ((p.b_row > 1024) & (m >= 64))  # rows far apart share few places of the L1 cache
    block = (Int(builder, I64(NEAR // of.size)) // k.at_least(1) // EIGHT * EIGHT).at_least(64)
    at_edge = edge.differs(0)
    kinds = [*((wide, True) for wide in range(1, WIDE + 1)), *((wide, False) for wide in range(WIDE, 0, -1))]
    tiles = [partial(tile, of, wide, cut, False) for wide, cut in kinds]
    names = [f"tile_{of.name}_{'edge_' * cut}{wide}" for wide, cut in kinds]
    with steps(0, m, block) as top, steps(0, n, WIDE * of.lanes) as j, steps(0, k.at_least(1), DEPTH) as r:
        columns, count, bottom = (n - j).at_most(WIDE * of.lanes), (k - r).at_most(DEPTH), (top + block).at_most(m)
        which = [at_edge & (columns <= wide * of.lanes) for wide in range(1, WIDE + 1)]
        which += [columns > wide * of.lanes for wide in range(WIDE - 1, 0, -1)]
        width = (columns + of.lanes - 1) // of.lanes * BYTES
        part = p.moved(of, top, j)
        source = part.b + p.tb.differs(0).choose(r * of.size, r * p.b_row)
        with where(packs):
            call(builder, f"panel_{of.name}", partial(panel, of), (p.tb, count, columns, source, p.b_row, room, width))
        begins = r.equals(0)
        part = part._replace(
            a=part.a + r * p.a_step, b=packs.choose(room, source), b_row=packs.choose(width, p.b_row),
            e=begins.choose(part.e, part.c), e_row=begins.choose(p.e_row, p.c_row), adds=begins.choose(p.adds, 1),
        )  # fmt: skip
        with steps(0, bottom - top, EIGHT) as i:
            here = part._replace(a=part.a + p.a_row * i, c=part.c + p.c_row * i, e=part.e + part.e_row * i)
            call_one_of(builder, which, names, tiles, ((bottom - top - i).at_most(EIGHT), columns, count, *here))


def _rest(of: Elements, builder: Any, m: Int, n: Int, k: Int, *operands: Any) -> None:
    """The rows or columns that whole tiles leave over."""
    p = Product(*operands)
    blas = m.equals(1) & (n * k >= LONG)
    with where(blas):
        with where(p.adds.differs(0) & p.e.differs(p.c)), steps(0, m, 1) as i, steps(0, n, of.lanes) as j:
            mask = of.within(n - j, of.lanes)
            of.store(of.load(p.e + p.e_row * i + j * of.size, mask), p.c + p.c_row * i + j * of.size, mask)
        lda, ldb, ldc = (distance // of.size for distance in (p.ta.differs(0).choose(p.a_step, p.a_row), p.b_row, p.c_row))
        gemm(of.name, builder, p.tb, p.ta, n, m, k, p.alpha, p.b, ldb, p.a, lda, p.adds, p.c, ldc)
    with where(blas.equals(0) & (m > 0) & (n > 0)):
        one = Int(builder, I64(1))
        call(builder, f"rectangle_{of.name}", partial(_rectangle, of), (one, m, n, k, *p))


def in_place(of: Elements, builder: Any, m: Int, n: Int, k: Int, *operands: Any) -> None:
    """One product of matrices: whole tiles, then the rows below and the columns beside them."""
    p, zero = Product(*operands), Int(builder, I64(0))
    tall, wide = m // EIGHT * EIGHT, n // of.lanes * of.lanes
    tiled = (tall > 0) & (wide > 0)
    tall, wide = tiled.choose(tall, zero), tiled.choose(wide, zero)
    with where(tiled):
        call(builder, f"rectangle_{of.name}", partial(_rectangle, of), (zero, tall, wide, k, *p))
    for top, left, high, broad in ((tall, zero, m - tall, wide), (zero, wide, m, n - wide)):
        call(builder, f"rest_{of.name}", partial(_rest, of), (high, broad, k, *p.moved(of, top, left)))
