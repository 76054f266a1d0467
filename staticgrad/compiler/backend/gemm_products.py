"""The kernels of matrix products C = alpha op(A) op(B) + E. Addresses are plain integers.

sizes: number of products, chunks (0: the range is that of the one product), bytes of scratch for each chunk, then for each
product: transpose A, transpose B, m, n, k, lda, ldb, ldc, batches, the bits of alpha (float64), lde (-1: nothing is added, 0:
one row for all), across, packed, then for each batch the offsets of A, B, C and E in elements. buffers: for each product A, B,
C, E; then the scratch, if there is any. E is C, or shares nothing with it. The range of one product is over rows of C for a
single batch, or columns if it is cut across, else over batches; that of chunks is over chunks, each of which takes its share
of every product. Where nothing is added, the first row of E is read all the same. Packed products need chunks and scratch.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

from llvmlite import ir

from .abi import BLOCK, BROAD, DEPTH, FAR, FIRST, FORM, IN_PLACE, NEAR, ROOMY, SHALLOW, WIDE
from .cpu import BYTES
from .kernel_types import BUFFERS, SIZES, Builtin, Float, float32, float64, int64
from .llvm import (
    EIGHT,
    I32,
    I64,
    Elements,
    Int,
    call,
    call_one_of,
    call_shared,
    fortran,
    function,
    fused,
    joined,
    letter,
    rows_at_once,
    shuffled,
    spread,
    steps,
    transposed,
    where,
)
from .object_code import symbol

# tiles of matrix products, whose sums stay in registers --------------------------------------------------------------

# EIGHT rows of up to WIDE or BROAD vectors, one broadcast of A a step; and the panels of operands that are copied for them.
# Addresses are plain integers.

HALF, LINE = EIGHT // 2, 64
"""Rows of half a tile, and bytes of a line of the cache."""


class Product(NamedTuple):
    """The operands of C = alpha op(A) op(B) + E: addresses, and bytes from one row or step to the next."""

    ta: Int
    tb: Int
    a: Int
    a_row: Int
    a_step: Int
    b: Int
    b_row: Int
    """Bytes to the next row of B as it is stored."""
    c: Int
    c_row: Int
    e: Int
    e_row: Int
    adds: Int
    """0: without E."""
    alpha: Any

    def moved(self, of: Elements, row: Int | int, column: Int | int) -> Product:
        """The part of the product that begins at this row and column."""
        across = Int(self.a.builder, I64(of.size)) * column
        return self._replace(
            a=self.a + self.a_row * row,
            b=self.b + self.tb.differs(0).choose(self.b_row * column, across),
            c=self.c + self.c_row * row + across,
            e=self.e + self.e_row * row + across,
        )

    def after(self, of: Elements, step: Int) -> Product:
        """The product from this step on; steps after the first ones add to what those have stored."""
        first = step.equals(0)
        return self._replace(
            a=self.a + step * self.a_step, b=self.b + self.tb.differs(0).choose(step * of.size, step * self.b_row),
            e=first.choose(self.e, self.c), e_row=first.choose(self.e_row, self.c_row), adds=first.choose(self.adds, 1),
        )  # fmt: skip


def tile(
    of: Elements, wide: int, edge: bool, packed: str, builder: Any, rows: Int, columns: Int, count: Int, *operands: Any,
    adds_known: bool | None = None,
) -> None:  # fmt: skip
    """EIGHT rows of `wide` vectors over `count` steps, as many at once as registers hold.

    At an edge there are `rows` <= EIGHT, which are done by HALF and by two where that leaves fewer rows to be done twice, and
    the last vector may have fewer `columns`. packed: the letters of the operands that are panels, A
    of EIGHT rows, B of BROAD vectors' width, which has some number beside its last column. adds_known:
    whether E is added, where that is known as code is written.
    """
    p = Product(*operands)
    if "A" in packed:
        p = p._replace(a_row=Int(builder, I64(of.size)), a_step=Int(builder, I64(EIGHT * of.size)))
    if "B" in packed:
        p = p._replace(b_row=Int(builder, I64(BROAD * BYTES)))
    masks = [None] * (wide - 1) + [of.within(columns - (wide - 1) * of.lanes, of.lanes) if edge else None]
    at_once, last = rows_at_once(wide), rows - 1
    if not edge:
        for first in range(0, EIGHT, at_once):
            _sums(of, [Int(builder, I64(r)) for r in range(first, first + at_once)], masks, packed, count, p, adds_known)
        return
    left = rows
    if at_once == EIGHT:
        with where(rows > EIGHT - HALF // 2):
            _sums(of, [last.at_most(r) for r in range(EIGHT)], masks, packed, count, p)
        left = (rows > EIGHT - HALF // 2).choose(0, rows)
    halves = (left + 1) // HALF * HALF
    with steps(0, halves, HALF) as top:
        _sums(of, [last.at_most(top + r) for r in range(HALF)], masks, packed, count, p)
    with where(left > halves):
        _sums(of, [last.at_most(halves + r) for r in range(HALF // 2)], masks, packed, count, p)


def _sums(
    of: Elements, numbers: list[Int], masks: list[Any], packed: str, count: Int, p: Product, adds: bool | None = None
) -> None:
    """These rows of a tile, of a vector for each mask. A number may come again: all of E is read before C is written."""
    builder, wide, lanes = count.builder, len(masks), of.lanes
    starts = [(p.a + p.a_row * r).place(ir.IntType(8)) for r in numbers]
    places = [(r, v) for r in numbers for v in range(wide)]
    if packed:
        for r, v in places:
            prefetch(p.c + p.c_row * r + BYTES * v, 1)
    zero, sums = of.zero(lanes), of.variables(builder, len(places))
    with steps(0, count, 1) as step:
        row, offset = p.b + step * p.b_row, (step * p.a_step).value
        vectors = [of.load(row + BYTES * v, lanes, None if packed else mask) for v, mask in enumerate(masks)]
        for at, start in enumerate(starts):
            scalar = builder.load(builder.bitcast(builder.gep(start, [offset]), of.llvm.as_pointer()))
            for place, vector in zip(sums[at * wide : (at + 1) * wide], vectors, strict=True):
                builder.store(fused(builder, spread(builder, scalar, lanes), vector, builder.load(place)), place)
    factor, adding = spread(builder, p.alpha, lanes), p.adds.differs(0).value
    results = []
    for (r, v), total in zip(places, sums, strict=True):
        other = zero if adds is False else of.load(p.e + p.e_row * r + BYTES * v, lanes, masks[v])
        other = builder.select(adding, other, zero) if adds is None else other
        results.append(fused(builder, factor, builder.load(total), other))
    for (r, v), value in zip(places, results, strict=True):
        of.store(value, p.c + p.c_row * r + BYTES * v, masks[v])


def panel(
    of: Elements, vectors: int, beside: int, builder: Any, turned: Int, count: Int, columns: Int, b: Int, b_row: Int, to: Int,
    width: Int,
) -> None:  # fmt: skip
    """`count` rows of `columns` elements of B, one after another; transposed where B is stored transposed.

    vectors: of a whole panel's width; 0 where columns end anywhere. beside: blocks of EIGHT columns that are transposed side
    by side, whose rows together are a vector that is stored. b_row, width: bytes to the next row of B, and of its copy, whose
    rows may be wider than the columns.
    """
    with where(turned.equals(0)):
        partly = count
        if vectors:
            whole = columns.equals(vectors * of.lanes)
            partly = whole.choose(0, count)
            with steps(0, whole.choose(count, 0), 1) as r:
                place = b + r * b_row
                for offset in range(0, vectors * BYTES, BYTES):
                    prefetch(place + b_row * EIGHT + offset, 0)
                    of.store(of.load(place + offset, of.lanes), to + r * width + offset)
        with steps(0, partly, 1) as r, steps(0, columns, of.lanes) as j:
            place = b + r * b_row + j * of.size
            prefetch(place + b_row * EIGHT, 0)
            some = of.load(place, of.lanes, of.within(columns - j, of.lanes))
            of.store(some, to + r * width + j * of.size)
    broad = EIGHT * beside
    with where(turned.differs(0)), steps(0, columns, broad) as j, steps(0, count, EIGHT) as r:
        source, last = b + j * b_row + r * of.size, columns - 1 - j
        inside = (count - r >= EIGHT) & (last >= broad - 1)
        for full, condition in ((True, inside), (False, inside.equals(0))):
            with where(condition):
                numbers = [Int(builder, I64(i)) if full else last.at_most(i) for i in range(broad)]
                places = [source + number * b_row for number in numbers]
                with where((r // (LINE // of.size) * (LINE // of.size)).equals(r)):
                    for place in places:
                        prefetch(place + b_row * broad, 0)
                mask = None if full else of.within(count - r, EIGHT)
                found = [of.load(place, EIGHT, mask) for place in places]
                _store_transposed(of, found, to + r * width + j * of.size, width, columns - j)


def _store_transposed(of: Elements, columns: list[Any], to: Int, width: Int, needed: Int) -> None:
    """EIGHT rows, `width` bytes apart, of blocks of EIGHT columns side by side, of which so many are `needed`."""
    builder = to.builder
    blocks = [columns[i : i + EIGHT] for i in range(0, len(columns), EIGHT)]
    rows = transposed(builder, [joined(builder, row) for row in zip(*blocks, strict=True)])
    for part in range(0, len(columns), of.lanes):
        lanes = range(part, min(part + of.lanes, len(columns)))
        with where(needed > part):
            for i, row in enumerate(rows):
                some = row if len(lanes) == len(columns) else shuffled(builder, row, row, lanes)
                of.store(some, to + width * i + part * of.size)


def turned(
    of: Elements, builder: Any, rows: Int, columns: Int, at: Int, width: Int, c: Int, c_row: Int, e: Int, e_row: Int, adds: Int
) -> None:
    """C = the transpose of `columns` rows at this address, `width` bytes apart, + E. All of E is read before C is written in
    a block."""
    zero, adding = of.zero(EIGHT), adds.differs(0).value
    with steps(0, rows, EIGHT) as i, steps(0, columns, EIGHT) as j:
        mask, place = of.within(columns - j, EIGHT), j * of.size
        block = [of.load(at + (j + r).at_most(columns - 1) * width + i * of.size, EIGHT) for r in range(EIGHT)]
        numbers = [(i + r).at_most(rows - 1) for r in range(EIGHT)]
        others = [builder.select(adding, of.load(e + number * e_row + place, EIGHT, mask), zero) for number in numbers]
        results = [builder.fadd(row, other) for row, other in zip(transposed(builder, block), others, strict=True)]
        for r, (number, value) in enumerate(zip(numbers, results, strict=True)):
            with where(i + r < rows):
                of.store(value, c + number * c_row + place, mask)


def prefetch(address: Int, write: int) -> None:
    """Begin to load a cache line that will be written."""
    b, kind = address.builder, ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), I32, I32, I32])
    operands = [address.place(ir.IntType(8)), I32(write), I32(3), I32(1)]
    b.call(function(b, "llvm.prefetch.p0", kind), operands)


# Calls of BLAS routines in LLVM code; `object_code.py` binds them.


# matrix products C = alpha op(A) op(B) + E with operands in place, by tiles ------------------------------------------

# Those at an edge have fewer rows or columns.
#
# For the sizes of small and medium networks this beats BLAS, which packs both operands before it computes: A is read in place,
# transposed or not, and so is B unless it is stored transposed. BLAS takes single rows of large B, which it reads from end to
# end.

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


# large matrix products C = alpha op(A) op(B) + E ---------------------------------------------------------------------

# Both operands are copied in the order in which tiles read them, by blocks that fit the caches. Source: Goto and van de Geijn,
# "Anatomy of high-performance matrix multiplication", 2008.
#
# A tile reads a panel of B, which stays in the L1 cache for all rows of a block of A, which stays in the L2 cache for all
# columns of a block of B. Products of few steps write more than they read: they take all panels of B for one panel of A, so
# that rows of C are written from end to end, before a line of the cache that two tiles share is gone. Where the L2 cache is
# ROOMY, all products are done in parts of few steps: the block of B stays in that cache, a panel of A is read from end to end
# while it is in the L1 cache, and needs no copy unless A is transposed. Panels are filled up with repeated rows or old columns,
# which tiles at an edge don't write.

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


# the kernels ---------------------------------------------------------------------------------------------------------


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
        turned = ta.differs(0)
        p = Product(
            ta, tb, addresses[0], turned.choose(one, lda) * of.size, turned.choose(lda, one) * of.size, addresses[1],
            ldb * of.size, addresses[2], ldc * of.size, addresses[3], lde.at_least(0) * of.size,
            (lde >= 0).choose(one, zero), _number(of, bits),
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
                call_shared(builder, f"in_place_{of.name}", (m, n, k, *here[:-1], bits))
        builder.store((at + FORM + batches * 4).value, place)


def _number(of: Elements, bits: Int) -> Any:
    """The element nearest to a float64 of these bits."""
    number = bits.builder.bitcast(bits.value, ir.DoubleType())
    return bits.builder.fptrunc(number, of.llvm) if of.size == 4 else number


def _place(element: Float) -> Builtin:
    of = Elements(element)

    def write(builder: Any, *operands: Any) -> None:
        m, n, k, *words, bits = (Int(builder, x) for x in operands)
        in_place(of, builder, m, n, k, *words, _number(of, bits))

    return Builtin(f"place_{element}", (int64,) * len(IN_PLACE.split()), write)


place_f32, place_f64 = _place(float32), _place(float64)
"""All of `in_place_f32` and `in_place_f64`, see `gemm_form.in_place`."""


def _routine(element: Float, packing: bool) -> Builtin:
    name = f"multiply_{element}{'_packed' * packing}"
    write = partial(_multiply, Elements(element), packing)
    return Builtin(
        name, (BUFFERS, SIZES, int64, int64), lambda builder, *operands: call(builder, f"{name}.products", write, operands)
    )


multiply_f32, multiply_f64 = _routine(float32, False), _routine(float64, False)
multiply_f32_packed, multiply_f64_packed = _routine(float32, True), _routine(float64, True)
"""Those that alone compute packed products."""
