"""Results of extents that are given, counts of values: the same in every mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import ArgumentError

X = np.array([[1, 0, 2], [0, 0, 3]])

FIXED = {
    "nonzero_static": lambda x: (sg.nonzero_static(x, size=2), x.nonzero_static(size=5, fill_value=-7)),
    "histogram": lambda x: (*sg.histogram(x * 1.0, 3), *sg.histogram(x * 1.0, 4, range=(0, 2), density=True)),
    "histogram of one value": lambda x: tuple(sg.histogram(x * 0.0, 2)),
    "histogram by edges": lambda x: sg.histogram(x * 1.0, sg.tensor([0.0, 1.0, 2.5]), weight=x * 0.5)[:1],
    "histogramdd": lambda x: (lambda h, e: (h, *e))(*sg.histogramdd(x * 1.0, [2, 3, 1], weight=x[:, 0] + 2.0)),
    "histogramdd in a range": lambda x: sg.histogramdd(x * 1.0, 2, range=[0.0, 1, 0, 1, 0, 2], density=True)[:1],
    "histc": lambda x: (sg.histc(x * 1.0, 4, 0, 3), (x * 1.0).histc(bins=2), sg.histc(x * 0.0, 3)),
}


@pytest.mark.parametrize("name", FIXED)
def test_extents_that_are_given_are_the_same_in_every_mode(name):
    call = FIXED[name]
    eager = call(sg.tensor(X))
    for mine, other in zip(eager, sg.compile(call)(sg.tensor(X)), strict=True):
        np.testing.assert_array_equal(other.numpy(), mine.numpy())
    with sg.Graph().as_default(), sg.Session() as sess:
        x = sg.placeholder(sg.int64, (None, 3))
        for mine, other in zip(eager, sess.run(call(x), {x: X}), strict=True):
            np.testing.assert_array_equal(other, mine.numpy())


def test_values():
    assert sg.nonzero_static(sg.tensor(X), size=2).tolist() == [[0, 0], [0, 2]]
    assert sg.nonzero_static(sg.tensor(X), size=4).tolist() == [[0, 0], [0, 2], [1, 2], [-1, -1]]
    assert sg.nonzero_static(sg.tensor(1.0), size=2).shape == (2, 0)
    assert sg.histc(sg.tensor([0.0, 1.0, 1.0, 3.0, 9.0]), 3, 0, 3).tolist() == [1, 2, 1]
    counts, edges = sg.histogramdd(sg.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), [2, 1], weight=sg.tensor([1.0, 2.0, 4.0]))
    assert counts.tolist() == [[1.0], [6.0]]
    assert [e.tolist() for e in edges] == [[0.0, 1.0, 2.0], [0.0, 2.0]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: sg.nonzero_static(sg.ones(2), size=-1), "size has to be at least 0"),
        (lambda: sg.histc(sg.ones(2), 0), "bins must be > 0"),
        (lambda: sg.histc(sg.ones(2), 3, 2, 1), "not finite or not ascending"),
        (lambda: sg.histc(sg.tensor([float("nan")])), "not finite or not ascending"),
        (lambda: sg.histogramdd(sg.ones(2), 3), "at least 2 dimensions"),
        (lambda: sg.histogramdd(sg.ones(2, 2), [3]), "expected 2 numbers of bins"),
        (lambda: sg.histogramdd(sg.ones(2, 2), 3, range=[0.0]), "range has to have 4 elements"),
        (lambda: sg.histogramdd(sg.ones(2, 2), [sg.tensor([1.0, 0.0])] * 2), "edges, ascending"),
    ],
)
def test_wrong_arguments(call, text):
    with pytest.raises(ArgumentError, match=text):
        call()


HISTOGRAMS: dict[str, Any] = {
    "histc": lambda x: sg.histc(x, 4, -2, 2),
    "histogram": lambda x: sg.histogram(x, 4, range=(-2.0, 2.0))[0],
    "weights": lambda x: sg.histogram(x, 4, range=(-2.0, 2.0), weight=x)[0],
    "edges": lambda x: sg.histogram(x, 3)[1],
    "histogramdd": lambda x: sg.histogramdd(sg.reshape(x, (-1, 2)), [2, 2], range=[-2.0, 2.0, -2.0, 2.0])[0],
}


@pytest.mark.parametrize("name", HISTOGRAMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_gradient_flows_through_histograms(name: str, dtype: str):
    """In a loss beside others: they count as constants in every mode, to second order."""
    array = np.random.default_rng(0).standard_normal(12).astype(dtype)

    def loss(x: Any) -> Any:
        return (x**3).sum() * (1 + HISTOGRAMS[name](x).sum())

    x = sg.tensor(array, requires_grad=True)
    factor = 1 + float(HISTOGRAMS[name](x).sum())

    def slopes(x: Any) -> Any:
        (first,) = sg.grad(loss(x), x, create_graph=True)
        return first, sg.grad(first.sum(), x)[0]

    for found in (slopes(x), sg.compile(slopes, on_break="error")(x)):
        for mine, expected in zip(found, (3 * array**2 * factor, 6 * array * factor), strict=True):
            np.testing.assert_allclose(mine.detach().numpy(), expected, rtol=1e-5)
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.placeholder(dtype, [12])
        first = sg.gradients(loss(x), x)[0]
        results = session.run([first, sg.gradients(sg.sum(first), x)[0]], {x: array})
    for mine, expected in zip(results, (3 * array**2 * factor, 6 * array * factor), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-5)
