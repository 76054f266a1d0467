"""Normal distributions of vectors, the distribution of directions in the plane, and distributions of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.types import finfo
from ...errors import ArgumentError
from ...ops.linear_algebra.triangular_systems import over_shared, triangular
from ...ops.operators import F
from . import constraints
from .distribution import LOG_2PI, Distribution, ExponentialFamily, normal, tensors, uniform
from .gamma_family import Beta, Chi2
from .utils import lazy_property, von_mises_quantile


def _transposed(x: Any) -> Any:
    return F.swapaxes(x, -1, -2)


def solved(factor: Any, right: Any) -> Any:
    """factor^-1 right, for a lower triangular factor; both are broadcast."""
    return triangular(factor, right, upper=False)


def squared_length(factor: Any, difference: Any) -> Any:
    """That of factor^-1 difference, for vectors."""

    def squares(a: Any, b: Any) -> Any:
        return F.sum(F.square(triangular(a, b, upper=False)), -2, keepdims=True)

    return F.squeeze(over_shared(factor, F.expand_dims(difference, -1), True, squares), (-2, -1))


class MultivariateNormal(Distribution):
    """Mean loc (..., k) and one of covariance_matrix, precision_matrix and scale_tril, its Cholesky factor (..., k, k)."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ):  # fmt: skip
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise ArgumentError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if not loc.shape:
            raise ArgumentError("loc must be at least one-dimensional.")
        if len(given[0].shape) < 2:
            raise ArgumentError("a matrix must be at least two-dimensional, with optional leading batch dimensions")
        batch = np.broadcast_shapes(tuple(loc.shape[:-1]), tuple(given[0].shape[:-2]))
        k = loc.shape[-1]
        self.loc = F.broadcast_to(loc, (*batch, k))
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
            self.scale_tril = F.broadcast_to(scale_tril, (*batch, k, k))
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = F.cholesky(covariance_matrix)
            self.covariance_matrix = F.broadcast_to(covariance_matrix, (*batch, k, k))
        else:
            self._unbroadcasted_scale_tril = F.cholesky(F.inverse(precision_matrix))
            self.precision_matrix = F.broadcast_to(precision_matrix, (*batch, k, k))
        super().__init__(batch, (k,), validate_args)

    @lazy_property
    def scale_tril(self) -> Any:
        k = self.event_shape[0]
        return F.broadcast_to(self._unbroadcasted_scale_tril, (*self.batch_shape, k, k))

    @lazy_property
    def covariance_matrix(self) -> Any:
        return F.matmul(self.scale_tril, _transposed(self.scale_tril))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance, (..., k, k)."""
        return F.cholesky_inverse(self.scale_tril)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    variance = property(lambda self: F.sum(F.square(self.scale_tril), -1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        z = normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + F.squeeze(F.matmul(self.scale_tril, F.expand_dims(z, -1)), -1)

    def half_log_det(self) -> Any:
        """Of the covariance matrix."""
        half = F.sum(F.log(F.diagonal(self._unbroadcasted_scale_tril, 0, -2, -1)), -1)
        return F.broadcast_to(half, self.batch_shape)

    def log_prob(self, value: Any) -> Any:
        m = squared_length(self._unbroadcasted_scale_tril, self._checked(value) - self.loc)
        return -0.5 * (self.event_shape[0] * LOG_2PI + m) - self.half_log_det()

    def entropy(self) -> Any:
        return 0.5 * self.event_shape[0] * (1 + LOG_2PI) + self.half_log_det()


class LowRankMultivariateNormal(Distribution):
    """Mean loc (..., k), covariance W W^T + diag(d): W = cov_factor (..., k, rank), d = cov_diag (..., k).

    Costs grow with k rank^2: the matrix determinant lemma and Woodbury's identity reduce them to the capacitance matrix
    1 + W^T diag(d)^-1 W of the size of the rank.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None):
        if not loc.shape:
            raise ArgumentError("loc must be at least one-dimensional.")
        k = loc.shape[-1]
        if len(cov_factor.shape) < 2 or cov_factor.shape[-2] != k or not cov_diag.shape or cov_diag.shape[-1] != k:
            raise ArgumentError(
                f"cov_factor must be a batch of matrices with shape {k} x m, and cov_diag a batch of vectors with shape {k}",
                f"got {tuple(cov_factor.shape)} and {tuple(cov_diag.shape)}",
            )
        batch = np.broadcast_shapes(tuple(loc.shape[:-1]), tuple(cov_factor.shape[:-2]), tuple(cov_diag.shape[:-1]))
        self.loc = F.broadcast_to(loc, (*batch, k))
        self.cov_factor = F.broadcast_to(cov_factor, (*batch, *cov_factor.shape[-2:]))
        self.cov_diag = F.broadcast_to(cov_diag, (*batch, k))
        super().__init__(batch, (k,), validate_args)

    @property
    def _scaled(self) -> Any:
        """W^T diag(d)^-1."""
        return _transposed(self.cov_factor / F.expand_dims(self.cov_diag, -1))

    @property
    def _capacitance_tril(self) -> Any:
        rank = self.cov_factor.shape[-1]
        return F.cholesky(F.matmul(self._scaled, self.cov_factor) + np.eye(rank, dtype=self.loc.dtype))

    @property
    def covariance_matrix(self) -> Any:
        """The covariance, (..., k, k)."""
        return F.matmul(self.cov_factor, _transposed(self.cov_factor)) + F.diag_embed(self.cov_diag)

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance, (..., k, k)."""
        a = solved(self._capacitance_tril, self._scaled)
        return F.diag_embed(1 / self.cov_diag) - F.matmul(_transposed(a), a)

    @property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance, (..., k, k)."""
        return F.cholesky(self.covariance_matrix)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    variance = property(lambda self: F.sum(F.square(self.cov_factor), -1) + self.cov_diag)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        low = normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc.dtype)
        rest = normal(shape, self.loc.dtype)
        return self.loc + F.squeeze(F.matmul(self.cov_factor, F.expand_dims(low, -1)), -1) + F.sqrt(self.cov_diag) * rest

    def half_log_det(self) -> Any:
        """Of the covariance matrix."""
        diagonal = F.diagonal(self._capacitance_tril, 0, -2, -1)
        return F.sum(F.log(diagonal), -1) + 0.5 * F.sum(F.log(self.cov_diag), -1)

    def mahalanobis(self, difference: Any) -> Any:
        """difference^T covariance^-1 difference."""
        projected = F.squeeze(F.matmul(self._scaled, F.expand_dims(difference, -1)), -1)
        inner = squared_length(self._capacitance_tril, projected)
        return F.sum(F.square(difference) / self.cov_diag, -1) - inner

    def log_prob(self, value: Any) -> Any:
        m = self.mahalanobis(self._checked(value) - self.loc)
        return -0.5 * (self.event_shape[0] * LOG_2PI + m) - self.half_log_det()

    def entropy(self) -> Any:
        return 0.5 * self.event_shape[0] * (1 + LOG_2PI) + self.half_log_det()


class VonMises(Distribution):
    """Angles in [-pi, pi) with density in proportion to exp(concentration cos(x - loc)). mean is the circular mean, variance
    1 - the length of the mean vector."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None):
        self.loc, self.concentration = tensors(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        u = uniform(self._extended_shape(sample_shape), self.loc.dtype)
        angle = self.loc + von_mises_quantile(u, self.concentration) + math.pi
        return F.stop_gradient(F.remainder(angle, 2 * math.pi) - math.pi)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Any:
        from ... import special

        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def log_prob(self, value: Any) -> Any:
        from ... import special

        angle = self._checked(value) - self.loc
        return self.concentration * (F.cos(angle) - 1) - math.log(2 * math.pi) - F.log(special.i0e(self.concentration))


__all__ = ["LowRankMultivariateNormal", "MultivariateNormal", "VonMises"]


# distributions of matrices: positive definite ones, and Cholesky factors of correlations -----------------------------


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

    mean = property(lambda self: self._scaled(self.df) * self.covariance_matrix)

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
        from ... import linalg

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
