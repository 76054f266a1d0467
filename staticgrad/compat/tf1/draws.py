"""`tf.random` beside `random.py`: other distributions, permutations, and draws that a seed alone decides.

They are not TensorFlow's numbers. Distributions without a formula for their samples go through their quantile functions.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ... import special, static
from ...distributions.gamma_quantile import gamma_quantile
from ...errors import UnknownExtentError
from ...ir import REGISTRY
from ...operators import F, apply
from ...ops.random import normal_op, seeded_normal_op, seeded_uniform_op, uniform_op
from . import random
from .dtypes import as_dtype
from .graph import get_seed, set_random_seed
from .nn import sampling
from .random import NO_SIZES, Numbers
from .shapes import known_extents
from .tensor import known, operation, tensor

Draw = Callable[..., Any]
"""(record, shape, dtype) -> random numbers."""


def _by(seed: Any) -> Draw:
    """Numbers that follow from a seed of two integers: the same in each run."""
    state = F.astype(tensor(seed), np.int64)
    seeded = {uniform_op: seeded_uniform_op, normal_op: seeded_normal_op}

    def draw(op: Any, shape: Any, dtype: Any) -> Any:
        return apply(seeded[op], state, shape=known_extents(known(shape)), dtype=np.dtype(dtype))

    return draw


def _open(draw: Draw, shape: Any, dtype: Any) -> Any:
    """Uniform in (0, 1): quantiles of the ends are infinite."""
    u = draw(uniform_op, shape, dtype)
    tiny = float(np.finfo(dtype).eps) / 4
    return F.clip(u, tiny, 1 - float(np.finfo(dtype).epsneg))


def _around(shape: Any, *parameters: Any) -> list[int]:
    """The shape with that of the parameters behind it."""
    inner = np.broadcast_shapes(*(p.shape for p in parameters))
    if None in inner:
        raise UnknownExtentError("the shape of a distribution's parameters has to be known when the graph is built")
    return [*known_extents(known(shape)), *inner]


def _gamma(draw: Draw, shape: Any, alpha: Any, beta: Any, kind: np.dtype) -> Any:
    a, b = tensor(alpha, kind), tensor(1.0 if beta is None else beta, kind)
    sizes = _around(shape, a, b)
    return F.div(gamma_quantile(F.broadcast_to(a, sizes), _open(draw, sizes, kind)), b)


def _whole(x: Any, kind: np.dtype) -> Any:
    return F.astype(x, kind)


@operation("random_gamma", "RandomGamma", NO_SIZES)
def random_gamma(shape: Any, alpha: Any, beta: Any = None, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """`shape` numbers for each element of alpha (the shape parameter) and beta (the rate); differentiable in both."""
    return _gamma(Numbers(seed).draw, shape, alpha, beta, as_dtype(dtype).numpy)


@operation("random_poisson", "RandomPoissonV2", NO_SIZES)
def random_poisson(lam: Any, shape: Any, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """`shape` Poisson numbers for each element of `lam`, the rate."""
    return _poisson(Numbers(seed).draw, shape, lam, as_dtype(dtype).numpy)


def _poisson(draw: Draw, shape: Any, lam: Any, kind: np.dtype) -> Any:
    rate = F.astype(tensor(lam), np.float64)
    sizes = _around(shape, rate)
    u = _open(draw, sizes, np.dtype(np.float64))
    return _whole(apply(REGISTRY["poisson_quantile"], u, F.broadcast_to(rate, sizes)), kind)


def _categorical(draw: Draw, logits: Any, count: Any, kind: np.dtype) -> Any:
    """Gumbel's trick: the largest of logits + noise."""
    x = tensor(logits)
    rows, classes = x.shape
    if rows is None or classes is None:
        raise UnknownExtentError("the extents of the logits have to be known when the graph is built")
    u = _open(draw, [rows, int(known(count)), classes], x.dtype)
    noisy = F.sub(F.expand_dims(x, 1), F.log(F.neg(F.log(u))))
    return F.astype(F.argmax(noisy, axis=2), kind)


@operation("multinomial", "Multinomial", NO_SIZES)
def multinomial(logits: Any, num_samples: Any, seed: int | None = None, output_dtype: Any = None) -> Any:
    """(batch, num_samples) classes, drawn by the unnormalized logarithms of their probabilities (batch, classes)."""
    return _categorical(Numbers(seed).draw, logits, num_samples, as_dtype(output_dtype or np.int64).numpy)


def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None) -> Any:
    """`multinomial`."""
    return multinomial(logits, num_samples, seed, dtype, name=name or "categorical")


