"""Convolutions with PyTorch's names, layouts and first values, layers that cut windows out and add them up, and pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..base.types import DTypeLike, ShapeLike
from ..eager import Tensor
from ..errors import ArgumentError, ShapeError
from ..namespaces import functional
from ..ops.operands import padding_of, positive_numbers, whole_numbers
from ..ops.operators import Tensor as AnyTensor
from ..ops.operators import TensorLike
from . import init
from .layers import _extent
from .module import Module
from .parameter import Parameter, room_on

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "ConvTranspose3d", "Fold", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d",
    "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Unfold",
]  # fmt: skip

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Weights (out, in / groups, *kernel) - for a transposed one (in, out / groups, *kernel) - and bias (out,), both
    uniform in (-1/sqrt(k), 1/sqrt(k)) with k the weights of one output."""

    weight: Tensor
    bias: Tensor | None
    output_padding: tuple[int, ...]
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
        if isinstance(padding, str):
            padding_of(padding, self.kernel_size, self.stride, (1,) * self.axes)
        self.dilation = positive_numbers("dilation", dilation, self.axes)
        self.output_padding = (0,) * self.axes
        if padding_mode not in PADDING_MODES:
            raise ArgumentError(f"padding_mode must be one of {PADDING_MODES}, but got padding_mode={padding_mode!r}")
        if self.transposed and padding_mode != "zeros":
            raise ArgumentError(f'Only "zeros" padding mode is supported for {name}')
        self.padding_mode = padding_mode
        room = room_on(device, dtype)
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        self.weight = Parameter(room((first, second // self.groups, *self.kernel_size)))
        self.register_parameter("bias", Parameter(room(self.out_channels)) if bias else None)
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
        if self.padding != (0,) * self.axes:
            text += f", padding={self.padding}"
        if set(self.dilation) != {1}:
            text += f", dilation={self.dilation}"
        if any(self.output_padding):
            text += f", output_padding={self.output_padding}"
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


class Conv1d(_ConvNd):
    """`functional.conv1d` with weight (out_channels, in_channels / groups, kernel) and bias (out_channels,).

    padding_mode: the contents of the padding, "zeros", "reflect", "replicate" or "circular". Raises ArgumentError for settings
    out of range.

    Examples:
        >>> nn.Conv1d(3, 6, 5)(sg.randn(2, 3, 9)).shape
        torch.Size([2, 6, 5])
    """

    axes = 1

    def forward(self, input: TensorLike) -> AnyTensor:
        input, padding = self._padded(input)
        return functional.conv1d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_ConvNd):
    """`functional.conv2d` with weight (out_channels, in_channels / groups, kh, kw) and bias (out_channels,).

    padding_mode: as for Conv1d. Raises ArgumentError for settings out of range.

    Examples:
        >>> nn.Conv2d(1, 8, 3, padding="same")(sg.zeros((2, 1, 28, 28))).shape
        torch.Size([2, 8, 28, 28])
    """

    def forward(self, input: TensorLike) -> AnyTensor:
        input, padding = self._padded(input)
        return functional.conv2d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_ConvNd):
    """`functional.conv3d` with weight (out_channels, in_channels / groups, kd, kh, kw) and bias (out_channels,).

    padding_mode: as for Conv1d. Raises ArgumentError for settings out of range.

    Examples:
        >>> nn.Conv3d(1, 2, 3)(sg.randn(1, 1, 4, 4, 4)).shape
        torch.Size([1, 2, 2, 2, 2])
    """

    axes = 3

    def forward(self, input: TensorLike) -> AnyTensor:
        input, padding = self._padded(input)
        return functional.conv3d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: ShapeLike, stride: ShapeLike = 1, padding: ShapeLike = 0,
        output_padding: ShapeLike = 0, groups: int = 1, bias: bool = True, dilation: ShapeLike = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )
        self.output_padding = whole_numbers("output_padding", output_padding, self.axes)

    def _extra(self, x: Any, output_size: Any) -> tuple[int, ...]:
        """The output padding, or the one with which the result has `output_size`. Raises ArgumentError."""
        if output_size is None:
            return self.output_padding
        name, axes = type(self).__name__, self.axes
        wanted = tuple(output_size)
        if len(wanted) in (axes + 1, axes + 2) and len(wanted) == len(x.shape):
            wanted = wanted[-axes:]
        if len(wanted) != axes:
            raise ArgumentError(
                f"{name}: for {len(x.shape)}D input, output_size must have {axes} or {len(x.shape)} elements "
                f"(got {len(wanted)})"
            )
        if None in x.shape[-axes:]:
            raise ShapeError(f"{name}: output_size needs an input of known extents")
        pads = padding_of(self.padding, self.kernel_size, self.stride, self.dilation)
        least = [
            (d - 1) * s - sum(p) + r * (k - 1) + 1
            for d, s, p, r, k in zip(x.shape[-axes:], self.stride, pads, self.dilation, self.kernel_size, strict=True)
        ]
        extra = tuple(int(w) - m for w, m in zip(wanted, least, strict=True))
        if any(not 0 <= e < s for e, s in zip(extra, self.stride, strict=True)):
            most = [m + s - 1 for m, s in zip(least, self.stride, strict=True)]
            raise ArgumentError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} "
                f"(for an input of {list(x.shape[-axes:])})"
            )
        return extra


