"""Large matrix products C = alpha op(A) op(B) + E: both operands are copied in the order in which tiles read them, by blocks
that fit the caches. Source: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.

A tile reads a panel of B, which stays in the L1 cache for all rows of a block of A, which stays in the L2 cache for all
columns of a block of B. Products of few steps write more than they read: they take all panels of B for one panel of A, so
that rows of C are written from end to end, before a line of the cache that two tiles share is gone. Where the L2 cache is
ROOMY, all products are done in parts of few steps: the block of B stays in that cache, a panel of A is read from end to end
while it is in the L1 cache, and needs no copy unless A is transposed. Panels are filled up with repeated rows or old
columns, which tiles at an edge don't write.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

from .cpu import BYTES
from .gemm_form import BLOCK, BROAD, FAR, NEAR, ROOMY, SHALLOW
from .gemm_tiles import Product, panel, prefetch, tile
from .llvm import I64, Int, call, call_one_of, steps, where
from .vectors import EIGHT, Elements

PANELS = "B" if ROOMY else "AB"
"""The operands that tiles read from panels."""


def blocked(of: Elements, builder: Any, scratch: Int, m: Int, n: Int, k: Int, *operands: Any) -> None:
    """One product of matrices. scratch: the address of `scratch_of` bytes."""
    p, step = Product(*operands), BLOCK * of.size
    wide = BROAD * of.lanes
    high = NEAR // step // EIGHT * EIGHT
    above, beside, zero = scratch, scratch + NEAR, Int(builder, I64(0))
    some = k.at_least(1)  # E is stored where there is no step, too
    depth, broad = _share(some, BLOCK, EIGHT), _share(n, FAR // (wide * step) * wide, wide)
    with steps(0, n, broad) as left, steps(0, some, depth) as r:
        across, count, part = (n - left).at_most(broad), (k - r).at_most(depth), p.moved(of, zero, left).after(of, r)
        call(builder, f"columns_{of.name}", partial(_columns, of), (p.tb, across, count, part.b, p.b_row, beside))
        with steps(0, m, high) as top:
            down, rows_of_a = (m - top).at_most(high), part.a + p.a_row * top
            # of A: the address, and bytes from one panel's row, row and step to the next
            read: Any = above, Int(builder, I64(step)), Int(builder, I64(of.size)), Int(builder, I64(EIGHT * of.size))
            with where(p.ta.differs(0)) if ROOMY else nullcontext():
                source = p.ta, down, count, rows_of_a, p.a_row, p.a_step, above
                call(builder, f"rows_{of.name}", partial(_rows, of), source)
            if ROOMY:
                own = rows_of_a, p.a_row, p.a_row, p.a_step
                read = [p.ta.differs(0).choose(copy, place) for copy, place in zip(read, own, strict=True)]
            a, each, a_row, a_step = read
            with nullcontext() if ROOMY else where(count <= SHALLOW), steps(0, down, EIGHT) as i:
                here = part.moved(of, top + i, 0)._replace(a=a + i * each, a_row=a_row, a_step=a_step, b=beside)
                call(builder, f"strip_{of.name}", partial(_strip, of), ((down - i).at_most(EIGHT), across, count, *here))
            if not ROOMY:
                with where(count > SHALLOW), steps(0, across, wide) as j, steps(0, down, EIGHT) as i:
                    here = part.moved(of, top + i, j)._replace(a=above + i * step, b=beside + j * step)
                    _tile(of, (down - i).at_most(EIGHT), (across - j).at_most(wide), count, here)


def _strip(of: Elements, builder: Any, rows: Int, columns: Int, count: Int, *operands: Any) -> None:
    """The tiles of one panel of A with all panels of B. Whole ones follow each other without calls between them."""
    p, wide, zero = Product(*operands), BROAD * of.lanes, Int(builder, I64(0))
    whole = rows.equals(EIGHT).choose(columns // wide * wide, zero)
    for adds in (True, False):
        with where(p.adds.differs(0).equals(int(adds))), steps(0, whole, wide) as j:
            here = p.moved(of, zero, j)._replace(b=p.b + j * (BLOCK * of.size))
            eight = Int(builder, I64(EIGHT))
            tile(of, BROAD, False, PANELS, builder, eight, eight, count, *here, adds_known=adds)
    with steps(whole, columns, wide) as j:
        _tile(of, rows, (columns - j).at_most(wide), count, p.moved(of, zero, j)._replace(b=p.b + j * (BLOCK * of.size)))


def _tile(of: Elements, rows: Int, columns: Int, count: Int, p: Product) -> None:
    """One tile, by the function for its number of rows and vectors."""
    kinds = [*((vectors, False) for vectors in range(BROAD, 0, -1)), *((vectors, True) for vectors in range(1, BROAD + 1))]
    tiles = [partial(tile, of, vectors, cut, PANELS) for vectors, cut in kinds]
    names = [f"packed_{of.name}_{'edge_' * cut}{vectors}" for vectors, cut in kinds]
    whole = rows.equals(EIGHT)
    which = [whole & columns.equals(vectors * of.lanes) for vectors in range(BROAD, 0, -1)]
    which += [columns <= vectors * of.lanes for vectors in range(1, BROAD)]
    call_one_of(rows.builder, which, names, tiles, (rows, columns, count, *p))


def _share(whole: Int, most: int, multiple: int) -> Int:
    """The length of equal parts of `whole`, as few as `most` allows, so that no part is much shorter than the others."""
    parts = (whole + (most - 1)) // most
    return ((whole + parts - 1) // parts.at_least(1) + (multiple - 1)) // multiple * multiple


def _columns(of: Elements, builder: Any, turned: Int, columns: Int, count: Int, b: Int, b_row: Int, to: Int) -> None:
    """`count` steps of these columns of B as panels of a tile's width. Where B is stored by rows, EIGHT rows at a time are
    read from end to end."""
    wide, step = BROAD * of.lanes, BLOCK * of.size
    width, high = Int(builder, I64(BROAD * BYTES)), turned.differs(0).choose(count, EIGHT)
    with steps(0, count, high) as r, steps(0, columns, wide) as j:
        source, place = b + turned.differs(0).choose(j * b_row, r * b_row + j * of.size), to + j * step + r * (BROAD * BYTES)
        operands = turned, (count - r).at_most(high), (columns - j).at_most(wide), source, b_row, place, width
        call(builder, f"panel_of_columns_{of.name}", partial(panel, of, BROAD, of.beside), operands)


def _rows(of: Elements, builder: Any, turned: Int, rows: Int, count: Int, a: Int, a_row: Int, a_step: Int, to: Int) -> None:
    """`count` steps of these rows of A as panels of EIGHT rows, one step after another. Where A is stored by columns, EIGHT
    columns at a time are read from end to end."""
    size, step = of.size, BLOCK * of.size
    one, width = Int(builder, I64(1)), Int(builder, I64(EIGHT * size))
    with where(turned.equals(0)), steps(0, rows, EIGHT) as i:
        operands = one, count, (rows - i).at_most(EIGHT), a + i * a_row, a_row, to + i * step, width
        call(builder, f"panel_of_rows_{of.name}", partial(panel, of, 0, 1), operands)
    with where(turned.differs(0)), steps(0, count, EIGHT) as first, steps(0, rows, EIGHT) as i:
        mask = of.within(rows - i, EIGHT)
        with steps(first, (first + EIGHT).at_most(count), 1) as s:
            place = a + s * a_step + i * size
            prefetch(place + a_step * EIGHT, 0)
            of.store(of.load(place, EIGHT, mask), to + i * step + s * EIGHT * size)
