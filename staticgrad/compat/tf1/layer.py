"""`tf.layers`: layers as objects, and as functions that make and call one.

They have in common a scope that holds their variables, which are made at the first call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from . import arrays
from .control import cond
from .draws import dropout as random_dropout
from .dtypes import TensorShape, as_dtype, float32
from .graph import GraphKeys, get_default_graph
from .handles import Handle
from .initializers import ones_initializer, zeros_initializer
from .math import matmul, tensordot
from .nn import functions as nn
from .nn import spatial
from .tensor import Operand, operation
from .variable_scopes import get_variable, tables_of, variable_scope
from .variables import assign


def snake_case(name: str) -> str:
    """The name of a class as that of a scope: BasicLSTMCell is basic_lstm_cell."""
    split = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", split).lower().lstrip("_")


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


class Layer:
    """A function with variables. A subclass defines `call(inputs)`, and `build(input_shape)` where it has variables.

    The variables are made in a variable scope that begins at the first call: `name`, or the class's name made unique.
    """

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, activity_regularizer: Any = None,
        _scope: Any = None, _reuse: Any = None, **options: Any,
    ):  # fmt: skip
        if options:
            raise TypeError(f"Keyword argument not understood: {next(iter(options))}")
        self.trainable, self.built = trainable, False
        self.activity_regularizer = activity_regularizer
        self._dtype, self._reuse = dtype, _reuse
        self._base_name = snake_case(type(self).__name__) if name is None else name
        self._given_scope = name if _scope is None else _scope
        self._scope: Any = None
        self._weights: list[tuple[Any, bool]] = []
        self._losses: list[Any] = []
        self._updates: list[Any] = []

    # variables --------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its scope's own name once it was called."""
        return self._base_name if self._scope is None else self._scope.name.rsplit("/", 1)[-1]

    @property
    def scope_name(self) -> str:
        """Raises ValueError before the first call."""
        if self._scope is None:
            raise ValueError(f'No name available for layer scope because the layer "{self._base_name}" has not been used yet.')
        return str(self._scope.name)

    dtype = property(lambda self: self._dtype)

    def add_weight(
        self, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
        trainable: bool | None = None, constraint: Any = None, **accepted: Any,
    ) -> Any:  # fmt: skip
        """A variable of the layer. regularizer: its loss enters the collection of regularization losses."""
        learns = self.trainable and trainable is not False
        made = get_variable(
            name, None if shape is None else list(TensorShape(shape).as_list()), dtype or self._dtype or float32, initializer,
            regularizer, learns, constraint=constraint,
        )  # fmt: skip
        for part in tables_of(made):
            if all(part is not w for w, _ in self._weights):
                self._weights.append((part, learns))
        return made

    add_variable = add_weight

    @property
    def trainable_weights(self) -> list[Any]:
        return [w for w, learns in self._weights if learns and self.trainable]

    @property
    def non_trainable_weights(self) -> list[Any]:
        return [w for w, learns in self._weights if not (learns and self.trainable)]

    @property
    def weights(self) -> list[Any]:
        return self.trainable_weights + self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        return self.non_trainable_weights

    def count_params(self) -> int:
        """The number of elements of all variables."""
        return sum(int(w.shape.num_elements()) for w in self.weights)

    # losses and updates -----------------------------------------------------------------------------------------------

    @property
    def losses(self) -> list[Any]:
        return list(self._losses)

    @property
    def updates(self) -> list[Any]:
        return list(self._updates)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Losses that enter the collection of regularization losses."""
        for loss in leaves(losses):
            self._losses.append(loss)
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Operations that enter the collection "update_ops"."""
        for update in leaves(updates):
            self._updates.append(update)
            get_default_graph().add_to_collection(GraphKeys.UPDATE_OPS, update)

    # calls ------------------------------------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Make the variables for inputs of a shape."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        raise NotImplementedError

    def __call__(self, inputs: Any, *args: Any, scope: Any = None, **kwargs: Any) -> Any:
        graph = get_default_graph()
        if self._scope is None:
            given = self._given_scope if scope is None else scope
            with variable_scope(given, self._base_name, reuse=self._reuse) as entered:
                self._scope = entered
                return self._called(inputs, *args, **kwargs)
        reuse = True if self.built else self._reuse
        place = graph.name_scope(self._scope.original_name_scope or None)
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False), place:
            return self._called(inputs, *args, **kwargs)

    apply = __call__

    def _called(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.built:
            tensors = [x for x in leaves(inputs) if isinstance(x, Handle)]
            if self._dtype is None and tensors:
                self._dtype = as_dtype(tensors[0].dtype)
            shapes = [x.shape for x in tensors]
            self.build(shapes[0] if len(shapes) == 1 else shapes)
            self.built = True
        out = self.call(inputs, *args, **kwargs)
        if self.activity_regularizer is not None:
            for part in leaves(out):
                self.add_loss(self.activity_regularizer(part))
        return out


class Kernelled(Layer):
    """A layer with a kernel and a bias, and an activation."""

    def __init__(
        self, activation: Any, use_bias: bool, initializers: tuple[Any, Any], regularizers: tuple[Any, Any],
        constraints: tuple[Any, Any], trainable: bool, name: str | None, **options: Any,
    ):  # fmt: skip
        super().__init__(trainable, name, **options)
        self.activation, self.use_bias = activation, use_bias
        self.kernel_initializer, self.bias_initializer = initializers
        self.kernel_regularizer, self.bias_regularizer = regularizers
        self.kernel_constraint, self.bias_constraint = constraints

    def build_kernel(self, shape: list[int]) -> None:
        self.kernel = self.add_weight(
            "kernel", shape, initializer=self.kernel_initializer, regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )  # fmt: skip

    def build_bias(self, units: int) -> None:
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [units], initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )  # fmt: skip
        self.built = True

    def finished(self, out: Any, layout: str | None = None) -> Any:
        from .nn.functions import bias_add

        out = out if self.bias is None else bias_add(out, self.bias, layout)
        return out if self.activation is None else self.activation(out)


