"""Means and power means of windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.types import ShapeLike
from ..eager.calls.composites import composite
from ..errors import ArgumentError, ShapeError
from ..operators import F, Tensor, TensorLike, apply, spelled
from ..ops.pooling import check_extents, check_padding, mean_extent, mean_pool_op, windows
from ..ops.settings import operand, size_text, whole_numbers

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "lp_pool1d", "lp_pool2d", "lp_pool3d",
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
