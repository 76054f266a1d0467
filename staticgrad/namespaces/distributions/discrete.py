"""Discrete distributions. Formulas and arguments are those of `torch.distributions`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.types import finfo
from ...eager import Tensor, rand
from ...errors import ArgumentError
from ...ops.operators import F
from . import constraints
from .distribution import Distribution, ExponentialFamily, constant, tensors, uniform
from .gamma_family import Gamma


def _log_binomial(n: Any, k: Any) -> Any:
    return F.lgamma(n + 1) - F.lgamma(k + 1) - F.lgamma(n - k + 1)


class Probabilities(Distribution):
    """Arguments probs or logits; the other one is computed when it is asked for. Raises ArgumentError unless one is given."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def _take(self, probs: Any, logits: Any, *others: Any) -> list[Any]:
        if (probs is None) == (logits is None):
            raise ArgumentError("Either `probs` or `logits` must be specified, but not both.")
        given, *rest = tensors(logits if probs is None else probs, *others)
        vars(self)["logits" if probs is None else "probs"] = given
        self._param = given
        return rest

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name == "probs" and "logits" in own:
            return self._probs_of(own["logits"])
        if name == "logits" and "probs" in own:
            return self._logits_of(own["probs"])
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _probs_of(self, logits: Any) -> Any:
        return F.sigmoid(logits)

    def _logits_of(self, probs: Any) -> Any:
        eps = float(finfo(probs.dtype).eps)
        p = F.clip(probs, eps, 1 - eps)
        return F.log(p) - F.log1p(-p)

    def sample(self, sample_shape: Any = ()) -> Any:
        return F.stop_gradient(self._drawn(self._extended_shape(sample_shape)))

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        raise NotImplementedError

    @property
    def param_shape(self) -> tuple[int, ...]:
        """The shape of probs and logits."""
        return tuple(self._param.shape)

    def _enumerated(self, count: int, dtype: Any, expand: bool) -> Any:
        """0 ... count - 1 along a new first axis."""
        values = Tensor(np.arange(count, dtype=dtype).reshape(count, *[1] * len(self.batch_shape)))
        return F.broadcast_to(values, (count, *self.batch_shape)) if expand else values


class Bernoulli(Probabilities, ExponentialFamily):
    """1 with probability probs, else 0.

    Examples:
        >>> sg.distributions.Bernoulli(probs=sg.tensor(0.25)).mean
        tensor(0.2500)
    """

    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return F.astype(rand(*shape, dtype=self._param.dtype) < self.probs, self._param.dtype)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self) -> Any:
        """NaN where both values are as probable."""
        return F.where(F.eq(self.probs, 0.5), math.nan, F.astype(self.probs >= 0.5, self._param.dtype))

    def log_prob(self, value: Any) -> Any:
        return self._checked(value) * self.logits - F.softplus(self.logits)

    def entropy(self) -> Any:
        return F.softplus(self.logits) - self.probs * self.logits

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated(2, self._param.dtype, expand)


class Geometric(Probabilities):
    """The number of failures before the first success."""

    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return F.floor(F.log(uniform(shape, self._param.dtype)) / F.log1p(-self.probs))

    mean = property(lambda self: 1 / self.probs - 1)
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)
    mode = property(lambda self: constant(self._param, 0.0))

    def log_prob(self, value: Any) -> Any:
        return F.xlogy(self._checked(value), 1 - self.probs) + F.log(self.probs)

    def entropy(self) -> Any:
        return Bernoulli(self.probs, validate_args=False).entropy() / self.probs


