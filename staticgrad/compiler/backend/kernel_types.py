"""Types and values of kernels, and the functions that write LLVM code for them.

`x[i] + 1` in a kernel is a call of `binary` here: it gets a `Value` (a type and LLVM's name) and a number of Python's, which is
known while the kernel is compiled. Arithmetic on integers is in 64 bits, on an integer and a float in float64, on two floats in
the wider one.
"""

from __future__ import annotations

import ast
import operator
import platform
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from .abi import MAX_BUFFERS
from .cpu import ARM, BYTES

I1, I32, I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
CONVERTS = BYTES >= 32 or platform.machine() in ARM
"""Whether the CPU converts float16: CPUs with AVX2 do. Elsewhere LLVM would call a function that need not be there."""


class Type:
    """A type of values. Types are compared by identity."""

    def __init__(self, name: str, llvm: Any):
        self.name, self.llvm = name, llvm

    def __repr__(self) -> str:
        return self.name


class Boolean(Type):
    """A truth value."""


class Integer(Type):
    """An integer of so many bits."""

    def __init__(self, bits: int, signed: bool = True):
        super().__init__(f"{'i' if signed else 'u'}{bits}", ir.IntType(bits))
        self.bits, self.signed = bits, signed


class Float(Type):
    """A float of so many bits."""

    def __init__(self, bits: int):
        super().__init__(f"f{bits}", ir.FloatType() if bits == 32 else ir.DoubleType())
        self.bits = bits


class Half(Type):
    """Memory of a float of 16 bits. Its value is a float32: a load widens it, and a store rounds to the nearest, ties to even.

    exponent: bits of its exponent, 5 of float16 and 8 of bfloat16.
    """

    bits = 16

    def __init__(self, name: str, exponent: int):
        super().__init__(name, ir.IntType(16))
        self.exponent = exponent

    def widened(self, builder: ir.IRBuilder, stored: Any) -> Any:
        """The float32 of 16 bits in memory."""
        if self.exponent == 5 and CONVERTS:
            return builder.fpext(builder.bitcast(stored, ir.HalfType()), float32.llvm)
        word = builder.zext(stored, I32)
        if self.exponent == 8:
            return builder.bitcast(builder.shl(word, I32(16)), float32.llvm)
        size = builder.shl(builder.and_(word, I32(0x7FFF)), I32(13))
        scaled = builder.fmul(builder.bitcast(size, float32.llvm), float32.llvm(2.0**112))  # exact, for subnormal numbers too
        above = builder.icmp_unsigned(">=", size, I32(0x7C00 << 13))
        whole = builder.select(above, builder.or_(size, I32(0x7F800000)), builder.bitcast(scaled, I32))
        return builder.bitcast(builder.or_(whole, builder.shl(builder.and_(word, I32(0x8000)), I32(16))), float32.llvm)

    def holds(self, x: Any) -> bool:
        """Whether it is known to hold a value without a rounding."""
        if x.exact is None and isinstance(x.llvm, ir.Constant) and x.type is float32:
            number = np.float32(x.llvm.constant)
            return bool(number == np.float16(number)) if self.exponent == 5 else not number.view(np.uint32) & 0xFFFF
        return x.exact is self

    def packed(self, builder: ir.IRBuilder, x: Any) -> Any:
        """A float32 that it holds as 16 bits of memory."""
        if self.exponent == 5:
            return self.rounded(builder, x)
        return builder.trunc(builder.lshr(builder.bitcast(x, I32), I32(16)), self.llvm)

    def rounded(self, builder: ir.IRBuilder, x: Any) -> Any:
        """A float32 as 16 bits of memory. NaN stays NaN."""
        if self.exponent == 5 and CONVERTS:
            return builder.bitcast(builder.fptrunc(x, ir.HalfType()), self.llvm)
        word = builder.bitcast(x, I32)
        if self.exponent == 8:
            # The sign takes part in the sum: no number but NaN has a carry into it.
            up = builder.add(builder.add(word, I32(0x7FFF)), builder.and_(builder.lshr(word, I32(16)), I32(1)))
            quiet = builder.or_(builder.and_(word, I32(-(2**31))), I32(0x7FC00000))
            number = builder.select(builder.fcmp_unordered("uno", x, x), quiet, up)
            return builder.trunc(builder.lshr(number, I32(16)), self.llvm)
        sign, size = builder.and_(builder.lshr(word, I32(16)), I32(0x8000)), builder.and_(word, I32(0x7FFFFFFF))
        nan = builder.icmp_unsigned(">", size, I32(0x7F800000))
        odd = builder.and_(builder.lshr(size, I32(13)), I32(1))
        up = builder.add(builder.add(size, I32((1 << 12) - 1)), odd)
        number = builder.lshr(builder.sub(up, I32(112 << 23)), I32(13))
        # Below the normal numbers, the last bit of x + 0.5 is that of float16.
        tiny = builder.fadd(builder.bitcast(size, float32.llvm), float32.llvm(0.5))
        below = builder.icmp_unsigned("<", size, I32(113 << 23))
        number = builder.select(below, builder.sub(builder.bitcast(tiny, I32), I32(126 << 23)), number)
        number = builder.select(builder.icmp_unsigned(">=", size, I32(0x47800000)), I32(0x7C00), number)
        return builder.trunc(builder.or_(sign, builder.select(nan, I32(0x7E00), number)), self.llvm)


