"""TensorFlow's dtypes, objects with a name and NumPy's twin, and its shapes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from . import core
from .core import lock

# texts ----------------------------------------------------------------------------------------------------------------

# Texts: a tensor of strings has their numbers as elements.
#
# A text has one number in a process; 0 is that of the empty one, so that zeros are empty texts. What moves elements moves
# numbers, in plans as elsewhere. Feeds become numbers and fetches texts (`graph.py`); functions that read texts are Python's.


STORAGE = np.dtype(np.int64, metadata={"texts": True})
"""The dtype of the numbers. It is NumPy's int64 for all but `is_storage`."""


def is_storage(dtype: Any) -> bool:
    """Whether it is the dtype of numbers of texts."""
    return isinstance(dtype, np.dtype) and dtype.metadata is not None and "texts" in dtype.metadata


_TEXTS: list[bytes] = [b""]
_NUMBERS: dict[bytes, int] = {b"": 0}
_lock = lock()


def number(text: Any) -> int:
    """The number of a text. Raises TypeError for another object."""
    if isinstance(text, str):
        text = text.encode()
    if not isinstance(text, bytes):
        raise TypeError(f"Expected binary or unicode string, got {text!r}")
    found = _NUMBERS.get(text)
    if found is None:
        with _lock:
            found = _NUMBERS.get(text)
            if found is None:
                _TEXTS.append(bytes(text))
                found = _NUMBERS[bytes(text)] = len(_TEXTS) - 1
    return found


def numbers(value: Any) -> np.ndarray:
    """The numbers of a text, or of an array or nested lists of texts. Numbers are taken for what they are."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return value.astype(STORAGE)
    array = np.asarray(value, object)
    if isinstance(value, np.integer):
        return np.asarray(value, STORAGE)
    return np.array([number(x) for x in array.ravel()], STORAGE).reshape(array.shape)


def texts(array: Any) -> Any:
    """The texts of numbers: bytes for one, else an array of objects."""
    array = np.asarray(array)
    if not array.ndim:
        return _TEXTS[int(array)]
    found = np.empty(array.shape, object)
    found.ravel()[:] = [_TEXTS[i] for i in array.ravel().tolist()]
    return found


def are_texts(array: np.ndarray) -> bool:
    """Whether an array of Python's objects or of NumPy's strings has texts, and nothing else."""
    return array.dtype.kind in "US" or (
        array.dtype.kind == "O" and array.size > 0 and all(isinstance(x, (str, bytes)) for x in array.ravel())
    )


class DType:
    """A dtype of TensorFlow 1. Compares equal to the NumPy dtype, and to the texts that TensorFlow takes for it."""

    is_complex = is_quantized = False

    def __init__(self, name: str, of: str = ""):
        self.name, self._of = name, core.named_dtype(of if of != "" else name)
        kind = self._of.kind
        self.is_floating, self.is_integer, self.is_bool, self.is_unsigned = kind == "f", kind in "iu", kind == "b", kind == "u"
        self.size: int = self._of.itemsize
        """Bytes of one element."""

    @property
    def numpy(self) -> np.dtype:
        """NumPy's object."""
        return core.as_dtype(self._of)

    @property
    def as_numpy_dtype(self) -> Any:
        """NumPy's type of one element."""
        return self.numpy.type

    @property
    def base_dtype(self) -> DType:
        return self

    real_dtype = base_dtype

    @property
    def limits(self) -> tuple[Any, Any]:
        """The least and the largest value; of unsigned numbers and floats what TensorFlow takes for pictures: 0 and 1, 255."""
        return (0, 1 if self.is_floating else self.max) if self.is_floating or self.is_unsigned else (self.min, self.max)

    def is_compatible_with(self, other: Any) -> bool:
        return as_dtype(other) is self

    @property
    def min(self) -> Any:
        return self.as_numpy_dtype(core.finfo(self.numpy).min) if self.is_floating else np.iinfo(self.numpy).min

    @property
    def max(self) -> Any:
        return self.as_numpy_dtype(core.finfo(self.numpy).max) if self.is_floating else np.iinfo(self.numpy).max

    def __eq__(self, other: object) -> bool:
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"


