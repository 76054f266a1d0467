"""Integers, loops, functions and vectors for LLVM code that is written by hand, so that it reads much like Python.

It is for code that Python generates: one text for several types and widths, code that a loop in Python repeats, vectors. Code
with `while`, `break`, early returns or short-circuit `and`, which are hard to read as calls of a builder, is written in the
language of `kernel_compiler.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from .cpu import REGISTERS

I32, I64 = ir.IntType(32), ir.IntType(64)
EIGHT = 8

Write = Callable[..., None]


def rows_at_once(wide: int) -> int:
    """How many of the EIGHT rows of a tile of `wide` vectors have their sums in registers, beside the vectors and the number by
    which a step multiplies them."""
    return next(rows for rows in (EIGHT, EIGHT // 2) if rows * wide + wide < REGISTERS)


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


def folded(builder: ir.IRBuilder, count: Any, start: Sequence[Any], body: Callable[..., Sequence[Any]]) -> list[Any]:
    """`body(step, values) -> values` for each step below `count`: the last values, `start` where there is no step."""
    entry = builder.block
    test, inner, done = (builder.append_basic_block(name) for name in ("test", "body", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    step = builder.phi(I64)
    step.add_incoming(I64(0), entry)
    phis = []
    for value in start:
        phi = builder.phi(value.type)
        phi.add_incoming(value, entry)
        phis.append(phi)
    builder.cbranch(builder.icmp_signed("<", step, count), inner, done)
    builder.position_at_end(inner)
    for phi, value in zip(phis, body(step, phis), strict=True):
        phi.add_incoming(value, builder.block)
    step.add_incoming(builder.add(step, I64(1)), builder.block)
    builder.branch(test)
    builder.position_at_end(done)
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


def _written(builder: ir.IRBuilder, name: str, write: Write, values: Sequence[Any]) -> ir.Function:
    made = function(builder, name, ir.FunctionType(ir.VoidType(), [v.type for v in values]))
    if made.is_declaration:
        made.linkage = "internal"
        made.attributes.add("noinline")
        inner = ir.IRBuilder(made.append_basic_block("entry"))
        write(inner, *(Int(inner, arg) if arg.type == I64 else arg for arg in made.args))
        inner.ret_void()
    return made


def _mask(lanes: list[int]) -> Any:
    return ir.Constant(ir.VectorType(I32, len(lanes)), lanes)


def _shuffle(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(a, b, _mask(lanes))


def spread(builder: Any, scalar: Any, lanes: int) -> Any:
    """A vector of one value."""
    empty = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    return builder.shuffle_vector(builder.insert_element(empty, scalar, I32(0)), empty, _mask([0] * lanes))


def _place(builder: Any, address: Any, llvm: Any) -> Any:
    return builder.inttoptr(address, llvm.as_pointer())


def _transposed_block(builder: Any, rows: list[Any]) -> list[Any]:
    """n rows of n elements, for a power of two, as columns: blocks of 1, 2, 4, ... elements change places. Rows that are a
    multiple longer hold several such blocks beside each other, each of which is transposed by itself."""
    n, width, lanes = len(rows), 1, rows[0].type.count
    while width < n:
        low = [k + (lanes - width if k & width else 0) for k in range(lanes)]
        high = [k + width for k in low]
        swapped = list(rows)
        for i in range(n):
            if not i & width:
                swapped[i] = _shuffle(builder, rows[i], rows[i + width], low)
                swapped[i + width] = _shuffle(builder, rows[i], rows[i + width], high)
        rows, width = swapped, 2 * width
    return rows
