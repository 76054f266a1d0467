"""Every row of the op-case table under `vmap`, against a loop, and under `jvp`, against numerical derivatives and `vjp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import func
from staticgrad.eager import Tensor
from tests.helpers import assert_close, directional, rng_of
from tests.ops.cases import CASES, Case, f64

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
