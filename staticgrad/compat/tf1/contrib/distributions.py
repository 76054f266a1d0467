"""`tf.contrib.distributions`: the distributions of `tf.distributions`, and some beside them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import arrays, draws
from .. import math as _math
from ..core import distributions
from ..distributions import Bernoulli as Bernoulli
from ..distributions import Beta as Beta
from ..distributions import Categorical as Categorical
from ..distributions import Distribution as Distribution
from ..distributions import Exponential as Exponential
from ..distributions import Gamma as Gamma
from ..distributions import Laplace as Laplace
from ..distributions import Normal as Normal
from ..distributions import Uniform as Uniform
from ..distributions import kl_divergence as kl_divergence
from ..dtypes import TensorShape

tf_math: Any = _math  # its functions are made of records


class StudentT(Distribution, inner=distributions.StudentT, parameters={"df": ..., "loc": ..., "scale": ...}):
    """By degrees of freedom, location and scale."""

    df: Any
    loc: Any
    scale: Any

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        sizes, like = self._sizes(shape)
        second = None if seed is None else seed + 1
        normal = draws.random_normal(sizes, dtype=like.dtype, seed=seed)
        squares = draws.random_gamma(shape, 0.5 * (self.df + arrays.zeros_like(like)), 0.5, self.dtype, second)
        return normal * tf_math.rsqrt(squares / self.df) * self.scale + self.loc


class Poisson(Distribution, inner=distributions.Poisson, parameters={"rate": ...}):
    """By its rate."""

    rate: Any

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        return draws.random_poisson(self.rate, shape, self.dtype, seed)


class MultivariateNormalDiag(Distribution):
    """Independent normal numbers along the last axis: by their means and standard deviations, zeros and ones unless given."""

    def __init__(
        self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "MultivariateNormalDiag",
    ):  # fmt: skip
        if loc is None and scale_diag is None:
            raise ValueError("MultivariateNormalDiag: give loc or scale_diag")
        loc = None if loc is None else arrays.convert_to_tensor(loc)
        scale = None if scale_diag is None else arrays.convert_to_tensor(scale_diag)
        like = scale if loc is None else loc
        scale = arrays.ones_like(like) if scale is None else scale
        if scale_identity_multiplier is not None:
            by = arrays.expand_dims(arrays.convert_to_tensor(scale_identity_multiplier), -1)
            scale = by * scale if scale_diag is None else by + scale
        loc = arrays.zeros_like(scale) if loc is None else loc
        super().__init__(name, None, loc=loc, scale_diag=scale)
        self.loc, self.scale_diag = self._parameters["loc"], self._parameters["scale_diag"]
        self._each = Normal(self.loc, self.scale_diag)

    @property
    def batch_shape(self) -> TensorShape:
        return self._each.batch_shape[:-1]

    @property
    def event_shape(self) -> TensorShape:
        return self._each.batch_shape[-1:]

    def log_prob(self, value: Any, name: str = "log_prob") -> Any:
        return tf_math.reduce_sum(self._each.log_prob(value), -1, name=name)

    def entropy(self, name: str = "entropy") -> Any:
        return tf_math.reduce_sum(self._each.entropy(), -1, name=name)

    def mean(self, name: str = "mean") -> Any:
        return self._each.mean(name=name)

    def mode(self, name: str = "mode") -> Any:
        return self._each.mean(name=name)

    def variance(self, name: str = "variance") -> Any:
        return self._each.variance(name=name)

    def stddev(self, name: str = "stddev") -> Any:
        return self._each.stddev(name=name)

    def kl_divergence(self, other: Any, name: str = "kl_divergence") -> Any:
        if not isinstance(other, MultivariateNormalDiag):
            return super().kl_divergence(other, name)
        return tf_math.reduce_sum(kl_divergence(self._each, other._each), -1, name=name)

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        return self._each._sample(shape, seed)


class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """`MultivariateNormalDiag` with the softplus of `scale_diag` as standard deviations."""

    def __init__(self, loc: Any, scale_diag: Any, name: str = "MultivariateNormalDiagWithSoftplusScale", **accepted: Any):
        super().__init__(loc, tf_math.softplus(scale_diag), name=name, **accepted)


class Dirichlet(Distribution, inner=distributions.Dirichlet, parameters={"concentration": ...}):
    """Probabilities of classes along the last axis, by their concentrations."""

    concentration: Any

    @property
    def batch_shape(self) -> TensorShape:
        return self.concentration.shape[:-1]

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        x = draws.random_gamma(shape, self.concentration, None, self.dtype, seed)
        return x / tf_math.reduce_sum(x, -1, keepdims=True)


class OneHotCategorical(Categorical):
    """One of several classes, as a row with 1 at its place."""

    def __init__(self, logits: Any = None, probs: Any = None, dtype: Any = np.int32, **options: Any):
        super().__init__(logits, probs, dtype, **{"name": "OneHotCategorical", **options})

    def log_prob(self, value: Any, name: str = "log_prob") -> Any:
        logits = self.logits
        norm = logits - tf_math.reduce_logsumexp(logits, -1, keepdims=True)
        return tf_math.reduce_sum(norm * tf_math.cast(value, logits.dtype), -1, name=name)

    def mode(self, name: str = "mode") -> Any:
        return arrays.one_hot(super().mode(), self.event_size, dtype=self.dtype, name=name)

    def mean(self, name: str = "mean") -> Any:
        return arrays.identity(self.probs, name=name)

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        return arrays.one_hot(super()._sample(shape, seed), self.event_size, dtype=self.dtype)


class RelaxedOneHotCategorical(Distribution):
    """Smooth one-hot rows by a temperature. Jang, Gu and Poole; Maddison, Mnih and Teh, ICLR 2017."""

    def __init__(
        self, temperature: Any, logits: Any = None, probs: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "RelaxedOneHotCategorical",
    ):  # fmt: skip
        if (logits is None) == (probs is None):
            raise ValueError("Must pass probs or logits, but not both.")
        given = tf_math.log(probs) if logits is None else logits
        super().__init__(name, None, logits=given, temperature=temperature)
        self.logits, self.temperature = self._parameters["logits"], self._parameters["temperature"]

    @property
    def batch_shape(self) -> TensorShape:
        return self.logits.shape[:-1]

    @property
    def probs(self) -> Any:
        from ..nn.functions import softmax

        return softmax(self.logits)

    def log_prob(self, value: Any, name: str = "log_prob") -> Any:
        t, count = self.temperature, self.logits.shape[-1].value
        value = arrays.convert_to_tensor(value)
        power = self.logits - t * tf_math.log(value)
        norm = math.lgamma(count) + (count - 1) * tf_math.log(t)
        each = power - tf_math.log(value)
        found = norm + tf_math.reduce_sum(each, -1) - count * tf_math.reduce_logsumexp(power, -1)
        return arrays.identity(found, name=name)

    def _sample(self, shape: list[int], seed: int | None) -> Any:
        from ..nn.functions import softmax

        sizes = arrays.concat([np.array(shape, np.int32), arrays.shape(self.logits)], 0)
        u = draws.random_uniform(sizes, np.finfo(np.float32).tiny, 1.0, self.logits.dtype, seed)
        return softmax((self.logits - tf_math.log(-tf_math.log(u))) / self.temperature)
