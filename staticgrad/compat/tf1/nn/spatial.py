"""Convolutions, pools and windows over any number of spatial axes in TensorFlow's layouts, transposes and gradients of
convolutions, morphology."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import convert_to_tensor, shape, zeros
from ..core import FLOATING, F, finfo, functional, pad, static
from ..dtypes import as_dtype
from ..gradients import gradients
from ..tensor import Operand, Pair, arguments, extent_of, extents_of, operation, pair, signature, tensor

SPATIAL = frozenset({"output_shape", "filter_sizes", "input_sizes"})


def _first(data_format: str | None) -> bool:
    """Whether the channels come before the spatial axes."""
    return bool(data_format) and str(data_format).startswith("NC")


def _numbers(values: Any, axes: int, data_format: str | None) -> list[int]:
    """One number per spatial axis, from one of TensorFlow's forms: n, one each, or with 1 for batch and channels."""
    if values is None:
        return [1] * axes
    found = [values] if isinstance(values, int) else [int(v) for v in values]
    if len(found) == 1:
        found *= axes
    if len(found) == axes + 2:
        found = found[2:] if _first(data_format) else found[1:-1]
    return found


def _moved(x: Any, data_format: str | None) -> Any:
    """x with its channels first."""
    return x if _first(data_format) else F.permute(x, (0, x.ndim - 1, *range(1, x.ndim - 1)))


def _back(x: Any, data_format: str | None) -> Any:
    return x if _first(data_format) else F.permute(x, (0, *range(2, x.ndim), 1))


Edges = list[tuple[int, int]]