class Complex(Type):
    """Two floats side by side in memory, and a value of both. Generated kernels take it apart and put it together, and compute
    with the parts; those that are written once for all types compute with values."""

    def __init__(self, part: Float):
        super().__init__(f"c{2 * part.bits}", ir.LiteralStructType([part.llvm, part.llvm]))
        self.part, self.bits = part, 2 * part.bits

    def joined(self, builder: ir.IRBuilder, parts: Sequence[Any]) -> Any:
        """The value of these parts."""
        first = builder.insert_value(ir.Constant(self.llvm, ir.Undefined), parts[0], 0)
        return builder.insert_value(first, parts[1], 1)

    def taken(self, builder: ir.IRBuilder, whole: Any) -> list[Any]:
        """The parts of a value."""
        return [builder.extract_value(whole, i) for i in range(2)]


class Pointer(Type):
    """The address of elements. scope: the number of the kernel's buffer, -1 for the kernel's other arguments."""

    def __init__(self, dtype: Type, scope: int = -1):
        super().__init__(f"pointer to {dtype}", dtype.llvm.as_pointer())
        self.dtype, self.scope = dtype, scope

    @property
    def size(self) -> int:
        """Bytes of an element."""
        assert isinstance(self.dtype, (Integer, Float, Half, Complex))
        return self.dtype.bits // 8


boolean = Boolean("bool", I1)
int8, int16, int32, int64 = Integer(8), Integer(16), Integer(32), Integer(64)
uint8, uint16, uint32, uint64 = (Integer(bits, signed=False) for bits in (8, 16, 32, 64))
float32, float64 = Float(32), Float(64)
float16, bfloat16 = Half("f16", 5), Half("bf16", 8)
complex64, complex128 = Complex(float32), Complex(float64)
address = Type("address", ir.IntType(8).as_pointer())
BUFFERS, SIZES = Pointer(address), Pointer(int64)

OF_NUMPY: dict[Any, Type] = {
    np.bool_: boolean, np.int8: int8, np.int16: int16, np.int32: int32, np.int64: int64, np.uint8: uint8,
    np.uint16: uint16, np.uint32: uint32, np.uint64: uint64, np.float32: float32, np.float64: float64,
    np.complex64: complex64, np.complex128: complex128,
}  # fmt: skip


class Value:
    """A value that the kernel computes. exact: of a float32, memory of 16 bits that holds it without a rounding."""

    __slots__ = ("exact", "llvm", "type")

    def __init__(self, type: Type, llvm: Any, exact: Half | None = None):
        self.type, self.llvm, self.exact = type, llvm, exact


Operand = Any
"""A Value, a number of Python's, a tuple of operands, or what a name stands for."""


class Refused(Exception):
    """What the language of kernels does not have, in a statement that is not known here."""


class LanguageError(Exception):
    """What the language of kernels does not have, with file and line."""


class Builtin:
    """A function of kernels that writes LLVM code: `write(builder, *operands)`, with operands of these types.

    Of other kinds of operands, None stands for a Value of any type, `Pointer` for a pointer, as a Value too, and `int` for a
    number that is known while the kernel is compiled.
    """

    def __init__(self, name: str, operands: tuple[Any, ...], write: Callable[..., Operand], doc: str | None = None):
        self.name, self.operands, self.write = name, operands, write
        self.__doc__ = write.__doc__ if doc is None else doc

    def __call__(self, *operands: Any) -> Any:
        raise TypeError(f"{self.name} runs in compiled code only")


