"""Normalization over axes, channels of each sample, and neighbouring channels; `normalization.py` has that over batches."""

from __future__ import annotations

import functools
import operator
from typing import Any

from ..base.types import ShapeLike, as_shape, shape_text, to_float
from ..eager.calls.composites import composite
from ..errors import ArgumentError, ShapeError
from ..operators import Array, F, Tensor, TensorLike, spelled
from ..ops.padding import pad
from ..ops.settings import operand, size_text
from .checks import check_floating, fitting
from .normalization import batch_norm, check_eps, kept, renew


@spelled
@composite
def layer_norm(
    input: TensorLike, normalized_shape: ShapeLike, weight: TensorLike | None = None, bias: TensorLike | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axes, whose extents are `normalized_shape`.

    weight, bias: of that shape, or None. The variance is the biased one. Raises ShapeError when the axes don't fit.
    Source: Ba, Kiros, Hinton, "Layer normalization", 2016; eps as in PyTorch.

    Examples:
        >>> F.layer_norm(sg.tensor([[1.0, 3.0]]), (2,))
        tensor([[-1.0000,  1.0000]])
    """
    x, extents = operand(input), as_shape(normalized_shape)
    weight = None if weight is None else operand(weight)
    bias = None if bias is None else operand(bias)
    n = len(extents)
    if not n or n > len(x.shape) or not fitting(x.shape[len(x.shape) - n :], extents):
        raise ShapeError(
            f"layer_norm: normalized_shape {shape_text(extents)} is not the end of the input's shape {shape_text(x.shape)}"
        )
    for role, given in (("weight", weight), ("bias", bias)):
        if given is not None and not fitting(given.shape, extents):
            raise ShapeError(f"layer_norm: the {role} has shape {shape_text(given.shape)}, not {shape_text(extents)}")
    check_floating("layer_norm", "input", x)
    check_eps("layer_norm", eps)
    axes = tuple(range(-n, 0))
    centered = x - F.mean(x, axes, keepdims=True)
    out = centered * F.rsqrt(F.mean(F.square(centered), axes, keepdims=True) + eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


@spelled
def instance_norm(
    input: TensorLike, running_mean: Array | None = None, running_var: Array | None = None,
    weight: TensorLike | None = None, bias: TensorLike | None = None, use_input_stats: bool = True, momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of each sample, over the further axes.

    x: (n, c, ...), floating; all others (c,). With use_input_stats the running statistics, where given, move towards the
    mean over samples of the mean and of the unbiased variance; without it they are used. Raises ShapeError, ArgumentError.
    Source: Ulyanov, Vedaldi, Lempitsky, "Instance normalization", 2016.
    """
    x: Any = operand(input)
    check_floating("instance_norm", "input", x)
    check_eps("instance_norm", eps)
    if len(x.shape) < 3:
        raise ShapeError("instance_norm: expected (n, c, ...) with at least one further axis", f"got {size_text(x.shape)}")
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ArgumentError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    if all(d == 1 for d in x.shape[2:]):
        raise ArgumentError(f"Expected more than 1 spatial element when training, got input size {size_text(x.shape)}")
    weight, bias = (None if v is None else operand(v) for v in (weight, bias))
    result, mean, variance = _by_sample(x, weight, bias, eps)
    if running_mean is not None or running_var is not None:
        count = _count(x, tuple(range(2, len(x.shape))))
        for running, now in ((running_mean, mean), (running_var, variance * (count / (count - 1)))):
            if running is not None:
                old = kept(running, x)
                renew(running, old + (F.reshape(F.mean(now, 0), (-1,)) - old) * momentum, x)
    return result


@composite
def _by_sample(x: Any, weight: Any, bias: Any, eps: Any) -> tuple[Tensor, Tensor, Tensor]:
    """x normalized by mean and variance of each channel of each sample, and these, shaped to broadcast."""
    axes = tuple(range(2, len(x.shape)))
    mean = F.mean(x, axes, keepdims=True)
    centered = x - mean
    variance = F.mean(F.square(centered), axes, keepdims=True)
    out = centered * F.rsqrt(variance + eps)
    shape = (-1, *[1] * (len(x.shape) - 2))
    out = out if weight is None else out * F.reshape(weight, shape)
    return (out if bias is None else out + F.reshape(bias, shape)), mean, variance


def _count(x: Any, axes: tuple[int, ...]) -> Any:
    """The number of elements of a channel; a tensor where an extent is unknown."""
    total = 1
    for a in axes:
        if x.shape[a] is None:
            raise ShapeError("instance_norm: running statistics need known extents", "give the placeholder known extents")
        total *= x.shape[a]
    return total


@spelled
@composite
def local_response_norm(input: TensorLike, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha mean(x**2))**beta with the mean over `size` neighbouring channels (zeros beyond the ends).

    x: (n, c, ...) with at least one further axis. Raises ShapeError.
    Source: Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural networks", 2012.
    """
    x = operand(input)
    if len(x.shape) < 3:
        raise ShapeError(f"Expected 3D or higher dimensionality input (got {len(x.shape)} dimensions)")
    if 0 in x.shape:
        return x
    x = F.astype(x, to_float(x.dtype))
    check_floating("local_response_norm", "input", x)
    sides = (size // 2, (size - 1) // 2)
    window = pad(F.square(x), (*[0] * (2 * (len(x.shape) - 2)), *sides))
    channels = x.shape[1]
    parts = [F.getitem(window, (slice(None), slice(i, _end(channels, i, size)))) for i in range(size)]
    mean = functools.reduce(operator.add, parts) / size
    return x / F.pow(mean * alpha + k, beta)


def _end(channels: int | None, first: int, size: int) -> int | None:
    """Where a slice of as many elements as there are channels ends, in a window with size - 1 more."""
    if channels is not None:
        return first + channels
    return None if first == size - 1 else first - size + 1