float16, bfloat16, float32, float64 = map(DType, ("float16", "bfloat16", "float32", "float64"))
int8, int16, int32, int64 = map(DType, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(DType, ("uint8", "uint16", "uint32", "uint64"))
bool_ = DType("bool")
half, double = float16, float64

BY_NAME = {
    d.name: d
    for d in (
        *(float16, bfloat16, float32, float64, int8, int16, int32, int64),
        *(uint8, uint16, uint32, uint64, bool_),
    )
}
ALIASES = {"float": float32, "double": float64, "half": float16}
REFUSED = ("complex64", "complex128", "qint8", "resource")


class Texts(DType):
    """The dtype of strings, whose numbers are the elements: see `texts.py`."""

    numpy = STORAGE
    as_numpy_dtype = np.object_
    limits = min = max = property(lambda self: _no_numbers())

    def __init__(self) -> None:
        super().__init__("string", "int64")
        self.is_integer = False


def _no_numbers() -> Any:
    raise TypeError("Cannot find minimum and maximum value of string.")


string = Texts()


def as_dtype(type_value: Any) -> DType:
    """The dtype for one of TensorFlow's, NumPy's or Python's, or a name (`"float"` is float32). Raises TypeError."""
    value = type_value
    if isinstance(value, DType):
        return value
    if isinstance(value, str):
        found = ALIASES.get(value, BY_NAME.get(value))
        if found is not None:
            return found
    if value is float:
        return float32
    if value is int:
        return int32
    if value is str or value is bytes or (isinstance(value, str) and value == "string") or is_storage(value):
        return string
    try:
        found_dtype = np.dtype(value)
        name = "string" if found_dtype.kind in "USO" else found_dtype.name
    except TypeError:
        name = str(value)
    if name == "string":
        return string
    if name in BY_NAME:
        return BY_NAME[name]
    advice = ": this dialect computes with real numbers" if name in REFUSED else ""
    raise TypeError(f"Cannot convert value {value!r} to a TensorFlow DType.{advice}")


QUANTIZED_DTYPES: frozenset[Any] = frozenset()


# shapes ---------------------------------------------------------------------------------------------------------------


class Dimension:
    """One extent, an integer or unknown. Arithmetic with an unknown extent is unknown; comparisons with it are None."""

    __slots__ = ("value",)

    value: int | None

    def __init__(self, value: Any):
        self.value = value.value if isinstance(value, Dimension) else None if value is None else operator.index(value)
        if self.value is not None and self.value < 0:
            raise ValueError(f"Dimension {self.value} must be >= 0")

    def is_compatible_with(self, other: Any) -> bool:
        other = as_dimension(other)
        return self.value is None or other.value is None or self.value == other.value

    def merge_with(self, other: Any) -> Dimension:
        """The known one of two compatible extents. Raises ValueError."""
        other = as_dimension(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")
        return other if self.value is None else self

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def __reduce__(self) -> Any:
        return Dimension, (self.value,)

    def __index__(self) -> int:
        if self.value is None:
            raise TypeError("an unknown Dimension is no integer: use tf.shape(x) for the extent in a run")
        return self.value

    __int__ = __index__

    def __eq__(self, other: object) -> Any:
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        return None if self.value is None or other.value is None else self.value == other.value

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is None or equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)


def as_dimension(value: Any) -> Dimension:
    return value if isinstance(value, Dimension) else Dimension(value)


def _arithmetic(function: Callable[[int, int], int]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: Dimension, other: Any) -> Any:
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self.value is None or other.value is None:
            return Dimension(None)
        return Dimension(function(self.value, other.value))

    def reflected(self: Dimension, other: Any) -> Any:
        try:
            return forward(as_dimension(other), self)
        except (TypeError, ValueError):
            return NotImplemented

    return forward, reflected


def _comparison(function: Callable[[int, int], bool]) -> Callable[..., bool | None]:
    def compare(self: Dimension, other: Any) -> bool | None:
        other = as_dimension(other)
        return None if self.value is None or other.value is None else function(self.value, other.value)

    return compare


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    _forward, _reflected = _arithmetic(getattr(operator, _name))
    setattr(Dimension, f"__{_name}__", _forward)
    setattr(Dimension, f"__r{_name}__", _reflected)
for _name in ("lt", "le", "gt", "ge"):
    setattr(Dimension, f"__{_name}__", _comparison(getattr(operator, _name)))


class TensorShape:
    """The extents of a tensor as far as the graph knows them; of unknown rank for `dims=None`."""

    __slots__ = ("_dims",)

    _dims: tuple[Dimension, ...] | None

    def __init__(self, dims: Any):
        if isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif dims is None:
            self._dims = None
        else:
            self._dims = tuple(as_dimension(d) for d in (dims if isinstance(dims, Iterable) else (dims,)))

    def __reduce__(self) -> Any:
        return TensorShape, (self._dims,)

    @property
    def dims(self) -> list[Dimension] | None:
        return None if self._dims is None else list(self._dims)

    @property
    def ndims(self) -> int | None:
        return None if self._dims is None else len(self._dims)

    rank = ndims

    def as_list(self) -> list[int | None]:
        """Integers, and None for unknown extents. Raises ValueError for an unknown rank."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return [d.value for d in self._dims]

    def num_elements(self) -> int | None:
        """The product of the extents; None where one is unknown."""
        if not self.is_fully_defined():
            return None
        product = 1
        for extent in self.as_list():
            product *= extent or 0
        return product

    def is_fully_defined(self) -> bool:
        return self._dims is not None and all(d.value is not None for d in self._dims)

    def is_compatible_with(self, other: Any) -> bool:
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a.is_compatible_with(b) for a, b in zip(self._dims, other._dims, strict=True)
        )

    def merge_with(self, other: Any) -> TensorShape:
        """The extents that either shape knows. Raises ValueError for shapes that are not compatible."""
        other = TensorShape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        if self._dims is None or other._dims is None:
            return other if self._dims is None else self
        return TensorShape([a.merge_with(b) for a, b in zip(self._dims, other._dims, strict=True)])

    def concatenate(self, other: Any) -> TensorShape:
        other = TensorShape(other)
        return TensorShape(None if self._dims is None or other._dims is None else [*self._dims, *other._dims])

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate([other] if isinstance(other, Dimension) else other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape([other] if isinstance(other, Dimension) else other).concatenate(self)

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The extents in which both shapes agree."""
        other = TensorShape(other)
        if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
            return TensorShape(None)
        pairs = zip(self.as_list(), other.as_list(), strict=True)
        return TensorShape([m if m == n else None for m, n in pairs])

    def with_rank(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError for one of another rank."""
        if self._dims is None:
            return TensorShape([None] * rank)
        if len(self._dims) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")
        return self

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def assert_same_rank(self, other: Any) -> None:
        """Raises ValueError for a shape of another rank."""
        other = TensorShape(other)
        if None not in (self.ndims, other.ndims) and self.ndims != other.ndims:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int) -> None:
        self.with_rank(rank)

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    def __getitem__(self, key: Any) -> Any:
        if self._dims is None:
            return TensorShape(None) if isinstance(key, slice) else Dimension(None)
        return TensorShape(self._dims[key]) if isinstance(key, slice) else self._dims[key]

    def __eq__(self, other: object) -> bool:
        try:
            other = TensorShape(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._dims is None or other._dims is None:
            return self._dims is other._dims
        return self.as_list() == other.as_list()

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else list(self._dims)})"

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        return f"({self._dims[0]},)" if len(self._dims) == 1 else f"({', '.join(map(str, self._dims))})"


def known_extents(shape: Any) -> tuple[int, ...]:
    """A user's shape as integers. Raises ValueError for unknown extents."""
    found = extents(shape)
    if None in found:
        raise ValueError(f"Shape {TensorShape(shape)} is not fully known")
    return tuple(n for n in found if n is not None)


def extents(shape: Any) -> tuple[int | None, ...]:
    """A user's shape (a TensorShape, a sequence, an integer) as integers and None."""
    return tuple(TensorShape(shape).as_list())
