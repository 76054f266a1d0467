"""`tf.metrics`: (value, update) over all batches so far, held in local variables."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import slopes
from .core import F, static, using
from .gathering import top_k
from .graph import GraphKeys, get_default_graph
from .tensor import arguments, extents_of, handles, operation, symbols, tensor
from .variables import Variable

METRICS = "metric_variables"
"""The collection of the variables of metrics."""
SMALL = 1e-7
"""Added to denominators of rates at thresholds, as TensorFlow adds it."""
Result = Callable[..., Any]
"""The value of a metric, from the parts of its state."""
State = tuple[dict[str, Any], Result] | tuple[dict[str, Any], Result, Result]
"""What a batch adds to the state by part, the value, and that of the update where it is another one."""


def metric(label: str = "") -> Callable[[Callable[..., State]], Callable[..., Any]]:
    """A function of `tf.metrics` from one that returns a `State`; its own parameters are followed by metrics_collections,
    updates_collections and name.

    label: the name unless one is given, in which `{k}` is an argument; the function's name by default. Parameters that follow
    a `*` come after the collections, the first of them before the name.
    """

    def decorate(build: Callable[..., State]) -> Callable[..., Any]:
        own = list(inspect.signature(build).parameters.values())
        first = [p for p in own if p.kind is not p.KEYWORD_ONLY]
        last = [p.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in own if p.kind is p.KEYWORD_ONLY]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        to_values, to_updates, named = (
            inspect.Parameter(key, kind, default=None) for key in ("metrics_collections", "updates_collections", "name")
        )
        signature = inspect.Signature([*first, to_values, to_updates, *last[:1], named, *last[1:]])

        @functools.wraps(build)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = arguments(signature, args, kwargs)
            collections = [given.pop("metrics_collections"), given.pop("updates_collections")]
            name = given.pop("name") or (label or call.__name__).format(**given)
            graph = get_default_graph()
            with using(graph):
                parts, result, *grown_result = build(**given)
                with graph.name_scope(name):
                    states = [_state(key, tuple(part.shape), part.dtype) for key, part in parts.items()]
                    value = handles(graph, result(*states))
                    grown = [static.assign_add(state, part) for state, part in zip(states, parts.values(), strict=True)]
                    update = handles(graph, (*grown_result, result)[0](*grown))
            for keys, item in zip(collections, (value, update), strict=True):
                graph.add_to_collections(keys or [], item)
            return value, update

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return decorate


def _named(name: str, build: Callable[..., State], doc: str = "TensorFlow's `{}`, over all batches so far.") -> Any:
    """One of several metrics that are alike."""
    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc.format(name)
    return metric()(build)


def _state(name: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    collections = [GraphKeys.LOCAL_VARIABLES, METRICS]
    return Variable(np.zeros(shape, dtype), trainable=False, collections=collections, name=name).symbol


def _float(x: Any) -> Any:
    return F.astype(tensor(symbols(x)), np.float32)


def _classes(x: Any) -> Any:
    return F.reshape(F.astype(tensor(symbols(x)), np.int64), (-1,))


def _weights(weights: Any, like: Any) -> Any:
    if weights is None:
        return F.ones_like(like)
    w = _float(weights)
    if w.ndim and w.ndim < like.ndim:
        w = F.expand_dims(w, tuple(range(w.ndim, like.ndim)))
    return F.broadcast_like(w, like)


def _flat_weights(weights: Any, like: Any, shape: tuple[int, ...]) -> Any:
    return _weights(None if weights is None else F.reshape(_float(weights), shape), like)


def _same(x: Any) -> Any:
    return F.add(x, 0.0)


# means ----------------------------------------------------------------------------------------------------------------


def _averaged(values: Any, weights: Any, after: Callable[[Any], Any] = lambda x: x) -> State:
    w = F.astype(_weights(weights, values), values.dtype)
    return {"total": F.sum(F.mul(values, w)), "count": F.sum(w)}, lambda t, c: after(slopes.ratio(t, c))


@metric()
def mean(values: Any, weights: Any = None) -> State:
    """The weighted mean of all values so far."""
    return _averaged(_float(values), weights)


@metric("mean")
def mean_tensor(values: Any, weights: Any = None) -> State:
    """The weighted mean of each element over all batches so far."""
    x = _float(values)
    w = _weights(weights, x)
    return {"total_tensor": F.mul(x, w), "count_tensor": w}, slopes.ratio


@metric()
def accuracy(labels: Any, predictions: Any, weights: Any = None) -> State:
    """How often predictions are the labels."""
    y, p = tensor(symbols(labels)), tensor(symbols(predictions))
    return _averaged(F.astype(F.eq(y, F.astype(p, y.dtype)), np.float32), weights)


@metric("mean_accuracy")
def mean_per_class_accuracy(labels: Any, predictions: Any, num_classes: int, weights: Any = None) -> State:
    """The mean over the classes of the share that is right, over all batches so far; the update gives all shares."""
    y, p = _classes(labels), _classes(predictions)
    w = _flat_weights(weights, F.astype(p, np.float32), (-1,))
    zeros = static.constant(np.zeros(num_classes, np.float32))
    hit = F.mul(F.astype(F.eq(y, p), np.float32), w)
    parts = {"total": F.index_add(zeros, 0, y, w), "count": F.index_add(zeros, 0, y, hit)}
    return parts, lambda total, count: F.mean(slopes.ratio(count, total)), lambda total, count: slopes.ratio(count, total)


def _errors(name: str, error: Callable[[Any, Any], Any], after: Callable[[Any], Any] = lambda x: x) -> Callable[..., Any]:
    def build(labels: Any, predictions: Any, weights: Any = None) -> State:
        return _averaged(error(_float(labels), _float(predictions)), weights, after)

    return _named(name, build)


mean_squared_error = _errors("mean_squared_error", lambda y, p: F.square(F.sub(p, y)))
mean_absolute_error = _errors("mean_absolute_error", lambda y, p: F.abs(F.sub(p, y)))
root_mean_squared_error = _errors("root_mean_squared_error", lambda y, p: F.square(F.sub(p, y)), F.sqrt)


@metric()
def mean_relative_error(labels: Any, predictions: Any, normalizer: Any, weights: Any = None) -> State:
    """The mean of |labels - predictions| / normalizer (0 where that is 0), over all batches so far."""
    return _averaged(slopes.ratio(F.abs(F.sub(_float(labels), _float(predictions))), _float(normalizer)), weights)


@metric()
def mean_cosine_distance(labels: Any, predictions: Any, dim: int, weights: Any = None) -> State:
    """1 - the mean of the products along `dim`, of unit vectors, over all batches so far."""
    product = F.sum(F.mul(_float(labels), _float(predictions)), axis=dim, keepdims=True)
    return _averaged(product, weights, lambda m: F.sub(1.0, m))


@metric("percentage_below_threshold")
def percentage_below(values: Any, threshold: Any, weights: Any = None) -> State:
    """The share of values below a threshold, over all batches so far."""
    return _averaged(F.astype(F.lt(_float(values), _float(threshold)), np.float32), weights)


@metric()
def mean_iou(labels: Any, predictions: Any, num_classes: int, weights: Any = None) -> State:
    """(the mean of intersection over union of the classes, update), of a confusion matrix over all batches."""
    y, p = _classes(labels), _classes(predictions)
    w = _flat_weights(weights, F.astype(p, np.float32), (-1,))
    flat = F.index_add(static.constant(np.zeros(num_classes**2, np.float32)), 0, F.add(F.mul(y, num_classes), p), w)

    def score(matrix: Any) -> Any:
        hits = F.diagonal(matrix, 0)
        union = F.sub(F.add(F.sum(matrix, axis=0), F.sum(matrix, axis=1)), hits)
        there = F.sum(F.astype(F.ne(union, 0.0), np.float32))
        return slopes.ratio(F.sum(F.where(F.ne(union, 0.0), slopes.ratio(hits, union), F.zeros_like(union))), there)

    return {"total_confusion_matrix": F.reshape(flat, (num_classes, num_classes))}, score


# right and wrong predictions ------------------------------------------------------------------------------------------

HITS: dict[str, Callable[[Any, Any], Any]] = {
    "true_positives": F.logical_and,
    "false_positives": lambda y, p: F.logical_and(F.logical_not(y), p),
    "true_negatives": lambda y, p: F.logical_and(F.logical_not(y), F.logical_not(p)),
    "false_negatives": lambda y, p: F.logical_and(y, F.logical_not(p)),
}
RATES = {"precision": ("true_positives", "false_positives"), "recall": ("true_positives", "false_negatives")}


def _number_of(name: str) -> Callable[..., Any]:
    def build(labels: Any, predictions: Any, weights: Any = None) -> State:
        found = F.astype(HITS[name](F.ne(_float(labels), 0.0), F.ne(_float(predictions), 0.0)), np.float32)
        return {"count": F.sum(F.mul(found, _weights(weights, found)))}, _same

    return _named(name, build, "TensorFlow's `{}`: how many, over all batches so far.")


true_positives, false_positives, true_negatives, false_negatives = map(_number_of, HITS)


def _rate(name: str) -> Callable[..., Any]:
    def build(labels: Any, predictions: Any, weights: Any = None) -> State:
        y, p = F.ne(_float(labels), 0.0), F.ne(_float(predictions), 0.0)
        found = {key: F.astype(HITS[key](y, p), np.float32) for key in RATES[name]}
        w = _weights(weights, F.astype(y, np.float32))
        return {key: F.sum(F.mul(hit, w)) for key, hit in found.items()}, lambda t, m: slopes.ratio(t, F.add(t, m))

    return _named(name, build)


precision, recall = map(_rate, RATES)


def _at(labels: Any, predictions: Any, thresholds: Any, weights: Any, keys: Sequence[str]) -> dict[str, Any]:
    """How many predictions are right or wrong, by kind, at each threshold."""
    y, p = F.reshape(F.ne(_float(labels), 0.0), (1, -1)), F.reshape(_float(predictions), (1, -1))
    above = F.gt(p, static.constant(np.asarray(thresholds, np.float32)[:, None]))
    w = _flat_weights(None if weights is None else _weights(weights, _float(labels)), p, (1, -1))
    return {key: F.sum(F.mul(F.astype(F.broadcast_like(HITS[key](y, above), above), np.float32), w), axis=1) for key in keys}


def _edges(count: int) -> list[float]:
    return [0.0 - SMALL, *((i + 1) / (count - 1) for i in range(count - 2)), 1.0 + SMALL]


def _at_thresholds(name: str, keys: Sequence[str], value: Result) -> Callable[..., Any]:
    def build(labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None) -> State:
        return _at(labels, predictions, thresholds, weights, keys), value

    doc = "TensorFlow's `{}`: one number per threshold, over all batches so far."
    return _named(f"{name}_at_thresholds", build, doc)


def _share(hits: Any, misses: Any, small: float = SMALL) -> Any:
    return F.div(hits, F.add(F.add(hits, misses), small))


(
    true_positives_at_thresholds, false_positives_at_thresholds, true_negatives_at_thresholds, false_negatives_at_thresholds,
) = (_at_thresholds(name, [name], _same) for name in HITS)  # fmt: skip
precision_at_thresholds, recall_at_thresholds = (_at_thresholds(name, keys, _share) for name, keys in RATES.items())


def _at_nearest(predictions: Any, labels: Any, weights: Any, count: int, wanted: float, word: str) -> State:
    """One of sensitivity and specificity at the threshold where the other one is nearest to `wanted`."""
    if not 0 <= wanted <= 1:
        raise ValueError(f"`{word}` must be in the range [0, 1]. Currently {wanted}.")

    def value(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
        sensitivity, specificity = _share(tp, fn), _share(tn, fp)
        near, found = (sensitivity, specificity) if word == "sensitivity" else (specificity, sensitivity)
        return F.take(found, F.argmin(F.abs(F.sub(near, float(wanted))), axis=0), axis=0)

    return _at(labels, predictions, _edges(count), weights, list(HITS)), value


@metric()
def specificity_at_sensitivity(
    labels: Any, predictions: Any, sensitivity: float, weights: Any = None, num_thresholds: int = 200
) -> State:
    """The share of negatives that are right, at the threshold where that of positives is nearest to `sensitivity`."""
    return _at_nearest(predictions, labels, weights, num_thresholds, sensitivity, "sensitivity")


@metric()
def sensitivity_at_specificity(
    labels: Any, predictions: Any, specificity: float, weights: Any = None, num_thresholds: int = 200
) -> State:
    """The share of positives that are right, at the threshold where that of negatives is nearest to `specificity`."""
    return _at_nearest(predictions, labels, weights, num_thresholds, specificity, "specificity")


@metric()
def auc(
    labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200, *, curve: str = "ROC",
    summation_method: str = "trapezoidal", thresholds: Any = None,
) -> State:  # fmt: skip
    """The area under the ROC or precision-recall curve of `num_thresholds` thresholds, by trapezoids."""
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")

    def area(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
        small = 1e-6
        rise = F.div(F.add(tp, small), F.add(F.add(tp, fn), small))
        if curve == "ROC":
            x, y = _share(fp, tn, small), rise
        else:
            x, y = rise, F.div(F.add(tp, small), F.add(F.add(tp, fp), small))
        return F.sum(F.mul(F.sub(x[:-1], x[1:]), F.mul(F.add(y[:-1], y[1:]), 0.5)))

    return _at(labels, predictions, _edges(num_thresholds), weights, list(HITS)), area


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


def _ranked(rate: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A rate of the numbers of the predicted classes, and one of the classes with the largest scores."""

    def build(labels: Any, predictions_idx: Any, k: int | None = None, class_id: Any = None, weights: Any = None) -> State:
        hit, labelled, counts = symbols(_hits(labels, predictions_idx, class_id))
        right = F.sum(F.astype(hit, np.float64), axis=-1)
        all_of = F.sum(F.astype(counts, np.float64), axis=-1) if rate == "precision" else labelled
        w = F.astype(_weights(weights, right), np.float64)
        hits, misses = RATES[rate]
        parts = {hits: F.sum(F.mul(right, w)), misses: F.sum(F.mul(F.sub(all_of, right), w))}
        return parts, lambda t, m: F.div(t, F.add(t, m))

    def of_scores(labels: Any, predictions: Any, k: int, class_id: int | None = None, weights: Any = None) -> State:
        return build(labels, top_k(predictions, k)[1], k, class_id, weights)

    doc = "TensorFlow's `{}`: of the k classes with the largest scores, over all batches so far."
    of_places = _named(f"{rate}_at_top_k", build, "TensorFlow's `{}` of the numbers of the predicted classes.")
    return of_places, _named(f"{rate}_at_k", of_scores, doc)


(precision_at_top_k, precision_at_k), (recall_at_top_k, recall_at_k) = map(_ranked, RATES)


@metric("average_precision_at_{k}")
def average_precision_at_k(labels: Any, predictions: Any, k: int, weights: Any = None) -> State:
    """The mean over the labels of the precision up to each hit among the k largest scores, over all batches so far."""
    places = F.topk(tensor(symbols(predictions)), k)[1]
    hit, _, _ = symbols(_hits(labels, places, None))
    y = tensor(symbols(labels))
    relevant = min(extents_of(y)[-1] if y.ndim == hit.ndim else 1, k)
    right = F.astype(hit, np.float64)
    so_far = F.cumsum(right, axis=right.ndim - 1)
    ranks = static.constant(np.arange(1, k + 1, dtype=np.float64))
    total = F.sum(F.mul(F.div(so_far, ranks), right), axis=-1)
    return _averaged(F.div(total, float(relevant)), weights)


sparse_average_precision_at_k, sparse_precision_at_k = average_precision_at_k, precision_at_k
