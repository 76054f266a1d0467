"""Vector code of the library's inner loops, where the vectorizer can't be relied on: tiles kept in registers.

Addresses are plain integers (`at(pointer, i)` is that of an element); `of` is that of any pointer to the elements. A
tile is EIGHT rows of `lanes` elements: row b is the sum over r of `x[bases[b] + offsets[r]] * v[r * lanes : (r + 1) *
lanes]`, one broadcast and one multiply-add a step. Convolutions are such sums with the output's pixels as rows, their
gradients with the kernel's taps as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from llvmlite import ir

from ..cpu import BYTES
from ..kernel_types import Pointer, Value, builtin, float64, int64
from ..llvm import (
    EIGHT,
    I32,
    I64,
    Elements,
    Int,
    apart,
    folded,
    fused,
    joined,
    reduced,
    routine,
    rows_at_once,
    shuffled,
    spread,
    transposed,
)

SIXTEEN = 16


@builtin(Pointer, int64)
def at(builder: Any, pointer: Any, i: Any) -> Value:
    """The address of an element of a buffer."""
    return Value(int64, builder.ptrtoint(builder.gep(pointer.llvm, [i]), I64))


@builtin(int64)
def as_float(builder: Any, bits: Any) -> Value:
    """The float64 whose bits an integer has: how a real number reaches a kernel among its sizes."""
    return Value(float64, builder.bitcast(bits, float64.llvm))


def _rows(of: Elements, x: Int, bases: Int) -> list[Any]:
    """Where the EIGHT rows of a tile read, from a table of their places."""
    return [(x + (bases + 8 * b).word() * of.size).place(of.llvm) for b in range(EIGHT)]


Sums = Callable[[list[Any], Int, list[Any]], list[Any]]
"""(rows, v, start) -> what they are after all steps"""


def _in_registers(of: Elements, rows: list[Any], v: Int, start: Sequence[Any], sums: Sums) -> list[Any]:
    """`sums` of the rows of a tile: of as many rows and lanes at once as registers hold."""
    builder, lanes = v.builder, start[0].type.count
    wide = min(2, max(1, lanes // of.lanes))
    some, at_once = min(lanes, wide * of.lanes), rows_at_once(wide)
    found: list[list[Any]] = [[] for _ in range(EIGHT)]
    for lane in range(0, lanes, some):
        for first in range(0, EIGHT, at_once):
            begin = [shuffled(builder, row, row, range(lane, lane + some)) for row in start[first : first + at_once]]
            part = sums(rows[first : first + at_once], v + lane * of.size, begin)
            for b, row in enumerate(part, first):
                found[b].append(row)
    return [joined(builder, parts) for parts in found]


def _sums(of: Elements, lanes: int, offsets: Int, count: Int, rows: list[Any], v: Int, start: list[Any]) -> list[Any]:
    """The rows of a tile after the loop over the steps; `start` holds them before it. Rows of v have `lanes` elements, of which
    those of a tile may be a part."""
    builder, some = v.builder, start[0].type.count

    def more(r: Int, sums: list[Any]) -> list[Any]:
        offset, step = (offsets + r * 8).word(), of.load(v + r * (lanes * of.size), some)
        scalars = [spread(builder, builder.load(builder.gep(row, [offset.value])), some) for row in rows]
        return [fused(builder, scalar, step, total) for scalar, total in zip(scalars, sums, strict=True)]

    return folded(count, start, more)


def _in_runs(
    of: Elements, lanes: int, offsets: Int, runs: Int, number: Int, rows: list[Any], v: Int, start: list[Any]
) -> list[Any]:
    """As `_sums` over some of the steps: `runs` is a table of the first of each run and of how many it has."""

    def run(k: Int, sums: list[Any]) -> list[Any]:
        first, count = ((runs + k * 16 + j).word() for j in (0, 8))
        return _sums(of, lanes, offsets + first * 8, count, rows, v + first * (lanes * of.size), sums)

    return folded(number, start, run)


@routine
@apart
def add_rows(of: Elements, x: Int, bases: Int, offsets: Int, count: Int, v: Int, out: Int, lanes: int) -> None:
    """Add a tile's rows to those at `out`."""
    places = [out + b * lanes * of.size for b in range(EIGHT)]
    start, rows = [of.load(place, lanes) for place in places], _rows(of, x, bases)
    for row, place in zip(_in_registers(of, rows, v, start, partial(_sums, of, lanes, offsets, count)), places, strict=True):
        of.store(row, place)


