"""ONNX's convolutions, poolings and changes of resolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import functional
from ...errors import ArgumentError
from ...functional import local_response_norm
from ...operators import F
from .elementwise import like, whole
from .records import Call, T, reader

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
    storage_order: int = 0, strides: Ints = None, call: Call,
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
    spatial: int = 1, is_test: int = 0, call: Call,
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
    x: T, scale: T, bias: T = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1, call: Call
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
    x: T, scale: T, bias: T, *, epsilon: float = 1e-5, num_groups: int, stash_type: int = 1, call: Call
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
