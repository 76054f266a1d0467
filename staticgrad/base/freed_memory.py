"""What the C library does with memory that arrays have freed.

By default glibc gives it back to the system as soon as some megabytes at the end of the heap are free. An array that is made
afterwards has new pages, and the system stops the program at each of them: a training step whose temporaries take 10 MB loses
as much time by that as by its arithmetic. Here the heap keeps up to `KEPT` bytes.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

TRIM, MAP = -1, -3
"""glibc's numbers of the settings M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""
KEPT = 1 << 27
"""Free bytes at the end of the heap from which it shrinks."""
MAPPED = 1 << 25
"""Bytes of arrays that are apart from the heap: glibc allows no more. It gives the memory of each back at once."""
CHOSEN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
"""Environment variables by which users choose themselves."""


def keep() -> bool:
    """Keep freed memory in this process, unless its user has chosen. Returns whether the C library does so."""
    if any(name in os.environ for name in CHOSEN):
        return False
    with suppress(AttributeError, OSError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        return bool(mallopt(MAP, MAPPED) and mallopt(TRIM, KEPT))
    return False
