"""Losses over many classes by a sample of them: noise contrastive estimation and sampled softmax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core import F, finfo, static
from ..draws import uniform
from ..tensor import Operand, known, operation, tensor
from .functions import sigmoid_cross_entropy_with_logits


class Candidates(NamedTuple):
    """Sampled classes, and how often the true and the sampled classes are expected among them."""

    sampled_candidates: Any
    true_expected_count: Any
    sampled_expected_count: Any


def _log_uniform(classes: int) -> tuple[Any, Any]:
    """Zipf's law, P(k) = log((k + 2) / (k + 1)) / log(classes + 1): class 0 is the most frequent."""
    width = math.log(classes + 1)
    return lambda u: F.sub(F.exp(F.mul(u, width)), 1), lambda k: F.div(F.log(F.div(F.add(k, 2.0), F.add(k, 1.0))), width)


def _uniform(classes: int) -> tuple[Any, Any]:
    return lambda u: F.mul(u, float(classes)), lambda k: F.full_like(k, 1 / classes)


def _by_shares(shares: np.ndarray) -> tuple[Any, Any]:
    """By the shares of the classes, of which the sum is 1."""
    table, ends = static.constant(shares.astype("f4")), static.constant(np.cumsum(shares)[:-1].astype("f4"))
    return (
        lambda u: F.astype(F.searchsorted(ends, u, right=True), np.float32), lambda k: F.take(table, F.astype(k, np.int64), 0),
    )  # fmt: skip


def _sampled(
    true: Any, count: int, unique: bool, classes: int, seed: Any, inverse: Any, probability: Any
) -> tuple[Any, Any, Any]:
    """Candidates by the inverse of the distribution function, and its probabilities.

    unique: without replacement. Gumbel's trick draws them in one pass: the classes with the largest log P + Gumbel noise;
    then the expected count of a class is 1 - (1 - P)^count, as TensorFlow's samplers estimate it with the number of tries.
    """
    true = F.astype(tensor(true), np.float32)
    if unique:
        if count > classes:
            raise ValueError(f"{count} different candidates of {classes} classes can't be drawn")
        every = static.constant(np.arange(classes, dtype="f4"))
        u = F.clip(uniform([classes], seed), 1e-7, 1 - 1e-7)
        keys = F.sub(F.log(probability(every)), F.log(F.neg(F.log(u))))
        sampled = F.astype(F.topk(keys, count)[1], np.float32)

        def expected(k: Any) -> Any:
            return F.neg(F.expm1(F.mul(F.log1p(F.neg(probability(k))), float(count))))
    else:
        sampled = F.minimum(F.floor(inverse(uniform([count], seed))), float(classes - 1))

        def expected(k: Any) -> Any:
            return F.mul(probability(k), float(count))

    out = F.astype(sampled, np.int64), expected(true), expected(sampled)
    return tuple(F.stop_gradient(x) for x in out)  # type: ignore[return-value]


def _sampler(label: str, law: Callable[[int], tuple[Any, Any]], doc: str) -> Callable[..., Candidates]:
    @operation(label, sizes=frozenset({"num_sampled", "range_max"}))
    def draw(true_classes: Any, num_sampled: int, unique: bool, range_max: int, seed: Any) -> tuple[Any, Any, Any]:
        return _sampled(true_classes, num_sampled, unique, range_max, seed, *law(range_max))

    def sampler(
        true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: Any = None,
        name: str | None = None,
    ) -> Candidates:  # fmt: skip
        return Candidates(*draw(true_classes, num_sampled, unique, range_max, seed, name=name))

    sampler.__doc__ = doc
    return sampler


log_uniform_candidate_sampler = _sampler(
    "LogUniformCandidateSampler", _log_uniform, "Candidates by Zipf's law, for classes in the order of decreasing frequency."
)
uniform_candidate_sampler = _sampler("UniformCandidateSampler", _uniform, "Candidates that are all equally likely.")
learned_unigram_candidate_sampler = log_uniform_candidate_sampler