@operation("RandomShuffle", sizes=NO_SIZES)
def random_shuffle(value: Any, seed: int | None = None) -> Any:
    """The slices along the first axis in a random order."""
    x = tensor(value)
    first = F.astype(x, np.float32)
    first = F.sum(first, axis=tuple(range(1, x.ndim))) if x.ndim > 1 else first  # of its extent, whose value is not read
    keys = Numbers(seed).like(uniform_op, first)
    return F.take(x, F.argsort(keys), axis=0)


# by a seed alone ------------------------------------------------------------------------------------------------------


@operation("stateless_random_normal", "StatelessRandomNormalV2")
def stateless_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, alg: Any = "auto_select"
) -> Any:
    """Normal numbers."""
    kind = as_dtype(dtype).numpy
    return F.add(F.mul(_by(seed)(normal_op, shape, kind), tensor(stddev, kind)), tensor(mean, kind))


@operation("stateless_random_uniform", "StatelessRandomUniformV2")
def stateless_uniform(
    shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = np.float32, alg: Any = "auto_select"
) -> Any:
    """Uniform numbers in [minval, maxval); integers for an integer dtype, whose upper end has to be given."""
    kind = as_dtype(dtype).numpy
    if kind.kind != "f":
        if maxval is None:
            raise ValueError("For non-float dtype, minval and maxval must both be given")
        u = _by(seed)(uniform_op, shape, np.float64)
        low, high = (F.astype(tensor(v), np.float64) for v in (minval, maxval))
        return F.astype(F.add(F.floor(F.mul(u, F.sub(high, low))), low), kind)
    low, high = tensor(minval, kind), tensor(1 if maxval is None else maxval, kind)
    return F.add(F.mul(_by(seed)(uniform_op, shape, kind), F.sub(high, low)), low)


@operation("stateless_truncated_normal", "StatelessTruncatedNormalV2")
def stateless_truncated_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, alg: Any = "auto_select"
) -> Any:
    """Normal numbers within two standard deviations."""
    return _truncated(shape, seed, mean, stddev, -2.0, 2.0, as_dtype(dtype).numpy)


@operation("stateless_parameterized_truncated_normal", "StatelessParameterizedTruncatedNormal")
def stateless_parameterized_truncated_normal(
    shape: Any, seed: Any, means: Any = 0.0, stddevs: Any = 1.0, minvals: Any = -2.0, maxvals: Any = 2.0
) -> Any:
    """Normal numbers between two ends."""
    means, stddevs, low, high = (tensor(v) for v in (means, stddevs, minvals, maxvals))
    a, b = (F.div(F.sub(end, means), stddevs) for end in (low, high))
    return _truncated(shape, seed, means, stddevs, a, b, means.dtype)


def _truncated(shape: Any, seed: Any, mean: Any, stddev: Any, low: Any, high: Any, kind: np.dtype) -> Any:
    """By the quantile function, between two ends in standard deviations from the mean."""
    u = _open(_by(seed), shape, kind)
    a, b = (special.ndtr(tensor(end, kind)) for end in (low, high))
    return F.add(F.mul(special.ndtri(F.add(a, F.mul(u, F.sub(b, a)))), tensor(stddev, kind)), tensor(mean, kind))


@operation("stateless_gamma", "StatelessRandomGammaV2")
def stateless_gamma(shape: Any, seed: Any, alpha: Any, beta: Any = None, dtype: Any = np.float32) -> Any:
    """Gamma numbers of a shape that ends with that of alpha and beta."""
    kind = as_dtype(dtype).numpy
    a, b = tensor(alpha, kind), tensor(1.0 if beta is None else beta, kind)
    u = _open(_by(seed), shape, kind)
    return F.div(gamma_quantile(F.broadcast_to(a, u.shape), u), b)


@operation("stateless_poisson", "StatelessRandomPoisson")
def stateless_poisson(shape: Any, seed: Any, lam: Any, dtype: Any = np.int32) -> Any:
    """Poisson numbers of a shape that ends with that of the rates."""
    u = _open(_by(seed), shape, np.dtype(np.float64))
    rate = F.broadcast_to(F.astype(tensor(lam), np.float64), u.shape)
    return F.astype(apply(REGISTRY["poisson_quantile"], u, rate), as_dtype(dtype).numpy)


@operation("stateless_random_binomial", "StatelessRandomBinomial")
def stateless_binomial(shape: Any, seed: Any, counts: Any, probs: Any, output_dtype: Any = np.int32) -> Any:
    """Binomial numbers of a shape that ends with that of the counts and probabilities."""
    u = _open(_by(seed), shape, np.dtype(np.float64))
    n, p = (F.broadcast_to(F.astype(tensor(v), np.float64), u.shape) for v in (counts, probs))
    return F.astype(apply(REGISTRY["binomial_quantile"], u, n, p), as_dtype(output_dtype).numpy)


