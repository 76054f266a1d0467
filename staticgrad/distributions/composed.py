"""Distributions made of others, and divergences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError
from ..operators import F
from . import continuous as c
from . import discrete as d
from .distribution import EULER, Distribution, summed


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
        self.has_rsample = base.has_rsample
        super().__init__(shape[:split], shape[split:], validate_args)

    @property
    def mean(self) -> Any:
        return self.base_dist.mean

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def sample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)


Divergence = Callable[[Any, Any], Any]
KL: dict[tuple[type[Distribution], type[Distribution]], Divergence] = {}
"""E_p[log p - log q] by the types of p and q."""


def register_kl(type_p: type[Distribution], type_q: type[Distribution]) -> Callable[[Divergence], Divergence]:
    """Enter a function (p, q) for `kl_divergence` of these types and those derived from them."""

    def enter(fn: Divergence) -> Divergence:
        KL[type_p, type_q] = fn
        return fn

    return enter


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """KL(p || q), of the batch shape. Raises NotImplementedError for types without a formula."""
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            if (a, b) in KL:
                return KL[a, b](p, q)
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")


def _of_probabilities(p: Any, q: Any) -> Any:
    return F.sum(p.probs * F.where(p.probs == 0, 0 * p.probs, p.logits - q.logits), -1)


def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    return (
        b * F.log(p.rate / q.rate) + F.lgamma(b) - F.lgamma(a) + (a - b) * F.digamma(a) + (q.rate - p.rate) * a / p.rate
    )


def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = F.sum(a, -1)
    first = F.lgamma(total) - F.sum(F.lgamma(a), -1) - F.lgamma(F.sum(b, -1)) + F.sum(F.lgamma(b), -1)
    return first + F.sum((a - b) * (F.digamma(a) - F.expand_dims(F.digamma(total), -1)), -1)


def _gumbel(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    at = (q.loc - p.loc) / q.scale
    return F.log(q.scale / p.scale) - at + ratio * EULER + F.exp(at + F.lgamma(1 + ratio)) - (1 + EULER)


def _bernoulli(p: Any, q: Any) -> Any:
    """By logits: p log(p / q) + (1 - p) log((1 - p) / (1 - q))."""
    return p.probs * (p.logits - q.logits) - F.softplus(p.logits) + F.softplus(q.logits)


def _laplace(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, F.abs(p.loc - q.loc)
    return -F.log(ratio) + distance / q.scale + ratio * F.exp(-distance / p.scale) - 1


def _normal(p: Any, q: Any) -> Any:
    ratio = F.square(p.scale / q.scale)
    return 0.5 * (ratio + F.square((p.loc - q.loc) / q.scale) - 1 - F.log(ratio))


def _half_normal(p: Any, q: Any) -> Any:
    ratio = F.square(p.scale / q.scale)
    return 0.5 * (ratio - 1 - F.log(ratio))


def _uniform(p: Any, q: Any) -> Any:
    inside = F.logical_and(q.low <= p.low, q.high >= p.high)
    return F.where(inside, F.log((q.high - q.low) / (p.high - p.low)), math.inf)


def _cauchy(p: Any, q: Any) -> Any:
    return F.log((F.square(p.scale + q.scale) + F.square(p.loc - q.loc)) / (4 * p.scale * q.scale))


def _multivariate_normal(p: Any, q: Any) -> Any:
    from ..ops.linear_algebra import solve_triangular

    k = p.event_shape[0]
    half = q._half_log_det() - p._half_log_det()
    spread = F.sum(F.square(solve_triangular(q.scale_tril, p.scale_tril, upper=False)), (-2, -1))
    return half + 0.5 * (spread + F.sum(F.square(q.whitened(q.loc - p.loc)), -1) - k)


def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL of Independent distributions with different reinterpreted_batch_ndims")
    return summed(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


for _type, _formula in (
    (c.Normal, _normal), (c.LogNormal, _normal), (c.Laplace, _laplace), (c.Cauchy, _cauchy), (c.Gumbel, _gumbel),
    (c.HalfNormal, _half_normal), (c.Uniform, _uniform), (c.Gamma, _gamma), (c.Dirichlet, _dirichlet),
    (c.Beta, lambda p, q: _dirichlet(p._pair, q._pair)), (c.MultivariateNormal, _multivariate_normal),
    (c.Exponential, lambda p, q: q.rate / p.rate - F.log(q.rate / p.rate) - 1),
    (d.Bernoulli, _bernoulli), (d.Categorical, _of_probabilities), (d.OneHotCategorical, _of_probabilities),
    (d.Binomial, lambda p, q: p.total_count * _bernoulli(p, q)),
    (d.Poisson, lambda p, q: p.rate * F.log(p.rate / q.rate) - (p.rate - q.rate)),
    (d.Geometric, lambda p, q: -p.entropy() - F.log1p(-q.probs) / p.probs - q.logits),
    (Independent, _independent),
):  # fmt: skip
    KL[_type, _type] = _formula

__all__ = ["Independent", "kl_divergence", "register_kl"]
