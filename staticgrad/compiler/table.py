"""The form of a plan's table, and where NumPy keeps an array's data: what the driver is compiled against."""

from __future__ import annotations

import ctypes

import numpy as np

ROW = 8
"""Int64 numbers per row; `library/driver.py` says which."""


def data_offset() -> int:
    """Bytes from the start of an ndarray object to its data pointer.

    NumPy keeps the pointer right behind the object's header. Reading it natively takes nanoseconds, `x.ctypes.data` a
    microsecond. Raises ImportError when a check on real arrays fails.
    """
    offset = object.__basicsize__
    for array in (np.empty(3), np.empty((2, 2), np.int8)[1:]):
        found = ctypes.c_void_p.from_address(id(array) + offset).value
        if found != array.__array_interface__["data"][0]:
            raise ImportError("this NumPy keeps the data pointer of its arrays elsewhere")
    return offset


DATA_OFFSET = data_offset()
