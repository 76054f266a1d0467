"""Questions that functions of tensors ask of their operands: dtype, axes, extents."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ..base.types import INEXACT, TensorType, is_scalar, normalize_axis, promote
from ..errors import ArgumentError, DTypeError, StaticgradError, UnknownExtentError
from ..ir import REGISTRY
from ..operators import Lifted, Operators, Symbol, append, as_array, frontends
from ..operators.unknown_numbers import UnknownNumber


def dtype_of(x: Any) -> np.dtype:
    """The dtype that an operand brings."""
    given = x.sample() if issubclass(type(x), UnknownNumber) else x
    return given.dtype if hasattr(given, "dtype") else as_array(given).dtype


def operand(x: Any) -> Any:
    """A tensor as it is, anything else as an array."""
    return x if isinstance(x, Operators) else as_array(x)


def promoted(*operands: Any) -> np.dtype:
    """The dtype that operands take together."""
    return promote([*map(brought, operands)])


def brought(x: Any) -> Any:
    """What an operand brings to promotion: a number, which is weak, or a type."""
    if issubclass(type(x), UnknownNumber):
        return x.sample()
    return x if is_scalar(x) else TensorType(x.shape if hasattr(x, "shape") else tuple(np.shape(x)), dtype_of(x))


def ndim_of(x: Any) -> int:
    """How many axes an operand has."""
    try:
        return x.ndim
    except AttributeError:
        return np.ndim(x)


def extent(name: str, x: Any, axis: int) -> int:
    """The extent of an axis, for a function that needs it as a number. Raises ShapeError where it is unknown."""
    found = x.shape[axis]
    if found is None:
        axis = normalize_axis(axis, len(x.shape))
        raise UnknownExtentError(f"{name}: the extent of axis {axis} is unknown", "give the placeholder a known extent there")
    return found if found.__class__ is int else int(found)


def extents(name: str, x: Any, start: int = 0, stop: int | None = None) -> tuple[int, ...]:
    """The extents of the axes from `start` to `stop`, as `extent` gives them."""
    return tuple(extent(name, x, axis) for axis in range(len(x.shape))[start:stop])


def integer(name: str, word: str, value: Any) -> int:
    """An argument that has to be an integer. Raises DTypeError for anything else."""
    if value.__class__ is int:  # or what stands for one
        return value
    try:
        return index(value)
    except StaticgradError:
        raise
    except TypeError:
        raise DTypeError(f"{name}(): {word} has to be an integer, got {value!r}", "use an integer") from None


def number_in(name: str, value: Any, dtype: np.dtype) -> np.ndarray:
    """A number as an array of `dtype`, of integers without what follows the point. Raises DTypeError where it has no room."""
    given = np.asarray(value)
    fits = given.dtype.kind in "biuf" or (given.dtype.kind == "c" and (dtype.kind in "bc" or not given.imag.any()))
    if fits:
        with np.errstate(over="ignore", invalid="ignore"):
            cast = (given.real if dtype.kind in "iuf" else given).astype(dtype)
        if dtype.kind in "iu":
            fits = np.array_equal(np.trunc(given.real) if given.dtype.kind in INEXACT else given, cast)
        else:
            fits = bool(np.isfinite(cast).all() or not np.isfinite(given).all())
    if not fits:
        raise DTypeError(f"{name}: value {given} cannot be converted to {dtype} without overflow")
    return cast


def several(name: str, tensors: tuple[Any, ...]) -> list[Any]:
    """Tensors that are given one by one or in one sequence."""
    given = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Operators) else tensors
    if not isinstance(given, (list, tuple)):
        raise ArgumentError(f"{name}: expected tensors, got {type(given).__name__}")
    return list(given)


def in_mode_of(array: np.ndarray, like: Any) -> Any:
    """An array as a tensor of the mode of another one."""
    while isinstance(like, Lifted):
        like = like.value
    if isinstance(like, Symbol):
        return append(like.graph, REGISTRY["identity"], (array,), {})
    return frontends.tensor_class(array)
