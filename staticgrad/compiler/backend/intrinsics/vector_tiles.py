"""Vector code of the library's inner loops, where the vectorizer can't be relied on: tiles kept in registers.

Addresses are plain integers (`at(pointer, i)` is that of an element); `like` is any pointer to the elements' dtype. A
tile is EIGHT rows of `lanes` elements: row b is the sum over r of `x[bases[b] + offsets[r]] * v[r * lanes : (r + 1) *
lanes]`, one broadcast and one multiply-add a step. Convolutions are such sums with the output's pixels as rows, their
gradients with the kernel's taps as rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..cpu import BYTES
from ..kernel_types import Pointer, Value, builtin, float64, int64
from ..llvm import EIGHT, I32, I64, _place, _shuffle, _transposed_block, call, folded, rows_at_once, spread

SIXTEEN = 16


@builtin(Pointer, int64)
def at(builder, pointer, i):
    """The address of an element of a buffer."""
    return Value(int64, builder.ptrtoint(builder.gep(pointer.llvm, [i]), I64))


def _load(builder: Any, address: Any, llvm: Any, align: int) -> Any:
    value = builder.load(_place(builder, address, llvm))
    value.align = align
    return value


def _store(builder: Any, value: Any, address: Any, align: int) -> None:
    instruction = builder.store(value, _place(builder, address, value.type))
    instruction.align = align


def _apart(builder: Any, like: Any, name: str, lanes: int, write: Callable[..., None], args: Any) -> Any:
    """Call a tile as a function of its own: in it, registers are left for the places of the rows, whatever surrounds the call.
    `write(builder, *args)` writes it, by the name and the lanes."""

    def written(inner: Any, *operands: Any) -> None:
        write(inner, *(operand.value for operand in operands))

    call(builder, f"{name}_{_element(like)[1]}_{lanes}", written, args)


def _rows(builder: Any, element: Any, size: int, x: Any, bases: Any) -> list[Any]:
    """Where the EIGHT rows of a tile read, from a table of their places."""
    found = []
    for b in range(EIGHT):
        base = _load(builder, builder.add(bases, I64(8 * b)), I64, 8)
        found.append(_place(builder, builder.add(x, builder.mul(base, I64(size))), element))
    return found


Sums = Callable[[list[Any], Any, list[Any]], list[Any]]
"""(rows, v, start) -> what they are after all steps"""


def _in_registers(builder: Any, size: int, lanes: int, rows: list[Any], v: Any, start: list[Any], sums: Sums) -> list[Any]:
    """`sums` of the rows of a tile: of as many rows and lanes at once as registers hold."""
    wide = min(2, max(1, lanes * size // BYTES))
    some, at_once = min(lanes, wide * BYTES // size), rows_at_once(wide)
    found: list[list[Any]] = [[] for _ in range(EIGHT)]
    for lane in range(0, lanes, some):
        own = list(range(lane, lane + some))
        for first in range(0, EIGHT, at_once):
            begin = [_shuffle(builder, row, row, own) for row in start[first : first + at_once]]
            part = sums(rows[first : first + at_once], builder.add(v, I64(lane * size)), begin)
            for b, row in enumerate(part, first):
                found[b].append(row)
    return [_joined(builder, parts) for parts in found]


def _joined(builder: Any, parts: list[Any]) -> Any:
    """One vector of the lanes of a power of two of equal ones."""
    while len(parts) > 1:
        both = list(range(2 * parts[0].type.count))
        parts = [_shuffle(builder, left, right, both) for left, right in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _sums(builder: Any, size: int, lanes: int, rows: Any, offsets: Any, count: Any, v: Any, start: list[Any]) -> list[Any]:
    """The rows of a tile after the loop over the steps; `start` holds them before it. Rows of v have `lanes` elements, of which
    those of a tile may be a part."""
    vector = start[0].type
    contract = ("contract",)

    def more(r: Any, sums: list[Any]) -> list[Any]:
        offset = _load(builder, builder.add(offsets, builder.mul(r, I64(8))), I64, 8)
        step = _load(builder, builder.add(v, builder.mul(r, I64(lanes * size))), vector, size)
        scalars = (spread(builder, builder.load(builder.gep(row, [offset])), vector.count) for row in rows)
        products = (builder.fmul(scalar, step, flags=contract) for scalar in scalars)
        return [builder.fadd(product, total, flags=contract) for product, total in zip(products, sums, strict=True)]

    return folded(builder, count, start, more)


def _in_runs(
    builder: Any, size: int, lanes: int, rows: Any, offsets: Any, runs: Any, number: Any, v: Any, start: list[Any]
) -> list[Any]:
    """As `_sums` over some of the steps: `runs` is a table of the first of each run and of how many it has."""

    def run(k: Any, sums: list[Any]) -> list[Any]:
        at_run = builder.add(runs, builder.mul(k, I64(16)))
        first, count = (_load(builder, builder.add(at_run, I64(j)), I64, 8) for j in (0, 8))
        steps = builder.add(offsets, builder.mul(first, I64(8)))
        return _sums(builder, size, lanes, rows, steps, count, builder.add(v, builder.mul(first, I64(lanes * size))), sums)

    return folded(builder, number, start, run)


def _zeros(llvm: Any, lanes: int) -> list[Any]:
    return [ir.Constant(ir.VectorType(llvm, lanes), [0.0] * lanes)] * EIGHT


def _transposed(builder: Any, rows: list[Any], lanes: int) -> list[Any]:
    """EIGHT rows of `lanes` (a multiple of EIGHT) as `lanes` rows of EIGHT: 8 x 8 blocks in three rounds."""
    result = []
    for part in range(0, lanes, EIGHT):
        block = rows
        if lanes != EIGHT:
            block = [_shuffle(builder, row, row, list(range(part, part + EIGHT))) for row in rows]
        result += _transposed_block(builder, block)
    return result


def _element(like: Any) -> tuple[Any, int]:
    """The LLVM type and the bytes of a pointer's elements."""
    return like.type.dtype.llvm, like.type.size


