"""Elementwise ops of the IR as ONNX nodes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ir import Node
from .records import CODES
from .writing import WRITERS, Name, Scope, writer

ONE_TO_ONE = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "add": "Add", "asin": "Asin", "asinh": "Asinh", "atan": "Atan",
    "atanh": "Atanh", "bitwise_and": "BitwiseAnd", "bitwise_not": "BitwiseNot", "bitwise_or": "BitwiseOr",
    "bitwise_xor": "BitwiseXor", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "eq": "Equal", "erf": "Erf", "exp": "Exp",
    "floor": "Floor", "ge": "GreaterOrEqual", "gt": "Greater", "isnan": "IsNaN", "le": "LessOrEqual", "linalg_det": "Det",
    "log": "Log", "logical_and": "And", "logical_not": "Not", "logical_or": "Or", "logical_xor": "Xor", "lt": "Less",
    "matmul": "MatMul", "maximum": "Max", "minimum": "Min", "mul": "Mul", "neg": "Neg", "pow": "Pow", "relu": "Relu",
    "round": "Round", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt", "sub": "Sub",
    "tan": "Tan", "tanh": "Tanh", "where": "Where",
}  # fmt: skip
"""Ops that are one node of ONNX on the same operands."""


def _same(op: str) -> Any:
    return lambda b, node, *xs: b.add(op, xs)


WRITERS.update({name: _same(op) for name, op in ONE_TO_ONE.items()})


@writer("identity", "stop_gradient", "saving", "exponent", "divisor", "read")
def _identity(b: Scope, node: Node, x: Name) -> Name:
    return x


@writer("as_written", "saved_with")
def _first(b: Scope, node: Node, x: Name, *others: Name) -> Name:
    return x


@writer("bounded")
def _bounded(b: Scope, node: Node, index: Name, like: Name) -> Name:
    return b.add("Cast", [index], to=CODES[np.dtype(np.int64)])


@writer("cast")
def _cast(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Cast", [x], to=CODES[node.type.dtype])


@writer("div")
def _div(b: Scope, node: Node, x: Name, y: Name) -> Name:
    operands = []
    for name, operand in zip((x, y), node.inputs, strict=True):  # of integers it is a float here, and an integer in ONNX
        operands.append(name if operand.type.dtype == node.type.dtype else b.add("Cast", [name], to=CODES[node.type.dtype]))
    return b.add("Div", operands)


@writer("copysign")
def _copysign(b: Scope, node: Node, x: Name, y: Name) -> Name:
    size = b.add("Abs", [x])
    return b.add("Where", [b.add("Less", [y, b.like(0, node)]), b.add("Neg", [size]), size])


@writer("ne")
def _ne(b: Scope, node: Node, x: Name, y: Name) -> Name:
    return b.add("Not", [b.add("Equal", [x, y])])


@writer("square")
def _square(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Mul", [x, x])


@writer("exp2")
def _exp2(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Pow", [b.like(2, node), x])


@writer("expm1")
def _expm1(b: Scope, node: Node, x: Name) -> Name:
    """2 tanh(x / 2) / (1 - tanh(x / 2)) near 0, where exp(x) - 1 loses digits."""
    half = b.add("Tanh", [b.add("Mul", [x, b.like(0.5, node)])])
    near = b.add("Div", [b.add("Mul", [half, b.like(2, node)]), b.add("Sub", [b.like(1, node), half])])
    far = b.add("Sub", [b.add("Exp", [x]), b.like(1, node)])
    small = b.add("Less", [b.add("Abs", [x]), b.like(0.5, node)])
    return b.add("Where", [small, near, far])


@writer("log1p")
def _log1p(b: Scope, node: Node, x: Name) -> Name:
    """2 atanh(x / (2 + x)) near 0, where log(1 + x) loses digits."""
    ratio = b.add("Div", [x, b.add("Add", [x, b.like(2, node)])])
    near = b.add("Mul", [b.add("Atanh", [ratio]), b.like(2, node)])
    far = b.add("Log", [b.add("Add", [x, b.like(1, node)])])
    return b.add("Where", [b.add("Less", [b.add("Abs", [x]), b.like(0.5, node)]), near, far])


def _log_of(base: float) -> Any:
    return lambda b, node, x: b.add("Div", [b.add("Log", [x]), b.like(math.log(base), node)])


WRITERS.update(log2=_log_of(2), log10=_log_of(10))


@writer("erfc")
def _erfc(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Sub", [b.like(1, node), b.add("Erf", [x])])


@writer("softplus")
def _softplus(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Softplus", [x])


@writer("hypot")
def _hypot(b: Scope, node: Node, x: Name, y: Name) -> Name:
    return b.add("Sqrt", [b.add("Add", [b.add("Mul", [x, x]), b.add("Mul", [y, y])])])


@writer("isfinite")
def _isfinite(b: Scope, node: Node, x: Name) -> Name:
    if node.inputs[0].type.dtype.kind != "f":
        return b.add("Equal", [x, x])
    return b.add("Not", [b.add("Or", [b.add("IsInf", [x]), b.add("IsNaN", [x])])])


@writer("signbit")
def _signbit(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Less", [x, b.like(0, node.inputs[0])])


@writer("clip")
def _clip(b: Scope, node: Node, x: Name, low: Name, high: Name) -> Name:
    return b.add("Min", [b.add("Max", [x, low]), high])


@writer("fmod")
def _fmod(b: Scope, node: Node, x: Name, y: Name) -> Name:
    return b.add("Mod", [x, y], fmod=1)


@writer("remainder")
def _remainder(b: Scope, node: Node, x: Name, y: Name) -> Name:
    if node.type.dtype.kind != "f":
        return b.add("Mod", [x, y], fmod=0)
    rest = b.add("Mod", [x, y], fmod=1)
    wrong = b.add(
        "And",
        [b.add("Less", [b.add("Mul", [rest, y]), b.like(0, node)]), b.add("Not", [b.add("Equal", [rest, b.like(0, node)])])],
    )
    return b.add("Where", [wrong, b.add("Add", [rest, y]), rest])


@writer("floor_divide")
def _floor_divide(b: Scope, node: Node, x: Name, y: Name) -> Name:
    if node.type.dtype.kind == "f":
        return b.add("Floor", [b.add("Div", [x, y])])
    whole = b.add("Sub", [x, b.add("Mod", [x, y], fmod=0)])
    return b.add("Div", [whole, y])


@writer("atan2")
def _atan2(b: Scope, node: Node, y: Name, x: Name) -> Name:
    zero, pi = b.like(0, node), b.like(math.pi, node)
    base = b.add("Atan", [b.add("Div", [y, x])])
    below = b.add("Less", [y, zero])
    turned = b.add("Where", [below, b.add("Sub", [base, pi]), b.add("Add", [base, pi])])
    result = b.add("Where", [b.add("Less", [x, zero]), turned, base])
    both = b.add("And", [b.add("Equal", [x, zero]), b.add("Equal", [y, zero])])
    return b.add("Where", [both, zero, result])


@writer("bitwise_left_shift", "bitwise_right_shift")
def _shift(b: Scope, node: Node, x: Name, y: Name) -> Name:
    """ONNX shifts unsigned numbers: a shift to the left is a product, one to the right a quotient."""
    power = b.add("Pow", [b.like(2, node), y])
    if node.op.name == "bitwise_left_shift":
        return b.add("Mul", [x, power])
    return b.add("Div", [b.add("Sub", [x, b.add("Mod", [x, power], fmod=0)]), power])
