"""Distributions of matrices: positive definite ones, and Cholesky factors of correlations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.number_limits import finfo
from ..errors import ArgumentError
from ..operators import F
from . import constraints
from .distribution import Distribution, ExponentialFamily, normal, tensors
from .gamma_family import Beta, Chi2
from .multivariate import solved


def log_diagonal(factor: Any) -> Any:
    """The logarithm of a triangular matrix's determinant."""
    return F.sum(F.log(F.diagonal(factor, 0, -2, -1)), -1)


class Wishart(ExponentialFamily):
    """The sum of df outer products of normal vectors with one of covariance_matrix, precision_matrix and scale_tril, its
    Cholesky factor (..., p, p); df > p - 1 may be fractional.

    Samples are Bartlett's: scale_tril A A^T scale_tril^T, where A is lower triangular, with normal numbers below its diagonal
    and roots of chi-squared ones on it. Source: Odell and Feiveson, "A numerical procedure to generate a sample covariance
    matrix", 1966.
    """

    support = constraints.positive_definite
    has_rsample = True

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ):  # fmt: skip
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise ArgumentError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if len(given[0].shape) < 2:
            raise ArgumentError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if scale_tril is None:
            covariance_matrix = F.inverse(precision_matrix) if covariance_matrix is None else covariance_matrix
            scale_tril = F.cholesky(covariance_matrix)
        df = F.astype(tensors(df)[0], scale_tril.dtype)
        p = scale_tril.shape[-1]
        batch = np.broadcast_shapes(tuple(df.shape), tuple(scale_tril.shape[:-2]))
        self.df = F.broadcast_to(df, batch)
        self.scale_tril = F.broadcast_to(scale_tril, (*batch, p, p))
        super().__init__(batch, (p, p), validate_args)
        self._chi2 = Chi2(F.expand_dims(self.df, len(batch)) - np.arange(p, dtype=scale_tril.dtype), validate_args)

    @property
    def arg_constraints(self) -> dict[str, Any]:  # type: ignore[override]  # the least df depends on the size
        return {"scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    @property
    def covariance_matrix(self) -> Any:
        """The covariance, (..., k, k)."""
        return F.matmul(self.scale_tril, self.scale_tril.mT)

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance, (..., k, k)."""
        return F.cholesky_inverse(self.scale_tril)

    def _scaled(self, x: Any) -> Any:
        return F.expand_dims(x, (len(self.batch_shape), len(self.batch_shape) + 1))

    @property
    def mean(self) -> Any:
        return self._scaled(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self.event_shape[-1] - 1
        return self._scaled(F.where(factor > 0, factor, math.nan)) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        v = self.covariance_matrix
        diagonal = F.diagonal(v, 0, -2, -1)
        n = len(self.batch_shape)
        return self._scaled(self.df) * (F.square(v) + F.expand_dims(diagonal, n + 1) * F.expand_dims(diagonal, n))

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        dtype = self.scale_tril.dtype
        roots = F.clamp(F.sqrt(self._chi2.rsample(sample_shape)), min=float(finfo(dtype).eps))
        a = F.tril(normal(shape, dtype), -1) + F.diag_embed(roots)
        factor = F.matmul(self.scale_tril, a)
        return F.matmul(factor, factor.mT)

    def log_prob(self, value: Any) -> Any:
        from .. import linalg

        value, nu, p = self._checked(value), self.df, self.event_shape[-1]
        whitened = solved(self.scale_tril, solved(self.scale_tril, value).mT)
        return (
            -nu * (0.5 * p * math.log(2) + log_diagonal(self.scale_tril))
            - F.mvlgamma(nu / 2, p)
            + 0.5 * (nu - p - 1) * linalg.slogdet(value).logabsdet
            - 0.5 * F.sum(F.diagonal(whitened, 0, -2, -1), -1)
        )

    def digammas(self) -> Any:
        """The derivative of the logarithm of the multivariate gamma function at df / 2."""
        halves = F.expand_dims(self.df / 2, len(self.batch_shape)) - 0.5 * np.arange(self.event_shape[-1], dtype=self.df.dtype)
        return F.sum(F.digamma(halves), -1)

    def entropy(self) -> Any:
        nu, p = self.df, self.event_shape[-1]
        digammas = self.digammas()
        return (
            (p + 1) * (0.5 * p * math.log(2) + log_diagonal(self.scale_tril))
            + F.mvlgamma(nu / 2, p)
            - 0.5 * (nu - p - 1) * digammas
            + 0.5 * nu * p
        )


class LKJCholesky(Distribution):
    """The Cholesky factor L of correlation matrices (dim, dim), of density det(L L^T)^(concentration - 1) for L L^T.

    Samples are made by the onion method. Source: Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based
    on vines and extended onion method", 2009, section 3.2.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None):
        if dim < 2:
            raise ArgumentError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = tensors(concentration)
        batch = tuple(self.concentration.shape)
        offset = np.concatenate([[0], np.arange(dim - 1)]).astype(self.concentration.dtype)
        marginal = F.expand_dims(self.concentration + 0.5 * (dim - 2), len(batch))
        self._beta = Beta(F.zeros_like(marginal) + offset + 0.5, marginal - 0.5 * offset)
        super().__init__(batch, (dim, dim), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        y = F.expand_dims(F.stop_gradient(self._beta.rsample(sample_shape)), len(shape) - 1)
        directions = F.tril(normal(shape, y.dtype), -1)
        size = F.sqrt(F.sum(F.square(directions), -1, True))
        w = F.sqrt(y) * directions / F.where(F.eq(size, 0), 1, size)
        rest = F.clamp(1 - F.sum(F.square(w), -1), min=float(finfo(y.dtype).tiny))
        return w + F.diag_embed(F.sqrt(rest))

    def log_prob(self, value: Any) -> Any:
        logs = F.log(F.diagonal(self._checked(value), 0, -2, -1)[..., 1:])
        places = np.arange(2, self.dim + 1, dtype=self.concentration.dtype)
        order = 2 * F.expand_dims(self.concentration - 1, len(self.batch_shape)) + self.dim - places
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        constant = 0.5 * less * math.log(math.pi) + F.mvlgamma(alpha - 0.5, less) - F.lgamma(alpha) * less
        return F.sum(order * logs, -1) - constant
