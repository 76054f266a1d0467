"""Vector code along rows of elements: sums of shifted rows, and products of one row with shifted others.

Addresses are plain integers, as in `vector_tiles.py`; `like` is any pointer to the elements' dtype. A vector is 64 bytes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

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


@intrinsic(prefer_literal=True)
def put_span(typingctx, like, x, offsets, w, count, out, vectors):
    """`vectors` vectors at `out`: the sum over k < `count` of w[k] * x[offsets[k] ...]."""
    if not isinstance(vectors, types.IntegerLiteral):
        return None
    wide, (llvm, size) = vectors.literal_value, _element(like)
    vector = ir.VectorType(llvm, 64 // size)

    def codegen(context, builder, sig, args):
        _, x, offsets, w, count, out, _ = args

        def tap(k, sums):
            offset = builder.load(_place(builder, _at(builder, offsets, k, 8), I64))
            weight = spread(builder, builder.load(_place(builder, _at(builder, w, k, size), llvm)), vector.count)
            source = _at(builder, x, offset, size)
            rows = [_load(builder, builder.add(source, I64(64 * v)), vector, size) for v in range(wide)]
            return [_fused(builder, weight, row, total) for row, total in zip(rows, sums, strict=True)]

        sums = folded(builder, count, [ir.Constant(vector, [0.0] * vector.count)] * wide, tap)
        for v, total in enumerate(sums):
            _store(builder, total, builder.add(out, I64(64 * v)), size)
        return context.get_dummy_value()

    i = types.int64
    return types.void(like, i, i, i, i, i, vectors), codegen


@intrinsic(prefer_literal=True)
def add_dots(typingctx, like, g, valid, x, offsets, count, out, taps):
    """Add to out[k], for k < `taps`, the product of g with x[offsets[k] ...] over `count` vectors.

    Where `valid` is 0, x counts as 0, whatever it is.
    """
    if not isinstance(taps, types.IntegerLiteral):
        return None
    many, (llvm, size) = taps.literal_value, _element(like)
    vector = ir.VectorType(llvm, 64 // size)

    def codegen(context, builder, sig, args):
        _, g, valid, x, offsets, count, out, _ = args
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
        return context.get_dummy_value()

    i = types.int64
    return types.void(like, i, i, i, i, i, i, taps), codegen


@intrinsic(prefer_literal=True)
def shift(typingctx, like, source, out, lanes):
    """Copy one vector of `lanes` elements."""
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    n, (llvm, size) = lanes.literal_value, _element(like)

    def codegen(context, builder, sig, args):
        _store(builder, _load(builder, args[1], ir.VectorType(llvm, n), size), args[2], size)
        return context.get_dummy_value()

    return types.void(like, types.int64, types.int64, lanes), codegen


@intrinsic
def split_pairs(typingctx, like, source, even, odd):
    """Of SIXTEEN elements, those at even places to `even`, and the others to `odd`."""
    llvm, size = _element(like)

    def codegen(context, builder, sig, args):
        row = _load(builder, args[1], ir.VectorType(llvm, SIXTEEN), size)
        for k in (0, 1):
            _store(builder, _shuffle(builder, row, row, list(range(k, SIXTEEN, 2))), args[2 + k], size)
        return context.get_dummy_value()

    i = types.int64
    return types.void(like, i, i, i), codegen


@intrinsic
def transpose_to(typingctx, like, source, pitch, out, rows, row):
    """EIGHT rows of EIGHT elements, `pitch` elements apart, written as columns: the k-th to rows[k] times `row` elements on."""
    llvm, size = _element(like)

    def codegen(context, builder, sig, args):
        vector = ir.VectorType(llvm, EIGHT)
        _, source, pitch, out, rows, row = args
        block = [_load(builder, _at(builder, source, builder.mul(pitch, I64(k)), size), vector, size) for k in range(EIGHT)]
        for k, column in enumerate(_transposed_block(builder, block)):
            number = builder.load(_place(builder, builder.add(rows, I64(8 * k)), I64))
            _store(builder, column, _at(builder, out, builder.mul(number, row), size), size)
        return context.get_dummy_value()

    i = types.int64
    return types.void(like, i, i, i, i, i), codegen
