"""ONNX's convolutions, poolings and changes of resolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, DTypeError
from ...namespaces import functional
from ...namespaces.functional import grid_sample, local_response_norm
from ...ops.operators import F
from .elementwise import integer_product, like, whole
from .records import NodeContext, T, dtype_of, reader

# ONNX's changes of resolution: each axis by a matrix, or by positions; and samples at given places -------------------

Ints = tuple[int, ...] | None


def _named(kind: str, axes: int) -> Any:
    function = getattr(functional, f"{kind}{axes}d", None)
    if function is None:
        raise ArgumentError(f"ONNX: {kind} over {axes} axes is not supported", "one, two and three are")
    return function


def _pads(
    auto_pad: str, pads: Ints, extents: Sequence[int], kernel: Sequence[int], steps: Sequence[int], spread: Sequence[int]
) -> list[tuple[int, int]]:
    """The elements before and after each axis."""
    n = len(extents)
    if auto_pad in ("NOTSET", "") or pads is not None:
        given = pads or (0,) * (2 * n)
        return [(given[i], given[i + n]) for i in range(n)]
    if auto_pad == "VALID":
        return [(0, 0)] * n
    found = []
    for extent, k, step, d in zip(extents, kernel, steps, spread, strict=True):
        total = max((-(-extent // step) - 1) * step + (k - 1) * d + 1 - extent, 0)
        low, high = total // 2, total - total // 2
        found.append((low, high) if auto_pad == "SAME_UPPER" else (high, low))
    return found


def _padded(x: T, pads: Sequence[tuple[int, int]], value: float = 0.0) -> T:
    flat = [edge for pair in reversed(pads) for edge in pair]
    return functional.pad(x, flat, "constant", value) if any(flat) else x


@reader("Conv")
def conv(
    x: T, weight: T, bias: T = None, *, auto_pad: str = "NOTSET", dilations: Ints = None, group: int = 1,
    kernel_shape: Ints = None, pads: Ints = None, strides: Ints = None,
) -> T:  # fmt: skip
    kernel = weight.shape[2:]
    axes = len(kernel)
    steps, spread = strides or (1,) * axes, dilations or (1,) * axes
    edges = _pads(auto_pad, pads, x.shape[2:], kernel, steps, spread)
    if all(low == high for low, high in edges):
        return _named("conv", axes)(x, weight, bias, steps, tuple(low for low, _ in edges), spread, group)
    return _named("conv", axes)(_padded(x, edges), weight, bias, steps, 0, spread, group)


@reader("ConvInteger")
def _conv_integer(x: T, weight: T, x_zero: T = None, w_zero: T = None, **settings: Any) -> T:
    x, weight = whole(x, x_zero), whole(weight, w_zero, 0)
    result = conv(F.astype(x, np.float64), F.astype(weight, np.float64), None, **settings)
    return F.astype(F.round(result), np.int32)


@reader("ConvTranspose")
def _conv_transpose(
    x: T, weight: T, bias: T = None, *, auto_pad: str = "NOTSET", dilations: Ints = None, group: int = 1,
    kernel_shape: Ints = None, output_padding: Ints = None, output_shape: Ints = None, pads: Ints = None, strides: Ints = None,
) -> T:  # fmt: skip
    kernel = weight.shape[2:]
    axes = len(kernel)
    steps, spread = strides or (1,) * axes, dilations or (1,) * axes
    extra = output_padding or (0,) * axes
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, spread, strict=True)]
    full = [s * (n - 1) + r + e for s, n, r, e in zip(steps, x.shape[2:], reach, extra, strict=True)]
    if output_shape is not None or auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = output_shape[-axes:] if output_shape is not None else [n * s for n, s in zip(x.shape[2:], steps, strict=True)]
        edges = []
        for have, want in zip(full, wanted, strict=True):
            total = have - want
            small, large = total // 2, total - total // 2
            edges.append((large, small) if auto_pad == "SAME_LOWER" or (auto_pad == "NOTSET") else (small, large))
        if auto_pad == "NOTSET":
            edges = [(min(pair), max(pair)) for pair in edges]
    else:
        edges = _pads(auto_pad, pads, x.shape[2:], kernel, steps, spread)
    # a stride above the dilation may leave out the extra elements: they are zeros at the end
    result = _named("conv_transpose", axes)(x, weight, None, steps, 0, 0, group, spread)
    short = [max(-low - high, 0) for low, high in edges]
    edges = [(0, 0) if s else edge for s, edge in zip(short, edges, strict=True)]
    full = [n + s for n, s in zip(full, short, strict=True)]
    result = _padded(result, [(0, e + s) for e, s in zip(extra, short, strict=True)])
    result = result[(slice(None), slice(None), *(slice(low, n - high) for (low, high), n in zip(edges, full, strict=True)))]
    return result if bias is None else result + F.reshape(bias, (1, -1) + (1,) * axes)


@reader("DeformConv")
def _deform_conv(
    x: T, weight: T, offset: T, bias: T = None, mask: T = None, *, dilations: Ints = None, group: int = 1,
    kernel_shape: Ints = None, offset_group: int = 1, pads: Ints = None, strides: Ints = None,
) -> T:  # fmt: skip
    """Products of the weight and of bilinear samples at places that `offset` moves."""
    n, c, _, _ = x.shape
    o, per, kh, kw = weight.shape
    (sh, sw), (dh, dw) = strides or (1, 1), dilations or (1, 1)
    top, left = (pads or (0, 0, 0, 0))[:2]
    oh, ow = offset.shape[2:]
    taps = kh * kw
    moved = F.reshape(offset, (n, offset_group, taps, 2, oh, ow))
    rows = np.arange(oh)[:, None] * sh - top
    columns = np.arange(ow)[None, :] * sw - left
    tap_rows, tap_columns = (a.reshape(taps, 1, 1) for a in np.meshgrid(np.arange(kh) * dh, np.arange(kw) * dw, indexing="ij"))
    y = moved[:, :, :, 0] + (tap_rows + rows).astype(x.dtype)
    z = moved[:, :, :, 1] + (tap_columns + columns).astype(x.dtype)
    h, w = x.shape[2:]
    planes = F.reshape(x, (n, offset_group, c // offset_group, h * w))
    y0, z0 = F.floor(y), F.floor(z)
    total: Any = None
    for dy in (0, 1):
        for dz in (0, 1):
            yy, zz = y0 + like(dy, y), z0 + like(dz, z)
            factor = (1 - F.abs(y - yy)) * (1 - F.abs(z - zz))
            inside = F.ge(yy, 0) & F.lt(yy, h) & F.ge(zz, 0) & F.lt(zz, w)
            place = F.astype(F.clip(yy, 0, h - 1), np.int64) * w + F.astype(F.clip(zz, 0, w - 1), np.int64)
            flat = F.broadcast_to(F.reshape(place, (n, offset_group, 1, taps * oh * ow)),
                                  (n, offset_group, c // offset_group, taps * oh * ow))  # fmt: skip
            taken = F.reshape(F.take_along_axis(planes, flat, 3), (n, offset_group, c // offset_group, taps, oh, ow))
            part = taken * F.expand_dims(F.where(inside, factor, like(0, factor)), 2)
            total = part if total is None else total + part
    if mask is not None:
        total = total * F.reshape(mask, (n, offset_group, 1, taps, oh, ow))
    samples = F.reshape(total, (n, group, per * taps, oh * ow))
    result = F.matmul(F.reshape(weight, (1, group, o // group, per * taps)), samples)
    result = F.reshape(result, (n, o, oh, ow))
    return result if bias is None else result + F.reshape(bias, (1, -1, 1, 1))


# pooling


def _windows(x: T, kernel: Ints, strides: Ints, dilations: Ints, auto_pad: str, pads: Ints, ceil: int) -> Any:
    """Kernel, steps, dilations, and edges; those at the end are grown where `ceil` has windows begin there."""
    assert kernel is not None
    axes = len(kernel)
    steps, spread = strides or (1,) * axes, dilations or (1,) * axes
    edges = _pads(auto_pad, pads, x.shape[2:], kernel, steps, spread)
    grown = []
    for extent, k, s, d, (low, high) in zip(x.shape[2:], kernel, steps, spread, edges, strict=True):
        reach = (k - 1) * d + 1
        span = extent + low + high - reach
        count = (-(-span // s) if ceil and auto_pad in ("NOTSET", "") else span // s) + 1
        if (count - 1) * s >= extent + low:
            count -= 1
        grown.append((low, max((count - 1) * s + reach - extent - low, high)))
    return kernel, steps, spread, edges, grown


@reader("MaxPool")
def _max_pool(
    x: T, *, kernel_shape: Ints = None, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Ints = None, pads: Ints = None,
    storage_order: int = 0, strides: Ints = None, call: NodeContext,
) -> T:  # fmt: skip
    kernel, steps, spread, _, edges = _windows(x, kernel_shape, strides, dilations, auto_pad, pads, ceil_mode)
    kind = x.dtype
    filled = x if kind.kind == "f" else F.astype(x, np.float32)
    wide = _padded(filled, edges, -math.inf)
    pool = _named("max_pool", len(kernel))
    if call.outputs < 2:
        return F.astype(pool(wide, kernel, steps, 0, spread), kind)
    largest, places = pool(wide, kernel, steps, 0, spread, False, True)
    return F.astype(largest, kind), _unpadded(places, x.shape, edges, storage_order)


def _unpadded(places: T, shape: Sequence[int], edges: Sequence[tuple[int, int]], storage_order: int) -> T:
    """Positions in the padded plane of a channel as positions in the whole tensor."""
    axes = len(edges)
    coordinates = []
    rest = places
    for extent, (low, high) in zip(reversed(shape[2:]), reversed(edges), strict=True):
        wide = extent + low + high
        coordinates.append(rest % wide - low)
        rest = F.floor_divide(rest, wide)
    coordinates.reverse()
    order = range(axes) if storage_order == 0 else reversed(range(axes))
    flat: Any = 0
    for axis in order:
        flat = flat * shape[2 + axis] + coordinates[axis]
    plane = np.arange(shape[0] * shape[1]).reshape((*shape[:2], *(1,) * axes)) * math.prod(shape[2:])
    return flat + plane


@reader("AveragePool")
def _average_pool(
    x: T, *, kernel_shape: Ints = None, auto_pad: str = "NOTSET", ceil_mode: int = 0, count_include_pad: int = 0,
    dilations: Ints = None, pads: Ints = None, strides: Ints = None,
) -> T:  # fmt: skip
    kernel, steps, spread, edges, grown = _windows(x, kernel_shape, strides, dilations, auto_pad, pads, ceil_mode)
    sums = _window_sums(_padded(x, grown), kernel, steps, spread)
    counted = np.ones((1, 1, *x.shape[2:]), x.dtype)
    inner = edges if count_include_pad else [(0, 0)] * len(edges)
    counted = np.pad(counted, [(0, 0), (0, 0), *inner], constant_values=1)
    rest = [(0, 0), (0, 0), *((g[0] - i[0], g[1] - i[1]) for g, i in zip(grown, inner, strict=True))]
    counted = np.pad(counted, rest)
    return sums / _window_sums(counted, kernel, steps, spread)


def _window_sums(x: T, kernel: Sequence[int], steps: Sequence[int], spread: Sequence[int]) -> T:
    ones = len(kernel)
    if all(d == 1 for d in spread):
        return _named("avg_pool", ones)(x, tuple(kernel), tuple(steps)) * math.prod(kernel)
    n, c = x.shape[:2]
    flat = F.reshape(x, (n * c, 1, *x.shape[2:]))
    sums = _named("conv", ones)(flat, np.ones((1, 1, *kernel), x.dtype), None, tuple(steps), 0, tuple(spread))
    return F.reshape(sums, (n, c, *sums.shape[2:]))


@reader("LpPool")
def _lp_pool(
    x: T, *, kernel_shape: Ints = None, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Ints = None, p: int = 2,
    pads: Ints = None, strides: Ints = None,
) -> T:  # fmt: skip
    kernel, steps, spread, _, grown = _windows(x, kernel_shape, strides, dilations, auto_pad, pads, ceil_mode)
    powers = F.pow(F.abs(_padded(x, grown)), p)
    return F.pow(_window_sums(powers, kernel, steps, spread), 1.0 / p)


@reader("GlobalAveragePool")
def _global_average(x: T) -> T:
    return F.mean(x, tuple(range(2, x.ndim)), True)


@reader("GlobalMaxPool")
def _global_max(x: T) -> T:
    return F.amax(x, tuple(range(2, x.ndim)), True)


@reader("MaxUnpool", values=(2,))
def _max_unpool(x: T, places: T, shape: T = None, *, kernel_shape: Ints = None, pads: Ints = None, strides: Ints = None) -> T:
    assert kernel_shape is not None
    axes = len(kernel_shape)
    steps, given = strides or (1,) * axes, pads or (0,) * (2 * axes)
    if shape is None:
        spatial = [
            (n - 1) * s + k - given[i] - given[i + axes]
            for i, (n, s, k) in enumerate(zip(x.shape[2:], steps, kernel_shape, strict=True))
        ]
        inner = target = [*x.shape[:2], *spatial]
    else:
        target = [int(extent) for extent in shape]
        inner = [*x.shape[:2], *((n - 1) * s + k for n, s, k in zip(x.shape[2:], steps, kernel_shape, strict=True))]
        inner = inner if math.prod(inner) <= math.prod(target) else target
    flat = F.scatter(np.zeros(math.prod(inner), x.dtype), 0, F.reshape(places, (-1,)), F.reshape(x, (-1,)))
    result = F.reshape(flat, inner)
    return _padded(result, [(0, t - i) for t, i in zip(target[2:], inner[2:], strict=True)])


@reader("Col2Im", values=(1, 2))
def _col2im(x: T, image: T, block: T, *, dilations: Ints = None, pads: Ints = None, strides: Ints = None) -> T:
    extents, kernel = [int(v) for v in image], [int(v) for v in block]
    axes = len(kernel)
    steps, spread, given = strides or (1,) * axes, dilations or (1,) * axes, pads or (0,) * (2 * axes)
    wide = [n + given[i] + given[i + axes] for i, n in enumerate(extents)]
    counts = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(wide, kernel, spread, steps, strict=True)]
    place = np.zeros((), np.int64)
    for i in range(axes):  # the position of each element of each window
        taps = (np.arange(kernel[i]) * spread[i]).reshape([-1 if j == i else 1 for j in range(2 * axes)])
        starts = (np.arange(counts[i]) * steps[i]).reshape([-1 if j == i + axes else 1 for j in range(2 * axes)])
        place = place * wide[i] + (taps + starts)
    n, channels = x.shape[0], x.shape[1] // math.prod(kernel)
    flat = F.reshape(x, (n, channels, -1))
    where = np.broadcast_to(place.reshape(-1), tuple(flat.shape))
    total = F.scatter_add(np.zeros((n, channels, math.prod(wide)), x.dtype), 2, where, flat)
    total = F.reshape(total, (n, channels, *wide))
    return total[(slice(None), slice(None), *(slice(given[i], given[i] + extent) for i, extent in enumerate(extents)))]


# ONNX's normalizations ------------------------------------------------------------------------------------------------


def _channels(x: T, vector: T) -> T:
    return F.reshape(vector, (1, -1) + (1,) * (x.ndim - 2))


@reader("BatchNormalization", state=(3, 4))
def _batch_normalization(
    x: T, scale: T, bias: T, mean: T, var: T, *, epsilon: float = 1e-5, momentum: float = 0.9, training_mode: int = 0,
    spatial: int = 1, is_test: int = 0, call: NodeContext,
) -> T:  # fmt: skip
    if not training_mode:
        factor = scale / F.sqrt(var + like(epsilon, var))
        return F.astype(x * _channels(x, factor) + _channels(x, bias - mean * factor), x.dtype)
    axes = (0, *range(2, x.ndim))
    now, spread = F.mean(x, axes), F.var(x, axes, correction=0)
    result = (x - _channels(x, now)) / F.sqrt(_channels(x, spread) + like(epsilon, x)) * _channels(x, scale) + _channels(
        x, bias
    )
    kept = like(momentum, mean)
    return (result, mean * kept + now * (1 - kept), var * kept + spread * (1 - kept))[: call.outputs]


@reader("InstanceNormalization")
def _instance_normalization(x: T, scale: T, bias: T, *, epsilon: float = 1e-5) -> T:
    axes = tuple(range(2, x.ndim))
    centered = x - F.mean(x, axes, True)
    spread = F.mean(centered * centered, axes, True)
    return centered / F.sqrt(spread + like(epsilon, x)) * _channels(x, scale) + _channels(x, bias)


@reader("LayerNormalization")
def _layer_normalization(
    x: T, scale: T, bias: T = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1, call: NodeContext
) -> T:
    axes = tuple(range(axis % x.ndim, x.ndim))
    mean = F.mean(x, axes, True)
    centered = x - mean
    inverse = F.rsqrt(F.mean(centered * centered, axes, True) + like(epsilon, x))
    result = centered * inverse * scale
    return (result if bias is None else result + bias, mean, inverse)[: call.outputs]


@reader("RMSNormalization")
def _rms_normalization(x: T, scale: T, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> T:
    axes = tuple(range(axis % x.ndim, x.ndim))
    return x * F.rsqrt(F.mean(x * x, axes, True) + like(epsilon, x)) * scale


@reader("GroupNormalization")
def _group_normalization(
    x: T, scale: T, bias: T, *, epsilon: float = 1e-5, num_groups: int, stash_type: int = 1, call: NodeContext
) -> T:
    groups = F.reshape(x, (x.shape[0], num_groups, -1))
    centered = groups - F.mean(groups, -1, True)
    normal = centered * F.rsqrt(F.mean(centered * centered, -1, True) + like(epsilon, x))
    if call.opset < 21:  # scale and bias of a group
        normal = normal * F.reshape(scale, (1, -1, 1)) + F.reshape(bias, (1, -1, 1))
        return F.reshape(normal, x.shape)
    return F.reshape(normal, x.shape) * _channels(x, scale) + _channels(x, bias)


@reader("LRN")
def _lrn(x: T, *, size: int, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0) -> T:
    if size % 2:
        return local_response_norm(x, size, alpha, beta, bias)
    squares = x * x
    channels = x.shape[1]
    total = np.zeros((channels, channels), x.dtype)
    for c in range(channels):
        total[c, max(0, c - (size - 1) // 2) : min(channels, c + -(-(size - 1) // 2) + 1)] = 1
    summed = F.reshape(F.matmul(total, F.reshape(squares, (x.shape[0], channels, -1))), x.shape)
    return x / F.pow(summed * like(alpha / size, x) + like(bias, x), beta)


# onnx's changes of resolution -----------------------------------------------------------------------------------------

# ONNX's changes of resolution: each axis by a matrix, or by positions; and samples at given places.


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


# quantization ---------------------------------------------------------------------------------------------------------


def _aligned(vector: T, x: T, axis: int, block_size: int) -> T:
    """Scales or zero points along an axis, or of blocks along it, against x."""
    if vector is None or vector.ndim == 0 or (vector.ndim == 1 and vector.shape[0] == 1 and not block_size):
        return vector if vector is None or vector.ndim == 0 else F.reshape(vector, ())
    if block_size:
        wide = F.repeat_interleave(vector, block_size, axis)
        return wide[tuple(slice(0, extent) for extent in x.shape)]
    return F.reshape(vector, [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


def _saturated(x: T, dtype: np.dtype) -> T:
    """Rounded numbers in an integer dtype, the ends of its range for those beyond."""
    if dtype.kind not in "iu":
        raise DTypeError(f"ONNX: quantized numbers of dtype {dtype} are not supported")
    ends = np.iinfo(dtype)
    return F.astype(F.clip(x, float(ends.min), float(ends.max)), dtype)


def quantized(x: T, scale: T, zero: T, dtype: np.dtype) -> T:
    """round(x / scale) + zero, in a dtype of integers."""
    number = F.round(F.astype(x / scale, np.float64))
    return _saturated(number if zero is None else number + F.astype(zero, np.float64), dtype)


@reader("QuantizeLinear")
def _quantize(
    x: T, scale: T, zero: T = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0, precision: int = 0,
    saturate: int = 1,
) -> T:  # fmt: skip
    kind = zero.dtype if zero is not None else dtype_of(output_dtype or 2)
    return quantized(x, _aligned(scale, x, axis, block_size), _aligned(zero, x, axis, block_size), kind)


@reader("DequantizeLinear")
def _dequantize(x: T, scale: T, zero: T = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0) -> T:
    kind = dtype_of(output_dtype) if output_dtype else scale.dtype
    number = F.astype(x, np.int32)
    if zero is not None:
        number = number - F.astype(_aligned(zero, x, axis, block_size), np.int32)
    return F.astype(F.astype(number, scale.dtype) * _aligned(scale, x, axis, block_size), kind)


@reader("DynamicQuantizeLinear")
def _dynamic(x: T) -> T:
    high, low = F.maximum(F.amax(x), np.zeros((), x.dtype)), F.minimum(F.amin(x), np.zeros((), x.dtype))
    scale = (high - low) / np.asarray(255, x.dtype)
    zero = F.astype(F.round(F.clip(-low / scale, 0.0, 255.0)), np.uint8)
    return quantized(x, scale, zero, np.dtype(np.uint8)), scale, zero


@reader("QLinearMatMul")
def _qlinear_matmul(a: T, a_scale: T, a_zero: T, b: T, b_scale: T, b_zero: T, y_scale: T, y_zero: T) -> T:
    product = F.astype(integer_product(whole(a, a_zero, -2), whole(b, b_zero, -1)), np.float64)
    factor = F.astype(a_scale, np.float64) * F.astype(b_scale, np.float64)
    return quantized(product * factor, F.astype(y_scale, np.float64), y_zero, y_zero.dtype)


@reader("QLinearConv")
def _qlinear_conv(
    x: T, x_scale: T, x_zero: T, w: T, w_scale: T, w_zero: T, y_scale: T, y_zero: T, bias: T = None, **settings: Any
) -> T:
    product = conv(F.astype(whole(x, x_zero), np.float64), F.astype(whole(w, w_zero, 0), np.float64), None, **settings)
    if bias is not None:
        product = product + F.reshape(F.astype(bias, np.float64), (1, -1) + (1,) * (x.ndim - 2))
    factor = F.astype(x_scale, np.float64) * F.astype(w_scale, np.float64)
    factor = F.reshape(factor, (1, -1) + (1,) * (x.ndim - 2)) if w_scale.ndim else factor
    return quantized(product * factor, F.astype(y_scale, np.float64), y_zero, y_zero.dtype)
