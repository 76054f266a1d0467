"""Continuous distributions of one number: on an interval, bounded or from a bound on; with a location and a scale, and the
positive halves of two of these."""

from __future__ import annotations

import math
from typing import Any

from ...base.types import finfo
from ...errors import ArgumentError
from ...ops.operators import F
from . import constraints
from .distribution import EULER, LOG_2PI, Distribution, ExponentialFamily, constant, normal, tensors, uniform


class Uniform(Distribution):
    """On [low, high).

    Examples:
        >>> sg.distributions.Uniform(0.0, 2.0).log_prob(sg.tensor(1.0))
        tensor(-0.6931)
    """

    arg_constraints = {"low": constraints.dependent, "high": constraints.dependent}
    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None):
        self.low, self.high = tensors(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args:
            self._check(constraints.less_than(self.high), "low", self.low)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.low + (self.high - self.low) * uniform(self._extended_shape(sample_shape), self.low.dtype)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: constant(self.high, math.nan))
    variance = property(lambda self: F.square(self.high - self.low) / 12)

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        inside = F.logical_and(value >= self.low, value < self.high)
        return F.where(inside, -F.log(self.high - self.low), -math.inf)

    def cdf(self, value: Any) -> Any:
        return F.clip((self._checked(value) - self.low) / (self.high - self.low), 0, 1)

    def icdf(self, value: Any) -> Any:
        return self.low + (self.high - self.low) * value

    def entropy(self) -> Any:
        return F.log(self.high - self.low)


