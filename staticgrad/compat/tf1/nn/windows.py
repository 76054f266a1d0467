"""Convolutions and pooling beside those of images, and rearrangements of images."""

from __future__ import annotations

import math
from typing import Any

from ....functional import pad
from ....operators import F
from ..tensor import Operand, extent_of, extents_of, operation, pair, tensor
from .functions import relu, xw_plus_b
from .spatial import avg_pool, avg_pool_v2, conv2d, convolved, depthwise_conv2d, max_pool, max_pool_v2


def conv1d(
    value: Any = None, filters: Any = None, stride: Any = None, padding: str | None = None, use_cudnn_on_gpu: Any = None,
    data_format: str | None = None, name: str | None = None, input: Any = None, dilations: Any = None,
) -> Any:  # fmt: skip
    """Cross-correlation of sequences (NWC) with a filter (width, channels, outputs)."""
    x = input if value is None else value
    return convolution(x, filters, padding, stride, dilations, data_format, name=name or "conv1d")


def atrous_conv2d(value: Any, filters: Any, rate: int, padding: str, name: str | None = None) -> Any:
    """A convolution whose filter has `rate - 1` holes between its elements."""
    return conv2d(value, filters, [1, 1, 1, 1], padding, dilations=[1, rate, rate, 1], name=name)


def separable_conv2d(
    input: Any, depthwise_filter: Any, pointwise_filter: Any, strides: Any, padding: str, rate: Any = None,
    name: str | None = None, data_format: str | None = None, dilations: Any = None,
) -> Any:  # fmt: skip
    """A convolution of each channel, and one of 1x1 over all of them."""
    form = data_format or "NHWC"
    inner = depthwise_conv2d(input, depthwise_filter, strides, padding, dilations if rate is None else rate, form)
    return conv2d(inner, pointwise_filter, [1, 1, 1, 1], "VALID", data_format=form, name=name)


@operation("convolution")
def convolution(
    input: Any, filter: Any = None, padding: Any = "VALID", strides: Any = None, dilation_rate: Any = None,
    data_format: str | None = None, filters: Any = None, dilations: Any = None,
) -> Any:  # fmt: skip
    """A convolution of sequences, images or volumes, by the rank of the filter."""
    x, w = pair(input, filter if filters is None else filters, "Conv")
    return convolved(x, w, strides, padding, data_format, dilation_rate or dilations)


