"""`tf.contrib.metrics`: the metrics of `tf.metrics` under their old names, with predictions before labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import math as _math
from .. import metrics
from ..gathering import confusion_matrix as _confusion_matrix

math: Any = _math  # its functions are made of records


def _streaming(name: str, *more: str) -> Callable[..., Any]:
    """A metric that takes predictions first, and other arguments before the weights."""
    own = getattr(metrics, name)

    def call(predictions: Any, labels: Any, *args: Any, **kwargs: Any) -> Any:
        words = (*more, "weights", "metrics_collections", "updates_collections", "name")
        return own(labels=labels, predictions=predictions, **dict(zip(words, args, strict=False)), **kwargs)

    call.__name__, call.__doc__ = f"streaming_{name}", f"`tf.metrics.{name}`."
    return call


streaming_mean, streaming_mean_tensor = metrics.mean, metrics.mean_tensor
streaming_percentage_less = metrics.percentage_below
streaming_accuracy, streaming_auc = _streaming("accuracy"), _streaming("auc")
streaming_precision, streaming_recall = _streaming("precision"), _streaming("recall")
streaming_mean_absolute_error = _streaming("mean_absolute_error")
streaming_mean_squared_error = _streaming("mean_squared_error")
streaming_root_mean_squared_error = _streaming("root_mean_squared_error")
streaming_mean_relative_error = _streaming("mean_relative_error", "normalizer")
streaming_mean_cosine_distance = _streaming("mean_cosine_distance", "dim")
streaming_mean_iou = _streaming("mean_iou", "num_classes")
streaming_true_positives, streaming_true_negatives = _streaming("true_positives"), _streaming("true_negatives")
streaming_false_positives, streaming_false_negatives = _streaming("false_positives"), _streaming("false_negatives")
streaming_precision_at_thresholds = _streaming("precision_at_thresholds", "thresholds")
streaming_recall_at_thresholds = _streaming("recall_at_thresholds", "thresholds")
streaming_sensitivity_at_specificity = _streaming("sensitivity_at_specificity", "specificity")
streaming_specificity_at_sensitivity = _streaming("specificity_at_sensitivity", "sensitivity")
streaming_sparse_precision_at_k = _streaming("precision_at_k", "k")
streaming_sparse_recall_at_k = _streaming("recall_at_k", "k")


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Any:
    """The share of predictions that are the labels, of this batch."""
    if labels.dtype != predictions.dtype:
        raise ValueError(f"dtype of predictions and labels should match, given: {predictions.dtype} and {labels.dtype}")
    right = math.cast(math.equal(predictions, labels), "float32")
    if weights is None:
        return math.reduce_mean(right, name=name or "accuracy")
    own = math.cast(weights, "float32")
    return math.divide(math.reduce_sum(right * own), math.reduce_sum(own), name=name or "accuracy")


def confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any = None, dtype: Any = "int32", name: str | None = None, weights: Any = None
) -> Any:
    """`tf.confusion_matrix`."""
    return _confusion_matrix(labels, predictions, num_classes, dtype, weights, name=name)


def aggregate_metrics(*value_update_tuples: Any) -> tuple[list[Any], list[Any]]:
    """The values and the updates of several metrics."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values and the updates of several metrics by their names."""
    pairs = dict(names_to_tuples)
    return {name: pair[0] for name, pair in pairs.items()}, {name: pair[1] for name, pair in pairs.items()}
