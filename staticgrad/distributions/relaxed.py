"""Discrete distributions whose samples are differentiable: relaxed by a temperature, or with the gradient of probabilities.

Sources: Maddison, Mnih, Teh, "The concrete distribution", ICLR 2017; Jang, Gu, Poole, "Categorical reparameterization with
Gumbel-softmax", ICLR 2017.
"""

from __future__ import annotations

import math
from typing import Any

from ..operators import F
from . import constraints
from .composed import TransformedDistribution
from .discrete import Categorical, OneHotCategorical, Probabilities
from .distribution import Distribution, tensors, uniform
from .transforms import ExpTransform, SigmoidTransform


class LogitRelaxedBernoulli(Probabilities):
    """The logit of a relaxed Bernoulli number."""

    support = constraints.real
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        (self.temperature,) = self._take(probs, logits, temperature)
        Distribution.__init__(self, self._param.shape, validate_args=validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        return Distribution.sample(self, sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        u = uniform(self._extended_shape(sample_shape), self._param.dtype)
        return (F.log(u) - F.log1p(-u) + self.logits) / self.temperature

    def log_prob(self, value: Any) -> Any:
        difference = self.logits - self._checked(value) * self.temperature
        return F.log(self.temperature) + difference - 2 * F.softplus(difference)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that approach those of a Bernoulli distribution as the temperature falls."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits, validate_args), SigmoidTransform(), validate_args)

    def __getattr__(self, name: str) -> Any:
        if name in ("temperature", "probs", "logits") and "base_dist" in vars(self):
            return getattr(self.base_dist, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class ExpRelaxedCategorical(Probabilities):
    """The logarithms of a relaxed one-hot vector."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._categorical = Categorical(probs, logits, validate_args)
        self._param = self._categorical._param
        (self.temperature,) = tensors(temperature)
        Distribution.__init__(self, self._categorical.batch_shape, tuple(self._param.shape[-1:]), False)

    def __getattr__(self, name: str) -> Any:
        if name in ("probs", "logits"):
            return getattr(self.__dict__["_categorical"], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _widened(self, batch_shape: tuple[int, ...]) -> Any:
        made = object.__new__(type(self))
        vars(made).update(vars(self), _categorical=self._categorical._widened(batch_shape), _batch_shape=batch_shape)
        made._param = made._categorical._param
        return made

    def sample(self, sample_shape: Any = ()) -> Any:
        return Distribution.sample(self, sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = -F.log(-F.log(uniform(self._extended_shape(sample_shape), self._param.dtype)))
        return F.log_softmax((self.logits + noise) / self.temperature, -1)

    def log_prob(self, value: Any) -> Any:
        value, k = self._checked(value), self.event_shape[0]
        scores = self.logits - value * self.temperature
        total = F.sum(scores - F.logsumexp(scores, -1, True), -1)
        return total + (k - 1) * F.log(self.temperature) + math.lgamma(k)


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex that approach one-hot vectors as the temperature falls."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args), ExpTransform(), validate_args)

    def __getattr__(self, name: str) -> Any:
        if name in ("temperature", "probs", "logits") and "base_dist" in vars(self):
            return getattr(self.base_dist, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot vectors whose gradient is that of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        probs = self.probs
        return self.sample(sample_shape) + (probs - F.stop_gradient(probs))


__all__ = ["OneHotCategoricalStraightThrough", "RelaxedBernoulli", "RelaxedOneHotCategorical"]