@builtin(Pointer, int64, int64, int64, int64, int64, int64, int)
def add_rows(builder, like, x, bases, offsets, count, v, out, lanes):
    """Add a tile's rows to those at `out`."""
    n, (llvm, size) = lanes, _element(like)

    def write(builder, x, bases, offsets, count, v, out):
        vector = ir.VectorType(llvm, n)
        places = [builder.add(out, I64(b * n * size)) for b in range(EIGHT)]
        start = [_load(builder, place, vector, size) for place in places]
        rows = _rows(builder, llvm, size, x, bases)

        def sums(rows, v, start):
            return _sums(builder, size, n, rows, offsets, count, v, start)

        for row, place in zip(_in_registers(builder, size, n, rows, v, start, sums), places, strict=True):
            _store(builder, row, place, size)

    _apart(builder, like, "add_rows", n, write, (x, bases, offsets, count, v, out))


@builtin(Pointer, int64, int64, int64, int64, int64, int64, int64, int)
def put_columns(builder, like, x, bases, offsets, count, v, out, pitch, lanes):
    """Write a tile transposed: lane l of the rows goes to the EIGHT elements at `out`, l * `pitch` elements on."""
    n, (llvm, size) = lanes, _element(like)

    def write(builder, x, bases, offsets, count, v, out, pitch):
        def sums(rows, v, start):
            return _sums(builder, size, n, rows, offsets, count, v, start)

        rows = _in_registers(builder, size, n, _rows(builder, llvm, size, x, bases), v, _zeros(llvm, n), sums)
        for lane, row in enumerate(_transposed(builder, rows, n)):
            _store(builder, row, builder.add(out, builder.mul(pitch, I64(lane * size))), size)

    _apart(builder, like, "put_columns", n, write, (x, bases, offsets, count, v, out, pitch))


@builtin(Pointer, int64, int64, int64, int64, int64, int64, int64, int)
def put_rows(builder, like, x, bases, offsets, count, v, out, pitch, lanes):
    """Write a tile's rows at `out`, `pitch` elements apart."""
    n, (llvm, size) = lanes, _element(like)

    def write(builder, x, bases, offsets, count, v, out, pitch):
        def sums(rows, v, start):
            return _sums(builder, size, n, rows, offsets, count, v, start)

        rows = _rows(builder, llvm, size, x, bases)
        for b, row in enumerate(_in_registers(builder, size, n, rows, v, _zeros(llvm, n), sums)):
            _store(builder, row, builder.add(out, builder.mul(pitch, I64(b * size))), size)

    _apart(builder, like, "put_rows", n, write, (x, bases, offsets, count, v, out, pitch))


