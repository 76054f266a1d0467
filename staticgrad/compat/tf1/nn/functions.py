"""Activations, losses on logits, convolution and pooling in TensorFlow's layouts, normalization."""

from __future__ import annotations

import math
from typing import Any

from ....functional import (
    avg_pool2d,
    conv_transpose2d,
    cross_entropy,
    max_pool2d,
)
from ....functional import (
    conv2d as torch_conv2d,
)
from ....functional import (
    log_softmax as functional_log_softmax,
)
from ....functional import (
    pad as functional_pad,
)
from ....functional import silu as torch_silu
from ....operators import F
from .. import slopes
from ..arrays import embedding_lookup
from ..math import l2_loss
from ..math import sigmoid as sigmoid  # type: ignore[attr-defined]
from ..math import tanh as tanh  # type: ignore[attr-defined]
from ..random import dropout
from ..reductions import reduced_axes
from ..tensor import extent_of, extents_of, operation, pair, tensor

__all__ = [
    "avg_pool", "batch_normalization", "bias_add", "conv2d", "conv2d_transpose", "crelu", "depthwise_conv2d", "dropout", "elu",
    "embedding_lookup", "l2_loss", "l2_normalize", "leaky_relu", "log_softmax", "max_pool", "moments", "relu", "relu6", "selu",
    "sigmoid", "silu", "sigmoid_cross_entropy_with_logits", "softmax", "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2", "softplus", "softsign", "sparse_softmax_cross_entropy_with_logits", "swish", "tanh",
    "weighted_cross_entropy_with_logits", "xw_plus_b", "zero_fraction",
]  # fmt: skip


# activations ----------------------------------------------------------------------------------------------------------


@operation("Relu")
def relu(features: Any) -> Any:
    return F.relu(tensor(features))


@operation("Relu6")
def relu6(features: Any) -> Any:
    return slopes.within(tensor(features), 0, 6)


@operation("Elu")
def elu(features: Any) -> Any:
    return slopes.elu(tensor(features))


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


@operation("Softplus")
def softplus(features: Any) -> Any:
    return F.softplus(tensor(features))


@operation("Softsign")
def softsign(features: Any) -> Any:
    return slopes.softsign(tensor(features))


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


def _channels_first(x: Any, data_format: str | None) -> Any:
    return x if data_format == "NCHW" else F.permute(x, (0, 3, 1, 2))


def _back(x: Any, data_format: str | None) -> Any:
    return x if data_format == "NCHW" else F.permute(x, (0, 2, 3, 1))


def _spatial(values: Any, data_format: str | None) -> tuple[int, int]:
    """The two numbers of height and width from one of TensorFlow's forms: n, [h, w], [1, h, w, 1]."""
    numbers = [values] if isinstance(values, int) else [int(v) for v in values]
    if len(numbers) == 1:
        numbers *= 2
    if len(numbers) == 4:
        numbers = numbers[2:] if data_format == "NCHW" else numbers[1:3]
    return numbers[0], numbers[1]


