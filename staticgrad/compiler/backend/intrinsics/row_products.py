"""Sums of products over blocks of rows, in explicit vectors.

LLVM vectorizes a sum along a short row poorly: the remainder runs one by one, and adding up the lanes of each row
costs more than its products. Here as many rows as a vector has lanes are summed at once, whose lanes are then added in
a tree of shuffles; the end of a row is read under a mask.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..cpu import BYTES
from ..kernel_types import Builtin, Float, Pointer, Value, builtin, float32, float64, int64
from ..llvm import I32, I64, Int, function, spread, steps

__all__ = ["add_rows_f32", "add_rows_f64", "dot_rows_f32", "dot_rows_f64"]


class Vectors:
    """Vectors of one element type in the code being written."""

    def __init__(self, builder: ir.IRBuilder, element: ir.Type):
        self.builder, self.element = builder, element
        self.size = 4 if element == ir.FloatType() else 8
        self.lanes = BYTES // self.size
        self.type = ir.VectorType(element, self.lanes)
        self.suffix = f"v{self.lanes}f{8 * self.size}"

    def zero(self) -> ir.Value:
        return ir.Constant(self.type, [0.0] * self.lanes)

    def call(self, name: str, kind: ir.FunctionType, operands: list[ir.Value]) -> ir.Value:
        return self.builder.call(function(self.builder, name, kind), operands)

    def broadcast(self, x: ir.Value) -> ir.Value:
        return spread(self.builder, x, self.lanes)

    def mask_of(self, lanes: list[int]) -> ir.Constant:
        return ir.Constant(ir.VectorType(I32, len(lanes)), lanes)

    def within(self, count: ir.Value) -> ir.Value:
        """A mask of the lanes below `count`, which may be anything."""
        numbers = ir.Constant(ir.VectorType(I64, self.lanes), list(range(self.lanes)))
        return self.builder.icmp_signed("<", numbers, spread(self.builder, count, self.lanes))

    def load(self, pointer: ir.Value, mask: ir.Value) -> ir.Value:
        """The lanes under the mask, 0 elsewhere, of which no memory is touched."""
        place = self.builder.bitcast(pointer, self.type.as_pointer())
        kind = ir.FunctionType(self.type, [place.type, I32, mask.type, self.type])
        name = f"llvm.masked.load.{self.suffix}.p0"
        return self.call(name, kind, [place, I32(self.size), mask, self.zero()])

    def store(self, value: ir.Value, pointer: ir.Value, mask: ir.Value) -> None:
        place = self.builder.bitcast(pointer, self.type.as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [self.type, place.type, I32, mask.type])
        self.call(f"llvm.masked.store.{self.suffix}.p0", kind, [value, place, I32(self.size), mask])

    def fma(self, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
        return self.call(f"llvm.fma.{self.suffix}", ir.FunctionType(self.type, [self.type] * 3), [x, y, z])

    def sums(self, vectors: list[ir.Value]) -> ir.Value:
        """Lane r of the result is the sum of the lanes of vector r: neighbors are added in a tree."""
        b, n = self.builder, self.lanes
        even, odd = self.mask_of(list(range(0, 2 * n, 2))), self.mask_of(list(range(1, 2 * n, 2)))
        while len(vectors) > 1:
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [b.fadd(b.shuffle_vector(x, y, even), b.shuffle_vector(x, y, odd)) for x, y in pairs]
        return vectors[0]


def _variables(builder: ir.IRBuilder, v: Vectors, count: int) -> list[ir.Value]:
    """Vector variables, 0 at first; LLVM keeps them in registers."""
    with builder.goto_entry_block():
        places = [builder.alloca(v.type) for _ in range(count)]
    for place in places:
        builder.store(v.zero(), place)
    return places


def _smaller(builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    return builder.select(builder.icmp_signed("<", x, y), x, y)


def _dot_rows(builder: ir.IRBuilder, v: Vectors, out: Any, x: Any, w: Any, n: Any, columns: Any, stride: Any) -> None:
    b = builder
    with steps(0, Int(b, n), v.lanes) as at:
        first = at.value
        totals = _variables(b, v, v.lanes)
        last = b.sub(n, I64(1))
        rows = [b.gep(x, [b.mul(_smaller(b, b.add(first, I64(r)), last), stride)]) for r in range(v.lanes)]
        with steps(0, Int(b, columns), v.lanes) as column:
            j = column.value
            mask = v.within(b.sub(columns, j))
            weights = v.load(b.gep(w, [j]), mask)
            for row, total in zip(rows, totals, strict=True):
                b.store(v.fma(v.load(b.gep(row, [j]), mask), weights, b.load(total)), total)
        v.store(v.sums([b.load(t) for t in totals]), b.gep(out, [first]), v.within(b.sub(n, first)))


GROUP = 4
"""Vectors of columns that are accumulated at once: as many as hide the latency of their sums."""


def _add_rows(builder: ir.IRBuilder, v: Vectors, out: Any, x: Any, w: Any, n: Any, columns: Any, stride: Any) -> None:
    b = builder
    with steps(0, Int(b, columns), v.lanes * GROUP) as column:
        places = [b.add(column.value, I64(v.lanes * g)) for g in range(GROUP)]
        masks = [v.within(b.sub(columns, place)) for place in places]
        totals = _variables(b, v, GROUP)
        with steps(0, Int(b, n), 1) as line:
            row = b.gep(x, [b.mul(line.value, stride)])
            weight = v.broadcast(b.load(b.gep(w, [line.value])))
            for place, mask, total in zip(places, masks, totals, strict=True):
                b.store(v.fma(v.load(b.gep(row, [place]), mask), weight, b.load(total)), total)
        for place, mask, total in zip(places, masks, totals, strict=True):
            to = b.gep(out, [place])
            v.store(b.fadd(v.load(to, mask), b.load(total)), to, mask)


def _routine(write: Any, element: Float) -> Builtin:
    """`f(out, out_at, x, x_at, w, w_at, n, columns, stride)` on pointers and places in them, in elements."""

    @builtin(Pointer, int64, Pointer, int64, Pointer, int64, int64, int64, int64)
    def routine(
        builder: ir.IRBuilder,
        out: Value,
        out_at: Any,
        x: Value,
        x_at: Any,
        w: Value,
        w_at: Any,
        n: Any,
        columns: Any,
        stride: Any,
    ) -> None:
        at = [builder.gep(p.llvm, [place]) for p, place in ((out, out_at), (x, x_at), (w, w_at))]
        write(builder, Vectors(builder, element.llvm), *at, n, columns, stride)

    return routine


dot_rows_f32, dot_rows_f64 = _routine(_dot_rows, float32), _routine(_dot_rows, float64)
"""out[l] = sum over j of x[l * stride + j] * w[j], for l < n and j < columns."""
add_rows_f32, add_rows_f64 = _routine(_add_rows, float32), _routine(_add_rows, float64)
"""out[j] += sum over l < n of x[l * stride + j] * w[l], for j < columns."""
