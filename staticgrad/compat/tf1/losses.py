"""`tf.losses`: scalar losses that enter the collection of losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import slopes
from .arrays import convert_to_tensor
from .core import FLOATING, F, Symbol, fits, has_rank
from .graph import GraphKeys, get_default_graph
from .math import add_n
from .nn.functions import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from .tensor import Operand, arguments, extent_of, operation, pair, signature, symbols, tensor


class Reduction:
    """How the losses of examples become one number."""

    NONE = "none"
    SUM = "weighted_sum"
    MEAN = "weighted_mean"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS, cls.SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError for a reduction that does not exist."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def _weights(weights: Any, losses: Any) -> Any:
    """Weights in the dtype of the losses and with their axes: a number, or extents that are those of the losses or 1.

    Raises ValueError for None and for other shapes.
    """
    if weights is None:
        raise ValueError("weights cannot be None")
    weights = symbols(weights)
    weights = F.astype(weights if isinstance(weights, Symbol) else tensor(weights), losses.dtype)
    if not (has_rank(weights) and has_rank(losses)) or not weights.ndim:
        return weights
    rank = losses.ndim
    if weights.ndim == rank + 1 and weights.shape[-1] == 1:
        weights = F.squeeze(weights, -1)
    elif weights.ndim == rank - 1:
        weights = F.expand_dims(weights, -1)
    if not weights.ndim:
        return weights
    fitting = weights.ndim == rank and all(
        m == n or m == 1 or None in (m, n) for m, n in zip(weights.shape, losses.shape, strict=True)
    )
    if not fitting:
        raise ValueError(
            f"weights can not be broadcast to values. values.rank={rank}. weights.rank={weights.ndim}. values.shape="
            f"{losses.shape}. weights.shape={weights.shape}."
        )
    return weights


@operation("weighted_loss")
def _weighted(losses: Operand, weights: Any, reduction: str) -> Any:
    kind = losses.dtype
    losses = losses if kind.kind in FLOATING else F.astype(losses, np.float32)
    weights = _weights(weights, losses)
    weighted = F.mul(losses, weights)
    if reduction == Reduction.NONE:
        return F.astype(weighted, kind)
    total = F.sum(weighted)
    if reduction == Reduction.SUM:
        return F.astype(total, kind)
    spread = F.broadcast_like(weights, losses)
    if reduction == Reduction.MEAN:
        count = F.sum(spread)
    elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
        count = F.sum(F.astype(F.ne(spread, 0), losses.dtype))
    else:
        count = F.sum(F.ones_like(losses))
    return F.astype(slopes.ratio(total, count), kind)


def compute_weighted_loss(
    losses: Any, weights: Any = 1.0, scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:  # fmt: skip
    """The weighted sum of losses over the number of weights that are not 0, entered in the collection of losses."""
    Reduction.validate(reduction)
    loss = _weighted(losses, weights, reduction, name=f"{scope or 'weighted_loss'}/value")
    add_loss(loss, loss_collection)
    return loss


def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Any:
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else tensor(0.0)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None) -> Any:
    """The sum of all losses of the collection, and of the regularization losses."""
    losses = get_losses(scope) + (get_regularization_losses(scope) if add_regularization_losses else [])
    return add_n(losses, name=name)


def _same_shape(predictions: Any, labels: Any) -> tuple[Any, Any]:
    """Both as floats of one shape. Raises ValueError for None and for two shapes."""
    if labels is None:
        raise ValueError("labels must not be None.")
    if predictions is None:
        raise ValueError("predictions must not be None.")
    predictions, labels = tensor(predictions), tensor(labels)
    predictions = predictions if predictions.dtype.kind in FLOATING else F.astype(predictions, np.float32)
    if labels.dtype != predictions.dtype:
        labels = F.astype(labels, predictions.dtype)
    if has_rank(labels) and has_rank(predictions) and not fits(labels.shape, predictions.shape):
        raise ValueError(f"Shapes {labels.shape} and {predictions.shape} are incompatible")
    return pair(predictions, labels, "Sub")


def _huber(p: Any, y: Any, delta: float) -> Any:
    error = F.abs(F.sub(p, y))
    quadratic = slopes.minimum(error, delta)
    return F.add(F.mul(F.square(quadratic), 0.5), F.mul(F.sub(error, quadratic), delta))


def _log(p: Any, y: Any, epsilon: float) -> Any:
    return F.neg(F.add(F.mul(y, F.log(F.add(p, epsilon))), F.mul(F.sub(1, y), F.log(F.add(F.sub(1, p), epsilon)))))


def _loss(
    name: str, label: str, function: Callable[..., Any], doc: str, setting: tuple[str, float] | None = None,
    operand: str = "predictions",
) -> Callable[..., Any]:  # fmt: skip
    """The weighted mean of a function of predictions and labels, and of a setting (name, default)."""
    elements = operation(label)(lambda predictions, labels, *given: function(*_same_shape(predictions, labels), *given))
    own = dict([setting]) if setting else {}
    signed = signature({"labels": ..., operand: ..., "weights": 1.0, **own, "scope": None}, "options")

    def call(*args: Any, **kwargs: Any) -> Any:
        given = arguments(signed, args, kwargs)
        losses = elements(given[operand], given["labels"], *(given[key] for key in own))
        return compute_weighted_loss(losses, given["weights"], given["scope"] or name, **given["options"])

    call.__signature__ = signed  # type: ignore[attr-defined]
    call.__name__, call.__doc__ = name, doc
    return call


mean_squared_error = _loss(
    "mean_squared_error", "SquaredDifference", lambda p, y: F.square(F.sub(p, y)), "The mean of (predictions - labels) ** 2."
)
absolute_difference = _loss(
    "absolute_difference", "Abs", lambda p, y: F.abs(F.sub(p, y)), "The mean of |predictions - labels|."
)
huber_loss = _loss("huber_loss", "huber", _huber, "Quadratic up to an error of `delta`, linear beyond.", ("delta", 1.0))
log_loss = _loss("log_loss", "log_loss", _log, "The cross entropy of probabilities.", ("epsilon", 1e-7))
hinge_loss = _loss(
    "hinge_loss", "hinge_loss", lambda x, y: F.relu(F.sub(1, F.mul(F.sub(F.mul(y, 2), 1), x))),
    "max(0, 1 - y x) with y of -1 and 1 for labels 0 and 1.", operand="logits",
)  # fmt: skip


@operation("smoothed")
def _smoothed(labels: Operand, amount: float, classes: int | None = None) -> Any:
    return F.add(F.mul(labels, 1 - amount), amount / (classes or extent_of(labels, -1)))


@operation("Cast")
def _like(labels: Operand, logits: Operand) -> Any:
    return F.astype(labels, logits.dtype)


def softmax_cross_entropy(
    onehot_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None, **options: Any
) -> Any:
    """The mean cross entropy against one-hot labels."""
    labels = _like(onehot_labels, logits)
    labels = _smoothed(labels, label_smoothing) if label_smoothing else labels
    losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    return compute_weighted_loss(losses, weights, scope or "softmax_cross_entropy_loss", **options)


@operation("remove_squeezable_dimensions", "Squeeze")
def _one_axis_less(labels: Operand, logits: Operand) -> Any:
    """Labels without a last axis of extent 1, where they have as many axes as the logits."""
    return F.squeeze(labels, -1) if labels.ndim == logits.ndim and labels.shape[-1] in (1, None) else labels


def sparse_softmax_cross_entropy(labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None, **options: Any) -> Any:
    """The mean cross entropy against class numbers."""
    labels, logits = _one_axis_less(labels, logits), convert_to_tensor(logits)
    losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return compute_weighted_loss(losses, weights, scope or "sparse_softmax_cross_entropy_loss", **options)


def sigmoid_cross_entropy(
    multi_class_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None,
    **options: Any,
) -> Any:  # fmt: skip
    """The mean of the logistic losses."""
    labels = _like(multi_class_labels, logits)
    labels = _smoothed(labels, label_smoothing, 2) if label_smoothing else labels
    losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    return compute_weighted_loss(losses, weights, scope or "sigmoid_cross_entropy_loss", **options)


@operation("cosine_distance", "Sub")
def _cosine(predictions: Any, labels: Any, axis: int) -> Any:
    p, y = _same_shape(predictions, labels)
    return F.sub(1, F.sum(F.mul(p, y), axis=axis, keepdims=True))


def cosine_distance(
    labels: Any, predictions: Any, axis: int | None = None, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS, dim: int | None = None,
) -> Any:  # fmt: skip
    """1 - the product along an axis, of unit vectors."""
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    losses = _cosine(predictions, labels, axis)
    return compute_weighted_loss(losses, weights, scope or "cosine_distance_loss", loss_collection, reduction)


@operation("mean_pairwise_squared_error", "Sum")
def _pairwise(predictions: Any, labels: Any, weights: Any) -> Any:
    """The sum over the batch of twice the mean squared difference of differences of pairs in a row."""
    p, y = _same_shape(predictions, labels)
    error = F.sub(p, y)
    axes = tuple(range(1, error.ndim))
    weights = _weights(weights, error)
    spread = F.broadcast_like(weights, error)
    count = F.sum(F.astype(F.ne(spread, 0), error.dtype), axis=axes, keepdims=True) if axes else F.ones_like(error)
    squares = F.sum(F.square(error), axis=axes, keepdims=True) if axes else F.square(error)
    first = F.mul(slopes.ratio(squares, F.sub(count, 1)), 2.0)
    sums = F.sum(error, axis=axes, keepdims=True) if axes else error
    second = F.mul(slopes.ratio(F.square(sums), F.mul(count, F.sub(count, 1))), 2.0)
    total = F.sum(F.mul(F.sub(first, second), weights))
    return F.where(F.gt(F.sum(count), 0), total, F.zeros_like(total))


def mean_pairwise_squared_error(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Any:  # fmt: skip
    """The mean squared difference between the differences of pairs of labels and those of predictions, per row."""
    loss = _pairwise(predictions, labels, weights, name=f"{scope or 'mean_pairwise_squared_error'}/value")
    add_loss(loss, loss_collection)
    return loss
