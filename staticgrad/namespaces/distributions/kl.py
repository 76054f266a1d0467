"""Divergences between distributions, KL(p || q) = E_p[log p - log q].

Distributions of one family have formulas of their own. Between families it is the cross entropy less the entropy, where the
cross entropy follows from a few moments of p (the mean, the variance, E[log x], E[exp(t x)], E|x - a|).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...ops.operators import F
from . import composed, discrete, multivariate
from .composed import Independent
from .distribution import EULER, LOG_2PI, Distribution, constant, summed
from .gamma_family import Beta, Dirichlet, Gamma, InverseGamma
from .intervals import (
    Cauchy,
    ContinuousBernoulli,
    Exponential,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Laplace,
    Normal,
    Pareto,
    Uniform,
)
from .multivariate import log_diagonal

Divergence = Callable[[Any, Any], Any]
KL: dict[tuple[type[Distribution], type[Distribution]], Divergence] = {}
"""E_p[log p - log q] by the types of p and q."""
_KL_REGISTRY = KL
"""PyTorch's name of it."""


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


# one family -------------------------------------------------------------------------------------------------------------


def _of_probabilities(p: Any, q: Any) -> Any:
    terms = F.where(p.probs == 0, 0.0, F.where(q.probs == 0, math.inf, p.probs * (p.logits - q.logits)))
    return F.sum(terms, -1)


def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    return b * F.log(p.rate / q.rate) + F.lgamma(b) - F.lgamma(a) + (a - b) * F.digamma(a) + (q.rate - p.rate) * a / p.rate


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
    """p log(p / q) + (1 - p) log((1 - p) / (1 - q)), by logits; infinite where q excludes a value of p's."""
    ones = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    zeros = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    ones = F.where(p.probs == 0, 0.0, F.where(q.probs == 0, math.inf, ones))
    return ones + F.where(p.probs == 1, 0.0, F.where(q.probs == 1, math.inf, zeros))


def _binomial(p: Any, q: Any) -> Any:
    return F.where(p.total_count > q.total_count, math.inf, p.total_count * _bernoulli(p, q))


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


def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    return F.where(p.scale < q.scale, math.inf, q.alpha * F.log(p.scale / q.scale) - F.log(ratio) + ratio - 1)


def _continuous_bernoulli(p: Any, q: Any) -> Any:
    return p.mean * (p.logits - q.logits) + _log_constant(p) - _log_constant(q)


def _log_constant(q: Any) -> Any:
    """log density of a continuous Bernoulli number at 0."""
    return q._log_constant() - F.softplus(q.logits)


def _multivariate_normal(p: Any, q: Any) -> Any:
    half = q.half_log_det() - p.half_log_det()
    factor = q.scale_tril
    spread = F.sum(F.square(multivariate.solved(factor, p.scale_tril)), (-2, -1))
    distance = multivariate.squared_length(factor, q.loc - p.loc)
    return half + 0.5 * (spread + distance - p.event_shape[0])