class Binomial(Probabilities):
    """The number of successes in total_count trials. Samples need one total_count for all, known now."""

    has_enumerate_support = True

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        (self.total_count,) = self._take(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        counts = np.asarray(self.total_count)
        n = int(counts.max(initial=0))
        hits = F.astype(rand(n, *shape, dtype=self._param.dtype) < self.probs, self._param.dtype)
        trials = np.arange(n).reshape(n, *[1] * len(shape)) < counts
        return F.sum(hits * trials.astype(self._param.dtype), 0)

    mean = property(lambda self: self.total_count * self.probs)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    mode = property(lambda self: F.clamp(F.floor((self.total_count + 1) * self.probs), max=self.total_count))

    def log_prob(self, value: Any) -> Any:
        value, n = self._checked(value), self.total_count
        return _log_binomial(n, value) + value * self.logits - n * F.softplus(self.logits)

    def entropy(self) -> Any:
        """Raises NotImplementedError for members of a batch with other numbers of trials."""
        log_prob = Binomial(self.total_count, logits=self.logits, validate_args=False).log_prob(self.enumerate_support(False))
        return -F.sum(F.exp(log_prob) * log_prob, 0)

    def enumerate_support(self, expand: bool = True) -> Any:
        counts = np.asarray(F.stop_gradient(self.total_count))
        if counts.size and counts.min() != counts.max():
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        return self._enumerated(int(counts.max(initial=0)) + 1, self._param.dtype, expand)


class NegativeBinomial(Probabilities):
    """The number of successes, each with probability probs, before total_count failures."""

    arg_constraints = {
        "total_count": constraints.nonnegative, "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        (self.total_count,) = self._take(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        lead = shape[: len(shape) - len(self.batch_shape)]
        rate = Gamma(self.total_count, F.exp(-self.logits), False).sample(lead)
        return F.poisson(rate)

    mean = property(lambda self: self.total_count * F.exp(self.logits))
    variance = property(lambda self: self.mean / F.sigmoid(-self.logits))
    mode = property(lambda self: F.clamp(F.floor((self.total_count - 1) * F.exp(self.logits)), min=0))

    def log_prob(self, value: Any) -> Any:
        value, n = self._checked(value), self.total_count
        scale = F.lgamma(n + value) - F.lgamma(1 + value) - F.lgamma(n)
        return scale - n * F.softplus(self.logits) - value * F.softplus(-self.logits)


class Poisson(ExponentialFamily):
    """Counts with mean rate."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None):
        (self.rate,) = tensors(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        return F.poisson(F.stop_gradient(F.broadcast_to(self.rate, self._extended_shape(sample_shape))))

    mean = property(lambda self: self.rate)
    variance = property(lambda self: self.rate)
    mode = property(lambda self: F.floor(self.rate))

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        return F.xlogy(value, self.rate) - self.rate - F.lgamma(value + 1)


class Categorical(Probabilities):
    """Positions 0 ... k - 1 with probabilities in proportion to probs (..., k), or to exp(logits).

    Examples:
        >>> sg.distributions.Categorical(probs=sg.tensor([0.25, 0.75])).entropy()
        tensor(0.5623)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._take(probs, logits)
        x = self._param
        if probs is None:
            vars(self)["logits"] = x - F.logsumexp(x, -1, True)
        else:
            vars(self)["probs"] = x / F.sum(x, -1, True)
        self._k = self.event_size = x.shape[-1]
        super().__init__(tuple(x.shape[:-1]), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._k - 1)

    def _probs_of(self, logits: Any) -> Any:
        return F.softmax(logits, -1)

    def _logits_of(self, probs: Any) -> Any:
        eps = float(finfo(probs.dtype).eps)
        return F.log(F.clip(probs, eps, 1 - eps))

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        noise = -F.log(-F.log(uniform((*shape, self._k), self._param.dtype)))
        return F.argmax(self.logits + noise, -1)

    mean = property(lambda self: constant(F.sum(self.probs, -1), math.nan))
    variance = property(lambda self: self.mean)
    mode = property(lambda self: F.argmax(self.probs, -1))

    def log_prob(self, value: Any) -> Any:
        index = F.astype(F.expand_dims(self._checked(value), -1), np.int64)
        lead = np.broadcast_shapes(tuple(index.shape[:-1]), self.batch_shape)
        logits = F.broadcast_to(self.logits, (*lead, self._k))
        return F.squeeze(F.take_along_axis(logits, F.broadcast_to(index, (*lead, 1)), -1), -1)

    def entropy(self) -> Any:
        return -F.sum(F.maximum(self.logits, float(finfo(self._param.dtype).min)) * self.probs, -1)

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated(self._k, np.int64, expand)


class OneHotCategorical(Probabilities):
    """Categorical, as vectors of 0 and a 1."""

    support = constraints.one_hot
    has_enumerate_support = True
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._categorical = Categorical(probs, logits, validate_args)
        self._param = self._categorical._param
        super().__init__(self._categorical.batch_shape, tuple(self._param.shape[-1:]), False)

    def __getattr__(self, name: str) -> Any:
        if name in ("probs", "logits"):
            return getattr(self.__dict__["_categorical"], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        return F.astype(F.one_hot(self._categorical._drawn(shape[:-1]), shape[-1]), self._param.dtype)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    mode = property(lambda self: F.astype(F.one_hot(self._categorical.mode, self.event_shape[0]), self._param.dtype))

    def log_prob(self, value: Any) -> Any:
        return self._categorical.log_prob(F.argmax(self._checked(value), -1))

    def enumerate_support(self, expand: bool = True) -> Any:
        k = self.event_shape[0]
        values = Tensor(np.eye(k, dtype=self._param.dtype).reshape(k, *[1] * len(self.batch_shape), k))
        return F.broadcast_to(values, (k, *self.batch_shape, k)) if expand else values

    def entropy(self) -> Any:
        return self._categorical.entropy()


class Multinomial(Probabilities):
    """How often each of k positions comes in total_count draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits, validate_args)
        self._param = self._categorical._param
        super().__init__(self._categorical.batch_shape, tuple(self._param.shape[-1:]), False)

    def __getattr__(self, name: str) -> Any:
        if name in ("probs", "logits"):
            return getattr(self.__dict__["_categorical"], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        draws = self._categorical._drawn((self.total_count, *shape[:-1]))
        return F.sum(F.astype(F.one_hot(draws, shape[-1]), self._param.dtype), 0)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        total = F.lgamma(F.sum(value, -1) + 1) - F.sum(F.lgamma(value + 1), -1)
        return total + F.sum(F.where(value == 0, 0 * value, self.logits * value), -1)

    def entropy(self) -> Any:
        """By the marginal distributions of the counts, which are binomial."""
        n = self.total_count
        marginal = Binomial(n, probs=self.probs, validate_args=False)
        counts = marginal.enumerate_support(False)
        weights = F.exp(marginal.log_prob(counts))
        return n * self._categorical.entropy() - math.lgamma(n + 1) + F.sum(weights * F.lgamma(counts + 1), (0, -1))


__all__ = [
    "Bernoulli", "Binomial", "Categorical", "Geometric", "Multinomial", "NegativeBinomial", "OneHotCategorical", "Poisson",
    "Probabilities",
]  # fmt: skip
