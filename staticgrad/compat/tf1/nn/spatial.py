"""Convolutions, pools and windows over any number of spatial axes in TensorFlow's layouts, transposes and gradients of
convolutions, morphology."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .... import functional, static
from ....operators import F
from ..arrays import shape, zeros
from ..dtypes import as_dtype
from ..gradients import gradients
from ..tensor import Operand, Pair, extent_of, extents_of, operation, pair, tensor

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


@operation("Conv2D")
def conv2d(
    input: Any, filter: Any = None, strides: Any = None, padding: Any = None, use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC", dilations: Any = (1, 1, 1, 1), filters: Any = None,
) -> Any:  # fmt: skip
    """Cross-correlation of images (NHWC or NCHW) with a filter (height, width, channels, outputs)."""
    x, w = pair(input, filter if filters is None else filters, "Conv2D")
    return convolved(x, w, strides, padding, data_format, dilations)


@operation("Conv3D")
def conv3d(
    input: Any, filter: Any = None, strides: Any = None, padding: Any = None, data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1), filters: Any = None,
) -> Any:  # fmt: skip
    """Cross-correlation of volumes (NDHWC or NCDHW) with a filter (depth, height, width, channels, outputs)."""
    x, w = pair(input, filter if filters is None else filters, "Conv3D")
    return convolved(x, w, strides, padding, data_format, dilations)


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


def _slope(call: Callable[[Any], Any], sizes: Any, like: Any, slope: Any, name: str | None) -> Any:
    """The cotangent of a linear function of a tensor of these sizes."""
    graph = like.graph
    with graph.as_default(), graph.name_scope(name):
        start = zeros(sizes, like.dtype)
        return gradients(call(start), [start], grad_ys=[slope])[0]


def _handle(x: Any) -> Any:
    from ..arrays import convert_to_tensor

    return convert_to_tensor(x)


@operation("conv", "Conv")
def _conv(x: Operand, w: Operand, strides: Any, padding: Any, form: Any, dilations: Any) -> Any:
    return convolved(x, w, strides, padding, form, dilations)


def _by_input(label: str, sizes: Any, filter: Any, slope: Any, strides: Any, padding: Any, form: Any, dilations: Any,
              name: str | None) -> Any:  # fmt: skip
    filter, slope = _handle(filter), _handle(slope)
    return _slope(lambda x: _conv(x, filter, strides, padding, form, dilations), sizes, filter, slope, name or label)


def _by_filter(label: str, x: Any, sizes: Any, slope: Any, strides: Any, padding: Any, form: Any, dilations: Any,
               name: str | None) -> Any:  # fmt: skip
    x, slope = _handle(x), _handle(slope)
    return _slope(lambda w: _conv(x, w, strides, padding, form, dilations), sizes, x, slope, name or label)


def conv2d_backprop_input(
    input_sizes: Any, filter: Any = None, out_backprop: Any = None, strides: Any = None, padding: Any = None,
    use_cudnn_on_gpu: bool = True, data_format: str = "NHWC", dilations: Any = (1, 1, 1, 1), name: str | None = None,
    filters: Any = None,
) -> Any:  # fmt: skip
    """The cotangent of the images of a `conv2d`, from that of its result."""
    kernel = filter if filters is None else filters
    return _by_input("Conv2DBackpropInput", input_sizes, kernel, out_backprop, strides, padding, data_format, dilations, name)


def conv2d_backprop_filter(
    input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: Any, use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC", dilations: Any = (1, 1, 1, 1), name: str | None = None,
) -> Any:  # fmt: skip
    """The cotangent of the filter of a `conv2d`, from that of its result."""
    return _by_filter("Conv2DBackpropFilter", input, filter_sizes, out_backprop, strides, padding, data_format, dilations, name)


def conv3d_backprop_filter(
    input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: str, data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1), name: str | None = None,
) -> Any:  # fmt: skip
    """The cotangent of the filter of a `conv3d`, from that of its result."""
    return _by_filter(
        "Conv3DBackpropFilterV2", input, filter_sizes, out_backprop, strides, padding, data_format, dilations, name
    )


conv3d_backprop_filter_v2 = conv3d_backprop_filter


def _by_tensors(function: Callable[..., Any], sizes: Callable[[Any, Any], tuple[Any, Any]], doc: str) -> Callable[..., Any]:
    """A cotangent of `conv2d`, of images and a filter as tensors; sizes: those that `function` takes for them."""

    def call(
        input: Any, filter: Any, out_backprop: Any, strides: Any, padding: Any, use_cudnn_on_gpu: bool = True,
        explicit_paddings: Any = (), data_format: str = "NHWC", dilations: Any = (1, 1, 1, 1), name: str | None = None,
    ) -> Any:  # fmt: skip
        first, second = sizes(input, filter)
        return function(first, second, out_backprop, strides, padding, use_cudnn_on_gpu, data_format, dilations, name)

    call.__doc__ = doc
    return call


conv2d_backprop_filter_v2 = _by_tensors(
    conv2d_backprop_filter,
    lambda input, filter: (input, shape(filter)),
    "`conv2d_backprop_filter`, of a filter whose shape counts.",
)
conv2d_backprop_input_v2 = _by_tensors(
    conv2d_backprop_input,
    lambda input, filter: (shape(input), filter),
    "`conv2d_backprop_input`, of images whose shape counts.",
)


def depthwise_conv2d_backprop_input(
    input_sizes: Any, filter: Any, out_backprop: Any, strides: Any, padding: Any, data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1), name: str | None = None,
) -> Any:  # fmt: skip
    """The cotangent of the images of a `depthwise_conv2d`, from that of its result."""
    filter, slope = _handle(filter), _handle(out_backprop)
    return _slope(
        lambda x: depthwise_conv2d_native(x, filter, strides, padding, data_format, dilations),
        input_sizes, filter, slope, name or "DepthwiseConv2dNativeBackpropInput",
    )  # fmt: skip


def depthwise_conv2d_backprop_filter(
    input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: Any, data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1), name: str | None = None,
) -> Any:  # fmt: skip
    """The cotangent of the filter of a `depthwise_conv2d`, from that of its result."""
    x, slope = _handle(input), _handle(out_backprop)
    return _slope(
        lambda w: depthwise_conv2d_native(x, w, strides, padding, data_format, dilations),
        filter_sizes, x, slope, name or "DepthwiseConv2dNativeBackpropFilter",
    )  # fmt: skip


depthwise_conv2d_native_backprop_input = depthwise_conv2d_backprop_input
depthwise_conv2d_native_backprop_filter = depthwise_conv2d_backprop_filter


def conv_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: str = "SAME", data_format: str | None = None,
    dilations: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """The gradient of a convolution by its input, as a layer: filters (*kernel, outputs, channels)."""
    return _by_input(
        "conv_transpose", output_shape, filters, input, strides, padding, data_format, dilations, name or "conv_transpose"
    )


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
    low = -math.inf if x.dtype.kind == "f" else int(np.iinfo(x.dtype).min)
    return _by_rank(MAXIMA, len(kernel))(_padded(x, edges, low), kernel, stride=steps, dilation=spread)


def _mean(x: Any, kernel: list[int], steps: list[int], edges: Edges, spread: list[int]) -> Any:
    """The mean of each window without the padding."""
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


POOLS = {_largest: "The largest element of each window.", _mean: "The mean of each window, without padding."}


def _pool(name: str, fold: Any, default: str | None) -> Callable[..., Any]:
    def call(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = default) -> Any:
        return _pooled(input, ksize, strides, padding, data_format, fold)

    call.__doc__ = POOLS[fold]
    return operation(name)(call)


def _pool_of_images(name: str, fold: Any) -> Callable[..., Any]:
    def call(
        value: Any = None, ksize: Any = None, strides: Any = None, padding: Any = None, data_format: str | None = "NHWC",
        input: Any = None,
    ) -> Any:  # fmt: skip
        return _pooled(input if value is None else value, ksize, strides, padding, data_format, fold)

    call.__doc__ = POOLS[fold]
    return operation(name)(call)


max_pool, avg_pool = _pool_of_images("MaxPool", _largest), _pool_of_images("AvgPool", _mean)
max_pool3d, avg_pool3d = _pool("MaxPool3D", _largest, "NDHWC"), _pool("AvgPool3D", _mean, "NDHWC")
max_pool_v2, avg_pool_v2 = _pool("MaxPool", _largest, None), _pool("AvgPool", _mean, None)


@operation("pool")
def pool(
    input: Any, window_shape: Any, pooling_type: str, padding: Any, dilation_rate: Any = None, strides: Any = None,
    data_format: str | None = None, dilations: Any = None,
) -> Any:  # fmt: skip
    """Pooling over any number of spatial axes by its name, "MAX" or "AVG"."""
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f'pooling_type must be "MAX" or "AVG", got {pooling_type!r}')
    spread = dilation_rate if dilations is None else dilations
    return _pooled(input, window_shape, strides, padding, data_format, _largest if pooling_type == "MAX" else _mean, spread)


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
    low = float(np.finfo(x.dtype).min) / 2 if x.dtype.kind == "f" else int(np.iinfo(x.dtype).min) // 2
    parts = _windows(_padded(moved, edges, low), kernel, steps, spread)
    stacked = F.stack([F.add(_back(part, "NHWC"), w[place]) for place, part in parts], axis=0)
    first = F.expand_dims(F.argmax(stacked, axis=0), 0)  # the gradient goes to the first of equal elements
    return F.squeeze(F.gather(stacked, 0, first), 0)


@operation("Dilation2D")
def dilation2d(
    input: Any, filter: Any = None, strides: Any = None, rates: Any = None, padding: Any = None, filters: Any = None,
    dilations: Any = None,
) -> Any:  # fmt: skip
    """The largest sum of a window's elements and the filter (height, width, channels)."""
    x, w = pair(input, filter if filters is None else filters, "Dilation2D")
    return _dilated(x, w, strides, rates if dilations is None else dilations, padding)


@operation("erosion2d", "Neg")
def erosion2d(value: Any, kernel: Any, strides: Any, rates: Any, padding: Any) -> Any:
    """The smallest difference of a window's elements and the kernel (height, width, channels)."""
    x, w = pair(value, kernel, "Dilation2D")
    return F.neg(_dilated(F.neg(x), F.flip(F.flip(w, 0), 1), strides, rates, padding))