def as_function(layer: type, label: str, doc: str, call: Sequence[str] = ()) -> Callable[..., Any]:
    """The function of a class of layers: `label(inputs, <settings>, name, reuse)`. call: settings that the call takes."""
    import inspect

    settings = [p for p in inspect.signature(layer).parameters.values() if p.kind is not p.VAR_KEYWORD]
    names = ["inputs", *(p.name for p in settings)]

    def function(inputs: Any, *args: Any, reuse: Any = None, **kwargs: Any) -> Any:
        given = dict(zip(names[1:], args, strict=False)) | kwargs
        rest = {key: given.pop(key) for key in call if key in given}
        return layer(**given, _scope=given.get("name"), _reuse=reuse)(inputs, **rest)

    function.__name__ = function.__qualname__ = label
    function.__doc__ = doc
    free = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=False) for n in call]
    own = [inspect.Parameter("inputs", inspect.Parameter.POSITIONAL_OR_KEYWORD), *settings, *free]
    own.append(inspect.Parameter("reuse", inspect.Parameter.KEYWORD_ONLY, default=None))
    function.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return function


def by_training(training: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """One of two results by a boolean, which may be a tensor."""
    if isinstance(training, Handle):
        return cond(training, true_fn, false_fn)
    return true_fn() if training else false_fn()


def known(shape: Any, axis: int, layer: str) -> int:
    """An extent of a shape. Raises ValueError for an unknown one."""
    extent = TensorShape(shape).as_list()[axis]
    if extent is None:
        where = "last dimension" if axis == -1 else "channel dimension"
        raise ValueError(f"The {where} of the inputs to `{layer}` should be defined. Found `None`.")
    return int(extent)


# layers ---------------------------------------------------------------------------------------------------------------


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


# convolutions ---------------------------------------------------------------------------------------------------------

# Convolutions, their transposes and pools as layers, over one to three spatial axes.


CONVOLUTIONS = {1: spatial.conv1d, 2: spatial.conv2d, 3: spatial.conv3d}
LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def numbers(value: Any, axes: int) -> list[int]:
    return [int(value)] * axes if isinstance(value, int) else [int(v) for v in value]


def layout(data_format: str, axes: int) -> str:
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f'data_format must be "channels_first" or "channels_last", got {data_format!r}')
    return LAYOUTS[axes][data_format == "channels_first"]


