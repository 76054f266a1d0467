"""Stencils: kernels read padded values and gradients of slices where they were, with the same values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.functional as F
from tests.helpers import rng_of


def five_points(u: Any) -> Any:
    p = F.pad(u, (1, 1, 1, 1))
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u


def far_and_near(u: Any) -> Any:
    p = F.pad(u, (3, 0, 0, 2))
    return p[2:, :-3] * p[:-2, 3:] - u


def border_of_ones(u: Any) -> Any:
    p = F.pad(u, (1, 2), value=1.0)
    return p[:, 3:] * p[:, :-3] + u


def joined(u: Any) -> Any:
    whole = sg.concatenate([u, u * u, u], 0)
    return whole[3:9] - whole[8:14]


def gap_of_zeros(u: Any) -> Any:
    p = sg.concatenate([u, sg.zeros((2, 7)), u], 0)
    return p[1:7] * p[3:9]


def periodic(u: Any) -> Any:
    p = sg.concatenate([u[:, -1:], u, u[:, :1]], 1)
    return p[:, 2:] - 2 * u + p[:, :-2]


def outside(u: Any) -> Any:
    return F.pad(u, (9, 0))[:, :7] + u * u


STENCILS = [five_points, far_and_near, border_of_ones, joined, gap_of_zeros, periodic, outside]


@pytest.mark.parametrize("stencil", STENCILS)
def test_values_and_gradients(stencil: Callable[[Any], Any]):
    def step(u: Any) -> Any:
        u.requires_grad_()
        y = stencil(u)
        (g,) = sg.grad((y**2).sum(), u, create_graph=True)
        (h,) = sg.grad((g**2).sum(), u)
        return y.detach(), g.detach(), h

    u = rng_of(stencil.__name__).standard_normal((6, 7))
    for found, expected in zip(sg.compile(step)(sg.tensor(u)), step(sg.tensor(u)), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12, atol=1e-12)


def test_stencil_copies_nothing():
    """Neither the padding nor its gradient is in memory, and neighbors beyond the border are 0 where others are infinite."""

    def step(u: Any) -> Any:
        u.requires_grad_()
        y = five_points(u)
        return y.detach(), sg.grad((y * y).sum(), u)[0]

    run, u = sg.compile(step), rng_of("copies").standard_normal((6, 7))
    u[0, 0] = np.inf
    for found, expected in zip(run(sg.tensor(u)), step(sg.tensor(u)), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)
    assert {row.kind for row in run.plan.instructions} == {"kernel"}
    assert "shifted operand" in run.plan.explain()
