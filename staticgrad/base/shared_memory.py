"""Memory of arrays that others use as well: forked processes, processes that an array is sent to, libraries that speak
DLPack."""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
import weakref
from multiprocessing import reduction
from typing import Any

import numpy as np

PLACE = "/dev/shm"
"""A folder in memory, where there is one."""


class Pages(mmap.mmap):
    """Shared pages. file: the descriptor of a file without a name, which ends with its last user."""

    file: int


def _pages(file: int, size: int) -> Pages:
    made = Pages(file, size)
    made.file = file
    weakref.finalize(made, os.close, file)
    return made


def pages_of(array: np.ndarray) -> Pages | None:
    """The pages that an array lies in; None for memory of this process alone."""
    found: Any = array
    while isinstance(found, (np.ndarray, memoryview)):
        found = found.base if isinstance(found, np.ndarray) else found.obj
    return found if isinstance(found, Pages) else None


def shared(array: np.ndarray) -> np.ndarray:
    """A copy of an array in shared pages. What one process writes, the others read."""
    file, path = tempfile.mkstemp(dir=PLACE if os.path.isdir(PLACE) else None)
    os.unlink(path)
    size = max(array.nbytes, 1)
    os.truncate(file, size)
    made = np.ndarray(array.shape, array.dtype, _pages(file, size))
    made[...] = array
    return made


def _reduced(array: np.ndarray) -> Any:
    """How an array is sent to another process: as its pages and the place in them, or as a copy."""
    pages = pages_of(array)
    if pages is None:
        return array.__reduce__()
    start = np.frombuffer(pages, np.uint8).__array_interface__["data"][0]
    offset = array.__array_interface__["data"][0] - start
    return np.ndarray, (array.shape, array.dtype, pages, offset, array.strides)


def _sent(pages: Pages) -> Any:
    """Pages as they are sent: once, for all arrays in them."""
    return _received, (reduction.DupFd(pages.file), pages.size())


def _received(file: Any, size: int) -> Pages:
    return _pages(file.detach(), size)


reduction.ForkingPickler.register(np.ndarray, _reduced)
reduction.ForkingPickler.register(Pages, _sent)


# DLPack's capsules of bfloat16 ----------------------------------------------------------------------------------------

# NumPy neither makes nor takes them: a capsule of uint16 gets another code of the dtype. Source: `DLDataTypeCode` and the
# structures of dlpack.h.

UNSIGNED, BFLOAT = 1, 4
PLACES = {b"dltensor": 20, b"dltensor_versioned": 52}
"""The place of the code in what the two kinds of capsules point to; a byte with the number of bits follows it."""

_valid = ctypes.pythonapi.PyCapsule_IsValid
_valid.restype, _valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def recoded(capsule: Any, of: int, to: int) -> bool:
    """Give a capsule of numbers of 16 bits another code; False for a capsule of others."""
    for name, place in PLACES.items():
        if _valid(capsule, name):
            code, bits = (ctypes.c_uint8 * 2).from_address(_pointer(capsule, name) + place)
            if (code, bits) == (of, 16):
                ctypes.c_uint8.from_address(_pointer(capsule, name) + place).value = to
                return True
    return False
