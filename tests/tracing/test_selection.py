"""Masked elements in compiled functions: elementwise operations, sums, and values in order."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg

X = np.array([[1.0, 5.0, 3.0], [0.0, 2.5, 7.0]], "float32")


def doubled(y):
    y[y > 2] = y[y > 2] * 2


def function_of_elements(y):
    mask = y > 2
    y[mask] = sg.exp(-y[mask]) + sg.sqrt(y[mask]) - sg.acosh(y[mask])


def chosen(y):
    mask = y > 2
    y[mask] = sg.where(y[mask] > 4, y[mask], 0 * y[mask])


def vector(y):
    y[y > 2] = sg.arange(4.0) * 10


def rows(y):
    y[y[:, 0] > 0] = sg.tensor([[1.0, 2.0, 3.0]])


def total_and_mean(y):
    z = y * 1
    y.mul_(y[z > 2].sum() - z[z > 2].mean())


@pytest.mark.parametrize("change", [doubled, function_of_elements, chosen, vector, rows, total_and_mean])
def test_agreement_with_eager_mode(change):
    def step(x):
        y = x * 1
        change(y)
        (y**2).sum().backward()
        return y

    found = []
    for fn in (step, sg.compile(step, on_break="error")):
        x = sg.tensor(X, requires_grad=True)
        found.append((fn(x).detach(), x.grad))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("count", [3, 5])
def test_another_number_of_values(count):
    fn = sg.compile(lambda x: (x * 1).__setitem__(x > 2, sg.ones(count)), on_break="error")
    kept = sg.compile(lambda x, v: _set(x * 1, x > 2, v), on_break="error")
    with pytest.raises(sg.ShapeError, match="can't write a value"):
        kept(sg.tensor(X), sg.ones(count))
    with pytest.raises(sg.ShapeError, match="can't write a value"):  # as eagerly, where nobody reads the values
        fn(sg.tensor(X))


def _set(y, mask, values):
    y[mask] = values
    return y


def test_sums_along_an_axis_are_refused():
    with pytest.raises(sg.DataDependentError):
        sg.compile(lambda x: x[x > 2].sum(0), on_break="error")(sg.tensor(X))
