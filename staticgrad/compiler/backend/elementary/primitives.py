"""The vocabulary of the elementary functions: arithmetic on a `Real` writes LLVM instructions.

A function such as `exp` is plain Python over `Real`. It runs where a kernel calls it, and leaves a straight line of
instructions: constants rounded to the format at hand, one text for float32 and float64. Nothing here branches, so a loop around
it vectorizes.

The instructions carry no fast-math flag: error-compensated arithmetic needs the order of operations as written.

`fma` is one instruction wherever the CPU has it (x86-64 since 2013, every arm64). Elsewhere LLVM calls the C library's:
right, and slow.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from llvmlite import ir

from ..code_generation import VARIANT
from ..kernel_types import Builtin, Float, Value, float32, float64
from ..llvm import I64, Int, steps, where

SINGLE, DOUBLE, BOOL = ir.FloatType(), ir.DoubleType(), ir.IntType(1)
INF, NAN = float("inf"), float("nan")


class Format(NamedTuple):
    """How the bits of an IEEE 754 binary format are laid out."""

    bits: int
    mantissa: int  # bits stored
    bias: int
    sqrt_half: int  # the bit pattern of sqrt(1/2)

    @property
    def integer(self) -> ir.IntType:
        return ir.IntType(self.bits)

    @property
    def integral(self) -> float:
        """2**mantissa: from here on every number is an integer, and the lowest bit of its pattern counts units."""
        return 2.0**self.mantissa

    @property
    def integral_pattern(self) -> int:
        return (self.bias + self.mantissa) << self.mantissa


FORMATS = {SINGLE: Format(32, 23, 127, 0x3F3504F3), DOUBLE: Format(64, 52, 1023, 0x3FE6A09E667F3BCD)}


class PerFormat(NamedTuple):
    """A constant, or a table of coefficients from the highest power down, that differs between the formats."""

    single: Any
    double: Any


class Real:
    """A floating-point value in the code being written.

    Constants met in arithmetic (numbers, or a `PerFormat`) are rounded to its format. Comparisons are false where an
    operand is NaN.
    """

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value):
        self.builder, self.value = builder, value

    @property
    def format(self) -> Format:
        return FORMATS[self.value.type]

    def pick(self, constant: Any) -> Any:
        """The entry of a `PerFormat` for this value's format; anything else as it is."""
        if isinstance(constant, PerFormat):
            return constant.single if self.value.type == SINGLE else constant.double
        return constant

    def like(self, other: Any) -> Real:
        """`other` as a Real of this value's format."""
        if isinstance(other, Real):
            return other
        number = float(self.pick(other))
        rounded = float(np.float32(number)) if self.value.type == SINGLE else number
        return Real(self.builder, ir.Constant(self.value.type, rounded))

    def __add__(self, other: Any) -> Real:
        return Real(self.builder, self.builder.fadd(self.value, self.like(other).value))

    def __sub__(self, other: Any) -> Real:
        return Real(self.builder, self.builder.fsub(self.value, self.like(other).value))

    def __mul__(self, other: Any) -> Real:
        return Real(self.builder, self.builder.fmul(self.value, self.like(other).value))

    def __truediv__(self, other: Any) -> Real:
        return Real(self.builder, self.builder.fdiv(self.value, self.like(other).value))

    def __radd__(self, other: Any) -> Real:
        return self.like(other) + self

    def __rsub__(self, other: Any) -> Real:
        return self.like(other) - self

    def __rmul__(self, other: Any) -> Real:
        return self.like(other) * self

    def __rtruediv__(self, other: Any) -> Real:
        return self.like(other) / self

    def __neg__(self) -> Real:
        return Real(self.builder, self.builder.fneg(self.value))

    def __abs__(self) -> Real:
        return self.call("llvm.fabs")

    def __lt__(self, other: Any) -> Int:
        return self.compare("<", other)

    def __gt__(self, other: Any) -> Int:
        return self.compare(">", other)

    def equals(self, other: Any) -> Int:
        return self.compare("==", other)

    def compare(self, relation: str, other: Any) -> Int:
        return Int(self.builder, self.builder.fcmp_ordered(relation, self.value, self.like(other).value))

    def call(self, name: str, *others: Any) -> Real:
        """The LLVM intrinsic `name`, whose operands and result share this value's format."""
        operands = [self.value, *(self.like(o).value for o in others)]
        signature = ir.FunctionType(self.value.type, [v.type for v in operands])
        function = self.builder.module.declare_intrinsic(name, [self.value.type], signature)
        return Real(self.builder, self.builder.call(function, operands))

    def pattern(self) -> ir.Value:
        """The bits, as an integer of the same width."""
        return self.builder.bitcast(self.value, self.format.integer)

    def of_pattern(self, bits: ir.Value) -> Real:
        """The number of this format whose bits these are."""
        return Real(self.builder, self.builder.bitcast(bits, self.value.type))


