"""Activations, losses on logits, normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import slopes
from ..core import F, cross_entropy, functional_log_softmax, static, torch_silu
from ..math import axes_of
from ..math import sigmoid as sigmoid  # type: ignore[attr-defined]
from ..math import softplus as softplus  # type: ignore[attr-defined]
from ..math import tanh as tanh  # type: ignore[attr-defined]
from ..tensor import SIZES, Operand, Pair, define, extents_of, operation, pair, tensor

# activations ----------------------------------------------------------------------------------------------------------


relu = define("relu", "Relu", F.relu, words="features")
relu6 = define("relu6", "Relu6", lambda features: slopes.within(features, 0, 6))
elu = define("elu", "Elu", slopes.elu, words="features")
softsign = define("softsign", "Softsign", slopes.softsign, words="features")


@operation("Selu")
def selu(features: Operand) -> Any:
    """Klambauer et al., "Self-Normalizing Neural Networks", 2017."""
    return F.mul(slopes.elu(features, 1.6732632423543772), 1.0507009873554805)


@operation("LeakyRelu")
def leaky_relu(features: Operand, alpha: float = 0.2) -> Any:
    return F.where(F.gt(features, 0), features, F.mul(features, alpha))


@operation("concat", "CRelu")
def crelu(features: Operand, axis: int = -1) -> Any:
    return F.relu(F.concatenate([features, F.neg(features)], axis=axis))


@operation("swish")
def swish(features: Operand, beta: Any = 1.0) -> Any:
    """x * sigmoid(beta x)."""
    if isinstance(beta, (int, float)) and beta == 1:
        return torch_silu(features)
    return F.mul(features, F.sigmoid(F.mul(tensor(beta, features.dtype), features)))


silu = swish
DIM = {"dim": "axis"}


@operation("Softmax", old=DIM)
def softmax(logits: Operand, axis: int | None = None) -> Any:
    return F.softmax(logits, axis=-1 if axis is None else axis)


@operation("LogSoftmax", old=DIM)
def log_softmax(logits: Operand, axis: int | None = None) -> Any:
    return functional_log_softmax(logits, -1 if axis is None else axis)


# losses on logits -----------------------------------------------------------------------------------------------------


def _soft_labels(labels: Any, logits: Any, axis: int | None, differentiable: bool) -> Any:
    logits = tensor(logits)
    labels, logits = pair(F.astype(tensor(labels), logits.dtype), logits, "SoftmaxCrossEntropyWithLogits")
    axis, labels = -1 if axis is None else axis, labels if differentiable else F.stop_gradient(labels)
    return F.neg(F.sum(F.mul(labels, functional_log_softmax(logits, axis)), axis=axis))


@operation("softmax_cross_entropy_with_logits", old=DIM)
def softmax_cross_entropy_with_logits_v2(labels: Any, logits: Any, axis: int | None = None) -> Any:
    """The cross entropy of each row of `logits` against probabilities; gradients flow to both."""
    return _soft_labels(labels, logits, axis, True)


@operation("softmax_cross_entropy_with_logits_sg")
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, dim: int = -1, axis: int | None = None) -> Any:
    """The cross entropy of each row of `logits` against probabilities, which get no gradient."""
    return _soft_labels(labels, logits, dim if axis is None else axis, False)


@operation("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy_with_logits(labels: Operand, logits: Operand) -> Any:
    """The cross entropy of each row of `logits` (..., classes) against a class number (...)."""
    if logits.ndim > 2:
        logits = F.permute(logits, (0, logits.ndim - 1, *range(1, logits.ndim - 1)))
    return cross_entropy(logits, labels, reduction="none")


@operation("logistic_loss")
def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    """max(x, 0) - x z + log(1 + exp(-|x|)) for logits x and labels z."""
    z, x = pair(labels, logits, "LogisticLoss")
    return F.sub(F.softplus(x), F.mul(x, z))


@operation("logistic_loss", old={"targets": "labels"})
def weighted_cross_entropy_with_logits(labels: Any = None, logits: Any = None, pos_weight: Any = None) -> Any:
    """As `sigmoid_cross_entropy_with_logits`, with the positive examples weighted."""
    z, x = pair(labels, logits, "LogisticLoss")
    weight = F.add(F.mul(F.sub(tensor(pos_weight, x.dtype), 1), z), 1)
    return F.add(F.mul(F.sub(1, z), x), F.mul(weight, F.add(F.log1p(F.exp(F.neg(F.abs(x)))), F.relu(F.neg(x)))))


# layers ---------------------------------------------------------------------------------------------------------------


@operation("BiasAdd")
def bias_add(value: Pair, bias: Pair, data_format: str | None = None) -> Any:
    """A bias per channel, the last axis (NHWC) or axis 1 (NCHW)."""
    if data_format and data_format.startswith("NC"):
        bias = F.reshape(bias, (-1, *(1,) * (value.ndim - 2)))
    return F.add(value, bias)


@operation("xw_plus_b")
def xw_plus_b(x: Any, weights: Any, biases: Any) -> Any:
    """matmul(x, weights) + biases."""
    x, w = pair(x, weights, "MatMul")
    return F.add(F.matmul(x, w), tensor(biases, x.dtype))


@operation("moments", old={"keepdims": "keep_dims"})
def moments(x: Operand, axes: Any, shift: Any = None, keep_dims: Any = None) -> tuple[Any, Any]:
    """(mean, variance over n) over the axes."""
    axes = axes_of(axes, x)
    mean = F.mean(x, axis=axes, keepdims=True)
    variance = F.mean(F.square(F.sub(x, F.stop_gradient(mean))), axis=axes, keepdims=bool(keep_dims))
    return (mean if keep_dims else F.squeeze(mean, axes)), variance


@operation("batchnorm")
def batch_normalization(x: Pair, mean: Pair, variance: Any, offset: Any, scale: Any, variance_epsilon: float) -> Any:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset; None for no scale or offset."""
    factor = slopes.rsqrt(F.add(tensor(variance, x.dtype), variance_epsilon))
    if scale is not None:
        factor = F.mul(factor, tensor(scale, x.dtype))
    shift = F.neg(F.mul(mean, factor))
    if offset is not None:
        shift = F.add(tensor(offset, x.dtype), shift)
    return F.add(F.mul(x, factor), shift)