def builtin(*operands: Any) -> Callable[[Callable[..., Any]], Builtin]:
    """Make a builtin of a function that writes LLVM code."""
    return lambda write: Builtin(write.__name__, operands, write)


def value(x: Operand) -> Value:
    """An operand as a Value."""
    if isinstance(x, Value):
        return x
    if isinstance(x, (bool, np.bool_)):
        return Value(boolean, I1(int(x)))
    if isinstance(x, int):
        return Value(int64, I64(x))
    if isinstance(x, float) and not isinstance(x, np.floating):
        return Value(float64, ir.Constant(float64.llvm, x))
    kind = OF_NUMPY.get(type(x))
    if kind is None:
        raise Refused(f"value {x!r}")
    return Value(kind, ir.Constant(kind.llvm, float(x) if isinstance(kind, Float) else int(x)))


def type_of(x: Operand) -> Type:
    return value(x).type


def common(a: Type, b: Type) -> Type:
    """The type in which values of both are represented."""
    if a is b:
        return a
    numbers = [t for t in (a, b) if not isinstance(t, Boolean)]
    if len(numbers) == 1:
        return numbers[0]
    if any(isinstance(t, Complex) for t in numbers):
        part = common(*[t.part if isinstance(t, Complex) else t for t in numbers])
        return complex64 if part is float32 else complex128
    if any(isinstance(t, Float) for t in numbers):
        return float64
    x, y = numbers
    if not (isinstance(x, Integer) and isinstance(y, Integer)):
        raise Refused(f"value that is {a} or {b}")
    wide, narrow = (x, y) if x.bits >= y.bits else (y, x)
    if wide.signed or wide.signed == narrow.signed:
        return wide if wide.bits > narrow.bits or wide.signed == narrow.signed else int64
    if wide.bits == 64:
        raise Refused(f"value that is {a} or {b}")
    return int64


def cast(builder: ir.IRBuilder, x: Operand, to: Type) -> Value:
    """A value in another type, as NumPy casts it."""
    if isinstance(x, (bool, int, float)) and isinstance(to, Float) and not isinstance(x, np.generic):
        number = float(np.float32(x)) if to is float32 else float(x)
        return Value(to, ir.Constant(to.llvm, number))
    if isinstance(x, (bool, int)) and isinstance(to, Integer):
        wrapped = x & ((1 << to.bits) - 1)
        return Value(to, ir.Constant(to.llvm, wrapped - (1 << to.bits) if to.signed and wrapped >> (to.bits - 1) else wrapped))
    v = value(x)
    return v if v.type is to else Value(to, _cast(builder, v, to))


def _cast(builder: ir.IRBuilder, v: Value, to: Type) -> Any:
    of = v.type
    if isinstance(to, Boolean):
        return truth(builder, v)
    if isinstance(of, Boolean) and isinstance(to, Integer):
        return builder.zext(v.llvm, to.llvm)
    if isinstance(of, Boolean) and isinstance(to, Float):
        return builder.uitofp(v.llvm, to.llvm)
    if isinstance(of, Integer) and isinstance(to, Integer):
        if of.bits == to.bits:
            return v.llvm
        if of.bits > to.bits:
            return builder.trunc(v.llvm, to.llvm)
        return builder.sext(v.llvm, to.llvm) if of.signed else builder.zext(v.llvm, to.llvm)
    if isinstance(of, Integer) and isinstance(to, Float):
        return builder.sitofp(v.llvm, to.llvm) if of.signed else builder.uitofp(v.llvm, to.llvm)
    if isinstance(of, Float) and isinstance(to, Integer):
        return _whole(builder, v, to)
    if isinstance(to, Complex):
        parts = of.taken(builder, v.llvm) if isinstance(of, Complex) else [v.llvm, value(0.0).llvm]
        kinds = [of.part] * 2 if isinstance(of, Complex) else [of, float64]
        return to.joined(builder, [cast(builder, Value(k, p), to.part).llvm for k, p in zip(kinds, parts, strict=True)])
    if isinstance(of, Float) and isinstance(to, Float):
        return builder.fpext(v.llvm, to.llvm) if of.bits < to.bits else builder.fptrunc(v.llvm, to.llvm)
    raise Refused(f"conversion from {of} to {to}")


