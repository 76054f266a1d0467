"""Integers, loops, functions and vectors for LLVM code that is written by hand, so that it reads much like Python.

It is for code that Python generates: one text for several types and widths, code that a loop in Python repeats, vectors. Code
with `while`, `break`, early returns or short-circuit `and`, which are hard to read as calls of a builder, is written in the
language of `kernel_compiler.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from llvmlite import ir

from .cpu import BYTES, REGISTERS
from .kernel_types import Builtin, Pointer, int64

BYTE, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)

Write = Callable[..., None]


class Int:
    """An int64, or a truth value, of the code being written. Divisions are those of non-negative numbers."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: Any):
        self.builder, self.value = builder, value

    def _with(self, operation: Callable[..., Any], *operands: Any) -> Int:
        return Int(self.builder, operation(*(self._value(x) for x in operands)))

    def _value(self, x: Any) -> Any:
        return x.value if isinstance(x, Int) else ir.Constant(self.value.type, x)

    def __add__(self, other: Int | int) -> Int:
        return self._with(self.builder.add, self, other)

    def __sub__(self, other: Int | int) -> Int:
        return self._with(self.builder.sub, self, other)

    def __mul__(self, other: Int | int) -> Int:
        return self._with(self.builder.mul, self, other)

    def __floordiv__(self, other: Int | int) -> Int:
        return self._with(self.builder.udiv, self, other)

    def __and__(self, other: Int) -> Int:
        return self._with(self.builder.and_, self, other)

    def __or__(self, other: Int) -> Int:
        return self._with(self.builder.or_, self, other)

    def __invert__(self) -> Int:
        return self._with(self.builder.not_, self)

    def __lt__(self, other: Int | int) -> Int:
        return self._compared("<", other)

    def __le__(self, other: Int | int) -> Int:
        return self._compared("<=", other)

    def __gt__(self, other: Int | int) -> Int:
        return self._compared(">", other)

    def __ge__(self, other: Int | int) -> Int:
        return self._compared(">=", other)

    def equals(self, other: Int | int) -> Int:
        return self._compared("==", other)

    def differs(self, other: Int | int) -> Int:
        return self._compared("!=", other)

    def _compared(self, how: str, other: Int | int) -> Int:
        return Int(self.builder, self.builder.icmp_signed(how, self.value, self._value(other)))

    def choose(self, yes: Int | int, no: Int | int) -> Int:
        """`yes` where this truth value holds, else `no`."""
        of = yes if isinstance(yes, Int) else no
        assert isinstance(of, Int)
        return Int(self.builder, self.builder.select(self.value, of._value(yes), of._value(no)))

    def at_most(self, other: Int | int) -> Int:
        return (self < other).choose(self, other)

    def at_least(self, other: Int | int) -> Int:
        return (self > other).choose(self, other)

    def place(self, llvm: Any) -> Any:
        """The pointer to a value of this type at the address."""
        return self.builder.inttoptr(self.value, llvm.as_pointer())

    def word(self) -> Int:
        """The int64 at the address."""
        return self._with(self.builder.load, Int(self.builder, self.place(I64)))


@contextmanager
def steps(start: Int | int, stop: Int, step: Int | int) -> Iterator[Int]:
    """`for i in range(start, stop, step)`, for a positive step."""
    builder = stop.builder
    before, head = builder.block, builder.append_basic_block("head")
    body, after = builder.append_basic_block("body"), builder.append_basic_block("after")
    builder.branch(head)
    builder.position_at_end(head)
    i = builder.phi(I64)
    i.add_incoming(stop._value(start), before)
    builder.cbranch(builder.icmp_signed("<", i, stop.value), body, after)
    builder.position_at_end(body)
    yield Int(builder, i)
    i.add_incoming(builder.add(i, stop._value(step)), builder.block)
    builder.branch(head)
    builder.position_at_end(after)