@operation("l2_normalize", old=DIM)
def l2_normalize(x: Operand, axis: Any = None, epsilon: float = 1e-12) -> Any:
    """x / sqrt(max(sum(x ** 2), epsilon)) along the axes."""
    squares = F.sum(F.square(x), axis=axes_of(axis, x), keepdims=True)
    return F.mul(x, slopes.rsqrt(slopes.maximum(squares, epsilon)))


@operation("zero_fraction")
def zero_fraction(value: Operand) -> Any:
    """The share of elements that are 0."""
    return F.mean(F.astype(F.eq(value, 0), "float32"))


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """relu(x @ weights + biases)."""
    return relu(xw_plus_b(x, weights, biases), name=name or "relu_layer")


# moments from sums and weights, averages of losses --------------------------------------------------------------------


AXES, KEEP = SIZES | {"axes"}, {"keepdims": "keep_dims"}


@operation("sufficient_statistics", sizes=AXES, old=KEEP)
def sufficient_statistics(x: Operand, axes: Any, shift: Any = None, keep_dims: Any = None) -> tuple[Any, Any, Any, Any]:
    """(count, sum, sum of squares, shift) over the axes, for `normalize_moments`; the sums are of x - shift."""
    along = sorted({a % x.ndim for a in np.atleast_1d(axes).tolist()})
    keep = bool(keep_dims)
    count = static.constant(np.asarray(np.prod([extents_of(x)[a] for a in along]), x.dtype))
    moved = x if shift is None else F.sub(x, tensor(shift, x.dtype))
    sums = F.sum(moved, axis=tuple(along), keepdims=keep)
    squares = F.sum(F.square(moved), axis=tuple(along), keepdims=keep)
    return count, sums, squares, None if shift is None else tensor(shift, x.dtype)


@operation("normalize")
def normalize_moments(counts: Operand, mean_ss: Operand, variance_ss: Operand, shift: Any) -> tuple[Any, Any]:
    """(mean, variance) from the results of `sufficient_statistics`."""
    share = F.reciprocal(counts)
    sums, squares = F.mul(mean_ss, share), F.mul(variance_ss, share)
    return (sums if shift is None else F.add(sums, tensor(shift))), F.sub(squares, F.square(sums))


@operation("weighted_moments", sizes=AXES, old=KEEP)
def weighted_moments(x: Operand, axes: Any, frequency_weights: Operand, keep_dims: Any = None) -> tuple[Any, Any]:
    """(mean, variance) over the axes, each element as often as its weight says."""
    weights = F.astype(frequency_weights, x.dtype)
    along = axes_of(axes, x)
    spread = F.broadcast_like(weights, x) if weights.ndim < x.ndim or weights.shape != x.shape else weights
    total = F.sum(spread, axis=along, keepdims=True)
    mean = F.div(F.sum(F.mul(spread, x), axis=along, keepdims=True), total)
    variance = F.div(F.sum(F.mul(spread, F.square(F.sub(x, mean))), axis=along, keepdims=True), total)
    return (mean, variance) if keep_dims else (F.squeeze(mean, along), F.squeeze(variance, along))


def batch_norm_with_global_normalization(
    t: Any = None, m: Any = None, v: Any = None, beta: Any = None, gamma: Any = None, variance_epsilon: Any = None,
    scale_after_normalization: Any = None, name: str | None = None, input: Any = None, mean: Any = None,
    variance: Any = None,
) -> Any:  # fmt: skip
    """`batch_normalization` under older names; gamma counts with `scale_after_normalization` alone."""
    return batch_normalization(
        input if t is None else t, mean if m is None else m, variance if v is None else v, beta,
        gamma if scale_after_normalization else None, variance_epsilon, name=name,
    )  # fmt: skip


@operation("compute_average_loss", sizes=frozenset({"global_batch_size"}))
def compute_average_loss(per_example_loss: Operand, sample_weight: Any = None, global_batch_size: Any = None) -> Any:
    """The sum of the weighted losses over the number of examples."""
    losses = per_example_loss
    if sample_weight is not None:
        losses, weights = pair(losses, sample_weight, "Mul")
        losses = F.mul(losses, F.expand_dims(weights, tuple(range(weights.ndim, losses.ndim))) if weights.ndim else weights)
    count = extents_of(losses)[0] if global_batch_size is None else global_batch_size
    return F.div(F.sum(losses), float(count))


scale_regularization_loss = define(
    "scale_regularization_loss", "Sum", F.sum, "The sum of the losses: there is one replica.", "regularization_loss",
    default="scale_regularization_loss",
)  # fmt: skip
