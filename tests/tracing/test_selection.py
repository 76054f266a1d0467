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


USES = [
    lambda y, m: y[m],
    lambda y, m: y[m].max(),
    lambda y, m: y[m].sum(0),
    lambda y, m: y[m] > 1,
    lambda y, m: y[m] + y,
    lambda y, m: y[m] + y[y > 2],
    lambda y, m: y[m] + sg.ones(4),
    lambda y, m: y[m] + sg.ones(9),
    lambda y, m: y[m] * sg.tensor(2.0, dtype=sg.float64),
    lambda y, m: y[y[:, 0] > 1].t(),
    lambda y, m: y[m].view(-1, 1),
    lambda y, m: y[m][1:3],
    lambda y, m: y[m].unsqueeze(0) @ y[m],
    lambda y, m: sg.nn.functional.pad(y[m], (1, 1)),
    lambda y, m: sg.nn.functional.dropout(y[m], 0.5),
    lambda y, m: y[m].topk(2)[0],
    lambda y, m: y[m].sum().item(),
    lambda y, m: y.__setitem__(y > 2, y[m] * 2),
    lambda y, m: y.__setitem__(y > 1, sg.flip(y[m], (0,))),
    lambda y, m: y.__setitem__(0, y[m] * 2),
    lambda y, m: y[0].__setitem__(m[0], y[m] * 2),
    lambda y, m: y.copy_(y[m]),
]
"""Uses of elements that one plan has."""
COUNTS = [lambda y, m: y[m].shape, lambda y, m: y[m].size(), lambda y, m: y[m].numel()]
"""Uses that take it as a number of the run."""
ASKS = [
    lambda y, m: len(y[m]),
    lambda y, m: [2 * v for v in y[m]],
    lambda y, m: y[m].stride(),
    lambda y, m: sg.zeros(sg.nonzero(m).shape[0]),
]
"""Uses in which Python asks for its value."""


def outcome(use, **settings):
    """What eager mode, and a compiled function, make of a use: the results, or the class of the error."""
    values = sg.tensor([[1.0, 2.0, 0.0], [3.0, 0.5, 4.0], [1.5, 0.25, 1.0]])

    def step(x):
        y = x * 1
        return use(y, y > 1), y

    found = []
    for fn in (step, sg.compile(step, **settings)):
        sg.manual_seed(0)
        try:
            found.append(fn(values))
        except (sg.errors.StaticgradError, RuntimeError) as error:
            found.append(type(error))
    return [repr(each) for each in found]


@pytest.mark.parametrize("use", USES)
def test_one_plan_has_the_elements(use):
    eager, compiled = outcome(use, on_break="error")
    assert eager == compiled


@pytest.mark.parametrize("use", COUNTS)
def test_their_number_is_one_of_the_run(use):
    eager, compiled = outcome(use, on_break="error")
    assert eager == compiled


@pytest.mark.parametrize("use", ASKS)
def test_code_that_asks_for_their_number(use):
    eager, refused = outcome(use, on_break="error")
    assert refused in (repr(sg.DataDependentError), repr(sg.TraceError))
    assert outcome(use) == [eager, eager]
