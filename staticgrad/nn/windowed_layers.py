"""Convolution and pooling layers, with PyTorch's names, layouts and first values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import functional
from ..eager import Tensor
from ..errors import ArgumentError
from ..operators import Tensor as AnyTensor
from ..operators import TensorLike
from ..ops.settings import padding_of, positive_numbers, whole_numbers
from ..types import DTypeLike, ShapeLike
from . import init
from .layers import _extent, made_kind
from .module import Module
from .parameter import Parameter

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Module):
    """Weights (out, in / groups, *kernel) - for a transposed one (in, out / groups, *kernel) - and bias (out,), both
    uniform in (-1/sqrt(k), 1/sqrt(k)) with k the weights of one output."""

    weight: Tensor
    bias: Tensor | None
    axes = 2
    transposed = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: ShapeLike, stride: ShapeLike = 1, padding: ShapeLike | str = 0,
        dilation: ShapeLike = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
        device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        name = type(self).__name__
        self.in_channels = _extent(name, "in_channels", in_channels)
        self.out_channels = _extent(name, "out_channels", out_channels)
        if isinstance(groups, bool) or not isinstance(groups, (int, np.integer)) or groups <= 0:
            raise ArgumentError("groups must be a positive integer", f"{name}: got {groups!r}")
        self.groups = int(groups)
        for role, channels in (("in_channels", self.in_channels), ("out_channels", self.out_channels)):
            if channels % self.groups:
                raise ArgumentError(f"{role} must be divisible by groups", f"{name}: {channels} in {groups} groups")
        self.kernel_size = positive_numbers("kernel_size", kernel_size, self.axes)
        self.stride = positive_numbers("stride", stride, self.axes)
        self.padding = padding if isinstance(padding, str) else whole_numbers("padding", padding, self.axes)
        self.dilation = positive_numbers("dilation", dilation, self.axes)
        if padding_mode not in PADDING_MODES:
            raise ArgumentError(f"padding_mode must be one of {PADDING_MODES}, but got padding_mode={padding_mode!r}")
        if self.transposed and padding_mode != "zeros":
            raise ArgumentError(f'Only "zeros" padding mode is supported for {name}')
        self.padding_mode = padding_mode
        kind = made_kind(device, dtype)
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        self.weight = Parameter(np.empty((first, second // self.groups, *self.kernel_size), kind))
        self.register_parameter("bias", Parameter(np.empty(self.out_channels, kind)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw first values again."""
        fan = math.prod(self.weight.shape[1:])
        bound = 1 / math.sqrt(fan) if fan else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding not in ((0,), (0, 0)):
            text += f", padding={self.padding!r}"
        if set(self.dilation) != {1}:
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        text += ", bias=False" if self.bias is None else ""
        return text + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")

    def _padded(self, x: TensorLike) -> tuple[TensorLike, Any]:
        """x, and how many zeros a convolution still has to put around it."""
        if self.padding_mode == "zeros":
            return x, self.padding
        pairs = padding_of(self.padding, self.kernel_size, self.stride, self.dilation)
        return functional.pad(x, [n for pair in reversed(pairs) for n in pair], self.padding_mode), 0


class Conv1d(_Conv):
    """`functional.conv1d` with weight (out_channels, in_channels / groups, kernel) and bias (out_channels,).

    padding_mode: the contents of the padding, "zeros", "reflect", "replicate" or "circular". Raises ArgumentError for settings
    out of range.
    """

    axes = 1

    def forward(self, x: TensorLike) -> AnyTensor:
        x, padding = self._padded(x)
        return functional.conv1d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """`functional.conv2d` with weight (out_channels, in_channels / groups, kh, kw) and bias (out_channels,).

    padding_mode: as for Conv1d. Raises ArgumentError for settings out of range.

    Examples:
        >>> nn.Conv2d(1, 8, 3, padding="same")(sg.zeros((2, 1, 28, 28))).shape
        (2, 8, 28, 28)
    """

    def forward(self, x: TensorLike) -> AnyTensor:
        x, padding = self._padded(x)
        return functional.conv2d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class ConvTranspose2d(_Conv):
    """`functional.conv_transpose2d` with weight (in_channels, out_channels / groups, kh, kw) and bias (out_channels,).

    Raises ArgumentError for settings out of range.
    """

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: ShapeLike, stride: ShapeLike = 1, padding: ShapeLike | str = 0,
        output_padding: ShapeLike = 0, groups: int = 1, bias: bool = True, dilation: ShapeLike = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )
        self.output_padding = whole_numbers("output_padding", output_padding, 2)

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.conv_transpose2d(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )


class _Pool(Module):
    """Holds the settings of a pooling function."""

    def __init__(self, kernel_size: ShapeLike, stride: ShapeLike | None, padding: ShapeLike, ceil_mode: bool):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = bool(ceil_mode)

    def extra_repr(self) -> str:
        text = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        return text + (", ceil_mode=True" if self.ceil_mode else "")


class _MaxPool(_Pool):
    def __init__(
        self, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0, dilation: ShapeLike = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ):  # fmt: skip
        super().__init__(kernel_size, stride, padding, ceil_mode)
        if return_indices:
            raise ArgumentError(f"{type(self).__name__}: return_indices=True is not supported")
        self.dilation = dilation

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """`functional.max_pool1d`."""

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.max_pool1d(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


class MaxPool2d(_MaxPool):
    """`functional.max_pool2d`."""

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


class _AvgPool(_Pool):
    def __init__(
        self, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):  # fmt: skip
        super().__init__(kernel_size, stride, padding, ceil_mode)
        self.count_include_pad = count_include_pad


class AvgPool1d(_AvgPool):
    """`functional.avg_pool1d`."""

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.avg_pool1d(
            x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class AvgPool2d(_AvgPool):
    """`functional.avg_pool2d`."""

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.avg_pool2d(
            x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class AdaptiveAvgPool2d(Module):
    """`functional.adaptive_avg_pool2d`."""

    def __init__(self, output_size: int | Sequence[int | None]):
        super().__init__()
        self.output_size = tuple(output_size) if isinstance(output_size, list) else output_size

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.adaptive_avg_pool2d(x, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"
