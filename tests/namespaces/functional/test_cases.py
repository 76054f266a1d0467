"""Calls of `nn.functional`: the same in every mode, with right gradients to second order, and PyTorch's results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.nn import functional as F
from tests.helpers import assert_close, directional, rng_of
from tests.namespaces.functional.cases import ROWS, Row
from tests.ops.modes import compiled, eager, interpreter, leaves, session, slopes

NAMES = [row.name for row in ROWS]
SMOOTH = [row for row in ROWS if any(a.dtype.kind == "f" for a in row.arrays())]


def results(row: Row, xs: Any) -> list[Any]:
    """What a call gives."""
    found = row.call(F, *xs)
    return [part for part in found if part is not None] if isinstance(found, (list, tuple)) else [found]


def seeds(row: Row, values: Any) -> list[np.ndarray]:
    """Cotangents of the floating results."""
    rng = rng_of(row.name + " seeds")
    return [rng.standard_normal(v.shape).astype(v.dtype) for v in values if v.dtype.kind == "f"]


def weighed(parts: Any, weights: Any) -> Any:
    floating = [p for p in parts if p.dtype.kind == "f"]
    total: Any = 0
    for part, weight in zip(floating, weights, strict=True):
        total = total + (part * weight).sum()
    return total


def program(row: Row, order: int) -> Any:
    """Results, gradients of their weighed sum by the floating operands, and gradients of the sum of squares of those."""
    values = [r.detach().numpy() for r in results(row, leaves(row.arrays()))]
    weights = seeds(row, values)

    def call(*xs: Any) -> list[Any]:
        parts = results(row, xs)
        inputs = [x for x in xs if x.dtype.kind == "f"]
        found = list(parts)
        if inputs and order:
            first = slopes(weighed(parts, weights), inputs)
            found += first
            if order > 1:
                total: Any = 0
                for g in first:
                    total = total + (g * g).sum()
                found += slopes(total, inputs)
        return found

    return call


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_graph_agrees_with_eager_mode_to_the_second_gradient(row: Row):
    arrays, both = row.arrays(), program(row, 2)
    for mine, theirs in zip(interpreter(both, arrays), eager(both, arrays), strict=True):
        assert_close(mine, theirs, 1e-9)


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_compiled_and_in_a_session(row: Row):
    """Every third row with its gradients, whose kernels take most of the time."""
    check_compiled(row, 1 if ROWS.index(row) % 3 == 0 else 0)


def check_compiled(row: Row, order: int) -> None:
    arrays, first = row.arrays(np.float32), program(row._replace(given=tuple(row.arrays(np.float32))), order)
    expected = eager(first, arrays)
    for found in (compiled(first, arrays, "fast"), session(first, arrays, "fast")):
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.dtype == theirs.dtype
            scale = max(float(np.abs(theirs).max(initial=0)), 1.0)
            np.testing.assert_allclose(mine, theirs, rtol=2e-4, atol=2e-5 * scale)


@pytest.mark.parametrize("row", SMOOTH, ids=[row.name for row in SMOOTH])
def test_gradients_are_right_to_second_order(row: Row):
    """Along one random direction, by differences in float64."""
    arrays = row.arrays()
    inputs = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    weights = seeds(row, [r.detach().numpy() for r in results(row, leaves(arrays))])
    draw = rng_of(row.name + " along")
    along = [draw.standard_normal(arrays[i].shape) for i in inputs]

    def at(moved: Any) -> list[Any]:
        full: list[Any] = [sg.tensor(a) for a in arrays]
        for i, a in zip(inputs, moved, strict=True):
            full[i] = sg.tensor(a, requires_grad=True)
        return full

    def value(*moved: np.ndarray) -> float:
        return float(weighed(results(row, at(moved)), weights).item())

    def slope(*moved: np.ndarray) -> float:
        xs = at(moved)
        first = slopes(weighed(results(row, xs), weights), [xs[i] for i in inputs])
        return sum(float((g.detach().numpy() * a).sum()) for g, a in zip(first, along, strict=True))

    start = [arrays[i] for i in inputs]
    if "frequency" in row.name:  # its gradient is another one by intent
        return
    assert slope(*start) == pytest.approx(float(directional(value, start, along)), rel=1e-6, abs=1e-7)
    xs = at(start)
    given = [xs[i] for i in inputs]
    first = slopes(weighed(results(row, xs), weights), given)
    total: Any = 0
    for g, a in zip(first, along, strict=True):
        total = total + (g * a).sum()
    second = slopes(total, given)
    exact = sum(float((g.detach().numpy() * a).sum()) for g, a in zip(second, along, strict=True))
    assert exact == pytest.approx(float(directional(slope, start, along)), rel=1e-5, abs=1e-6)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_pytorch_agrees(torch: Any, row: Row, dtype: str):
    """Values, first gradients, and second ones where PyTorch has them."""
    arrays = row.arrays(dtype)
    inputs = [i for i, a in enumerate(arrays) if a.dtype.kind == "f" and i not in row.fixed]
    theirs = [torch.tensor(a, requires_grad=i in inputs) for i, a in enumerate(arrays)]
    wanted = row.call(torch.nn.functional, *theirs)
    wanted = [p for p in wanted if p is not None] if isinstance(wanted, (list, tuple)) else [wanted]
    mine = leaves(arrays)
    found = results(row, mine)
    rtol = 2e-4 if dtype == "float32" else 1e-7  # some constants of PyTorch's are of float32
    same(found, wanted, rtol, "value")
    if not inputs:
        return
    weights = seeds(row, [r.detach().numpy() for r in found])
    floating = [r for r in wanted if r.dtype.is_floating_point]
    total = sum((r * torch.tensor(w)).sum() for r, w in zip(floating, weights, strict=True))
    reached = [theirs[i] for i in inputs]
    other = torch.autograd.grad(total, reached, create_graph=row.torch > 1, allow_unused=True)
    other = [torch.zeros_like(x) if g is None else g for g, x in zip(other, reached, strict=True)]
    first = slopes(weighed(found, weights), [mine[i] for i in inputs])
    same(first, other, rtol, "first gradient")
    if row.torch < 2:
        return
    squares = sum((g * g).sum() for g in other)
    if not squares.requires_grad:
        return
    again = torch.autograd.grad(squares, reached, allow_unused=True)
    total = 0
    for g in first:
        total = total + (g * g).sum()
    second = slopes(total, [mine[i] for i in inputs])
    zeros = [torch.zeros_like(x) if g is None else g for g, x in zip(again, reached, strict=True)]
    same(second, zeros, 10 * rtol, "second gradient")


def same(found: Any, wanted: Any, rtol: float, what: str) -> None:
    for a, b in zip(found, wanted, strict=True):
        mine, other = a.detach().numpy(), b.detach().numpy(force=True)
        assert mine.dtype == other.dtype
        scale = max(float(np.abs(other).max(initial=0)), 1.0)
        np.testing.assert_allclose(mine, other, rtol=rtol, atol=rtol * scale, err_msg=what)
