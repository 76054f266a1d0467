"""Activations, losses on logits, normalization."""

from __future__ import annotations

from typing import Any

from ....functional import cross_entropy
from ....functional import log_softmax as functional_log_softmax
from ....functional import silu as torch_silu
from ....operators import F
from .. import slopes
from ..math import elementwise, reduced_axes
from ..math import sigmoid as sigmoid  # type: ignore[attr-defined]
from ..math import softplus as softplus  # type: ignore[attr-defined]
from ..math import tanh as tanh  # type: ignore[attr-defined]
from ..tensor import operation, pair, tensor

# activations ----------------------------------------------------------------------------------------------------------


relu = elementwise("relu", F.relu, "Relu", ["features"])
relu6 = elementwise("relu6", lambda x: slopes.within(x, 0, 6), "Relu6", ["features"])
elu = elementwise("elu", slopes.elu, "Elu", ["features"])
softsign = elementwise("softsign", slopes.softsign, "Softsign", ["features"])


@operation("Selu")
def selu(features: Any) -> Any:
    """Klambauer et al., "Self-Normalizing Neural Networks", 2017."""
    return F.mul(slopes.elu(tensor(features), 1.6732632423543772), 1.0507009873554805)


@operation("LeakyRelu")
def leaky_relu(features: Any, alpha: float = 0.2) -> Any:
    x = tensor(features)
    return F.where(F.gt(x, 0), x, F.mul(x, alpha))


@operation("concat", "CRelu")
def crelu(features: Any, axis: int = -1) -> Any:
    x = tensor(features)
    return F.relu(F.concatenate([x, F.neg(x)], axis=axis))


@operation("swish")
def swish(features: Any, beta: Any = 1.0) -> Any:
    """x * sigmoid(beta x)."""
    x = tensor(features)
    if isinstance(beta, (int, float)) and beta == 1:
        return torch_silu(x)
    return F.mul(x, F.sigmoid(F.mul(tensor(beta, x.dtype), x)))


silu = swish


@operation("Softmax")
def softmax(logits: Any, axis: int | None = None, dim: int | None = None) -> Any:
    axis = dim if axis is None else axis
    return F.softmax(tensor(logits), axis=-1 if axis is None else axis)


@operation("LogSoftmax")
def log_softmax(logits: Any, axis: int | None = None, dim: int | None = None) -> Any:
    axis = dim if axis is None else axis
    return functional_log_softmax(tensor(logits), -1 if axis is None else axis)


# losses on logits -----------------------------------------------------------------------------------------------------


def _soft_labels(labels: Any, logits: Any, dim: int) -> Any:
    labels, logits = pair(labels, logits, "SoftmaxCrossEntropyWithLogits")
    return F.neg(F.sum(F.mul(labels, functional_log_softmax(logits, dim)), axis=dim))


@operation("softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits_v2(labels: Any, logits: Any, axis: int | None = None, dim: int | None = None) -> Any:
    """The cross entropy of each row of `logits` against probabilities; gradients flow to both."""
    axis = dim if axis is None else axis
    return _soft_labels(labels, logits, -1 if axis is None else axis)


@operation("softmax_cross_entropy_with_logits_sg")
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, dim: int = -1, axis: int | None = None) -> Any:
    """The cross entropy of each row of `logits` against probabilities, which get no gradient."""
    labels, logits = pair(labels, logits, "SoftmaxCrossEntropyWithLogits")
    return _soft_labels(F.stop_gradient(labels), logits, dim if axis is None else axis)


@operation("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    """The cross entropy of each row of `logits` (..., classes) against a class number (...)."""
    labels, logits = tensor(labels), tensor(logits)
    if logits.ndim > 2:
        logits = F.permute(logits, (0, logits.ndim - 1, *range(1, logits.ndim - 1)))
    return cross_entropy(logits, labels, reduction="none")


@operation("logistic_loss")
def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    """max(x, 0) - x z + log(1 + exp(-|x|)) for logits x and labels z."""
    z, x = pair(labels, logits, "LogisticLoss")
    return F.sub(F.softplus(x), F.mul(x, z))


@operation("logistic_loss")
def weighted_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, pos_weight: Any = None, targets: Any = None
) -> Any:
    """As `sigmoid_cross_entropy_with_logits`, with the positive examples weighted."""
    z, x = pair(targets if labels is None else labels, logits, "LogisticLoss")
    weight = F.add(F.mul(F.sub(tensor(pos_weight, x.dtype), 1), z), 1)
    return F.add(F.mul(F.sub(1, z), x), F.mul(weight, F.add(F.log1p(F.exp(F.neg(F.abs(x)))), F.relu(F.neg(x)))))


# layers ---------------------------------------------------------------------------------------------------------------


@operation("BiasAdd")
def bias_add(value: Any, bias: Any, data_format: str | None = None) -> Any:
    """A bias per channel, the last axis (NHWC) or axis 1 (NCHW)."""
    x, b = pair(value, bias, "BiasAdd")
    if data_format and data_format.startswith("NC"):
        b = F.reshape(b, (-1, *(1,) * (x.ndim - 2)))
    return F.add(x, b)


@operation("xw_plus_b")
def xw_plus_b(x: Any, weights: Any, biases: Any) -> Any:
    """matmul(x, weights) + biases."""
    x, w = pair(x, weights, "MatMul")
    return F.add(F.matmul(x, w), tensor(biases, x.dtype))


@operation("moments")
def moments(x: Any, axes: Any, shift: Any = None, keep_dims: Any = None, keepdims: Any = None) -> tuple[Any, Any]:
    """(mean, variance over n) over the axes."""
    x, axes, keep = tensor(x), reduced_axes(axes, None), bool(keepdims or keep_dims)
    mean = F.mean(x, axis=axes, keepdims=True)
    variance = F.mean(F.square(F.sub(x, F.stop_gradient(mean))), axis=axes, keepdims=keep)
    return (mean if keep else F.squeeze(mean, axes)), variance


@operation("batchnorm")
def batch_normalization(x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: float) -> Any:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset; None for no scale or offset."""
    x, mean = pair(x, mean, "batchnorm")
    factor = slopes.rsqrt(F.add(tensor(variance, x.dtype), variance_epsilon))
    if scale is not None:
        factor = F.mul(factor, tensor(scale, x.dtype))
    shift = F.neg(F.mul(mean, factor))
    if offset is not None:
        shift = F.add(tensor(offset, x.dtype), shift)
    return F.add(F.mul(x, factor), shift)


@operation("l2_normalize")
def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, dim: Any = None) -> Any:
    """x / sqrt(max(sum(x ** 2), epsilon)) along the axes."""
    x, axes = tensor(x), reduced_axes(axis, dim)
    squares = F.sum(F.square(x), axis=tuple(range(x.ndim)) if axes is None else axes, keepdims=True)
    return F.mul(x, slopes.rsqrt(slopes.maximum(squares, epsilon)))


@operation("zero_fraction")
def zero_fraction(value: Any) -> Any:
    """The share of elements that are 0."""
    return F.mean(F.astype(F.eq(tensor(value), 0), "float32"))
