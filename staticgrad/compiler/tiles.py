"""Tiles of matrix products kept in registers: EIGHT rows of one or two vectors, one broadcast of A a step.

For the sizes of small and medium networks this beats BLAS, which packs both operands before it computes: A is read where
it lies, transposed or not, and B too unless its rows are columns. Addresses are plain integers, see `vector.py`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .vector import EIGHT, I32, I64, _element, _load, _mask, _place, _store

DEPTH = 256
"""Steps of a product done at a time: a panel of B of this height and two vectors' width stays in the L1 cache."""


@intrinsic
def room_for_panel(typingctx, like):
    """The address of DEPTH rows of two vectors (64 bytes each) on the stack."""

    def codegen(context, builder, sig, args):
        with builder.goto_entry_block():  # without the zeros of cgutils.alloca_once, written one by one
            place = builder.alloca(ir.ArrayType(ir.IntType(8), DEPTH * 128))
        place.align = 64
        return builder.ptrtoint(place, I64)

    return types.int64(like), codegen


@intrinsic
def put(typingctx, like, address, value):
    """Write one element."""
    size = _element(like)[1]

    def codegen(context, builder, sig, args):
        _store(builder, args[2], args[1], size)
        return context.get_dummy_value()

    return types.void(like, types.int64, like.dtype), codegen


@intrinsic
def move(typingctx, like, source, address):
    """Copy one vector of 64 bytes."""
    llvm, size = _element(like)

    def codegen(context, builder, sig, args):
        _store(builder, _load(builder, args[1], ir.VectorType(llvm, 64 // size), size), args[2], size)
        return context.get_dummy_value()

    return types.void(like, types.int64, types.int64), codegen


@intrinsic(prefer_literal=True)
def product_tile(typingctx, like, a, a_row, a_step, count, b, b_step, c, c_row, add, vectors):
    """EIGHT rows of C = A B, `vectors` vectors of 64 bytes wide, over `count` > 0 steps; unless `add` is 0, C += A B.

    a, b, c: addresses; a_row, a_step, b_step, c_row: distances in elements to the next row or step.
    """
    if not isinstance(vectors, types.IntegerLiteral):
        return None
    wide, (llvm, size) = vectors.literal_value, _element(like)
    vector, lanes = ir.VectorType(llvm, 64 // size), 64 // size

    def codegen(context, builder, sig, args):
        _, a, a_row, a_step, count, b, b_step, c, c_row, add, _ = args
        rows = [_place(builder, _moved(builder, a, a_row, r * size), llvm) for r in range(EIGHT)]
        places = [
            builder.add(_moved(builder, c, c_row, r * size), I64(64 * k)) for r in range(EIGHT) for k in range(wide)
        ]
        zero = ir.Constant(vector, [0.0] * lanes)
        adds = builder.icmp_signed("!=", add, I64(0))
        start = [builder.select(adds, _load(builder, place, vector, size), zero) for place in places]
        entry, body, done = builder.block, builder.append_basic_block("tile"), builder.append_basic_block("tile.done")
        builder.branch(body)
        builder.position_at_end(body)
        step, offset, row = (builder.phi(I64) for _ in range(3))
        sums = [builder.phi(vector) for _ in places]
        for phi, value in zip((step, offset, row, *sums), (I64(0), I64(0), b, *start), strict=True):
            phi.add_incoming(value, entry)
        loaded = [_load(builder, builder.add(row, I64(64 * k)), vector, size) for k in range(wide)]
        empty, first = ir.Constant(vector, ir.Undefined), _mask([0] * lanes)
        totals = []
        for r in range(EIGHT):
            scalar = builder.load(builder.gep(rows[r], [offset]))
            spread = builder.shuffle_vector(builder.insert_element(empty, scalar, I32(0)), empty, first)
            for k in range(wide):
                product = builder.fmul(spread, loaded[k], flags=("contract",))
                totals.append(builder.fadd(product, sums[r * wide + k], flags=("contract",)))
        after = builder.add(step, I64(1))
        moved = (after, builder.add(offset, a_step), _moved(builder, row, b_step, size), *totals)
        for phi, value in zip((step, offset, row, *sums), moved, strict=True):
            phi.add_incoming(value, body)
        builder.cbranch(builder.icmp_signed("<", after, count), body, done)
        builder.position_at_end(done)
        for total, place in zip(totals, places, strict=True):
            _store(builder, total, place, size)
        return context.get_dummy_value()

    i = types.int64
    return types.void(like, i, i, i, i, i, i, i, i, i, vectors), codegen


def _moved(builder: Any, address: Any, distance: Any, scale: int) -> Any:
    return builder.add(address, builder.mul(distance, I64(scale)))
