"""`tf.metrics`: (value, update) over all batches so far, held in local variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import static
from ...operators import F
from ...static.graphs import using
from .graph import GraphKeys, get_default_graph
from .tensor import handles, symbols, tensor
from .variables import Variable

METRICS = "metric_variables"
"""The collection of the variables of metrics."""


def _state(name: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    collections = [GraphKeys.LOCAL_VARIABLES, METRICS]
    return Variable(np.zeros(shape, dtype), trainable=False, collections=collections, name=name).symbol


def _metric(
    name: str, result: Callable[..., Any], parts: dict[str, Any], metrics_collections: Any, updates_collections: Any,
    grown_result: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    """(value from the state, value after the state grew by `parts`). grown_result: that value, where it is another one."""
    graph = get_default_graph()
    with graph.name_scope(name):
        states = [_state(key, tuple(part.shape), part.dtype) for key, part in parts.items()]
        with using(graph):
            value = handles(graph, result(*states))
            grown = [static.assign_add(state, part) for state, part in zip(states, parts.values(), strict=True)]
            update = handles(graph, (grown_result or result)(*grown))
    for keys, item in ((metrics_collections, value), (updates_collections, update)):
        graph.add_to_collections(keys or [], item)
    return value, update


def _float(x: Any) -> Any:
    return F.astype(tensor(symbols(x)), np.float32)


def _weights(weights: Any, like: Any) -> Any:
    if weights is None:
        return F.ones_like(like)
    w = _float(weights)
    if w.ndim and w.ndim < like.ndim:
        w = F.expand_dims(w, tuple(range(w.ndim, like.ndim)))
    return F.broadcast_like(w, like)


def _ratio(total: Any, count: Any) -> Any:
    zero = F.eq(count, 0.0)
    return F.where(zero, F.zeros_like(total), F.div(total, F.where(zero, F.ones_like(count), count)))


def _averaged(name: str, values: Any, weights: Any, metrics_collections: Any, updates_collections: Any,
              after: Callable[[Any], Any] = lambda x: x) -> Any:  # fmt: skip
    w = F.astype(_weights(weights, values), values.dtype)
    parts = {"total": F.sum(F.mul(values, w)), "count": F.sum(w)}
    return _metric(name, lambda t, c: after(_ratio(t, c)), parts, metrics_collections, updates_collections)


def _built(build: Callable[..., Any]) -> Callable[..., Any]:
    """Build in the default graph."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with using(get_default_graph()):
            return build(*args, **kwargs)

    call.__name__, call.__doc__ = build.__name__, build.__doc__
    return call


@_built
def mean(values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
         name: str | None = None) -> Any:  # fmt: skip
    """The weighted mean of all values so far."""
    return _averaged(name or "mean", _float(values), weights, metrics_collections, updates_collections)


@_built
def accuracy(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
             updates_collections: Any = None, name: str | None = None) -> Any:  # fmt: skip
    """How often predictions are the labels."""
    y, p = tensor(symbols(labels)), tensor(symbols(predictions))
    hit = F.astype(F.eq(y, F.astype(p, y.dtype)), np.float32)
    return _averaged(name or "accuracy", hit, weights, metrics_collections, updates_collections)


def _errors(name: str, error: Callable[[Any, Any], Any], after: Callable[[Any], Any] = lambda x: x) -> Callable[..., Any]:
    @_built
    def call(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
             updates_collections: Any = None, name: str | None = None) -> Any:  # fmt: skip
        values = error(_float(labels), _float(predictions))
        return _averaged(name or label, values, weights, metrics_collections, updates_collections, after)

    label = call.__name__ = name
    call.__doc__ = f"TensorFlow's `{name}`, over all batches so far."
    return call


mean_squared_error = _errors("mean_squared_error", lambda y, p: F.square(F.sub(p, y)))
mean_absolute_error = _errors("mean_absolute_error", lambda y, p: F.abs(F.sub(p, y)))
root_mean_squared_error = _errors("root_mean_squared_error", lambda y, p: F.square(F.sub(p, y)), F.sqrt)