@operation("sampled_logits", sizes=frozenset({"num_true"}))
def _logits(
    weights: Operand, biases: Operand, labels: Any, inputs: Operand, sampled: Operand, true_count: Operand,
    sampled_count: Operand, num_true: int, subtract_log_q: bool, remove_accidental_hits: bool, shared: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """(logits of the true and the sampled classes, their labels): (batch, num_true + sampled)."""
    labels = F.astype(tensor(labels), np.int64)
    rows = F.take(weights, labels, axis=0)  # (batch, num_true, dim)
    true = F.add(F.squeeze(F.matmul(rows, F.expand_dims(inputs, 2)), 2), F.take(biases, labels, axis=0))
    other = F.add(F.matmul(inputs, F.swapaxes(F.take(weights, sampled, axis=0), 0, 1)), F.take(biases, sampled, axis=0))
    if remove_accidental_hits:
        hits = F.any(F.eq(F.expand_dims(labels, 2), F.reshape(sampled, (1, 1, -1))), axis=1)
        other = F.where(hits, F.full_like(other, float(finfo(np.float32).min)), other)
    if subtract_log_q:
        true = F.sub(true, F.log(true_count))
        other = F.sub(other, F.log(sampled_count))
    ones = F.div(F.ones_like(true), float(num_true))
    return F.concatenate([true, other], axis=1), F.concatenate([ones, F.zeros_like(other)], axis=1)


def _of(weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int,
        sampled_values: Any, subtract: bool, remove: bool, seed: Any = None) -> tuple[Any, Any]:  # fmt: skip
    weights = weights[0] if isinstance(weights, (list, tuple)) else weights
    drawn = sampled_values or log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed)
    return _logits(weights, biases, labels, inputs, *drawn, num_true, subtract, remove, False)


def nce_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: Any = None, remove_accidental_hits: bool = False, partition_strategy: str = "mod", name: str = "nce_loss",
) -> Any:  # fmt: skip
    """Noise contrastive estimation: (batch,) losses. labels: (batch, num_true). Gutmann and Hyvärinen, AISTATS 2010."""
    logits, targets = _of(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True, remove_accidental_hits
    )
    return _row_sum(sigmoid_cross_entropy_with_logits(labels=targets, logits=logits), name=name)


@operation("nce_loss", "Sum")
def _row_sum(x: Any) -> Any:
    return F.sum(x, axis=1)


def sampled_softmax_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: Any = None, remove_accidental_hits: bool = True, partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss", seed: Any = None,
) -> Any:  # fmt: skip
    """The cross entropy among the true and the sampled classes: (batch,). Jean et al., ACL 2015."""
    logits, targets = _of(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True, remove_accidental_hits, seed
    )
    return _cross_entropy(targets, logits, name=name)


@operation("sampled_softmax_loss", "SoftmaxCrossEntropyWithLogits")
def _cross_entropy(targets: Any, logits: Any) -> Any:
    shifted = F.sub(logits, F.logsumexp(logits, axis=1, keepdims=True))
    return F.neg(F.sum(F.mul(F.stop_gradient(targets), shifted), axis=1))


@operation("AllCandidateSampler", sizes=frozenset({"num_sampled"}))
def _every(true_classes: Operand, num_sampled: int) -> tuple[Any, Any, Any]:
    ones = F.ones_like(F.astype(true_classes, np.float32))
    every = np.arange(num_sampled, dtype=np.int64)
    return static.constant(every), ones, static.constant(np.ones(num_sampled, np.float32))


def all_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, seed: Any = None, name: str | None = None
) -> Candidates:
    """All classes."""
    return Candidates(*_every(true_classes, num_sampled, name=name))


def fixed_unigram_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, vocab_file: str = "",
    distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int = 1, shard: int = 0, unigrams: Any = (),
    seed: Any = None, name: str | None = None,
) -> Candidates:  # fmt: skip
    """Candidates by the given frequencies to the power of `distortion`. vocab_file and shards are refused."""
    if vocab_file or num_shards != 1:
        raise ValueError("fixed_unigram_candidate_sampler: give unigrams; vocab_file and num_shards are not supported")
    weights = np.concatenate([np.zeros(num_reserved_ids), np.asarray(unigrams, float) ** distortion])
    draw = _sampler("FixedUnigramCandidateSampler", lambda _: _by_shares(weights / weights.sum()), "")
    return draw(true_classes, num_true, num_sampled, unique, len(weights), seed, name)


@operation("ComputeAccidentalHits", sizes=frozenset({"num_true"}))
def compute_accidental_hits(
    true_classes: Operand, sampled_candidates: Operand, num_true: int, seed: Any = None
) -> tuple[Any, Any, Any]:
    """(rows, positions among the candidates, weights of the smallest number) of candidates that are a row's true class.
    The values have to be known or fed."""
    true = np.asarray(known(true_classes))
    chosen = np.asarray(known(sampled_candidates))
    rows, _, places = np.nonzero(true[:, :, None] == chosen)
    low = np.full(rows.shape, finfo(np.float32).min, np.float32)
    return static.constant(rows.astype(np.int32)), static.constant(places.astype(np.int64)), static.constant(low)