@routine
@apart
def put_columns(of: Elements, x: Int, bases: Int, offsets: Int, count: Int, v: Int, out: Int, pitch: Int, lanes: int) -> None:
    """Write a tile transposed: lane l of the rows goes to the EIGHT elements at `out`, l * `pitch` elements on."""
    builder, start = v.builder, [of.zero(lanes)] * EIGHT
    rows = _in_registers(of, _rows(of, x, bases), v, start, partial(_sums, of, lanes, offsets, count))
    for part in range(0, lanes, EIGHT):
        own = range(part, part + EIGHT)
        block = rows if lanes == EIGHT else [shuffled(builder, row, row, own) for row in rows]
        for lane, column in zip(own, transposed(builder, block), strict=True):
            of.store(column, out + pitch * (lane * of.size))


@routine
@apart
def put_rows(of: Elements, x: Int, bases: Int, offsets: Int, count: Int, v: Int, out: Int, pitch: Int, lanes: int) -> None:
    """Write a tile's rows at `out`, `pitch` elements apart."""
    start = [of.zero(lanes)] * EIGHT
    rows = _in_registers(of, _rows(of, x, bases), v, start, partial(_sums, of, lanes, offsets, count))
    for b, row in enumerate(rows):
        of.store(row, out + pitch * (b * of.size))


@routine
@apart
def put_runs(
    of: Elements, x: Int, row_pitch: Int, last: Int, offsets: Int, runs: Int, number: Int, v: Int, out: Int, pitch: Int,
    lanes: int,
) -> None:  # fmt: skip
    """Write at `out`, `pitch` elements apart, the rows of a tile whose rows read `row_pitch` elements apart, rows after the
    `last` one again what that one reads. The steps are in runs: a table of the first step of each and of how many."""
    rows = [(x + last.at_most(b) * row_pitch * of.size).place(of.llvm) for b in range(EIGHT)]
    start = [of.zero(lanes)] * EIGHT
    for b, row in enumerate(_in_registers(of, rows, v, start, partial(_in_runs, of, lanes, offsets, runs, number))):
        of.store(row, out + pitch * (b * of.size))


@routine
@apart
def add_runs(
    of: Elements, x: Int, x_step: Int, images: Int, bases: Int, offsets: Int, runs: Int, number: Int, v: Int, v_step: Int,
    out: Int, lanes: int,
) -> None:  # fmt: skip
    """Add to the rows at `out` those of a tile whose steps are the same runs of each image; x and v of the next image are
    `x_step` and `v_step` elements on."""
    builder = x.builder
    places = [out + b * lanes * of.size for b in range(EIGHT)]
    start, rows = [of.load(place, lanes) for place in places], _rows(of, x, bases)

    def sums(rows: list[Any], v: Int, start: list[Any]) -> list[Any]:
        def image(m: Int, sums: list[Any]) -> list[Any]:
            here = [builder.gep(row, [(m * x_step).value]) for row in rows]
            return _in_runs(of, lanes, offsets, runs, number, here, v + m * v_step * of.size, sums)

        return folded(images, start, image)

    for row, place in zip(_in_registers(of, rows, v, start, sums), places, strict=True):
        of.store(row, place)


@routine
def transpose_block(of: Elements, source: Int, pitch: Int, out: Int, out_pitch: Int) -> None:
    """EIGHT rows of EIGHT elements, `pitch` elements apart, written as columns."""
    rows = [of.load(source + pitch * (b * of.size), EIGHT) for b in range(EIGHT)]
    for b, row in enumerate(transposed(source.builder, rows)):
        of.store(row, out + out_pitch * (b * of.size))


