"""First values: their distributions, and PyTorch's where nothing is drawn."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy import stats

import staticgrad as sg
from staticgrad.errors import ArgumentError, ShapeError
from staticgrad.nn import init


def empty(*shape, dtype="float64"):
    return sg.zeros(*shape, dtype=dtype)


DISTRIBUTIONS = [
    ("uniform_", {"a": -1.0, "b": 3.0}, (4000,), stats.uniform(-1, 4)),
    ("normal_", {"mean": 2.0, "std": 0.5}, (4000,), stats.norm(2, 0.5)),
    ("trunc_normal_", {}, (4000,), stats.truncnorm(-2, 2)),
    ("trunc_normal_", {"mean": 1.0, "std": 2.0, "a": 0.0, "b": 3.0}, (4000,), stats.truncnorm(-0.5, 1, 1, 2)),
    ("xavier_uniform_", {"gain": 2.0}, (40, 50), stats.uniform(-2 * (6 / 90) ** 0.5, 4 * (6 / 90) ** 0.5)),
    ("xavier_normal_", {}, (40, 50), stats.norm(0, (2 / 90) ** 0.5)),
    ("kaiming_uniform_", {"a": 1.0}, (40, 5, 10), stats.uniform(-((3 / 50) ** 0.5), 2 * (3 / 50) ** 0.5)),
    ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "selu"}, (40, 50), stats.norm(0, 0.75 / 40**0.5)),
]


@pytest.mark.parametrize(("name", "kwargs", "shape", "expected"), DISTRIBUTIONS, ids=[row[0] for row in DISTRIBUTIONS])
def test_distributions(name, kwargs, shape, expected):
    generator = sg.Generator().manual_seed(1)
    tensor = empty(*shape)
    assert getattr(init, name)(tensor, **kwargs, generator=generator) is tensor
    assert stats.kstest(tensor.numpy().ravel(), expected.cdf).pvalue > 1e-3
    again = getattr(init, name)(empty(*shape), **kwargs, generator=sg.Generator().manual_seed(1))
    np.testing.assert_array_equal(again.numpy(), tensor.numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal(shape, dtype):
    w = init.orthogonal_(empty(*shape, dtype=dtype), 2.0).numpy().reshape(shape[0], -1)
    assert w.dtype == dtype
    product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


def test_sparse():
    w = init.sparse_(empty(10, 6), 0.25, 3.0).numpy()
    assert (np.count_nonzero(w == 0, 0) == 3).all()
    assert np.std(w[w != 0]) > 1


def test_what_is_not_drawn():
    np.testing.assert_array_equal(init.eye_(empty(2, 3)).numpy(), np.eye(2, 3))
    w = init.dirac_(empty(4, 2, 3), 2).numpy()
    assert [tuple(i) for i in np.argwhere(w)] == [(0, 0, 1), (1, 1, 1), (2, 0, 1), (3, 1, 1)]


@pytest.mark.parametrize(("call", "error"), [
    (lambda: init.eye_(empty(3)), ShapeError),
    (lambda: init.sparse_(empty(3), 0.1), ShapeError),
    (lambda: init.orthogonal_(empty(3)), ShapeError),
    (lambda: init.dirac_(empty(3, 3)), ShapeError),
    (lambda: init.dirac_(empty(3, 3, 3), 2), ArgumentError),
    (lambda: init.calculate_gain("mish"), ArgumentError),
])  # fmt: skip
def test_refusals(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.oracle
def test_against_torch():
    theirs = pytest.importorskip("torch").nn.init
    torch = pytest.importorskip("torch")
    for name in ("calculate_gain", *(n for n in init.__all__ if n.endswith("_"))):
        both = (inspect.signature(getattr(lib, name)).parameters.values() for lib in (init, theirs))
        mine, other = ([(p.name, p.default) for p in found] for found in both)
        assert mine == other, name
    assert set(init.__all__) >= set(theirs.__all__)
    for nonlinearity in (*init.GAINS, "leaky_relu"):
        assert init.calculate_gain(nonlinearity) == pytest.approx(theirs.calculate_gain(nonlinearity))
    assert init.calculate_gain("leaky_relu", 0.3) == pytest.approx(theirs.calculate_gain("leaky_relu", 0.3))
    for shape, groups in (((6, 2, 3), 3), ((4, 4, 3, 4), 1), ((2, 3, 2, 3, 3), 2)):
        mine, other = init.dirac_(empty(*shape), groups), theirs.dirac_(torch.empty(shape), groups)
        np.testing.assert_array_equal(mine.numpy(), other.numpy())
