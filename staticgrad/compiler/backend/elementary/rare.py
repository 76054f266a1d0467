"""Arguments that are rare and take long: functions beside the straight line, called where a vector holds such an argument.

A branch would keep LLVM from vectorizing the loop around it. A call does not, if its function has variants for vectors
(LLVM Language Reference, "vector-function-abi-variant"). A variant looks whether any argument is rare. `lang.kernel`
inlines it once loops are vectorized: what stays in the loop is a comparison, and a branch that is not taken.

What is called then is a function of the kernel's module, written once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..code_generation import VARIANT
from ..llvm import I64, Int, steps, where
from .primitives import Real

LANES = (2, 4, 8, 16)
"""Widths of vectors, in elements."""

ALIGNED = 8
"""Bytes at whose multiples arrays on the stack begin."""


def replaced(y: Real, x: Real, limit: float, name: str, write: Callable[[Real], Real]) -> Real:
    """y, but write(x) where x >= limit. `write` and the limit are always the same for a name and a format."""
    module = y.builder.module
    symbol = f"staticgrad_{name}_f{x.format.bits}"
    function = module.globals.get(symbol)
    if function is None:
        function = _function(module, symbol, x.value.type, limit, write)
    return Real(y.builder, y.builder.call(function, [y.value, x.value]))


def _function(module: Any, symbol: str, number: Any, limit: float, write: Callable[[Real], Real]) -> Any:
    """The function of one element, with its variants beside it. Nothing calls those yet: their linkage keeps them."""
    exact, each = _apart(module, symbol, number, limit, write)
    function = _defined(module, symbol, [number, number], number, "linkonce_odr", "noinline", "nounwind", "readnone")
    builder = _where_rare(function, limit)
    builder.ret(builder.call(exact, [function.args[1]]))
    mapped = []
    for n in LANES:
        variant = _variant(module, f"{VARIANT}{symbol}_{n}", ir.VectorType(number, n), each, limit)
        mapped.append(f"_ZGV_LLVM_N{n}vv_{symbol}({variant.name})")
    set.add(function.attributes, f'"vector-function-abi-variant"="{",".join(mapped)}"')  # `add` itself knows no texts
    return function


def _variant(module: Any, name: str, vector: Any, each: Any, limit: float) -> Any:
    function = _defined(module, name, [vector, vector], vector, "weak_odr", "alwaysinline", "nounwind", "readnone")
    builder = _where_rare(function, limit)
    places = []
    for operand in function.args:
        with builder.goto_entry_block():
            place = builder.alloca(vector)
        place.align = ALIGNED  # that of a vector would have the kernel align its stack
        builder.store(operand, place, align=ALIGNED)
        places.append(place)
    builder.call(each, [*(builder.bitcast(place, vector.element.as_pointer()) for place in places), I64(vector.count)])
    builder.ret(builder.load(places[0], align=ALIGNED))
    return function


def _where_rare(function: Any, limit: float) -> Any:
    """Begins a function of (y, x): it returns y unless x, or one of its elements, is rare."""
    y, x = function.args
    usual, rare = (function.append_basic_block() for _ in range(2))
    builder = ir.IRBuilder(function.blocks[0])
    if isinstance(x.type, ir.VectorType):
        flags = builder.fcmp_ordered(">=", x, ir.Constant(x.type, [x.type.element(limit)] * x.type.count))
        bits = ir.IntType(x.type.count)
        found = builder.icmp_unsigned("!=", builder.bitcast(flags, bits), bits(0))
    else:
        found = builder.fcmp_ordered(">=", x, x.type(limit))
    builder.cbranch(found, rare, usual)
    builder.position_at_end(usual)
    builder.ret(y)
    builder.position_at_end(rare)
    return builder


def _defined(module: Any, name: str, operands: list[Any], result: Any, linkage: str, *attributes: str) -> Any:
    function = ir.Function(module, ir.FunctionType(result, operands), name)
    function.linkage = linkage
    for attribute in attributes:
        function.attributes.add(attribute)
    function.append_basic_block()
    return function


def _apart(module: Any, symbol: str, number: Any, limit: float, write: Callable[[Real], Real]) -> tuple[Any, Any]:
    """write(x) of one number, and for arrays y and x of n elements: `y[i] = write(x[i])` where x[i] is rare."""
    rarely = "internal", "noinline", "nounwind", "cold"
    exact = _defined(module, f"{symbol}_exact", [number], number, *rarely, "readnone")
    builder = ir.IRBuilder(exact.blocks[0])
    builder.ret(write(Real(builder, exact.args[0])).value)
    pointer = number.as_pointer()
    each = _defined(module, f"{symbol}_each", [pointer, pointer, I64], ir.VoidType(), *rarely, "argmemonly")
    y, x, n = each.args
    builder = ir.IRBuilder(each.blocks[0])
    with steps(0, Int(builder, n), 1) as i:
        element = builder.load(builder.gep(x, [i.value]))
        with where(Int(builder, builder.fcmp_ordered(">=", element, number(limit)))):
            builder.store(builder.call(exact, [element]), builder.gep(y, [i.value]))
    builder.ret_void()
    return exact, each
