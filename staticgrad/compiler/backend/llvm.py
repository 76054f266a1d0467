"""Integers, loops and functions for LLVM code that is written by hand, so that it reads much like Python; `vectors.py` adds
vectors.

It is for code that Python generates: one text for several types and widths, code that a loop in Python repeats, vectors. Code
with `while`, `break`, early returns or short-circuit `and`, which are hard to read as calls of a builder, is written in the
language of `kernel_compiler.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

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


def _written(builder: ir.IRBuilder, name: str, write: Write, values: Sequence[Any]) -> ir.Function:
    made = function(builder, name, ir.FunctionType(ir.VoidType(), [v.type for v in values]))
    if made.is_declaration:
        made.linkage = "internal"
        made.attributes.add("noinline")
        inner = ir.IRBuilder(made.append_basic_block("entry"))
        write(inner, *(Int(inner, arg) if arg.type == I64 else arg for arg in made.args))
        inner.ret_void()
    return made
