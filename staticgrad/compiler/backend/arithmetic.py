"""Python's operators on values of kernels, with NumPy's results: integer division rounds down, and gives 0 for a divisor of
0."""

from __future__ import annotations

import ast
import operator
from typing import Any

from llvmlite import ir

from .kernel_types import (
    Boolean,
    Complex,
    Float,
    Integer,
    Operand,
    Pointer,
    Refused,
    Type,
    Value,
    boolean,
    cast,
    common,
    float64,
    int64,
    truth,
    type_of,
    uint64,
    value,
)

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
