"""DLPack's capsules of bfloat16, which NumPy neither makes nor takes: they are those of uint16 with another code of the dtype.

Source: `DLDataTypeCode` and the structures of dlpack.h.
"""

from __future__ import annotations

import ctypes
from typing import Any

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