class Convolution(Kernelled):
    """A cross-correlation with a kernel (*kernel_size, channels, filters), and a bias."""

    axes = 2

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid", data_format: str = "channels_last",
        dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True, kernel_initializer: Any = None,
        bias_initializer: Any = zeros_initializer, kernel_regularizer: Any = None, bias_regularizer: Any = None,
        activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None,
        trainable: bool = True, name: str | None = None, **options: Any,
    ):  # fmt: skip
        super().__init__(
            activation, use_bias, (kernel_initializer, bias_initializer), (kernel_regularizer, bias_regularizer),
            (kernel_constraint, bias_constraint), trainable, name, activity_regularizer=activity_regularizer, **options,
        )  # fmt: skip
        self.filters, self.kernel_size = filters, numbers(kernel_size, self.axes)
        self.strides, self.dilation_rate = numbers(strides, self.axes), numbers(dilation_rate, self.axes)
        self.padding, self.layout = padding.upper(), layout(data_format, self.axes)

    @property
    def channel_axis(self) -> int:
        return 1 if self.layout.startswith("NC") else -1

    def kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, channels, self.filters]

    def build(self, input_shape: Any) -> None:
        channels = known(input_shape, self.channel_axis, type(self).__name__)
        self.build_kernel(self.kernel_shape(channels))
        self.build_bias(self.filters)

    def call(self, inputs: Any) -> Any:
        out = CONVOLUTIONS[self.axes](
            inputs, self.kernel, self._steps(self.strides), self.padding, data_format=self.layout,
            dilations=self._steps(self.dilation_rate),
        )  # fmt: skip
        return self.finished(out, self.layout)

    def _steps(self, steps: list[int]) -> Any:
        if self.axes == 1:
            return steps[0]
        return [1, 1, *steps] if self.layout.startswith("NC") else [1, *steps, 1]


class Conv1D(Convolution):
    """A convolution of sequences."""

    axes = 1


class Conv2D(Convolution):
    """A convolution of images."""


class Conv3D(Convolution):
    """A convolution of volumes."""

    axes = 3


class _Separable(Convolution):
    """A convolution of each channel (depthwise_kernel), and one of size 1 over all of them (pointwise_kernel)."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid", data_format: str = "channels_last",
        dilation_rate: Any = 1, depth_multiplier: int = 1, activation: Any = None, use_bias: bool = True,
        depthwise_initializer: Any = None, pointwise_initializer: Any = None, bias_initializer: Any = zeros_initializer,
        depthwise_regularizer: Any = None, pointwise_regularizer: Any = None, bias_regularizer: Any = None,
        activity_regularizer: Any = None, depthwise_constraint: Any = None, pointwise_constraint: Any = None,
        bias_constraint: Any = None, trainable: bool = True, name: str | None = None, **options: Any,
    ):  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, None, bias_initializer,
            None, bias_regularizer, activity_regularizer, None, bias_constraint, trainable, name, **options,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise = depthwise_initializer, depthwise_regularizer, depthwise_constraint
        self.pointwise = pointwise_initializer, pointwise_regularizer, pointwise_constraint

    def build(self, input_shape: Any) -> None:
        channels = known(input_shape, self.channel_axis, type(self).__name__)
        for name, shape, (initializer, regularizer, constraint) in (
            ("depthwise_kernel", [*self.kernel_size, channels, self.depth_multiplier], self.depthwise),
            ("pointwise_kernel", [*[1] * self.axes, channels * self.depth_multiplier, self.filters], self.pointwise),
        ):
            made = self.add_weight(name, shape, initializer=initializer, regularizer=regularizer, constraint=constraint)
            setattr(self, name, made)
        self.build_bias(self.filters)

    def call(self, inputs: Any) -> Any:
        depthwise, pointwise = self.depthwise_kernel, self.pointwise_kernel  # type: ignore[attr-defined]
        steps, spread, form = self.strides, self.dilation_rate, self.layout
        if self.axes == 1:  # an axis of extent 1 before the one of the sequence
            along = 2 if form == "NCW" else 1
            inputs = arrays.expand_dims(inputs, along)
            depthwise, pointwise = arrays.expand_dims(depthwise, 0), arrays.expand_dims(pointwise, 0)
            steps, spread, form = steps * 2, [1, *spread], "NCHW" if form == "NCW" else "NHWC"
        full = [1, 1, *steps] if form == "NCHW" else [1, *steps, 1]
        out = spatial.separable_conv2d(inputs, depthwise, pointwise, full, self.padding, spread, data_format=form)
        if self.axes == 1:
            out = arrays.squeeze(out, [along])
        return self.finished(out, self.layout)


class SeparableConv1D(_Separable):
    """A separable convolution of sequences."""

    axes = 1


class SeparableConv2D(_Separable):
    """A separable convolution of images."""


class _Transposed(Convolution):
    """The gradient of a convolution by its input, as a layer: kernel (*kernel_size, filters, channels)."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid", data_format: str = "channels_last",
        activation: Any = None, use_bias: bool = True, kernel_initializer: Any = None,
        bias_initializer: Any = zeros_initializer, kernel_regularizer: Any = None, bias_regularizer: Any = None,
        activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None,
        trainable: bool = True, name: str | None = None, **options: Any,
    ):  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, data_format, 1, activation, use_bias, kernel_initializer,
            bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
            bias_constraint, trainable, name, **options,
        )  # fmt: skip

    def kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, self.filters, channels]

    def call(self, inputs: Any) -> Any:
        sizes = inputs.shape.as_list()
        first = self.layout.startswith("NC")
        start = 2 if first else 1
        unknown = arrays.shape(inputs) if None in sizes else None
        extents = [unknown[i] if n is None else n for i, n in enumerate(sizes)]  # type: ignore[index]
        inner = []
        for extent, kernel, step in zip(extents[start : start + self.axes], self.kernel_size, self.strides, strict=True):
            inner.append(extent * step + (max(kernel - step, 0) if self.padding == "VALID" else 0))
        shape = [extents[0], self.filters, *inner] if first else [extents[0], *inner, self.filters]
        call = spatial.conv2d_transpose if self.axes == 2 else spatial.conv3d_transpose
        out = call(inputs, self.kernel, shape, self._steps(self.strides), self.padding, data_format=self.layout)
        known_sizes = [None if not isinstance(n, int) else n for n in shape]
        out.set_shape(TensorShape(known_sizes))
        return self.finished(out, self.layout)


