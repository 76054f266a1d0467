"""ONNX's normalizations."""

from __future__ import annotations

import numpy as np

from ...functional import local_response_norm
from ...operators import F
from .elementwise import like
from .records import Call, T, reader


def _channels(x: T, vector: T) -> T:
    return F.reshape(vector, (1, -1) + (1,) * (x.ndim - 2))


@reader("BatchNormalization", state=(3, 4))
def _batch_normalization(
    x: T, scale: T, bias: T, mean: T, var: T, *, epsilon: float = 1e-5, momentum: float = 0.9, training_mode: int = 0,
    spatial: int = 1, is_test: int = 0, call: Call,
) -> T:  # fmt: skip
    if not training_mode:
        factor = scale / F.sqrt(var + like(epsilon, var))
        return F.astype(x * _channels(x, factor) + _channels(x, bias - mean * factor), x.dtype)
    axes = (0, *range(2, x.ndim))
    now, spread = F.mean(x, axes), F.var(x, axes, correction=0)
    result = (x - _channels(x, now)) / F.sqrt(_channels(x, spread) + like(epsilon, x)) * _channels(x, scale) + _channels(
        x, bias
    )
    kept = like(momentum, mean)
    return (result, mean * kept + now * (1 - kept), var * kept + spread * (1 - kept))[: call.outputs]


@reader("InstanceNormalization")
def _instance_normalization(x: T, scale: T, bias: T, *, epsilon: float = 1e-5) -> T:
    axes = tuple(range(2, x.ndim))
    centered = x - F.mean(x, axes, True)
    spread = F.mean(centered * centered, axes, True)
    return centered / F.sqrt(spread + like(epsilon, x)) * _channels(x, scale) + _channels(x, bias)


@reader("LayerNormalization")
def _layer_normalization(
    x: T, scale: T, bias: T = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1, call: Call
) -> T:
    axes = tuple(range(axis % x.ndim, x.ndim))
    mean = F.mean(x, axes, True)
    centered = x - mean
    inverse = F.rsqrt(F.mean(centered * centered, axes, True) + like(epsilon, x))
    result = centered * inverse * scale
    return (result if bias is None else result + bias, mean, inverse)[: call.outputs]


@reader("RMSNormalization")
def _rms_normalization(x: T, scale: T, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> T:
    axes = tuple(range(axis % x.ndim, x.ndim))
    return x * F.rsqrt(F.mean(x * x, axes, True) + like(epsilon, x)) * scale


@reader("GroupNormalization")
def _group_normalization(
    x: T, scale: T, bias: T, *, epsilon: float = 1e-5, num_groups: int, stash_type: int = 1, call: Call
) -> T:
    groups = F.reshape(x, (x.shape[0], num_groups, -1))
    centered = groups - F.mean(groups, -1, True)
    normal = centered * F.rsqrt(F.mean(centered * centered, -1, True) + like(epsilon, x))
    if call.opset < 21:  # scale and bias of a group
        normal = normal * F.reshape(scale, (1, -1, 1)) + F.reshape(bias, (1, -1, 1))
        return F.reshape(normal, x.shape)
    return F.reshape(normal, x.shape) * _channels(x, scale) + _channels(x, bias)


@reader("LRN")
def _lrn(x: T, *, size: int, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0) -> T:
    if size % 2:
        return local_response_norm(x, size, alpha, beta, bias)
    squares = x * x
    channels = x.shape[1]
    total = np.zeros((channels, channels), x.dtype)
    for c in range(channels):
        total[c, max(0, c - (size - 1) // 2) : min(channels, c + -(-(size - 1) // 2) + 1)] = 1
    summed = F.reshape(F.matmul(total, F.reshape(squares, (x.shape[0], channels, -1))), x.shape)
    return x / F.pow(summed * like(alpha / size, x) + like(bias, x), beta)