def folded(count: Int, start: Sequence[Any], body: Callable[..., Sequence[Any]]) -> list[Any]:
    """`body(step, values) -> values` for each step below `count`: the last values, `start` where there is no step."""
    builder = count.builder
    before, phis = builder.block, []
    with steps(0, count, 1) as step:
        inner = builder.block
        builder.position_at_start(step.value.parent)
        for value in start:
            phis.append(builder.phi(value.type))
            phis[-1].add_incoming(value, before)
        builder.position_at_end(inner)
        for phi, value in zip(phis, body(step, phis), strict=True):
            phi.add_incoming(value, builder.block)
    return phis


@contextmanager
def where(condition: Int) -> Iterator[None]:
    """`if condition:`"""
    with condition.builder.if_then(condition.value):
        yield


def function(builder: ir.IRBuilder, name: str, kind: ir.FunctionType) -> ir.Function:
    """A function of this module by its name."""
    found = builder.module.globals.get(name)
    return ir.Function(builder.module, kind, name) if found is None else found


def letter(condition: Int, yes: str, no: str) -> Any:
    """An option of a routine of BLAS or LAPACK."""
    return condition.builder.select(condition.differs(0).value, ir.Constant(BYTE, ord(yes)), ir.Constant(BYTE, ord(no)))


def fortran(builder: ir.IRBuilder, name: str, *operands: Any) -> None:
    """Call a routine of Fortran's, which takes the addresses of its operands: of letters, of integers (32 bits of an `Int`), of
    numbers. Pointers are passed as they are. The lengths of letters, which Fortran's compiler passes as well, come last."""
    given: list[Any] = []
    for operand in operands:
        value = builder.trunc(operand.value, I32) if isinstance(operand, Int) else operand
        if not isinstance(value.type, ir.PointerType):
            with builder.goto_entry_block():
                place = builder.alloca(value.type)
            builder.store(value, place)
            value = place
        given.append(value)
    given += [I64(1) for operand in operands if not isinstance(operand, Int) and operand.type == BYTE]
    builder.call(function(builder, name, ir.FunctionType(ir.VoidType(), [x.type for x in given])), given)


def call(builder: ir.IRBuilder, name: str, write: Write, operands: Sequence[Any]) -> None:
    """Call a function of this module, which `write(builder, *arguments)` writes when it is first called."""
    values = [x.value if isinstance(x, Int) else x for x in operands]
    builder.call(_written(builder, name, write, values), values)


def call_one_of(
    builder: ir.IRBuilder, conditions: Sequence[Int], names: Sequence[str], writes: Sequence[Write], operands: Sequence[Any]
) -> None:
    """Call the function of the first condition that holds, or else the last one."""
    values = [x.value if isinstance(x, Int) else x for x in operands]
    *functions, chosen = (_written(builder, name, write, values) for name, write in zip(names, writes, strict=True))
    for condition, other in zip(reversed(conditions), reversed(functions), strict=True):
        chosen = builder.select(condition.value, other, chosen)
    builder.call(chosen, values)


def call_shared(builder: ir.IRBuilder, name: str, words: Sequence[Int]) -> None:
    """Call a function of words that is compiled by itself, see `kernel_cache.SHARED`."""
    kind = ir.FunctionType(I64, [I64] * len(words))
    builder.call(function(builder, name, kind), [word.value for word in words])


def _written(builder: ir.IRBuilder, name: str, write: Write, values: Sequence[Any]) -> ir.Function:
    made = function(builder, name, ir.FunctionType(ir.VoidType(), [v.type for v in values]))
    if made.is_declaration:
        made.linkage = "internal"
        made.attributes.add("noinline")
        inner = ir.IRBuilder(made.append_basic_block("entry"))
        write(inner, *(Int(inner, arg) if arg.type == I64 else arg for arg in made.args))
        inner.ret_void()
    return made


# vectors in LLVM code that is written by hand, and the routines of kernels that are written with them ----------------

# See `llvm.py`. Addresses are plain integers.

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