@routine
def top_of(of: Elements, address: Int, vectors: Int) -> Value:
    """The largest of `vectors` times SIXTEEN elements, -inf for none; a NaN among numbers may go unnoticed."""
    builder = address.builder

    def larger(x: Any, best: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", x, best), x, best)

    least = ir.Constant(ir.VectorType(of.llvm, SIXTEEN), [float("-inf")] * SIXTEEN)
    [best] = folded(vectors, [least], lambda i, found: [larger(of.load(address + i * (SIXTEEN * of.size), SIXTEEN), found[0])])
    return Value(of.kind, reduced(builder, best, lambda low, high: larger(high, low)))


def _wins(builder: Any, a: Any, b: Any) -> Any:
    """Where a is above b, or a NaN beside a number."""
    return builder.and_(builder.fcmp_unordered(">", a, b), builder.fcmp_ordered("ord", b, b))


def _squares(of: Elements, upper: Int, lower: Int, lanes: int) -> tuple[Any, Any, Any, Any]:
    """Of `lanes` squares of 2 x 2 side by side: whether the right one wins above and below, whether below wins, and the
    largest."""
    builder, halves = upper.builder, []
    for address in (upper, lower):
        row = of.load(address, 2 * lanes)
        left, right = (shuffled(builder, row, row, range(k, 2 * lanes, 2)) for k in (0, 1))
        second = _wins(builder, right, left)
        halves.append((second, builder.select(second, right, left)))
    (above, most_above), (below, most_below) = halves
    down = _wins(builder, most_below, most_above)
    return above, below, down, builder.select(down, most_below, most_above)


@routine
def squares_max(of: Elements, upper: Int, lower: Int, out: Int, lanes: int) -> None:
    """The largest of each of `lanes` squares in two rows; the first one of equals, or a NaN."""
    of.store(_squares(of, upper, lower, lanes)[3], out)


@routine
def squares_put(of: Elements, upper: Int, lower: Int, g: Int, out_upper: Int, out_lower: Int, lanes: int) -> None:
    """g of each square where `squares_max` found its element, 0 at its other three."""
    builder = g.builder
    above, below, down, _ = _squares(of, upper, lower, lanes)
    value, zero = of.load(g, lanes), of.zero(lanes)
    rows = (
        (above, builder.select(down, zero, value), out_upper), (below, builder.select(down, value, zero), out_lower)
    )  # fmt: skip
    for right, part, address in rows:
        left, other = builder.select(right, zero, part), builder.select(right, part, zero)
        of.store(shuffled(builder, left, other, [k // 2 + k % 2 * lanes for k in range(2 * lanes)]), address)


def _window(of: Elements, x: Int, tall: Int, wide: Int, down: Int, right: Int, lanes: int) -> tuple[Any, Any]:
    """The largest elements of a window for all lanes, the first of equals or a NaN, and the numbers of their taps."""
    builder = x.builder

    def row(i: Int, held: list[Any]) -> list[Any]:
        begin = x + i * down

        def tap(j: Int, held: list[Any]) -> list[Any]:
            most, best, t = held
            value = of.load(begin + j * right, lanes)
            wins = _wins(builder, value, most)
            here = spread(builder, t, lanes)
            return [builder.select(wins, value, most), builder.select(wins, here, best), builder.add(t, I32(1))]

        return folded(wide, held, tap)

    none = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
    most, best, _ = folded(tall, [of.load(x, lanes), none, I32(0)], row)
    return most, best


@routine
def window_max(of: Elements, x: Int, tall: Int, wide: Int, down: Int, right: Int, out: Int, lanes: int) -> None:
    """The largest elements of a window of `tall` x `wide` taps, `down` and `right` bytes apart, for `lanes` channels that lie
    side by side; the first one of equals, or a NaN."""
    of.store(_window(of, x, tall, wide, down, right, lanes)[0], out)


@routine
def window_put(
    of: Elements, x: Int, tall: Int, wide: Int, down: Int, right: Int, g: Int, out: Int, below: Int, beside: Int, adds: int,
    lanes: int,
) -> None:  # fmt: skip
    """g where `window_max` found its element and 0 at the other taps, which are `below` and `beside` bytes apart from `out` on;
    or, where `adds` is 1, g added to the element there."""
    builder = x.builder
    _, best = _window(of, x, tall, wide, down, right, lanes)
    value, zero = of.load(g, lanes), of.zero(lanes)

    def row(i: Int, taps: list[Any]) -> list[Any]:
        begin = out + i * below

        def tap(j: Int, taps: list[Any]) -> list[Any]:
            place = begin + j * beside
            here = builder.icmp_signed("==", best, spread(builder, taps[0], lanes))
            old = of.load(place, lanes) if adds else zero
            of.store(builder.select(here, builder.fadd(old, value) if adds else value, old), place)
            return [builder.add(taps[0], I32(1))]

        return folded(wide, taps, tap)

    folded(tall, [I32(0)], row)


# vector code along rows of elements ----------------------------------------------------------------------------------

# Sums of shifted rows, and products of one row with shifted others.
#
# `of` is that of any pointer to the elements, and a vector is 64 bytes, as in `vector_tiles.py`.

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
    _split(of, source, even, odd, EIGHT)


@routine
def split_four_pairs(of: Elements, source: Int, even: Int, odd: Int) -> None:
    """`split_pairs` of EIGHT elements."""
    _split(of, source, even, odd, EIGHT // 2)


def _split(of: Elements, source: Int, even: Int, odd: Int, pairs: int) -> None:
    row = of.load(source, 2 * pairs)
    for k, out in enumerate((even, odd)):
        of.store(shuffled(source.builder, row, row, range(k, 2 * pairs, 2)), out)


@routine
def transpose_to(of: Elements, source: Int, pitch: Int, out: Int, rows: Int, row: Int) -> None:
    """EIGHT rows of EIGHT elements, `pitch` elements apart, written as columns: the k-th to rows[k] times `row` elements on."""
    block = [of.load(source + pitch * k * of.size, EIGHT) for k in range(EIGHT)]
    for k, column in enumerate(transposed(source.builder, block)):
        of.store(column, out + (rows + 8 * k).word() * row * of.size)


Places = Callable[[int, int], Int]
"""(row, column) -> the address of an element of a tile."""


def _turn(of: Elements, source: Places, out: Places) -> None:
    """Write SIXTEEN rows of SIXTEEN elements as columns, by blocks of as many rows as a vector has elements."""
    n = min(SIXTEEN, BYTES // of.size)
    for row in range(0, SIXTEEN, n):
        for column in range(0, SIXTEEN, n):
            block = [of.load(source(row + k, column), n) for k in range(n)]
            for k, turned in enumerate(transposed(source(0, 0).builder, block)):
                of.store(turned, out(column + k, row))


def _in_rows(of: Elements, first: Int, pitch: Int) -> Places:
    return lambda row, column: first + (pitch * row + column) * of.size


def _in_turn(of: Elements, first: Int, second: Int) -> Places:
    """Rows of SIXTEEN elements, one after another at `first` and `second` in turn."""
    return lambda row, column: (second if row % 2 else first) + (row // 2 * SIXTEEN + column) * of.size


@routine
def turn_tile(of: Elements, source: Int, from_step: Int, out: Int, to_step: Int) -> None:
    """SIXTEEN rows of SIXTEEN elements, `from_step` elements apart, as the columns of rows that are `to_step` apart at `out`.
    A tile consists of blocks, each of as many rows as a vector has elements."""
    _turn(of, _in_rows(of, source, from_step), _in_rows(of, out, to_step))


@routine
def turn_firsts(of: Elements, source: Int, from_step: Int, out: Int, to_step: Int) -> None:
    """The first numbers of EIGHT rows of EIGHT pairs, `from_step` elements apart, as the columns of rows that are `to_step`
    apart at `out`. The second number of the last pair is not read."""
    picked = [k if k < EIGHT else k + 1 for k in range(0, SIXTEEN, 2)]
    places = [source + from_step * k * of.size for k in range(EIGHT)]
    halves = [(of.load(place, EIGHT), of.load(place + (EIGHT - 1) * of.size, EIGHT)) for place in places]
    block = [shuffled(source.builder, low, high, picked) for low, high in halves]
    for k, turned in enumerate(transposed(source.builder, block)):
        of.store(turned, out + to_step * k * of.size)


@routine
@apart
def turn_pairs(of: Elements, source: Int, pitch: Int, first: Int, second: Int) -> None:
    """SIXTEEN rows of EIGHT pairs, `pitch` elements apart, as columns: SIXTEEN first numbers of each pair at `first`, one pair
    after another, and the second ones at `second`."""
    _turn(of, _in_rows(of, source, pitch), _in_turn(of, first, second))


@routine
@apart
def turn_pairs_back(of: Elements, first: Int, second: Int, out: Int, pitch: Int) -> None:
    """The inverse of `turn_pairs`: rows at `out`, `pitch` elements apart."""
    _turn(of, _in_turn(of, first, second), _in_rows(of, out, pitch))


@routine
def join_pairs(of: Elements, first: Int, second: Int, out: Int) -> None:
    """EIGHT first and EIGHT second numbers as pairs: the inverse of `split_pairs`."""
    _join(of, first, second, out, EIGHT)


@routine
def join_four_pairs(of: Elements, first: Int, second: Int, out: Int) -> None:
    """`join_pairs` of four numbers each."""
    _join(of, first, second, out, EIGHT // 2)


def _join(of: Elements, first: Int, second: Int, out: Int, pairs: int) -> None:
    one, other = of.load(first, pairs), of.load(second, pairs)
    of.store(shuffled(out.builder, one, other, [k // 2 + k % 2 * pairs for k in range(2 * pairs)]), out)