def _counted(name: str, hit: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    @_built
    def call(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
             updates_collections: Any = None, name: str | None = None) -> Any:  # fmt: skip
        y, p = _float(labels), _float(predictions)
        found = F.astype(hit(F.ne(y, 0.0), F.ne(p, 0.0)), np.float32)
        parts = {"count": F.sum(F.mul(found, _weights(weights, found)))}
        return _metric(name or label, lambda c: F.add(c, 0.0), parts, metrics_collections, updates_collections)

    label = call.__name__ = name
    call.__doc__ = f"TensorFlow's `{name}`: how many, over all batches so far."
    return call


HITS: dict[str, Callable[[Any, Any], Any]] = {
    "true_positives": F.logical_and,
    "false_positives": lambda y, p: F.logical_and(F.logical_not(y), p),
    "true_negatives": lambda y, p: F.logical_and(F.logical_not(y), F.logical_not(p)),
    "false_negatives": lambda y, p: F.logical_and(y, F.logical_not(p)),
}
true_positives, false_positives, true_negatives, false_negatives = (_counted(name, hit) for name, hit in HITS.items())


def _rate(name: str, miss: str) -> Callable[..., Any]:
    @_built
    def call(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
             updates_collections: Any = None, name: str | None = None) -> Any:  # fmt: skip
        y, p = F.ne(_float(labels), 0.0), F.ne(_float(predictions), 0.0)
        hits, misses = (F.astype(HITS[key](y, p), np.float32) for key in ("true_positives", miss))
        w = _weights(weights, hits)
        parts = {"true_positives": F.sum(F.mul(hits, w)), miss: F.sum(F.mul(misses, w))}
        return _metric(name or label, lambda t, m: _ratio(t, F.add(t, m)), parts, metrics_collections, updates_collections)

    label = call.__name__ = name
    call.__doc__ = f"TensorFlow's `{name}`, over all batches so far."
    return call


precision, recall = _rate("precision", "false_positives"), _rate("recall", "false_negatives")


@_built
def auc(labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200, metrics_collections: Any = None,
        updates_collections: Any = None, curve: str = "ROC", name: str | None = None,
        summation_method: str = "trapezoidal", thresholds: Any = None) -> Any:  # fmt: skip
    """The area under the ROC or precision-recall curve of `num_thresholds` thresholds, by trapezoids."""
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    y, p = F.reshape(F.ne(_float(labels), 0.0), (1, -1)), F.reshape(_float(predictions), (1, -1))
    inner = np.arange(1, num_thresholds - 1) / (num_thresholds - 1)
    edges = static.constant(np.array([-1e-7, *inner, 1 + 1e-7], np.float32)[:, None])
    above = F.gt(p, edges)
    w = _weights(None if weights is None else F.reshape(_float(weights), (1, -1)), p)
    parts = {
        key: F.sum(F.mul(F.astype(F.broadcast_like(hit(y, above), above), np.float32), w), axis=1) for key, hit in HITS.items()
    }

    def area(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
        small = 1e-6
        rise = F.div(F.add(tp, small), F.add(F.add(tp, fn), small))
        if curve == "ROC":
            x, y = F.div(fp, F.add(F.add(fp, tn), small)), rise
        else:
            x, y = rise, F.div(F.add(tp, small), F.add(F.add(tp, fp), small))
        return F.sum(F.mul(F.sub(x[:-1], x[1:]), F.mul(F.add(y[:-1], y[1:]), 0.5)))

    return _metric(name or "auc", area, parts, metrics_collections, updates_collections)


@_built
def mean_iou(labels: Any, predictions: Any, num_classes: int, weights: Any = None, metrics_collections: Any = None,
             updates_collections: Any = None, name: str | None = None) -> Any:  # fmt: skip
    """(the mean of intersection over union of the classes, update), of a confusion matrix over all batches."""
    y, p = (F.reshape(F.astype(tensor(symbols(x)), np.int64), (-1,)) for x in (labels, predictions))
    w = _weights(None if weights is None else F.reshape(_float(weights), (-1,)), F.astype(p, np.float32))
    flat = F.index_add(static.constant(np.zeros(num_classes**2, np.float32)), 0, F.add(F.mul(y, num_classes), p), w)
    parts = {"total_confusion_matrix": F.reshape(flat, (num_classes, num_classes))}

    def score(matrix: Any) -> Any:
        hits = F.diagonal(matrix, 0)
        union = F.sub(F.add(F.sum(matrix, axis=0), F.sum(matrix, axis=1)), hits)
        there = F.sum(F.astype(F.ne(union, 0.0), np.float32))
        return _ratio(F.sum(F.where(F.ne(union, 0.0), _ratio(hits, union), F.zeros_like(union))), there)

    return _metric(name or "mean_iou", score, parts, metrics_collections, updates_collections)