def _whole(builder: ir.IRBuilder, v: Value, to: Integer) -> Any:
    """A float without its fraction. LLVM leaves it undefined for NaN, and for what the integer does not hold. These give what
    the instructions of x86 give NumPy: the least integer of 32 bits, or of 64 where fewer don't do, cut to the type's bits."""
    if to is uint64:
        return builder.fptoui(v.llvm, to.llvm)
    wide = int64 if to.bits == 64 or to is uint32 else int32
    least, of = -(2.0 ** (wide.bits - 1)), v.type.llvm
    exact = v.type is float64 and wide is int32  # numbers below the least one that have its integer
    above = builder.fcmp_ordered(">" if exact else ">=", v.llvm, of(least - 1 if exact else least))
    held = builder.and_(above, builder.fcmp_ordered("<", v.llvm, of(-least)))
    number = builder.fptosi(builder.select(held, v.llvm, of(0.0)), wide.llvm)
    found = builder.select(held, number, wide.llvm(-(2 ** (wide.bits - 1))))
    return found if wide.bits == to.bits else builder.trunc(found, to.llvm)


def truth(builder: ir.IRBuilder, x: Operand) -> Any:
    """Whether a value is not 0, as a bit."""
    v = value(x)
    if isinstance(v.type, Boolean):
        return v.llvm
    if isinstance(v.type, Float):
        return builder.fcmp_unordered("!=", v.llvm, v.type.llvm(0.0))
    return builder.icmp_unsigned("!=", v.llvm, v.type.llvm(0))


class Scopes:
    """The no-alias metadata of one module's loads and stores, by the number of the buffer.

    Pointers of different numbers never overlap where one is written. Without these facts LLVM gives up vectorizing a loop over
    more than a handful of arrays. Source: LLVM Language Reference, "noalias and alias.scope Metadata".
    """

    def __init__(self, module: ir.Module):
        self.module = module
        domain = module.add_metadata(["staticgrad"])
        self.scopes = [module.add_metadata([f"buffer {i}", domain]) for i in range(MAX_BUFFERS)]
        self.of: dict[int, tuple[Any, Any]] = {}
        self.outlined: dict[tuple[Any, ...], Any] = {}
        """The functions of the module that kernels call, by what they are made of, types and known operands."""

    def tag(self, instruction: Any, scope: int) -> None:
        found = self.of.get(scope)
        if found is None:
            others = [s for i, s in enumerate(self.scopes) if i != scope]
            found = self.of[scope] = self.module.add_metadata([self.scopes[scope]]), self.module.add_metadata(others)
        instruction.set_metadata("alias.scope", found[0])
        instruction.set_metadata("noalias", found[1])


# Python's operators on values of kernels ------------------------------------------------------------------------------

# Python's operators on values of kernels, with NumPy's results: integer division rounds down, and gives 0 for a divisor
# of 0.

CONTRACT = ("contract",)
"""A product and a sum may become one fused operation. Reassociation is not allowed: it would turn (x + x) - x into x, which is
not NaN where x is infinite."""

KNOWN: dict[type[ast.operator], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
FLOATS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
INTEGERS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.LShift: "shl"}
BITS = {ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"}
RELATIONS: dict[type[ast.cmpop], tuple[str, Any]] = {
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne), ast.Lt: ("<", operator.lt), ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
}  # fmt: skip


def _plain(*operands: Operand) -> bool:
    """Whether all of these are numbers of Python's."""
    return all(type(x) in (bool, int, float) for x in operands)