class Exponential(ExponentialFamily):
    """Density rate exp(-rate x).

    Examples:
        >>> sg.distributions.Exponential(sg.tensor(2.0)).mean
        tensor(0.5000)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None):
        (self.rate,) = tensors(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(uniform(self._extended_shape(sample_shape), self.rate.dtype))

    mean = property(lambda self: 1 / self.rate)
    mode = property(lambda self: constant(self.rate, 0.0))
    variance = property(lambda self: 1 / F.square(self.rate))
    stddev = property(lambda self: 1 / self.rate)

    def log_prob(self, value: Any) -> Any:
        return F.log(self.rate) - self.rate * self._checked(value)

    def cdf(self, value: Any) -> Any:
        return -F.expm1(-self.rate * self._checked(value))

    def icdf(self, value: Any) -> Any:
        return -F.log1p(-value) / self.rate

    def entropy(self) -> Any:
        return 1 - F.log(self.rate)


class Pareto(Distribution):
    """Density alpha scale^alpha / x^(alpha + 1) from scale on."""

    arg_constraints = {"scale": constraints.positive, "alpha": constraints.positive}
    has_rsample = True

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None):
        self.scale, self.alpha = tensors(scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.scale * F.exp(-F.log(uniform(self._extended_shape(sample_shape), self.scale.dtype)) / self.alpha)

    @property
    def mean(self) -> Any:
        a = self.alpha
        return F.where(a > 1, a * self.scale / (a - 1), math.inf)

    mode = property(lambda self: self.scale)

    @property
    def variance(self) -> Any:
        a = self.alpha
        return F.where(a > 2, F.square(self.scale) * a / (F.square(a - 1) * (a - 2)), math.inf)

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        inside = F.log(self.alpha) + self.alpha * F.log(self.scale) - (self.alpha + 1) * F.log(value)
        return F.where(value >= self.scale, inside, -math.inf)

    def cdf(self, value: Any) -> Any:
        return -F.expm1(self.alpha * F.log(self.scale / self._checked(value)))

    def icdf(self, value: Any) -> Any:
        return self.scale * F.exp(-F.log1p(-value) / self.alpha)

    def entropy(self) -> Any:
        return F.log(self.scale / self.alpha) + (1 + 1 / self.alpha)


class GeneralizedPareto(Distribution):
    """loc + scale ((1 - u)^-concentration - 1) / concentration of a uniform u; exponential for a concentration of 0."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None):
        self.loc, self.scale, self.concentration = tensors(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        below = self.concentration < 0
        upper = self.loc - self.scale / F.where(below, self.concentration, 1.0)
        return constraints.interval(self.loc, F.where(below, upper, math.inf))

    def _nonzero(self) -> tuple[Any, Any]:
        """Whether the concentration is 0, and the concentration with 1 in place of it."""
        zero = F.isclose(self.concentration, 0.0)
        return zero, F.where(zero, 1.0, self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(uniform(self._extended_shape(sample_shape), self.loc.dtype))

    @property
    def mean(self) -> Any:
        c = self.concentration
        return F.where(c < 1, self.loc + self.scale / (1 - F.where(c < 1, c, 0.0)), math.inf)

    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Any:
        c = F.where(self.concentration < 0.5, self.concentration, 0.0)
        known = F.square(self.scale) / (F.square(1 - c) * (1 - 2 * c))
        return F.where(self.concentration < 0.5, known, math.nan)

    def log_prob(self, value: Any) -> Any:
        y = (self._checked(value) - self.loc) / self.scale
        zero, c = self._nonzero()
        return F.where(zero, -y, -(1 + 1 / c) * F.log1p(c * y)) - F.log(self.scale)

    def cdf(self, value: Any) -> Any:
        y = (self._checked(value) - self.loc) / self.scale
        zero, c = self._nonzero()
        return -F.expm1(F.where(zero, -y, -F.log1p(c * y) / c))

    def icdf(self, value: Any) -> Any:
        survival = F.log1p(-value)
        zero, c = self._nonzero()
        return self.loc + self.scale * F.where(zero, -survival, F.expm1(-c * survival) / c)

    def entropy(self) -> Any:
        return F.log(self.scale) + self.concentration + 1


class Weibull(Distribution):
    """scale times the power 1 / concentration of an exponential number."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None):
        self.scale, self.concentration = tensors(scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.scale * (-F.log(uniform(self._extended_shape(sample_shape), self.scale.dtype))) ** (1 / self.concentration)

    mean = property(lambda self: self.scale * F.exp(F.lgamma(1 + 1 / self.concentration)))

    @property
    def mode(self) -> Any:
        k = F.clamp(self.concentration, min=1)
        return self.scale * ((k - 1) / k) ** (1 / k)

    @property
    def variance(self) -> Any:
        first, second = (F.lgamma(1 + n / self.concentration) for n in (1, 2))
        return F.square(self.scale) * (F.exp(second) - F.exp(2 * first))

    def log_prob(self, value: Any) -> Any:
        z = self._checked(value) / self.scale
        return F.log(self.concentration / self.scale) + (self.concentration - 1) * F.log(z) - z**self.concentration

    def cdf(self, value: Any) -> Any:
        return -F.expm1(-((self._checked(value) / self.scale) ** self.concentration))

    def icdf(self, value: Any) -> Any:
        return self.scale * (-F.log1p(-value)) ** (1 / self.concentration)

    def entropy(self) -> Any:
        return EULER * (1 - 1 / self.concentration) + F.log(self.scale / self.concentration) + 1


class Kumaraswamy(Distribution):
    """Density a b x^(a - 1) (1 - x^a)^(b - 1), a = concentration1, b = concentration0."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        self.concentration1, self.concentration0 = tensors(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        u = uniform(self._extended_shape(sample_shape), self.concentration1.dtype)
        return (1 - u ** (1 / self.concentration0)) ** (1 / self.concentration1)

    def _moment(self, n: int) -> Any:
        a, b = self.concentration1, self.concentration0
        return b * F.exp(F.lgamma(1 + n / a) + F.lgamma(b) - F.lgamma(1 + n / a + b))

    mean = property(lambda self: self._moment(1))

    @property
    def mode(self) -> Any:
        """NaN where the density is unbounded, or the same everywhere."""
        a, b = self.concentration1, self.concentration0
        known = F.logical_and(F.logical_and(a >= 1, b >= 1), F.logical_or(a > 1, b > 1))
        a, b = F.where(known, a, 2.0), F.where(known, b, 2.0)
        return F.where(known, ((a - 1) / (a * b - 1)) ** (1 / a), math.nan)

    variance = property(lambda self: self._moment(2) - F.square(self._moment(1)))

    def log_prob(self, value: Any) -> Any:
        value, a, b = self._checked(value), self.concentration1, self.concentration0
        return F.log(a) + F.log(b) + F.xlogy(a - 1, value) + (b - 1) * F.log1p(-(value**a))

    def cdf(self, value: Any) -> Any:
        return -F.expm1(self.concentration0 * F.log1p(-(self._checked(value) ** self.concentration1)))

    def icdf(self, value: Any) -> Any:
        return (-F.expm1(F.log1p(-value) / self.concentration0)) ** (1 / self.concentration1)

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        harmonic = F.digamma(b + 1) + EULER
        return 1 - 1 / b + (1 - 1 / a) * harmonic - F.log(a) - F.log(b)


class ContinuousBernoulli(ExponentialFamily):
    """Density in proportion to probs^x (1 - probs)^(1 - x) on [0, 1].

    lims: probabilities between these are near 1/2, where a Taylor series is used. Raises ArgumentError unless one of probs and
    logits is given.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ):  # fmt: skip
        if (probs is None) == (logits is None):
            raise ArgumentError("Either `probs` or `logits` must be specified, but not both.")
        self._lims = lims
        (given,) = tensors(logits if probs is None else probs)
        eps = float(finfo(given.dtype).eps)
        if probs is None:
            self.logits, self.probs = given, F.sigmoid(given)
        else:
            self.probs = F.clip(given, eps, 1 - eps)
            self.logits = F.log(self.probs) - F.log1p(-self.probs)
        super().__init__(given.shape, validate_args=validate_args)

    def _outside(self) -> tuple[Any, Any]:
        """Whether the probability is away from 1/2, and the probability with another one in place of those near it."""
        away = F.logical_or(self.probs <= self._lims[0], self.probs > self._lims[1])
        return away, F.where(away, self.probs, self._lims[0])

    def _log_constant(self) -> Any:
        away, p = self._outside()
        lower, upper = F.where(p <= 0.5, p, 0.0), F.where(p >= 0.5, p, 1.0)
        odds = F.log(F.abs(F.log1p(-p) - F.log(p)))
        exact = odds - F.where(p <= 0.5, F.log1p(-2 * lower), F.log(2 * upper - 1))
        x = F.square(self.probs - 0.5)
        return F.where(away, exact, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(uniform(self._extended_shape(sample_shape), self.probs.dtype))

    @property
    def mean(self) -> Any:
        away, p = self._outside()
        exact = p / (2 * p - 1) + 1 / (F.log1p(-p) - F.log(p))
        x = self.probs - 0.5
        return F.where(away, exact, 0.5 + (1 / 3 + 16 / 45 * F.square(x)) * x)

    @property
    def variance(self) -> Any:
        away, p = self._outside()
        exact = p * (p - 1) / F.square(1 - 2 * p) + 1 / F.square(F.log1p(-p) - F.log(p))
        x = F.square(self.probs - 0.5)
        return F.where(away, exact, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def log_prob(self, value: Any) -> Any:
        return self._checked(value) * self.logits - F.softplus(self.logits) + self._log_constant()

    def cdf(self, value: Any) -> Any:
        value = self._checked(value)
        away, p = self._outside()
        exact = (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        inside = F.where(away, exact, value)
        return F.where(value <= 0, 0.0, F.where(value >= 1, 1.0, inside))

    def icdf(self, value: Any) -> Any:
        away, p = self._outside()
        exact = (F.log1p(-p + value * (2 * p - 1)) - F.log1p(-p)) / (F.log(p) - F.log1p(-p))
        return F.where(away, exact, value)

    def entropy(self) -> Any:
        rest, p = F.log1p(-self.probs), F.log(self.probs)
        return self.mean * (rest - p) - self._log_constant() - rest


__all__ = [
    "Cauchy", "ContinuousBernoulli", "Exponential", "GeneralizedPareto", "Gumbel", "HalfCauchy", "HalfNormal",
    "Kumaraswamy", "Laplace", "Normal", "Pareto", "Uniform", "Weibull",
]  # fmt: skip


# locations and scales -------------------------------------------------------------------------------------------------


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
