"""The settings of convolutions, pooling and padding (numbers per axis, padding, batches), normalized to one form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from ..base.types import Shape
from ..errors import ArgumentError, ShapeError
from .operators import F, Operators, Tensor, TensorLike, as_array

Pair = tuple[int, int]

CHANNELS_LAST = (0, 2, 3, 1)
"""The other order of the axes of images (n, c, h, w) in memory, the slowest first."""
LARGE = 2**31
"""Settings are below this: places of windows are sums and products of two of them, in 64 bits."""


def size_text(shape: Shape) -> str:
    """`[2, 3]`, as PyTorch writes sizes."""
    return "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"


def whole_numbers(name: str, value: Any, axes: int) -> tuple[int, ...]:
    """One integer for each axis, from an integer or a sequence. Raises ArgumentError."""
    values = tuple(value) if isinstance(value, Iterable) else (value,)
    if len(values) == 1:
        values *= axes
    if len(values) != axes or any(isinstance(v, bool) or not isinstance(v, (int, np.integer)) for v in values):
        raise ArgumentError(
            f"expected {name} to be a single integer value or a list of {axes} values to match the convolution "
            f"dimensions, but got {name}={list(values)}"
        )
    if any(abs(v) >= LARGE for v in values):
        raise ArgumentError(f"{name} has to be below 2**31, got {list(values)}")
    return tuple(int(v) for v in values)


def positive_numbers(name: str, value: Any, axes: int) -> tuple[int, ...]:
    """As `whole_numbers`, all above 0."""
    values = whole_numbers(name, value, axes)
    if any(v <= 0 for v in values):
        raise ArgumentError(f"non-positive {name} is not supported", f"got {name}={value}")
    return values


def padding_of(value: Any, kernel: Shape, stride: tuple[int, ...], dilation: tuple[int, ...]) -> tuple[Pair, ...]:
    """(before, after) of each axis, from PyTorch's padding: integers, "valid" or "same"."""
    axes = len(stride)
    if isinstance(value, str):
        if value == "valid":
            return ((0, 0),) * axes
        if value != "same":
            raise ArgumentError(f"Invalid padding string: {value!r}", "use 'valid', 'same' or integers")
        if any(s != 1 for s in stride):
            raise ArgumentError("padding='same' is not supported for strided convolutions")
        if None in kernel:
            raise ShapeError("padding='same' needs weights of known extents")
        totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return tuple((t // 2, t - t // 2) for t in totals)
    values = whole_numbers("padding", value, axes)
    if any(v < 0 for v in values):
        raise ArgumentError("negative padding is not supported", f"got padding={value}")
    return tuple((v, v) for v in values)


def operand(x: TensorLike) -> Tensor:
    """A tensor as it is, anything else as an array, which has the attributes of a tensor that functions read."""
    return x if isinstance(x, Operators) else cast("Tensor", as_array(x))


def batched(name: str, x: Tensor, axes: int) -> tuple[Tensor, bool]:
    """x with a batch axis, and whether it lacked one. Raises ShapeError."""
    if len(x.shape) not in (axes + 1, axes + 2):
        raise ShapeError(
            f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {name}, but got input of size: "
            f"{size_text(x.shape)}"
        )
    lacked = len(x.shape) == axes + 1
    return (F.expand_dims(x, 0) if lacked else x), lacked
