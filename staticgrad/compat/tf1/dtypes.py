"""TensorFlow's dtypes: objects with a name and NumPy's twin."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import core
from .core import lock

# texts ----------------------------------------------------------------------------------------------------------------

# Texts: a tensor of strings has their numbers as elements.
#
# A text has one number in a process; 0 is that of the empty one, so that zeros are empty texts. What moves elements moves
# numbers, in plans as elsewhere. Feeds become numbers and fetches texts (`host.py`); functions that read texts are Python's.


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
