"""Layers that multiply, drop and flatten."""

from __future__ import annotations

from functools import partial
from typing import Any

from .. import arrays
from ..draws import dropout as random_dropout
from ..initializers import ones_initializer, zeros_initializer
from ..layer import Kernelled, Layer, as_function, by_training, known
from ..math import matmul, tensordot
from ..nn import functions as nn
from ..shapes import TensorShape
from ..tensor import Operand, operation
from ..variables import assign


class Dense(Kernelled):
    """activation(inputs @ kernel + bias) along the last axis, whose extent has to be known."""

    def __init__(
        self, units: int, activation: Any = None, use_bias: bool = True, kernel_initializer: Any = None,
        bias_initializer: Any = zeros_initializer, kernel_regularizer: Any = None, bias_regularizer: Any = None,
        activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None,
        trainable: bool = True, name: str | None = None, **options: Any,
    ):  # fmt: skip
        super().__init__(
            activation, use_bias, (kernel_initializer, bias_initializer), (kernel_regularizer, bias_regularizer),
            (kernel_constraint, bias_constraint), trainable, name, activity_regularizer=activity_regularizer, **options,
        )  # fmt: skip
        self.units = int(units)

    def build(self, input_shape: Any) -> None:
        self.build_kernel([known(input_shape, -1, "Dense"), self.units])
        self.build_bias(self.units)

    def call(self, inputs: Any) -> Any:
        axes = inputs.shape.ndims
        out = matmul(inputs, self.kernel) if axes == 2 else tensordot(inputs, self.kernel, [[axes - 1], [0]])
        return self.finished(out)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return TensorShape([*TensorShape(input_shape).as_list()[:-1], self.units])


class Dropout(Layer):
    """Dropout while `training`, which may be a tensor of one boolean."""

    def __init__(
        self, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, name: str | None = None, **options: Any
    ):
        super().__init__(name=name, **options)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Any, training: Any = False) -> Any:
        return by_training(
            training,
            lambda: random_dropout(inputs, rate=self.rate, noise_shape=self.noise_shape, seed=self.seed),
            lambda: arrays.identity(inputs),
        )


class Flatten(Layer):
    """All axes but the first joined; their extents have to be known."""

    def __init__(self, data_format: str = "channels_last", name: str | None = None, **options: Any):
        super().__init__(name=name, **options)
        self.data_format = data_format

    def call(self, inputs: Any) -> Any:
        if self.data_format == "channels_first" and inputs.shape.ndims > 2:
            inputs = arrays.transpose(inputs, [0, *range(2, inputs.shape.ndims), 1])
        size = 1
        for extent in inputs.shape.as_list()[1:]:
            if extent is None:
                raise ValueError(f"flatten: the shape {inputs.shape} has unknown extents beside the batch")
            size *= extent
        return arrays.reshape(inputs, [-1, size])


dense = as_function(Dense, "dense", "activation(inputs @ kernel + bias) along the last axis.")
dropout = as_function(Dropout, "dropout", "Dropout while `training`, which may be a tensor of one boolean.", ["training"])


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """All axes but the first joined; their extents have to be known."""
    return Flatten(data_format, name)(inputs)


# batch normalization, whose moving averages are updated while it trains -----------------------------------------------


@operation("AssignMovingAvg")
def _moved(average: Operand, value: Operand, momentum: float) -> Any:
    return average * momentum + value * (1 - momentum)


class BatchNormalization(Layer):
    """Normalization over all axes but `axis`; the moving averages are updated by operations of the collection "update_ops".

    training: True, False, or a tensor of one boolean; the moving averages stay as they are where it is False. fused is
    accepted; renorm, virtual_batch_size and adjustment are refused.
    """

    def __init__(
        self, axis: int = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
        beta_initializer: Any = zeros_initializer, gamma_initializer: Any = ones_initializer,
        moving_mean_initializer: Any = zeros_initializer, moving_variance_initializer: Any = ones_initializer,
        beta_regularizer: Any = None, gamma_regularizer: Any = None, beta_constraint: Any = None,
        gamma_constraint: Any = None, renorm: bool = False, renorm_clipping: Any = None, renorm_momentum: float = 0.99,
        fused: bool | None = None, trainable: bool = True, virtual_batch_size: Any = None, adjustment: Any = None,
        name: str | None = None, **options: Any,
    ):  # fmt: skip
        if renorm or virtual_batch_size is not None or adjustment is not None:
            raise ValueError("BatchNormalization: renorm, virtual_batch_size and adjustment are not supported")
        super().__init__(trainable, name, **options)
        self.axis = axis[0] if isinstance(axis, (list, tuple)) else axis
        self.momentum, self.epsilon, self.center, self.scale = momentum, epsilon, center, scale
        self.beta_settings = beta_initializer, beta_regularizer, beta_constraint
        self.gamma_settings = gamma_initializer, gamma_regularizer, gamma_constraint
        self.moving_initializers = moving_mean_initializer, moving_variance_initializer

    def build(self, input_shape: Any) -> None:
        size = [known(input_shape, self.axis, "BatchNormalization")]

        def weight(name: str, wanted: bool, settings: Any) -> Any:
            initializer, regularizer, constraint = settings
            if not wanted:
                return None
            return self.add_weight(name, size, initializer=initializer, regularizer=regularizer, constraint=constraint)

        self.gamma = weight("gamma", self.scale, self.gamma_settings)
        self.beta = weight("beta", self.center, self.beta_settings)
        mean, variance = self.moving_initializers
        self.moving_mean = self.add_weight("moving_mean", size, initializer=mean, trainable=False)
        self.moving_variance = self.add_weight("moving_variance", size, initializer=variance, trainable=False)
        self.built = True

    def call(self, inputs: Any, training: Any = False) -> Any:
        rank = inputs.shape.ndims
        axis = self.axis % rank
        size = inputs.shape[axis].value
        axes = [a for a in range(rank) if a != axis]
        mean, variance = self.moving_mean, self.moving_variance

        def shaped(x: Any) -> Any:
            return x if x is None or axis == rank - 1 else arrays.reshape(x, [size if a == axis else 1 for a in range(rank)])

        if training is False or training == 0:
            batch_mean, batch_variance = mean, variance
        else:
            found_mean, found_variance = nn.moments(inputs, axes)
            batch_mean = by_training(training, partial(arrays.identity, found_mean), partial(arrays.identity, mean))
            batch_variance = by_training(training, partial(arrays.identity, found_variance), partial(arrays.identity, variance))
            for moving, found in ((mean, found_mean), (variance, found_variance)):
                new = by_training(training, partial(_moved, moving, found, self.momentum), partial(arrays.identity, moving))
                self.add_update(assign(moving, new))
        return nn.batch_normalization(
            inputs, shaped(batch_mean), shaped(batch_variance), shaped(self.beta), shaped(self.gamma), self.epsilon
        )


batch_normalization = as_function(BatchNormalization, "batch_normalization", str(BatchNormalization.__doc__), ["training"])
