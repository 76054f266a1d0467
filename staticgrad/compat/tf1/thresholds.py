"""`tf.metrics` beside `metrics.py`: counts at thresholds, ranked predictions, means by class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import static
from ...operators import F
from .metrics import HITS, _averaged, _built, _float, _metric, _ratio, _weights
from .tensor import extents_of, operation, symbols, tensor

SMALL = 1e-7
"""Added to denominators of rates at thresholds, as TensorFlow adds it."""


def _counts(labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any, keys: Sequence[str]) -> dict[str, Any]:
    """How many predictions are right or wrong, by kind, at each threshold."""
    y, p = F.reshape(F.ne(_float(labels), 0.0), (1, -1)), F.reshape(_float(predictions), (1, -1))
    above = F.gt(p, static.constant(np.asarray(thresholds, np.float32)[:, None]))
    whole = None if weights is None else _weights(weights, _float(labels))
    w = _weights(None if whole is None else F.reshape(whole, (1, -1)), p)
    return {key: F.sum(F.mul(F.astype(F.broadcast_like(HITS[key](y, above), above), np.float32), w), axis=1) for key in keys}


def _at_thresholds(name: str, keys: Sequence[str], value: Callable[..., Any]) -> Callable[..., Any]:
    label = f"{name}_at_thresholds"

    @_built
    def call(labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None,
             metrics_collections: Any = None, updates_collections: Any = None,
             name: str | None = None) -> Any:  # fmt: skip
        parts = _counts(labels, predictions, thresholds, weights, keys)
        return _metric(name or label, value, parts, metrics_collections, updates_collections)

    call.__name__ = label
    call.__doc__ = f"TensorFlow's `{label}`: one number per threshold, over all batches so far."
    return call


def _same(x: Any) -> Any:
    return F.add(x, 0.0)


true_positives_at_thresholds = _at_thresholds("true_positives", ["true_positives"], _same)
true_negatives_at_thresholds = _at_thresholds("true_negatives", ["true_negatives"], _same)
false_positives_at_thresholds = _at_thresholds("false_positives", ["false_positives"], _same)
false_negatives_at_thresholds = _at_thresholds("false_negatives", ["false_negatives"], _same)


def _rate(hits: Any, misses: Any) -> Any:
    return F.div(hits, F.add(F.add(hits, misses), SMALL))


precision_at_thresholds = _at_thresholds("precision", ["true_positives", "false_positives"], _rate)
recall_at_thresholds = _at_thresholds("recall", ["true_positives", "false_negatives"], _rate)


def _edges(count: int) -> list[float]:
    inner = [(i + 1) / (count - 1) for i in range(count - 2)]
    return [0.0 - SMALL, *inner, 1.0 + SMALL]


def _one_at_other(name: str, at_sensitivity: bool) -> Callable[..., Any]:
    label = name

    @_built
    def call(labels: Any, predictions: Any, wanted: float, weights: Any = None, num_thresholds: int = 200,
             metrics_collections: Any = None, updates_collections: Any = None,
             name: str | None = None) -> Any:  # fmt: skip
        if not 0 <= wanted <= 1:
            raise ValueError(f"`{label.rsplit('_', 1)[-1]}` must be in the range [0, 1]. Currently {wanted}.")
        parts = _counts(labels, predictions, _edges(num_thresholds), weights, list(HITS))

        def value(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
            sensitivity = F.div(tp, F.add(F.add(tp, fn), SMALL))
            specificity = F.div(tn, F.add(F.add(tn, fp), SMALL))
            if at_sensitivity:
                place = F.argmin(F.abs(F.sub(sensitivity, float(wanted))), axis=0)
                return F.take(specificity, place, axis=0)
            place = F.argmin(F.abs(F.sub(specificity, float(wanted))), axis=0)
            return F.take(sensitivity, place, axis=0)

        return _metric(label if name is None else name, value, parts, metrics_collections, updates_collections)

    call.__name__ = label
    call.__doc__ = f"TensorFlow's `{label}`, at the nearest of `num_thresholds` thresholds, over all batches so far."
    return call


_specificity = _one_at_other("specificity_at_sensitivity", True)
_sensitivity = _one_at_other("sensitivity_at_specificity", False)


def specificity_at_sensitivity(labels: Any, predictions: Any, sensitivity: float, *args: Any, **options: Any) -> Any:
    """The share of negatives that are right, at the threshold where that of positives is nearest to `sensitivity`."""
    return _specificity(labels, predictions, sensitivity, *args, **options)


def sensitivity_at_specificity(labels: Any, predictions: Any, specificity: float, *args: Any, **options: Any) -> Any:
    """The share of positives that are right, at the threshold where that of negatives is nearest to `specificity`."""
    return _sensitivity(labels, predictions, specificity, *args, **options)


# ranked predictions ---------------------------------------------------------------------------------------------------


@operation("hits", sizes=frozenset())
def _hits(labels: Any, places: Any, class_id: int | None) -> tuple[Any, Any, Any]:
    """(whether each of the predicted classes (..., k) is a label, how many labels a row has, whether predictions count)."""
    y, top = (F.astype(tensor(v), np.int64) for v in (labels, places))
    if y.ndim == top.ndim - 1:
        y = F.expand_dims(y, -1)
    if class_id is not None:
        y = F.where(F.eq(y, class_id), y, F.full_like(y, -1))
        counts = F.eq(top, class_id)
    else:
        counts = F.ge(top, 0)
    equal = F.eq(F.expand_dims(y, -1), F.expand_dims(top, -2))
    hit = F.logical_and(F.any(equal, axis=-2), counts)
    later = static.constant(np.tri(extents_of(y)[-1], k=-1, dtype=bool))
    repeated = F.any(F.logical_and(F.eq(F.expand_dims(y, -1), F.expand_dims(y, -2)), later), axis=-1)
    labelled = F.logical_not(repeated)  # a label that is there twice counts once
    labelled = labelled if class_id is None else F.logical_and(labelled, F.eq(y, class_id))
    return hit, F.sum(F.astype(labelled, np.float64), axis=-1), counts


def _ranked(name: str, precision: bool) -> Callable[..., Any]:
    label = name

    @_built
    def call(labels: Any, predictions_idx: Any, k: int | None = None, class_id: int | None = None, weights: Any = None,
             metrics_collections: Any = None, updates_collections: Any = None,
             name: str | None = None) -> Any:  # fmt: skip
        hit, labelled, counts = symbols(_hits(labels, predictions_idx, class_id))
        right = F.sum(F.astype(hit, np.float64), axis=-1)
        all_of = F.sum(F.astype(counts, np.float64), axis=-1) if precision else labelled
        w = F.astype(_weights(weights, right), np.float64)
        miss = "false_positives" if precision else "false_negatives"
        parts = {"true_positives": F.sum(F.mul(right, w)), miss: F.sum(F.mul(F.sub(all_of, right), w))}
        return _metric(label if name is None else name, lambda t, m: F.div(t, F.add(t, m)), parts,
                       metrics_collections, updates_collections)  # fmt: skip

    call.__name__ = label
    call.__doc__ = f"TensorFlow's `{label}` of the numbers of the predicted classes, over all batches so far."
    return call


precision_at_top_k = _ranked("precision_at_top_k", True)
recall_at_top_k = _ranked("recall_at_top_k", False)


def _of_scores(name: str, of_classes: Callable[..., Any]) -> Callable[..., Any]:
    def call(labels: Any, predictions: Any, k: int, class_id: int | None = None, weights: Any = None,
             metrics_collections: Any = None, updates_collections: Any = None,
             name: str | None = None) -> Any:  # fmt: skip
        from .gathering import top_k

        places = top_k(predictions, k)[1]
        return of_classes(labels, places, k, class_id, weights, metrics_collections, updates_collections, name or label)

    label = call.__name__ = name
    call.__doc__ = f"TensorFlow's `{name}`: of the k classes with the largest scores, over all batches so far."
    return call


precision_at_k = _of_scores("precision_at_k", precision_at_top_k)
recall_at_k = _of_scores("recall_at_k", recall_at_top_k)


@_built
def average_precision_at_k(labels: Any, predictions: Any, k: int, weights: Any = None, metrics_collections: Any = None,
                           updates_collections: Any = None, name: str | None = None) -> Any:  # fmt: skip
    """The mean over the labels of the precision up to each hit among the k largest scores, over all batches so far."""
    places = F.topk(tensor(symbols(predictions)), k)[1]
    hit, _, _ = symbols(_hits(labels, places, None))
    y = tensor(symbols(labels))
    relevant = min(extents_of(y)[-1] if y.ndim == hit.ndim else 1, k)
    right = F.astype(hit, np.float64)
    so_far = F.cumsum(right, axis=right.ndim - 1)
    ranks = static.constant(np.arange(1, k + 1, dtype=np.float64))
    total = F.sum(F.mul(F.div(so_far, ranks), right), axis=-1)
    values = F.div(total, float(relevant))
    return _averaged(name or f"average_precision_at_{k}", values, weights, metrics_collections, updates_collections)


# means ----------------------------------------------------------------------------------------------------------------


@_built
def mean_tensor(values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
                name: str | None = None) -> Any:  # fmt: skip
    """The weighted mean of each element over all batches so far."""
    x = _float(values)
    w = _weights(weights, x)
    return _metric(name or "mean", _ratio, {"total_tensor": F.mul(x, w), "count_tensor": w},
                   metrics_collections, updates_collections)  # fmt: skip


@_built
def mean_relative_error(labels: Any, predictions: Any, normalizer: Any, weights: Any = None,
                        metrics_collections: Any = None, updates_collections: Any = None,
                        name: str | None = None) -> Any:  # fmt: skip
    """The mean of |labels - predictions| / normalizer (0 where that is 0), over all batches so far."""
    y, p, n = _float(labels), _float(predictions), _float(normalizer)
    zero = F.eq(n, 0.0)
    error = F.where(zero, F.zeros_like(y), F.div(F.abs(F.sub(y, p)), F.where(zero, F.ones_like(n), n)))
    return _averaged(name or "mean_relative_error", error, weights, metrics_collections, updates_collections)


@_built
def mean_cosine_distance(labels: Any, predictions: Any, dim: int, weights: Any = None, metrics_collections: Any = None,
                         updates_collections: Any = None, name: str | None = None) -> Any:  # fmt: skip
    """1 - the mean of the products along `dim`, of unit vectors, over all batches so far."""
    product = F.sum(F.mul(_float(labels), _float(predictions)), axis=dim, keepdims=True)
    return _averaged(
        name or "mean_cosine_distance", product, weights, metrics_collections, updates_collections, lambda m: F.sub(1.0, m)
    )


@_built
def percentage_below(values: Any, threshold: Any, weights: Any = None, metrics_collections: Any = None,
                     updates_collections: Any = None, name: str | None = None) -> Any:  # fmt: skip
    """The share of values below a threshold, over all batches so far."""
    below = F.astype(F.lt(_float(values), _float(threshold)), np.float32)
    return _averaged(name or "percentage_below_threshold", below, weights, metrics_collections, updates_collections)


@_built
def mean_per_class_accuracy(labels: Any, predictions: Any, num_classes: int, weights: Any = None,
                            metrics_collections: Any = None, updates_collections: Any = None,
                            name: str | None = None) -> Any:  # fmt: skip
    """The mean over the classes of the share that is right, over all batches so far; the update gives all shares."""
    y, p = (F.reshape(F.astype(tensor(symbols(v)), np.int64), (-1,)) for v in (labels, predictions))
    w = _weights(None if weights is None else F.reshape(_float(weights), (-1,)), F.astype(p, np.float32))
    zeros = static.constant(np.zeros(num_classes, np.float32))
    hit = F.mul(F.astype(F.eq(y, p), np.float32), w)
    parts = {"total": F.index_add(zeros, 0, y, w), "count": F.index_add(zeros, 0, y, hit)}
    return _metric(name or "mean_accuracy", lambda total, count: F.mean(_ratio(count, total)), parts,
                   metrics_collections, updates_collections, lambda total, count: _ratio(count, total))  # fmt: skip


sparse_average_precision_at_k, sparse_precision_at_k = average_precision_at_k, precision_at_k

PUBLIC = (
    "average_precision_at_k", "false_negatives_at_thresholds", "false_positives_at_thresholds", "mean_cosine_distance",
    "mean_per_class_accuracy", "mean_relative_error", "mean_tensor", "percentage_below", "precision_at_k",
    "precision_at_thresholds", "precision_at_top_k", "recall_at_k", "recall_at_thresholds", "recall_at_top_k",
    "sensitivity_at_specificity", "sparse_average_precision_at_k",
    "sparse_precision_at_k",
    "specificity_at_sensitivity", "true_negatives_at_thresholds",
    "true_positives_at_thresholds",
)  # fmt: skip
"""Names of `tf.metrics`."""
