"""Vector code along rows of elements: sums of shifted rows, and products of one row with shifted others.

Addresses are plain integers, as in `vector_tiles.py`; `like` is any pointer to the elements' dtype. A vector is 64 bytes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..cpu import BYTES
from ..kernel_types import Pointer, builtin, int64
from ..llvm import I32, I64, _place, _shuffle, _transposed_block, folded, spread
from .vector_tiles import EIGHT, SIXTEEN, _element, _load, _store


def _at(builder: Any, address: Any, index: Any, size: int) -> Any:
    return builder.add(address, builder.mul(index, I64(size)))


def _fused(builder: Any, a: Any, b: Any, total: Any) -> Any:
    return builder.fadd(builder.fmul(a, b, flags=("contract",)), total, flags=("contract",))


def _total(builder: Any, vector: Any) -> Any:
    """The sum of a vector's elements: halves added to halves."""
    width = vector.type.count
    while width > 1:
        width //= 2
        low = _shuffle(builder, vector, vector, list(range(width)))
        vector = builder.fadd(low, _shuffle(builder, vector, vector, list(range(width, 2 * width))))
    return builder.extract_element(vector, I32(0))


@builtin(Pointer, int64, int64, int64, int64, int64, int)
def put_span(builder, like, x, offsets, w, count, out, vectors):
    """`vectors` vectors at `out`: the sum over k < `count` of w[k] * x[offsets[k] ...]."""
    wide, (llvm, size) = vectors, _element(like)
    vector = ir.VectorType(llvm, 64 // size)

    def tap(k, sums):
        offset = builder.load(_place(builder, _at(builder, offsets, k, 8), I64))
        weight = spread(builder, builder.load(_place(builder, _at(builder, w, k, size), llvm)), vector.count)
        source = _at(builder, x, offset, size)
        rows = [_load(builder, builder.add(source, I64(64 * v)), vector, size) for v in range(wide)]
        return [_fused(builder, weight, row, total) for row, total in zip(rows, sums, strict=True)]

    sums = folded(builder, count, [ir.Constant(vector, [0.0] * vector.count)] * wide, tap)
    for v, total in enumerate(sums):
        _store(builder, total, builder.add(out, I64(64 * v)), size)


@builtin(Pointer, int64, int64, int64, int64, int64, int64, int)
def add_dots(builder, like, g, valid, x, offsets, count, out, taps):
    """Add to out[k], for k < `taps`, the product of g with x[offsets[k] ...] over `count` vectors.

    Where `valid` is 0, x counts as 0, whatever it is.
    """
    many, (llvm, size) = taps, _element(like)
    vector = ir.VectorType(llvm, 64 // size)
    zero = ir.Constant(vector, [0.0] * vector.count)
    sources = []
    for k in range(many):
        offset = builder.load(_place(builder, builder.add(offsets, I64(8 * k)), I64))
        sources.append(_at(builder, x, offset, size))

    def pixels(v, sums):
        along = builder.mul(v, I64(64))
        left = _load(builder, builder.add(g, along), vector, size)
        inside = builder.fcmp_unordered("!=", _load(builder, builder.add(valid, along), vector, size), zero)
        rows = [_load(builder, builder.add(source, along), vector, size) for source in sources]
        rows = [builder.select(inside, row, zero) for row in rows]
        return [_fused(builder, left, row, total) for row, total in zip(rows, sums, strict=True)]

    for k, sums in enumerate(folded(builder, count, [zero] * many, pixels)):
        place = builder.add(out, I64(k * size))
        before = builder.load(_place(builder, place, llvm))
        _store(builder, builder.fadd(before, _total(builder, sums)), place, size)


@builtin(Pointer, int64, int64, int)
def shift(builder, like, source, out, lanes):
    """Copy one vector of `lanes` elements."""
    n, (llvm, size) = lanes, _element(like)
    _store(builder, _load(builder, source, ir.VectorType(llvm, n), size), out, size)


@builtin(Pointer, int64, int64, int64)
def split_pairs(builder, like, source, even, odd):
    """Of SIXTEEN elements, those at even places to `even`, and the others to `odd`."""
    llvm, size = _element(like)
    row = _load(builder, source, ir.VectorType(llvm, SIXTEEN), size)
    for k, out in enumerate((even, odd)):
        _store(builder, _shuffle(builder, row, row, list(range(k, SIXTEEN, 2))), out, size)


@builtin(Pointer, int64, int64, int64, int64, int64)
def transpose_to(builder, like, source, pitch, out, rows, row):
    """EIGHT rows of EIGHT elements, `pitch` elements apart, written as columns: the k-th to rows[k] times `row` elements on."""
    llvm, size = _element(like)
    vector = ir.VectorType(llvm, EIGHT)
    block = [_load(builder, _at(builder, source, builder.mul(pitch, I64(k)), size), vector, size) for k in range(EIGHT)]
    for k, column in enumerate(_transposed_block(builder, block)):
        number = builder.load(_place(builder, builder.add(rows, I64(8 * k)), I64))
        _store(builder, column, _at(builder, out, builder.mul(number, row), size), size)


@builtin(Pointer, int64, int64, int64, int64)
def turn_tile(builder, like, source, from_step, out, to_step):
    """SIXTEEN rows of SIXTEEN elements, `from_step` elements apart, as the columns of rows that are `to_step` apart at `out`.
    A tile consists of blocks, each of as many rows as a vector has elements."""
    llvm, size = _element(like)
    n = min(SIXTEEN, BYTES // size)
    vector = ir.VectorType(llvm, n)
    for row in range(0, SIXTEEN, n):
        for column in range(0, SIXTEEN, n):
            places = [builder.add(builder.mul(from_step, I64(row + k)), I64(column)) for k in range(n)]
            block = [_load(builder, _at(builder, source, place, size), vector, size) for place in places]
            for k, turned in enumerate(_transposed_block(builder, block)):
                place = builder.add(builder.mul(to_step, I64(column + k)), I64(row))
                _store(builder, turned, _at(builder, out, place, size), size)
