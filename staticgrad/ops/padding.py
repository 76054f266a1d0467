"""Padding with a value, or with slices of the tensor itself, concatenated to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..base.types import TensorType, is_number
from ..errors import ArgumentError, OutOfMemoryError, ShapeError
from .operands import operand, size_text, whole_numbers
from .operators import F, Tensor, TensorLike, apply, composite, spelled
from .pointwise import saving_op
from .shaping import backwards

MODES = ("constant", "reflect", "replicate", "circular")


@spelled
@composite
def pad(input: TensorLike, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """The input with more elements at its ends, as PyTorch's `functional.pad`.

    pad: (before, after) of the last axis, then of the one before it, and so on. mode: "constant" puts `value` there (0 when
    left out; a negative number of elements is cut off), "reflect" the elements beside the border, mirrored at it,
    "replicate" the one at the border, "circular" those of the other end. Raises ArgumentError, ShapeError.

    Examples:
        >>> F.pad(sg.tensor([1, 2]), (1, 0))
        tensor([0, 1, 2])
    """
    if not isinstance(pad, Iterable):
        raise ArgumentError(f"pad: expected numbers of elements (before, after) of axes, got {pad!r}")
    if value is not None and not (is_number(value) or isinstance(value, complex)):
        raise ArgumentError(f"pad: value has to be a number, got {value!r}")
    x = operand(input)
    ends = whole_numbers("pad", tuple(pad), len(tuple(pad)))
    if len(ends) % 2:
        raise ArgumentError(f"Padding length must be divisible by 2, got {len(ends)}")
    if len(ends) > 2 * len(x.shape):
        raise ArgumentError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(ends)} and input of dimension {len(x.shape)}"
        )
    if mode not in MODES:
        raise ArgumentError(f"Unrecognised padding mode {mode}", f"use one of {', '.join(MODES)}")
    if mode != "constant" and value is not None:
        raise ArgumentError(f'Padding mode "{mode}" doesn\'t take in value argument')
    for k in range(len(ends) // 2):
        axis, before, after = len(x.shape) - 1 - k, ends[2 * k], ends[2 * k + 1]
        if mode == "constant":
            x = _constant(x, axis, before, after, 0 if value is None else value)
        elif before or after:
            x = _own(x, axis, before, after, mode)
    return F.clone(x) if x is input else x


def _cut(x: Tensor, axis: int, begin: int | None, end: int | None, step: int = 1) -> Tensor:
    return F.getitem(x, (*((slice(None),) * axis), slice(begin, end, step)))


def _constant(x: Tensor, axis: int, before: int, after: int, value: float) -> Tensor:
    if before < 0 or after < 0:
        extent = x.shape[axis]
        if extent is not None and extent + before + after < 0:
            raise ShapeError(
                f"The input size {extent}, plus negative padding {before} and {after} resulted in a negative output size"
            )
        x = _cut(x, axis, max(-before, 0), min(after, 0) or None)
    parts = [_filled(x, axis, before, value), x, _filled(x, axis, after, value)]
    return F.concatenate([part for part in parts if part is not None], axis)


def _filled(x: Any, axis: int, count: int, value: float) -> Any:
    """`count` elements of `value` along an axis of x; None for none."""
    if count <= 0:
        return None
    if all(type(d) is int for d in x.shape):
        kind = TensorType((*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype)
        kind.check_size()
        try:
            return np.full(kind.shape, value, kind.dtype)
        except MemoryError:
            raise OutOfMemoryError(f"pad: there is no memory for {kind.nbytes:.1e} bytes of padding") from None
    column = np.full((count, *(1,) * (len(x.shape) - axis - 1)), value, x.dtype)
    return F.zeros_like(_cut(x, axis, 0, 1)) + column


def _own(x: Tensor, axis: int, before: int, after: int, mode: str) -> Tensor:
    extent = x.shape[axis]
    if before < 0 or after < 0:
        return _own_cut(x, axis, before, after, mode)
    if extent is not None:
        _check_own(x.shape, axis, before, after, mode)
    if mode != "circular":
        x = apply(saving_op, x)
    if mode == "replicate":
        ones = [np.ones((n, *(1,) * (len(x.shape) - axis - 1)), x.dtype) for n in (before, after)]
        first, last = _cut(x, axis, 0, 1) * ones[0], _cut(x, axis, -1, None) * ones[1]
    elif mode == "circular":
        first, last = _cut(x, axis, -before, None), _cut(x, axis, 0, after)
    else:
        first = backwards(_cut(x, axis, 1, before + 1), (axis,))
        last = backwards(_cut(x, axis, -after - 1, -1), (axis,))
    return F.concatenate([*([first] if before else []), x, *([last] if after else [])], axis)


def _own_cut(x: Tensor, axis: int, before: int, after: int, mode: str) -> Tensor:
    """Elements cut off at one end, or both, before the rest is padded; "replicate" keeps the one at a border."""
    extent = x.shape[axis]
    if extent is None:
        raise ShapeError(f"pad: negative padding with mode {mode!r} needs a known extent", f"got {size_text(x.shape)}")
    if extent + before + after < 0:
        raise ShapeError(
            f"The input size {extent}, plus negative padding {before} and {after} resulted in a negative output size"
        )
    if mode == "replicate":
        return F.take(x, np.clip(np.arange(-before, extent + after), 0, max(extent - 1, 0)), axis)
    x = _cut(x, axis, max(-before, 0), min(after, 0) or None)
    return _own(x, axis, max(before, 0), max(after, 0), mode) if max(before, after) > 0 else x


def _check_own(shape: Any, axis: int, before: int, after: int, mode: str) -> None:
    extent, most = shape[axis], max(before, after)
    if mode == "reflect" and most >= extent:
        raise ShapeError(
            "Padding size should be less than the corresponding input dimension, but got: padding "
            f"({before}, {after}) at dimension {axis} of input {size_text(shape)}"
        )
    if mode == "circular" and most > extent:
        raise ShapeError(
            "Padding value causes wrapping around more than once.",
            f"padding ({before}, {after}) at dimension {axis} of input {size_text(shape)}",
        )
    if mode == "replicate" and not extent:
        raise ShapeError(f"Expected a non-empty axis to replicate, got dimension {axis} of input {size_text(shape)}")
