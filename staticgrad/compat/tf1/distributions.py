"""`tf.distributions`: probability distributions with TensorFlow's methods, over those of `staticgrad.distributions`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from . import arrays, draws
from . import math as _math
from .core import F, distributions, finfo
from .dtypes import TensorShape, as_dtype
from .elements import broadcast_static_shape
from .tensor import arguments, extents_of, operation, signature, tensor

tf_math: Any = _math  # its functions are made of records


def _method(method: str, takes_value: bool, doc: str) -> Callable[..., Any]:
    """A method, or a property, of the inner distribution."""

    def with_value(self: Distribution, value: Any, name: str = method) -> Any:
        return self._of(method, value, name=name)

    def without(self: Distribution, name: str = method) -> Any:
        return self._of(method, name=name)

    made = with_value if takes_value else without
    made.__name__, made.__doc__ = method, doc
    return made


class Distribution:
    """Base of the distributions: parameters are tensors, whose shapes are broadcast to the shape of a batch.

    validate_args and allow_nan_stats are accepted.
    """

    _inner: Any
    """The class of `staticgrad.distributions`."""

    def __init_subclass__(cls, inner: Any = None, parameters: dict[str, Any] | None = None, **options: Any):
        """parameters: name -> default, `...` for none, of the constructor; tensors and attributes."""
        super().__init_subclass__(**options)
        if inner is not None:
            cls._inner = inner
        if parameters is None:
            return
        rest = {"validate_args": False, "allow_nan_stats": True, "name": cls.__name__}
        signed = signature({"self": ..., **parameters, **rest})

        def __init__(self: Distribution, *args: Any, **kwargs: Any) -> None:
            given = arguments(signed, (self, *args), kwargs)
            Distribution.__init__(self, given["name"], None, **{key: given[key] for key in parameters})
            vars(self).update(self._parameters)

        __init__.__signature__ = signed  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]

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

    log_prob = _method("log_prob", True, "The logarithm of the density, or of the probability.")
    cdf = _method("cdf", True, "The probability of a value up to this one.")
    entropy, mean, variance, stddev = (
        _method(name, False, f"The {name} of the distribution.") for name in ("entropy", "mean", "variance", "stddev")
    )
    mode = _method("mode", False, "The most probable value.")

    def prob(self, value: Any, name: str = "prob") -> Any:
        return tf_math.exp(self.log_prob(value), name=name)

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Any:
        return tf_math.log(self.cdf(value), name=name)

    def survival_function(self, value: Any, name: str = "survival_function") -> Any:
        return tf_math.subtract(1.0, self.cdf(value), name=name)

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
        return reduce(broadcast_static_shape, (p.shape for p in self._parameters.values()))

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        return arrays.shape(self.mean(), name=name)

    def _sizes(self, shape: list[int]) -> Any:
        """The shape of samples, and a tensor of the batch."""
        like = sum(self._parameters.values())
        return arrays.concat([np.array(shape, np.int32), arrays.shape(like)], 0), like

    def _uniform(self, shape: list[int], seed: int | None) -> Any:
        """In (0, 1), of the shape of samples."""
        sizes, like = self._sizes(shape)
        return draws.random_uniform(sizes, finfo(self.dtype.numpy).tiny, 1.0, like.dtype, seed)


class Normal(Distribution, inner=distributions.Normal, parameters={"loc": ..., "scale": ...}):
    """By mean and standard deviation."""

    loc: Any
    scale: Any

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        sizes, like = self._sizes(shape)
        return draws.random_normal(sizes, dtype=like.dtype, seed=seed) * self.scale + self.loc


class Uniform(Distribution, inner=distributions.Uniform, parameters={"low": 0.0, "high": 1.0}):
    """Between two ends."""

    low: Any
    high: Any

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        return self._uniform(shape, seed) * (self.high - self.low) + self.low


class Exponential(Distribution, inner=distributions.Exponential, parameters={"rate": ...}):
    """By its rate."""

    rate: Any

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        return -tf_math.log(self._uniform(shape, seed)) / self.rate


class Laplace(Distribution, inner=distributions.Laplace, parameters={"loc": ..., "scale": ...}):
    """By location and scale."""

    loc: Any
    scale: Any

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        u = self._uniform(shape, seed) - 0.5
        return self.loc - self.scale * tf_math.sign(u) * tf_math.log1p(-2.0 * tf_math.abs(u))


class Gamma(Distribution, inner=distributions.Gamma, parameters={"concentration": ..., "rate": ...}):
    """By shape and rate."""

    concentration: Any
    rate: Any

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        return draws.random_gamma(shape, self.concentration, self.rate, self.dtype, seed)


class Beta(Distribution, inner=distributions.Beta, parameters={"concentration1": 1.0, "concentration0": 1.0}):
    """By two shapes."""

    concentration1: Any
    concentration0: Any

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

    probs = property(lambda self: self._of("probs"))
    logits = property(lambda self: self._of("logits"))


class Bernoulli(Discrete, inner=distributions.Bernoulli):
    """0 or 1, by the probability of 1 or its logit."""

    def mode(self, name: str = "mode") -> Any:
        return tf_math.cast(self.probs > 0.5, self.dtype, name=name)

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        probs = self.probs
        sizes = arrays.concat([np.array(shape, np.int32), arrays.shape(probs)], 0)
        return tf_math.cast(draws.random_uniform(sizes, dtype=probs.dtype, seed=seed) < probs, self.dtype)


class Categorical(Discrete, inner=distributions.Categorical):
    """One of several classes, by their probabilities or unnormalized logarithms along the last axis."""

    @property
    def batch_shape(self) -> TensorShape:
        return super().batch_shape[:-1]

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