class ConvTranspose1d(_ConvTransposeNd):
    """`functional.conv_transpose1d` with weight (in_channels, out_channels / groups, k) and bias (out_channels,).

    A call takes output_size, too, which sets the output padding. Raises ArgumentError for settings out of range.
    """

    axes = 1

    def forward(self, input: AnyTensor, output_size: Sequence[int] | None = None) -> AnyTensor:
        extra = self._extra(input, output_size)
        return functional.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose2d(_ConvTransposeNd):
    """`functional.conv_transpose2d` with weight (in_channels, out_channels / groups, kh, kw) and bias (out_channels,).

    A call takes output_size, too, which sets the output padding. Raises ArgumentError for settings out of range.

    Examples:
        >>> nn.ConvTranspose2d(6, 3, 2, stride=2)(sg.randn(1, 6, 4, 4)).shape
        torch.Size([1, 3, 8, 8])
    """

    def forward(self, input: AnyTensor, output_size: Sequence[int] | None = None) -> AnyTensor:
        extra = self._extra(input, output_size)
        return functional.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose3d(_ConvTransposeNd):
    """`functional.conv_transpose3d` with weight (in_channels, out_channels / groups, kd, kh, kw) and bias (out_channels,).

    A call takes output_size, too, which sets the output padding. Raises ArgumentError for settings out of range.
    """

    axes = 3

    def forward(self, input: AnyTensor, output_size: Sequence[int] | None = None) -> AnyTensor:
        extra = self._extra(input, output_size)
        return functional.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class Unfold(Module):
    """`functional.unfold`."""

    def __init__(self, kernel_size: ShapeLike, dilation: ShapeLike = 1, padding: ShapeLike = 0, stride: ShapeLike = 1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """`functional.fold`."""

    def __init__(
        self, output_size: ShapeLike, kernel_size: ShapeLike, dilation: ShapeLike = 1, padding: ShapeLike = 0,
        stride: ShapeLike = 1,
    ):  # fmt: skip
        super().__init__()
        self.output_size = output_size
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


# pooling --------------------------------------------------------------------------------------------------------------


class _MaxPoolNd(Module):
    def __init__(
        self, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0, dilation: ShapeLike = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ):  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = bool(return_indices), bool(ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )

    def _settings(self) -> tuple[Any, ...]:
        return self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices


class MaxPool1d(_MaxPoolNd):
    """`functional.max_pool1d`."""

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.max_pool1d(input, *self._settings())


class MaxPool2d(_MaxPoolNd):
    """`functional.max_pool2d`.

    Examples:
        >>> nn.MaxPool2d(2)(sg.zeros(1, 3, 8, 8)).shape
        torch.Size([1, 3, 4, 4])
    """

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.max_pool2d(input, *self._settings())


class MaxPool3d(_MaxPoolNd):
    """`functional.max_pool3d`."""

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.max_pool3d(input, *self._settings())


class _MaxUnpoolNd(Module):
    axes = 2

    def __init__(self, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0):
        super().__init__()
        self.kernel_size = whole_numbers("kernel_size", kernel_size, self.axes)
        self.stride = self.kernel_size if stride is None else whole_numbers("stride", stride, self.axes)
        self.padding = whole_numbers("padding", padding, self.axes)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """`functional.max_unpool1d`."""

    axes = 1

    def forward(self, input: TensorLike, indices: TensorLike, output_size: Sequence[int] | None = None) -> AnyTensor:
        return functional.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """`functional.max_unpool2d`."""

    def forward(self, input: TensorLike, indices: TensorLike, output_size: Sequence[int] | None = None) -> AnyTensor:
        return functional.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """`functional.max_unpool3d`."""

    axes = 3

    def forward(self, input: TensorLike, indices: TensorLike, output_size: Sequence[int] | None = None) -> AnyTensor:
        return functional.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class AvgPool1d(Module):
    """`functional.avg_pool1d`."""

    def __init__(
        self, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):  # fmt: skip
        super().__init__()
        self.kernel_size = whole_numbers("kernel_size", kernel_size, 1)
        self.stride = self.kernel_size if stride is None else whole_numbers("stride", stride, 1)
        self.padding = whole_numbers("padding", padding, 1)
        self.ceil_mode, self.count_include_pad = bool(ceil_mode), bool(count_include_pad)

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    def __init__(
        self, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ):  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode, self.count_include_pad = bool(ceil_mode), bool(count_include_pad)
        self.divisor_override = divisor_override

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"

    def _settings(self) -> tuple[Any, ...]:
        return (
            self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override
        )  # fmt: skip


class AvgPool2d(_AvgPoolNd):
    """`functional.avg_pool2d`.

    Examples:
        >>> nn.AvgPool2d(2)(sg.zeros(1, 3, 8, 8)).shape
        torch.Size([1, 3, 4, 4])
    """

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.avg_pool2d(input, *self._settings())


class AvgPool3d(_AvgPoolNd):
    """`functional.avg_pool3d`."""

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.avg_pool3d(input, *self._settings())


class _LPPoolNd(Module):
    def __init__(self, norm_type: float, kernel_size: ShapeLike, stride: ShapeLike | None = None, ceil_mode: bool = False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, bool(ceil_mode)

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """`functional.lp_pool1d`."""

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """`functional.lp_pool2d`."""

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """`functional.lp_pool3d`."""

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _FractionalMaxPool(Module):
    function: ClassVar[Any]
    _random_samples: Tensor | None
    axes = 2

    def __init__(
        self, kernel_size: ShapeLike, output_size: ShapeLike | None = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Tensor | None = None,
    ):  # fmt: skip
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ArgumentError(
                f"{type(self).__name__} requires specifying either an output size, or a pooling ratio, and not both"
            )
        self.kernel_size = whole_numbers("kernel_size", kernel_size, self.axes)
        self.return_indices = bool(return_indices)
        self.output_size = None if output_size is None else whole_numbers("output_size", output_size, self.axes)
        self.output_ratio = output_ratio
        if output_ratio is not None:
            ratios = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * self.axes
            if any(not 0 < r < 1 for r in ratios):
                raise ArgumentError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
            self.output_ratio = ratios
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: TensorLike) -> AnyTensor:
        return type(self).function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """`functional.fractional_max_pool2d`."""

    function = staticmethod(functional.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """`functional.fractional_max_pool3d`."""

    function = staticmethod(functional.fractional_max_pool3d)
    axes = 3


Sizes = int | None | Sequence[int | None]


class _Adaptive(Module):
    def __init__(self, output_size: Sizes):
        super().__init__()
        self.output_size = tuple(output_size) if isinstance(output_size, list) else output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """`functional.adaptive_avg_pool1d`."""

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """`functional.adaptive_avg_pool2d`.

    Examples:
        >>> nn.AdaptiveAvgPool2d(1)(sg.zeros(1, 3, 7, 5)).shape
        torch.Size([1, 3, 1, 1])
    """

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_Adaptive):
    """`functional.adaptive_avg_pool3d`."""

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size: Sizes, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = bool(return_indices)


class AdaptiveMaxPool1d(_AdaptiveMax):
    """`functional.adaptive_max_pool1d`."""

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """`functional.adaptive_max_pool2d`."""

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """`functional.adaptive_max_pool3d`."""

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.adaptive_max_pool3d(input, self.output_size, self.return_indices)
