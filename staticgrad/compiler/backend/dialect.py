"""The dialect of kernels: the names that generated files and the routines in `kernels/` import.

A kernel is `def name(buffers, sizes, start, stop)` under `@kernel`: `buffers` holds addresses, `sizes` int64
arguments, and `[start, stop)` is the range of outer iterations to run. `f32_at(buffers, 2)` is buffer 2 as a typed
pointer. Pointers of different numbers never overlap where one is written (the plan guarantees it). Functions under `@inline`
become part of the kernels that call them, those under `@outlined` stay functions.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
from llvmlite import ir

from . import kernel_types as types
from .kernel_compiler import inline, kernel, outlined  # noqa: F401 - names of kernels
from .kernel_types import Builtin, Operand, Pointer, Type, Value, builtin

u8, u16, u32, u64, i8, i16, i32, i64 = np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64
f32, f64, c64, c128 = np.float32, np.float64, np.complex64, np.complex128
masked = range
"""A range whose last vector has idle lanes; see `kernel_compiler.hint`."""


def _reader(element: Type) -> Builtin:
    @builtin(types.BUFFERS, int)
    def read(builder: ir.IRBuilder, buffers: Any, number: int) -> Operand:
        kind = Pointer(element, number)
        place = builder.load(builder.gep(buffers, [types.I64(number)]))
        return Value(kind, builder.bitcast(place, kind.llvm))

    return read


f32_at, f64_at = _reader(types.float32), _reader(types.float64)
f16_at, bf16_at = _reader(types.float16), _reader(types.bfloat16)
u8_at, u16_at, u32_at, u64_at = map(_reader, (types.uint8, types.uint16, types.uint32, types.uint64))
i8_at = _reader(types.int8)
i16_at, i32_at, i64_at = _reader(types.int16), _reader(types.int32), _reader(types.int64)
c64_at, c128_at = _reader(types.complex64), _reader(types.complex128)
bool_at = u8_at  # NumPy keeps booleans in bytes


def _rounding(half: types.Half) -> Builtin:
    @builtin(None)
    def nearest(builder: ir.IRBuilder, x: Any) -> Operand:
        value = types.cast(builder, x, types.float32)
        if half.holds(value):
            return value
        return Value(types.float32, half.widened(builder, half.rounded(builder, value.llvm)), half)

    return nearest


f16, bf16 = _rounding(types.float16), _rounding(types.bfloat16)


def _part(whole: types.Complex, number: int) -> Builtin:
    @builtin(whole)
    def part(builder: ir.IRBuilder, x: Any) -> Operand:
        return Value(whole.part, builder.extract_value(x, number))

    return part


def _whole(whole: types.Complex) -> Builtin:
    @builtin(whole.part, whole.part)
    def joined(builder: ir.IRBuilder, *parts: Any) -> Operand:
        return Value(whole, whole.joined(builder, parts))

    return joined


real_c64, real_c128 = _part(types.complex64, 0), _part(types.complex128, 0)
imag_c64, imag_c128 = _part(types.complex64, 1), _part(types.complex128, 1)
complex_f32, complex_f64 = _whole(types.complex64), _whole(types.complex128)


# Of numbers of any kind, for kernels that are written once for all types.


@builtin(None)
def real_part(builder: ir.IRBuilder, x: Any) -> Operand:
    return Value(x.type.part, builder.extract_value(x.llvm, 0)) if isinstance(x.type, types.Complex) else x


@builtin(None)
def conjugate(builder: ir.IRBuilder, x: Any) -> Operand:
    if not isinstance(x.type, types.Complex):
        return x
    re, im = x.type.taken(builder, x.llvm)
    return Value(x.type, x.type.joined(builder, [re, builder.fneg(im)]))


@builtin(None)
def reach(builder: ir.IRBuilder, x: Any) -> Operand:
    """|x|, or the sum of both parts' sizes: that by which LAPACK chooses pivots."""
    if not isinstance(x.type, types.Complex):
        return types.magnitude(builder, x)
    sizes = [types.magnitude(builder, Value(x.type.part, part)) for part in x.type.taken(builder, x.llvm)]
    return types.binary(builder, ast.Add, *sizes)


@builtin(None, None)
def quotient(builder: ir.IRBuilder, x: Any, y: Any) -> Operand:
    """x / y, without Numba's error for a complex 0."""
    return types.binary(builder, ast.Div, x, y)


