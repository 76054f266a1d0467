"""Large matrix products C = alpha op(A) op(B) + E: both operands are copied in the order in which tiles read them, by blocks
that fit the caches. Source: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.

A tile reads a panel of B, which stays in the L1 cache for all rows of a block of A, which stays in the L2 cache for all
columns of a block of B. Products of few steps write more than they read: they take all panels of B for one panel of A, so
that rows of C are written from end to end, before a line of the cache that two tiles share is gone. Panels are filled up with
repeated rows or old columns, which tiles at an edge don't write.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .cpu import BYTES
from .gemm_form import DEPTH, FAR, NEAR, SHALLOW, WIDE
from .gemm_tiles import Elements, Product, panel, prefetch, tile
from .llvm import EIGHT, I64, Int, call, call_one_of, steps, where


def blocked(of: Elements, builder: Any, scratch: Int, m: Int, n: Int, k: Int, *operands: Any) -> None:
    """One product of matrices. scratch: the address of `scratch_of` bytes."""
    p, step = Product(*operands), DEPTH * of.size
    wide = WIDE * of.lanes
    high, broad = NEAR // step, FAR // (wide * step) * wide
    above, beside, zero = scratch, scratch + NEAR, Int(builder, I64(0))
    kinds = [*((vectors, False) for vectors in range(WIDE, 0, -1)), *((vectors, True) for vectors in range(1, WIDE + 1))]
    tiles = [partial(tile, of, vectors, cut, True) for vectors, cut in kinds]
    names = [f"packed_{of.name}_{'edge_' * cut}{vectors}" for vectors, cut in kinds]
    with steps(0, n, broad) as left, steps(0, k, DEPTH) as r:
        across, count, begins = (n - left).at_most(broad), (k - r).at_most(DEPTH), r.equals(0)
        part = p.moved(of, zero, left)
        part = part._replace(
            a=part.a + r * p.a_step, b=part.b + p.tb.differs(0).choose(r * of.size, r * p.b_row),
            e=begins.choose(part.e, part.c), e_row=begins.choose(p.e_row, p.c_row), adds=begins.choose(p.adds, 1),
        )  # fmt: skip
        call(builder, f"columns_{of.name}", partial(_columns, of), (p.tb, across, count, part.b, p.b_row, beside))
        with steps(0, m, high) as top:
            down = (m - top).at_most(high)
            source = p.ta, down, count, part.a + p.a_row * top, p.a_row, p.a_step, above
            call(builder, f"rows_{of.name}", partial(_rows, of), source)
            flat, eight = count <= SHALLOW, Int(builder, I64(EIGHT))
            outer = steps(0, flat.choose(down, across), flat.choose(eight, wide))
            inner = steps(0, flat.choose(across, down), flat.choose(wide, eight))
            with outer as x, inner as y:
                i, j = flat.choose(x, y), flat.choose(y, x)
                here = part.moved(of, top + i, j)._replace(a=above + i * step, b=beside + j * step)
                rows, columns = (down - i).at_most(EIGHT), (across - j).at_most(wide)
                whole = rows.equals(EIGHT)
                which = [whole & columns.equals(vectors * of.lanes) for vectors in range(WIDE, 0, -1)]
                which += [columns <= vectors * of.lanes for vectors in range(1, WIDE)]
                call_one_of(builder, which, names, tiles, (rows, columns, count, *here))


def _columns(of: Elements, builder: Any, turned: Int, columns: Int, count: Int, b: Int, b_row: Int, to: Int) -> None:
    """`count` steps of these columns of B as panels of a tile's width. Where B is stored by rows, EIGHT rows at a time are
    read from end to end."""
    wide, step = WIDE * of.lanes, DEPTH * of.size
    width, high = Int(builder, I64(WIDE * BYTES)), turned.differs(0).choose(count, EIGHT)
    with steps(0, count, high) as r, steps(0, columns, wide) as j:
        source, place = b + turned.differs(0).choose(j * b_row, r * b_row + j * of.size), to + j * step + r * (WIDE * BYTES)
        operands = turned, (count - r).at_most(high), (columns - j).at_most(wide), source, b_row, place, width
        call(builder, f"panel_{of.name}", partial(panel, of), operands)


def _rows(of: Elements, builder: Any, turned: Int, rows: Int, count: Int, a: Int, a_row: Int, a_step: Int, to: Int) -> None:
    """`count` steps of these rows of A as panels of EIGHT rows, one step after another. Where A is stored by columns, EIGHT
    columns at a time are read from end to end."""
    size, step = of.size, DEPTH * of.size
    one, width = Int(builder, I64(1)), Int(builder, I64(EIGHT * size))
    with where(turned.equals(0)), steps(0, rows, EIGHT) as i:
        operands = one, count, (rows - i).at_most(EIGHT), a + i * a_row, a_row, to + i * step, width
        call(builder, f"panel_{of.name}", partial(panel, of), operands)
    with where(turned.differs(0)), steps(0, count, EIGHT) as first, steps(0, rows, EIGHT) as i:
        mask = of.within(rows - i, EIGHT)
        with steps(first, (first + EIGHT).at_most(count), 1) as s:
            place = a + s * a_step + i * size
            prefetch(place + a_step * EIGHT, 0)
            of.store(of.load(place, mask), to + i * step + s * EIGHT * size)
