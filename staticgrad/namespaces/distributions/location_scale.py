"""Distributions with a location and a scale, and the positive halves of two of them."""

from __future__ import annotations

import math
from typing import Any

from ...ops.operators import F
from . import constraints
from .distribution import EULER, LOG_2PI, Distribution, ExponentialFamily, constant, normal, tensors, uniform


class _LocScale(Distribution):
    """Arguments loc and scale > 0; a sample is loc + scale z."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
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

    def _log_density(self, z: Any) -> Any:
        """Of z."""
        raise NotImplementedError

    def _cumulative(self, z: Any) -> Any:
        """The probability of at most z."""
        raise NotImplementedError

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.loc + self.scale * self._standard(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        return self._log_density(self._z(self._checked(value))) - F.log(self.scale)

    def cdf(self, value: Any) -> Any:
        return self._cumulative(self._z(self._checked(value)))

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * self._quantile(value)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)


class Normal(_LocScale, ExponentialFamily):
    """Mean loc, standard deviation scale.

    Examples:
        >>> sg.distributions.Normal(0.0, 1.0).log_prob(sg.tensor(0.0))
        tensor(-0.9189)
    """

    def _standard(self, shape: Any) -> Any:
        return normal(shape, self.loc.dtype)

    def _quantile(self, u: Any) -> Any:
        return math.sqrt(2) * F.erfinv(2 * u - 1)

    variance = property(lambda self: F.square(self.scale))
    stddev = property(lambda self: self.scale)

    def _log_density(self, z: Any) -> Any:
        return -F.square(z) / 2 - LOG_2PI / 2

    def _cumulative(self, z: Any) -> Any:
        return 0.5 * (1 + F.erf(z / math.sqrt(2)))

    def entropy(self) -> Any:
        return 0.5 + LOG_2PI / 2 + F.log(self.scale)


class Laplace(_LocScale):
    """Density exp(-|z|) / (2 scale)."""

    def _quantile(self, u: Any) -> Any:
        t = u - 0.5
        return -F.sign(t) * F.log1p(-2 * F.abs(t))

    variance = property(lambda self: 2 * F.square(self.scale))

    def _log_density(self, z: Any) -> Any:
        return -F.abs(z) - math.log(2)

    def _cumulative(self, z: Any) -> Any:
        return 0.5 - 0.5 * F.sign(z) * F.expm1(-F.abs(z))

    def entropy(self) -> Any:
        return 1 + F.log(2 * self.scale)


class Cauchy(_LocScale):
    """Density 1 / (pi scale (1 + z^2)); no mean."""

    def _quantile(self, u: Any) -> Any:
        return F.tan(math.pi * (u - 0.5))

    mean = property(lambda self: constant(self.loc, math.nan))
    variance = property(lambda self: constant(self.loc, math.inf))

    def _log_density(self, z: Any) -> Any:
        return -math.log(math.pi) - F.log1p(F.square(z))

    def _cumulative(self, z: Any) -> Any:
        return F.atan(z) / math.pi + 0.5

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + F.log(self.scale)


class Gumbel(_LocScale):
    """Density exp(-(z + exp(-z))) / scale."""

    def _quantile(self, u: Any) -> Any:
        return -F.log(-F.log(u))

    mean = property(lambda self: self.loc + self.scale * EULER)
    variance = property(lambda self: math.pi**2 / 6 * F.square(self.scale))

    def _log_density(self, z: Any) -> Any:
        return -(z + F.exp(-z))

    def _cumulative(self, z: Any) -> Any:
        return F.exp(-F.exp(-z))

    def entropy(self) -> Any:
        return F.log(self.scale) + 1 + EULER


class _Folded(Distribution):
    """|x| of a distribution about 0 with a scale."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base: type[_LocScale]

    def __init__(self, scale: Any, validate_args: bool | None = None):
        (self.scale,) = tensors(scale)
        self.base_dist = self.base(constant(self.scale, 0.0), self.scale, validate_args=False)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return F.abs(self.base_dist.rsample(sample_shape))

    mode = property(lambda self: constant(self.scale, 0.0))

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        return F.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Any) -> Any:
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Folded):
    """|x| of a normal x with mean 0."""

    base = Normal

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: F.square(self.scale) * (1 - 2 / math.pi))


class HalfCauchy(_Folded):
    """|x| of a Cauchy x about 0."""

    base = Cauchy

    mean = property(lambda self: constant(self.scale, math.inf))
    variance = property(lambda self: constant(self.scale, math.inf))


__all__ = ["Cauchy", "Gumbel", "HalfCauchy", "HalfNormal", "Laplace", "Normal"]
