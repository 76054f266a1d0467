"""Matrix products C = alpha op(A) op(B) + E from tiles kept in registers: EIGHT rows of one or two vectors, one broadcast
of A a step; BLAS computes the rows or columns beside whole tiles, where it is good at that.

For the sizes of small and medium networks this beats BLAS, which packs both operands before it computes: A is read in place,
transposed or not, and so is B unless it is stored transposed. Addresses are plain integers.

sizes: number of products, chunks, then for each product: transpose A, transpose B, m, n, k, lda, ldb, ldc, batches, the bits
of alpha (float64), lde (-1: nothing is added, 0: one row for all), across, then for each batch the offsets of A, B, C and E
in elements. buffers: for each product A, B, C, E. E is C, or shares nothing with it. The range of one product is over rows of
C for a single batch, or columns if it is cut across, else over batches; that of several over chunks, each of which takes its
share of every product.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from llvmlite import ir

from .blas_calls import gemm
from .llvm import EIGHT, I32, I64, Int, _place, _transposed_block, call, call_one_of, function, spread, steps, where

BYTES = 64
"""Bytes of a vector."""
DEPTH = 256
"""Steps of a product done at a time: a panel of B of this height and two vectors' width stays in the L1 cache."""
NEAR = 131072
"""Elements of A that stay in the L2 cache while all of B passes by."""
FOR_BLAS = range(1000, 600_000)
"""The numbers of multiplications up to which OpenBLAS reads its operands in place, and from which a call pays."""
FIRST, FORM = 2, 12
"""The position of the first product in the sizes, and the number of its sizes before the offsets of its batches."""


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


def _tile(of: Elements, wide: int, edge: bool, builder: Any, rows: Int, columns: Int, count: Int, *operands: Any) -> None:
    """EIGHT rows of `wide` vectors over `count` steps, with B as it is.

    At an edge there are `rows` <= EIGHT, and those beyond are the last one done again: all of E is read before C is written.
    `columns` may be fewer too.
    """
    p, contract = Product(*operands), ("contract",)
    numbers = [Int(builder, I64(r)) for r in range(EIGHT)]
    if edge:
        numbers = [r.at_most(rows - 1) for r in numbers]
    mask = of.within(columns, of.lanes) if edge else None
    starts = [_place(builder, (p.a + p.a_row * r).value, ir.IntType(8)) for r in numbers]
    zero = ir.Constant(of.vector, [0.0] * of.lanes)
    sums = [builder.alloca(of.vector) for _ in range(EIGHT * wide)]
    for place in sums:
        builder.store(zero, place)
    with steps(0, count, 1) as step:
        row, offset = p.b + step * p.b_row, (step * p.a_step).value
        vectors = [of.load(row + BYTES * v, mask) for v in range(wide)]
        for at, start in enumerate(starts):
            scalar = builder.load(builder.bitcast(builder.gep(start, [offset]), of.llvm.as_pointer()))
            for place, vector in zip(sums[at * wide : (at + 1) * wide], vectors, strict=True):
                product = builder.fmul(spread(builder, scalar, of.lanes), vector, flags=contract)
                builder.store(builder.fadd(product, builder.load(place), flags=contract), place)
    factor, adding = spread(builder, p.alpha, of.lanes), p.adds.differs(0).value
    places = [(r, v) for r in numbers for v in range(wide)]
    results = []
    for (r, v), total in zip(places, sums, strict=True):
        other = builder.select(adding, of.load(p.e + p.e_row * r + BYTES * v, mask), zero)
        results.append(builder.fadd(builder.fmul(factor, builder.load(total), flags=contract), other, flags=contract))
    for (r, v), value in zip(places, results, strict=True):
        of.store(value, p.c + p.c_row * r + BYTES * v, mask)


