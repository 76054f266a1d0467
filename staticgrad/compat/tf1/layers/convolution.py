"""Convolutions, their transposes and pools as layers, over one to three spatial axes."""

from __future__ import annotations

from typing import Any

from .. import arrays
from ..initializers import zeros_initializer
from ..layer import Kernelled, Layer, as_function, known
from ..nn import spatial
from ..shapes import TensorShape

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
