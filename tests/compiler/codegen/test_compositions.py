"""Scalar operations composed of others: their lines in kernels, types, costs, and the same in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from staticgrad.base.types import bool_, float32, float64
from staticgrad.compiler.codegen.loop_ir import Literal, Name, Scalar, inside
from staticgrad.compiler.codegen.operands import composed
from staticgrad.compiler.codegen.printers import KERNEL
from staticgrad.compiler.program import Program
from staticgrad.ir import REGISTRY, Graph, Pointwise
from staticgrad.operators import F
from tests.helpers import assert_close, placeholders
from tests.ops.elementwise_cases import ELEMENTWISE

COMPOSED = [row for row in ELEMENTWISE if row.name in REGISTRY and callable(getattr(REGISTRY[row.name].emit, "scalar", ""))]


def lines(composition: Callable[..., Any], *names: str, dtype: np.dtype = float32) -> list[str]:
    """The lines of a composition; the last is its value."""
    counter = iter(range(100))
    found, value = composed(
        composition, [Name(n) for n in names], dtype, Literal, lambda letter: Name(f"{letter}{next(counter)}"), ""
    )
    return [*(line for s in found for line in KERNEL.statements[type(s)](s)), KERNEL.value(value)]


@pytest.mark.parametrize(
    ("composition", "expected"),
    [
        (lambda op, x: 1 - x * 2, ["(f32(1) - (x * f32(2)))"]),
        (lambda op, x: op("minimum", op.maximum(x, 0), 1), ["minimum_f32(maximum_f32(x, f32(0)), f32(1))"]),
        (lambda op, x: -abs(x) / op.pick(2, 4), ["((-abs(x)) / f32(2))"]),
        (lambda op, x: op.where(x < 0, op.exp(x), x), ["(exp_f32(x) if (x < f32(0)) else x)"]),
        (lambda op, x: (lambda e: e / (e + 1))(op.exp(x)), ["p0 = exp_f32(x)", "(p0 / (p0 + f32(1)))"]),
    ],
)
def test_what_is_used_twice_becomes_a_line(composition: Callable[..., Any], expected: list[str]):
    assert lines(composition, "x") == expected


def test_lines_are_in_the_order_of_their_use():
    def square_of_square(op: Any, x: Any) -> Any:
        first = x * x
        second = first * first
        return second + second * first

    expected = ["p0 = (x * x)", "p1 = (p0 * p0)", "(p1 + (p1 * p0))"]
    assert lines(square_of_square, "x") == expected


def test_types_and_costs_are_those_of_the_records():
    _, value = composed(
        lambda op, x: op.where(op.logical_or(x < 0, op.isnan(x)), op.exp(x), op.fma(x, x, 1)),
        [Name("x")], float64, Literal, lambda letter: Name(letter), "",
    )  # fmt: skip
    found = {e.name: e for e in inside(value) if isinstance(e, Scalar)}
    emit = REGISTRY["exp"].emit
    assert isinstance(emit, Pointwise)
    assert {name: e.result for name, e in found.items()} == {
        "where": float64, "logical_or": bool_, "lt": bool_, "isnan": bool_, "exp": float64, "fma": float64,
    }  # fmt: skip
    assert (found["exp"].cost, found["fma"].cost, found["logical_or"].dtype) == (emit.cost, 1, bool_)


@pytest.mark.parametrize("row", COMPOSED, ids=lambda row: row.name)
def test_plain_python_computes_the_same(row: Any):
    arrays, graph = [arg.draw(np.random.default_rng(0), np.float64) for arg in row.samples[0]], Graph()
    feeds = placeholders(graph, arrays, [a.shape for a in arrays])
    plan = Program(graph, [getattr(F, row.name)(*feeds).node], [x.node for x in feeds]).plan(*arrays)
    assert [instruction.kind for instruction in plan.instructions] == ["kernel"]
    (expected,), (result,) = plan.run(arrays, {}), plan.run_unjitted(arrays, {})
    assert_close(result, expected, 4 * np.finfo(np.float64).eps)


def test_some_records_are_compositions():
    assert {row.name for row in COMPOSED} >= {"asinh", "acosh", "atanh", "hypot"}