def _edges(x: Any, kernel: Sequence[int], steps: Sequence[int], spread: Sequence[int], padding: Any, form: Any) -> Edges:
    """Elements before and after each spatial axis of x, whose channels are first."""
    if not isinstance(padding, str):
        given = [(int(a), int(b)) for a, b in padding]
        return given[2:] if _first(form) else given[1:-1]
    if padding == "VALID":
        return [(0, 0)] * len(kernel)
    if padding != "SAME":
        raise ValueError(f'padding must be either "VALID" or "SAME", got {padding!r}')
    found = []
    for i, (k, step, hole) in enumerate(zip(kernel, steps, spread, strict=True)):
        reach = (k - 1) * hole + 1
        total = reach - 1 if step == 1 else _missing(extent_of(x, 2 + i), reach, step)
        found.append((total // 2, total - total // 2))
    return found


def _missing(extent: int, reach: int, stride: int) -> int:
    """How many elements an axis lacks for ceil(extent / stride) windows."""
    return max((math.ceil(extent / stride) - 1) * stride + reach - extent, 0)


def _padded(x: Any, edges: Edges, value: float = 0.0) -> Any:
    if not any(map(any, edges)):
        return x
    return functional.pad(x, [n for edge in reversed(edges) for n in edge], value=value)


def _by_rank(table: dict[int, Callable[..., Any]], axes: int) -> Callable[..., Any]:
    """Raises ValueError for another number of spatial axes than 1, 2 and 3."""
    if axes not in table:
        raise ValueError(f"1, 2 or 3 spatial axes are supported, got {axes}")
    return table[axes]


FILTERS = {"filters": "filter"}
CONVOLUTIONS = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}


def convolved(x: Any, w: Any, strides: Any, padding: Any, form: str | None, dilations: Any) -> Any:
    """Cross-correlation with a filter (*kernel, channels, outputs); several groups where x has a multiple of its channels."""
    axes = w.ndim - 2
    call = _by_rank(CONVOLUTIONS, axes)
    steps, spread = _numbers(strides, axes, form), _numbers(dilations, axes, form)
    x = _moved(x, form)
    kernel = extents_of(w)[:axes]
    edges = _edges(x, kernel, steps, spread, padding, form)
    around = [before for before, _ in edges]
    if any(before != after for before, after in edges):  # what is the same on both sides a convolution adds by itself
        x, around = _padded(x, edges), [0] * axes
    weight = F.permute(w, (axes + 1, axes, *range(axes)))
    channels = x.shape[1]
    groups = 1 if channels is None else channels // extents_of(w)[axes]
    return _back(call(x, weight, stride=steps, padding=around, dilation=spread, groups=groups), form)


@operation("Conv2D", old=FILTERS)
def conv2d(
    input: Pair, filter: Pair = None, strides: Any = None, padding: Any = None, use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC", dilations: Any = (1, 1, 1, 1),
) -> Any:  # fmt: skip
    """Cross-correlation of images (NHWC or NCHW) with a filter (height, width, channels, outputs)."""
    return convolved(input, filter, strides, padding, data_format, dilations)


@operation("Conv3D", old=FILTERS)
def conv3d(
    input: Pair, filter: Pair = None, strides: Any = None, padding: Any = None, data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
) -> Any:  # fmt: skip
    """Cross-correlation of volumes (NDHWC or NCDHW) with a filter (depth, height, width, channels, outputs)."""
    return convolved(input, filter, strides, padding, data_format, dilations)


@operation("Conv")
def conv(
    input: Pair, filter: Pair, strides: Any, padding: str, explicit_paddings: Any = (), data_format: str = "CHANNELS_LAST",
    dilations: Any = (), batch_dims: int = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """Cross-correlation of images or volumes, by the rank of the filter."""
    form = "NC" if data_format == "CHANNELS_FIRST" else "N"
    if padding == "EXPLICIT":
        flat = [int(n) for n in explicit_paddings]
        padding = list(zip(flat[::2], flat[1::2], strict=True))  # type: ignore[assignment]
    return convolved(input, filter, strides, padding, form, dilations or None)


def _by_channel(x: Any, w: Any, strides: Any, padding: Any, form: str | None, dilations: Any) -> Any:
    """A convolution of each channel with filters of its own: filter (height, width, channels, multiplier)."""
    x, w = pair(x, w, "DepthwiseConv2dNative")
    height, width, channels, multiplier = extents_of(w)
    return convolved(x, F.reshape(w, (height, width, 1, channels * multiplier)), strides, padding, form, dilations)


@operation("depthwise", "DepthwiseConv2dNative")
def depthwise_conv2d_native(
    input: Any, filter: Any, strides: Any, padding: Any, data_format: str = "NHWC", dilations: Any = (1, 1, 1, 1)
) -> Any:
    """A convolution of each channel with filters of its own: filter (height, width, channels, multiplier)."""
    return _by_channel(input, filter, strides, padding, data_format, dilations)


@operation("depthwise")
def depthwise_conv2d(
    input: Any, filter: Any, strides: Any, padding: Any, rate: Any = None, data_format: str | None = "NHWC",
    dilations: Any = None,
) -> Any:  # fmt: skip
    """`depthwise_conv2d_native`, whose dilations may be called `rate`."""
    return _by_channel(input, filter, strides, padding, data_format, dilations if rate is None else rate)


@operation("conv2d_transpose")
def conv2d_transpose(
    value: Any = None, filter: Any = None, output_shape: Any = None, strides: Any = None, padding: str = "SAME",
    data_format: str = "NHWC", input: Any = None, filters: Any = None, dilations: Any = None,
) -> Any:  # fmt: skip
    """The gradient of `conv2d` by its input, as a layer: filter (height, width, outputs, channels)."""
    x, w = pair(input if value is None else value, filter if filters is None else filters, "Conv2DBackpropInput")
    steps, spread = _numbers(strides, 2, data_format), _numbers(dilations, 2, data_format)
    reach = [(k - 1) * d + 1 for k, d in zip(extents_of(w)[:2], spread, strict=True)]
    sizes = [int(n) for n in output_shape]
    wanted = sizes[2:] if _first(data_format) else sizes[1:3]
    x = _moved(x, data_format)
    full = functional.conv_transpose2d(x, F.permute(w, (3, 2, 0, 1)), stride=steps, dilation=spread)
    cut: list[slice] = []
    for i in range(2):
        before = _missing(wanted[i], reach[i], steps[i]) // 2 if padding == "SAME" else 0
        missing = before + wanted[i] - extent_of(full, 2 + i)
        if missing > 0:
            full = functional.pad(full, (0, missing) if i else (0, 0, 0, missing))
        cut.append(slice(before, before + wanted[i]))
    return _back(full[(slice(None), slice(None), *cut)], data_format)


# gradients of convolutions, which are layers of their own -------------------------------------------------------------


@operation("conv", "Conv")
def _conv(x: Operand, w: Operand, strides: Any, padding: Any, form: Any, dilations: Any) -> Any:
    return convolved(x, w, strides, padding, form, dilations)


def _slope(call: Callable[..., Any], by_filter: bool, sizes: Any, other: Any, slope: Any, name: str, *settings: Any) -> Any:
    """The cotangent of the images, or of the filter, of `call(images, filter, *settings)`, from that of its result."""
    other, slope = convert_to_tensor(other), convert_to_tensor(slope)
    graph = other.graph
    with graph.as_default(), graph.name_scope(name):
        start = zeros(sizes, other.dtype)
        out = call(other, start, *settings) if by_filter else call(start, other, *settings)
        return gradients(out, [start], grad_ys=[slope])[0]


IMAGES, FILTER = ("input_sizes", "filter"), ("input", "filter_sizes")
CUDNN = {"use_cudnn_on_gpu": True}


def _cotangent(
    label: str, of: str, operands: tuple[str, str], form: str = "NHWC", more: Mapping[str, Any] | None = None,
    old: Mapping[str, str] | None = None, call: Callable[..., Any] = _conv, by_tensors: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A cotangent of a convolution: its operands are images or their sizes, and a filter or its sizes."""
    wanted = ("input", "filter") if by_tensors else operands
    start: Any = None if old else ...
    required = {wanted[0]: ..., **dict.fromkeys((wanted[1], "out_backprop", "strides", "padding"), start)}
    ones = (1,) * len(form)
    rest = {"data_format": form, "dilations": ones, "name": None, **dict.fromkeys(old or {})}
    signed = signature({**required, **(more or {}), **rest})
    by_filter = operands == FILTER

    def cotangent(*args: Any, **kwargs: Any) -> Any:
        given = arguments(signed, args, kwargs)
        for key, newer in (old or {}).items():
            given[newer] = given[newer] if given[key] is None else given[key]
        first, second = given[wanted[0]], given[wanted[1]]
        sizes, other = (second, first) if by_filter else (first, second)
        settings = (given[key] for key in ("strides", "padding", "data_format", "dilations"))
        sizes = shape(sizes) if by_tensors else sizes
        return _slope(call, by_filter, sizes, other, given["out_backprop"], given["name"] or label, *settings)

    cotangent.__doc__ = f"The cotangent of the {'filter' if by_filter else 'images'} of a `{of}`, from that of its result."
    cotangent.__signature__ = signed  # type: ignore[attr-defined]
    return cotangent


conv2d_backprop_input = _cotangent("Conv2DBackpropInput", "conv2d", IMAGES, more=CUDNN, old={"filters": "filter"})
conv2d_backprop_filter = _cotangent("Conv2DBackpropFilter", "conv2d", FILTER, more=CUDNN)
conv3d_backprop_filter = _cotangent("Conv3DBackpropFilterV2", "conv3d", FILTER, "NDHWC")
conv3d_backprop_filter_v2 = conv3d_backprop_filter
PADDINGS = {**CUDNN, "explicit_paddings": ()}
conv2d_backprop_input_v2 = _cotangent("Conv2DBackpropInput", "conv2d", IMAGES, more=PADDINGS, by_tensors=True)
conv2d_backprop_filter_v2 = _cotangent("Conv2DBackpropFilter", "conv2d", FILTER, more=PADDINGS, by_tensors=True)
depthwise_conv2d_backprop_input = depthwise_conv2d_native_backprop_input = _cotangent(
    "DepthwiseConv2dNativeBackpropInput", "depthwise_conv2d", IMAGES, call=depthwise_conv2d_native
)
depthwise_conv2d_backprop_filter = depthwise_conv2d_native_backprop_filter = _cotangent(
    "DepthwiseConv2dNativeBackpropFilter", "depthwise_conv2d", FILTER, call=depthwise_conv2d_native
)


def conv_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: str = "SAME", data_format: str | None = None,
    dilations: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """The gradient of a convolution by its input, as a layer: filters (*kernel, outputs, channels)."""
    settings = strides, padding, data_format, dilations
    return _slope(_conv, False, output_shape, filters, input, name or "conv_transpose", *settings)


def conv1d_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: str = "SAME", data_format: str = "NWC",
    dilations: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """`conv_transpose` of sequences."""
    return conv_transpose(input, filters, output_shape, strides, padding, data_format, dilations, name or "conv1d_transpose")


def conv3d_transpose(
    value: Any = None, filter: Any = None, output_shape: Any = None, strides: Any = None, padding: str = "SAME",
    data_format: str = "NDHWC", name: str | None = None, input: Any = None, filters: Any = None, dilations: Any = None,
) -> Any:  # fmt: skip
    """`conv_transpose` of volumes."""
    x, w = (input if value is None else value), (filter if filters is None else filters)
    return conv_transpose(x, w, output_shape, strides, padding, data_format, dilations, name or "conv3d_transpose")


def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: str, name: str | None = None
) -> Any:
    """The gradient of `atrous_conv2d` by its input, as a layer."""
    return conv_transpose(value, filters, output_shape, 1, padding, "NHWC", rate, name or "atrous_conv2d_transpose")


# pools ----------------------------------------------------------------------------------------------------------------

MAXIMA = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}
MEANS = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}


def _largest(x: Any, kernel: list[int], steps: list[int], edges: Edges, spread: list[int]) -> Any:
    """The largest element of each window."""
    low = -math.inf if x.dtype.kind in FLOATING else int(np.iinfo(x.dtype).min)
    return _by_rank(MAXIMA, len(kernel))(_padded(x, edges, low), kernel, stride=steps, dilation=spread)


def _mean(x: Any, kernel: list[int], steps: list[int], edges: Edges, spread: list[int]) -> Any:
    """The mean of each window, without padding."""
    means = _by_rank(MEANS, len(kernel))
    if any(d != 1 for d in spread):
        raise ValueError("pool: means of windows with holes are not supported; take tf.nn.convolution with equal weights")
    out = means(_padded(x, edges), kernel, stride=steps)
    return F.div(out, means(_padded(F.ones_like(x), edges), kernel, stride=steps)) if any(map(any, edges)) else out


def _pooled(value: Any, ksize: Any, strides: Any, padding: Any, form: str | None, fold: Any, spread: Any = None) -> Any:
    x = _moved(tensor(value), form)
    axes = x.ndim - 2
    kernel, steps, holes = (_numbers(v, axes, form) for v in (ksize, strides, spread))
    return _back(fold(x, kernel, steps, _edges(x, kernel, steps, holes, padding, form), holes), form)


def _pool(name: str, fold: Any, default: str | None) -> Callable[..., Any]:
    def call(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = default) -> Any:
        return _pooled(input, ksize, strides, padding, data_format, fold)

    call.__doc__ = fold.__doc__
    return operation(name)(call)


def _pool_of_images(name: str, fold: Any) -> Callable[..., Any]:
    def call(
        value: Any = None, ksize: Any = None, strides: Any = None, padding: Any = None, data_format: str | None = "NHWC"
    ) -> Any:
        return _pooled(value, ksize, strides, padding, data_format, fold)

    call.__doc__ = fold.__doc__
    return operation(name, old={"input": "value"})(call)


max_pool, avg_pool = _pool_of_images("MaxPool", _largest), _pool_of_images("AvgPool", _mean)
max_pool3d, avg_pool3d = _pool("MaxPool3D", _largest, "NDHWC"), _pool("AvgPool3D", _mean, "NDHWC")
max_pool_v2, avg_pool_v2 = _pool("MaxPool", _largest, None), _pool("AvgPool", _mean, None)


@operation("pool", old={"dilations": "dilation_rate"})
def pool(
    input: Any, window_shape: Any, pooling_type: str, padding: Any, dilation_rate: Any = None, strides: Any = None,
    data_format: str | None = None,
) -> Any:  # fmt: skip
    """Pooling over any number of spatial axes by its name, "MAX" or "AVG"."""
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f'pooling_type must be "MAX" or "AVG", got {pooling_type!r}')
    fold = _largest if pooling_type == "MAX" else _mean
    return _pooled(input, window_shape, strides, padding, data_format, fold, dilation_rate)


@operation("MaxPoolWithArgmax")
def max_pool_with_argmax(
    input: Operand, ksize: Any, strides: Any, padding: str, data_format: str = "NHWC", Targmax: Any = None,
    output_dtype: Any = None, include_batch_in_index: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """(the largest element of each window, its position ((batch) * height + row) * width + column) * channels + channel)."""
    x = _moved(input, data_format)
    batch, channels, height, width = extents_of(x)
    kernel, steps = _numbers(ksize, 2, data_format), _numbers(strides, 2, data_format)
    edges = _edges(x, kernel, steps, [1, 1], padding, data_format)
    values, places = functional.max_pool2d_with_indices(_padded(x, edges, -math.inf), kernel, stride=steps)
    across = width + sum(edges[1])
    row = F.sub(F.floor_divide(places, across), edges[0][0])
    column = F.sub(F.remainder(places, across), edges[1][0])
    index = F.add(F.mul(row, width), column)
    if include_batch_in_index:
        index = F.add(index, static.constant(np.arange(batch).reshape(-1, 1, 1, 1) * (height * width)))
    index = F.add(F.mul(index, channels), static.constant(np.arange(channels).reshape(1, -1, 1, 1)))
    kind = as_dtype(output_dtype or Targmax or np.int64).numpy
    return _back(values, data_format), F.astype(_back(index, data_format), kind)


# windows and morphology -------------------------------------------------------------------------------------------------


def _windows(x: Any, kernel: Sequence[int], steps: Sequence[int], spread: Sequence[int]) -> Iterator[tuple[Any, Any]]:
    """(the place in a window, the elements of x, whose channels are first, that all windows have there)."""
    sizes = extents_of(x)[2:]
    count = [(e - (k - 1) * d - 1) // s + 1 for e, k, d, s in zip(sizes, kernel, spread, steps, strict=True)]
    for place in np.ndindex(*kernel):
        starts = [p * d for p, d in zip(place, spread, strict=True)]
        key = (slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, count, steps, strict=True))
        yield place, x[(slice(None), slice(None), *key)]


def _patches(x: Any, size: list[int], step: list[int], rate: list[int], padding: str) -> Any:
    x = _moved(tensor(x), None)
    x = _padded(x, _edges(x, size, step, rate, padding, None))
    return F.concatenate([_back(part, None) for _, part in _windows(x, size, step, rate)], axis=-1)


@operation("ExtractImagePatches", sizes=frozenset({"ksizes", "sizes", "strides", "rates"}))
def extract_image_patches(
    images: Any, ksizes: Any = None, strides: Any = None, rates: Any = None, padding: str = "VALID", sizes: Any = None
) -> Any:
    """Windows of images as channels: (n, rows, columns, height * width * c). rates: distances of a window's elements."""
    size, step, rate = (list(v)[1:3] for v in (sizes if ksizes is None else ksizes, strides, rates))
    return _patches(images, size, step, rate, padding)


@operation("ExtractVolumePatches", sizes=frozenset({"ksizes", "strides"}))
def extract_volume_patches(input: Any, ksizes: Any, strides: Any, padding: str) -> Any:
    """Windows of volumes as channels: (n, planes, rows, columns, size of a window * c)."""
    return _patches(input, list(ksizes)[1:4], list(strides)[1:4], [1, 1, 1], padding)


def _dilated(x: Any, w: Any, strides: Any, rates: Any, padding: Any) -> Any:
    kernel, steps, spread = extents_of(w)[:2], _numbers(strides, 2, "NHWC"), _numbers(rates, 2, "NHWC")
    moved = _moved(x, "NHWC")
    edges = _edges(moved, kernel, steps, spread, padding, "NHWC")
    low = float(finfo(x.dtype).min) / 2 if x.dtype.kind in FLOATING else int(np.iinfo(x.dtype).min) // 2
    parts = _windows(_padded(moved, edges, low), kernel, steps, spread)
    stacked = F.stack([F.add(_back(part, "NHWC"), w[place]) for place, part in parts], axis=0)
    first = F.expand_dims(F.argmax(stacked, axis=0), 0)  # the gradient goes to the first of equal elements
    return F.squeeze(F.gather(stacked, 0, first), 0)


@operation("Dilation2D", old={**FILTERS, "dilations": "rates"})
def dilation2d(input: Pair, filter: Pair = None, strides: Any = None, rates: Any = None, padding: Any = None) -> Any:
    """The largest sum of a window's elements and the filter (height, width, channels)."""
    return _dilated(input, filter, strides, rates, padding)


@operation("erosion2d", "Neg")
def erosion2d(value: Any, kernel: Any, strides: Any, rates: Any, padding: Any) -> Any:
    """The smallest difference of a window's elements and the kernel (height, width, channels)."""
    x, w = pair(value, kernel, "Dilation2D")
    return F.neg(_dilated(F.neg(x), F.flip(F.flip(w, 0), 1), strides, rates, padding))


# sequences, separable convolutions, rearrangements of images ----------------------------------------------------------


def conv1d(
    value: Any = None, filters: Any = None, stride: Any = None, padding: str | None = None, use_cudnn_on_gpu: Any = None,
    data_format: str | None = None, name: str | None = None, input: Any = None, dilations: Any = None,
) -> Any:  # fmt: skip
    """Cross-correlation of sequences (NWC) with a filter (width, channels, outputs)."""
    x = input if value is None else value
    return convolution(x, filters, padding, stride, dilations, data_format, name=name or "conv1d")


def atrous_conv2d(value: Any, filters: Any, rate: int, padding: str, name: str | None = None) -> Any:
    """A convolution whose filter has `rate - 1` holes between its elements."""
    return conv2d(value, filters, [1, 1, 1, 1], padding, dilations=[1, rate, rate, 1], name=name)


def separable_conv2d(
    input: Any, depthwise_filter: Any, pointwise_filter: Any, strides: Any, padding: str, rate: Any = None,
    name: str | None = None, data_format: str | None = None, dilations: Any = None,
) -> Any:  # fmt: skip
    """A convolution of each channel, and one of 1x1 over all of them."""
    form = data_format or "NHWC"
    inner = depthwise_conv2d(input, depthwise_filter, strides, padding, dilations if rate is None else rate, form)
    return conv2d(inner, pointwise_filter, [1, 1, 1, 1], "VALID", data_format=form, name=name)


@operation("convolution", old={"filters": "filter", "dilations": "dilation_rate"})
def convolution(
    input: Any, filter: Any = None, padding: Any = "VALID", strides: Any = None, dilation_rate: Any = None,
    data_format: str | None = None,
) -> Any:  # fmt: skip
    """A convolution of sequences, images or volumes, by the rank of the filter."""
    return convolved(*pair(input, filter, "Conv"), strides, padding, data_format, dilation_rate)


def _pool1d(call: Any, label: str) -> Any:
    def pool1d(input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NWC", name: str | None = None) -> Any:
        return call(input, ksize, strides, padding, data_format, name=name or label)

    return pool1d


max_pool1d, avg_pool1d = _pool1d(max_pool_v2, "max_pool1d"), _pool1d(avg_pool_v2, "avg_pool1d")
max_pool2d, avg_pool2d = max_pool, avg_pool


@operation("DepthToSpace")
def depth_to_space(input: Operand, block_size: int, data_format: str = "NHWC") -> Any:
    """Channels become blocks of block_size x block_size elements."""
    x, b = input, block_size
    n, h, w, c = extents_of(x)
    x = F.reshape(x, (n, h, w, b, b, c // (b * b)))
    return F.reshape(F.permute(x, (0, 1, 3, 2, 4, 5)), (n, h * b, w * b, c // (b * b)))


@operation("SpaceToDepth")
def space_to_depth(input: Operand, block_size: int, data_format: str = "NHWC") -> Any:
    """Blocks of block_size x block_size elements become channels."""
    x, b = input, block_size
    n, h, w, c = extents_of(x)
    x = F.reshape(x, (n, h // b, b, w // b, b, c))
    return F.reshape(F.permute(x, (0, 1, 3, 2, 4, 5)), (n, h // b, w // b, b * b * c))


@operation("SpaceToBatchND", sizes=frozenset({"block_shape", "paddings"}))
def space_to_batch_nd(input: Operand, block_shape: Any, paddings: Any) -> Any:
    """Blocks of the padded spatial axes become parts of the batch."""
    blocks, edges = [int(b) for b in block_shape], [[int(v) for v in row] for row in paddings]
    m = len(blocks)
    x = input
    rest = x.ndim - 1 - m
    x = pad(x, [0] * (2 * rest) + [v for row in reversed(edges) for v in row])
    n, *shape = extents_of(x)
    split = [part for extent, b in zip(shape[:m], blocks, strict=True) for part in (extent // b, b)]
    x = F.reshape(x, (n, *split, *shape[m:]))
    order = [2 + 2 * i for i in range(m)] + [0] + [1 + 2 * i for i in range(m)] + list(range(2 * m + 1, x.ndim))
    x = F.permute(x, tuple(order))
    return F.reshape(x, (-1, *(e // b for e, b in zip(shape[:m], blocks, strict=True)), *shape[m:]))


@operation("BatchToSpaceND", sizes=frozenset({"block_shape", "crops"}))
def batch_to_space_nd(input: Operand, block_shape: Any, crops: Any) -> Any:
    """The inverse of `space_to_batch_nd`, whose padding `crops` takes off."""
    blocks, edges = [int(b) for b in block_shape], [[int(v) for v in row] for row in crops]
    m = len(blocks)
    x = input
    n, *shape = extents_of(x)
    total = 1
    for b in blocks:
        total *= b
    x = F.reshape(x, (*blocks, n // total, *shape))
    order = [m] + [axis for i in range(m) for axis in (m + 1 + i, i)] + list(range(2 * m + 1, x.ndim))
    x = F.permute(x, tuple(order))
    x = F.reshape(x, (n // total, *(e * b for e, b in zip(shape[:m], blocks, strict=True)), *shape[m:]))
    cuts = [slice(a, e * b - z) for (a, z), e, b in zip(edges, shape[:m], blocks, strict=True)]
    return x[(slice(None), *cuts)]


@operation("LRN")
def local_response_normalization(
    input: Operand, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5
) -> Any:
    """x / (bias + alpha * (sum of squares of the channels near it)) ^ beta."""
    channels = extent_of(input, -1)
    squares = pad(F.square(input), (depth_radius, depth_radius))
    near = squares[..., 0:channels]
    for k in range(1, 2 * depth_radius + 1):
        near = F.add(near, squares[..., k : k + channels])
    return F.div(input, F.pow(F.add(F.mul(near, alpha), bias), beta))


lrn = local_response_normalization


@operation("fused_batch_norm", "FusedBatchNormV3")
def fused_batch_norm(
    x: Operand, scale: Any, offset: Any, mean: Operand = None, variance: Operand = None, epsilon: float = 0.001,
    data_format: str = "NHWC", is_training: bool = True, exponential_avg_factor: float = 1.0,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """(normalized images, mean, variance over n - 1) per channel: of the batch in training, else as given."""
    if data_format not in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
        raise ValueError(f"data_format must be NHWC, NCHW, NDHWC or NCDHW, got {data_format!r}")
    channel = len(data_format) - 1 if data_format.endswith("C") else 1
    axes = tuple(i for i in range(len(data_format)) if i != channel)
    form = (-1, *[1] * (len(data_format) - 1 - channel))
    scale, offset = tensor(scale), tensor(offset)
    if is_training:
        batch_mean, spread = F.mean(x, axis=axes), F.var(x, axis=axes, correction=0)
        count = math.prod(extents_of(x)[i] for i in axes)
        new_mean, new_spread = batch_mean, F.mul(spread, count / max(count - 1, 1))
    else:
        batch_mean, spread = mean, variance
        new_mean, new_spread = batch_mean, spread
    gain = F.mul(F.reshape(scale, form), F.rsqrt(F.add(F.reshape(spread, form), epsilon)))
    return F.add(F.mul(F.sub(x, F.reshape(batch_mean, form)), gain), F.reshape(offset, form)), new_mean, new_spread


@operation("log_poisson_loss")
def log_poisson_loss(targets: Operand, log_input: Operand, compute_full_loss: bool = False) -> Any:
    """exp(log_input) - targets * log_input, with Stirling's term for targets of 1 and more if `compute_full_loss`."""
    loss = F.sub(F.exp(log_input), F.mul(targets, log_input))
    if not compute_full_loss:
        return loss
    safe = F.where(F.gt(targets, 0), targets, F.ones_like(targets))
    stirling = F.add(F.sub(F.mul(safe, F.log(safe)), safe), F.mul(F.log(F.mul(safe, 2 * math.pi)), 0.5))
    inside = F.logical_and(F.ge(targets, 0), F.le(targets, 1))
    return F.add(loss, F.where(inside, F.zeros_like(targets), stirling))


def with_space_to_batch(
    input: Any, dilation_rate: Any, padding: str, op: Any, filter_shape: Any = None, spatial_dims: Any = None,
    data_format: str | None = None,
) -> Any:  # fmt: skip
    """`op(input, num_spatial_dims, "VALID")` of an input whose spatial axes are spread by the rates, and the inverse."""
    rates = [int(r) for r in np.asarray(dilation_rate).ravel()]
    axes = spatial_dims or list(range(2, 2 + len(rates)) if data_format and data_format.startswith("NC") else
                                range(1, 1 + len(rates)))  # fmt: skip
    if all(r == 1 for r in rates):
        return op(input, len(rates), padding)
    if list(axes) != list(range(1, 1 + len(rates))):
        raise ValueError("with_space_to_batch: the spatial axes have to follow the batch; transpose the input")
    sizes = input.shape.as_list()[1 : 1 + len(rates)]
    base = np.zeros((len(rates), 2), int)
    if padding == "SAME":
        reach = (np.asarray(filter_shape)[: len(rates)] - 1) * rates
        base = np.stack([reach // 2, reach - reach // 2], 1)
    extra = [-(n + b.sum()) % r for n, b, r in zip(sizes, base, rates, strict=True)]
    paddings = [[int(b[0]), int(b[1] + e)] for b, e in zip(base, extra, strict=True)]
    spread = op(space_to_batch_nd(input, rates, paddings), len(rates), "VALID")
    return batch_to_space_nd(spread, rates, [[0, int(e)] for e in extra])
