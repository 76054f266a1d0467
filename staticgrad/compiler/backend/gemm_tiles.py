"""Tiles of matrix products, which stay in registers: EIGHT rows of one or two vectors, one broadcast of A a step; and the
panels of operands that are copied for them. Addresses are plain integers."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

from llvmlite import ir

from .gemm_form import BYTES
from .llvm import EIGHT, I32, I64, Int, _place, _transposed_block, function, spread, steps, where
from .object_code import cpu_has


class Elements:
    """The elements of vectors."""

    def __init__(self, name: str):
        self.name = name
        self.llvm, self.size = (ir.FloatType(), 4) if name == "f32" else (ir.DoubleType(), 8)
        self.lanes = BYTES // self.size
        self.vector = ir.VectorType(self.llvm, self.lanes)

    def within(self, count: Int, lanes: int) -> Any:
        """A mask of the lanes below `count`, which may be anything."""
        b, numbers = count.builder, ir.Constant(ir.VectorType(I64, lanes), list(range(lanes)))
        return b.icmp_signed("<", numbers, spread(b, count.value, lanes))

    def load(self, address: Int, mask: Any = None) -> Any:
        """A vector, or the lanes under the mask and 0 elsewhere."""
        b, vector = address.builder, self.vector if mask is None else ir.VectorType(self.llvm, mask.type.count)
        place = _place(b, address.value, vector)
        if mask is None:
            value = b.load(place)
            value.align = self.size
            return value
        operands = [place, I32(self.size), mask, ir.Constant(vector, [0.0] * vector.count)]
        kind = ir.FunctionType(vector, [x.type for x in operands])
        return b.call(function(b, f"llvm.masked.load.v{vector.count}f{8 * self.size}.p0", kind), operands)

    def store(self, value: Any, address: Int, mask: Any = None) -> None:
        """Store a vector, or the lanes under the mask."""
        b, place = address.builder, _place(address.builder, address.value, value.type)
        if mask is None:
            b.store(value, place).align = self.size
            return
        operands = [value, place, I32(self.size), mask]
        kind = ir.FunctionType(ir.VoidType(), [x.type for x in operands])
        b.call(function(b, f"llvm.masked.store.v{value.type.count}f{8 * self.size}.p0", kind), operands)


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


def tile(
    of: Elements, wide: int, edge: bool, packed: bool, builder: Any, rows: Int, columns: Int, count: Int, *operands: Any
) -> None:
    """EIGHT rows of `wide` vectors over `count` steps.

    At an edge there are `rows` <= EIGHT, and those beyond are the last one done again: all of E is read before C is written.
    `columns` may be fewer too. packed: A and B are panels, A of EIGHT rows, B of two vectors' width.
    """
    p, contract = Product(*operands), ("contract",)
    if packed:
        row, step, panel_row = (Int(builder, I64(distance)) for distance in (of.size, EIGHT * of.size, 2 * BYTES))
        p = p._replace(a_row=row, a_step=step, b_row=panel_row)
    numbers = [Int(builder, I64(r)) for r in range(EIGHT)]
    if edge:
        numbers = [r.at_most(rows - 1) for r in numbers]
    masks = [of.within(columns - v * of.lanes, of.lanes) if edge else None for v in range(wide)]
    starts = [_place(builder, (p.a + p.a_row * r).value, ir.IntType(8)) for r in numbers]
    if packed:
        for r, v in product(numbers, range(wide)):
            prefetch(p.c + p.c_row * r + BYTES * v, 1)
    factor, adding = spread(builder, p.alpha, of.lanes), p.adds.differs(0).value
    zero = ir.Constant(of.vector, [0.0] * of.lanes)
    sums = {}

    def write(some: list[tuple[int, int]]) -> None:
        results = []
        for at, v in some:
            other = builder.select(adding, of.load(p.e + p.e_row * numbers[at] + BYTES * v, masks[v]), zero)
            total = builder.fmul(factor, builder.load(sums[at, v]), flags=contract)
            results.append(builder.fadd(total, other, flags=contract))
        for (at, v), value in zip(some, results, strict=True):
            of.store(value, p.c + p.c_row * numbers[at] + BYTES * v, masks[v])

    tall, broad = at_once()
    for left, top in product(range(0, wide, broad), range(0, EIGHT, tall)):
        across, down = range(left, min(left + broad, wide)), range(top, top + tall)
        part = [*product(down, across)]
        for place in part:
            sums[place] = builder.alloca(of.vector)
            builder.store(zero, sums[place])
        with steps(0, count, 1) as step:
            row, offset = p.b + step * p.b_row, (step * p.a_step).value
            vectors = [of.load(row + BYTES * v, masks[v]) for v in across]
            for at in down:
                scalar = builder.load(builder.bitcast(builder.gep(starts[at], [offset]), of.llvm.as_pointer()))
                for v, vector in zip(across, vectors, strict=True):
                    term = builder.fmul(spread(builder, scalar, of.lanes), vector, flags=contract)
                    total = builder.fadd(term, builder.load(sums[at, v]), flags=contract)
                    builder.store(total, sums[at, v])
        if not edge:
            write(part)
    if edge:
        write([*product(range(EIGHT), range(wide))])


def at_once() -> tuple[int, int]:
    """The rows and vectors of a tile whose sums stay in registers: of a whole tile in 32 registers of BYTES; in 16 of half of
    that, a quarter of them, two of B, and one of A."""
    return (EIGHT, 2) if cpu_has("avx512f") else (EIGHT // 2, 1)


def panel(of: Elements, builder: Any, turned: Int, count: Int, columns: Int, b: Int, b_row: Int, to: Int, width: Int) -> None:
    """`count` rows of `columns` elements of B, one after another; transposed where B is stored transposed.

    b_row, width: bytes to the next row of B, and of its copy, whose rows may be wider than the columns.
    """
    with where(turned.equals(0)), steps(0, count, 1) as r, steps(0, columns, of.lanes) as j:
        place = b + r * b_row + j * of.size
        prefetch(place + b_row * EIGHT, 0)
        vector = of.load(place, of.within(columns - j, of.lanes))
        of.store(vector, to + r * width + j * of.size)
    with where(turned.differs(0)), steps(0, columns, EIGHT) as j, steps(0, count, EIGHT) as r:
        mask = of.within(count - r, EIGHT)
        numbers = [(j + i).at_most(columns - 1) for i in range(EIGHT)]
        places = [b + number * b_row + r * of.size for number in numbers]
        for place in places:
            prefetch(place + b_row * EIGHT, 0)
        block = [of.load(place, mask) for place in places]
        for i, row in enumerate(_transposed_block(builder, block)):
            of.store(row, to + (r + i) * width + j * of.size)


def prefetch(address: Int, write: int) -> None:
    """Begin to load a cache line that will be written."""
    b, kind = address.builder, ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), I32, I32, I32])
    operands = [_place(b, address.value, ir.IntType(8)), I32(write), I32(3), I32(1)]
    b.call(function(b, "llvm.prefetch.p0", kind), operands)
