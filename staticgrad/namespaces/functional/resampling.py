"""Images with more, fewer or other pixels: interpolation, sampling at a grid, shuffled pixels and channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.types import INEXACT, float64, int64, uint8
from ...eager.calls.composites import composite
from ...errors import ArgumentError, DTypeError, ShapeError
from ...ops.operands import operand, size_text
from ...ops.operators import F, Tensor, TensorLike, in_format, spelled
from .mean_poolings import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = [
    "affine_grid", "channel_shuffle", "grid_sample", "interpolate", "native_channel_shuffle", "pixel_shuffle",
    "pixel_unshuffle", "upsample", "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
"""Modes that mix neighbours, and the number of axes of each."""
MODES = ("nearest", "nearest-exact", "area", *AXES)
CUBIC = -0.75
"""The parameter of the cubic kernel, as in PyTorch. Source: Keys, "Cubic convolution interpolation", 1981."""
CUBIC_OF_ANTIALIAS = -0.5

# interpolation --------------------------------------------------------------------------------------------------------


def check_interpolation(mode: str, align_corners: bool | None) -> None:
    """Raises ArgumentError for an unknown mode, and for align_corners with one that does not mix neighbours."""
    if mode not in MODES:
        raise ArgumentError(f"interpolate: mode {mode!r} is not supported", f"use one of {', '.join(MODES)}")
    if align_corners is not None and mode not in AXES:
        raise ArgumentError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )


def _each(name: str, value: Any, axes: int) -> tuple[Any, ...]:
    if not isinstance(value, (tuple, list)):
        return (value,) * axes
    if len(value) != axes:
        raise ArgumentError(
            f"Input and output must have the same number of spatial dimensions, but got {axes} of the input and {name} of "
            f"{value}"
        )
    return tuple(value)


@spelled
@composite
def interpolate(
    input: TensorLike, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest", align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """(n, c, ...) with the extents `size` after the second axis, or `scale_factor` times as many elements.

    mode: "nearest", "nearest-exact", "area" (means of adaptive windows), or "linear", "bilinear", "bicubic", "trilinear" for
    one, two, two and three axes. align_corners: the first and last elements stay in place, rather than the borders.
    recompute_scale_factor: positions follow from the extents of the result instead of scale_factor. antialias: for "bilinear"
    and "bicubic", elements of a smaller result are weighted means of all that they cover. Raises ArgumentError, ShapeError.

    Examples:
        >>> F.interpolate(sg.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    x = operand(input)
    check_interpolation(mode, align_corners)
    n = len(x.shape) - 2
    if not 1 <= n <= 3 or AXES.get(mode, n) != n:
        raise ShapeError(f"interpolate: mode {mode!r} of a tensor with {len(x.shape)} axes", f"got {size_text(x.shape)}")
    if (size is None) == (scale_factor is None):
        both = "only one of size or scale_factor should be defined"
        raise ArgumentError("either size or scale_factor should be defined" if size is None else both)
    if recompute_scale_factor and size is not None:
        raise ArgumentError("recompute_scale_factor is not meaningful with an explicit size.")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input")
    if None in x.shape[2:]:
        raise ShapeError("interpolate: extents after the second have to be known", f"got {size_text(x.shape)}")
    factors = _each("scale_factor", scale_factor, n)
    sizes = _each("size", size, n)
    wanted = [int(s) if f is None else math.floor(d * float(f)) for s, f, d in zip(sizes, factors, x.shape[2:], strict=True)]
    if any(d < 1 for d in wanted) or 0 in x.shape[2:]:
        raise ShapeError(
            f"Input and output sizes should be greater than 0, but got input ({size_text(x.shape)}) and output ({wanted})"
        )
    if mode == "area":
        pool: Any = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[n - 1]
        return pool(x, wanted)
    pixels = x.dtype == uint8 and mode in ("bilinear", "bicubic")
    if mode in AXES and x.dtype.kind not in INEXACT and not pixels:
        raise DTypeError(f"interpolate: mode {mode!r} is not implemented for {x.dtype}", "cast it: x.float()")
    x = F.astype(x, float64) if pixels else x
    for axis in reversed(range(2, n + 2)) if pixels else range(2, n + 2):
        known = None if recompute_scale_factor else factors[axis - 2]
        x = _along(x, axis, x.shape[axis], wanted[axis - 2], known, mode, bool(align_corners), antialias, pixels)
    return F.astype(x, uint8) if pixels else x


def _along(
    x: Any, axis: int, extent: int, count: int, factor: float | None, mode: str, corners: bool, antialias: bool, pixels: bool
) -> Any:  # fmt: skip
    """x with `count` elements along an axis. pixels: they are bytes, mixed in whole numbers and rounded for each axis."""
    if mode not in AXES:
        return F.take(x, _nearest(extent, count, factor, mode == "nearest-exact"), axis)
    scale = extent / count if factor is None else 1 / float(factor)
    if corners:
        scale = (extent - 1) / (count - 1) if count > 1 else 0.0
    if antialias:
        matrix = _antialiased(extent, count, scale, mode == "bicubic", corners)
        return _mixed_pixels(x, axis, matrix) if pixels else _mixed(x, axis, matrix.astype(x.dtype))
    at = np.arange(count, dtype=np.float64)
    place = at * scale if corners else (at + 0.5) * scale - 0.5
    if mode == "bicubic":
        low = np.floor(place)
        taps = [low + i for i in (-1, 0, 1, 2)]
        weights = _cubic(place - low)
    else:
        place = np.maximum(place, 0.0)
        low = np.minimum(np.floor(place), extent - 1)
        taps = [low, low + 1]
        weights = [1 - (place - low), place - low]
    if pixels:
        matrix = np.zeros((count, extent))
        for tap, weight in zip(taps, weights, strict=True):
            matrix[np.arange(count), np.clip(tap, 0, extent - 1).astype(np.int64)] += weight
        return _mixed_pixels(x, axis, matrix)
    total: Any = None
    for tap, weight in zip(taps, weights, strict=True):
        index = np.clip(tap, 0, extent - 1).astype(np.int64)
        shape = [1] * len(x.shape)
        shape[axis] = count
        part = F.take(x, index, axis) * weight.reshape(shape).astype(x.dtype)
        total = part if total is None else total + part
    return total


def _mixed_pixels(x: Any, axis: int, matrix: np.ndarray) -> Any:
    """As `_mixed`, of bytes in float64: PyTorch's weights are whole numbers of 16 bits, and the sums are rounded to bytes."""
    unit = 2.0 ** next((p for p in range(22) if int(0.5 + float(matrix.max()) * 2 ** (p + 1)) >= 2**15), 22)
    total = _mixed(x, axis, np.trunc(matrix * unit + np.copysign(0.5, matrix)))
    return F.clamp(F.floor((total + unit / 2) / unit), 0.0, 255.0)


def _nearest(extent: int, count: int, factor: float | None, exact: bool) -> np.ndarray:
    """In float32, as PyTorch computes places: equal rounding gives equal elements."""
    scale = np.float32(extent) / np.float32(count) if factor is None else np.float32(1.0 / float(factor))
    at = np.arange(count, dtype=np.float32)
    place = np.floor((at + np.float32(0.5)) * scale if exact else at * scale)
    return np.minimum(place, extent - 1).astype(np.int64)


def _cubic(t: np.ndarray) -> list[np.ndarray]:
    """The weights of the elements at -1, 0, 1 and 2, for places t in [0, 1)."""
    a = CUBIC

    def near(s: Any) -> Any:
        return ((a + 2) * s - (a + 3)) * s * s + 1

    def far(s: Any) -> Any:
        return ((a * s - 5 * a) * s + 8 * a) * s - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _antialiased(extent: int, count: int, scale: float, cubic: bool, corners: bool) -> np.ndarray:
    """The weights (count, extent) of a filter that is as wide as an element of the result."""
    stretch = max(scale, 1.0)
    reach = (2.0 if cubic else 1.0) * stretch
    matrix = np.zeros((count, extent))
    for i in range(count):
        centre = scale * (i + 0.5)
        first = max(int(centre - reach + 0.5), 0)
        last = min(int(centre + reach + 0.5), extent)
        distance = np.abs((np.arange(first, last) - centre + 0.5) / stretch)
        weight = _filter(distance) if cubic else np.maximum(1 - distance, 0)
        matrix[i, first:last] = weight / weight.sum()
    return matrix


def _filter(s: np.ndarray) -> np.ndarray:
    a = CUBIC_OF_ANTIALIAS
    near = ((a + 2) * s - (a + 3)) * s * s + 1
    far = ((a * s - 5 * a) * s + 8 * a) * s - 4 * a
    return np.where(s < 1, near, np.where(s < 2, far, 0))


def _mixed(x: Any, axis: int, matrix: np.ndarray) -> Any:
    """The products of a matrix with the vectors of x along an axis."""
    last = len(x.shape) - 1
    moved = x if axis == last else F.swapaxes(x, axis, last)
    out = F.matmul(moved, np.ascontiguousarray(matrix.T))
    return out if axis == last else F.swapaxes(out, axis, last)


@spelled
def upsample(
    input: TensorLike, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest", align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """`interpolate` under its former name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@spelled
def upsample_nearest(
    input: TensorLike, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` with mode "nearest"."""
    return interpolate(input, size, scale_factor)


@spelled
def upsample_bilinear(
    input: TensorLike, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` with mode "bilinear" and aligned corners."""
    return interpolate(input, size, scale_factor, "bilinear", True)


# sampling at a grid ---------------------------------------------------------------------------------------------------


@spelled
@composite
def affine_grid(theta: TensorLike, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places that affine maps give to the pixels of a result, for `grid_sample`.

    Shapes: theta (n, 2, 3) with size (n, c, h, w) -> (n, h, w, 2); (n, 3, 4) with (n, c, d, h, w) -> (n, d, h, w, 3), in
    [-1, 1] from border to border, or from the first pixel's centre to the last one's with align_corners. Raises ShapeError.
    """
    maps = operand(theta)
    axes = len(size) - 2
    if axes not in (2, 3) or len(maps.shape) != 3 or tuple(maps.shape[1:]) != (axes, axes + 1):
        raise ShapeError(
            "affine_grid only supports 4D and 5D sizes, with theta (n, 2, 3) and (n, 3, 4)",
            f"got theta {size_text(maps.shape)} and size {list(size)}",
        )
    extents = [int(d) for d in size[2:]]
    if any(d <= 0 for d in size):
        raise ShapeError(f"Expected non-zero, positive output size. Got {list(size)}")
    places = [_spread(d, bool(align_corners)) for d in extents]
    grids = np.meshgrid(*places, indexing="ij")
    base = np.stack([*reversed(grids), np.ones(extents)], -1).reshape(-1, axes + 1).astype(maps.dtype)
    out = F.matmul(base, F.swapaxes(maps, 1, 2))
    return F.reshape(out, (-1 if maps.shape[0] is None else maps.shape[0], *extents, axes))


def _spread(count: int, corners: bool) -> np.ndarray:
    if count <= 1:
        return np.zeros(count)
    ends = np.linspace(-1, 1, count)
    return ends if corners else ends * ((count - 1) / count)


@spelled
@composite
def grid_sample(
    input: TensorLike, grid: TensorLike, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The values of images at the places of a grid, between pixels.

    Shapes: input (n, c, h, w), grid (n, h', w', 2) of places (x, y) -> (n, c, h', w'); input (n, c, d, h, w), grid
    (n, d', h', w', 3) of (x, y, z) -> (n, c, d', h', w'). -1 and 1 are the borders, or with align_corners the centres of the
    first and last pixels. mode: "bilinear" (over three axes trilinear), "nearest", or "bicubic" over two axes. padding_mode,
    for places outside: "zeros", "border" or "reflection". Gradients flow to both. Raises ShapeError, ArgumentError.
    """
    x, places = operand(input), operand(grid)
    axes = len(x.shape) - 2
    if axes not in (2, 3) or len(places.shape) != axes + 2 or places.shape[-1] != axes:
        raise ShapeError(
            "grid_sampler(): expected input (n, c, h, w) with grid (n, h, w, 2), or (n, c, d, h, w) with (n, d, h, w, 3)",
            f"got {size_text(x.shape)} and {size_text(places.shape)}",
        )
    if None not in (x.shape[0], places.shape[0]) and x.shape[0] != places.shape[0]:
        raise ShapeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(x.shape)} and grid with sizes {list(places.shape)}"
        )
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and axes == 3):
        raise ArgumentError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if None in x.shape[1:] or None in places.shape[1:]:
        raise ShapeError("grid_sample: extents but the first have to be known", f"got {size_text(x.shape)}")
    corners = bool(align_corners)
    extents = x.shape[2:]
    at = [_unscaled(places[..., axes - 1 - a], extents[a], corners) for a in range(axes)]
    sampler = _Sampler(x, places, padding_mode, corners)
    if mode == "nearest":
        return sampler.values([F.round(sampler.inside(p, a)) for a, p in enumerate(at)])
    if mode == "bicubic":
        return _bicubic(sampler, at)
    at = [sampler.inside(p, a) for a, p in enumerate(at)]
    low = [F.stop_gradient(F.floor(p)) for p in at]
    total: Any = None
    for corner in range(2**axes):
        bits = [(corner >> a) & 1 for a in range(axes)]
        weight: Any = 1
        for p, base, bit in zip(at, low, bits, strict=True):
            weight = weight * (p - base if bit else base + 1 - p)
        part = sampler.values([base + bit for base, bit in zip(low, bits, strict=True)]) * F.expand_dims(weight, 1)
        total = part if total is None else total + part
    return total


def _unscaled(p: Any, extent: int, corners: bool) -> Any:
    return (p + 1) * ((extent - 1) / 2) if corners else ((p + 1) * extent - 1) / 2


class _Sampler:
    """Values of x (n, c, *extents) at whole places."""

    def __init__(self, x: Any, grid: Any, padding: str, corners: bool):
        self.extents, self.padding, self.corners = x.shape[2:], padding, corners
        n, c = (-1 if d is None else d for d in x.shape[:2])
        self.flat = F.reshape(x, (n, c, math.prod(self.extents)))
        self.result = (n, c, *grid.shape[1:-1])
        self.x = x

    def inside(self, p: Any, axis: int) -> Any:
        """Places moved into the image, as the padding wants it."""
        extent = self.extents[axis]
        if self.padding == "zeros":
            return p
        if self.padding == "reflection":
            p = _reflected(p, *((0, 2 * (extent - 1)) if self.corners else (-1, 2 * extent - 1)))
        return F.where(p <= 0, 0, F.where(p >= extent - 1, extent - 1, p))

    def values(self, places: list[Any]) -> Any:
        """x at whole places, 0 outside."""
        flat: Any = 0
        valid: Any = None
        for place, extent in zip(places, self.extents, strict=True):
            here = F.logical_and(place >= 0, place <= extent - 1)
            valid = here if valid is None else F.logical_and(valid, here)
            index = F.astype(F.where(here, F.stop_gradient(place), 0), int64)
            flat = flat * extent + index
        n = self.flat.shape[0]
        rows = F.reshape(flat, (-1 if n is None else n, 1, math.prod(self.result[2:])))
        index = rows + F.zeros_like(F.stop_gradient(self.flat[:, :, :1]), dtype=int64)
        taken = F.reshape(F.take_along_axis(self.flat, index, 2), self.result)
        return F.where(F.expand_dims(valid, 1), taken, 0)


def _reflected(p: Any, twice_low: int, twice_high: int) -> Any:
    """Places mirrored at the ends of [twice_low / 2, twice_high / 2]."""
    if twice_low == twice_high:
        return F.zeros_like(p)
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    distance = F.abs(p - low)
    flips = F.stop_gradient(F.floor(distance / span))
    extra = distance - flips * span
    return F.where(F.remainder(flips, 2) == 0, extra + low, span - extra + low)


def _bicubic(sampler: _Sampler, at: list[Any]) -> Tensor:
    low = [F.stop_gradient(F.floor(p)) for p in at]
    weights: Any = [_cubic(p - base) for p, base in zip(at, low, strict=True)]
    total: Any = None
    for i in range(4):
        for j in range(4):
            places = [sampler.inside(low[0] + (i - 1), 0), sampler.inside(low[1] + (j - 1), 1)]
            part = sampler.values(places) * F.expand_dims(weights[0][i] * weights[1][j], 1)
            total = part if total is None else total + part
    return total


# shuffles ---------------------------------------------------------------------------------------------------------------


def _positive(name: str, role: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value <= 0:
        raise ArgumentError(f"{name} expects a positive {role}, but got {value}")
    return int(value)


def _image(name: str, x: Any) -> tuple[tuple[int, ...], int, int, int]:
    if len(x.shape) < 3:
        raise ShapeError(f"{name} expects input to have at least 3 dimensions, but got input with {len(x.shape)} dimension(s)")
    if None in x.shape[-3:]:
        raise ShapeError(f"{name}: the last three extents have to be known", f"got {size_text(x.shape)}")
    lead = tuple(-1 if d is None else d for d in x.shape[:-3])
    return lead, *x.shape[-3:]


@spelled
def pixel_shuffle(input: TensorLike, upscale_factor: int) -> Tensor:
    """(..., c r^2, h, w) -> (..., c, h r, w r) for r = upscale_factor. Raises ShapeError, ArgumentError.

    Source: Shi et al., "Real-time single image and video super-resolution", CVPR 2016.
    """
    x, r = operand(input), _positive("pixel_shuffle", "upscale_factor", upscale_factor)
    lead, c, h, w = _image("pixel_shuffle", x)
    if c % (r * r):
        raise ShapeError(f"pixel_shuffle: channels have to be a multiple of {r * r}, in (..., c, h, w); got {x.shape}")
    n = len(lead)
    parts = F.reshape(x, (*lead, c // (r * r), r, r, h, w))
    order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return F.reshape(in_format(F.permute(parts, order), None), (*lead, c // (r * r), h * r, w * r))


@spelled
def pixel_unshuffle(input: TensorLike, downscale_factor: int) -> Tensor:
    """(..., c, h r, w r) -> (..., c r^2, h, w) for r = downscale_factor. Raises ShapeError, ArgumentError."""
    x, r = operand(input), _positive("pixel_unshuffle", "downscale_factor", downscale_factor)
    lead, c, h, w = _image("pixel_unshuffle", x)
    if h % r or w % r:
        raise ShapeError(f"pixel_unshuffle: height and width have to be multiples of {r}; got {x.shape}")
    n = len(lead)
    parts = F.reshape(x, (*lead, c, h // r, r, w // r, r))
    moved = F.permute(parts, (*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return F.reshape(in_format(moved, None), (*lead, c * r * r, h // r, w // r))


@spelled
def channel_shuffle(input: TensorLike, groups: int) -> Tensor:
    """Channels (axis 1) of `groups` groups, taken in turn. Raises ShapeError, ArgumentError."""
    x, groups = operand(input), _positive("channel_shuffle", "groups", groups)
    if len(x.shape) < 3:
        raise ShapeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {size_text(x.shape)}")
    n, c, *rest = (-1 if d is None else d for d in x.shape)
    if c % groups:
        raise ShapeError(f"channel_shuffle: {c} channels in {groups} groups")
    parts = F.reshape(x, (n, groups, c // groups, *rest))
    return F.reshape(in_format(F.swapaxes(parts, 1, 2), None), (n, c, *rest))


native_channel_shuffle = channel_shuffle
