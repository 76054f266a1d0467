"""Losses over many classes by a sample of them: noise contrastive estimation and sampled softmax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import slopes, sparse
from ..core import F, finfo, functional, static
from ..draws import uniform
from ..gathering import FOLDS
from ..math import clip_by_norm
from ..sparse import SparseTensor, SparseTensorValue, of
from ..tensor import Operand, define, extents_of, known, operation, symbols, tensor
from ..variable_scopes import embedding_lookup
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


# functions of `tf.nn` over sparse tensors -----------------------------------------------------------------------------

# Functions of `tf.nn` over sparse tensors: sums of embeddings, and losses of labellings of other lengths.


def embedding_lookup_sparse(
    params: Any, sp_ids: Any, sp_weights: Any, partition_strategy: str = "mod", name: str | None = None,
    combiner: str | None = None, max_norm: Any = None, allow_fast_lookup: bool = False,
) -> Any:  # fmt: skip
    """One row for each row of `sp_ids`: the weighted "sum", "mean" or "sqrtn" of its embeddings."""
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    ids = of(sp_ids)
    weights = None if sp_weights is None else of(sp_weights).values
    rows = embedding_lookup(params, ids.values, partition_strategy)
    if max_norm is not None:
        rows = clip_by_norm(rows, max_norm, axes=[1])
    return _combined(rows, ids.indices, weights, combiner, name=name)


@operation("embedding_lookup_sparse", "SegmentSum", frozenset())
def _combined(rows: Any, indices: Operand, weights: Any, combiner: str) -> Any:
    rows, numbers = tensor(rows), indices[:, 0]
    count = int(np.max(known(numbers), initial=-1)) + 1
    rest = extents_of(rows)[1:]
    factor = F.ones_like(F.sum(rows, axis=1)) if weights is None else F.astype(tensor(weights), rows.dtype)
    total = FOLDS["sum"](F.mul(rows, F.expand_dims(factor, 1)), numbers, count, rest)
    if combiner == "sum":
        return total
    size = FOLDS["sum"](factor if combiner == "mean" else F.square(factor), numbers, count, ())
    size = F.expand_dims(size if combiner == "mean" else F.sqrt(size), 1)
    return slopes.ratio(total, size)


def safe_embedding_lookup_sparse(
    embedding_weights: Any, sparse_ids: Any, sparse_weights: Any = None, combiner: str = "mean", default_id: int | None = None,
    name: str | None = None, partition_strategy: str = "div", max_norm: Any = None, allow_fast_lookup: bool = False,
) -> Any:  # fmt: skip
    """As `embedding_lookup_sparse`, without negative ids and weights; rows of zeros (of `default_id`) for empty rows."""
    ids = of(sparse_ids)
    keep = _usable(ids.values, None if sparse_weights is None else of(sparse_weights).values, combiner)
    weights = None if sparse_weights is None else sparse.retain(sparse_weights, keep)
    filled, empty = sparse.fill_empty_rows(sparse.retain(ids, keep), default_id or 0)
    if weights is not None:
        weights, _ = sparse.fill_empty_rows(weights, 1.0)
    out = embedding_lookup_sparse(embedding_weights, filled, weights, partition_strategy, None, combiner, max_norm)
    return out if default_id is not None else _cleared(empty, out, name=name)


@operation("LogicalAnd")
def _usable(ids: Operand, weights: Any, combiner: str) -> Any:
    found = F.ge(ids, 0)
    return found if weights is None or combiner == "sum" else F.logical_and(found, F.gt(tensor(weights), 0))


@operation("Select")
def _cleared(empty: Operand, rows: Operand) -> Any:
    return F.where(F.expand_dims(empty, 1), F.zeros_like(rows), rows)


# labellings -----------------------------------------------------------------------------------------------------------


@operation("CTCLoss", sizes=frozenset({"shape"}))
def _of_sparse(indices: Operand, values: Operand, shape: Any, logits: Operand, lengths: Operand) -> Any:
    classes = extents_of(logits)[-1]
    rows, longest = (int(n) for n in shape)
    flat = F.add(F.mul(indices[:, 0], longest), indices[:, 1])
    labels = F.index_add(static.constant(np.zeros(rows * longest, np.int64)), 0, flat, F.astype(values, np.int64))
    ones = F.ones_like(indices[:, 0])
    sizes = F.index_add(static.constant(np.zeros(rows, np.int64)), 0, indices[:, 0], ones)
    return functional.ctc_loss(
        functional.log_softmax(logits, -1), F.reshape(labels, (rows, longest)), F.astype(lengths, np.int64), sizes,
        blank=classes - 1, reduction="none",
    )  # fmt: skip


def ctc_loss(
    labels: Any, inputs: Any = None, sequence_length: Any = None, preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True, ignore_longer_outputs_than_inputs: bool = False, time_major: bool = True,
    logits: Any = None,
) -> Any:  # fmt: skip
    """(batch,) losses of sparse labels under logits (time, batch, classes), whose last class is the blank.

    Graves et al., "Connectionist temporal classification", ICML 2006. preprocess_collapse_repeated and
    ctc_merge_repeated=False are refused.
    """
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise ValueError("ctc_loss: collapse repeated labels before the call, and let repeated outputs merge")
    x = _time_first(inputs if logits is None else logits, time_major)
    y = of(labels)
    found = _of_sparse(y.indices, y.values, y.dense_shape, x, sequence_length)
    return _finite(found) if ignore_longer_outputs_than_inputs else found


@operation("Identity")
def _time_first(x: Operand, already: bool) -> Any:
    return x if already else F.swapaxes(x, 0, 1)


_finite = define("_finite", "Select", lambda x: F.where(F.isfinite(x), x, F.zeros_like(x)))


@operation("ctc_loss_dense", sizes=frozenset({"blank_index"}))
def _of_dense(labels: Any, logits: Operand, sizes: Any, lengths: Any, first: bool, blank_index: int) -> Any:
    logits = logits if first else F.swapaxes(logits, 0, 1)
    y, label_sizes, steps = (F.astype(tensor(v), np.int64) for v in (labels, sizes, lengths))
    extents_of(y)
    blank = blank_index % extents_of(logits)[-1]
    return functional.ctc_loss(functional.log_softmax(logits, -1), y, steps, label_sizes, blank=blank, reduction="none")


def ctc_loss_v2(
    labels: Any, logits: Any, label_length: Any, logit_length: Any, logits_time_major: bool = True, unique: Any = None,
    blank_index: int | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """(batch,) losses of dense labels (batch, longest), whose blank is class 0 unless given; of sparse labels as `ctc_loss`."""
    if isinstance(labels, (SparseTensor, SparseTensorValue)):
        if blank_index not in (None, -1):
            raise ValueError("ctc_loss_v2: the blank of sparse labels is the last class; give dense labels for another")
        return ctc_loss(labels, logits, logit_length, time_major=logits_time_major)
    blank = 0 if blank_index is None else blank_index
    return _of_dense(labels, logits, label_length, logit_length, logits_time_major, blank, name=name)


def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> tuple[Any, Any]:
    """(labels without repetitions of the one before, filled with 0, lengths). The values have to be known or fed."""
    return _collapsed(labels, seq_length, name=name)


@operation("collapse_repeated_labels", sizes=frozenset())
def _collapsed(labels: Any, seq_length: Any) -> tuple[Any, Any]:
    values, lengths = np.asarray(known(tensor(symbols(labels)))), np.asarray(known(tensor(symbols(seq_length))))
    kept = np.concatenate([np.ones_like(values[:, :1], bool), values[:, 1:] != values[:, :-1]], 1)
    kept &= np.arange(values.shape[1]) < lengths[:, None]
    sizes = kept.sum(1)
    out = np.zeros((len(values), int(sizes.max(initial=0))), tensor(symbols(labels)).dtype)
    for row, value, keep in zip(out, values, kept, strict=True):
        row[: keep.sum()] = value[keep]
    return static.constant(out), static.constant(sizes.astype(tensor(symbols(seq_length)).dtype))