def _step(instruction: str, number: Type, *flags: str) -> Builtin:
    """One step of a sum or product. The order of the steps is free, so that a loop of them is vectorized."""

    @builtin(number, number)
    def step(builder: ir.IRBuilder, total: Any, x: Any) -> Operand:
        return Value(number, getattr(builder, instruction)(total, x, flags=("reassoc", *flags)))

    return step


plus_f32, plus_f64 = [_step("fadd", number, "nsz", "contract") for number in (types.float32, types.float64)]
times_f32, times_f64 = [_step("fmul", number) for number in (types.float32, types.float64)]


def _choice(name: str, relation: str) -> Builtin:
    return Builtin(name, (None, None), lambda builder, x, y: types.choice(builder, relation, x, y))


min, max = _choice("min", "<"), _choice("max", ">")


LINKED: dict[str, tuple[str, ...]] = {}
"""By symbol, the LLVM code of functions of the user's, and of those that they call."""
ELEMENTARY = "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh erf pow".replace(" ", "|")
MATH = re.compile(rf'@"?(?:llvm\.({ELEMENTARY})\.(f32|f64)|({ELEMENTARY})(f?))"?(?=\()')
"""A call of a function of C's, or of LLVM's for it."""


def linked(symbol: str, result: Any, operands: tuple[Any, ...], code: str) -> Builtin:
    """A function of the user's, by its LLVM code, with NumPy's types of its result and operands. It is inlined, and elementary
    functions become those of kernels, so that loops around it are vectorized."""
    from . import elementary

    module = ir.Module(symbol)

    def own(call: re.Match[str]) -> str:
        name = f"{call[1]}_{call[2]}" if call[1] else f"{call[3]}_{'f32' if call[4] else 'f64'}"
        function = getattr(elementary, name)
        called = f"staticgrad_inlined_{name}"
        if called not in module.globals:
            kinds = [kind.llvm for kind in function.operands]
            made = ir.Function(module, ir.FunctionType(kinds[0], kinds), called)
            made.linkage = "linkonce_odr"
            made.attributes.add("alwaysinline")
            builder = ir.IRBuilder(made.append_basic_block())
            builder.ret(function.write(builder, *made.args).llvm)
        return f"@{called}"

    code = re.sub(rf"(?m)^define ([^\n]*@{symbol}\([^\n]*?)((?: #\d+)? \{{)$", r"define linkonce_odr \1 alwaysinline\2", code)
    LINKED[symbol] = MATH.sub(own, code), str(module)
    kinds, out = [types.OF_NUMPY[kind] for kind in operands], types.OF_NUMPY[result]

    def write(builder: ir.IRBuilder, *given: Any) -> Operand:
        found = builder.module.globals.get(symbol)
        if found is None:
            found = ir.Function(builder.module, ir.FunctionType(out.llvm, [kind.llvm for kind in kinds]), symbol)
        return Value(out, builder.call(found, given))

    return Builtin(symbol, tuple(kinds), write, "")


# Small functions of kernels; the transcendental ones are in `elementary`.


def relu_f32(x: Any) -> Any:
    return f32(0) if x <= f32(0) else x  # NaN is not <= 0, so it stays


def relu_f64(x: Any) -> Any:
    return f64(0) if x <= f64(0) else x


def relu_int(x: Any) -> Any:
    return 0 if x <= 0 else x


def sign_f32(x: Any) -> Any:
    return f32(1) if x > f32(0) else (f32(-1) if x < f32(0) else f32(0))


def sign_f64(x: Any) -> Any:
    return f64(1) if x > f64(0) else (f64(-1) if x < f64(0) else f64(0))


def sign_int(x: Any) -> Any:
    return 1 if x > 0 else (-1 if x < 0 else 0)


def plus_c64(total: Any, x: Any) -> Any:
    return total + x


def plus_c128(total: Any, x: Any) -> Any:
    return total + x


def plus_int(total: Any, x: Any) -> Any:
    return total + x


def times_int(total: Any, x: Any) -> Any:
    return total * x


def maximum_int(x: Any, y: Any) -> Any:
    return x if x > y else y


def minimum_int(x: Any, y: Any) -> Any:
    return x if x < y else y


def maximum_bool(x: Any, y: Any) -> Any:
    return x | y


def minimum_bool(x: Any, y: Any) -> Any:
    return x & y
