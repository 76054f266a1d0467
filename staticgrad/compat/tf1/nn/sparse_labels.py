"""Functions of `tf.nn` over sparse tensors: sums of embeddings, and losses of labellings of other lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import slopes, sparse
from ..core import F, functional, static
from ..gathering import FOLDS
from ..math import clip_by_norm
from ..partitions import embedding_lookup
from ..sparse import SparseTensor, SparseTensorValue, of
from ..tensor import Operand, define, extents_of, known, operation, symbols, tensor


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