class Conv2DTranspose(_Transposed):
    """A transposed convolution of images."""


class Conv3DTranspose(_Transposed):
    """A transposed convolution of volumes."""

    axes = 3


# pools ----------------------------------------------------------------------------------------------------------------


class _Pooling(Layer):
    axes = 2
    largest = True

    def __init__(
        self, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
        name: str | None = None, **options: Any,
    ):  # fmt: skip
        super().__init__(name=name, **options)
        self.pool_size, self.strides = numbers(pool_size, self.axes), numbers(strides, self.axes)
        self.padding, self.layout = padding.upper(), layout(data_format, self.axes)

    def call(self, inputs: Any) -> Any:
        call = spatial.max_pool_v2 if self.largest else spatial.avg_pool_v2
        if self.axes == 3:
            call = spatial.max_pool3d if self.largest else spatial.avg_pool3d
        return call(inputs, self.pool_size, self.strides, self.padding, self.layout)


def _pooling(name: str, axes: int, largest: bool) -> type:
    doc = "The largest element of each window." if largest else "The mean of each window, without padding."
    return type(name, (_Pooling,), {"axes": axes, "largest": largest, "__doc__": doc, "__module__": __name__})


MaxPooling1D, MaxPooling2D, MaxPooling3D = (_pooling(f"MaxPooling{n}D", n, True) for n in (1, 2, 3))
AveragePooling1D, AveragePooling2D, AveragePooling3D = (_pooling(f"AveragePooling{n}D", n, False) for n in (1, 2, 3))

FUNCTIONS = {
    "conv1d": Conv1D, "conv2d": Conv2D, "conv3d": Conv3D, "separable_conv1d": SeparableConv1D,
    "separable_conv2d": SeparableConv2D, "conv2d_transpose": Conv2DTranspose, "conv3d_transpose": Conv3DTranspose,
    "max_pooling1d": MaxPooling1D, "max_pooling2d": MaxPooling2D, "max_pooling3d": MaxPooling3D,
    "average_pooling1d": AveragePooling1D, "average_pooling2d": AveragePooling2D, "average_pooling3d": AveragePooling3D,
}  # fmt: skip
"""Functions that make and call a layer."""
for _name, _layer in FUNCTIONS.items():
    globals()[_name] = as_function(_layer, _name, str(_layer.__doc__))