Text = TypeVar("Text", bound=Callable[..., "Real"])

WRITTEN: list[Callable[..., Real]] = []
"""The texts of the functions that kernels call."""


def elementary(write: Text) -> Text:
    """Make the text a function of kernels: `exp` is `exp_f32` and `exp_f64` there."""
    WRITTEN.append(write)
    return write


@elementary
def fma(x: Real, y: Any, z: Any) -> Real:
    """x * y + z, rounded once."""
    return x.call("llvm.fma", y, z)


def horner(x: Real, coefficients: Any) -> Real:
    """The polynomial in x with these coefficients, from the highest power down."""
    first, *rest = x.pick(coefficients)
    total = x.like(first)
    for c in rest:
        total = fma(total, x, c)
    return total


def polynomial(x: Real, coefficients: Any) -> Real:
    """The same for long ones: Horner's scheme in x**2, whose coefficients are pairs c x + d.

    Each step waits for the one before it, and a CPU holds a few iterations of a loop at a time; this halves the number of
    steps for one product more.
    """
    numbers = x.pick(coefficients)
    if len(numbers) < LONG_POLYNOMIAL:
        return horner(x, coefficients)
    first = 1 + (len(numbers) - 1) % 2
    total, square = horner(x, numbers[:first]), x * x
    for c, d in zip(numbers[first::2], numbers[first + 1 :: 2], strict=True):
        total = fma(total, square, fma(x.like(c), x, d))
    return total


LONG_POLYNOMIAL = 8
"""Coefficients."""


def rint(x: Real) -> Real:
    """x rounded to the nearest integer, ties to even."""
    return x.call("llvm.rint")


def select(condition: Int, yes: Any, no: Any) -> Real:
    """`yes` where the condition holds, else `no`; both are computed, and one at least is a Real."""
    yes, no = (no.like(yes), no) if isinstance(no, Real) else (yes, yes.like(no))
    return Real(condition.builder, condition.builder.select(condition.value, yes.value, no.value))


def at_least(x: Real, low: Any) -> Real:
    """The larger of the two; NaN stays NaN."""
    return select(x < low, low, x)


def at_most(x: Real, high: Any) -> Real:
    """The smaller of the two; NaN stays NaN."""
    return select(x > high, high, x)


def clamp(x: Real, low: Any, high: Any) -> Real:
    """x moved into [low, high]; NaN stays NaN."""
    return at_most(at_least(x, low), high)


@elementary
def copysign(magnitude: Real, sign: Real) -> Real:
    """`magnitude` with the sign bit of `sign`."""
    return magnitude.call("llvm.copysign", sign)


def flip_sign(x: Real, by: Real) -> Real:
    """-x where the sign bit of `by` is set, else x."""
    sign = x.builder.and_(by.pattern(), x.format.integer(1 << (x.format.bits - 1)))
    return x.of_pattern(x.builder.xor(x.pattern(), sign))


