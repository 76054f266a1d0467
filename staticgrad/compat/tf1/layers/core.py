"""Layers that multiply, drop and flatten."""

from __future__ import annotations

from typing import Any

from .. import arrays, nn
from ..initializers import zeros_initializer
from ..layer import Layer, as_function, by_training, known
from ..math import matmul, tensordot
from ..random import dropout as random_dropout


class Dense(Layer):
    """activation(inputs @ kernel + bias) along the last axis, whose extent has to be known."""

    def __init__(
        self, units: int, activation: Any = None, use_bias: bool = True, kernel_initializer: Any = None,
        bias_initializer: Any = zeros_initializer, kernel_regularizer: Any = None, bias_regularizer: Any = None,
        activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None,
        trainable: bool = True, name: str | None = None, **options: Any,
    ):  # fmt: skip
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **options)
        self.units, self.activation, self.use_bias = int(units), activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint

    def build(self, input_shape: Any) -> None:
        size = known(input_shape, -1, "Dense")
        self.kernel = self.add_weight(
            "kernel", [size, self.units], initializer=self.kernel_initializer, regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )  # fmt: skip
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [self.units], initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )  # fmt: skip
        self.built = True

    def call(self, inputs: Any) -> Any:
        axes = inputs.shape.ndims
        out = matmul(inputs, self.kernel) if axes == 2 else tensordot(inputs, self.kernel, [[axes - 1], [0]])
        out = out if self.bias is None else nn.bias_add(out, self.bias)
        return out if self.activation is None else self.activation(out)

    def compute_output_shape(self, input_shape: Any) -> Any:
        from ..shapes import TensorShape

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
