"""Wishart and LKJCholesky: samples, expansion, checks of arguments, and PyTorch's log-densities."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import distributions as D

SCALE = np.array([[1.0, 0, 0], [0.3, 0.8, 0], [-0.2, 0.4, 1.2]])


def test_samples_of_lkj_are_factors_of_correlations():
    sg.manual_seed(0)
    made = D.LKJCholesky(3, sg.tensor([0.5, 2.0])).expand((4, 2))
    x = made.sample((50,)).numpy()
    assert x.shape == (50, 4, 2, 3, 3)
    np.testing.assert_allclose((x**2).sum(-1), 1, rtol=1e-5)
    assert (np.diagonal(x, axis1=-2, axis2=-1) > 0).all()
    assert (np.triu(x, 1) == 0).all()
    wide, narrow = (np.abs(x[:, :, i, 1, 0]).mean() for i in range(2))
    assert wide > narrow


def test_the_mode_of_wishart_needs_degrees_of_freedom():
    modes = D.Wishart(sg.tensor([3.5, 6.0], dtype=sg.float64), scale_tril=sg.tensor(SCALE)).mode.numpy()
    assert np.isnan(modes[0]).all()
    np.testing.assert_allclose(modes[1], 2 * SCALE @ SCALE.T)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: D.LKJCholesky(1), "Expected dim to be an integer greater than or equal to 2"),
        (lambda: D.Wishart(4.0), "Exactly one of covariance_matrix or precision_matrix or scale_tril"),
        (lambda: D.Wishart(4.0, scale_tril=sg.ones(3)), "at least two-dimensional"),
        (lambda: D.Wishart(2.0, scale_tril=sg.tensor(SCALE)), "df"),
    ],
)
def test_bad_arguments(make, text):
    with pytest.raises(ValueError, match=text):
        make()


@pytest.mark.oracle
@pytest.mark.parametrize("dim", [2, 4])
def test_lkj_against_torch(dim):
    torch = pytest.importorskip("torch")
    concentration = np.array([0.7, 2.5])
    factor = np.linalg.cholesky(np.eye(dim) * 0.6 + 0.4)
    found = D.LKJCholesky(dim, sg.tensor(concentration)).log_prob(sg.tensor(factor))
    expected = torch.distributions.LKJCholesky(dim, torch.tensor(concentration)).log_prob(torch.tensor(factor))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)
