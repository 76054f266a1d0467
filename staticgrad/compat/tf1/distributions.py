"""`tf.distributions`: probability distributions with TensorFlow's methods, over those of `staticgrad.distributions`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ... import distributions
from ...operators import F
from . import arrays, draws
from . import math as _math
from .dtypes import as_dtype
from .elements import broadcast_static_shape
from .shapes import TensorShape
from .tensor import extents_of, operation, tensor

tf_math: Any = _math  # its functions are made of records


class Distribution:
    """Base of the distributions: parameters are tensors, whose shapes are broadcast to the shape of a batch.

    validate_args and allow_nan_stats are accepted.
    """

    _inner: Any
    """The class of `staticgrad.distributions`."""

    def __init__(self, name: str, dtype: Any, **parameters: Any):
        self.name, self._parameters = name, {k: self._parameter(v) for k, v in parameters.items() if v is not None}
        self.dtype = as_dtype(dtype or next(iter(self._parameters.values())).dtype)

    @staticmethod
    def _parameter(value: Any) -> Any:
        made = arrays.convert_to_tensor(value)
        return made if made.dtype.is_floating else tf_math.cast(made, np.float32)

    @property
    def parameters(self) -> dict[str, Any]:
        """The tensors by their names."""
        return dict(self._parameters)

    def _of(self, method: str, *values: Any, name: str | None = None) -> Any:
        """A method, or a property, of the inner distribution as one operation."""
        keys, inner = list(self._parameters), self._inner

        @operation(method)
        def call(parameters: list[Any], given: tuple[Any, ...]) -> Any:
            tensors = _sized(parameters)
            given = tuple(_sized(given))
            made = inner(**dict(zip(keys, tensors, strict=True)), validate_args=False)
            found = getattr(made, method)
            return found(*(F.astype(v, tensors[0].dtype) for v in given)) if callable(found) else found

        return call(list(self._parameters.values()), values, name=name or method)

    def log_prob(self, value: Any, name: str = "log_prob") -> Any:
        """The logarithm of the density, or of the probability."""
        return self._of("log_prob", value, name=name)

    def prob(self, value: Any, name: str = "prob") -> Any:
        return tf_math.exp(self.log_prob(value), name=name)

    def cdf(self, value: Any, name: str = "cdf") -> Any:
        return self._of("cdf", value, name=name)

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Any:
        return tf_math.log(self.cdf(value), name=name)

    def survival_function(self, value: Any, name: str = "survival_function") -> Any:
        return tf_math.subtract(1.0, self.cdf(value), name=name)

    def entropy(self, name: str = "entropy") -> Any:
        return self._of("entropy", name=name)

    def mean(self, name: str = "mean") -> Any:
        return self._of("mean", name=name)

    def variance(self, name: str = "variance") -> Any:
        return self._of("variance", name=name)

    def stddev(self, name: str = "stddev") -> Any:
        return self._of("stddev", name=name)

    def mode(self, name: str = "mode") -> Any:
        return self._of("mode", name=name)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Any:
        """See the function of this name."""
        return kl_divergence(self, other, name=name)

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Any:
        """Numbers of the shape `sample_shape` + that of the batch."""
        shape = [int(n) for n in ([sample_shape] if isinstance(sample_shape, (int, np.integer)) else sample_shape)]
        return arrays.identity(self._sample(shape, seed), name=name)

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no samples")

    @property
    def batch_shape(self) -> TensorShape:
        found: TensorShape = reduce(broadcast_static_shape, (p.shape for p in self._parameters.values()))
        return found

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        return arrays.shape(self.mean(), name=name)

    def _uniform(self, shape: list[int], seed: int | None) -> Any:
        """In (0, 1), of the shape of samples."""
        like = sum(self._parameters.values())
        sizes = arrays.concat([np.array(shape, np.int32), arrays.shape(like)], 0)
        return draws.random_uniform(sizes, np.finfo(self.dtype.numpy).tiny, 1.0, like.dtype, seed)


class Normal(Distribution):
    """By mean and standard deviation."""

    _inner = distributions.Normal

    def __init__(self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Normal"):
        super().__init__(name, None, loc=loc, scale=scale)
        self.loc, self.scale = self._parameters["loc"], self._parameters["scale"]

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        like = self.loc + self.scale
        sizes = arrays.concat([np.array(shape, np.int32), arrays.shape(like)], 0)
        return draws.random_normal(sizes, dtype=like.dtype, seed=seed) * self.scale + self.loc


class Uniform(Distribution):
    """Between two ends."""

    _inner = distributions.Uniform

    def __init__(
        self, low: Any = 0.0, high: Any = 1.0, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Uniform"
    ):
        super().__init__(name, None, low=low, high=high)
        self.low, self.high = self._parameters["low"], self._parameters["high"]

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        return self._uniform(shape, seed) * (self.high - self.low) + self.low


class Exponential(Distribution):
    """By its rate."""

    _inner = distributions.Exponential

    def __init__(self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential"):
        super().__init__(name, None, rate=rate)
        self.rate = self._parameters["rate"]

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        return -tf_math.log(self._uniform(shape, seed)) / self.rate


class Laplace(Distribution):
    """By location and scale."""

    _inner = distributions.Laplace

    def __init__(self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Laplace"):
        super().__init__(name, None, loc=loc, scale=scale)
        self.loc, self.scale = self._parameters["loc"], self._parameters["scale"]

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        u = self._uniform(shape, seed) - 0.5
        return self.loc - self.scale * tf_math.sign(u) * tf_math.log1p(-2.0 * tf_math.abs(u))


class Gamma(Distribution):
    """By shape and rate."""

    _inner = distributions.Gamma

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Gamma"
    ):
        super().__init__(name, None, concentration=concentration, rate=rate)
        self.concentration, self.rate = self._parameters["concentration"], self._parameters["rate"]

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        return draws.random_gamma(shape, self.concentration, self.rate, self.dtype, seed)


class Beta(Distribution):
    """By two shapes."""

    _inner = distributions.Beta

    def __init__(
        self, concentration1: Any = 1.0, concentration0: Any = 1.0, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Beta",
    ):  # fmt: skip
        super().__init__(name, None, concentration1=concentration1, concentration0=concentration0)
        self.concentration1, self.concentration0 = (self._parameters[f"concentration{i}"] for i in (1, 0))

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        zeros = arrays.zeros_like(self.concentration1 + self.concentration0)
        second = None if seed is None else seed + 1
        x = draws.random_gamma(shape, self.concentration1 + zeros, None, self.dtype, seed)
        return x / (x + draws.random_gamma(shape, self.concentration0 + zeros, None, self.dtype, second))


class Discrete(Distribution):
    """By probabilities or by logits, one of the two."""

    def __init__(
        self, logits: Any = None, probs: Any = None, dtype: Any = np.int32, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "",
    ):  # fmt: skip
        if (logits is None) == (probs is None):
            raise ValueError("Must pass probs or logits, but not both.")
        super().__init__(name or type(self).__name__, dtype, logits=logits, probs=probs)

    @property
    def probs(self) -> Any:
        return self._of("probs")

    @property
    def logits(self) -> Any:
        return self._of("logits")


class Bernoulli(Discrete):
    """0 or 1, by the probability of 1 or its logit."""

    _inner = distributions.Bernoulli

    def mode(self, name: str = "mode") -> Any:
        return tf_math.cast(self.probs > 0.5, self.dtype, name=name)

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        probs = self.probs
        sizes = arrays.concat([np.array(shape, np.int32), arrays.shape(probs)], 0)
        return tf_math.cast(draws.random_uniform(sizes, dtype=probs.dtype, seed=seed) < probs, self.dtype)


class Categorical(Discrete):
    """One of several classes, by their probabilities or unnormalized logarithms along the last axis."""

    _inner = distributions.Categorical

    @property
    def batch_shape(self) -> TensorShape:
        found: TensorShape = super().batch_shape[:-1]
        return found

    @property
    def event_size(self) -> Any:
        """The number of classes."""
        return next(iter(self._parameters.values())).shape.as_list()[-1]

    def mode(self, name: str = "mode") -> Any:
        return tf_math.cast(tf_math.argmax(self.logits, -1), self.dtype, name=name)

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        logits = self.logits
        rows = arrays.reshape(logits, [-1, self.event_size])
        found = arrays.transpose(draws.multinomial(rows, math.prod(shape), seed, self.dtype))
        return arrays.reshape(found, arrays.concat([np.array(shape, np.int32), arrays.shape(logits)[:-1]], 0))


def _sized(values: Sequence[Any]) -> list[Any]:
    """Values as symbols. Raises UnknownExtentError, which puts an operation off, where an extent is unknown."""
    found = [tensor(v) for v in values]
    for x in found:
        extents_of(x)
    return found


def kl_divergence(
    distribution_a: Distribution, distribution_b: Distribution, allow_nan_stats: bool = True, name: str = "KullbackLeibler"
) -> Any:
    """The divergence of Kullback and Leibler of a from b. Raises NotImplementedError where no formula is known."""
    a, b = distribution_a, distribution_b

    def made(of: Distribution, parameters: list[Any]) -> Any:
        tensors: Callable[..., Any] = of._inner
        return tensors(**dict(zip(of._parameters, _sized(parameters), strict=True)), validate_args=False)

    @operation("KullbackLeibler")
    def call(first: list[Any], second: list[Any]) -> Any:
        return distributions.kl_divergence(made(a, first), made(b, second))

    return call(list(a._parameters.values()), list(b._parameters.values()), name=name)
