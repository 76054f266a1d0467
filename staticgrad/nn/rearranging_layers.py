"""Layers that move elements: padding, pixel shuffles, upsampling, distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import functional
from ..errors import ArgumentError, ShapeError
from ..operators import F, Tensor
from ..types import is_number
from .layers import _extent
from .module import Module


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

    def forward(self, x: Any) -> Any:
        return functional.pad(x, self.padding, self.mode, self.value)

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


ConstantPad1d = _padding("ConstantPad1d", 1, "constant", _ConstantPadding)
ConstantPad2d = _padding("ConstantPad2d", 2, "constant", _ConstantPadding)
ConstantPad3d = _padding("ConstantPad3d", 3, "constant", _ConstantPadding)
ZeroPad1d = _padding("ZeroPad1d", 1, "constant", value=0.0)
ZeroPad2d = _padding("ZeroPad2d", 2, "constant", value=0.0)
ZeroPad3d = _padding("ZeroPad3d", 3, "constant", value=0.0)
ReflectionPad1d = _padding("ReflectionPad1d", 1, "reflect")
ReflectionPad2d = _padding("ReflectionPad2d", 2, "reflect")
ReflectionPad3d = _padding("ReflectionPad3d", 3, "reflect")
ReplicationPad1d = _padding("ReplicationPad1d", 1, "replicate")
ReplicationPad2d = _padding("ReplicationPad2d", 2, "replicate")
ReplicationPad3d = _padding("ReplicationPad3d", 3, "replicate")
CircularPad1d = _padding("CircularPad1d", 1, "circular")
CircularPad2d = _padding("CircularPad2d", 2, "circular")
CircularPad3d = _padding("CircularPad3d", 3, "circular")


def _lead(x: Any) -> tuple[int, ...]:
    """The extents before the last three axes; one unknown is -1."""
    return tuple(-1 if d is None else d for d in x.shape[:-3])


class PixelShuffle(Module):
    """(..., c r^2, h, w) -> (..., c, h r, w r) for r = upscale_factor. Raises ShapeError.

    Source: Shi et al., "Real-time single image and video super-resolution", CVPR 2016.
    """

    def __init__(self, upscale_factor: int):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, x: Any) -> Tensor:
        r = self.upscale_factor
        if len(x.shape) < 3 or x.shape[-3] % (r * r):
            raise ShapeError(f"pixel_shuffle: channels have to be a multiple of {r * r}, in (..., c, h, w); got {x.shape}")
        c, h, w = x.shape[-3:]
        lead = _lead(x)
        n = len(lead)
        parts = F.reshape(x, (*lead, c // (r * r), r, r, h, w))
        order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
        return F.reshape(F.permute(parts, order), (*lead, c // (r * r), h * r, w * r))

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(..., c, h r, w r) -> (..., c r^2, h, w) for r = downscale_factor. Raises ShapeError."""

    def __init__(self, downscale_factor: int):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, x: Any) -> Tensor:
        r = self.downscale_factor
        if len(x.shape) < 3 or x.shape[-1] % r or x.shape[-2] % r:
            raise ShapeError(f"pixel_unshuffle: height and width have to be multiples of {r}; got {x.shape}")
        c, h, w = x.shape[-3:]
        lead = _lead(x)
        n = len(lead)
        parts = F.reshape(x, (*lead, c, h // r, r, w // r, r))
        return F.reshape(F.permute(parts, (*range(n + 1), n + 2, n + 4, n + 1, n + 3)), (*lead, c * r * r, h // r, w // r))

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels (axis 1) of `groups` groups, taken in turn. Raises ShapeError."""

    def __init__(self, groups: int):
        super().__init__()
        self.groups = _extent("ChannelShuffle", "groups", groups)

    def forward(self, x: Any) -> Tensor:
        n, c, *rest = x.shape
        if c % self.groups:
            raise ShapeError(f"channel_shuffle: {c} channels in {self.groups} groups")
        n = -1 if n is None else n
        parts = F.reshape(x, (n, self.groups, c // self.groups, *rest))
        return F.reshape(F.swapaxes(parts, 1, 2), (n, c, *rest))

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}


class Upsample(Module):
    """More (or fewer) elements along the axes after the second: those of `size`, or `scale_factor` times as many.

    mode: "nearest", "nearest-exact", or "linear", "bilinear", "trilinear" for one, two and three axes. align_corners: the
    first and last elements stay in place, rather than the borders. Raises ArgumentError, ShapeError.
    """

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ):  # fmt: skip
        super().__init__()
        if mode not in ("nearest", "nearest-exact", *LINEAR):
            raise ArgumentError(f"Upsample: mode {mode!r} is not supported", f"use nearest, nearest-exact, {', '.join(LINEAR)}")
        if align_corners is not None and mode not in LINEAR:
            raise ArgumentError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | trilinear"
            )
        if (size is None) == (scale_factor is None):
            raise ArgumentError("either size or scale_factor should be defined, and not both")
        self.size = tuple(size) if isinstance(size, list) else size
        self.scale_factor = tuple(map(float, scale_factor)) if isinstance(scale_factor, (tuple, list)) else scale_factor
        if is_number(scale_factor):
            self.scale_factor = float(scale_factor)
        self.mode, self.align_corners, self.recompute_scale_factor = mode, align_corners, recompute_scale_factor

    def forward(self, x: Any) -> Tensor:
        n = len(x.shape) - 2
        if not 1 <= n <= 3 or (self.mode in LINEAR and LINEAR[self.mode] != n):
            raise ShapeError(f"Upsample: mode {self.mode!r} of a tensor with {len(x.shape)} axes")
        for i in range(n):
            x = self._along(x, i + 2, _each(self.size, n)[i], _each(self.scale_factor, n)[i])
        result: Tensor = x
        return result

    def _along(self, x: Any, axis: int, size: int | None, factor: float | None) -> Any:
        extent = x.shape[axis]
        if extent is None:
            raise ShapeError("Upsample: an extent is unknown")
        wanted = math.floor(extent * float(factor)) if factor is not None else int(size or 0)
        scale = 1 / factor if factor is not None and not self.recompute_scale_factor else extent / wanted
        at = np.arange(wanted, dtype=np.float64)
        if self.mode not in LINEAR:
            at = at + 0.5 if self.mode == "nearest-exact" else at
            return F.take(x, np.minimum(np.floor(at * scale), extent - 1).astype(np.int64), axis)
        if self.align_corners:
            place = at * ((extent - 1) / (wanted - 1) if wanted > 1 else 0.0)
        else:
            place = np.maximum((at + 0.5) * scale - 0.5, 0.0)
        low = np.minimum(np.floor(place), extent - 1).astype(np.int64)
        shape = [1] * len(x.shape)
        shape[axis] = wanted
        share = (place - low).reshape(shape).astype(x.dtype)
        first, second = F.take(x, low, axis), F.take(x, np.minimum(low + 1, extent - 1), axis)
        return first * (1 - share) + second * share

    def extra_repr(self) -> str:
        given = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{given}, mode={self.mode!r}"


def _each(value: Any, n: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


class UpsamplingNearest2d(Upsample):
    """Upsample of (n, c, h, w), mode "nearest"."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Upsample of (n, c, h, w), mode "bilinear", with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "bilinear", True)


class CosineSimilarity(Module):
    """x1 x2 / max(||x1|| ||x2||, eps) along `dim`, each norm at least eps."""

    def __init__(self, dim: int = 1, eps: float = 1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Any, x2: Any) -> Tensor:
        a, b = (F.maximum(F.sqrt(F.sum(F.square(x), self.dim, True)), self.eps) for x in (x1, x2))
        return F.sum((x1 / a) * (x2 / b), self.dim)


class PairwiseDistance(Module):
    """||x1 - x2 + eps||_p along the last axis."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Any, x2: Any) -> Tensor:
        size = F.abs(x1 - x2 + self.eps)
        if math.isinf(self.norm):
            return F.amax(size, -1, self.keepdim)
        return F.sum(size**self.norm, -1, self.keepdim) ** (1 / self.norm)
