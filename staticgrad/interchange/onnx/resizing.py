"""ONNX's changes of resolution: each axis by a matrix, or by positions; and samples at given places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...functional import grid_sample
from ...operators import F
from .elementwise import like
from .records import T, reader

Ints = tuple[int, ...] | None


def _place(mode: str, out: np.ndarray, extent: int, count: int, scale: float, roi: tuple[float, float]) -> np.ndarray:
    """The coordinate in the input of each element of the output."""
    if mode == "align_corners":
        return out * ((extent - 1) / (extent * scale - 1)) if count > 1 else out * 0.0
    if mode == "asymmetric":
        return out / scale
    if mode == "tf_crop_and_resize":
        start, end = roi
        if count > 1:
            return start * (extent - 1) + out * ((end - start) * (extent - 1) / (extent * scale - 1))
        return np.full(count, 0.5 * (start + end) * (extent - 1))
    if mode == "half_pixel_symmetric":
        adjustment = count / (extent * scale)
        center = extent / 2
        return center * (1 - adjustment) + (out + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel" and count == 1:
        return np.full(count, 0.0)
    return (out + 0.5) / scale - 0.5


def _nearest(mode: str, place: np.ndarray) -> np.ndarray:
    rounding = {
        "round_prefer_floor": lambda p: np.ceil(p - 0.5),
        "round_prefer_ceil": lambda p: np.floor(p + 0.5),
        "floor": np.floor,
        "ceil": np.ceil,
    }
    round_: Any = rounding[mode]
    return np.asarray(round_(place), np.int64)


def _hat(t: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(0, 1 - np.abs(t)))


def _cubic(t: np.ndarray, a: float) -> np.ndarray:
    t = np.abs(t)
    near = (a + 2) * t**3 - (a + 3) * t**2 + 1
    far = a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def _matrix(place: np.ndarray, extent: int, mode: str, a: float, scale: float, antialias: bool, exclude: bool) -> np.ndarray:
    """The weights (elements of the output, elements of the input) of linear or cubic interpolation."""
    wide = min(scale, 1.0) if antialias else 1.0
    reach = (1 if mode == "linear" else 2) / wide
    first = math.floor(place.min() - reach) - 1
    taps = np.arange(first, math.ceil(place.max() + reach) + 2)
    t = (place[:, None] - taps) * wide
    weights = _hat(t) if mode == "linear" else _cubic(t, a)
    if exclude:
        weights = np.where((taps >= 0) & (taps < extent), weights, 0.0)
    if exclude or antialias:
        weights = weights / weights.sum(1, keepdims=True)
    matrix = np.zeros((len(place), extent))
    for tap, column in zip(np.clip(taps, 0, extent - 1), weights.T, strict=True):
        matrix[:, tap] += column
    return matrix


@reader("Resize", values=(1, 2, 3))
def resize(
    x: T, roi: T = None, scales: T = None, sizes: T = None, *, antialias: int = 0, axes: Ints = None,
    coordinate_transformation_mode: str = "half_pixel", cubic_coeff_a: float = -0.75, exclude_outside: int = 0,
    extrapolation_value: float = 0.0, keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> T:  # fmt: skip
    chosen = list(range(x.ndim)) if axes is None else [axis % x.ndim for axis in axes]
    extents = [x.shape[axis] for axis in chosen]
    given = sizes is not None and np.size(sizes) > 0
    if given:
        counts = [int(size) for size in sizes]
        factors = [count / extent for count, extent in zip(counts, extents, strict=True)]
        if keep_aspect_ratio_policy != "stretch":
            one = min(factors) if keep_aspect_ratio_policy == "not_larger" else max(factors)
            factors = [one] * len(factors)
            counts = [math.floor(extent * one + 0.5) for extent in extents]
    else:
        factors = [float(scale) for scale in scales]
        counts = [math.floor(extent * factor) for extent, factor in zip(extents, factors, strict=True)]
    window = [(0.0, 1.0)] * len(chosen)
    if roi is not None and np.size(roi):
        half = len(roi) // 2
        window = [(float(roi[i]), float(roi[i + half])) for i in range(half)]
    outside = np.zeros((1,) * x.ndim, bool)
    for axis, extent, count, factor, ends in zip(chosen, extents, counts, factors, window, strict=True):
        place = _place(coordinate_transformation_mode, np.arange(count), extent, count, factor, ends)
        if coordinate_transformation_mode == "tf_crop_and_resize":
            off = (place < 0) | (place > extent - 1)
            outside = outside | off.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        elif extent == count and factor == 1.0:
            continue
        if mode == "nearest":
            x = F.index_select(x, axis, np.clip(_nearest(nearest_mode, place), 0, extent - 1))
            continue
        matrix = _matrix(place, extent, mode, cubic_coeff_a, factor, bool(antialias), bool(exclude_outside))
        moved = F.matmul(F.swapaxes(x, axis, -1), matrix.T.astype(x.dtype))
        x = F.swapaxes(moved, axis, -1)
    if outside.any():
        x = F.where(np.broadcast_to(outside, tuple(x.shape)), like(extrapolation_value, x), x)
    return x


@reader("Upsample", values=(1,))
def _upsample(x: T, scales_input: T = None, *, mode: str = "nearest", scales: tuple[float, ...] | None = None) -> T:
    factors = scales_input if scales_input is not None else np.asarray(scales)
    return resize(x, None, factors, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


@reader("GridSample")
def _grid_sample(x: T, grid: T, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros") -> T:
    names = {"linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic", "bicubic": "bicubic"}
    return grid_sample(x, grid, names[mode], padding_mode, bool(align_corners))


@reader("AffineGrid", values=(1,))
def _affine_grid(theta: T, size: T, *, align_corners: int = 0) -> T:
    extents = [int(extent) for extent in size[2:]]
    ends = [(extent - 1) / extent if extent and not align_corners else 1.0 for extent in extents]
    lines = [np.linspace(-end, end, extent) for end, extent in zip(ends, extents, strict=True)]
    grid = np.meshgrid(*lines, indexing="ij")
    points = np.stack([*reversed(grid), np.ones_like(grid[0])], -1).reshape(-1, len(extents) + 1).astype(theta.dtype)
    moved = F.matmul(points, F.permute(theta, (0, 2, 1)))
    return F.reshape(moved, (theta.shape[0], *extents, len(extents)))


@reader("RoiAlign")
def _roi_align(
    x: T, rois: T, batch: T, *, coordinate_transformation_mode: str = "half_pixel", mode: str = "avg", output_height: int = 1,
    output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0,
) -> T:  # fmt: skip
    if sampling_ratio <= 0:
        raise ArgumentError("ONNX RoiAlign: a sampling ratio that depends on the regions is not supported", "give one above 0")
    shift = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0
    corners = rois * like(spatial_scale, rois) - like(shift, rois)
    spans = corners[:, 2:] - corners[:, :2]
    if coordinate_transformation_mode != "half_pixel":
        spans = F.maximum(spans, like(1, spans))
    h, w = x.shape[2:]
    y = _taps(corners[:, 1], spans[:, 1], output_height, sampling_ratio)
    z = _taps(corners[:, 0], spans[:, 0], output_width, sampling_ratio)
    rows, columns = _hats(y, h), _hats(z, w)  # (regions, taps, extent)
    images = F.index_select(x, 0, batch)
    if mode == "max":  # the largest of the four weighted neighbours of each tap
        return _largest_of_taps(images, y, z, output_height, output_width, sampling_ratio)
    samples = F.matmul(F.matmul(F.expand_dims(rows, 1), images), F.expand_dims(F.swapaxes(columns, 1, 2), 1))
    n, c = samples.shape[:2]
    cells = F.reshape(samples, (n, c, output_height, sampling_ratio, output_width, sampling_ratio))
    return F.mean(cells, (3, 5))


def _taps(start: T, span: T, cells: int, ratio: int) -> T:
    """Coordinates of the samples along one axis, `ratio` in each cell."""
    steps = (np.arange(cells * ratio) + 0.5) / (cells * ratio)
    return F.expand_dims(start, 1) + F.expand_dims(span, 1) * steps.astype(start.dtype)


def _corners_of(place: T, extent: int) -> tuple[T, T, T, T]:
    """The two positions around a coordinate, and their weights, which are 0 for places beyond the image."""
    inside = F.ge(place, -1.0) & F.le(place, float(extent))
    place = F.clip(place, 0.0, float(extent - 1))
    low = F.minimum(F.floor(place), like(max(extent - 1, 0), place))
    high = F.minimum(low + 1, like(extent - 1, place))
    part = place - low
    zero = like(0, place)
    return F.astype(low, np.int64), F.astype(high, np.int64), F.where(inside, 1 - part, zero), F.where(inside, part, zero)


def _hats(place: T, extent: int) -> T:
    low, high, first, second = _corners_of(place, extent)
    positions = np.arange(extent)
    one = F.astype(F.eq(F.expand_dims(low, 2), positions), place.dtype) * F.expand_dims(first, 2)
    return one + F.astype(F.eq(F.expand_dims(high, 2), positions), place.dtype) * F.expand_dims(second, 2)


def _largest_of_taps(images: T, y: T, z: T, height: int, width: int, ratio: int) -> T:
    h, w = images.shape[2:]
    n, c = images.shape[:2]
    flat = F.reshape(images, (n, c, h * w))
    rows, columns = _corners_of(y, h), _corners_of(z, w)
    best: T = None
    for i in (0, 1):
        for j in (0, 1):
            place = F.expand_dims(rows[i], 2) * w + F.expand_dims(columns[j], 1)
            factor = F.expand_dims(rows[i + 2], 2) * F.expand_dims(columns[j + 2], 1)
            index = F.broadcast_to(F.reshape(place, (n, 1, -1)), (n, c, y.shape[1] * z.shape[1]))
            taken = F.take_along_axis(flat, index, 2) * F.reshape(factor, (n, 1, -1))
            best = taken if best is None else F.maximum(best, taken)
    return F.amax(F.reshape(best, (n, c, height, ratio, width, ratio)), (3, 5))
