"""Distributions whose samples are made of gamma numbers."""

from __future__ import annotations

import math
from typing import Any

from ...ops.operators import F
from . import constraints
from .distribution import Distribution, ExponentialFamily, constant, normal, tensors, uniform
from .utils import gamma_quantile


class Gamma(ExponentialFamily):
    """Density rate^a x^(a - 1) exp(-rate x) / Gamma(a), a = concentration.

    Examples:
        >>> sg.distributions.Gamma(sg.tensor(3.0), sg.tensor(2.0)).mean
        tensor(1.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        self.concentration, self.rate = tensors(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        a = F.broadcast_to(self.concentration, shape)
        return gamma_quantile(a, uniform(shape, a.dtype)) / self.rate

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: F.clamp((self.concentration - 1) / self.rate, min=0))
    variance = property(lambda self: self.concentration / F.square(self.rate))

    def log_prob(self, value: Any) -> Any:
        value, a, rate = self._checked(value), self.concentration, self.rate
        return F.xlogy(a, rate) + F.xlogy(a - 1, value) - rate * value - F.lgamma(a)

    def cdf(self, value: Any) -> Any:
        return F.igamma(self.concentration, self.rate * self._checked(value))

    def entropy(self) -> Any:
        a = self.concentration
        return a - F.log(self.rate) + F.lgamma(a) + (1 - a) * F.digamma(a)


class Chi2(Gamma):
    """The sum of squares of df standard normal numbers."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None):
        (self.df,) = tensors(df)
        super().__init__(0.5 * self.df, 0.5, validate_args)


class InverseGamma(Distribution):
    """1 / x of a Gamma x."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        self.concentration, self.rate = tensors(concentration, rate)
        self.base_dist = Gamma(self.concentration, self.rate, False)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return 1 / self.base_dist.rsample(sample_shape)

    @property
    def mean(self) -> Any:
        a = self.concentration
        return F.where(a > 1, self.rate / (a - 1), math.inf)

    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def variance(self) -> Any:
        a = self.concentration
        return F.where(a > 2, F.square(self.rate) / (F.square(a - 1) * (a - 2)), math.inf)

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        return self.base_dist.log_prob(1 / value) - 2 * F.log(value)

    def cdf(self, value: Any) -> Any:
        return 1 - self.base_dist.cdf(1 / self._checked(value))

    def entropy(self) -> Any:
        a = self.concentration
        return a + F.log(self.rate) + F.lgamma(a) - (1 + a) * F.digamma(a)


class Dirichlet(ExponentialFamily):
    """Density of x on the simplex in proportion to the product of x_i^(a_i - 1), a = concentration (..., k)."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None):
        (self.concentration,) = tensors(concentration)
        shape = tuple(self.concentration.shape)
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        a = F.broadcast_to(self.concentration, shape)
        x = gamma_quantile(a, uniform(shape, a.dtype))
        return x / F.sum(x, -1, True)

    mean = property(lambda self: self.concentration / F.sum(self.concentration, -1, True))

    @property
    def mode(self) -> Any:
        """Of concentrations below 1, the corner of the largest one."""
        above = F.clamp(self.concentration - 1, min=0)
        inside = above / F.sum(above, -1, True)
        corner = F.astype(F.one_hot(F.argmax(self.concentration, -1), self.event_shape[0]), self.concentration.dtype)
        return F.where(F.all(self.concentration < 1, -1, True), corner, inside)

    @property
    def variance(self) -> Any:
        total = F.sum(self.concentration, -1, True)
        return self.concentration * (total - self.concentration) / (F.square(total) * (total + 1))

    def log_prob(self, value: Any) -> Any:
        value, a = self._checked(value), self.concentration
        return F.sum(F.xlogy(a - 1, value), -1) + F.lgamma(F.sum(a, -1)) - F.sum(F.lgamma(a), -1)

    def entropy(self) -> Any:
        a = self.concentration
        total, k = F.sum(a, -1), a.shape[-1]
        spread = F.sum(F.lgamma(a), -1) - F.lgamma(total)
        return spread - (k - total) * F.digamma(total) - F.sum((a - 1) * F.digamma(a), -1)


class Beta(ExponentialFamily):
    """Density in proportion to x^(a - 1) (1 - x)^(b - 1), a = concentration1, b = concentration0.

    Examples:
        >>> sg.distributions.Beta(sg.tensor(1.0), sg.tensor(3.0)).mean
        tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        self.concentration1, self.concentration0 = tensors(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)
        self._pair = Dirichlet(F.stack([self.concentration1, self.concentration0], -1), False)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._pair.rsample(sample_shape)[..., 0]

    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._pair.mode[..., 0])

    @property
    def variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (F.square(total) * (total + 1))

    def log_prob(self, value: Any) -> Any:
        value, a, b = self._checked(value), self.concentration1, self.concentration0
        return F.xlogy(a - 1, value) + F.xlogy(b - 1, 1 - value) + F.lgamma(a + b) - F.lgamma(a) - F.lgamma(b)

    def entropy(self) -> Any:
        return self._pair.entropy()


class StudentT(Distribution):
    """loc + scale t, with t of df degrees of freedom."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None):
        self.df, self.loc, self.scale = tensors(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        z = normal(self._extended_shape(sample_shape), self.loc.dtype)
        chi2 = Gamma(0.5 * self.df, 0.5, False).rsample(sample_shape)
        return self.loc + self.scale * z * F.rsqrt(chi2 / self.df)

    mean = property(lambda self: F.where(self.df > 1, self.loc, math.nan))
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Any:
        known = F.square(self.scale) * self.df / (self.df - 2)
        return F.where(self.df > 2, known, F.where(self.df > 1, math.inf, math.nan))

    def log_prob(self, value: Any) -> Any:
        y, df = (self._checked(value) - self.loc) / self.scale, self.df
        z = F.log(self.scale) + 0.5 * F.log(df) + 0.5 * math.log(math.pi) + F.lgamma(0.5 * df) - F.lgamma(0.5 * (df + 1))
        return -0.5 * (df + 1) * F.log1p(F.square(y) / df) - z

    def entropy(self) -> Any:
        df = self.df
        lbeta = F.lgamma(0.5 * df) + math.lgamma(0.5) - F.lgamma(0.5 * (df + 1))
        return F.log(self.scale) + 0.5 * (df + 1) * (F.digamma(0.5 * (df + 1)) - F.digamma(0.5 * df)) + 0.5 * F.log(df) + lbeta


class FisherSnedecor(Distribution):
    """The ratio of two Chi2 numbers, each divided by its degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None):
        self.df1, self.df2 = tensors(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        a, b = (Gamma(0.5 * df, df, False).rsample(sample_shape) for df in (self.df1, self.df2))
        return a / b

    mean = property(lambda self: F.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan))

    @property
    def mode(self) -> Any:
        known = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return F.where(self.df1 > 2, known, constant(self.df1, math.nan))

    @property
    def variance(self) -> Any:
        a, b = self.df1, self.df2
        known = 2 * F.square(b) * (a + b - 2) / (a * F.square(b - 2) * (b - 4))
        return F.where(b > 4, known, math.nan)

    def log_prob(self, value: Any) -> Any:
        value, a, b = self._checked(value), 0.5 * self.df1, 0.5 * self.df2
        ratio = self.df1 / self.df2
        density = a * F.log(ratio) + (a - 1) * F.log(value) - (a + b) * F.log1p(ratio * value)
        return F.lgamma(a + b) - F.lgamma(a) - F.lgamma(b) + density


__all__ = ["Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT"]
