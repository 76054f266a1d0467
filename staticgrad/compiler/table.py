"""The form of a plan's table and of the pool of threads, and where NumPy keeps an array's data: what the driver is
compiled against."""

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

TICKET, DONE, JOB, OWNER, ASLEEP, SHUN, TIME, STOP, CALLS = (64 * line for line in range(9))
"""Places in a pool, in bytes: each on a cache line of its own; `library/pool.py` says what they are."""
POOL_BYTES = 64 * 12
LOCKS = 64 * 10
"""Where a mutex and, 64 bytes on, a condition lie in it."""
LINGER = 5_000
"""Turns (some 20 ns each) for which a worker waits for more before it sleeps: about the pause between two steps."""
PATIENCE = 500
"""Turns after which a plan that waits for a worker offers it its CPU."""
GRACE = 20_000
"""Nanoseconds that a worker may take longer than the plan's own thread."""
SHUNNED, LONGEST = 20, 500_000_000
"""For how many times as long workers are shunned then, and nanoseconds at the most."""

ENTER, REPEAT, UNLESS, GO, HOST = range(1, 6)
"""What rows without chunks do; `library/turns.py` says how."""
T, N, COUNT, REVERSE, BEHIND, HEAD, MOVES, GROWING = (8 * word for word in (0, 1, 2, 3, 4, 5, 6, 8))
"""Places in the state of a loop, in bytes."""
LOOP_WORDS = 10
