"""Padding, gradients of slices and concatenations that kernels read in place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.autodiff.reverse import gradients
from staticgrad.compiler.backend import code_generation, kernel_cache
from staticgrad.compiler.backend.cpu import BYTES
from staticgrad.operators import F, Symbol
from tests.compiler.helpers import Bench


def slice_gradient(b: Bench, *shape: int, key: object) -> list[Symbol]:
    x = b.feed(*shape)
    return [gradients([F.sum(F.square(x[key]))], [x])[0] * F.exp(x)]


def joined(b: Bench, axis: int, *shapes: tuple[int, ...]) -> Symbol:
    return F.concatenate([b.feed(*shape) for shape in shapes], axis)


IN_PLACE: dict[str, Callable[[Bench], list[Symbol]]] = {
    "the end of a vector": lambda b: slice_gradient(b, 9, key=slice(2, None)),
    "the middle of a vector": lambda b: slice_gradient(b, 9, key=slice(2, 5)),
    "columns": lambda b: slice_gradient(b, 5, 7, key=(slice(None), slice(1, 4))),
    "rows": lambda b: slice_gradient(b, 5, 7, key=slice(1, 4)),
    "rows of many axes": lambda b: slice_gradient(b, 5, 2, 3, key=slice(1, 4)),
    "the last of many axes": lambda b: slice_gradient(b, 2, 3, 7, key=(Ellipsis, slice(0, 6))),
    "nothing": lambda b: slice_gradient(b, 5, 7, key=slice(2, 2)),
    "vectors joined": lambda b: [F.tanh(joined(b, 0, (3,), (4,), (1,)))],
    "rows joined": lambda b: [F.sum(joined(b, 0, (3, 5), (4, 5)), 0)],
    "columns joined": lambda b: [F.softmax(joined(b, 1, (3, 5), (3, 2)))],
    "columns joined, with an empty one": lambda b: [F.exp(joined(b, 1, (3, 5), (3, 0), (3, 2)))],
    "a transposed operand": lambda b: [F.exp(F.concatenate([b.feed(3, 2), b.feed(4, 3).T], 1))],
    "no rows": lambda b: [F.exp(joined(b, 1, (0, 5), (0, 2)))],
    "integers": lambda b: [F.concatenate([b.feed(3, dtype=np.int64), b.feed(2, dtype=np.int64)], 0) * 2],
    "with a bias": lambda b: [F.tanh(joined(b, 1, (3, 5), (3, 2)) + b.feed(7))],
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_read_in_place(name: str):
    b = Bench()
    plan = b.check(*IN_PLACE[name](b), rtol=1e-5)
    assert {row.kind for row in plan.instructions} == {"kernel"}
    assert not any(row.name == "concatenate" for row in plan.instructions)


@pytest.mark.skipif(BYTES < 32, reason="vectors of this CPU have no masks")
@pytest.mark.parametrize("shapes", [[(9, 60), (9, 1)], [(60,), (1,)]])
def test_joined_along_a_row_without_a_gather(shapes: list[tuple[int, ...]]):
    """Each operand is loaded by vectors, whose lanes are neighbors."""
    b = Bench()
    (text,) = b.check(F.exp(joined(b, -1, *shapes) * 2), rtol=1e-5).sources().values()
    _, code = kernel_cache.llvm_code(kernel_cache.header(text) + text)
    optimized = str(code_generation.optimized(code))
    assert "llvm.masked.load" in optimized
    assert "llvm.masked.gather" not in optimized


STORED: dict[str, Callable[[Bench], list[Symbol]]] = {
    "it is a result": lambda b: [y := joined(b, 0, (3,), (4,)), F.exp(y)],
    "a product reads it": lambda b: [joined(b, 1, (3, 5), (3, 2)) @ b.feed(7, 2)],
    "many read it": lambda b: [F.exp(y := joined(b, 0, (3,), (4,))), F.tanh(y), F.sum(y)],
    "many parts": lambda b: [F.exp(joined(b, 0, *[(2,)] * 6))],
    "an operand of many axes, turned": lambda b: [
        F.exp(F.concatenate([F.permute(b.feed(3, 2, 4), (1, 0, 2)), b.feed(2, 3, 5)], 2))
    ],
    "turned, joined along the first axis": lambda b: [
        F.sum(F.concatenate([F.permute(b.feed(4, 3, 2), (2, 1, 0)), b.feed(5, 3, 4)], 0), 0)
    ],
    "an axis in the middle": lambda b: [F.exp(joined(b, 1, (2, 3, 4), (2, 1, 4)))],
    "a slice with gaps": lambda b: slice_gradient(b, 9, key=slice(0, None, 2)),
    "two axes": lambda b: slice_gradient(b, 5, 7, key=(slice(1, 3), slice(2, 4))),
}


@pytest.mark.parametrize("name", STORED)
def test_stored(name: str):
    b = Bench()
    plan = b.check(*STORED[name](b), rtol=1e-5)
    assert any(row.kind in ("copy", "clear") for row in plan.instructions)


def test_what_is_read_at_another_place_is_computed_before():
    """The exp of a row is not at hand where another row needs it."""
    b = Bench()
    x = b.feed(6)
    plan = b.check(F.exp(x) * F.concatenate([F.exp(x)[3:], F.tanh(x)[:3]], 0), rtol=1e-5)
    assert plan.kernels == len(plan.instructions) == 2


def test_a_variable_is_not_written_while_it_is_read_at_another_place():
    b = Bench()
    w = b.variable(6)
    b.assign(w, F.concatenate([w[3:], w[:3]], 0) * 2)
    b.check()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("key", [slice(1, None), slice(0, 2), slice(1, 2)])
def test_a_vector_that_is_the_row_of_a_matrix(dtype: type, key: slice):
    """Its one axis is that of the columns."""

    def step(x: sg.Tensor, w: sg.Tensor) -> sg.Tensor:
        x[key] = 0.5
        loss = nn.functional.cross_entropy((x * w).reshape(1, 3), sg.tensor([0]))
        return sg.grad(loss, [w])[0]

    compiled, w = sg.compile(step), sg.tensor([0.5, -1, 0.25], dtype=dtype, requires_grad=True)
    x, y = sg.tensor([1.0, 2, -1], dtype=dtype), sg.tensor([1.0, 2, -1], dtype=dtype)
    np.testing.assert_allclose(compiled(x, w).numpy(), step(y, w).numpy(), rtol=1e-5)
    np.testing.assert_array_equal(x.numpy(), y.numpy())
    assert "unslice" in compiled.plan.source()
