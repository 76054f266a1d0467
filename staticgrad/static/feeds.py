"""The ends of a graph: placeholders and constants, the check and cast of fed values, the structure of fetches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from ..base.dtypes import as_dtype
from ..base.types import DTypeLike, Shape, ShapeLike, TensorType, UnrankedType, as_shape, category, check_unmasked, shape_text
from ..eager.tensor import Tensor
from ..errors import ArgumentError, DTypeError, FeedError, ShapeError
from ..ir import REGISTRY, Node
from ..ops import pytree
from ..ops.leaves import constant_of, fits
from ..ops.operators import Symbol, TensorLike, append, as_array
from ..ops.pytree import LEAF, Container, Structure, unflatten
from .graphs import get_default_graph


def converted(value: Any, dtype: np.dtype, by_value: bool = False, order: Literal["C", "K"] = "C") -> np.ndarray:
    """`value` (array, number, nested lists, eager tensor) as an array of `dtype`; itself where it is one.

    Allowed: bool to integer to floating, any floating to any floating, integers that fit. by_value: floating numbers to
    integers, and numbers to bool, where no value changes. order: of memory, see `Program.order`. Raises DTypeError for others.
    """
    if isinstance(value, Tensor):
        value = value._data
    check_unmasked(value)
    try:
        array = np.asarray(value, order=order)
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
        result = array.astype(dtype, order=order)
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

    def accept(self, value: Any, stacked: bool = False, order: Literal["C", "K"] = "C") -> np.ndarray:
        """The array to run with: a fitting ndarray itself, else a conversion. stacked: it holds the values of many runs
        along its first axis. order: see `Program.order`.

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
            array = converted(value, self.dtype, self.by_value, order)
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


# inputs of a graph: placeholders and constants -----------------------------------------------------------------------


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


# the structure of fetches: flattened into tensors, and rebuilt around their values -----------------------------------


def flatten(fetches: Any, leaves: list[Any]) -> Structure:
    """Append the leaves of `fetches` to `leaves`, in order; return the structure around them.

    As in TensorFlow 1, tuples, named tuples, attrs classes and mappings come back as what they are, subclasses of list as
    lists. None is a leaf, which is no tensor.
    """
    found, structure = pytree.flatten(fetches, _container)
    leaves += found
    return structure


def _container(fetches: Any) -> Container | None:
    if isinstance(fetches, Symbol):  # most are: no further question
        return None
    if isinstance(fetches, tuple):
        return Container(_tuple, type(fetches), None, fetches)
    if isinstance(fetches, list):
        return Container(_list, list, None, fetches)
    if isinstance(fetches, Mapping):
        factory = fetches.default_factory if isinstance(fetches, defaultdict) else None
        return Container(_mapping, (type(fetches), factory), tuple(fetches), [*fetches.values()])
    if hasattr(type(fetches), "fetched_as"):  # a tensor of several parts
        return _container(fetches.fetched_as())
    if hasattr(type(fetches), "__attrs_attrs__"):
        return Container(_attrs, type(fetches), None, [getattr(fetches, a.name) for a in type(fetches).__attrs_attrs__])
    return None


def _tuple(like: Any, keys: Any, items: list[Any]) -> Any:
    return like(*items) if hasattr(like, "_fields") else tuple(items)


def _list(like: Any, keys: Any, items: list[Any]) -> Any:
    return items


def _mapping(like: Any, keys: Any, items: list[Any]) -> Any:
    kind, factory = like
    make = partial(kind, factory) if issubclass(kind, defaultdict) else kind
    return make(zip(keys, items, strict=True))


def _attrs(like: Any, keys: Any, items: list[Any]) -> Any:
    return like(*items)


def is_flat(structure: Any) -> bool:
    """A single leaf, or one list or tuple of leaves."""
    return structure is LEAF or (structure.keys is None and all(item is LEAF for item in structure.items))


def rebuilder(structure: Any) -> Callable[[list[Any]], Any]:
    """The function that puts a list of values into the structure."""
    if structure is LEAF:
        return _only
    if is_flat(structure) and structure.like is list:
        return _values
    if is_flat(structure) and structure.like is tuple:
        return tuple
    return partial(unflatten, structure)


def _only(values: list[Any]) -> Any:
    return values[0]


def _values(values: list[Any]) -> Any:
    return values


class FedInParts:
    """A step for a feed dict some of whose keys are nests of tensors, or tensors of several parts: called with one value, of
    the same nesting, for each key."""

    def __init__(self, step: Any, structures: Sequence[Structure]):
        self.step, self.structures = step, structures

    def _values(self, values: Iterable[Any]) -> list[Any]:
        return [part for value, like in zip(values, self.structures, strict=True) for part in _parts(value, like)]

    def __call__(self, values: Iterable[Any]) -> Any:
        return self.step(self._values(values))

    def plan(self, values: Iterable[Any]) -> Any:
        return self.step.plan(self._values(values))


def _parts(value: Any, structure: Any) -> list[Any]:
    """The values of a key's tensors."""
    if structure is LEAF:
        return [value]
    items = list(value)
    if len(items) != len(structure.items):
        raise FeedError(f"a key of {len(structure.items)} parts is fed a value of {len(items)}")
    return [part for item, like in zip(items, structure.items, strict=True) for part in _parts(item, like)]


def in_parts(keys: Sequence[Any]) -> tuple[tuple[Any, ...], list[Structure]] | None:
    """The tensors of a feed dict's keys, and the structure of each key; None where each key is one tensor."""
    if not any(isinstance(key, tuple) or hasattr(type(key), "fetched_as") for key in keys):
        return None
    leaves: list[Any] = []
    structures = [flatten(key, leaves) for key in keys]
    return tuple(leaves), structures