@builtin(Pointer, int64, int64, int64, int64, int64, int64, int64, int64, int64, int)
def put_runs(builder, like, x, row_pitch, last, offsets, runs, number, v, out, pitch, lanes):
    """Write at `out`, `pitch` elements apart, the rows of a tile whose rows read `row_pitch` elements apart, rows after the
    `last` one again what that one reads. The steps are in runs: a table of the first step of each and of how many."""
    n, (llvm, size) = lanes, _element(like)

    def write(builder, x, row_pitch, last, offsets, runs, number, v, out, pitch):
        rows = []
        for b in range(EIGHT):
            row = builder.select(builder.icmp_signed("<", last, I64(b)), last, I64(b))
            rows.append(_place(builder, builder.add(x, builder.mul(builder.mul(row, row_pitch), I64(size))), llvm))

        def sums(rows, v, start):
            return _in_runs(builder, size, n, rows, offsets, runs, number, v, start)

        for b, row in enumerate(_in_registers(builder, size, n, rows, v, _zeros(llvm, n), sums)):
            _store(builder, row, builder.add(out, builder.mul(pitch, I64(b * size))), size)

    _apart(builder, like, "put_runs", n, write, (x, row_pitch, last, offsets, runs, number, v, out, pitch))


@builtin(Pointer, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int)
def add_runs(builder, like, x, x_step, images, bases, offsets, runs, number, v, v_step, out, lanes):
    """Add to the rows at `out` those of a tile whose steps are the same runs of each image; x and v of the next image are
    `x_step` and `v_step` elements on."""
    n, (llvm, size) = lanes, _element(like)

    def write(builder, x, x_step, images, bases, offsets, runs, number, v, v_step, out):
        vector = ir.VectorType(llvm, n)
        places = [builder.add(out, I64(b * n * size)) for b in range(EIGHT)]
        start = [_load(builder, place, vector, size) for place in places]
        rows = _rows(builder, llvm, size, x, bases)

        def sums(rows, v, start):
            def image(m, sums):
                moved = builder.mul(m, x_step)
                here = [builder.gep(row, [moved]) for row in rows]
                steps = builder.add(v, builder.mul(builder.mul(m, v_step), I64(size)))
                return _in_runs(builder, size, n, here, offsets, runs, number, steps, sums)

            return folded(builder, images, start, image)

        for row, place in zip(_in_registers(builder, size, n, rows, v, start, sums), places, strict=True):
            _store(builder, row, place, size)

    _apart(builder, like, "add_runs", n, write, (x, x_step, images, bases, offsets, runs, number, v, v_step, out))


@builtin(Pointer, int64, int64, int64, int64)
def transpose_block(builder, like, source, pitch, out, out_pitch):
    """EIGHT rows of EIGHT elements, `pitch` elements apart, written as columns."""
    llvm, size = _element(like)
    vector = ir.VectorType(llvm, EIGHT)
    rows = [_load(builder, builder.add(source, builder.mul(pitch, I64(b * size))), vector, size) for b in range(EIGHT)]
    for b, row in enumerate(_transposed_block(builder, rows)):
        _store(builder, row, builder.add(out, builder.mul(out_pitch, I64(b * size))), size)


@builtin(Pointer, int64, int64)
def top_of(builder, like, address, vectors):
    """The largest of `vectors` times SIXTEEN elements, -inf for none; a NaN among numbers may go unnoticed."""
    llvm, size = _element(like)
    vector = ir.VectorType(llvm, SIXTEEN)
    entry = builder.block
    test, body, done = (builder.append_basic_block(name) for name in ("top.test", "top.body", "top.done"))
    builder.branch(test)
    builder.position_at_end(test)
    i, best = builder.phi(I64), builder.phi(vector)
    i.add_incoming(I64(0), entry)
    best.add_incoming(ir.Constant(vector, [float("-inf")] * SIXTEEN), entry)
    builder.cbranch(builder.icmp_signed("<", i, vectors), body, done)
    builder.position_at_end(body)
    x = _load(builder, builder.add(address, builder.mul(i, I64(SIXTEEN * size))), vector, size)
    best.add_incoming(builder.select(builder.fcmp_ordered(">", x, best), x, best), body)
    i.add_incoming(builder.add(i, I64(1)), body)
    builder.branch(test)
    builder.position_at_end(done)
    folded, width = best, SIXTEEN
    while width > 1:
        width //= 2
        other = _shuffle(builder, folded, folded, list(range(width, 2 * width)))
        own = _shuffle(builder, folded, folded, list(range(width)))
        folded = builder.select(builder.fcmp_ordered(">", other, own), other, own)
    return Value(like.type.dtype, builder.extract_element(folded, I32(0)))


@builtin(int64)
def as_float(builder, bits):
    """The float64 whose bits an integer has: how a real number reaches a kernel among its sizes."""
    return Value(float64, builder.bitcast(bits, float64.llvm))


def _wins(builder: Any, a: Any, b: Any) -> Any:
    """Where a is above b, or a NaN beside a number."""
    return builder.and_(builder.fcmp_unordered(">", a, b), builder.fcmp_ordered("ord", b, b))


