"""Scalar operations that records compose of others, such as `hypot`, written into a kernel.

A composition is a function `(op, *operands)` (`ir.Pointwise.scalar`). Its operands are `Value`s, which Python's arithmetic and
comparisons combine; `op.sqrt(x)` is the scalar operation of that name, `op.where(condition, x, y)` a choice between values
that are both computed, and `op.pick(a, b)` a number for float32 and one for float64. A value that is used more than once
becomes a line of the kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.types import TensorType, float32
from ...ir import REGISTRY, Pointwise
from .loop_ir import Expr, Name, Scalar, Statement, assign


class Value:
    """A value of a composition."""

    __slots__ = ("expr", "op")

    def __init__(self, op: Composer, expr: Expr):
        self.op, self.expr = op, expr

    def __add__(self, other: Value | float) -> Value:
        return self.op("add", self, other)

    def __radd__(self, other: float) -> Value:
        return self.op("add", other, self)

    def __sub__(self, other: Value | float) -> Value:
        return self.op("sub", self, other)

    def __rsub__(self, other: float) -> Value:
        return self.op("sub", other, self)

    def __mul__(self, other: Value | float) -> Value:
        return self.op("mul", self, other)

    def __rmul__(self, other: float) -> Value:
        return self.op("mul", other, self)

    def __truediv__(self, other: Value | float) -> Value:
        return self.op("div", self, other)

    def __rtruediv__(self, other: float) -> Value:
        return self.op("div", other, self)

    def __neg__(self) -> Value:
        return self.op("neg", self)

    def __abs__(self) -> Value:
        return self.op("abs", self)

    def __lt__(self, other: Value | float) -> Value:
        return self.op("lt", self, other)

    def __le__(self, other: Value | float) -> Value:
        return self.op("le", self, other)

    def __gt__(self, other: Value | float) -> Value:
        return self.op("gt", self, other)

    def __ge__(self, other: Value | float) -> Value:
        return self.op("ge", self, other)


class Composer:
    """The first argument of a composition. `literal(number, dtype)`: the expression of a number."""

    def __init__(self, dtype: np.dtype, literal: Callable[[Any, np.dtype], Expr]):
        self.dtype, self._literal = dtype, literal

    def __call__(self, name: str, *operands: Value | float) -> Value:
        """A scalar operation: its type and cost are those of the record of this name, if there is one."""
        dtypes = [self._type(v) for v in operands]
        record = REGISTRY.get(name)
        cost, result = 1, dtypes[-1]
        if record is not None:
            result = record.infer(*(TensorType((), dtype) for dtype in dtypes)).dtype
            cost = record.emit.cost if isinstance(record.emit, Pointwise) else 1
        return Value(self, Scalar(name, tuple(map(self._expr, operands)), dtypes[-1], result, cost))

    def __getattr__(self, name: str) -> Callable[..., Value]:
        return lambda *operands: self(name, *operands)

    def pick(self, single: float, double: float) -> float:
        """The number for this composition's dtype."""
        return single if self.dtype == float32 else double

    def _type(self, value: Value | float) -> np.dtype:
        expr = value.expr if isinstance(value, Value) else None
        return expr.result if isinstance(expr, Scalar) else self.dtype

    def _expr(self, value: Value | float) -> Expr:
        return value.expr if isinstance(value, Value) else self._literal(value, self.dtype)


def composed(
    composition: Callable[..., Value],
    operands: Sequence[Expr],
    dtype: np.dtype,
    literal: Callable[[Any, np.dtype], Expr],
    fresh: Callable[[str], Name],
    note: str,
) -> tuple[list[Statement], Expr]:
    """The lines that a composition of these operands needs, and its value."""
    op = Composer(dtype, literal)
    whole = composition(op, *(Value(op, operand) for operand in operands)).expr
    uses: Counter[int] = Counter()
    _count(whole, uses)
    lines: list[Statement] = []
    named: dict[int, Expr] = {}

    def written(expr: Expr) -> Expr:
        if not isinstance(expr, Scalar):
            return expr
        if id(expr) not in named:
            value: Expr = replace(expr, operands=tuple(map(written, expr.operands)))
            if uses[id(expr)] > 1:
                name = fresh("p")
                lines.append(assign(name.name, value, note))
                value = name
            named[id(expr)] = value
        return named[id(expr)]

    return lines, written(whole)


def _count(expr: Expr, uses: Counter[int]) -> None:
    """How often each operation inside is an operand of another one, by identity."""
    if isinstance(expr, Scalar):
        uses[id(expr)] += 1
        if uses[id(expr)] == 1:
            for operand in expr.operands:
                _count(operand, uses)