def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL of Independent distributions with different reinterpreted_batch_ndims")
    return summed(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _of_bases(p: Any, q: Any) -> Any:
    """Of a bijection of two distributions, and of the absolute values of two that are symmetric about 0."""
    return kl_divergence(p.base_dist, q.base_dist)


def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL of TransformedDistribution with different transforms or event shapes")
    return _of_bases(p, q)


def _wishart(p: Any, q: Any) -> Any:
    """E_p[log|X|] and E_p[X] in the density of q, less those in the density of p."""
    size = p.event_shape[-1]
    logs = log_diagonal(q.scale_tril) - log_diagonal(p.scale_tril)
    whitened = multivariate.solved(q.scale_tril, p.scale_tril)
    trace = F.sum(F.square(whitened), (-2, -1))
    gammas = F.mvlgamma(q.df / 2, size) - F.mvlgamma(p.df / 2, size)
    return q.df * logs + 0.5 * p.df * (trace - size) + gammas + 0.5 * (p.df - q.df) * p.digammas()


for _type, _formula in (
    (Normal, _normal), (Laplace, _laplace), (Cauchy, _cauchy), (Gumbel, _gumbel), (HalfNormal, _half_normal),
    (Uniform, _uniform), (Gamma, _gamma), (Dirichlet, _dirichlet), (Pareto, _pareto),
    (ContinuousBernoulli, _continuous_bernoulli), (Beta, lambda p, q: _dirichlet(p._pair, q._pair)),
    (Exponential, lambda p, q: q.rate / p.rate - F.log(q.rate / p.rate) - 1),
    (discrete.Bernoulli, _bernoulli), (discrete.Categorical, _of_probabilities),
    (discrete.OneHotCategorical, _of_probabilities), (discrete.Binomial, _binomial),
    (discrete.Poisson, lambda p, q: p.rate * F.log(p.rate / q.rate) - (p.rate - q.rate)),
    (discrete.Geometric, lambda p, q: -p.entropy() - F.log1p(-q.probs) / p.probs - q.logits),
    (HalfCauchy, _of_bases), (InverseGamma, _of_bases), (Independent, _independent),
    (composed.TransformedDistribution, _transformed), (multivariate.Wishart, _wishart),
):  # fmt: skip
    KL[_type, _type] = _formula
VECTORS = (multivariate.MultivariateNormal, multivariate.LowRankMultivariateNormal)
KL.update(((_first, _second), _multivariate_normal) for _first in VECTORS for _second in VECTORS)


# moments of p -----------------------------------------------------------------------------------------------------------


def _uniform_mean_log(low: Any, high: Any) -> Any:
    """E[log x]; negative x are left to the caller."""
    low, high = F.clamp(low, min=0), F.clamp(high, min=0)
    return (F.xlogy(high, high) - F.xlogy(low, low)) / (high - low) - 1


MEAN_LOG: dict[type[Distribution], Callable[[Any], Any]] = {
    Beta: lambda p: F.digamma(p.concentration1) - F.digamma(p.concentration1 + p.concentration0),
    Exponential: lambda p: -EULER - F.log(p.rate),
    Gamma: lambda p: F.digamma(p.concentration) - F.log(p.rate),
    Pareto: lambda p: F.log(p.scale) + 1 / p.alpha,
    Uniform: lambda p: _uniform_mean_log(p.low, p.high),
}
"""E[log x]."""
MEAN_EXP: dict[type[Distribution], Callable[[Any, Any], Any]] = {
    Exponential: lambda p, t: p.rate / (p.rate - t),
    Gamma: lambda p, t: F.pow(p.rate / (p.rate - t), p.concentration),
    Normal: lambda p, t: F.exp(t * p.loc + F.square(t * p.scale) / 2),
    Uniform: lambda p, t: (F.exp(t * p.high) - F.exp(t * p.low)) / (t * (p.high - p.low)),
}
"""E[exp(t x)], for t < 0."""


def _mean_distance(p: Any, at: Any) -> Any:
    """E|x - at| of a normal x."""
    z = (p.loc - at) / p.scale
    return p.scale * (math.sqrt(2 / math.pi) * F.exp(-F.square(z) / 2) + z * F.erf(z / math.sqrt(2)))


def _of(table: dict[type[Distribution], Any], p: Any) -> Any:
    return next(found for kind, found in table.items() if isinstance(p, kind))


# cross entropies, -E_p[log q] ---------------------------------------------------------------------------------------------


def _to_gumbel(p: Any, q: Any) -> Any:
    decay = _of(MEAN_EXP, p)(p, -1 / q.scale) * F.exp(q.loc / q.scale)
    return F.log(q.scale) + (p.mean - q.loc) / q.scale + decay


def _to_gamma(p: Any, q: Any) -> Any:
    a, b = q.concentration, q.rate
    return F.lgamma(a) - a * F.log(b) - (a - 1) * _of(MEAN_LOG, p)(p) + b * p.mean


def _to_beta(p: Uniform, q: Beta) -> Any:
    a, b = q.concentration1, q.concentration0
    constant_part = F.lgamma(a) + F.lgamma(b) - F.lgamma(a + b)
    return constant_part - (a - 1) * _uniform_mean_log(p.low, p.high) - (b - 1) * _uniform_mean_log(1 - p.high, 1 - p.low)


CROSS: dict[type[Distribution], Divergence] = {
    Beta: _to_beta,
    ContinuousBernoulli: lambda p, q: -p.mean * q.logits - _log_constant(q),
    Exponential: lambda p, q: q.rate * p.mean - F.log(q.rate),
    Gamma: _to_gamma,
    Gumbel: _to_gumbel,
    Laplace: lambda p, q: F.log(2 * q.scale) + _mean_distance(p, q.loc) / q.scale,
    Normal: lambda p, q: 0.5 * LOG_2PI + F.log(q.scale)
    + (p.variance + F.square(p.mean - q.loc)) / (2 * F.square(q.scale)),
    Pareto: lambda p, q: (q.alpha + 1) * _of(MEAN_LOG, p)(p) - F.log(q.alpha) - q.alpha * F.log(q.scale),
    Uniform: lambda p, q: F.log(q.high - q.low) + constant(p.mean, 0.0),
}  # fmt: skip

LOW: dict[type[Distribution], Callable[[Any], Any]] = {
    Beta: lambda d: 0.0, ContinuousBernoulli: lambda d: 0.0, Exponential: lambda d: 0.0, Gamma: lambda d: 0.0,
    Pareto: lambda d: d.scale, Uniform: lambda d: d.low,
}  # fmt: skip
"""Where the support of a distribution begins; the others have all numbers."""
HIGH: dict[type[Distribution], Callable[[Any], Any]] = {
    Beta: lambda d: 1.0, ContinuousBernoulli: lambda d: 1.0, Uniform: lambda d: d.high,
}  # fmt: skip


def _between_families(p: Any, q: Any) -> Any:
    """Infinite where p has values that q excludes."""
    found = CROSS[_kind(q)](p, q) - p.entropy()
    if _kind(p) in LOW and _kind(q) in LOW:
        found = F.where(LOW[_kind(p)](p) < LOW[_kind(q)](q), math.inf, found)
    if _kind(p) in HIGH and _kind(q) in HIGH:
        found = F.where(HIGH[_kind(p)](p) > HIGH[_kind(q)](q), math.inf, found)
    return found


def _kind(d: Distribution) -> type[Distribution]:
    return next(kind for kind in CROSS if isinstance(d, kind))


def _infinite(p: Any, q: Any) -> Any:
    return constant(p.mean + q.mean, math.inf)


FINITE: tuple[tuple[type[Distribution], tuple[type[Distribution], ...]], ...] = (
    (Beta, (ContinuousBernoulli, Exponential, Gamma, Normal, Uniform)), (ContinuousBernoulli, (Exponential, Normal, Uniform)),
    (Exponential, (Gamma, Gumbel, Normal)), (Gamma, (Exponential, Gumbel, Normal)), (Gumbel, (Normal,)), (Laplace, (Normal,)),
    (Normal, (Gumbel, Laplace)), (Pareto, (Exponential, Gamma, Normal)),
    (Uniform, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto)),
)  # fmt: skip
INFINITE: tuple[tuple[type[Distribution], tuple[type[Distribution], ...]], ...] = (
    (Beta, (Pareto,)),
    (ContinuousBernoulli, (Pareto,)),
    (Exponential, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, (Beta, ContinuousBernoulli, Uniform)),
    (discrete.Poisson, (discrete.Bernoulli, discrete.Binomial)),
)
"""p has values of any size, or those below a bound, that q excludes."""

for _divergence, _table in ((_between_families, FINITE), (_infinite, INFINITE)):
    for _p, _others in _table:
        for _q in _others:
            KL[_p, _q] = _divergence


@register_kl(discrete.Bernoulli, discrete.Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return q.rate - p.probs * F.log(q.rate) - p.entropy()


__all__ = ["kl_divergence", "register_kl"]
