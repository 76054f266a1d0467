"""Questions that functions of tensors ask of their operands, and settings that they bring to one form.

What dtype do `x` and 2.0 have together, which axis is -1, what are `stride=2` and `padding="same"` for two axes? Operands of
loops have roles, which the op's record, its gradient and the compiler find here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, cast

import numpy as np

from ..base import dtypes
from ..base.types import INEXACT, Shape, TensorType, is_scalar, normalize_axis, promote, shape_text
from ..errors import ArgumentError, DTypeError, ShapeError, StaticgradError, UnknownExtentError
from ..ir import REGISTRY, Subgraph
from .operators import F, Lifted, Operators, Symbol, Tensor, TensorLike, append, as_array, frontends
from .operators.unknown_numbers import UnknownNumber


def dtype_of(x: Any) -> np.dtype:
    """The dtype that an operand brings."""
    given = x.sample() if issubclass(type(x), UnknownNumber) else x
    return given.dtype if hasattr(given, "dtype") else as_array(given).dtype


def operand(x: TensorLike) -> Tensor:
    """A tensor as it is, anything else as an array, which has the attributes of a tensor that functions read."""
    return x if isinstance(x, Operators) else cast("Tensor", as_array(x))


def inexact(x: Any, text: str) -> Any:
    """x. Raises DTypeError for a tensor of integers while a program finds this library under PyTorch's name: PyTorch computes
    no means and norms of them, NumPy does. text: PyTorch's, before the name of the dtype."""
    if dtypes.prefix and isinstance(x, Operators) and x.dtype.kind in "biu":
        kind = next(
            (name.removesuffix("Tensor") for name, dtype in dtypes.TENSOR_NAMES.items() if dtype == x.dtype), x.dtype.name
        )
        raise DTypeError(f"{text} Got {kind}", "cast it first: x.float()")
    return x


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


class Parts(dict[int, Any]):
    """The cotangent of a node with several results: by the number of the result, as far as there are any."""


class LoopOperands:
    """The inputs and results of a loop by their roles. `body`: the attributes of the node."""

    def __init__(self, attrs: Any, inputs: Sequence[Any]):
        self.body: Subgraph = attrs["body"]
        self.cond: Subgraph | None = attrs["cond"]
        self.dynamic = self.cond is not None or attrs["count"]
        at = int(attrs["count"])
        self.count = inputs[0] if at else None
        self.consts = list(inputs[at : at + attrs["consts"]])
        at += attrs["consts"]
        self.inits = list(inputs[at : at + attrs["carries"]])
        self.stacks = list(inputs[at + attrs["carries"] :])
        n = attrs["consts"]
        self.const_params = self.body.params[:n]
        self.carry_params = self.body.params[n : n + attrs["carries"]]
        self.item_params = self.body.params[n + attrs["carries"] :]
        self.next_carries = self.body.results[: attrs["carries"]]
        self.items = self.body.results[attrs["carries"] :]


def trip_count(length: Any, stacks: Sequence[TensorType]) -> Any:
    """The number of iterations, None while it is unknown. Raises ShapeError."""
    known = length
    for stack in stacks:
        n = stack.shape[0] if stack.shape else None
        if n is not None and known is not None and n != known:
            raise ShapeError(
                "scan got values with different leading axis sizes: "
                + ", ".join(shape_text(s.shape) for s in stacks)
                + (f", and length={length}" if length is not None else "")
            )
        known = n if known is None else known
    return known


# settings of convolutions, pooling and padding: numbers per axis, padding, batches ------------------------------------

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


def batched(name: str, x: Tensor, axes: int) -> tuple[Tensor, bool]:
    """x with a batch axis, and whether it lacked one. Raises ShapeError."""
    if len(x.shape) not in (axes + 1, axes + 2):
        raise ShapeError(
            f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {name}, but got input of size: "
            f"{size_text(x.shape)}"
        )
    lacked = len(x.shape) == axes + 1
    return (F.expand_dims(x, 0) if lacked else x), lacked
