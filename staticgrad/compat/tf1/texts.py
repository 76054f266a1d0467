"""Texts: a tensor of strings has their numbers as elements.

A text has one number in a process; 0 is that of the empty one, so that zeros are empty texts. What moves elements moves
numbers, in plans as elsewhere. Feeds become numbers and fetches texts (`host.py`); functions that read texts are Python's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import lock

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
