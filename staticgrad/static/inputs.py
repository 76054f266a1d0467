"""Inputs of a graph: placeholders and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.dtypes import as_dtype
from ..base.types import DTypeLike, ShapeLike, TensorType, as_shape, shape_text
from ..eager.tensor import Tensor
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ir import REGISTRY
from ..operators import Symbol, TensorLike, append, as_array
from ..ops.leaves import constant_of
from .feeds import converted
from .graphs import get_default_graph


def placeholder(dtype: DTypeLike, shape: int | Sequence[int | None] | None = None, name: str | None = None) -> Symbol:
    """A tensor that is fed at every run.

    dtype: of this library or NumPy, or its name; shape: its extents, None for one that may differ from run to run. Raises
    ArgumentError when the shape is left out: the number of axes has to be known. (`compat.tf1.placeholder` takes any.)

    Examples:
        >>> x = sg.placeholder(sg.float32, [None, 2], name="x")
        >>> with sg.Session() as sess:
        ...     sess.run(sg.sum(x, axis=0), {x: [[1, 2], [3, 4]]})
        array([4., 6.], dtype=float32)
    """
    if dtype is None or isinstance(dtype, (tuple, list)):
        raise ArgumentError(f"placeholder: the dtype comes first, got {dtype!r}", "sg.placeholder(sg.float32, (None, 64))")
    if shape is None:
        raise ArgumentError(
            "placeholder needs a shape of known rank",
            "write None for an extent that may change: sg.placeholder(sg.float32, shape=(None, 64)); () for a scalar",
        )
    kind = TensorType(as_shape(shape, unknown=True), as_dtype(dtype))
    return placeholder_of(kind, name)


def placeholder_of(kind: TensorType, name: str | None = None) -> Symbol:
    """A placeholder of a type."""
    label = name if name is not None else "placeholder"
    return append(get_default_graph(), REGISTRY["placeholder"], (), {"type": kind}, name=label)


def constant(
    value: TensorLike, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, name: str | None = None
) -> Symbol:
    """A tensor whose value is known now: a copy of `value` (array, number, nested lists, eager tensor).

    With `shape`, one element fills it, and as many as it has are reshaped to it. Raises ShapeError for other sizes,
    DTypeError for a value without a supported dtype, or one that would lose more than precision in `dtype`.

    Examples:
        >>> c = sg.constant(1.0, shape=[2, 2])
        >>> with sg.Session() as sess:
        ...     sess.run(c + 1)
        array([[2., 2.],
               [2., 2.]], dtype=float32)
    """
    if isinstance(value, Symbol):
        raise DTypeError(f"constant needs a value, got the symbolic {value.describe()}", "use sg.identity(tensor)")
    if dtype is not None:
        array = converted(value, as_dtype(dtype))
    else:
        array = value._data if isinstance(value, Tensor) else as_array(value)
    if shape is not None:
        extents = as_shape(shape)
        if array.size != 1 and array.size != np.prod(extents, dtype=int):
            raise ShapeError(f"constant: {array.size} values don't fill the shape {shape_text(extents)}")
        array = np.full(extents, array) if array.size == 1 else array.reshape(extents)
    label = name if name is not None else ""
    return append(get_default_graph(), REGISTRY["constant"], (), frozen(array), name=label)


def frozen(array: np.ndarray) -> dict[str, Any]:
    """The attributes of a constant: a copy, which later changes of `array` don't affect."""
    copy = array.copy()
    copy.flags.writeable = False
    return constant_of(copy)
