"""Every row of the op-case table under `vmap`, against a loop, and under `jvp`, against numerical derivatives and `vjp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import func
from staticgrad.eager import Tensor
from tests.helpers import assert_close, directional, placeholders, rng_of
from tests.ops.cases import CASES, Case, f64
from tests.ops.test_cases import run_interpreter

ROWS = [pytest.param(case, sample, id=f"{case.name}-{i}") for case in CASES for i, sample in enumerate(case.samples)]
SMOOTH = [row for row in ROWS if row.values[0].order and f64 in row.values[0].dtypes]
SAMPLES = 3


def as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def choices(operands: int) -> list[tuple[int | None, ...]]:
    """in_dims: all in front, the first one alone, each other alone, the first not, and the last axis."""
    found = [(0,) * operands, (-1,) * operands]
    if operands > 1:
        found += [tuple(0 if p == i else None for p in range(operands)) for i in range(operands)]
        found += [tuple(None if p == 0 else 0 for p in range(operands))]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize(("case", "sample"), ROWS)
def test_vmap_agrees_with_a_loop(case: Case, sample: Any):
    rng, dtype = rng_of(case.name + " samples"), case.dtypes[-1]
    drawn = [[arg.draw(rng, dtype) for _ in range(SAMPLES)] for arg in sample]
    for dims in choices(len(sample)):
        rows = [
            as_list(case.fn(*[Tensor(each[0 if d is None else i]) for each, d in zip(drawn, dims, strict=True)]))
            for i in range(SAMPLES)
        ]
        given = [Tensor(each[0] if d is None else np.stack(each, d)) for each, d in zip(drawn, dims, strict=True)]
        found = as_list(sg.vmap(lambda *xs: tuple(as_list(case.fn(*xs))), in_dims=dims)(*given))
        for result, values in zip(found, zip(*rows, strict=True), strict=True):
            assert_close(result, np.stack([v.numpy() for v in values]), None, what=f"in_dims={dims}")


@pytest.mark.parametrize(("case", "sample"), SMOOTH)
def test_jvp_agrees_with_numerical_derivatives(case: Case, sample: Any):
    rng = rng_of(case.name + " tangents")
    arrays = [arg.draw(rng, f64) for arg in sample]
    floating = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    along = [rng.standard_normal(arrays[i].shape) for i in floating]

    def of(point: Sequence[Any]) -> list[Any]:
        given = [Tensor(a) for a in arrays]
        for i, x in zip(floating, point, strict=True):
            given[i] = x
        return [r for r in as_list(case.fn(*given)) if r.dtype.kind == "f"]

    values, tangents = func.jvp(
        lambda *xs: tuple(of(xs)), tuple(Tensor(arrays[i]) for i in floating), tuple(map(Tensor, along))
    )
    for i, (value, tangent) in enumerate(zip(values, tangents, strict=True)):
        assert_close(value, of([Tensor(arrays[i]) for i in floating])[i])
        assert tangent.shape == value.shape
        assert tangent.dtype == value.dtype
        if value.size:
            slope = directional(lambda *p: of(list(map(Tensor, p)))[i].numpy(), [arrays[i] for i in floating], along)  # noqa: B023
            assert_close(tangent, np.asarray(slope), 2e-6, what=f"result {i}")


def weighted(case: Case, arrays: Sequence[np.ndarray]) -> tuple[list[int], Any]:
    """The floating operands, and a scalar function of them that gives each element of each result a weight of its own."""
    floating = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]

    def total(*point: Any) -> Any:
        given = [Tensor(a) for a in arrays]
        for i, x in zip(floating, point, strict=True):
            given[i] = x
        results = [r for r in as_list(case.fn(*given)) if r.dtype.kind == "f"]
        return sum((r * np.cos(np.arange(max(r.numel(), 1))[: r.numel()].reshape(r.shape))).sum() for r in results)

    return floating, total


@pytest.mark.parametrize(("case", "sample"), [row for row in SMOOTH if all(arg.shape != () for arg in row.values[1])])
def test_gradients_of_each_sample_agree_with_a_loop(case: Case, sample: Any):
    rng = rng_of(case.name + " gradients")
    arrays = [arg.draw(rng, f64) for arg in sample]
    floating, total = weighted(case, arrays)
    points = [np.stack([sample[i].draw(rng, f64) for _ in range(SAMPLES)]) for i in floating]
    numbers = tuple(range(len(floating)))
    slopes = func.grad(total, argnums=numbers)
    rows = [slopes(*[Tensor(p[k]) for p in points]) for k in range(SAMPLES)]
    found = sg.vmap(slopes)(*map(Tensor, points))
    taken = sg.vmap(func.jacrev(total, argnums=numbers))(*map(Tensor, points))
    for i, values in enumerate(zip(*rows, strict=True)):
        expected = np.stack([v.numpy() for v in values])
        assert_close(found[i], expected, 1e-10, what=f"operand {i}")
        assert_close(taken[i], expected, 1e-10, what=f"operand {i}, by jacrev")


@pytest.mark.parametrize(("case", "sample"), [row for row in SMOOTH if row.values[0].order > 1])
def test_hessian_vector_products_agree_in_both_orders(case: Case, sample: Any):
    rng = rng_of(case.name + " second")
    arrays = [arg.draw(rng, f64) for arg in sample]
    floating, total = weighted(case, arrays)
    point = tuple(Tensor(arrays[i]) for i in floating)
    along = tuple(Tensor(rng.standard_normal(arrays[i].shape)) for i in floating)
    slopes = func.grad(total, argnums=tuple(range(len(floating))))
    forward = func.jvp(slopes, point, along)[1]
    backward = func.grad(lambda *p: func.jvp(total, p, along)[1], argnums=tuple(range(len(floating))))(*point)
    for i, (a, b) in enumerate(zip(forward, backward, strict=True)):
        assert_close(a, b, 1e-8, what=f"operand {i}")


SIZED = (
    "first_of", "conv2d", "conv2d stride padding dilation groups", "conv2d bias", "conv1d", "conv_transpose2d",
    "conv_transpose2d, more at the end than a stride",
    "nonzero_static", "histc",
)  # fmt: skip
"""Rows that need the number of samples when a graph is built."""
IN_GRAPHS = [
    pytest.param(*row.values, known, id=f"{row.id}-{'known' if known else 'unknown'}")
    for row in ROWS
    for known in (True, False)
    if not row.values[0].refused and (row.values[0].order or not row.values[0].sized)
    if known or not any(0 in arg.shape for arg in row.values[1])  # an unknown extent beside one of 0 could be anything
]


@pytest.mark.parametrize(("case", "sample", "known"), IN_GRAPHS)
def test_a_graph_agrees_with_eager_mode(case: Case, sample: Any, known: bool):
    """The number of samples is known, or found by the run."""
    rng, dtype = rng_of(case.name + " in a graph"), case.dtypes[-1]
    arrays = [np.stack([arg.draw(rng, dtype) for _ in range(SAMPLES)]) for arg in sample]

    def program(*xs: Any) -> list[Any]:
        return as_list(sg.vmap(lambda *each: tuple(as_list(case.fn(*each))))(*xs))

    expected = program(*map(Tensor, arrays))
    graph = sg.Graph()
    leaves = placeholders(graph, arrays, [a.shape if known else (None, *a.shape[1:]) for a in arrays])
    if not known and case.name in SIZED:
        with pytest.raises(sg.ShapeError, match="known extent"):
            program(*leaves)
        return
    made = program(*leaves)
    values = run_interpreter(graph, [r.node for r in made], [x.node for x in leaves], arrays)
    for i, (value, result) in enumerate(zip(values, expected, strict=True)):
        assert_close(value, result, None, what=f"result {i}")
