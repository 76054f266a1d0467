"""Windows of signals, and differences along axes, beside NumPy's and PyTorch's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import ArgumentError, ShapeError

SYMMETRIC = {"hann_window": np.hanning, "hamming_window": np.hamming, "blackman_window": np.blackman,
             "bartlett_window": np.bartlett, "kaiser_window": lambda n: np.kaiser(n, 12.0)}  # fmt: skip


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
def test_windows(name, n):
    window = getattr(sg, name)
    np.testing.assert_allclose(window(n, periodic=False, dtype=sg.float64).numpy(), SYMMETRIC[name](n), atol=1e-12)
    if n > 1:
        np.testing.assert_allclose(window(n, dtype=sg.float64).numpy(), SYMMETRIC[name](n + 1)[:-1], atol=1e-12)
    assert window(n).dtype == sg.float32
    assert window(3, requires_grad=True).requires_grad


def test_wrong_windows():
    with pytest.raises(ArgumentError):
        sg.hann_window(-1)
    with pytest.raises(TypeError):
        sg.hann_window(3, unknown=1)


@pytest.mark.parametrize("order", [1, 2])
def test_gradient(order):
    x = np.random.default_rng(0).normal(size=(4, 5))
    places = np.array([0.0, 0.5, 2.0, 2.5, 4.0])
    for mine, theirs in (
        (sg.gradient(sg.tensor(x), edge_order=order), np.gradient(x, edge_order=order)),
        (sg.gradient(sg.tensor(x), spacing=0.5, edge_order=order), np.gradient(x, 0.5, edge_order=order)),
        (sg.gradient(sg.tensor(x), spacing=[2.0, 3.0], dim=(1, 0), edge_order=order),
         np.gradient(x, 2.0, 3.0, axis=(1, 0), edge_order=order)),
        (sg.gradient(sg.tensor(x), spacing=[sg.tensor(places)], dim=1, edge_order=order),
         [np.gradient(x, places, axis=1, edge_order=order)]),
    ):  # fmt: skip
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-10)


def test_wrong_gradients():
    with pytest.raises(ArgumentError, match="edge_order=1 and edge_order=2"):
        sg.gradient(sg.ones(3), edge_order=3)
    with pytest.raises(ShapeError, match=r"at least edge_order\+1"):
        sg.gradient(sg.ones(2), edge_order=2)
    with pytest.raises(ArgumentError, match="one for each of 2 axes"):
        sg.gradient(sg.ones(3, 3), spacing=[1.0])
    with pytest.raises(ShapeError, match="the places along axis 0 to be 3"):
        sg.gradient(sg.ones(3), spacing=[sg.ones(2)])


@pytest.mark.oracle
@pytest.mark.parametrize("name", SYMMETRIC)
def test_windows_of_pytorch(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch = pytest.importorskip("torch")
    for n in (0, 1, 2, 7):
        for periodic in (True, False):
            wanted = getattr(torch, name)(n, periodic=periodic).numpy()
            np.testing.assert_allclose(getattr(sg, name)(n, periodic=periodic).numpy(), wanted, atol=1e-6)
