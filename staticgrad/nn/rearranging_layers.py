"""Layers that move elements: padding, pixel shuffles, upsampling, distances."""

from __future__ import annotations

from typing import Any

from ..base.types import is_number
from ..errors import ArgumentError, ShapeError
from ..namespaces import functional
from ..namespaces.functional.resampling import check_interpolation
from ..ops.operators import Tensor
from .layers import _extent
from .module import Module

__all__ = [
    "ChannelShuffle", "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "CosineSimilarity", "PairwiseDistance", "PixelShuffle", "PixelUnshuffle", "ReflectionPad1d", "ReflectionPad2d",
    "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "Upsample", "UpsamplingBilinear2d",
    "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Padding(Module):
    """`padding` elements at the ends of the last axes: one number for all, or (before, after) of each, the last axis first."""

    axes = 1
    mode = "constant"
    value: float | None = None

    def __init__(self, padding: Any):
        super().__init__()
        self.padding = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * (2 * self.axes)
        if len(self.padding) != 2 * self.axes:
            raise ArgumentError(f"{type(self).__name__}: padding is one number or {2 * self.axes}, got {padding!r}")

    def forward(self, input: Any) -> Any:
        n = len(input.shape)
        if self.mode == "circular" and n not in (self.axes + 1, self.axes + 2):  # PyTorch pads any number of axes otherwise
            raise ShapeError(f"expected {self.axes + 1}D or {self.axes + 2}D input (got {n}D input)")
        return functional.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadding(_Padding):
    """`value` beyond the ends."""

    value: float

    def __init__(self, padding: Any, value: float):
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


def _padding(name: str, axes: int, mode: str, base: type[_Padding] = _Padding, **members: Any) -> type[_Padding]:
    doc = f"`functional.pad` of the last {axes} axes, mode {mode!r}."
    return type(name, (base,), {"axes": axes, "mode": mode, "__doc__": doc, "__module__": __name__, **members})


def _zero_padding(base: type[Any]) -> type[Any]:
    def __init__(self: Any, padding: Any) -> None:
        base.__init__(self, padding, 0.0)

    members = {"__doc__": f"`{base.__name__}` with value 0.", "__module__": __name__, "__init__": __init__}
    return type(base.__name__.replace("Constant", "Zero"), (base,), {**members, "extra_repr": _Padding.extra_repr})


ConstantPad1d = _padding("ConstantPad1d", 1, "constant", _ConstantPadding)
ConstantPad2d = _padding("ConstantPad2d", 2, "constant", _ConstantPadding)
ConstantPad3d = _padding("ConstantPad3d", 3, "constant", _ConstantPadding)
ZeroPad1d = _zero_padding(ConstantPad1d)
ZeroPad2d = _zero_padding(ConstantPad2d)
ZeroPad3d = _zero_padding(ConstantPad3d)
ReflectionPad1d = _padding("ReflectionPad1d", 1, "reflect")
ReflectionPad2d = _padding("ReflectionPad2d", 2, "reflect")
ReflectionPad3d = _padding("ReflectionPad3d", 3, "reflect")
ReplicationPad1d = _padding("ReplicationPad1d", 1, "replicate")
ReplicationPad2d = _padding("ReplicationPad2d", 2, "replicate")
ReplicationPad3d = _padding("ReplicationPad3d", 3, "replicate")
CircularPad1d = _padding("CircularPad1d", 1, "circular")
CircularPad2d = _padding("CircularPad2d", 2, "circular")
CircularPad3d = _padding("CircularPad3d", 3, "circular")


class PixelShuffle(Module):
    """`functional.pixel_shuffle`."""

    def __init__(self, upscale_factor: int):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Any) -> Tensor:
        return functional.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """`functional.pixel_unshuffle`."""

    def __init__(self, downscale_factor: int):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Any) -> Tensor:
        return functional.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """`functional.channel_shuffle`."""

    def __init__(self, groups: int):
        super().__init__()
        self.groups = _extent("ChannelShuffle", "groups", groups)

    def forward(self, input: Any) -> Tensor:
        return functional.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class Upsample(Module):
    """`functional.interpolate`. Raises ArgumentError for settings that don't go together."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ):  # fmt: skip
        super().__init__()
        check_interpolation(mode, align_corners)
        if (size is None) == (scale_factor is None):
            raise ArgumentError("either size or scale_factor should be defined, and not both")
        self.size = tuple(size) if isinstance(size, list) else size
        self.scale_factor = tuple(map(float, scale_factor)) if isinstance(scale_factor, (tuple, list)) else scale_factor
        if is_number(scale_factor):
            self.scale_factor = float(scale_factor)
        self.mode, self.align_corners, self.recompute_scale_factor = mode, align_corners, recompute_scale_factor

    def forward(self, input: Any) -> Tensor:
        return functional.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        given = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample of (n, c, h, w), mode "nearest"."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Upsample of (n, c, h, w), mode "bilinear", with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "bilinear", True)


class CosineSimilarity(Module):
    """`functional.cosine_similarity`."""

    def __init__(self, dim: int = 1, eps: float = 1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Any, x2: Any) -> Tensor:
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """`functional.pairwise_distance`."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Any, x2: Any) -> Tensor:
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
