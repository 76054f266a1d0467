"""Convolution and its two gradients: three ops, each linear in two operands, each the other two's cotangent.

For weights w, y = conv(x, w) is bilinear, so with any g the three contractions of (x, w, g) into one number agree:
<conv(x, w), g> = <x, conv_input(g, w)> = <w, conv_weight(g, x)>. Each op's gradients are the other two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import index
from typing import Any

import numpy as np

from ..base.types import ADDRESSES, Shape, TensorType
from ..errors import ArgumentError, OutOfMemoryError, ShapeError
from ..ir import Call, Clear, Layout, Native, Node, Order, Routine, define
from . import convolution_tables
from . import rules as at
from .leaves import fits
from .operands import CHANNELS_LAST, Pair, size_text
from .operators import apply, as_images, image_eval
from .rules import convolved, input_cotangents, multilinear, of_products, weight_cotangents

# shapes ---------------------------------------------------------------------------------------------------------------


SETTINGS = {"stride": at.pair(1), "padding": at.paddings, "dilation": at.pair(1), "groups": at.integer(1, at.LARGE)}


def _reach(kernel: Any, dilation: int) -> Any:
    return None if kernel is None else dilation * (kernel - 1) + 1


def _result(extent: Any, kernel: Any, stride: int, padding: Pair, dilation: int) -> Any:
    if extent is None or kernel is None:
        return None
    return (extent + sum(padding) - _reach(kernel, dilation)) // stride + 1


def check_conv(x: Shape, w: Shape, padding: Any, dilation: Any, groups: int) -> None:
    """Raises ShapeError, in PyTorch's words, unless weights (o, c / groups, *kernel) fit an input (n, c, *extents).

    Unknown extents are assumed to fit.
    """
    if w[0] is not None and w[0] % groups:
        raise ShapeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{size_text(w)}] instead"
        )
    if x[1] is not None and w[1] is not None and x[1] != w[1] * groups:
        raise ShapeError(
            f"Given groups={groups}, weight of size {size_text(w)}, expected input{size_text(x)} to have "
            f"{w[1] * groups} channels, but got {x[1]} channels instead"
        )
    padded = [None if d is None else d + sum(p) for d, p in zip(x[2:], padding, strict=True)]
    reach = [_reach(k, d) for k, d in zip(w[2:], dilation, strict=True)]
    if any(a is not None and b is not None and a < b for a, b in zip(padded, reach, strict=True)):
        raise ShapeError(
            f"Calculated padded input size per channel: ({_by(padded)}). Kernel size: ({_by(reach)}). "
            "Kernel size can't be greater than actual input size"
        )


def _by(extents: Any) -> str:
    return " x ".join("?" if d is None else str(d) for d in extents)


def _conv_infer(
    x: TensorType, w: TensorType, stride: Pair, padding: tuple[Pair, Pair], dilation: Pair, groups: int
) -> TensorType:
    if x.ndim != 4 or w.ndim != 4:
        raise ShapeError(f"input and weight need four axes here, got {size_text(x.shape)} and {size_text(w.shape)}")
    check_conv(x.shape, w.shape, padding, dilation, groups)
    extents = map(_result, x.shape[2:], w.shape[2:], stride, padding, dilation)
    return x.with_shape((x.shape[0], w.shape[0], *extents))


def _input_infer(
    g: TensorType, w: TensorType, *like: TensorType, stride: Pair, padding: tuple[Pair, Pair], dilation: Pair,
    groups: int, extra: Pair,
) -> TensorType:  # fmt: skip
    if g.ndim != 4 or w.ndim != 4:
        raise ShapeError(f"cotangent and weight need four axes here, got {size_text(g.shape)} and {size_text(w.shape)}")
    if len(like) > 1:
        raise ArgumentError(f"takes 2 or 3 operands, got {2 + len(like)}")
    if None not in (w.shape[0], g.shape[1]) and (w.shape[0] % groups or w.shape[0] != g.shape[1]):
        raise ShapeError(f"{w.shape[0]} channels of the weight in {groups} groups don't fit {size_text(g.shape)}")
    if like:
        _check_cotangent(g, _conv_infer(like[0], w, stride, padding, dilation, groups))
        return g.with_shape(like[0].shape)
    if any(not 0 <= e < s for e, s in zip(extra, stride, strict=True)):
        raise ArgumentError(f"extra extents {extra} have to be below the stride {stride}")
    extents = []
    for d, k, s, p, a, e in zip(g.shape[2:], w.shape[2:], stride, padding, dilation, extra, strict=True):
        extents.append(None if d is None or k is None else (d - 1) * s - sum(p) + _reach(k, a) + e)
    if any(d is not None and d < 1 for d in extents):
        raise ShapeError(
            f"Given input size per channel: ({_by(g.shape[2:])}). Calculated output size per channel: ({_by(extents)}). "
            "Output size is too small"
        )
    channels = None if w.shape[1] is None else w.shape[1] * groups
    return g.with_shape((g.shape[0], channels, *extents))


def _weight_infer(
    g: TensorType, x: TensorType, like: TensorType, stride: Pair, padding: tuple[Pair, Pair], dilation: Pair, groups: int
) -> TensorType:
    _check_cotangent(g, _conv_infer(x, like, stride, padding, dilation, groups))
    return g.with_shape(like.shape)


def _check_cotangent(g: TensorType, y: TensorType) -> None:
    if not fits(g.shape, y.shape):
        raise ShapeError(f"the convolution has shape {size_text(y.shape)}, its cotangent {size_text(g.shape)}")


# NumPy ----------------------------------------------------------------------------------------------------------------


def _images_last(x: np.ndarray) -> np.ndarray:
    """A row-major copy of values whose last axis is that of images: what is next to each other in one image is next to each
    other in all of them, so that long runs are copied. Of more images at a time the first cache would lose lines half read."""
    if x.flags.c_contiguous:
        return x
    out = np.empty(x.shape, x.dtype)
    for i in range(0, x.shape[-1], 8):
        out[..., i : i + 8] = x[..., i : i + 8]
    return out


def _padded(x: np.ndarray, padding: tuple[Pair, Pair], first: int) -> np.ndarray:
    """Zeros around two axes, from this one on."""
    if padding == ((0, 0), (0, 0)):
        return x
    inner, shape = [slice(None)] * 4, [*x.shape]
    for axis, (before, after) in enumerate(padding, first):
        inner[axis] = slice(before, before + shape[axis])
        shape[axis] += before + after
    try:
        out = np.zeros(shape, x.dtype)
    except (MemoryError, ValueError):  # ValueError: more than there are addresses
        raise OutOfMemoryError("there is no memory for its padded input") from None
    out[tuple(inner)] = x
    return out


def _windows(x: np.ndarray, first: int, kernel: Shape, pixels: Shape, stride: Pair, dilation: Pair) -> np.ndarray:
    """A view in which the axes of rows and columns, from this one on, are those of taps, (kh, kw), and then of pixels."""
    steps, (down, across) = x.strides, x.strides[first : first + 2]
    taps = (down * dilation[0], across * dilation[1], down * stride[0], across * stride[1])
    shape = (*x.shape[:first], *kernel, *pixels, *x.shape[first + 2 :])
    return np.lib.stride_tricks.as_strided(x, shape, (*steps[:first], *taps, *steps[first + 2 :]), writeable=False)


RUN = 16
"""Pixels in a row from which images are copied as they lie; and the least number of images that are copied together."""
COLUMNS, PIXELS = 1 << 20, 256
"""Bytes of columns that are made at a time, so that they stay in the second cache; and the least number of pixels for which a
product reads many weights."""
SMALL, FEW = 10**6, 64
"""Multiplications of a product up to which OpenBLAS does not copy its operands, and the pixels from which this pays."""


def _parts(n: int, taps: int, channels: int, pixels: Shape, groups: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Parts of the images, and of the rows of their results. taps: elements that a pixel is a sum of; channels: of the result;
    size: bytes of an element."""
    most, small = max(COLUMNS // max(taps * size, 1), PIXELS), SMALL * groups**2 // max(taps * channels, 1)
    images = _equal(n, max((min(small, most) if small >= FEW else most) // pixels[1], RUN))
    rows = _equal(pixels[0], max(most // (pixels[1] * images), 1))
    return ((slice(i, i + images), slice(j, j + rows)) for i in range(0, n, images) for j in range(0, pixels[0], rows))


def _equal(count: int, most: int) -> int:
    """The extent of parts that are equal but for the last one, and at most so large."""
    return -(-count // max(-(-count // most), 1)) or 1


def _columns(
    x: np.ndarray, y: np.ndarray, w: Shape, stride: Pair, padding: Any, dilation: Pair, groups: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """What products with the weights read, by parts, and the part of y that they are or multiply, a view: columns (images or
    rows, groups, taps, pixels), and (images, channels, rows, pixels) or (rows, channels, pixels, images)."""
    taps, kernel, pixels = x.shape[1] * math.prod(w[2:]), w[2:], y.shape[2:]
    as_they_lie = pixels[1] >= RUN or math.prod(kernel) == 1
    if as_they_lie and y.shape[1] // groups <= 4 * math.prod(pixels):  # or products by images take more memory than columns
        step = max(COLUMNS // max(taps * math.prod(pixels) * x.itemsize, 1), 1)
        for i in range(0, len(x), step):
            windows = _windows(_padded(x[i : i + step], padding, 2), 2, kernel, pixels, stride, dilation)
            yield windows.reshape(len(windows), groups, taps // groups, math.prod(pixels)), y[i : i + step]
        return
    first, windows = -1, x
    for part, rows in _parts(len(x), taps, y.shape[1], pixels, groups, x.itemsize):
        if part.start != first:
            last, first = _images_last(x[part].transpose(1, 2, 3, 0)), part.start
            windows = _windows(_padded(last, padding, 1), 1, kernel, pixels, stride, dilation).transpose(3, 0, 1, 2, 4, 5)
        own = windows[rows]
        yield own.reshape(len(own), groups, taps // groups, math.prod(own.shape[4:])), y[part, :, rows].transpose(2, 1, 3, 0)


def _conv_eval(x: np.ndarray, w: np.ndarray, stride: Pair, padding: Any, dilation: Pair, groups: int) -> np.ndarray:
    kind = _conv_infer(_type(x), _type(w), stride, padding, dilation, groups)
    kind.check_size()
    result, weights = np.empty(kind.shape, kind.dtype), w.reshape(groups, w.shape[0] // groups, math.prod(w.shape[1:]))
    for columns, part in _columns(x, result, w.shape, stride, padding, dilation, groups):
        if part.flags.c_contiguous:
            np.matmul(weights, columns, out=part.reshape(len(columns), groups, weights.shape[1], columns.shape[3]))
        else:
            part[...] = np.matmul(weights, columns).reshape(part.shape)
    return result


def _type(x: np.ndarray) -> TensorType:
    return TensorType(x.shape, x.dtype)


def _input_eval(
    g: np.ndarray, w: np.ndarray, *like: np.ndarray, stride: Pair, padding: Any, dilation: Pair, groups: int,
    extra: Pair,
) -> np.ndarray:  # fmt: skip
    """col2im: each tap's product goes to the elements that it had been read from."""
    shape = _input_infer(
        _type(g), _type(w), *map(_type, like), stride=stride, padding=padding, dilation=dilation, groups=groups,
        extra=extra,
    ).shape  # fmt: skip
    (o, per, kh, kw), (n, _, oh, ow) = w.shape, g.shape
    weights = w.reshape(groups, o // groups, per * kh * kw).swapaxes(1, 2)
    if (n, kh * kw, stride, padding, extra) == (shape[0], 1, (1, 1), ((0, 0), (0, 0)), (0, 0)):
        return np.matmul(weights, g.reshape(n, groups, o // groups, oh * ow)).reshape(shape)
    (top, bottom), (left, right) = padding
    tall = max(shape[2] + top + bottom, (oh - 1) * stride[0] + _reach(kh, dilation[0]))
    wide = max(shape[3] + left + right, (ow - 1) * stride[1] + _reach(kw, dilation[1]))
    result = np.empty(shape, g.dtype)
    for part, rows in _parts(n, shape[1] * kh * kw, o, (oh, ow), groups, g.itemsize):
        if not rows.start:
            out = np.zeros((shape[1], tall, wide, len(g[part])), g.dtype)
        own = _images_last(g[part, :, rows].transpose(2, 1, 3, 0))
        columns = np.matmul(weights, own.reshape(len(own), groups, o // groups, -1))
        columns = columns.reshape(len(own), shape[1], kh, kw, *own.shape[2:]).swapaxes(0, 1)
        for i in range(kh):
            for j in range(kw):
                y, x = rows.start * stride[0] + i * dilation[0], j * dilation[1]
                out[:, y : y + stride[0] * len(own) : stride[0], x : x + stride[1] * ow : stride[1]] += columns[:, :, i, j]
        if rows.stop >= oh:
            result[part] = out[:, top : top + shape[2], left : left + shape[3]].transpose(3, 0, 1, 2)
    return result


def _weight_eval(
    g: np.ndarray, x: np.ndarray, like: np.ndarray, stride: Pair, padding: Any, dilation: Pair, groups: int
) -> np.ndarray:
    per, taps = g.shape[1] // groups, math.prod(like.shape[1:])
    total = np.zeros((groups, taps, per), g.dtype)
    for columns, part in _columns(x, g, like.shape, stride, padding, dilation, groups):
        own = _images_last(part).reshape(len(columns), groups, per, columns.shape[3])
        total += np.matmul(columns, own.swapaxes(2, 3)).sum(0)
    return np.ascontiguousarray(total.swapaxes(1, 2)).reshape(like.shape)


# native ---------------------------------------------------------------------------------------------------------------


def _spec(x: TensorType, w: TensorType, y: TensorType, node: Node) -> convolution_tables.Spec:
    a = node.attrs
    source, kernel, result = ((index(k.shape[2]), index(k.shape[3])) for k in (x, w, y))  # tables are made for numbers
    spans = [max(d + sum(p), 1) for d, p in zip(source, a["padding"], strict=True)]
    strides = tuple(map(min, a["stride"], spans))  # a longer one has one pixel, too
    return convolution_tables.Spec(
        x.shape[0], index(x.shape[1]), index(y.shape[1]), a["groups"], source, kernel, result, strides, a["padding"],
        a["dilation"],
    )  # fmt: skip


TAPS_FIRST = (2, 3, 1, 0)
"""The other order of the axes of weights, the slowest first."""


def _conv_plan(node: Node, layouts: Sequence[Layout], result: Layout) -> Any:
    x, w = (i.type for i in node.inputs)
    places = _places(layouts, result)
    return _native(node, lambda: _spec(x, w, node.type, node), lambda spec: _gather(spec, node.type.dtype, False, places))


def _input_plan(node: Node, layouts: Sequence[Layout], result: Layout) -> Any:
    g, w = (i.type for i in node.inputs[:2])
    places = _places(layouts, result)
    return _native(node, lambda: _spec(node.type, w, g, node), lambda spec: _gather(spec, node.type.dtype, True, places))


def _places(layouts: Sequence[Layout], result: Layout) -> convolution_tables.Places:
    weights = None if layouts[1].is_contiguous else tuple(map(index, layouts[1].strides))
    return convolution_tables.Places(_last(layouts[0]), False, not result.is_contiguous, weights)


def _last(at: Layout) -> bool:
    """Whether channels are the last axis of images in memory."""
    return at.has_order(CHANNELS_LAST) and not at.is_contiguous


def _weight_plan(node: Node, layouts: Sequence[Layout], result: Layout) -> Any:
    g, x = (i.type for i in node.inputs[:2])
    places = convolution_tables.Places(_last(layouts[1]), _last(layouts[0]), not result.is_contiguous)
    return _native(node, lambda: _spec(x, node.type, g, node), lambda spec: _weights(spec, node.type.dtype, places))


def _gather(spec: convolution_tables.Spec, dtype: np.dtype, gradient: bool, places: convolution_tables.Places) -> Call:
    channels = (spec.c if gradient else spec.o) // spec.groups
    if convolution_tables.is_product(spec, dtype, channels, places):
        return convolution_tables.product(spec, gradient)
    if channels <= convolution_tables.MOST_CHANNELS:
        return convolution_tables.depthwise_gather(spec, dtype, gradient)
    return convolution_tables.gather(spec, dtype, gradient, places if spec.groups == 1 else convolution_tables.ROW_MAJOR)


def _weights(spec: convolution_tables.Spec, dtype: np.dtype, places: convolution_tables.Places) -> Routine:
    if spec.o // spec.groups <= convolution_tables.MOST_COTANGENTS:
        return convolution_tables.depthwise_weights(spec, dtype)
    return convolution_tables.weights(spec, dtype, places if spec.groups == 1 else convolution_tables.ROW_MAJOR)


def _writes_images(node: Node, layouts: Sequence[Layout]) -> bool:
    return _dense(node, node.type.shape[1], convolution_tables.MOST_CHANNELS)


def _writes_weights(node: Node, layouts: Sequence[Layout]) -> bool:
    return _dense(node, node.type.shape[0], convolution_tables.MOST_COTANGENTS)


def _dense(node: Node, lanes: int, most: int) -> bool:
    """Whether channels are the lanes of its routine, in one group."""
    filled = all(i.type.size for i in (node, *node.inputs[:2]))
    return node.attrs["groups"] == 1 and lanes > most and node.type.dtype.kind == "f" and filled


def _native(
    node: Node, describe: Callable[[], convolution_tables.Spec], routine: Callable[[convolution_tables.Spec], Call]
) -> Sequence[Call] | None:
    """The call; zeros where there is nothing to sum; the host for integers."""
    if node.type.dtype.kind != "f":
        return None
    if not node.type.size or any(not i.type.size for i in node.inputs[:2]):
        return [Clear()]
    spec = describe()
    padded = spec.c * math.prod(d + sum(p) for d, p in zip(spec.source, spec.padding, strict=True))
    if padded * node.type.dtype.itemsize >= ADDRESSES:
        raise OutOfMemoryError(f"{node.op.name}: there is no memory for its padded input", where=node.where)
    return [routine(spec)]


# records --------------------------------------------------------------------------------------------------------------


def _promote(operands: Any) -> Any:
    return [*of_products(operands[:2]), *[None] * (len(operands) - 2)]


def _keys(node: Any) -> dict[str, Any]:
    return {k: node.attrs[k] for k in ("stride", "padding", "dilation", "groups")}


def _as_input(g: Any, w: Any, like: Any, node: Any) -> Any:
    return apply(conv_input_op, g, w, like, **_keys(node), extra=(0, 0))


def _as_weight(g: Any, x: Any, like: Any, node: Any) -> Any:
    return apply(conv_weight_op, g, x, like, **_keys(node))


conv_op = define(
    name="conv2d",
    batch=convolved,
    jvp=multilinear,
    attrs=SETTINGS,
    infer=_conv_infer,
    eval=image_eval(any, _conv_eval),
    memory=as_images(any),
    vjp=(
        lambda g, node, out, x, w: _as_input(g, w, x, node),
        lambda g, node, out, x, w: _as_weight(g, x, w, node),
    ),
    emit=Native(_conv_plan, order=Order(CHANNELS_LAST, _writes_images, CHANNELS_LAST)),
    promote=_promote,
    doc="Cross-correlation of (n, c, h, w) with (o, c / groups, kh, kw).",
)
conv_input_op = define(
    name="conv2d_input",
    batch=input_cotangents,
    jvp=multilinear,
    attrs={**SETTINGS, "extra": at.pair(0)},
    infer=_input_infer,
    eval=image_eval(any, _input_eval),
    memory=as_images(any),
    vjp=(  # a function of the position: there may be two operands or three
        lambda h, node, out, g, w, *like: apply(conv_op, h, w, **_keys(node)),
        lambda h, node, out, g, w, *like: _as_weight(g, h, w, node),
        None,
    ).__getitem__,
    emit=Native(_input_plan, order=Order(CHANNELS_LAST, _writes_images, CHANNELS_LAST)),
    promote=_promote,
    shape_only=(2,),
    doc="The cotangent of conv2d's input; its shape is that of a third operand, or as small as can be plus `extra`.",
)
conv_weight_op = define(
    name="conv2d_weight",
    batch=weight_cotangents,
    jvp=multilinear,
    attrs=SETTINGS,
    infer=_weight_infer,
    eval=_weight_eval,
    vjp=(
        lambda v, node, out, g, x, like: apply(conv_op, x, v, **_keys(node)),
        lambda v, node, out, g, x, like: _as_input(g, v, x, node),
        None,
    ),
    emit=Native(_weight_plan, order=Order(TAPS_FIRST, _writes_weights, CHANNELS_LAST)),
    promote=_promote,
    shape_only=(2,),
    doc="The cotangent of conv2d's weights, of the shape of the third operand.",
)
