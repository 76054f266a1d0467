"""Means and power means of windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.types import FLOATING, ShapeLike, int64
from ...eager import Tensor as EagerTensor
from ...eager.calls.composites import composite
from ...errors import ArgumentError, ShapeError
from ...ops.operands import operand, size_text, whole_numbers
from ...ops.operators import F, Tensor, TensorLike, apply, spelled
from ...ops.pointwise import saving_op
from ...ops.pooling import (
    check_extents,
    check_padding,
    mean_extent,
    mean_pool_op,
    most_op,
    most_take_op,
    pooled_extent,
    windows,
)

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "lp_pool1d", "lp_pool2d", "lp_pool3d", "adaptive_max_pool1d", "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
    "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip

# Settings and layouts that all poolings share: over one, two and three axes, with batches or without.
#
# The records of `ops/pooling.py` work on two axes. Pooling along one axis is pooling of planes of one row. The pools of a box
# are those of planes, and then of what they give along the first axis.

Sizes = int | None | Sequence[int | None]


def settings_of(kernel_size: Any, stride: Any, padding: Any, axes: int) -> tuple[Any, Any, Any]:
    kernel = whole_numbers("kernel_size", kernel_size, axes)
    steps = kernel if stride is None or stride == () or stride == [] else whole_numbers("stride", stride, axes)
    pads = whole_numbers("padding", padding, axes)
    if any(k <= 0 for k in kernel):
        raise ArgumentError(f"kernel size should be greater than zero, but got {kernel_size}")
    if any(s <= 0 for s in steps):
        raise ArgumentError("stride should be greater than zero, but got " + str(stride))
    return kernel, steps, pads


def _lacking(name: str, x: Any, axes: int) -> list[int]:
    """The axes to put in for (n, c, ...) of at least two further axes. Raises ShapeError."""
    if len(x.shape) not in (axes + 1, axes + 2) or 0 in x.shape[-axes - 1 :]:
        raise ShapeError(
            f"non-empty {axes + 1}D or {axes + 2}D (batch mode) tensor expected for input",
            f"{name}: the input has shape {tuple(x.shape)}",
        )
    extra = [0] if len(x.shape) == axes + 1 else []
    return [*extra, 2] if axes == 1 else extra


def pooled(name: str, x: Any, axes: int, pool: Callable[[Any], Any]) -> Any:
    """`pool` on x as (n, c, ...), with the missing axes put in and taken out again."""
    x = operand(x)
    extra = _lacking(name, x, axes)
    if not extra:
        return pool(x)
    found = pool(F.expand_dims(x, tuple(extra)))
    if isinstance(found, tuple):
        return tuple(F.squeeze(part, tuple(extra)) for part in found)
    return F.squeeze(found, tuple(extra))


def planes_of(x: Any) -> Any:
    """(n, c, d, h, w) as (n, c d, h, w)."""
    n, c, d, h, w = known_extents(x)
    return F.reshape(x, (n, c * d, h, w))


def columns_of(x: Any, depth: int) -> Any:
    """(n, c d, h, w) as (n, c, d, h w), in which windows along the depth are columns."""
    n, cd, h, w = known_extents(x)
    return F.reshape(x, (n, cd // depth, depth, h * w))


def known_extents(x: Any) -> tuple[int, ...]:
    """The extents, of which the first may be unknown. Raises ShapeError."""
    if None in x.shape[1:]:
        raise ShapeError("pooling over three axes needs known extents but the first", f"got {size_text(x.shape)}")
    return tuple(-1 if d is None else d for d in x.shape)


def adaptive_extents(name: str, output_size: Any, axes: int) -> list[int | None]:
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * axes
    given = given * axes if len(given) == 1 else given
    extents = [None if d is None else whole_numbers("output_size", d, 1)[0] for d in given]
    if len(extents) != axes or any(d is not None and d < 0 for d in extents):
        raise ArgumentError(f"{name}: output_size must be {axes} extents >= 0, got {output_size}")
    return extents


def check_adaptive(name: str, x: Any, axes: int) -> Any:
    x = operand(x)
    if len(x.shape) not in (axes + 1, axes + 2):
        raise ShapeError(f"{name}(): Expected {axes + 1}D or {axes + 2}D tensor, but got {list(x.shape)}")
    return x


# the mean -------------------------------------------------------------------------------------------------------------

ONE = ("step", 1, 1, 0, False, False)
"""Each element by itself."""


def _means(x: Any, rules: Any) -> Any:
    """The means over the windows of rules for the axes after the second, two or three of them."""
    if len(rules) == 2:
        return apply(mean_pool_op, x, rows=rules[0], columns=rules[1])
    depth = x.shape[2]
    planes = apply(mean_pool_op, planes_of(x), rows=rules[1], columns=rules[2])
    extents = planes.shape[2:]
    out = apply(mean_pool_op, columns_of(planes, depth), rows=rules[0], columns=ONE)
    n, c, d, _ = known_extents(out)
    return F.reshape(out, (n, c, d, *extents))


def _avg_pool(
    name: str, x: Any, axes: int, kernel_size: Any, stride: Any, padding: Any, ceil: bool, zeros_count: bool,
    divisor: Any = None,
) -> Tensor:  # fmt: skip
    kernel, steps, pads = settings_of(kernel_size, stride, padding, axes)
    check_padding(kernel, pads, (1,) * axes)
    if divisor is not None:
        (divisor,) = whole_numbers("divisor_override", divisor, 1)
        if divisor == 0:
            raise ArgumentError("divisor must be not zero", f"{name}: got divisor_override=0")
    settings = zip(kernel, steps, pads, strict=True)
    rules: list[Any] = [("step", k, s, p, bool(zeros_count), bool(ceil)) for k, s, p in settings]
    if axes == 1:
        rules = [ONE, *rules]

    def pool(x: Any) -> Any:
        check_extents(x.shape, tuple(map(mean_extent, x.shape[2:], rules)))
        if x.dtype.kind in "iu":
            return _whole_means(name, x, rules, divisor)
        means = _means(x, rules)
        return means if divisor is None else means * (_divisors(name, x, rules) / divisor).astype(x.dtype)

    return pooled(name, x, axes, pool)


def _whole_means(name: str, x: Any, rules: Any, divisor: int | None) -> Any:
    """Means of integers, rounded towards 0."""
    divisors = _divisors(name, x, rules)
    sums = F.round(_means(F.astype(x, np.float64), rules) * divisors)
    over = np.asarray(divisors if divisor is None else divisor).astype(x.dtype)
    return F.div(F.astype(sums, x.dtype), over, rounding_mode="trunc")


def _divisors(name: str, x: Any, rules: Any) -> np.ndarray:
    """What the sums of windows were divided by."""
    if None in x.shape[2:]:
        raise ShapeError(f"{name}: divisor_override needs known extents", f"got {size_text(x.shape)}")
    total: Any = 1.0
    for a, (extent, rule) in enumerate(zip(x.shape[2:], rules, strict=True)):
        own = np.array([divisor for _, _, divisor in windows(extent, rule)], np.float64)
        total = total * own.reshape(-1, *[1] * (len(rules) - a - 1))
    return np.asarray(total)


@spelled
@composite
def avg_pool1d(
    input: TensorLike, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """As `avg_pool2d`, along one axis: (n, c, l) or (c, l)."""
    return _avg_pool("avg_pool1d", input, 1, kernel_size, stride, padding, ceil_mode, count_include_pad)


@spelled
@composite
def avg_pool2d(
    input: TensorLike, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window. Shapes and settings as for `max_pool2d`.

    Zeros of the padding (not the overhang of a `ceil_mode` window) count in the divisor unless `count_include_pad`
    is False. divisor_override: the divisor instead. Raises ShapeError, ArgumentError.

    Examples:
        >>> F.avg_pool2d(sg.arange(16.0).reshape(1, 1, 4, 4), 2)
        tensor([[[[ 2.5000,  4.5000],
                  [10.5000, 12.5000]]]])
    """
    return _avg_pool("avg_pool2d", input, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@spelled
@composite
def avg_pool3d(
    input: TensorLike, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """As `avg_pool2d`, over three axes: (n, c, d, h, w) or (c, d, h, w)."""
    return _avg_pool("avg_pool3d", input, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive_avg(name: str, x: Any, axes: int, output_size: Any) -> Tensor:
    extents = adaptive_extents(name, output_size, axes)
    x = check_adaptive(name, x, axes)
    rules: list[Any] = [("bins", d) for d in extents]
    if axes == 1:
        rules = [ONE, *rules]
    return pooled(name, x, axes, lambda x: _means(x, rules))


@spelled
@composite
def adaptive_avg_pool1d(input: TensorLike, output_size: Sizes) -> Tensor:
    """As `adaptive_avg_pool2d`, along one axis: (n, c, l) or (c, l)."""
    return _adaptive_avg("adaptive_avg_pool1d", input, 1, output_size)


@spelled
@composite
def adaptive_avg_pool2d(input: TensorLike, output_size: Sizes) -> Tensor:
    """Means over windows laid such that the result has the extents `output_size` (None keeps one).

    Shapes: (n, c, h, w) or (c, h, w) -> (n, c, *output_size). Window i spans floor(i h / h') to ceil((i + 1) h / h').
    Raises ShapeError, ArgumentError.

    Examples:
        >>> F.adaptive_avg_pool2d(sg.ones(1, 3, 7, 5), 1).shape
        torch.Size([1, 3, 1, 1])
    """
    return _adaptive_avg("adaptive_avg_pool2d", input, 2, output_size)


@spelled
@composite
def adaptive_avg_pool3d(input: TensorLike, output_size: Sizes) -> Tensor:
    """As `adaptive_avg_pool2d`, over three axes: (n, c, d, h, w) or (c, d, h, w)."""
    return _adaptive_avg("adaptive_avg_pool3d", input, 3, output_size)


# power means ------------------------------------------------------------------------------------------------------------


def _lp_pool(name: str, x: Any, axes: int, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    kernel = whole_numbers("kernel_size", kernel_size, axes)
    x = operand(x)
    means = _avg_pool(name, F.pow(x, norm_type), axes, kernel, stride, 0, ceil_mode, True)
    return F.pow(F.sign(means) * F.relu(F.abs(means)) * math.prod(kernel), 1.0 / norm_type)


@spelled
@composite
def lp_pool1d(
    input: TensorLike, norm_type: float, kernel_size: ShapeLike, stride: ShapeLike | None = None, ceil_mode: bool = False
) -> Tensor:
    """As `lp_pool2d`, along one axis."""
    return _lp_pool("lp_pool1d", input, 1, norm_type, kernel_size, stride, ceil_mode)


@spelled
@composite
def lp_pool2d(
    input: TensorLike, norm_type: float, kernel_size: ShapeLike, stride: ShapeLike | None = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x**p over each window)**(1 / p) for p = norm_type. Shapes as for `max_pool2d`."""
    return _lp_pool("lp_pool2d", input, 2, norm_type, kernel_size, stride, ceil_mode)


@spelled
@composite
def lp_pool3d(
    input: TensorLike, norm_type: float, kernel_size: ShapeLike, stride: ShapeLike | None = None, ceil_mode: bool = False
) -> Tensor:
    """As `lp_pool2d`, over three axes."""
    return _lp_pool("lp_pool3d", input, 3, norm_type, kernel_size, stride, ceil_mode)


# the largest elements of windows --------------------------------------------------------------------------------------

# The largest elements of windows, with their places, and back from them.
#
# Places are found by the same records: they take, of the numbers of the elements, the one where the largest is.


Pools = Tensor | tuple[Tensor, Tensor]
EXACT = 2**24
"""Whole numbers below it are exact in float32."""


# the largest ----------------------------------------------------------------------------------------------------------


def _numbers(x: Any, offset: Any = 0) -> Any:
    """The number of each element in its plane, in a floating dtype that holds them exactly, in x's shape."""
    h, w = x.shape[2:]
    if h is None or w is None:
        raise ShapeError("return_indices needs known extents", f"got {size_text(x.shape)}")
    kind = x.dtype if x.dtype.kind in FLOATING and h * w < EXACT else np.dtype(np.float64)
    return F.zeros_like(x, dtype=kind) + np.arange(h * w, dtype=kind).reshape(h, w)


def _most(x: Any, numbers: Any, kernel: Any, steps: Any, pads: Any, spread: Any, ceil: bool) -> Any:
    """(largest elements of windows over the last two axes, of `numbers` those at their places or None)."""
    attrs = {"kernel": kernel, "stride": steps, "padding": pads, "dilation": spread, "ceil": ceil}
    check_extents(x.shape, tuple(map(pooled_extent, x.shape[2:], kernel, steps, pads, spread, (ceil, ceil))))
    values = apply(most_op, x, **attrs)
    if numbers is None:
        return values, None
    source = F.stop_gradient(x)
    source = source if source.dtype.kind == "f" else F.astype(source, numbers.dtype)
    return values, apply(most_take_op, numbers, source, **attrs)


def _max_pool(
    name: str, x: Any, axes: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: bool
) -> Any:
    kernel, steps, pads = settings_of(kernel_size, stride, padding, axes)
    spread = whole_numbers("dilation", dilation, axes)
    if any(d <= 0 for d in spread):
        raise ArgumentError(f"dilation should be greater than zero, but got {dilation}")
    check_padding(kernel, pads, spread)
    ceil = bool(ceil_mode)
    if axes == 1:
        kernel, steps, pads, spread = (1, *kernel), (1, *steps), (0, *pads), (1, *spread)

    def pool(x: Any) -> Any:
        if axes < 3:
            values, places = _most(x, _numbers(x) if indices else None, kernel, steps, pads, spread, ceil)
            return (values, F.astype(places, int64)) if indices else values
        depth, plane = x.shape[2], known_extents(x)[3:]
        planes = planes_of(x)
        values, places = _most(planes, _numbers(planes) if indices else None, kernel[1:], steps[1:], pads[1:], spread[1:], ceil)
        extents = values.shape[2:]
        if places is not None:
            places = columns_of(F.astype(places, np.float64), depth) + _depths(depth, math.prod(plane))
        values, places = _most(
            columns_of(values, depth), places, (kernel[0], 1), (steps[0], 1), (pads[0], 0), (spread[0], 1), ceil
        )
        n, c, d, _ = known_extents(values)
        values = F.reshape(values, (n, c, d, *extents))
        return (values, F.astype(F.reshape(places, (n, c, d, *extents)), int64)) if indices else values

    return pooled(name, x, axes, pool)


def _depths(depth: int, plane: int) -> np.ndarray:
    return (np.arange(depth, dtype=np.float64) * plane).reshape(depth, 1)


@spelled
@composite
def max_pool1d(
    input: TensorLike, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0,
    dilation: ShapeLike = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """As `max_pool2d`, along one axis: (n, c, l) or (c, l)."""
    return _max_pool("max_pool1d", input, 1, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@spelled
@composite
def max_pool2d(
    input: TensorLike, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0,
    dilation: ShapeLike = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The largest element of each window; the gradient goes to the first of equals.

    Shapes: (n, c, h, w) or (c, h, w) -> (n, c, h', w') with h' = (h + 2 padding - dilation (kernel - 1) - 1) // stride + 1.
    `stride`: the kernel's size when left out; padding is never the maximum. ceil_mode: divided up instead of down, for a last
    window that reaches out of the input. return_indices: with their places in the flattened plane, int64. Raises ShapeError,
    ArgumentError.

    Examples:
        >>> F.max_pool2d(sg.arange(16.0).reshape(1, 1, 4, 4), 2)
        tensor([[[[ 5.,  7.],
                  [13., 15.]]]])
    """
    return _max_pool("max_pool2d", input, 2, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@spelled
@composite
def max_pool3d(
    input: TensorLike, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0,
    dilation: ShapeLike = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """As `max_pool2d`, over three axes: (n, c, d, h, w) or (c, d, h, w)."""
    return _max_pool("max_pool3d", input, 3, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _with_indices(name: str, axes: int) -> Callable[..., tuple[Tensor, Tensor]]:
    def function(
        input: TensorLike, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0,
        dilation: ShapeLike = 1, ceil_mode: bool = False, return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        return _max_pool(name, input, axes, kernel_size, stride, padding, dilation, ceil_mode, True)

    function.__name__ = function.__qualname__ = f"{name}_with_indices"
    function.__doc__ = f"`{name}` with return_indices."
    return function


max_pool1d_with_indices = _with_indices("max_pool1d", 1)
max_pool2d_with_indices = _with_indices("max_pool2d", 2)
max_pool3d_with_indices = _with_indices("max_pool3d", 3)


# the largest of windows of different sizes --------------------------------------------------------------------------------


def _largest_at(x: Any, numbers: Any, axis: int, table: Any) -> tuple[Any, Any]:
    """Along an axis, the first largest of the elements at each row of a table of positions, and its number.

    table: (count, most) positions, where a shorter row repeats its last one.
    """
    count, most = table.shape
    flat = table.reshape(-1).astype(np.int64)
    shape = [-1 if d is None else d for d in x.shape]
    split = (*shape[:axis], count, most, *shape[axis + 1 :])
    taken = F.reshape(F.take(x, flat, axis), split)
    best = F.expand_dims(F.argmax(F.stop_gradient(taken), axis + 1), axis + 1)
    values = F.squeeze(F.take_along_axis(taken, best, axis + 1), axis + 1)
    if numbers is None:
        return values, None
    held = F.reshape(F.take(numbers, flat, axis), split)
    return values, F.squeeze(F.take_along_axis(held, best, axis + 1), axis + 1)


def _bins(extent: int, count: int) -> np.ndarray:
    """The positions of adaptive windows as a table."""
    spans = windows(extent, ("bins", count))
    most = max((last - first for first, last, _ in spans), default=0)
    rows = [np.minimum(np.arange(first, first + most), last - 1) for first, last, _ in spans]
    return np.array(rows, np.int64).reshape(count, most)


def _adaptive_max(name: str, x: Any, axes: int, output_size: Any, indices: bool) -> Any:
    extents = adaptive_extents(name, output_size, axes)
    x = check_adaptive(name, x, axes)
    start = x = apply(saving_op, x) if x.dtype.kind in FLOATING else x  # the second derivative is 0
    inner = x.shape[len(x.shape) - axes :]
    if None in inner:
        raise ShapeError(f"{name}: extents to be pooled have to be known", f"got {size_text(x.shape)}")
    if 0 in inner:
        raise ShapeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got {list(x.shape)}")
    numbers: Any = None
    if indices:
        numbers = F.zeros_like(F.stop_gradient(x), dtype=int64) + np.arange(math.prod(inner)).reshape(inner)
    for a in reversed(range(axes)):
        axis, extent = len(x.shape) - axes + a, inner[a]
        count = extents[a]
        if count is not None and count != extent:
            x, numbers = _largest_at(x, numbers, axis, _bins(extent, count))
    x = F.clone(x) if x is start else x
    return (x, numbers) if indices else x


@spelled
@composite
def adaptive_max_pool1d(input: TensorLike, output_size: Sizes, return_indices: bool = False) -> Tensor:
    """As `adaptive_max_pool2d`, along one axis: (n, c, l) or (c, l)."""
    return _adaptive_max("adaptive_max_pool1d", input, 1, output_size, return_indices)


@spelled
@composite
def adaptive_max_pool2d(input: TensorLike, output_size: Sizes, return_indices: bool = False) -> Tensor:
    """The largest elements of windows laid such that the result has the extents `output_size` (None keeps one).

    Shapes: (n, c, h, w) or (c, h, w) -> (n, c, *output_size). Windows as for `adaptive_avg_pool2d`. return_indices: with their
    places in the flattened plane, int64. Raises ShapeError, ArgumentError.
    """
    return _adaptive_max("adaptive_max_pool2d", input, 2, output_size, return_indices)


@spelled
@composite
def adaptive_max_pool3d(input: TensorLike, output_size: Sizes, return_indices: bool = False) -> Tensor:
    """As `adaptive_max_pool2d`, over three axes: (n, c, d, h, w) or (c, d, h, w)."""
    return _adaptive_max("adaptive_max_pool3d", input, 3, output_size, return_indices)


def _adaptive_with_indices(name: str, axes: int) -> Callable[..., tuple[Tensor, Tensor]]:
    def function(input: TensorLike, output_size: Sizes, return_indices: bool = False) -> tuple[Tensor, Tensor]:
        return _adaptive_max(name, input, axes, output_size, True)

    function.__name__ = function.__qualname__ = f"{name}_with_indices"
    function.__doc__ = f"`{name}` with return_indices."
    return function


adaptive_max_pool1d_with_indices = _adaptive_with_indices("adaptive_max_pool1d", 1)
adaptive_max_pool2d_with_indices = _adaptive_with_indices("adaptive_max_pool2d", 2)
adaptive_max_pool3d_with_indices = _adaptive_with_indices("adaptive_max_pool3d", 3)


def _fractional(
    name: str, x: Any, axes: int, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any, indices: bool
) -> Any:
    x = check_adaptive(name, x, axes)
    x = apply(saving_op, x) if x.dtype.kind in FLOATING else x  # as above
    kernel = whole_numbers("kernel_size", kernel_size, axes)
    inner = x.shape[len(x.shape) - axes :]
    if None in x.shape:
        raise ShapeError(f"{name}: extents have to be known", f"got {size_text(x.shape)}")
    if (output_size is None) == (output_ratio is None):
        raise ArgumentError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_ratio is not None:
        ratios = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * axes
        if any(not 0 < r < 1 for r in ratios):
            raise ArgumentError(f"{name}: output_ratio must be between 0 and 1 (got {output_ratio})")
        output_size = [int(d * r) for d, r in zip(inner, ratios, strict=True)]
    extents = whole_numbers("output_size", output_size, axes)
    if any(o + k - 1 > d for o, k, d in zip(extents, kernel, inner, strict=True)):
        raise ShapeError(f"{name}: windows of {kernel} don't fit {extents} times into {inner}")
    lacked = len(x.shape) == axes + 1
    x = F.expand_dims(x, 0) if lacked else x
    n, c = x.shape[:2]
    if samples is None:
        first = F.reshape(F.stop_gradient(x), (n, c, math.prod(inner)))[:, :, :1]
        samples = F.rand_like(F.zeros_like(first) + np.zeros(axes, x.dtype))
    shares = operand(samples)[:n]  # of an input without a batch, PyTorch reads the first
    numbers: Any = F.zeros_like(F.stop_gradient(x), dtype=int64) + np.arange(math.prod(inner)).reshape(inner)
    for a in reversed(range(axes)):
        own = a if axes == 3 else 1 - a  # PyTorch's order of samples: width, height; but depth, height, width
        x, numbers = _largest_from(x, numbers, a + 2, kernel[a], extents[a], shares[:, :, own])
    if lacked:
        x, numbers = F.squeeze(x, 0), F.squeeze(numbers, 0)
    return (x, numbers) if indices else x


def _largest_from(x: Any, numbers: Any, axis: int, kernel: int, count: int, share: Any) -> tuple[Any, Any]:
    """Along an axis, the largest of windows that begin at places which depend on each channel's share of a step."""
    extent = x.shape[axis]
    share = F.expand_dims(share, 2)
    if count == 1:
        starts = F.zeros_like(share, dtype=int64) + (extent - kernel)
    else:
        step = (extent - kernel) / (count - 1)
        first = F.floor((np.arange(count - 1, dtype=share.dtype) + share) * step) - F.floor(share * step)
        last = F.zeros_like(share, dtype=int64) + (extent - kernel)
        starts = F.concatenate([F.astype(first, int64), last], 2)  # (n, c, count)
    place = F.reshape(F.expand_dims(starts, 3) + np.arange(kernel), (*x.shape[:2], count * kernel))
    place = F.reshape(place, (*x.shape[:2], *[1] * (axis - 2), count * kernel, *[1] * (len(x.shape) - axis - 1)))
    place = F.broadcast_to(place, (*x.shape[:axis], count * kernel, *x.shape[axis + 1 :]))
    split = (*x.shape[:axis], count, kernel, *x.shape[axis + 1 :])
    taken, held = (F.reshape(F.take_along_axis(v, place, axis), split) for v in (x, numbers))
    best = F.expand_dims(F.argmax(F.stop_gradient(taken), axis + 1), axis + 1)
    return tuple(F.squeeze(F.take_along_axis(v, best, axis + 1), axis + 1) for v in (taken, held))  # type: ignore[return-value]


@spelled
def fractional_max_pool2d(
    input: TensorLike, kernel_size: ShapeLike, output_size: ShapeLike | None = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """The largest elements of windows that begin at random places, the same distance apart on average.

    Shapes: (n, c, h, w) or (c, h, w) -> (n, c, *output_size); output_ratio: extents as shares of the input's.
    _random_samples: (n, c, 2), uniform in [0, 1), drawn when left out. Raises ShapeError, ArgumentError.
    Source: Graham, "Fractional max-pooling", 2014.
    """
    name = "fractional_max_pool2d"
    return _fractional(name, input, 2, kernel_size, output_size, output_ratio, _random_samples, return_indices)


@spelled
def fractional_max_pool3d(
    input: TensorLike, kernel_size: ShapeLike, output_size: ShapeLike | None = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """As `fractional_max_pool2d`, over three axes; _random_samples: (n, c, 3)."""
    name = "fractional_max_pool3d"
    return _fractional(name, input, 3, kernel_size, output_size, output_ratio, _random_samples, return_indices)


def _fractional_with_indices(name: str, axes: int) -> Callable[..., tuple[Tensor, Tensor]]:
    def function(
        input: TensorLike, kernel_size: ShapeLike, output_size: ShapeLike | None = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: TensorLike | None = None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        return _fractional(name, input, axes, kernel_size, output_size, output_ratio, _random_samples, True)

    function.__name__ = function.__qualname__ = f"{name}_with_indices"
    function.__doc__ = f"`{name}` with return_indices."
    return function


fractional_max_pool2d_with_indices = _fractional_with_indices("fractional_max_pool2d", 2)
fractional_max_pool3d_with_indices = _fractional_with_indices("fractional_max_pool3d", 3)


# back from the largest ------------------------------------------------------------------------------------------------


def _unpool(
    name: str, x: Any, indices: Any, axes: int, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    x, places = operand(x), operand(indices)
    kernel, steps, pads = settings_of(kernel_size, stride, padding, axes)
    if len(x.shape) not in (axes + 1, axes + 2) or None in x.shape:
        raise ShapeError(f"{name}: expected {axes + 1}D or {axes + 2}D input of known extents, got {size_text(x.shape)}")
    if tuple(x.shape) != tuple(places.shape):
        raise ShapeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(x.shape)}) but got indices tensor with "
            f"shape: {list(places.shape)}"
        )
    inner = x.shape[-axes:]
    usual = [(d - 1) * s + k - 2 * p for d, s, k, p in zip(inner, steps, kernel, pads, strict=True)]
    extents = usual
    if output_size is not None:
        given = list(output_size)
        given = given[-axes:] if len(given) in (axes + 1, axes + 2) else given
        if len(given) != axes:
            raise ArgumentError(f"output_size should be a sequence containing {axes} or {axes + 2} elements, got {output_size}")
        extents = [int(d) for d in given]
        for d, u, s in zip(extents, usual, steps, strict=True):
            if not u - s < d < u + s:
                raise ArgumentError(f"invalid output_size {extents} (each extent within less than the stride of {usual})")
    lead = x.shape[:-axes]
    flat, index = F.reshape(x, (*lead, math.prod(inner))), F.reshape(places, (*lead, math.prod(inner)))
    held = F.stop_gradient(flat)
    room = F.zeros_like(held[..., :1]) + np.zeros((*lead, math.prod(extents)), x.dtype)
    out = F.scatter(room, -1, index, held)
    if not isinstance(flat, EagerTensor) or flat.requires_grad:
        # by way of a sum, whose gradient is the element at each place, of an overwritten one too
        out = out + F.scatter_add(room, -1, index, flat - held)
    return F.reshape(out, (*lead, *extents))


@spelled
@composite
def max_unpool1d(
    input: TensorLike, indices: TensorLike, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """As `max_unpool2d`, along one axis."""
    return _unpool("max_unpool1d", input, indices, 1, kernel_size, stride, padding, output_size)


@spelled
@composite
def max_unpool2d(
    input: TensorLike, indices: TensorLike, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """What `max_pool2d` with return_indices took, put back to its place; zeros elsewhere.

    Shapes: input and indices (n, c, h', w') or (c, h', w') -> (n, c, h, w) with h = (h' - 1) stride - 2 padding + kernel, or of
    `output_size`. Where two have the same place, the last one stays. Raises ShapeError, ArgumentError, IndexRangeError.
    """
    return _unpool("max_unpool2d", input, indices, 2, kernel_size, stride, padding, output_size)


@spelled
@composite
def max_unpool3d(
    input: TensorLike, indices: TensorLike, kernel_size: ShapeLike, stride: ShapeLike | None = None, padding: ShapeLike = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """As `max_unpool2d`, over three axes."""
    return _unpool("max_unpool3d", input, indices, 3, kernel_size, stride, padding, output_size)