@operation("stateless_multinomial", "StatelessMultinomial")
def stateless_multinomial(logits: Any, num_samples: Any, seed: Any, output_dtype: Any = np.int64) -> Any:
    """`multinomial` by a seed alone."""
    return _categorical(_by(seed), logits, num_samples, as_dtype(output_dtype).numpy)


def stateless_categorical(logits: Any, num_samples: Any, seed: Any, dtype: Any = np.int64, name: str | None = None) -> Any:
    """`multinomial` by a seed alone."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name=name or "stateless_categorical")


SEEDS = 2.0**31


@operation("stateless_split", sizes=frozenset({"num"}))
def split(seed: Any, num: int = 2, alg: Any = "auto_select") -> Any:
    """(num, 2) seeds from one."""
    seed = tensor(seed)
    return F.astype(F.floor(F.mul(_by(seed)(uniform_op, [int(num), 2], np.float64), SEEDS)), seed.dtype)


@operation("stateless_fold_in")
def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Any:
    """A seed from a seed and a number."""
    seed = tensor(seed)
    mixed = F.add(F.astype(seed, np.int64), F.mul(F.astype(tensor(data), np.int64), static.constant(np.array([0, 1 << 20]))))
    return F.astype(F.floor(F.mul(_by(mixed)(uniform_op, [2], np.float64), SEEDS)), seed.dtype)


# candidates -----------------------------------------------------------------------------------------------------------


@operation("AllCandidateSampler", sizes=frozenset({"num_sampled"}))
def _every(true_classes: Any, num_sampled: int) -> tuple[Any, Any, Any]:
    true = tensor(true_classes)
    ones = F.ones_like(F.astype(true, np.float32))
    every = np.arange(num_sampled, dtype=np.int64)
    return static.constant(every), ones, static.constant(np.ones(num_sampled, np.float32))


def all_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, seed: Any = None, name: str | None = None
) -> sampling.Candidates:
    """All classes."""
    return sampling.Candidates(*_every(true_classes, num_sampled, name=name))


def fixed_unigram_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, vocab_file: str = "",
    distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int = 1, shard: int = 0, unigrams: Any = (),
    seed: Any = None, name: str | None = None,
) -> sampling.Candidates:  # fmt: skip
    """Candidates by the given frequencies to the power of `distortion`. vocab_file and shards are refused."""
    if vocab_file or num_shards != 1:
        raise ValueError("fixed_unigram_candidate_sampler: give unigrams; vocab_file and num_shards are not supported")
    weights = np.concatenate([np.zeros(num_reserved_ids), np.asarray(unigrams, float) ** distortion])
    return sampling.by_weights(true_classes, num_sampled, unique, weights / weights.sum(), seed, name=name)


@operation("ComputeAccidentalHits", sizes=frozenset({"num_true"}))
def compute_accidental_hits(
    true_classes: Any, sampled_candidates: Any, num_true: int, seed: Any = None
) -> tuple[Any, Any, Any]:
    """(rows, positions among the candidates, weights of the smallest number) of candidates that are a row's true class.
    The values have to be known or fed."""
    true = np.asarray(known(tensor(true_classes)))
    chosen = np.asarray(known(tensor(sampled_candidates)))
    rows, _, places = np.nonzero(true[:, :, None] == chosen)
    low = np.full(rows.shape, np.finfo(np.float32).min, np.float32)
    return static.constant(rows.astype(np.int32)), static.constant(places.astype(np.int64)), static.constant(low)


NAMES = SimpleNamespace(
    all_candidate_sampler=all_candidate_sampler, categorical=categorical,
    fixed_unigram_candidate_sampler=fixed_unigram_candidate_sampler, fold_in=fold_in, gamma=random_gamma,
    get_seed=get_seed, learned_unigram_candidate_sampler=sampling.learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler=sampling.log_uniform_candidate_sampler, multinomial=multinomial,
    normal=random.random_normal, poisson=random_poisson, set_random_seed=set_random_seed, shuffle=random_shuffle,
    split=split, stateless_binomial=stateless_binomial, stateless_categorical=stateless_categorical,
    stateless_gamma=stateless_gamma, stateless_multinomial=stateless_multinomial, stateless_normal=stateless_normal,
    stateless_parameterized_truncated_normal=stateless_parameterized_truncated_normal,
    stateless_poisson=stateless_poisson, stateless_truncated_normal=stateless_truncated_normal,
    stateless_uniform=stateless_uniform, truncated_normal=random.truncated_normal, uniform=random.random_uniform,
    uniform_candidate_sampler=sampling.uniform_candidate_sampler,
)  # fmt: skip
"""`tf.random`."""
PUBLIC = ("multinomial", "random_gamma", "random_poisson", "random_shuffle")
"""Names at the top of the dialect."""
