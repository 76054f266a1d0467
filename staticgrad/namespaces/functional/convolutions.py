"""Convolutions over one, two and three axes, transposed ones, and the windows that they read.

The records work on two axes. One axis gets another of extent 1. Of three, a convolution over the last two takes the elements
of a window along the first axis as channels; transposed, it makes them as channels, which are then added up where they belong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.types import Shape, ShapeLike
from ...eager.calls.composites import composite
from ...errors import ArgumentError, ShapeError
from ...ops.convolution import check_conv, conv_input_op, conv_op
from ...ops.gathering import scatter_op
from ...ops.operands import batched, operand, padding_of, positive_numbers, size_text, whole_numbers
from ...ops.operators import F, Tensor, TensorLike, apply, in_format, spelled
from ...ops.padding import pad as padded
from .checks import warn_of_widened

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "fold", "unfold",
]  # fmt: skip

Pairs = tuple[tuple[int, int], ...]
AXES = "length", "height", "width"


def _conv(
    name: str, axes: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any
) -> Tensor:
    x, weight = operand(x), operand(weight)
    warn_of_widened(weight, x)
    if len(weight.shape) != axes + 2:
        raise ShapeError(f"{name}: the weight needs {axes + 2} axes (out, in / groups, *kernel), got {size_text(weight.shape)}")
    x, lacked = batched(name, x, axes)
    stride, dilation = positive_numbers("stride", stride, axes), positive_numbers("dilation", dilation, axes)
    (groups,) = positive_numbers("groups", groups, 1)
    pads = padding_of(padding, weight.shape[2:], stride, dilation)
    check_conv(x.shape, weight.shape, pads, dilation, groups)
    bias = check_bias(weight.shape, weight.shape[0], bias)
    if axes == 3:
        return _finished(_conv_of_volumes(x, weight, stride, pads, dilation, groups), bias, axes, lacked)
    if axes == 1:
        x, weight = F.expand_dims(x, 2), F.expand_dims(weight, 2)
        stride, dilation, pads = (1, *stride), (1, *dilation), ((0, 0), *pads)
    out = apply(conv_op, x, weight, stride=stride, padding=pads, dilation=dilation, groups=groups)
    return _finished(out, bias, axes, lacked)


def _conv_of_volumes(x: Any, weight: Any, stride: Any, pads: Pairs, dilation: Any, groups: int) -> Any:
    if sum(pads[0]):
        x = padded(x, (0, 0, 0, 0, *pads[0]))
    n, c, depth, h, w = x.shape
    o, per, taps = weight.shape[:3]
    if None in (c, depth, h, w, o, per, taps):
        raise ShapeError("conv3d: extents but the first have to be known", f"got {size_text(x.shape)}")
    reach = dilation[0] * (taps - 1) + 1
    count = (depth - reach) // stride[0] + 1
    last = (count - 1) * stride[0] + 1
    whole = slice(None)
    steps = [F.getitem(x, (whole, whole, slice(i * dilation[0], i * dilation[0] + last, stride[0]))) for i in range(taps)]
    windows = F.permute(F.stack(steps, 2), (0, 3, 1, 2, 4, 5))  # (n, count, c, taps, h, w)
    flat = F.reshape(windows, (-1 if n is None else n * count, c * taps, h, w))
    weights = F.reshape(weight, (o, per * taps, *weight.shape[3:]))
    out = apply(conv_op, flat, weights, stride=stride[1:], padding=pads[1:], dilation=dilation[1:], groups=groups)
    out = F.reshape(out, (-1 if n is None else n, count, *out.shape[1:]))
    return F.swapaxes(out, 1, 2)


def check_bias(weight: Shape, channels: Any, bias: TensorLike | None) -> Tensor | None:
    """The bias as an operand, or None. Raises ShapeError."""
    bias = None if bias is None else operand(bias)
    if bias is not None and (len(bias.shape) != 1 or (None not in (channels, *bias.shape) and bias.shape[0] != channels)):
        raise ShapeError(
            f"Given weight of size {size_text(weight)}, expected bias to be 1-dimensional with {channels} elements, "
            f"but got bias of size {size_text(bias.shape)} instead"
        )
    return bias


def _finished(out: Any, bias: Any, axes: int, lacked: bool) -> Tensor:
    """Bias added per channel, helper axes dropped."""
    if axes == 1:
        out = F.squeeze(out, 2)
    if bias is not None:
        out = out + F.expand_dims(bias, tuple(range(1, axes + 1)))
    return F.squeeze(out, 0) if lacked else out


@spelled
@composite
def conv1d(
    input: TensorLike, weight: TensorLike, bias: TensorLike | None = None, stride: ShapeLike = 1,
    padding: ShapeLike | str = 0, dilation: ShapeLike = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Cross-correlation along one axis; as `conv2d`.

    Shapes: input (n, c, l) or (c, l), weight (o, c / groups, k), bias (o,) -> (n, o, l') or (o, l').

    Examples:
        >>> F.conv1d(sg.ones(1, 1, 4), sg.ones(1, 1, 3))
        tensor([[[3., 3.]]])
    """
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@spelled
@composite
def conv2d(
    input: TensorLike, weight: TensorLike, bias: TensorLike | None = None, stride: ShapeLike = 1,
    padding: ShapeLike | str = 0, dilation: ShapeLike = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Cross-correlation over two axes, in PyTorch's layout.

    Shapes: input (n, c, h, w) or (c, h, w), weight (o, c / groups, kh, kw), bias (o,) -> (n, o, h', w') with
    h' = (h + 2 padding - dilation (kh - 1) - 1) // stride + 1. `padding`: zeros on each side, or "valid", or "same".
    Raises ShapeError for channels or kernels that don't fit, ArgumentError for settings out of range.

    Examples:
        >>> F.conv2d(sg.ones(1, 3, 8, 8), sg.ones(6, 3, 3, 3), stride=2, padding=1).shape
        torch.Size([1, 6, 4, 4])
    """
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@spelled
@composite
def conv3d(
    input: TensorLike, weight: TensorLike, bias: TensorLike | None = None, stride: ShapeLike = 1,
    padding: ShapeLike | str = 0, dilation: ShapeLike = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Cross-correlation over three axes; as `conv2d`.

    Shapes: input (n, c, d, h, w) or (c, d, h, w), weight (o, c / groups, kd, kh, kw), bias (o,) -> (n, o, d', h', w').
    """
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@spelled
@composite
def conv_tbc(input: TensorLike, weight: TensorLike, bias: TensorLike, pad: int = 0) -> Tensor:
    """Cross-correlation along the first axis: (t, n, c) with weight (k, c, o) and bias (o,) gives (t', n, o)."""
    x, kernel = operand(input), operand(weight)
    if len(x.shape) != 3 or len(kernel.shape) != 3:
        raise ShapeError(f"conv_tbc: need (t, n, c) and (k, c, o), got {size_text(x.shape)} and {size_text(kernel.shape)}")
    out = conv1d(F.permute(x, (1, 2, 0)), F.permute(kernel, (2, 1, 0)), bias, 1, pad)
    return F.permute(out, (2, 0, 1))


# transposed -----------------------------------------------------------------------------------------------------------


def _with_zeros(x: Tensor, axis: int, count: int) -> Tensor:
    """x with `count` zeros after its last element along an axis."""
    if not count:
        return x
    zero = F.zeros_like(F.getitem(x, (*((slice(None),) * axis), slice(0, 1))))
    return F.concatenate([x, *[zero] * count], axis)


def _transposed(
    name: str, axes: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: Any,
    dilation: Any,
) -> Tensor:  # fmt: skip
    x, weight = operand(x), operand(weight)
    if len(weight.shape) != axes + 2:
        raise ShapeError(f"{name}: the weight needs {axes + 2} axes (in, out / groups, *kernel), got {size_text(weight.shape)}")
    x, lacked = batched(name, x, axes)
    stride, dilation = positive_numbers("stride", stride, axes), positive_numbers("dilation", dilation, axes)
    (groups,) = positive_numbers("groups", groups, 1)
    pads = padding_of(padding, weight.shape[2:], stride, dilation)
    extra = whole_numbers("output_padding", output_padding, axes)
    if any(not 0 <= e < max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise ArgumentError(
            "output padding must be smaller than either stride or dilation, but got "
            + " ".join(f"{n}_{a}: {v}" for n, pair in (("output_padding", extra), ("stride", stride), ("dilation", dilation))
                       for a, v in zip(AXES[-axes:], pair, strict=True))
        )  # fmt: skip
    if None not in (x.shape[1], weight.shape[0]) and x.shape[1] != weight.shape[0]:
        raise ShapeError(
            f"Given transposed=1, weight of size {size_text(weight.shape)}, expected input{size_text(x.shape)} to have "
            f"{weight.shape[0]} channels, but got {x.shape[1]} channels instead"
        )
    if weight.shape[0] is not None and weight.shape[0] % groups:
        raise ShapeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{size_text(weight.shape)}] instead"
        )
    bias = check_bias(weight.shape, None if weight.shape[1] is None else weight.shape[1] * groups, bias)
    if axes == 3:
        return _finished(_transposed_volumes(x, weight, stride, pads, extra, groups, dilation), bias, axes, lacked)
    if axes == 1:
        x, weight = F.expand_dims(x, 2), F.expand_dims(weight, 2)
        stride, dilation, pads, extra = (1, *stride), (1, *dilation), ((0, 0), *pads), (0, *extra)
    return _finished(_transposed_planes(x, weight, stride, pads, extra, groups, dilation), bias, axes, lacked)