def binary(builder: ir.IRBuilder, kind: type[ast.operator], x: Operand, y: Operand) -> Operand:
    """`x + y`, ..., in the type of arithmetic on both."""
    if _plain(x, y):
        return KNOWN[kind](x, y)
    a, b = type_of(x), type_of(y)
    if kind in BITS and isinstance(a, Boolean) and isinstance(b, Boolean):
        return Value(boolean, getattr(builder, BITS[kind])(value(x).llvm, value(y).llvm))
    if isinstance(a, Pointer) or isinstance(b, Pointer):
        raise Refused("arithmetic on pointers")
    if isinstance(a, Complex) or isinstance(b, Complex):
        return _of_complex(builder, kind, common(a, b), x, y)
    if kind is ast.Div or isinstance(a, Float) or isinstance(b, Float):
        to = common(a, b) if isinstance(a, Float) or isinstance(b, Float) else float64
        if kind not in FLOATS:
            raise Refused(f"{kind.__name__} of floats")
        return Value(to, getattr(builder, FLOATS[kind])(*(cast(builder, v, to).llvm for v in (x, y)), flags=CONTRACT))
    whole = common(a, b) if kind in BITS and (isinstance(a, Boolean) or isinstance(b, Boolean)) else _of_integers(a, b)
    if kind in (ast.FloorDiv, ast.Mod):
        return Value(whole, _divided(builder, kind, cast(builder, x, whole), y))
    left, right = (cast(builder, v, whole).llvm for v in (x, y))
    if kind is ast.RShift:
        return Value(whole, builder.ashr(left, right) if whole is int64 else builder.lshr(left, right))
    name = INTEGERS.get(kind, BITS.get(kind))
    if name is None:
        raise Refused(f"{kind.__name__} of integers")
    return Value(whole, getattr(builder, name)(left, right))


def _of_complex(builder: ir.IRBuilder, kind: type[ast.operator], to: Any, x: Operand, y: Operand) -> Value:
    (p, q), (r, s) = ([Value(to.part, v) for v in to.taken(builder, cast(builder, z, to).llvm)] for z in (x, y))

    def of(kind: type[ast.operator], x: Operand, y: Operand) -> Operand:
        return binary(builder, kind, x, y)

    if kind in (ast.Add, ast.Sub):
        parts = [of(kind, p, r), of(kind, q, s)]
    elif kind is ast.Mult:
        parts = [of(ast.Sub, of(ast.Mult, p, r), of(ast.Mult, q, s)), of(ast.Add, of(ast.Mult, p, s), of(ast.Mult, q, r))]
    elif kind is ast.Div:  # the smaller part of the divisor is divided by the larger one; R. Smith, "Algorithm 116", 1962
        steep = _related(builder, "<", to.part, magnitude(builder, r).llvm, magnitude(builder, s).llvm)

        def chosen(x: Operand, y: Operand) -> Value:
            return Value(to.part, builder.select(steep, x.llvm, y.llvm))

        large, rest = chosen(s, r), of(ast.Div, chosen(r, s), chosen(s, r))
        scale = of(ast.Add, large, of(ast.Mult, chosen(r, s), rest))
        (a, b), (c, d) = (chosen(p, q), chosen(q, p)), (chosen(q, p), chosen(p, q))
        re = of(ast.Add, of(ast.Mult, a, rest), b)
        left = of(ast.Mult, c, rest)
        im = chosen(of(ast.Sub, left, d), of(ast.Sub, q, of(ast.Mult, p, rest)))
        parts = [of(ast.Div, re, scale), of(ast.Div, im, scale)]
    else:
        raise Refused(f"{kind.__name__} of complex numbers")
    return Value(to, to.joined(builder, [part.llvm for part in parts]))


def _of_integers(a: Type, b: Type) -> Type:
    unsigned = [isinstance(t, Integer) and not t.signed for t in (a, b)]
    if all(unsigned):
        return uint64
    if any(unsigned):
        common(a, b)  # Raises Refused where int64 does not hold both
    return int64


def _divided(builder: ir.IRBuilder, kind: type[ast.operator], x: Value, y: Operand) -> Any:
    """The quotient or remainder, rounded down; 0 for a divisor of 0, and where the quotient is no int64."""
    quotient = kind is ast.FloorDiv
    if type(y) is int and y > 0 and x.type is int64:
        if y & (y - 1) == 0:
            return builder.ashr(x.llvm, int64.llvm(y.bit_length() - 1)) if quotient else builder.and_(x.llvm, int64.llvm(y - 1))
        return _floored(builder, quotient, x.llvm, int64.llvm(y))
    divisor = cast(builder, y, x.type).llvm
    zero, one = x.type.llvm(0), x.type.llvm(1)
    wrong = builder.icmp_unsigned("==", divisor, zero)
    if x.type is int64:
        least = builder.icmp_signed("==", x.llvm, int64.llvm(-(2**63)))
        wrong = builder.or_(wrong, builder.and_(builder.icmp_signed("==", divisor, int64.llvm(-1)), least))
    safe = builder.select(wrong, one, divisor)
    if x.type is int64:
        result = _floored(builder, quotient, x.llvm, safe)
    else:
        result = builder.udiv(x.llvm, safe) if quotient else builder.urem(x.llvm, safe)
    return builder.select(wrong, zero, result)


