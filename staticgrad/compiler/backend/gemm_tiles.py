"""Tiles of matrix products, whose sums stay in registers: EIGHT rows of up to WIDE or BROAD vectors, one broadcast of A a
step; and the panels of operands that are copied for them. Addresses are plain integers."""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

from .cpu import BYTES
from .gemm_form import BROAD
from .llvm import I32, I64, Int, function, steps, where
from .vectors import EIGHT, Elements, fused, joined, rows_at_once, shuffled, spread, transposed

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