def _same(x: Any, axis: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Zeros before and after an axis such that its result has ceil(extent / stride) elements."""
    reach = (kernel - 1) * dilation + 1
    total = reach - 1 if stride == 1 else _missing(extent_of(x, axis), reach, stride)
    return total // 2, total - total // 2


def _missing(extent: int, reach: int, stride: int) -> int:
    return max((math.ceil(extent / stride) - 1) * stride + reach - extent, 0)


def _padded(x: Any, kernel: Any, strides: Any, dilations: Any, padding: Any, value: float = 0.0) -> Any:
    """x (n, c, h, w) with the padding that the convolution or pooling needs."""
    if padding == "VALID":
        return x
    if not isinstance(padding, str):
        (top, bottom), (left, right) = ((int(a), int(b)) for a, b in padding)
        return functional_pad(x, (left, right, top, bottom), value=value)
    if padding != "SAME":
        raise ValueError(f'padding must be either "VALID" or "SAME", got {padding!r}')
    (top, bottom), (left, right) = (_same(x, 2 + i, kernel[i], strides[i], dilations[i]) for i in range(2))
    if not any((top, bottom, left, right)):
        return x
    return functional_pad(x, (left, right, top, bottom), value=value)


def _around(x: Any, kernel: Any, strides: Any, dilations: Any, padding: Any) -> tuple[int, int] | None:
    """The padding of rows and columns where it is the same on both sides, which a convolution adds by itself."""
    if padding != "SAME":
        return None
    (top, bottom), (left, right) = (_same(x, 2 + i, kernel[i], strides[i], dilations[i]) for i in range(2))
    return (top, left) if top == bottom and left == right else None


@operation("Conv2D")
def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    filters: Any = None,
) -> Any:
    """Cross-correlation of images (NHWC or NCHW) with a filter (height, width, channels, outputs)."""
    x, w = pair(input, filter if filters is None else filters, "Conv2D")
    steps, spread = _spatial(strides, data_format), _spatial(dilations, data_format)
    x, kernel, padding = _channels_first(x, data_format), extents_of(w)[:2], _of_axes(padding, data_format)
    around = _around(x, kernel, steps, spread, padding)
    if around is None:
        x, around = _padded(x, kernel, steps, spread, padding), (0, 0)
    return _back(torch_conv2d(x, F.permute(w, (3, 2, 0, 1)), stride=steps, padding=around, dilation=spread), data_format)


def _of_axes(padding: Any, data_format: str | None) -> Any:
    """The explicit paddings of height and width, of those of all axes; "SAME" and "VALID" as they are."""
    if isinstance(padding, str):
        return padding
    return padding[2:] if data_format == "NCHW" else padding[1:3]


@operation("depthwise")
def depthwise_conv2d(
    input: Any, filter: Any, strides: Any, padding: Any, rate: Any = None, data_format: str | None = "NHWC",
    dilations: Any = None,
) -> Any:  # fmt: skip
    """A convolution of each channel with filters of its own: filter (height, width, channels, multiplier)."""
    x, w = pair(input, filter, "DepthwiseConv2dNative")
    height, width, channels, multiplier = extents_of(w)
    rate = dilations if rate is None else rate
    steps, spread = _spatial(strides, data_format), _spatial(1 if rate is None else rate, data_format)
    x = _padded(_channels_first(x, data_format), (height, width), steps, spread, _of_axes(padding, data_format))
    kernel = F.reshape(F.permute(w, (2, 3, 0, 1)), (channels * multiplier, 1, height, width))
    return _back(torch_conv2d(x, kernel, stride=steps, dilation=spread, groups=channels), data_format)


@operation("conv2d_transpose")
def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NHWC",
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """The gradient of `conv2d` by its input, as a layer: filter (height, width, outputs, channels)."""
    x, w = pair(input if value is None else value, filter if filters is None else filters, "Conv2DBackpropInput")
    steps, spread = _spatial(strides, data_format), _spatial(1 if dilations is None else dilations, data_format)
    reach = [(k - 1) * d + 1 for k, d in zip(extents_of(w)[:2], spread, strict=True)]
    sizes = [int(n) for n in output_shape]
    wanted = sizes[2:] if data_format == "NCHW" else sizes[1:3]
    x = _channels_first(x, data_format)
    full = conv_transpose2d(x, F.permute(w, (3, 2, 0, 1)), stride=steps, dilation=spread)
    cut: list[slice] = []
    for i in range(2):
        before = _missing(wanted[i], reach[i], steps[i]) // 2 if padding == "SAME" else 0
        missing = before + wanted[i] - extent_of(full, 2 + i)
        if missing > 0:
            full = functional_pad(full, (0, missing) if i else (0, 0, 0, missing))
        cut.append(slice(before, before + wanted[i]))
    return _back(full[(slice(None), slice(None), *cut)], data_format)


@operation("MaxPool")
def max_pool(
    value: Any = None, ksize: Any = None, strides: Any = None, padding: Any = None, data_format: str | None = "NHWC",
    input: Any = None,
) -> Any:  # fmt: skip
    """The largest element of each window."""
    kernel, steps = _spatial(ksize, data_format), _spatial(strides, data_format)
    x = _channels_first(tensor(input if value is None else value), data_format)
    x = _padded(x, kernel, steps, (1, 1), _of_axes(padding, data_format), -math.inf)
    return _back(max_pool2d(x, kernel, stride=steps), data_format)


@operation("AvgPool")
def avg_pool(
    value: Any = None, ksize: Any = None, strides: Any = None, padding: Any = None, data_format: str | None = "NHWC",
    input: Any = None,
) -> Any:  # fmt: skip
    """The mean of each window; padding does not count."""
    kernel, steps = _spatial(ksize, data_format), _spatial(strides, data_format)
    x = _channels_first(tensor(input if value is None else value), data_format)
    padded = _padded(x, kernel, steps, (1, 1), padding)
    out = avg_pool2d(padded, kernel, stride=steps)
    if padded is not x:
        ones = _padded(F.ones_like(x), kernel, steps, (1, 1), padding)
        out = F.div(out, avg_pool2d(ones, kernel, stride=steps))
    return _back(out, data_format)


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