def _squares(builder: Any, upper: Any, lower: Any, llvm: Any, size: int, lanes: int) -> tuple[Any, Any, Any, Any]:
    """Of `lanes` squares of 2 x 2 side by side: whether the right one wins above and below, whether below wins, and the
    largest."""
    wide = ir.VectorType(llvm, 2 * lanes)
    halves = []
    for address in (upper, lower):
        row = _load(builder, address, wide, size)
        left, right = (_shuffle(builder, row, row, list(range(k, 2 * lanes, 2))) for k in (0, 1))
        second = _wins(builder, right, left)
        halves.append((second, builder.select(second, right, left)))
    (above, most_above), (below, most_below) = halves
    down = _wins(builder, most_below, most_above)
    return above, below, down, builder.select(down, most_below, most_above)


@builtin(Pointer, int64, int64, int64, int)
def squares_max(builder, like, upper, lower, out, lanes):
    """The largest of each of `lanes` squares in two rows; the first one of equals, or a NaN."""
    n, (llvm, size) = lanes, _element(like)
    _store(builder, _squares(builder, upper, lower, llvm, size, n)[3], out, size)


@builtin(Pointer, int64, int64, int64, int64, int64, int)
def squares_put(builder, like, upper, lower, g, out_upper, out_lower, lanes):
    """g of each square where `squares_max` found its element, 0 at its other three."""
    n, (llvm, size) = lanes, _element(like)
    vector = ir.VectorType(llvm, n)
    above, below, down, _ = _squares(builder, upper, lower, llvm, size, n)
    value, zero = _load(builder, g, vector, size), ir.Constant(vector, [0.0] * n)
    rows = (
        (above, builder.select(down, zero, value), out_upper), (below, builder.select(down, value, zero), out_lower)
    )  # fmt: skip
    for right, part, address in rows:
        left, other = builder.select(right, zero, part), builder.select(right, part, zero)
        _store(builder, _shuffle(builder, left, other, [k // 2 + k % 2 * n for k in range(2 * n)]), address, size)


def _window(builder: Any, x: Any, tall: Any, wide: Any, down: Any, right: Any, vector: Any, size: int) -> tuple[Any, Any]:
    """The largest elements of a window for all lanes, the first of equals or a NaN, and the numbers of their taps."""
    number = ir.VectorType(I32, vector.count)
    first = _load(builder, x, vector, size)

    def row(i: Any, held: list[Any]) -> list[Any]:
        begin = builder.add(x, builder.mul(i, down))

        def tap(j: Any, held: list[Any]) -> list[Any]:
            most, best, t = held
            value = _load(builder, builder.add(begin, builder.mul(j, right)), vector, size)
            wins = _wins(builder, value, most)
            here = spread(builder, t, vector.count)
            return [builder.select(wins, value, most), builder.select(wins, here, best), builder.add(t, I32(1))]

        return folded(builder, wide, held, tap)

    most, best, _ = folded(builder, tall, [first, ir.Constant(number, [0] * vector.count), I32(0)], row)
    return most, best


@builtin(Pointer, int64, int64, int64, int64, int64, int64, int)
def window_max(builder, like, x, tall, wide, down, right, out, lanes):
    """The largest elements of a window of `tall` x `wide` taps, `down` and `right` bytes apart, for `lanes` channels that lie
    side by side; the first one of equals, or a NaN."""
    n, (llvm, size) = lanes, _element(like)
    most, _ = _window(builder, x, tall, wide, down, right, ir.VectorType(llvm, n), size)
    _store(builder, most, out, size)


@builtin(Pointer, int64, int64, int64, int64, int64, int64, int64, int64, int64, int, int)
def window_put(builder, like, x, tall, wide, down, right, g, out, below, beside, adds, lanes):
    """g where `window_max` found its element and 0 at the other taps, which are `below` and `beside` bytes apart from `out` on;
    or, where `adds` is 1, g added to the element there."""
    n, (llvm, size) = lanes, _element(like)
    vector = ir.VectorType(llvm, n)
    _, best = _window(builder, x, tall, wide, down, right, vector, size)
    value, zero = _load(builder, g, vector, size), ir.Constant(vector, [0.0] * n)

    def row(i, taps):
        begin = builder.add(out, builder.mul(i, below))

        def tap(j, taps):
            place = builder.add(begin, builder.mul(j, beside))
            here = builder.icmp_signed("==", best, spread(builder, taps[0], n))
            if adds:
                old = _load(builder, place, vector, size)
                _store(builder, builder.select(here, builder.fadd(old, value), old), place, size)
            else:
                _store(builder, builder.select(here, value, zero), place, size)
            return [builder.add(taps[0], I32(1))]

        return folded(builder, wide, taps, tap)

    folded(builder, tall, [I32(0)], row)