def _panel(of: Elements, builder: Any, turned: Int, count: Int, columns: Int, b: Int, b_row: Int, to: Int, width: Int) -> None:
    """`count` rows of `columns` elements of B, one after another; transposed where B is stored transposed.

    b_row, width: bytes to the next row of B, and of its copy, whose rows may be wider than the columns.
    """
    with where(turned.equals(0)), steps(0, count, 1) as r, steps(0, columns, of.lanes) as j:
        vector = of.load(b + r * b_row + j * of.size, of.within(columns - j, of.lanes))
        of.store(vector, to + r * width + j * of.size)
    with where(turned.differs(0)), steps(0, columns, EIGHT) as j, steps(0, count, EIGHT) as r:
        mask = of.within(count - r, EIGHT)
        numbers = [(j + i).at_most(columns - 1) for i in range(EIGHT)]
        block = [of.load(b + number * b_row + r * of.size, mask) for number in numbers]
        for i, row in enumerate(_transposed_block(builder, block)):
            of.store(row, to + (r + i) * width + j * of.size)


def _rectangle(of: Elements, builder: Any, edge: Int, m: Int, n: Int, k: Int, *operands: Any) -> None:
    """A product by tiles; unless it is at an edge, of whole tiles."""
    p, place = Product(*operands), builder.alloca(ir.ArrayType(ir.IntType(8), DEPTH * 2 * BYTES))
    place.align = BYTES
    room = Int(builder, builder.ptrtoint(place, I64))
    packs = p.tb.differs(0) | ((p.b_row > 1024) & (m >= 64))  # rows far apart share few places of the L1 cache
    block = (Int(builder, I64(NEAR)) // k.at_least(1) // EIGHT * EIGHT).at_least(64)
    breadth = edge.differs(0).choose(Int(builder, I64(of.lanes)), 2 * of.lanes)
    tiles = [partial(_tile, of, 1, True), partial(_tile, of, 2, False), partial(_tile, of, 1, False)]
    with steps(0, m, block) as top, steps(0, n, breadth) as j, steps(0, k.at_least(1), DEPTH) as r:
        columns, count, bottom = (n - j).at_most(breadth), (k - r).at_most(DEPTH), (top + block).at_most(m)
        wide = columns > of.lanes
        width = wide.choose(Int(builder, I64(2 * BYTES)), BYTES)
        part = p.moved(of, top, j)
        source = part.b + p.tb.differs(0).choose(r * of.size, r * p.b_row)
        with where(packs):
            call(builder, f"panel_{of.name}", partial(_panel, of), (p.tb, count, columns, source, p.b_row, room, width))
        begins = r.equals(0)
        part = part._replace(
            a=part.a + r * p.a_step, b=packs.choose(room, source), b_row=packs.choose(width, p.b_row),
            e=begins.choose(part.e, part.c), e_row=begins.choose(p.e_row, p.c_row), adds=begins.choose(p.adds, 1),
        )  # fmt: skip
        with steps(0, bottom - top, EIGHT) as i:
            here = part._replace(a=part.a + p.a_row * i, c=part.c + p.c_row * i, e=part.e + part.e_row * i)
            names = [f"tile_{of.name}_{kind}" for kind in ("edge", "2", "1")]
            which = [edge.differs(0), wide]
            call_one_of(builder, which, names, tiles, ((bottom - top - i).at_most(EIGHT), columns, count, *here))


def _rest(of: Elements, builder: Any, m: Int, n: Int, k: Int, *operands: Any) -> None:
    """The rows or columns that whole tiles leave over."""
    p = Product(*operands)
    work = m * n * k
    small = (work >= FOR_BLAS.start) & ((work < FOR_BLAS.stop) | m.equals(1) | n.equals(1))
    with where(small & (m > 0) & (n > 0)):
        with where(p.adds.differs(0) & p.e.differs(p.c)), steps(0, m, 1) as i, steps(0, n, of.lanes) as j:
            mask = of.within(n - j, of.lanes)
            of.store(of.load(p.e + p.e_row * i + j * of.size, mask), p.c + p.c_row * i + j * of.size, mask)
        lda, ldb, ldc = (distance // of.size for distance in (p.ta.differs(0).choose(p.a_step, p.a_row), p.b_row, p.c_row))
        gemm(of.name, builder, p.tb, p.ta, n, m, k, p.alpha, p.b, ldb, p.a, lda, p.adds, p.c, ldc)
    with where(small.equals(0) & (m > 0) & (n > 0)):
        one = Int(builder, I64(1))
        call(builder, f"rectangle_{of.name}", partial(_rectangle, of), (one, m, n, k, *p))


def _multiply(of: Elements, builder: Any, buffers: Any, sizes: Any, start: Int, stop: Int) -> None:
    """The range of the products whose forms are in `sizes`, see the top of this file."""

    def size(i: Int) -> Int:
        return Int(builder, builder.load(builder.gep(sizes, [i.value])))

    zero, one = Int(builder, I64(0)), Int(builder, I64(1))
    count, chunks, place = size(zero), size(one), builder.alloca(I64)
    builder.store(I64(FIRST), place)
    with steps(zero, count, 1) as product:
        at = Int(builder, builder.load(place))
        ta, tb, rows, columns, k, lda, ldb, ldc, batches, bits, lde, across = (size(at + i) for i in range(FORM))
        alone, whole, turn = count.equals(1), batches.equals(1), across.differs(0)
        span = turn.choose(columns, whole.choose(rows, batches))
        unit = turn.choose(Int(builder, I64(2 * of.lanes)), whole.choose(Int(builder, I64(EIGHT)), one))
        parts = (span + unit - 1) // unit
        begin, end = (alone.choose(c, (parts * c // chunks * unit).at_most(span)) for c in (start, stop))
        pointers = [builder.load(builder.gep(buffers, [(product * 4 + i).value])) for i in range(4)]
        addresses = [Int(builder, builder.ptrtoint(pointer, I64)) for pointer in pointers]
        alpha = builder.bitcast(bits.value, ir.DoubleType())
        if of.size == 4:
            alpha = builder.fptrunc(alpha, of.llvm)
        turned = ta.differs(0)
        p = Product(
            ta, tb, addresses[0], turned.choose(one, lda) * of.size, turned.choose(lda, one) * of.size, addresses[1],
            ldb * of.size, addresses[2], ldc * of.size, addresses[3], lde * of.size, (lde >= 0).choose(one, zero), alpha,
        )  # fmt: skip
        top, left = (turn.choose(zero, whole.choose(begin, zero)), turn.choose(begin, zero))
        m, n = turn.choose(rows, whole.choose(end - begin, rows)), turn.choose(end - begin, columns)
        with steps(whole.choose(zero, begin), whole.choose(one, end), 1) as i:
            x, y, z, w = (size(at + FORM + i * 4 + j) * of.size for j in range(4))
            here = p._replace(a=p.a + x, b=p.b + y, c=p.c + z, e=p.e + w).moved(of, top, left)
            call(builder, f"matrix_{of.name}", partial(_matrix, of), (m, n, k, *here))
        builder.store((at + FORM + batches * 4).value, place)


def _matrix(of: Elements, builder: Any, m: Int, n: Int, k: Int, *operands: Any) -> None:
    """One product of matrices: whole tiles, then the rows below and the columns beside them."""
    p, zero = Product(*operands), Int(builder, I64(0))
    tall, wide = m // EIGHT * EIGHT, n // of.lanes * of.lanes
    tiled = (tall > 0) & (wide > 0)
    tall, wide = tiled.choose(tall, zero), tiled.choose(wide, zero)
    with where(tiled):
        call(builder, f"rectangle_{of.name}", partial(_rectangle, of), (zero, tall, wide, k, *p))
    for top, left, high, broad in ((tall, zero, m - tall, wide), (zero, wide, m, n - wide)):
        call(builder, f"rest_{of.name}", partial(_rest, of), (high, broad, k, *p.moved(of, top, left)))


def module(element: str) -> str:
    """An LLVM module with the kernel `gemm_f32` or `gemm_f64`; see the top of this file."""
    made = ir.Module("gemm")
    pointers = ir.IntType(8).as_pointer().as_pointer(), I64.as_pointer()
    kernel = ir.Function(made, ir.FunctionType(ir.VoidType(), [*pointers, I64, I64]), f"gemm_{element}")
    builder = ir.IRBuilder(kernel.append_basic_block("entry"))
    call(builder, f"multiply_{element}", partial(_multiply, Elements(element)), kernel.args)
    builder.ret_void()
    return str(made)