def _pool1d(call: Any, label: str) -> Any:
    def pool1d(input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NWC", name: str | None = None) -> Any:
        return call(input, ksize, strides, padding, data_format, name=name or label)

    return pool1d


max_pool1d, avg_pool1d = _pool1d(max_pool_v2, "max_pool1d"), _pool1d(avg_pool_v2, "avg_pool1d")
max_pool2d, avg_pool2d = max_pool, avg_pool


@operation("DepthToSpace")
def depth_to_space(input: Operand, block_size: int, data_format: str = "NHWC") -> Any:
    """Channels become blocks of block_size x block_size elements."""
    x, b = input, block_size
    n, h, w, c = extents_of(x)
    x = F.reshape(x, (n, h, w, b, b, c // (b * b)))
    return F.reshape(F.permute(x, (0, 1, 3, 2, 4, 5)), (n, h * b, w * b, c // (b * b)))


@operation("SpaceToDepth")
def space_to_depth(input: Operand, block_size: int, data_format: str = "NHWC") -> Any:
    """Blocks of block_size x block_size elements become channels."""
    x, b = input, block_size
    n, h, w, c = extents_of(x)
    x = F.reshape(x, (n, h // b, b, w // b, b, c))
    return F.reshape(F.permute(x, (0, 1, 3, 2, 4, 5)), (n, h // b, w // b, b * b * c))


@operation("SpaceToBatchND", sizes=frozenset({"block_shape", "paddings"}))
def space_to_batch_nd(input: Operand, block_shape: Any, paddings: Any) -> Any:
    """Blocks of the padded spatial axes become parts of the batch."""
    blocks, edges = [int(b) for b in block_shape], [[int(v) for v in row] for row in paddings]
    m = len(blocks)
    x = input
    rest = x.ndim - 1 - m
    x = pad(x, [0] * (2 * rest) + [v for row in reversed(edges) for v in row])
    n, *shape = extents_of(x)
    split = [part for extent, b in zip(shape[:m], blocks, strict=True) for part in (extent // b, b)]
    x = F.reshape(x, (n, *split, *shape[m:]))
    order = [2 + 2 * i for i in range(m)] + [0] + [1 + 2 * i for i in range(m)] + list(range(2 * m + 1, x.ndim))
    x = F.permute(x, tuple(order))
    return F.reshape(x, (-1, *(e // b for e, b in zip(shape[:m], blocks, strict=True)), *shape[m:]))


@operation("BatchToSpaceND", sizes=frozenset({"block_shape", "crops"}))
def batch_to_space_nd(input: Operand, block_shape: Any, crops: Any) -> Any:
    """The inverse of `space_to_batch_nd`, whose padding `crops` takes off."""
    blocks, edges = [int(b) for b in block_shape], [[int(v) for v in row] for row in crops]
    m = len(blocks)
    x = input
    n, *shape = extents_of(x)
    total = 1
    for b in blocks:
        total *= b
    x = F.reshape(x, (*blocks, n // total, *shape))
    order = [m] + [axis for i in range(m) for axis in (m + 1 + i, i)] + list(range(2 * m + 1, x.ndim))
    x = F.permute(x, tuple(order))
    x = F.reshape(x, (n // total, *(e * b for e, b in zip(shape[:m], blocks, strict=True)), *shape[m:]))
    cuts = [slice(a, e * b - z) for (a, z), e, b in zip(edges, shape[:m], blocks, strict=True)]
    return x[(slice(None), *cuts)]


@operation("LRN")
def local_response_normalization(
    input: Operand, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5
) -> Any:
    """x / (bias + alpha * (sum of squares of the channels near it)) ^ beta."""
    channels = extent_of(input, -1)
    squares = pad(F.square(input), (depth_radius, depth_radius))
    near = squares[..., 0:channels]
    for k in range(1, 2 * depth_radius + 1):
        near = F.add(near, squares[..., k : k + channels])
    return F.div(input, F.pow(F.add(F.mul(near, alpha), bias), beta))


lrn = local_response_normalization


@operation("fused_batch_norm", "FusedBatchNormV3")
def fused_batch_norm(
    x: Operand, scale: Any, offset: Any, mean: Operand = None, variance: Operand = None, epsilon: float = 0.001,
    data_format: str = "NHWC", is_training: bool = True, exponential_avg_factor: float = 1.0,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """(normalized images, mean, variance over n - 1) per channel: of the batch in training, else as given."""
    if data_format not in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
        raise ValueError(f"data_format must be NHWC, NCHW, NDHWC or NCDHW, got {data_format!r}")
    channel = len(data_format) - 1 if data_format.endswith("C") else 1
    axes = tuple(i for i in range(len(data_format)) if i != channel)
    form = (-1, *[1] * (len(data_format) - 1 - channel))
    scale, offset = tensor(scale), tensor(offset)
    if is_training:
        batch_mean, spread = F.mean(x, axis=axes), F.var(x, axis=axes, correction=0)
        count = math.prod(extents_of(x)[i] for i in axes)
        new_mean, new_spread = batch_mean, F.mul(spread, count / max(count - 1, 1))
    else:
        batch_mean, spread = mean, variance
        new_mean, new_spread = batch_mean, spread
    gain = F.mul(F.reshape(scale, form), F.rsqrt(F.add(F.reshape(spread, form), epsilon)))
    return F.add(F.mul(F.sub(x, F.reshape(batch_mean, form)), gain), F.reshape(offset, form)), new_mean, new_spread


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """relu(x @ weights + biases)."""
    return relu(xw_plus_b(x, weights, biases), name=name or "relu_layer")


@operation("log_poisson_loss")
def log_poisson_loss(targets: Operand, log_input: Operand, compute_full_loss: bool = False) -> Any:
    """exp(log_input) - targets * log_input, with Stirling's term for targets of 1 and more if `compute_full_loss`."""
    loss = F.sub(F.exp(log_input), F.mul(targets, log_input))
    if not compute_full_loss:
        return loss
    safe = F.where(F.gt(targets, 0), targets, F.ones_like(targets))
    stirling = F.add(F.sub(F.mul(safe, F.log(safe)), safe), F.mul(F.log(F.mul(safe, 2 * math.pi)), 0.5))
    inside = F.logical_and(F.ge(targets, 0), F.le(targets, 1))
    return F.add(loss, F.where(inside, F.zeros_like(targets), stirling))
