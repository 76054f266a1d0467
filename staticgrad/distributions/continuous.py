"""Continuous distributions. Formulas and arguments are those of `torch.distributions`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..operators import F
from .distribution import EULER, LOG_2PI, Distribution, normal, tensors, uniform
from .gamma_quantile import gamma_quantile


class _LocScale(Distribution):
    """Arguments loc and scale > 0; a sample is loc + scale z."""

    arg_constraints = {"loc": "real", "scale": "positive"}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = tensors(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _z(self, value: Any) -> Any:
        return (value - self.loc) / self.scale

    def _standard(self, shape: Any) -> Any:
        """z of uniform numbers."""
        return self._quantile(uniform(shape, self.loc.dtype))

    def _quantile(self, u: Any) -> Any:
        raise NotImplementedError

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.loc + self.scale * self._standard(self._shape(sample_shape))

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * self._quantile(value)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc


class Normal(_LocScale):
    """Mean loc, standard deviation scale."""

    def _standard(self, shape: Any) -> Any:
        return normal(shape, self.loc.dtype)

    def _quantile(self, u: Any) -> Any:
        return math.sqrt(2) * F.erfinv(2 * u - 1)

    @property
    def variance(self) -> Any:
        return F.square(self.scale)

    def log_prob(self, value: Any) -> Any:
        return -F.square(self._z(value)) / 2 - F.log(self.scale) - LOG_2PI / 2

    def cdf(self, value: Any) -> Any:
        return 0.5 * (1 + F.erf(self._z(value) / math.sqrt(2)))

    def entropy(self) -> Any:
        return 0.5 + LOG_2PI / 2 + F.log(self.scale)


class Laplace(_LocScale):
    """Density exp(-|z|) / (2 scale)."""

    def _quantile(self, u: Any) -> Any:
        t = u - 0.5
        return -F.sign(t) * F.log1p(-2 * F.abs(t))

    @property
    def variance(self) -> Any:
        return 2 * F.square(self.scale)

    def log_prob(self, value: Any) -> Any:
        return -F.log(2 * self.scale) - F.abs(self._z(value))

    def cdf(self, value: Any) -> Any:
        z = self._z(value)
        return 0.5 - 0.5 * F.sign(z) * F.expm1(-F.abs(z))

    def entropy(self) -> Any:
        return 1 + F.log(2 * self.scale)


class Cauchy(_LocScale):
    """Density 1 / (pi scale (1 + z^2)); no mean."""

    def _quantile(self, u: Any) -> Any:
        return F.tan(math.pi * (u - 0.5))

    @property
    def mean(self) -> Any:
        return self.loc * math.nan

    @property
    def variance(self) -> Any:
        return self.loc * 0 + math.inf

    def log_prob(self, value: Any) -> Any:
        return -math.log(math.pi) - F.log(self.scale) - F.log1p(F.square(self._z(value)))

    def cdf(self, value: Any) -> Any:
        return F.atan2(self._z(value), 1.0) / math.pi + 0.5

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + F.log(self.scale)


class Gumbel(_LocScale):
    """Density exp(-(z + exp(-z))) / scale."""

    def _quantile(self, u: Any) -> Any:
        return -F.log(-F.log(u))

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * EULER

    @property
    def variance(self) -> Any:
        return math.pi**2 / 6 * F.square(self.scale)

    def log_prob(self, value: Any) -> Any:
        z = self._z(value)
        return -(z + F.exp(-z)) - F.log(self.scale)

    def cdf(self, value: Any) -> Any:
        return F.exp(-F.exp(-self._z(value)))

    def entropy(self) -> Any:
        return F.log(self.scale) + 1 + EULER


class _Folded(Distribution):
    """|x| of a distribution about 0 with a scale."""

    arg_constraints = {"scale": "positive"}
    has_rsample = True
    base: type[_LocScale]

    def __init__(self, scale: Any, validate_args: bool | None = None):
        (self.scale,) = tensors(scale)
        self._both = self.base(0 * self.scale, self.scale, validate_args=False)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return F.abs(self._both.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        inside = self._both.log_prob(value) + math.log(2)
        return F.where(value >= 0, inside, -math.inf)

    def cdf(self, value: Any) -> Any:
        return 2 * self._both.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        return self._both.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self._both.entropy() - math.log(2)


class HalfNormal(_Folded):
    """|x| of a normal x with mean 0."""

    base = Normal

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        return F.square(self.scale) * (1 - 2 / math.pi)


class HalfCauchy(_Folded):
    """|x| of a Cauchy x about 0."""

    base = Cauchy

    @property
    def mean(self) -> Any:
        return self.scale * 0 + math.inf

    @property
    def variance(self) -> Any:
        return self.scale * 0 + math.inf


class Uniform(Distribution):
    """On [low, high)."""

    arg_constraints = {"low": "real", "high": "real"}
    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None):
        self.low, self.high = tensors(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.low + (self.high - self.low) * uniform(self._shape(sample_shape), self.low.dtype)

    @property
    def mean(self) -> Any:
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Any:
        return F.square(self.high - self.low) / 12

    def log_prob(self, value: Any) -> Any:
        inside = F.logical_and(value >= self.low, value < self.high)
        return F.where(inside, -F.log(self.high - self.low), -math.inf)

    def cdf(self, value: Any) -> Any:
        return F.clip((value - self.low) / (self.high - self.low), 0, 1)

    def icdf(self, value: Any) -> Any:
        return self.low + (self.high - self.low) * value

    def entropy(self) -> Any:
        return F.log(self.high - self.low)


class Exponential(Distribution):
    """Density rate exp(-rate x)."""

    arg_constraints = {"rate": "positive"}
    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None):
        (self.rate,) = tensors(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(uniform(self._shape(sample_shape), self.rate.dtype))

    @property
    def mean(self) -> Any:
        return 1 / self.rate

    @property
    def variance(self) -> Any:
        return 1 / F.square(self.rate)

    def log_prob(self, value: Any) -> Any:
        return F.log(self.rate) - self.rate * value

    def cdf(self, value: Any) -> Any:
        return -F.expm1(-self.rate * value)

    def icdf(self, value: Any) -> Any:
        return -F.log1p(-value) / self.rate

    def entropy(self) -> Any:
        return 1 - F.log(self.rate)


class Gamma(Distribution):
    """Density rate^a x^(a - 1) exp(-rate x) / Gamma(a), a = concentration."""

    arg_constraints = {"concentration": "positive", "rate": "positive"}
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        self.concentration, self.rate = tensors(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._shape(sample_shape)
        a = F.broadcast_to(self.concentration, shape)
        return gamma_quantile(a, uniform(shape, a.dtype)) / self.rate

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def variance(self) -> Any:
        return self.concentration / F.square(self.rate)

    def log_prob(self, value: Any) -> Any:
        a, rate = self.concentration, self.rate
        return F.xlogy(a, rate) + F.xlogy(a - 1, value) - rate * value - F.lgamma(a)

    def cdf(self, value: Any) -> Any:
        return F.igamma(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        a = self.concentration
        return a - F.log(self.rate) + F.lgamma(a) + (1 - a) * F.digamma(a)


class Chi2(Gamma):
    """The sum of squares of df standard normal numbers."""

    def __init__(self, df: Any, validate_args: bool | None = None):
        (self.df,) = tensors(df)
        super().__init__(0.5 * self.df, 0.5, validate_args)


class InverseGamma(Distribution):
    """1 / x of a Gamma x."""

    arg_constraints = {"concentration": "positive", "rate": "positive"}
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        self.concentration, self.rate = tensors(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return 1 / Gamma(self.concentration, self.rate, False).rsample(sample_shape)

    @property
    def mean(self) -> Any:
        a = self.concentration
        return F.where(a > 1, self.rate / (a - 1), math.inf)

    @property
    def variance(self) -> Any:
        a = self.concentration
        return F.where(a > 2, F.square(self.rate) / (F.square(a - 1) * (a - 2)), math.inf)

    def log_prob(self, value: Any) -> Any:
        return Gamma(self.concentration, self.rate, False).log_prob(1 / value) - 2 * F.log(value)

    def entropy(self) -> Any:
        a = self.concentration
        return a + F.log(self.rate) + F.lgamma(a) - (1 + a) * F.digamma(a)


class Dirichlet(Distribution):
    """Density of x on the simplex in proportion to the product of x_i^(a_i - 1), a = concentration (..., k)."""

    arg_constraints = {"concentration": "positive"}
    has_rsample = True
    event_dims = 1

    def __init__(self, concentration: Any, validate_args: bool | None = None):
        (self.concentration,) = tensors(concentration)
        shape = tuple(self.concentration.shape)
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._shape(sample_shape)
        a = F.broadcast_to(self.concentration, shape)
        x = gamma_quantile(a, uniform(shape, a.dtype))
        return x / F.sum(x, -1, True)

    @property
    def mean(self) -> Any:
        return self.concentration / F.sum(self.concentration, -1, True)

    @property
    def variance(self) -> Any:
        total = F.sum(self.concentration, -1, True)
        return self.concentration * (total - self.concentration) / (F.square(total) * (total + 1))

    def log_prob(self, value: Any) -> Any:
        a = self.concentration
        return F.sum(F.xlogy(a - 1, value), -1) + F.lgamma(F.sum(a, -1)) - F.sum(F.lgamma(a), -1)

    def entropy(self) -> Any:
        a = self.concentration
        total, k = F.sum(a, -1), a.shape[-1]
        return (
            F.sum(F.lgamma(a), -1) - F.lgamma(total) - (k - total) * F.digamma(total) - F.sum((a - 1) * F.digamma(a), -1)
        )


class Beta(Distribution):
    """Density in proportion to x^(a - 1) (1 - x)^(b - 1), a = concentration1, b = concentration0."""

    arg_constraints = {"concentration1": "positive", "concentration0": "positive"}
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        self.concentration1, self.concentration0 = tensors(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)
        self._pair = Dirichlet(F.stack([self.concentration1, self.concentration0], -1), False)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._pair.rsample(sample_shape)[..., 0]

    @property
    def mean(self) -> Any:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (F.square(total) * (total + 1))

    def log_prob(self, value: Any) -> Any:
        a, b = self.concentration1, self.concentration0
        return F.xlogy(a - 1, value) + F.xlogy(b - 1, 1 - value) + F.lgamma(a + b) - F.lgamma(a) - F.lgamma(b)

    def entropy(self) -> Any:
        return self._pair.entropy()


class StudentT(Distribution):
    """loc + scale t, with t of df degrees of freedom."""

    arg_constraints = {"df": "positive", "loc": "real", "scale": "positive"}
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None):
        self.df, self.loc, self.scale = tensors(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        z = normal(self._shape(sample_shape), self.loc.dtype)
        chi2 = Gamma(0.5 * self.df, 0.5 + 0 * self.df, False).rsample(sample_shape)
        return self.loc + self.scale * z * F.rsqrt(chi2 / self.df)

    @property
    def mean(self) -> Any:
        return F.where(self.df > 1, self.loc, math.nan)

    @property
    def variance(self) -> Any:
        known = F.square(self.scale) * self.df / (self.df - 2)
        return F.where(self.df > 2, known, F.where(self.df > 1, math.inf, math.nan))

    def log_prob(self, value: Any) -> Any:
        y, df = (value - self.loc) / self.scale, self.df
        z = F.log(self.scale) + 0.5 * F.log(df) + 0.5 * math.log(math.pi) + F.lgamma(0.5 * df) - F.lgamma(0.5 * (df + 1))
        return -0.5 * (df + 1) * F.log1p(F.square(y) / df) - z

    def entropy(self) -> Any:
        df = self.df
        lbeta = F.lgamma(0.5 * df) + math.lgamma(0.5) - F.lgamma(0.5 * (df + 1))
        return F.log(self.scale) + 0.5 * (df + 1) * (F.digamma(0.5 * (df + 1)) - F.digamma(0.5 * df)) + 0.5 * F.log(df) + lbeta


class FisherSnedecor(Distribution):
    """The ratio of two Chi2 numbers, each divided by its degrees of freedom."""

    arg_constraints = {"df1": "positive", "df2": "positive"}
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None):
        self.df1, self.df2 = tensors(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        a, b = (Gamma(0.5 * df, df, False).rsample(sample_shape) for df in (self.df1, self.df2))
        return a / b

    @property
    def mean(self) -> Any:
        return F.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def variance(self) -> Any:
        a, b = self.df1, self.df2
        known = 2 * F.square(b) * (a + b - 2) / (a * F.square(b - 2) * (b - 4))
        return F.where(b > 4, known, math.nan)

    def log_prob(self, value: Any) -> Any:
        a, b = 0.5 * self.df1, 0.5 * self.df2
        ratio = self.df1 / self.df2
        return (
            F.lgamma(a + b) - F.lgamma(a) - F.lgamma(b) + a * F.log(ratio) + (a - 1) * F.log(value)
            - (a + b) * F.log1p(ratio * value)
        )  # fmt: skip


class Pareto(Distribution):
    """Density alpha scale^alpha / x^(alpha + 1) from scale on."""

    arg_constraints = {"scale": "positive", "alpha": "positive"}
    has_rsample = True

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None):
        self.scale, self.alpha = tensors(scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.scale * F.exp(-F.log(uniform(self._shape(sample_shape), self.scale.dtype)) / self.alpha)

    @property
    def mean(self) -> Any:
        a = self.alpha
        return F.where(a > 1, a * self.scale / (a - 1), math.inf)

    @property
    def variance(self) -> Any:
        a = self.alpha
        return F.where(a > 2, F.square(self.scale) * a / (F.square(a - 1) * (a - 2)), math.inf)

    def log_prob(self, value: Any) -> Any:
        inside = F.log(self.alpha) + self.alpha * F.log(self.scale) - (self.alpha + 1) * F.log(value)
        return F.where(value >= self.scale, inside, -math.inf)

    def entropy(self) -> Any:
        return F.log(self.scale / self.alpha) + (1 + 1 / self.alpha)


class Weibull(Distribution):
    """scale times the power 1 / concentration of an exponential number."""

    arg_constraints = {"scale": "positive", "concentration": "positive"}
    has_rsample = True

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None):
        self.scale, self.concentration = tensors(scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.scale * (-F.log(uniform(self._shape(sample_shape), self.scale.dtype))) ** (1 / self.concentration)

    @property
    def mean(self) -> Any:
        return self.scale * F.exp(F.lgamma(1 + 1 / self.concentration))

    @property
    def variance(self) -> Any:
        first, second = (F.lgamma(1 + n / self.concentration) for n in (1, 2))
        return F.square(self.scale) * (F.exp(second) - F.exp(2 * first))

    def log_prob(self, value: Any) -> Any:
        z = value / self.scale
        return F.log(self.concentration / self.scale) + (self.concentration - 1) * F.log(z) - z**self.concentration

    def entropy(self) -> Any:
        return EULER * (1 - 1 / self.concentration) + F.log(self.scale / self.concentration) + 1


class Kumaraswamy(Distribution):
    """Density a b x^(a - 1) (1 - x^a)^(b - 1), a = concentration1, b = concentration0."""

    arg_constraints = {"concentration1": "positive", "concentration0": "positive"}
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        self.concentration1, self.concentration0 = tensors(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        u = uniform(self._shape(sample_shape), self.concentration1.dtype)
        return (1 - u ** (1 / self.concentration0)) ** (1 / self.concentration1)

    def _moment(self, n: int) -> Any:
        a, b = self.concentration1, self.concentration0
        return b * F.exp(F.lgamma(1 + n / a) + F.lgamma(b) - F.lgamma(1 + n / a + b))

    @property
    def mean(self) -> Any:
        return self._moment(1)

    @property
    def variance(self) -> Any:
        return self._moment(2) - F.square(self._moment(1))

    def log_prob(self, value: Any) -> Any:
        a, b = self.concentration1, self.concentration0
        return F.log(a) + F.log(b) + F.xlogy(a - 1, value) + (b - 1) * F.log1p(-(value**a))

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        harmonic = F.digamma(b + 1) + EULER
        return 1 - 1 / b + (1 - 1 / a) * harmonic - F.log(a) - F.log(b)


class LogNormal(Distribution):
    """exp(x) of a normal x."""

    arg_constraints = {"loc": "real", "scale": "positive"}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = tensors(loc, scale)
        self.base_dist = Normal(self.loc, self.scale, False)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return F.exp(self.base_dist.rsample(sample_shape))

    @property
    def mean(self) -> Any:
        return F.exp(self.loc + F.square(self.scale) / 2)

    @property
    def variance(self) -> Any:
        square = F.square(self.scale)
        return F.expm1(square) * F.exp(2 * self.loc + square)

    def log_prob(self, value: Any) -> Any:
        return self.base_dist.log_prob(F.log(value)) - F.log(value)

    def cdf(self, value: Any) -> Any:
        return self.base_dist.cdf(F.log(value))

    def icdf(self, value: Any) -> Any:
        return F.exp(self.base_dist.icdf(value))

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc


class MultivariateNormal(Distribution):
    """Mean loc (..., k) and one of covariance_matrix, precision_matrix and scale_tril, its Cholesky factor (..., k, k)."""

    arg_constraints = {"loc": "real"}
    has_rsample = True
    event_dims = 1

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ):  # fmt: skip
        from ..errors import ArgumentError

        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise ArgumentError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if scale_tril is None:
            covariance_matrix = F.inverse(precision_matrix) if covariance_matrix is None else covariance_matrix
            scale_tril = F.cholesky(covariance_matrix)
        batch = np.broadcast_shapes(tuple(loc.shape[:-1]), tuple(scale_tril.shape[:-2]))
        k = loc.shape[-1]
        self.loc = F.broadcast_to(loc, (*batch, k))
        self.scale_tril = F.broadcast_to(scale_tril, (*batch, k, k))
        super().__init__(batch, (k,), validate_args)

    @property
    def covariance_matrix(self) -> Any:
        return F.matmul(self.scale_tril, F.swapaxes(self.scale_tril, -1, -2))

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return F.sum(F.square(self.scale_tril), -1)

    def rsample(self, sample_shape: Any = ()) -> Any:
        z = normal(self._shape(sample_shape), self.loc.dtype)
        return self.loc + F.squeeze(F.matmul(self.scale_tril, F.expand_dims(z, -1)), -1)

    def _half_log_det(self) -> Any:
        return F.sum(F.log(F.diagonal(self.scale_tril, 0, -2, -1)), -1)

    def whitened(self, difference: Any) -> Any:
        """L^-1 (x - loc)."""
        from ..ops.linear_algebra import solve_triangular

        column = F.expand_dims(difference, -1)
        lead = np.broadcast_shapes(tuple(column.shape[:-2]), self.batch_shape)
        k = self.event_shape[0]
        factor = F.broadcast_to(self.scale_tril, (*lead, k, k))
        return F.squeeze(solve_triangular(factor, F.broadcast_to(column, (*lead, k, 1)), upper=False), -1)

    def log_prob(self, value: Any) -> Any:
        m = F.sum(F.square(self.whitened(value - self.loc)), -1)
        return -0.5 * (self.event_shape[0] * LOG_2PI + m) - self._half_log_det()

    def entropy(self) -> Any:
        return 0.5 * self.event_shape[0] * (1 + LOG_2PI) + self._half_log_det()


__all__ = [
    "Beta", "Cauchy", "Chi2", "Dirichlet", "Exponential", "FisherSnedecor", "Gamma", "Gumbel", "HalfCauchy", "HalfNormal",
    "InverseGamma", "Kumaraswamy", "Laplace", "LogNormal", "MultivariateNormal", "Normal", "Pareto", "StudentT", "Uniform",
    "Weibull",
]  # fmt: skip
