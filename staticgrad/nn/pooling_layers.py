"""Pooling layers, with PyTorch's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..base.types import ShapeLike
from ..eager import Tensor
from ..errors import ArgumentError
from ..namespaces import functional
from ..ops.operands import whole_numbers
from ..ops.operators import Tensor as AnyTensor
from ..ops.operators import TensorLike
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d",
    "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


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
