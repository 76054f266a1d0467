"""`tf.contrib.losses`, of `slim` too: the losses of `tf.losses`, which take predictions before labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import losses
from ..losses import add_loss as add_loss
from ..losses import compute_weighted_loss as compute_weighted_loss
from ..losses import get_losses as get_losses
from ..losses import get_regularization_losses as get_regularization_losses
from ..losses import get_total_loss as get_total_loss
from .framework import add_arg_scope


def _loss(name: str, predicted: str, labels: str, *settings: tuple[str, Any]) -> Callable[..., Any]:
    """A loss of `tf.losses` by the words that were its arguments' before."""
    own = getattr(losses, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip((predicted, labels, "weights", *(s for s, _ in settings), "scope"), args, strict=False)), **kwargs}
        first, second = given.pop(predicted), given.pop(labels)
        return own(second, first, **given)

    call.__name__, call.__doc__ = name, f"`tf.losses.{name}`."
    return add_arg_scope(call)


absolute_difference = _loss("absolute_difference", "predictions", "labels")
mean_squared_error = _loss("mean_squared_error", "predictions", "labels")
mean_pairwise_squared_error = _loss("mean_pairwise_squared_error", "predictions", "labels")
log_loss = _loss("log_loss", "predictions", "labels", ("epsilon", 1e-7))
hinge_loss = _loss("hinge_loss", "logits", "labels")
cosine_distance = add_arg_scope(
    lambda predictions, labels=None, axis=None, weights=1.0, scope=None, dim=None: losses.cosine_distance(
        labels, predictions, axis if dim is None else dim, weights, scope
    )
)
softmax_cross_entropy = _loss("softmax_cross_entropy", "logits", "onehot_labels", ("label_smoothing", 0))
sigmoid_cross_entropy = _loss("sigmoid_cross_entropy", "logits", "multi_class_labels", ("label_smoothing", 0))
sparse_softmax_cross_entropy = _loss("sparse_softmax_cross_entropy", "logits", "labels")
