"""Gradients of picked rows, which kernels add up, and the notes of these rows."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.ops.sparse_rows import rows_of
from tests.helpers import taken

CASES = {
    "rows": ((70, 300), 0, 90),
    "narrow rows": ((7000, 5), 0, 9000),
    "along the last axis": ((300, 70), 1, 90),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
def test_sums_of_rows(case: str, dtype: type):
    shape, axis, count = CASES[case]
    rng = np.random.default_rng(0)
    index = rng.integers(0, shape[axis], count)
    x = sg.tensor(rng.standard_normal(shape).astype(dtype), requires_grad=True)
    out = sg.index_select(x, axis, sg.tensor(index))
    seed = sg.tensor(rng.standard_normal(out.shape).astype(dtype))
    found = []
    for kernels in ({"enabled": False}, {"wait": True}):
        before = {*taken()}  # not their number: the table may be full
        with sg.eager_kernels(**kernels):
            (g,) = sg.autograd.grad(out, [x], seed, retain_graph=True)
        assert bool({*taken()} - before) == ("wait" in kernels)
        rows = rows_of(g._data)
        assert (None if rows is None else rows.tolist()) == (index.tolist() if axis == 0 else None)
        found.append(g.numpy())
    np.testing.assert_allclose(*found, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-5 if dtype == np.float32 else 1e-12)


def test_the_gradient_of_a_changed_index_has_its_former_rows():
    x, index = sg.ones(64, 512, requires_grad=True), np.arange(60)
    with sg.eager_kernels(wait=True):
        (g,) = sg.autograd.grad(sg.index_select(x, 0, sg.tensor(index)).sum(), [x])
    index[:] = 63
    rows = rows_of(g._data)
    assert rows is not None
    assert rows.tolist() == list(range(60))
