"""`tf.layers`: layers as functions, whose variables `get_variable` makes in a scope named after the layer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from . import arrays, nn
from .control import cond
from .dtypes import as_dtype
from .graph import GraphKeys, get_default_graph
from .initializers import ones_initializer, zeros_initializer
from .math import matmul, tensordot
from .random import dropout as random_dropout
from .tensor import Handle, operation, tensor
from .variable_scopes import get_variable, variable_scope
from .variables import assign


def _finished(out: Any, activation: Callable[[Any], Any] | None, regularizer: Any) -> Any:
    out = out if activation is None else activation(out)
    if regularizer is not None:
        get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, regularizer(out))
    return out


def dense(
    inputs: Any,
    units: int,
    activation: Callable[[Any], Any] | None = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = zeros_initializer,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Any:
    """activation(inputs @ kernel + bias) along the last axis, whose extent has to be known."""
    with variable_scope(name, "dense", reuse=reuse):
        size, dtype = inputs.shape[-1].value, inputs.dtype
        if size is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        kernel = get_variable(
            "kernel", [size, units], dtype, kernel_initializer, kernel_regularizer, trainable, constraint=kernel_constraint
        )
        flat = inputs.shape.ndims == 2
        out = matmul(inputs, kernel) if flat else tensordot(inputs, kernel, [[inputs.shape.ndims - 1], [0]])
        if use_bias:
            bias = get_variable(
                "bias", [units], dtype, bias_initializer, bias_regularizer, trainable, constraint=bias_constraint
            )
            out = nn.bias_add(out, bias)
        return _finished(out, activation, activity_regularizer)


def conv2d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1),
    activation: Callable[[Any], Any] | None = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = zeros_initializer,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Any:
    """A convolution of images with a kernel (height, width, channels, filters), and a bias."""
    layout = _layout(data_format)
    with variable_scope(name, "conv2d", reuse=reuse):
        channels = inputs.shape[1 if layout == "NCHW" else 3].value
        height, width = _two(kernel_size)
        kernel = get_variable(
            "kernel", [height, width, channels, filters], inputs.dtype, kernel_initializer, kernel_regularizer, trainable,
            constraint=kernel_constraint,
        )  # fmt: skip
        out = nn.conv2d(
            inputs, kernel, list(_two(strides)), padding.upper(), data_format=layout, dilations=list(_two(dilation_rate))
        )
        if use_bias:
            bias = get_variable(
                "bias", [filters], inputs.dtype, bias_initializer, bias_regularizer, trainable, constraint=bias_constraint
            )
            out = nn.bias_add(out, bias, layout)
        return _finished(out, activation, activity_regularizer)


def _layout(data_format: str) -> str:
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f'data_format must be "channels_first" or "channels_last", got {data_format!r}')
    return "NCHW" if data_format == "channels_first" else "NHWC"


def _two(value: Any) -> tuple[int, int]:
    return (int(value), int(value)) if isinstance(value, int) else (int(value[0]), int(value[1]))


def max_pooling2d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Any:  # fmt: skip
    """The largest element of each window."""
    return nn.max_pool(
        inputs, list(_two(pool_size)), list(_two(strides)), padding.upper(), _layout(data_format), name=name or "max_pooling2d"
    )


def average_pooling2d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Any:  # fmt: skip
    """The mean of each window."""
    return nn.avg_pool(
        inputs, list(_two(pool_size)), list(_two(strides)), padding.upper(), _layout(data_format),
        name=name or "average_pooling2d",
    )  # fmt: skip


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """All axes but the first joined; their extents have to be known."""
    size = 1
    for extent in inputs.shape.as_list()[1:]:
        if extent is None:
            raise ValueError(f"flatten: the shape {inputs.shape} has unknown extents beside the batch")
        size *= extent
    return arrays.reshape(inputs, [-1, size], name=name or "flatten/Reshape")


def _by_training(training: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    if isinstance(training, Handle):
        return cond(training, true_fn, false_fn)
    return true_fn() if training else false_fn()


def dropout(
    inputs: Any, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, training: Any = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Dropout while `training`, which may be a tensor of one boolean."""
    return _by_training(
        training,
        lambda: random_dropout(inputs, rate=rate, noise_shape=noise_shape, name=name or "dropout"),
        lambda: arrays.identity(inputs, name=name or "dropout"),
    )


@operation("AssignMovingAvg")
def _moved(average: Any, value: Any, momentum: float) -> Any:
    average, value = tensor(average), tensor(value)
    return average * momentum + value * (1 - momentum)


def batch_normalization(
    inputs: Any,
    axis: int = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = zeros_initializer,
    gamma_initializer: Any = ones_initializer,
    moving_mean_initializer: Any = zeros_initializer,
    moving_variance_initializer: Any = ones_initializer,
    training: Any = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Any:
    """Normalization over all axes but `axis`; the moving averages are updated by operations of the collection "update_ops".

    training: True, False, or a tensor of one boolean; the moving averages stay as they are where it is False.
    """
    with variable_scope(name, "batch_normalization", reuse=reuse):
        rank, dtype = inputs.shape.ndims, as_dtype(inputs.dtype)
        axis %= rank
        size = inputs.shape[axis].value
        axes = [a for a in range(rank) if a != axis]
        gamma = get_variable("gamma", [size], dtype, gamma_initializer, trainable=trainable) if scale else None
        beta = get_variable("beta", [size], dtype, beta_initializer, trainable=trainable) if center else None
        mean = get_variable("moving_mean", [size], dtype, moving_mean_initializer, trainable=False)
        variance = get_variable("moving_variance", [size], dtype, moving_variance_initializer, trainable=False)

        def shaped(x: Any) -> Any:
            return x if x is None or axis == rank - 1 else arrays.reshape(x, [size if a == axis else 1 for a in range(rank)])

        if training is False or training == 0:
            batch_mean, batch_variance = mean, variance
        else:
            found_mean, found_variance = nn.moments(inputs, axes)
            batch_mean = _by_training(training, partial(arrays.identity, found_mean), partial(arrays.identity, mean))
            batch_variance = _by_training(
                training, partial(arrays.identity, found_variance), partial(arrays.identity, variance)
            )
            for moving, found in ((mean, found_mean), (variance, found_variance)):
                new = _by_training(training, partial(_moved, moving, found, momentum), partial(arrays.identity, moving))
                get_default_graph().add_to_collection(GraphKeys.UPDATE_OPS, assign(moving, new))
        return nn.batch_normalization(inputs, shaped(batch_mean), shaped(batch_variance), shaped(beta), shaped(gamma), epsilon)


__all__ = [
    "average_pooling2d", "batch_normalization", "conv2d", "dense", "dropout", "flatten", "max_pooling2d",
]  # fmt: skip
