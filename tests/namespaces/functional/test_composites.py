"""Calls of `nn.functional` as one operation each: values and gradients are those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager.calls.composite_records import CompositeRecord, PartRecord
from staticgrad.nn import functional as F
from tests.helpers import assert_close, sweep
from tests.namespaces.functional.cases import ROWS, Row
from tests.namespaces.functional.test_cases import program, results
from tests.ops.modes import eager, leaves

pytestmark = pytest.mark.usefixtures("empty_default_graph")


def agree(row: Row, order: int, kernels: bool) -> None:
    arrays, call = row.arrays(), program(row, order)
    with sg.eager_kernels(False):
        wanted = eager(call, arrays)
    with sg.eager_kernels(kernels, wait=True, plans=True):
        found = eager(call, arrays)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        assert_close(a, b, 1e-9)


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_plans_agree_with_numpy(row: Row):
    agree(row, 2 if ROWS.index(row) % 8 == 0 else 1, kernels=False)


@pytest.mark.parametrize("row", sweep(ROWS, lambda i, _: i % 3 == 0), ids=[row.name for row in ROWS])
def test_kernels_agree_with_numpy(row: Row):
    """Every eighth row to the second gradient, whose kernels take most of the time. `test_cases.py` compiles all rows."""
    agree(row, 2 if ROWS.index(row) % 8 == 0 else 1, kernels=True)


SEVERAL = {
    "relu in place": "an op",
    "elu_": "its result takes the input's place",
    "rrelu": "may draw numbers",
    "fractional": "may draw numbers",
    "fractional 3d": "may draw numbers",
    "ctc": "checks the lengths before it",
    "ctc joined": "checks the lengths before it",
    "ctc impossible": "checks the lengths before it",
    "triplet distance": "its distance is the caller's",
    "embedding by frequency": "its gradient is a few rows",
    "embedding bag padded": "its gradient is a few rows",
    "embedding bag offsets": "its gradient is a few rows",
    "embedding bag last": "its gradient is a few rows",
    "embedding bag max": "its gradient is a few rows",
    "embedding bag weighted": "its gradient is a few rows",
    "attention heads": "calls of others between views",
    "attention heads with keys": "calls of others between views",
    "pixel shuffle": "moves values",
    "pixel unshuffle": "moves values",
    "channel shuffle": "moves values",
    "nearest size": "its gradient is a few rows",
    "nearest-exact size": "its gradient is a few rows",
    "pad cut and reflected": "saves its input",
    "pad cut and replicated": "its gradient is a few rows",
    "multilabel margin": "counts with a routine",
    "prelu": "its gradient has rules of its own, for second gradients of 0",
    "adaptive max": "its gradient has rules of its own, for second gradients of 0",
    "adaptive max 1d": "its gradient has rules of its own, for second gradients of 0",
    "adaptive max 3d": "its gradient has rules of its own, for second gradients of 0",
}
"""Why a call is not one operation."""


@pytest.mark.parametrize("row", [r for r in ROWS if r.name not in SEVERAL], ids=lambda row: row.name)
def test_a_call_is_one_operation(row: Row):
    with sg.eager_kernels(wait=True):
        for out in results(row, leaves(row.arrays())):
            if out.dtype.kind == "f" and out._record is not None:
                assert isinstance(out._record, (CompositeRecord, PartRecord)), out._record


@pytest.mark.parametrize("function", [F.leaky_relu, F.hardtanh, F.silu, F.elu], ids=lambda f: f.__name__)
def test_in_place_after_an_operation(function: Any):
    """The backward plan reads the input as it was."""
    data, found = np.linspace(-3, 3, 12), []
    for inplace in (False, True):
        with sg.eager_kernels(wait=True):
            x = sg.tensor(data, requires_grad=True)
            y = function(x * 2, inplace=inplace)
            found.append([y.detach().numpy(), *(g.numpy() for g in sg.grad(y.square().sum(), [x]))])
    for a, b in zip(*found, strict=True):
        assert_close(a, b, 1e-12)


def test_indices_beside_values():
    x = np.random.default_rng(0).standard_normal((2, 3, 8, 8))
    found = []
    for enabled in (False, True):
        with sg.eager_kernels(enabled, wait=True):
            given = sg.tensor(x, requires_grad=True)
            values, indices = F.max_pool2d(given, 2, return_indices=True)
            assert indices.dtype == sg.int64
            assert not indices.requires_grad
            back = F.max_unpool2d(values, indices, 2)
            found.append([indices.numpy(), back.detach().numpy(), *(g.numpy() for g in sg.grad(back.square().sum(), [given]))])
    for a, b in zip(*found, strict=True):
        assert_close(a, b, 1e-12)