def _floored(builder: ir.IRBuilder, quotient: bool, x: Any, y: Any) -> Any:
    rest = builder.srem(x, y)
    differ = builder.icmp_signed("<", builder.xor(rest, y), int64.llvm(0))
    off = builder.and_(builder.icmp_signed("!=", rest, int64.llvm(0)), differ)
    if quotient:
        return builder.sub(builder.sdiv(x, y), builder.zext(off, int64.llvm))
    return builder.add(rest, builder.select(off, y, int64.llvm(0)))


def compared(builder: ir.IRBuilder, kind: type[ast.cmpop], x: Operand, y: Operand) -> Operand:
    """`x < y`, ...; false where one is NaN, but for `!=`."""
    if kind not in RELATIONS:
        raise Refused(f"comparison {kind.__name__}")
    relation, known = RELATIONS[kind]
    if _plain(x, y):
        return known(x, y)
    to = common(type_of(x), type_of(y))
    left, right = (cast(builder, v, to).llvm for v in (x, y))
    return Value(boolean, _related(builder, relation, to, left, right))


def choice(builder: ir.IRBuilder, relation: str, x: Operand, y: Operand) -> Value:
    """x where it is related to y, `<` or `>`, else y."""
    to = common(type_of(x), type_of(y))
    a, b = (cast(builder, v, to).llvm for v in (x, y))
    return Value(to, builder.select(_related(builder, relation, to, a, b), a, b))


def _related(builder: ir.IRBuilder, relation: str, kind: Type, a: Any, b: Any) -> Any:
    if isinstance(kind, Complex):
        if relation not in ("==", "!="):
            raise Refused("order of complex numbers")
        pairs = zip(kind.taken(builder, a), kind.taken(builder, b), strict=True)
        both = [_related(builder, relation, kind.part, *pair) for pair in pairs]
        return (builder.and_ if relation == "==" else builder.or_)(*both)
    if isinstance(kind, Float):
        compare = builder.fcmp_unordered if relation == "!=" else builder.fcmp_ordered
    else:
        compare = builder.icmp_signed if isinstance(kind, Integer) and kind.signed else builder.icmp_unsigned
    return compare(relation, a, b)


def negated(builder: ir.IRBuilder, x: Operand) -> Operand:
    """`-x`"""
    if _plain(x):
        return -x
    v = value(x)
    if isinstance(v.type, Float):
        return Value(v.type, builder.fneg(v.llvm), v.exact)
    if isinstance(v.type, Complex):
        return Value(v.type, v.type.joined(builder, [builder.fneg(part) for part in v.type.taken(builder, v.llvm)]))
    to = _of_integers(v.type, v.type)
    return Value(to, builder.neg(cast(builder, v, to).llvm))


def opposite(builder: ir.IRBuilder, x: Operand) -> Operand:
    """`not x`"""
    return (not x) if _plain(x) else Value(boolean, builder.not_(truth(builder, x)))


def magnitude(builder: ir.IRBuilder, x: Operand) -> Operand:
    """`abs(x)`"""
    if _plain(x):
        return abs(x)
    v = value(x)
    if isinstance(v.type, Float):
        return Value(v.type, real(builder, "llvm.fabs", v).llvm, v.exact)
    if not (isinstance(v.type, Integer) and v.type.signed):
        return v
    below = builder.icmp_signed("<", v.llvm, v.type.llvm(0))
    return Value(v.type, builder.select(below, builder.neg(v.llvm), v.llvm))


def real(builder: ir.IRBuilder, name: str, *operands: Operand) -> Value:
    """LLVM's function of this name; integers become float64."""
    to = type_of(operands[0])
    for other in operands[1:]:
        to = common(to, type_of(other))
    if not isinstance(to, Float):
        to = float64
    kind = ir.FunctionType(to.llvm, [to.llvm] * len(operands))
    function = builder.module.declare_intrinsic(name, [to.llvm], kind)
    return Value(to, builder.call(function, [cast(builder, x, to).llvm for x in operands]))


def remainder(builder: ir.IRBuilder, x: Operand, y: Operand) -> Value:
    """C's fmod."""
    to = common(type_of(x), type_of(y))
    return Value(to, builder.frem(cast(builder, x, to).llvm, cast(builder, y, to).llvm))
