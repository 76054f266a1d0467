"""The text of the loop IR."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from staticgrad.base.types import bool_, float32, float64, int32, int64
from staticgrad.compiler.codegen import loop_ir as ir
from staticgrad.compiler.codegen.loop_ir import Expr, Infix, Integer, Literal, Load, Name, Scalar, Statement
from staticgrad.compiler.codegen.printers import KERNEL, OPERATORS, PYTHON
from staticgrad.ir import REGISTRY, Pointwise, Reduction

A, B, C = Name("a"), Name("b"), Name("c")
X = Load("x", ir.ROW_I, float32)

EXPRESSIONS: list[tuple[Expr, str]] = [
    (A + B + C, "a + b + c"),
    (A + (B + C), "a + (b + c)"),
    (A * B + C, "a * b + c"),
    ((A + B) * C, "(a + b) * c"),
    (A * (B + 1) // C, "a * (b + 1) // c"),
    (A // B % C, "a // b % c"),
    (A // B % C * 4, "(a // b % c) * 4"),
    ((A - B) + C, "(a - b) + c"),
    ((A - B) * C, "(a - b) * c"),
    (Infix("or", Infix("==", A, Integer(1)), Infix("<", B, C)), "a == 1 or b < c"),
    (Infix("and", Infix("<=", A, B), Infix("<", B, C)), "a <= b and b < c"),
    (ir.Least(A + 1, B), "min(a + 1, b)"),
    (Literal(0.5, float32), "f32(0.5)"),
    (Literal(-np.inf, float64), "f64(-np.inf)"),
    (Literal(np.nan, float32), "f32(np.nan)"),
    (Literal(1, int32), "i32(1)"),
    (Literal(True, bool_), "True"),
    (ir.Convert(A, float64), "f64(a)"),
    (Load("x", A * B, bool_), "(x[a * b] != 0)"),
    (Scalar("add", (X, X), float32, float32), "(x[i] + x[i])"),
    (Scalar("add", (A, B), bool_, bool_), "(a | b)"),
    (Scalar("mul", (ir.ROW_I // 3 % 4, A), int64, int64), "((i // 3 % 4) * a)"),
    (Scalar("floor", (A,), int32, int32), "a"),
    (Scalar("where", (A, B, C), float32, float32), "(b if a else c)"),
    (Scalar("cast", (A,), bool_, float32), "(f32(1) if a else f32(0))"),
    (Scalar("cast", (A,), float32, bool_), "(a != 0)"),
    (ir.scalar("neg", (A,), int32, int32), "i32((-a))"),
    (Scalar("isfinite", (A,), float32, bool_), "(abs(a) < f32(np.inf))"),
]


@pytest.mark.parametrize(("value", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_both_targets_write_these_alike(value: Expr, text: str):
    assert KERNEL.value(value) == PYTHON.value(value) == text
    ast.parse(text)


@pytest.mark.parametrize(
    ("name", "dtype", "numba", "python"),
    [("exp", float32, "exp_f32(a)", "exp(a)"), ("relu", int32, "relu_int(a)", "relu(a)"),
     ("sqrt", float64, "math.sqrt(a)", "sqrt(a)"),
     ("floor", float32, "np.floor(a)", "floor(a)"), ("round", float32, "np.rint(a)", "round(a)")],
)  # fmt: skip
def test_functions(name: str, dtype: np.dtype, numba: str, python: str):
    value = Scalar(name, (A,), dtype, dtype)
    assert (KERNEL.value(value), PYTHON.value(value)) == (numba, python)


STATEMENTS: list[tuple[Statement, list[str]]] = [
    (ir.assign("a", B, "%1 exp  f.py:3"), ["a = b  # %1 exp  f.py:3"]),
    (ir.Assign(("a", "b"), (B, A)), ["a, b = b, a"]),
    (ir.Store("y", A, B, float32), ["y[a] = b"]),
    (ir.Store("y", A, B, bool_), ["y[a] = u8(1) if b else u8(0)"]),
    (ir.Accumulate(A, "maximum", B, float32), ["a = maximum_f32(a, b)"]),
    (ir.Accumulate(Load("t", ir.ZERO, int32), "plus", B, int32), ["t[0] = i32(plus_int(t[0], b))"]),
    (ir.loop("j", 0, A, [ir.assign("b", C)]), ["for j in range(a):", "    b = c"]),
    (ir.loop("c", 1, A, [ir.assign("b", C)]), ["for c in range(1, a):", "    b = c"]),
    (ir.loop("k", 0, A, [ir.assign("b", C)], 8), ["for k in range(0, a, 8):", "    b = c"]),
    (ir.If(Infix("==", A, ir.ZERO), (ir.assign("b", C),), "why"), ["if a == 0:  # why", "    b = c"]),
]


@pytest.mark.parametrize(("statement", "lines"), STATEMENTS, ids=[lines[0] for _, lines in STATEMENTS])
def test_statements(statement: Statement, lines: list[str]):
    assert KERNEL.statements[type(statement)](statement) == lines


def test_every_statement_and_expression_has_a_printer():
    for base, table in ((Statement, KERNEL.statements), (Expr, KERNEL.expressions)):
        assert {kind.__name__ for kind in base.__subclasses__()} == {kind.__name__ for kind in table}
        assert set(PYTHON.statements if base is Statement else PYTHON.expressions) == set(table)


def test_records_hold_names_and_no_text():
    names = [op.emit.scalar for op in REGISTRY.values() if isinstance(op.emit, Pointwise) and isinstance(op.emit.scalar, str)]
    names += [op.emit.combine for op in REGISTRY.values() if isinstance(op.emit, Reduction)]
    assert all(name.isidentifier() for name in names)
    assert {"add", "where", "isnan"} <= set(names) & set(OPERATORS)
