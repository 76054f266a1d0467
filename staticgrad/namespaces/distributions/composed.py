"""Distributions made of others: independent axes, transformed samples, mixtures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...eager import no_grad
from ...errors import ArgumentError
from ...ops.operators import F
from . import constraints
from .discrete import Categorical, OneHotCategorical, Probabilities
from .distribution import Distribution, summed, tensors, uniform
from .intervals import Normal
from .transforms import ComposeTransform, ExpTransform, SigmoidTransform, StickBreakingTransform, Transform

__all__ = [
    "Independent", "LogNormal", "LogisticNormal", "MixtureSameFamily", "TransformedDistribution",
    "OneHotCategoricalStraightThrough", "RelaxedBernoulli", "RelaxedOneHotCategorical",
]  # fmt: skip


class Independent(Distribution):
    """The last `reinterpreted_batch_ndims` batch axes as part of the event: log_prob sums over them. Raises ArgumentError."""

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None):
        base, n = base_distribution, reinterpreted_batch_ndims
        if n > len(base.batch_shape):
            raise ArgumentError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{n} vs {len(base.batch_shape)}"
            )
        shape, split = (*base.batch_shape, *base.event_shape), len(base.batch_shape) - n
        self.base_dist, self.reinterpreted_batch_ndims = base, n
        super().__init__(shape[:split], shape[split:], validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        found, n = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(found, n) if n else found

    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def sample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """y = transforms(x) of samples x of a base distribution. Raises ArgumentError for transforms that don't fit its shape."""

    def __init__(
        self, base_distribution: Distribution, transforms: Transform | Sequence[Transform], validate_args: bool | None = None
    ):
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ArgumentError(f"transforms must be a Transform or list, but was {transforms}")
        whole, base = ComposeTransform(self.transforms), base_distribution
        shape, events = (*base.batch_shape, *base.event_shape), len(base.event_shape)
        wanted = int(whole.domain.event_dim)
        if len(shape) < wanted:
            raise ArgumentError(f"base_distribution needs to have shape with size at least {wanted}, but got {shape}.")
        made = whole.forward_shape(shape)
        source = whole.inverse_shape(made)
        if source != shape:  # arguments of the transforms have more batch axes
            base = base.expand(source[: len(source) - events])
        if wanted > events:
            base = Independent(base, wanted - events)
        self.base_dist = base
        event_dim = max(int(whole.codomain.event_dim), events + int(whole.codomain.event_dim) - wanted)
        cut = len(made) - event_dim
        super().__init__(made[:cut], made[cut:], validate_args)

    def _widened(self, batch_shape: tuple[int, ...]) -> Any:
        shape = ComposeTransform(self.transforms).inverse_shape((*batch_shape, *self._event_shape))
        made = object.__new__(type(self))
        vars(made).update(vars(self), _batch_shape=batch_shape)
        made.base_dist = self.base_dist._widened(shape[: len(shape) - len(self.base_dist.event_shape)])
        for name in self.arg_constraints:
            if name in vars(self):
                value = vars(self)[name]
                vars(made)[name] = F.broadcast_to(value, (*batch_shape, *value.shape[len(self._batch_shape) :]))
        return made

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @constraints.dependent_property
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        missing = len(self.event_shape) - found.event_dim
        return constraints.independent(found, missing) if missing > 0 else found

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            x = self.base_dist.sample(sample_shape)
            for transform in self.transforms:
                x = transform(x)
            return F.stop_gradient(x)

    def rsample(self, sample_shape: Any = ()) -> Any:
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Any) -> Any:
        y = self._checked(value)
        event_dim, total = len(self.event_shape), 0
        for transform in reversed(self.transforms):
            x = transform._inv_call(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            total = total - summed(transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim)
            y = x
        return total + summed(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotone(self, value: Any) -> Any:
        """A probability of the base distribution as one of this: the complement where transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        y = self._checked(value)
        for transform in reversed(self.transforms):
            y = transform._inv_call(y)
        return self._monotone(self.base_dist.cdf(y))

    def icdf(self, value: Any) -> Any:
        x = self.base_dist.icdf(self._monotone(value))
        for transform in self.transforms:
            x = transform(x)
        return x

    def __repr__(self) -> str:
        if self.arg_constraints:
            return super().__repr__()
        return f"{type(self).__name__}({self.base_dist!r}, {self.transforms!r})"


class LogNormal(TransformedDistribution):
    """exp(x) of a normal x."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = tensors(loc, scale)
        super().__init__(Normal(self.loc, self.scale, False), ExpTransform(), validate_args)

    mean = property(lambda self: F.exp(self.loc + F.square(self.scale) / 2))
    mode = property(lambda self: F.exp(self.loc - F.square(self.scale)))

    @property
    def variance(self) -> Any:
        square = F.square(self.scale)
        return F.expm1(square) * F.exp(2 * self.loc + square)

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Points of the simplex with k + 1 elements: the stick breaking of k normal numbers."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        base = Normal(loc, scale, validate_args)
        super().__init__(base if base.batch_shape else base.expand((1,)), StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """The mean of the normal numbers."""
        return vars(self.base_dist)["base_dist"].loc

    @property
    def scale(self) -> Any:
        """The standard deviation of the normal numbers."""
        return vars(self.base_dist)["base_dist"].scale


class MixtureSameFamily(Distribution):
    """Components along the last batch axis of one distribution, chosen with the probabilities of a `Categorical`.

    Raises ArgumentError for shapes that don't fit.
    """

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ):
        mixture, components = mixture_distribution, component_distribution
        if not isinstance(mixture, Categorical):
            raise ArgumentError(
                f"The Mixture distribution needs to be an instance of Categorical, got {type(mixture).__name__}"
            )
        if not components.batch_shape:
            raise ArgumentError("the components need a batch axis, along which they lie")
        try:
            batch = np.broadcast_shapes(mixture.batch_shape, components.batch_shape[:-1])
        except ValueError:
            batch = None
        if batch != components.batch_shape[:-1]:
            raise ArgumentError(
                f"`mixture_distribution.batch_shape` ({mixture.batch_shape}) is not compatible with "
                f"`component_distribution.batch_shape`({components.batch_shape})"
            )
        if mixture.event_size != components.batch_shape[-1]:
            raise ArgumentError(
                f"`mixture_distribution` component ({mixture.event_size}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components.batch_shape[-1]})"
            )
        self._mixture_distribution = mixture.expand(batch)
        self._component_distribution = components
        super().__init__(components.batch_shape[:-1], components.event_shape, validate_args)

    @property
    def mixture_distribution(self) -> Categorical:
        """The probabilities with which they are mixed."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The distributions that are mixed."""
        return self._component_distribution

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)

    def _spread(self, value: Any) -> Any:
        """A value with an axis of extent 1 for the components."""
        return F.expand_dims(value, -1 - len(self.event_shape))

    def _weights(self) -> Any:
        probs = self.mixture_distribution.probs
        return F.reshape(probs, (*probs.shape, *[1] * len(self.event_shape)))

    def _mixed(self, x: Any) -> Any:
        return F.sum(self._weights() * x, -1 - len(self.event_shape))

    mean = property(lambda self: self._mixed(self.component_distribution.mean))

    @property
    def variance(self) -> Any:
        """Of the components, and between them."""
        between = F.square(self.component_distribution.mean - self._spread(self.mean))
        return self._mixed(self.component_distribution.variance) + self._mixed(between)

    def cdf(self, value: Any) -> Any:
        found = self.component_distribution.cdf(self._spread(self._checked(value)))
        return F.sum(found * self.mixture_distribution.probs, -1)

    def log_prob(self, value: Any) -> Any:
        found = self.component_distribution.log_prob(self._spread(self._checked(value)))
        return F.logsumexp(found + F.log_softmax(self.mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            x = self.component_distribution.sample(sample_shape)
            events = len(self.event_shape)
            index = F.reshape(chosen, (*chosen.shape, *[1] * (events + 1)))
            index = F.broadcast_to(index, (*chosen.shape, 1, *self.event_shape))
            return F.stop_gradient(F.squeeze(F.take_along_axis(x, index, -1 - events), -1 - events))

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution!r},\n  {self.component_distribution!r})"


# discrete distributions whose samples are differentiable --------------------------------------------------------------

# Discrete distributions whose samples are differentiable: relaxed by a temperature, or with the gradient of probabilities.
#
# Sources: Maddison, Mnih, Teh, "The concrete distribution", ICLR 2017; Jang, Gu, Poole, "Categorical reparameterization with
# Gumbel-softmax", ICLR 2017.


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
