"""Vectors in LLVM code that is written by hand, and the routines of kernels that are written with them; see `llvm.py`.
Addresses are plain integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from llvmlite import ir

from .cpu import BYTES, REGISTERS
from .kernel_types import Builtin, Pointer, int64
from .llvm import I32, Int, call, function

EIGHT = 8
CONTRACT = ("contract",)


def rows_at_once(wide: int) -> int:
    """How many of the EIGHT rows of a tile of `wide` vectors have their sums in registers, beside the vectors and the number by
    which a step multiplies them."""
    return next(rows for rows in (EIGHT, EIGHT // 2) if rows * wide + wide < REGISTERS)


class Elements:
    """Elements of one type in memory: one by one, and in vectors."""

    def __init__(self, kind: Any):
        self.kind, self.name, self.llvm, self.size = kind, kind.name, kind.llvm, kind.bits // 8
        self.lanes = BYTES // self.size
        """Of the CPU's vectors."""
        self.beside = max(self.lanes // EIGHT, 1)

    def zero(self, lanes: int) -> Any:
        return ir.Constant(ir.VectorType(self.llvm, lanes), [0.0] * lanes)

    def within(self, count: Int, lanes: int) -> Any:
        """A mask of the lanes below `count`, which may be anything."""
        b, numbers = count.builder, ir.Constant(ir.VectorType(I32, lanes), list(range(lanes)))
        some = b.trunc(count.at_least(0).at_most(lanes).value, I32)
        return b.icmp_signed("<", numbers, spread(b, some, lanes))

    def one(self, address: Int) -> Any:
        """An element."""
        return address.builder.load(address.place(self.llvm))

    def load(self, address: Int, lanes: int, mask: Any = None) -> Any:
        """A vector, or its lanes under the mask and 0 elsewhere, of which no memory is touched."""
        b, zero = address.builder, self.zero(lanes)
        place = address.place(zero.type)
        if mask is None:
            value = b.load(place)
            value.align = self.size
            return value
        return self._masked(b, "load", zero.type, lanes, [place, I32(self.size), mask, zero])

    def store(self, value: Any, address: Int, mask: Any = None) -> None:
        """Store an element or a vector, or its lanes under the mask."""
        b, place = address.builder, address.place(value.type)
        if mask is None:
            b.store(value, place).align = self.size
        else:
            self._masked(b, "store", ir.VoidType(), value.type.count, [value, place, I32(self.size), mask])

    def _masked(self, b: Any, name: str, result: Any, lanes: int, operands: list[Any]) -> Any:
        kind = ir.FunctionType(result, [x.type for x in operands])
        return b.call(function(b, f"llvm.masked.{name}.v{lanes}f{8 * self.size}.p0", kind), operands)

    def variables(self, builder: Any, count: int) -> list[Any]:
        """Variables for vectors of the CPU, 0 at first. At the entry of a function LLVM finds what registers can hold."""
        zero = self.zero(self.lanes)
        with builder.goto_entry_block():
            places = [builder.alloca(zero.type) for _ in range(count)]
        for place in places:
            builder.store(zero, place)
        return places


def fused(builder: Any, x: Any, y: Any, total: Any) -> Any:
    """x * y + total, which may be rounded once."""
    return builder.fadd(builder.fmul(x, y, flags=CONTRACT), total, flags=CONTRACT)


def shuffled(builder: Any, a: Any, b: Any, lanes: Sequence[int]) -> Any:
    """These lanes of two vectors side by side."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, len(lanes)), list(lanes)))


def spread(builder: Any, scalar: Any, lanes: int) -> Any:
    """A vector of one value."""
    empty = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    return shuffled(builder, builder.insert_element(empty, scalar, I32(0)), empty, [0] * lanes)


def joined(builder: Any, parts: Sequence[Any]) -> Any:
    """One vector of the lanes of a power of two of equal ones."""
    while len(parts) > 1:
        both = range(2 * parts[0].type.count)
        parts = [shuffled(builder, left, right, both) for left, right in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def reduced(builder: Any, vector: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """One element: halves are combined with halves."""
    width = vector.type.count
    while width > 1:
        width //= 2
        low, high = (shuffled(builder, vector, vector, range(first, first + width)) for first in (0, width))
        vector = combine(low, high)
    return builder.extract_element(vector, I32(0))


def transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """n rows of n elements, for a power of two, as columns: blocks of 1, 2, 4, ... elements change places. Rows that are a
    multiple longer hold several such blocks beside each other, each of which is transposed by itself."""
    n, width, lanes = len(rows), 1, rows[0].type.count
    while width < n:
        low = [k + (lanes - width if k & width else 0) for k in range(lanes)]
        high = [k + width for k in low]
        swapped = list(rows)
        for i in range(n):
            if not i & width:
                swapped[i] = shuffled(builder, rows[i], rows[i + width], low)
                swapped[i + width] = shuffled(builder, rows[i], rows[i + width], high)
        rows, width = swapped, 2 * width
    return rows


def routine(write: Callable[..., Any]) -> Builtin:
    """Make a builtin of `write(of, *operands)`. Kernels call it with any pointer to elements of the type `of`, and operands: an
    `Int`, or an `int` that is known while the kernel is compiled, as they are annotated."""
    kinds = tuple(int if kind == "int" else int64 for kind in list(write.__annotations__.values())[1:-1])

    def written(builder: Any, like: Any, *operands: Any) -> Any:
        return write(Elements(like.type.dtype), *(x if isinstance(x, int) else Int(builder, x) for x in operands))

    return Builtin(write.__name__, (Pointer, *kinds), written, write.__doc__)


def apart(write: Callable[..., None]) -> Callable[..., None]:
    """Make a routine a function of its own in each kernel. In it, registers are left for the places of a tile's rows, whatever
    surrounds the call."""

    @wraps(write)
    def called(of: Elements, *operands: Any) -> None:
        values, known = [x for x in operands if isinstance(x, Int)], [x for x in operands if isinstance(x, int)]
        name = "_".join(map(str, (write.__name__, of.size, *known)))
        call(values[0].builder, name, lambda _, *inner: write(of, *inner, *known), values)

    return called