def low_bits(n: Real, plus: int = 0) -> ir.Value:
    """An integer whose lowest bits are those of n + plus in two's complement, for an integral n.

    The sum with 1.5 * 2**mantissa ends in the unit bit. A conversion would do as well, but AVX2 has none from float64.
    """
    return (n + (1.5 * n.format.integral + plus)).pattern()


def power_of_two(n: Real) -> Real:
    """2**n for an integral n in [1 - bias, bias]; 0 for n = -bias, inf for n = bias + 1."""
    f = n.format
    return n.of_pattern(n.builder.shl(low_bits(n, plus=f.bias), f.integer(f.mantissa)))


def scale(x: Real, n: Real) -> Real:
    """x * 2**n by two factors, because 2**n may be outside the format; for |x| near 1 only the last product is rounded."""
    half = rint(n * 0.5)
    return x * power_of_two(half) * power_of_two(n - half)


def is_odd(n: Real) -> Int:
    """Whether an integral n is odd."""
    return Int(n.builder, n.builder.trunc(low_bits(n), BOOL))


def negate_by_bit_one(x: Real, n: Real) -> Real:
    """-x where n mod 4 is 2 or 3, else x, for an integral n."""
    b, f = x.builder, x.format
    bit = b.and_(low_bits(n), f.integer(2))
    return x.of_pattern(b.xor(x.pattern(), b.shl(bit, f.integer(f.bits - 2))))


def split_exponent(x: Real) -> tuple[Real, Real]:
    """(k, m) with x = m * 2**k, k integral, sqrt(1/2) <= m < sqrt(2), for a positive normal x."""
    b, f = x.builder, x.format
    # The exponent field counts from sqrt(1/2) instead of 1.
    shifted = b.add(x.pattern(), f.integer((f.bias << f.mantissa) - f.sqrt_half))
    field = b.lshr(shifted, f.integer(f.mantissa))
    k = x.of_pattern(b.or_(field, f.integer(f.integral_pattern))) - (f.integral + f.bias)
    fraction = b.and_(shifted, f.integer((1 << f.mantissa) - 1))
    return k, x.of_pattern(b.add(fraction, f.integer(f.sqrt_half)))


def split_any_exponent(x: Real) -> tuple[Real, Real]:
    """`split_exponent` for any positive x: a subnormal one is scaled up first."""
    f = x.format
    up = f.mantissa + 1.0
    subnormal = x < 2.0 ** (1 - f.bias)
    k, m = split_exponent(select(subnormal, x * 2.0**up, x))
    return select(subnormal, k - up, k), m


def widen(x: Real) -> Real:
    """float32 to float64."""
    return Real(x.builder, x.builder.fpext(x.value, DOUBLE))


def narrow(x: Real) -> Real:
    """float64 to float32, rounded to nearest."""
    return Real(x.builder, x.builder.fptrunc(x.value, SINGLE))


def define(write: Callable[..., Real]) -> list[Builtin]:
    """The float32 and the float64 function of a text over Real, for compiled code."""
    return [_builtin(write, number) for number in (float32, float64)]


def _builtin(write: Callable[..., Real], number: Float) -> Builtin:
    def written(builder: ir.IRBuilder, *operands: Any) -> Value:
        return Value(number, write(*(Real(builder, x) for x in operands)).value)

    operands = (number,) * len(inspect.signature(write).parameters)
    return Builtin(f"{write.__name__}_{number}", operands, written, write.__doc__)


# arguments that are rare and take long: functions beside the straight line --------------------------------------------

# A branch would keep LLVM from vectorizing the loop around it. A call does not, if its function has variants for
# vectors (LLVM Language Reference, "vector-function-abi-variant"). A variant looks whether any argument is rare.
# `lang.kernel` inlines it once loops are vectorized: what stays in the loop is a comparison, and a branch that is not
# taken.
#
# What is called then is a function of the kernel's module, written once.

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
