"""Vector code along rows of elements: sums of shifted rows, and products of one row with shifted others.

`of` is that of any pointer to the elements, and a vector is 64 bytes, as in `vector_tiles.py`.
"""

from __future__ import annotations

from typing import Any

from ..cpu import BYTES
from ..llvm import Int, folded
from ..vectors import EIGHT, Elements, fused, reduced, routine, shuffled, spread, transposed
from .vector_tiles import SIXTEEN

VECTOR = 64
"""Bytes."""


@routine
def put_span(of: Elements, x: Int, offsets: Int, w: Int, count: Int, out: Int, vectors: int) -> None:
    """`vectors` vectors at `out`: the sum over k < `count` of w[k] * x[offsets[k] ...]."""
    builder, lanes = x.builder, VECTOR // of.size

    def tap(k: Int, sums: list[Any]) -> list[Any]:
        source = x + (offsets + k * 8).word() * of.size
        weight = spread(builder, of.one(w + k * of.size), lanes)
        rows = [of.load(source + VECTOR * v, lanes) for v in range(vectors)]
        return [fused(builder, weight, row, total) for row, total in zip(rows, sums, strict=True)]

    for v, total in enumerate(folded(count, [of.zero(lanes)] * vectors, tap)):
        of.store(total, out + VECTOR * v)


@routine
def add_dots(of: Elements, g: Int, valid: Int, x: Int, offsets: Int, count: Int, out: Int, taps: int) -> None:
    """Add to out[k], for k < `taps`, the product of g with x[offsets[k] ...] over `count` vectors.

    Where `valid` is 0, x counts as 0, whatever it is.
    """
    builder, lanes = g.builder, VECTOR // of.size
    zero = of.zero(lanes)
    sources = [x + (offsets + 8 * k).word() * of.size for k in range(taps)]

    def pixels(v: Int, sums: list[Any]) -> list[Any]:
        along = v * VECTOR
        left = of.load(g + along, lanes)
        inside = builder.fcmp_unordered("!=", of.load(valid + along, lanes), zero)
        rows = [builder.select(inside, row, zero) for row in [of.load(source + along, lanes) for source in sources]]
        return [fused(builder, left, row, total) for row, total in zip(rows, sums, strict=True)]

    for k, sums in enumerate(folded(count, [zero] * taps, pixels)):
        place = out + k * of.size
        of.store(builder.fadd(of.one(place), reduced(builder, sums, builder.fadd)), place)


@routine
def shift(of: Elements, source: Int, out: Int, lanes: int) -> None:
    """Copy one vector of `lanes` elements."""
    of.store(of.load(source, lanes), out)


@routine
def split_pairs(of: Elements, source: Int, even: Int, odd: Int) -> None:
    """Of SIXTEEN elements, those at even places to `even`, and the others to `odd`."""
    row = of.load(source, SIXTEEN)
    for k, out in enumerate((even, odd)):
        of.store(shuffled(source.builder, row, row, range(k, SIXTEEN, 2)), out)


@routine
def transpose_to(of: Elements, source: Int, pitch: Int, out: Int, rows: Int, row: Int) -> None:
    """EIGHT rows of EIGHT elements, `pitch` elements apart, written as columns: the k-th to rows[k] times `row` elements on."""
    block = [of.load(source + pitch * k * of.size, EIGHT) for k in range(EIGHT)]
    for k, column in enumerate(transposed(source.builder, block)):
        of.store(column, out + (rows + 8 * k).word() * row * of.size)


@routine
def turn_tile(of: Elements, source: Int, from_step: Int, out: Int, to_step: Int) -> None:
    """SIXTEEN rows of SIXTEEN elements, `from_step` elements apart, as the columns of rows that are `to_step` apart at `out`.
    A tile consists of blocks, each of as many rows as a vector has elements."""
    n = min(SIXTEEN, BYTES // of.size)
    for row in range(0, SIXTEEN, n):
        for column in range(0, SIXTEEN, n):
            block = [of.load(source + (from_step * (row + k) + column) * of.size, n) for k in range(n)]
            for k, turned in enumerate(transposed(source.builder, block)):
                of.store(turned, out + (to_step * (column + k) + row) * of.size)