def _transposed_planes(x: Any, weight: Any, stride: Any, pads: Pairs, extra: Any, groups: int, dilation: Any) -> Any:
    for axis, (e, s) in enumerate(zip(extra, stride, strict=True), 2):
        x = _with_zeros(x, axis, e // s)  # the op is the cotangent of a convolution, which would have made as many more
    extra = tuple(e % s for e, s in zip(extra, stride, strict=True))
    return apply(conv_input_op, x, weight, stride=stride, padding=pads, dilation=dilation, groups=groups, extra=extra)


def _transposed_volumes(x: Any, weight: Any, stride: Any, pads: Pairs, extra: Any, groups: int, dilation: Any) -> Any:
    n, c, depth, h, w = x.shape
    per, taps = weight.shape[1:3]
    if None in (c, depth, h, w, per, taps):
        raise ShapeError("conv_transpose3d: extents but the first have to be known", f"got {size_text(x.shape)}")
    flat = F.reshape(F.swapaxes(x, 1, 2), (-1 if n is None else n * depth, c, h, w))
    weights = F.reshape(F.swapaxes(weight, 1, 2), (weight.shape[0], taps * per, *weight.shape[3:]))
    planes = _transposed_planes(flat, weights, stride[1:], pads[1:], extra[1:], groups, dilation[1:])
    count = -1 if n is None else n
    if groups > 1:
        planes = F.reshape(planes, (count, depth, groups, taps, per, *planes.shape[2:]))
        planes = F.permute(planes, (0, 1, 3, 2, 4, 5, 6))
    parts = F.reshape(planes, (count, depth, taps, groups * per, *planes.shape[-2:]))  # of one group a view of the planes
    before, after = pads[0]
    extent = (depth - 1) * stride[0] + dilation[0] * (taps - 1) + 1 + extra[0]
    if extent - before - after < 1:
        raise ShapeError(
            f"Given input size per channel: ({depth} x {h} x {w}). Calculated output size is too small along the first axis"
        )
    place = np.arange(depth)[:, None] * stride[0] + np.arange(taps) * dilation[0]
    out = F.getitem(overlap_added(parts, 1, place, extent), (slice(None), slice(before, extent - after)))
    return in_format(F.swapaxes(out, 1, 2), None)


def overlap_added(parts: Any, axis: int, place: np.ndarray, extent: int) -> Any:
    """Axes `axis` and the one after it added up into one, each element at its place."""
    shape = [-1 if d is None else d for d in parts.shape]
    joined = F.reshape(parts, (*shape[:axis], place.size, *shape[axis + 2 :]))
    one = F.getitem(joined, (*[slice(None)] * axis, slice(0, 1)))
    room = F.concatenate([F.zeros_like(one)] * extent, axis) if None in one.shape else np.broadcast_to(
        np.zeros((), joined.dtype), (*one.shape[:axis], extent, *one.shape[axis + 1 :])
    )  # fmt: skip
    return apply(scatter_op, joined, room, place.reshape(-1).astype(np.int64), axis=axis)


@spelled
@composite
def conv_transpose1d(
    input: TensorLike, weight: TensorLike, bias: TensorLike | None = None, stride: ShapeLike = 1,
    padding: ShapeLike | str = 0, output_padding: ShapeLike = 0, groups: int = 1, dilation: ShapeLike = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv1d` by its input; as `conv_transpose2d`.

    Shapes: input (n, c, l) or (c, l), weight (c, o / groups, k), bias (o,) -> (n, o, l') or (o, l').
    """
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@spelled
@composite
def conv_transpose2d(
    input: TensorLike, weight: TensorLike, bias: TensorLike | None = None, stride: ShapeLike = 1,
    padding: ShapeLike | str = 0, output_padding: ShapeLike = 0, groups: int = 1, dilation: ShapeLike = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv2d` by its input, as a layer of its own ("deconvolution").

    Shapes: input (n, c, h, w) or (c, h, w), weight (c, o / groups, kh, kw), bias (o,) -> (n, o, h', w') with
    h' = (h - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1. Raises ShapeError, ArgumentError.

    Examples:
        >>> F.conv_transpose2d(sg.ones(1, 6, 4, 4), sg.ones(6, 3, 2, 2), stride=2).shape
        torch.Size([1, 3, 8, 8])
    """
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@spelled
@composite
def conv_transpose3d(
    input: TensorLike, weight: TensorLike, bias: TensorLike | None = None, stride: ShapeLike = 1,
    padding: ShapeLike | str = 0, output_padding: ShapeLike = 0, groups: int = 1, dilation: ShapeLike = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv3d` by its input; as `conv_transpose2d`.

    Shapes: input (n, c, d, h, w) or (c, d, h, w), weight (c, o / groups, kd, kh, kw), bias (o,) -> (n, o, d', h', w').
    """
    return _transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


# windows --------------------------------------------------------------------------------------------------------------


def _places(extent: int, kernel: int, dilation: int, stride: int) -> np.ndarray:
    """The elements that windows read, by (tap, window)."""
    count = (extent - dilation * (kernel - 1) - 1) // stride + 1
    return np.arange(kernel)[:, None] * dilation + np.arange(max(count, 0)) * stride


def _window_settings(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    kernel, spread = positive_numbers("kernel_size", kernel_size, 2), positive_numbers("dilation", dilation, 2)
    steps, pads = positive_numbers("stride", stride, 2), whole_numbers("padding", padding, 2)
    if any(p < 0 for p in pads):
        raise ArgumentError("padding should be non-negative", f"got padding={padding}")
    return kernel, spread, pads, steps


@spelled
@composite
def unfold(
    input: TensorLike, kernel_size: ShapeLike, dilation: ShapeLike = 1, padding: ShapeLike = 0, stride: ShapeLike = 1
) -> Tensor:
    """The windows of (n, c, h, w) or (c, h, w) as columns: (n, c kh kw, windows). Raises ShapeError, ArgumentError.

    Examples:
        >>> F.unfold(sg.ones(1, 3, 4, 4), 2).shape
        torch.Size([1, 12, 9])
    """
    kernel, spread, pads, steps = _window_settings(kernel_size, dilation, padding, stride)
    x, lacked = batched("unfold", operand(input), 2)
    if None in x.shape[1:]:
        raise ShapeError("unfold: extents but the first have to be known", f"got {size_text(x.shape)}")
    if any(pads):
        x = padded(x, (pads[1], pads[1], pads[0], pads[0]))
    n, c, h, w = (-1 if d is None else d for d in x.shape)
    down, across = (_places(e, k, d, s) for e, k, d, s in zip((h, w), kernel, spread, steps, strict=True))
    if not down.size or not across.size:
        raise ShapeError(
            f"Given input with spatial size ({h}, {w}), kernel_size={kernel}, dilation={spread}, the shape of the array of "
            "sliding blocks has to be at least 1 along each axis"
        )
    columns = F.take(F.take(x, down.reshape(-1), 2), across.reshape(-1), 3)
    columns = F.reshape(columns, (n, c, *down.shape, *across.shape))
    out = F.reshape(F.permute(columns, (0, 1, 2, 4, 3, 5)), (n, c * kernel[0] * kernel[1], down.shape[1] * across.shape[1]))
    return F.squeeze(out, 0) if lacked else out


@spelled
@composite
def fold(
    input: TensorLike, output_size: ShapeLike, kernel_size: ShapeLike, dilation: ShapeLike = 1, padding: ShapeLike = 0,
    stride: ShapeLike = 1,
) -> Tensor:  # fmt: skip
    """Columns (n, c kh kw, windows) or (c kh kw, windows) added up where `unfold` has read them: (n, c, *output_size).

    Raises ShapeError, ArgumentError.
    """
    kernel, spread, pads, steps = _window_settings(kernel_size, dilation, padding, stride)
    extents = positive_numbers("output_size", output_size, 2)
    x = operand(input)
    if len(x.shape) not in (2, 3) or None in x.shape[-2:]:
        raise ShapeError(f"fold: expected (n, c kh kw, windows) or (c kh kw, windows), got {size_text(x.shape)}")
    lacked = len(x.shape) == 2
    x = F.expand_dims(x, 0) if lacked else x
    room = [e + 2 * p for e, p in zip(extents, pads, strict=True)]
    down, across = (_places(e, k, d, s) for e, k, d, s in zip(room, kernel, spread, steps, strict=True))
    taps, windows = kernel[0] * kernel[1], down.shape[1] * across.shape[1]
    n, columns, count = x.shape
    if columns % taps or count != windows:
        raise ShapeError(
            f"Given output_size={extents}, kernel_size={kernel}, dilation={spread}, padding={pads}, stride={steps}, expected "
            f"size of input's dimension 1 to be divisible by {taps} and its dimension 2 to be {windows}",
            f"fold: the input has shape {size_text(x.shape)}",
        )
    parts = F.reshape(x, (-1 if n is None else n, columns // taps, *kernel, down.shape[1], across.shape[1]))
    parts = F.permute(parts, (0, 1, 2, 4, 3, 5))  # (n, c, kh, oh, kw, ow)
    rows = overlap_added(parts, 4, across, room[1])
    planes = overlap_added(rows, 2, down, room[0])
    if any(pads):
        planes = padded(planes, (-pads[1], -pads[1], -pads[0], -pads[0]))
    return F.squeeze(planes, 0) if lacked else planes
