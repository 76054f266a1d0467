"""Matrix products C = alpha op(A) op(B) + E with operands in place, by tiles; those at an edge have fewer rows or
columns.

For the sizes of small and medium networks this beats BLAS, which packs both operands before it computes: A is read in place,
transposed or not, and so is B unless it is stored transposed. BLAS takes single rows of large B, which it reads from end to
end.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir

from .blas_symbols import symbol
from .cpu import BYTES
from .gemm_form import DEPTH, NEAR, WIDE
from .gemm_tiles import Product, panel, tile, turned
from .llvm import I64, Int, call, call_one_of, fortran, letter, steps, where
from .vectors import EIGHT, Elements

# Calls of BLAS routines in LLVM code; `blas_symbols.py` binds them.

SYMBOLS = {"f32": symbol("sgemm"), "f64": symbol("dgemm")}


def gemm(
    element: str, builder: Any, ta: Int, tb: Int, m: Int, n: Int, k: Int, alpha: Any, a: Int, lda: Int, b: Int, ldb: Int,
    adds: Int, c: Int, ldc: Int,
) -> None:  # fmt: skip
    """Emit a call: C = alpha op(A) op(B), or C += where `adds` is not 0; column-major, a, b and c are addresses."""

    kind = alpha.type
    beta = builder.select(adds.differs(0).value, ir.Constant(kind, 1.0), ir.Constant(kind, 0.0))
    x, y, out = (address.place(kind) for address in (a, b, c))
    turned = letter(ta, "T", "N"), letter(tb, "T", "N")
    fortran(builder, SYMBOLS[element], *turned, m, n, k, alpha, x, lda, y, ldb, beta, out, ldc)


TILE, PANEL, RESULT, STEP = 6, 4, 4, 4
"""Units of time of a multiply-add of vectors, of an element that is transposed in a panel or into C, and the time that a
multiply-add takes longer where each step of its number is on another page."""
APART = 2048
"""Bytes between steps from which they are taken to be on other pages."""
LONG = 1 << 20
"""Elements of B from which the product of a single row is BLAS's."""


def _panel(builder: Any) -> Int:
    """The address of room for a panel."""
    place = builder.alloca(ir.ArrayType(ir.IntType(8), DEPTH * WIDE * BYTES))
    place.align = BYTES
    return Int(builder, builder.ptrtoint(place, I64))


def _tiles(of: Elements, builder: Any, m: Int, n: Int, k: Int, *operands: Any) -> None:
    """A product by tiles."""
    p, room = Product(*operands), _panel(builder)
    packs = p.tb.differs(0) | ((p.b_row > 1024) & (m >= 64))  # rows far apart share few places of the L1 cache
    block = (Int(builder, I64(NEAR // of.size)) // k.at_least(1) // EIGHT * EIGHT).at_least(64)
    kinds = [*((wide, False) for wide in range(WIDE, 0, -1)), *((wide, True) for wide in range(WIDE, 0, -1))]
    tiles = [partial(tile, of, wide, cut, "") for wide, cut in kinds]
    names = [f"tile_{of.name}_{'edge_' * cut}{wide}" for wide, cut in kinds]
    with steps(0, m, block) as top, steps(0, n, WIDE * of.lanes) as j, steps(0, k.at_least(1), DEPTH) as r:
        columns, count, bottom = (n - j).at_most(WIDE * of.lanes), (k - r).at_most(DEPTH), (top + block).at_most(m)
        vectors = (columns + of.lanes - 1) // of.lanes
        full, width = columns.equals(vectors * of.lanes), vectors * BYTES
        part = p.moved(of, top, j).after(of, r)
        with where(packs):
            source = p.tb, count, columns, part.b, p.b_row, room, width
            call(builder, f"panel_{of.name}", partial(panel, of, WIDE, of.beside), source)
        part = part._replace(b=packs.choose(room, part.b), b_row=packs.choose(width, p.b_row))
        with steps(0, bottom - top, EIGHT) as i:
            rows = (bottom - top - i).at_most(EIGHT)
            whole = full & rows.equals(EIGHT)
            which = [whole & vectors.equals(wide) for wide in range(WIDE, 0, -1)]
            which += [vectors.equals(wide) for wide in range(WIDE, 1, -1)]
            here = part._replace(a=part.a + p.a_row * i, c=part.c + p.c_row * i, e=part.e + part.e_row * i)
            call_one_of(builder, which, names, tiles, (rows, columns, count, *here))


def _turned(of: Elements, builder: Any, m: Int, n: Int, k: Int, *operands: Any) -> None:
    """A product by tiles of its transpose: vectors run along the rows of C."""
    p, room, zero = Product(*operands), _panel(builder), Int(builder, I64(0))
    width, size = Int(builder, I64(WIDE * BYTES)), Int(builder, I64(of.size))
    right, stored = p.tb.differs(0), p.ta.differs(0)
    with steps(0, n, DEPTH) as left, steps(0, m, WIDE * of.lanes) as top:
        part = p.moved(of, top, left)
        high, wide = (n - left).at_most(DEPTH), (m - top).at_most(WIDE * of.lanes)
        other = part._replace(
            ta=part.tb, tb=stored.choose(zero, 1), a=part.b, a_row=right.choose(p.b_row, size),
            a_step=right.choose(size, p.b_row), b=part.a, b_row=stored.choose(p.a_step, p.a_row), c=room, c_row=width,
            e=room, e_row=width, adds=zero,
        )  # fmt: skip
        call(builder, f"tiles_{of.name}", partial(_tiles, of), (high, wide, k, *other))
        operands = wide, high, room, width, part.c, p.c_row, part.e, p.e_row, p.adds
        call(builder, f"turned_{of.name}", partial(turned, of), operands)


def in_place(of: Elements, builder: Any, m: Int, n: Int, k: Int, *operands: Any) -> None:
    """One product of matrices: by tiles along rows or columns of C, or a single row of large B by BLAS."""
    p = Product(*operands)
    blas = m.equals(1) & (n * k >= LONG)
    with where(blas):
        with where(p.adds.differs(0) & p.e.differs(p.c)), steps(0, n, of.lanes) as j:
            mask = of.within(n - j, of.lanes)
            of.store(of.load(p.e + j * of.size, of.lanes, mask), p.c + j * of.size, mask)
        lda, ldb, ldc = (distance // of.size for distance in (p.ta.differs(0).choose(p.a_step, p.a_row), p.b_row, p.c_row))
        gemm(of.name, builder, p.tb, p.ta, n, m, k, p.alpha, p.b, ldb, p.a, lda, p.adds, p.c, ldc)
    zero = Int(builder, I64(0))
    along = _cost(of, m, n, k, p.tb, zero, p.a_step)
    across = _cost(of, n, m, k, p.ta.equals(0).choose(zero + 1, zero), n, p.tb.differs(0).choose(zero, p.b_row))
    for condition, name, write in ((along <= across, "tiles", _tiles), (along > across, "across", _turned)):
        with where(blas.equals(0) & condition):
            call(builder, f"{name}_{of.name}", partial(write, of), (m, n, k, *p))


def _cost(of: Elements, m: Int, n: Int, k: Int, packs: Int, copied: Int, step: Int) -> Int:
    """The time of a product by tiles. packs: whether panels of the right operand are transposed; copied: rows of C, where it is
    transposed; step: bytes from one number of the left operand to that of the next step."""
    vectors = (n + of.lanes - 1) // of.lanes
    each = (step > APART).choose(Int(k.builder, I64(TILE + STEP)), TILE)
    return (m + 1) // 2 * 2 * vectors * k * each + packs * n * k * PANEL + n * copied * RESULT
