"""Feeds: lossless casts (except for precision), and the check of a fed value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.types import Shape, TensorType, UnrankedType, category, check_unmasked, shape_text
from ..eager.tensor import Tensor
from ..errors import DTypeError, FeedError
from ..ir import Node
from ..operators import Symbol
from ..ops.leaves import fits


def converted(value: Any, dtype: np.dtype, by_value: bool = False) -> np.ndarray:
    """`value` (array, number, nested lists, eager tensor) as a contiguous array of `dtype`; itself where it is one.

    Allowed: bool to integer to floating, any floating to any floating, integers that fit. by_value: floating numbers to
    integers, and numbers to bool, where no value changes. Raises DTypeError for others.
    """
    if isinstance(value, Tensor):
        value = value._data
    check_unmasked(value)
    try:
        array = np.asarray(value, order="C")
    except ValueError as error:
        raise DTypeError(f"no array can be made of it: {error}") from None
    if array.dtype == dtype:
        return array
    if array.size == 0 and not isinstance(value, np.ndarray):
        return array.astype(dtype)  # an empty list has no dtype of its own
    if array.dtype.kind not in "biufcV":
        raise DTypeError(f"dtype {array.dtype} can't become {dtype}")
    down = category(array.dtype) > category(dtype)
    if down and not (by_value and array.dtype.kind in "iuf"):
        raise DTypeError(f"dtype {array.dtype} can't become {dtype} without loss", f"cast it first: astype('{dtype}')")
    with np.errstate(all="ignore"):
        result = array.astype(dtype, order="C")
    if dtype.kind in "iub" and not np.can_cast(array.dtype, dtype) and (result != array).any():
        if down:
            raise DTypeError(f"dtype {array.dtype} can't become {dtype} without loss", f"cast it first: astype('{dtype}')")
        raise DTypeError(f"some of its values are out of the range of {dtype}")
    return result


class Feed:
    """A tensor that is fed, and the dtype and shape of its values. by_value: see `converted`."""

    __slots__ = ("by_value", "dtype", "node", "shape")

    def __init__(self, node: Node, by_value: bool = False):
        self.node, self.by_value = node, by_value
        self.dtype: np.dtype = node.type.dtype
        self.shape: Shape | None = None if isinstance(node.type, UnrankedType) else node.type.shape
        """None for any shape."""

    def accept(self, value: Any, stacked: bool = False) -> np.ndarray:
        """The array to run with: a fitting contiguous ndarray itself, else a conversion. stacked: it holds the values of
        many runs along its first axis.

        Raises FeedError when the value doesn't fit in shape or dtype.
        """
        label = self.node.name or self.node.op.name
        if isinstance(value, Symbol):
            raise FeedError(
                f"The value of a feed cannot be a symbolic tensor: Tensor '{label}' was fed {value.describe()}",
                "fetch that tensor first, and feed the array",
                *self.origin(),
            )
        try:
            array = converted(value, self.dtype, self.by_value)
        except DTypeError as error:
            raise FeedError(
                f"Cannot feed value of type {_kind(value)} for Tensor '{label}', which has dtype {self.dtype}",
                error.summary,
                *error.details,
                *self.origin(),
            ) from None
        if self.shape is not None and ((stacked and not array.ndim) or not fits(self.shape, array.shape[stacked:])):
            raise FeedError(
                f"Cannot feed value of shape {shape_text(array.shape)} for Tensor '{label}', "
                f"which has shape '{shape_text(self.shape)}'",
                *(["a stack of values needs one axis more, the first"] if stacked else []),
                *self.origin(),
            )
        return array

    def origin(self) -> tuple[str, ...]:
        return origin(self.node)


def _kind_text(kind: TensorType) -> str:
    return f"{kind.dtype}" if isinstance(kind, UnrankedType) else f"{shape_text(kind.shape)} {kind.dtype}"


def origin(node: Node) -> tuple[str, ...]:
    """The line on which a tensor was made, as a detail of an error."""
    label = f'{node.op.leaf or node.op.name} "{node.name}"' if node.name else node.op.name
    return (f"{label} {_kind_text(node.type)}, from {node.where}",) if node.where else ()


def _kind(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    return type(value).__name__ if dtype is None else f"{type(value).__name__} of {dtype}"
