"""What the driver is compiled against: the form of a plan's table, of its control blocks and of the pool of threads, and
where Python and NumPy keep the fields of their objects."""

from __future__ import annotations

import ctypes
import os
from itertools import product

import numpy as np

ROW = 8
"""Int64 numbers per row; `runtime/instruction_loop.py` says which."""
MAX_BUFFERS = 48
"""Buffers of a kernel: each has an alias scope of its own."""

# A plan's control block, in int64 numbers.
(
    BUSY,  # not 0: its memory is in use, calls that come without the lock, or from a signal handler, have to wait
    PATCHES, PATCHED,  # the patches, how many
    OBJECTS,  # ids of the ndarrays that are patched in: the feeds, then the results
    TABLE, ROWS,
    STATUS, HOLD,  # see `step` of the driver
    FAILED,  # the row that reported an error, -1, or NO_ROOM
    RUNS,  # the driver runs the whole plan; else it places arrays only
    RELEASES,  # the plan takes long enough to let other threads run meanwhile
    RESULTS, FETCHED,  # the results, how many
    PLAN_BLOCK,
) = range(14)  # fmt: skip

NO_ROOM = -2
"""There was no memory for the results, and nothing ran."""

# One result of a plan.
(
    DIRECT,  # not 0: the rows write the result; 1 + its number among the objects, then
    SOURCE,  # else an ndarray that is copied after the run
    OUT_DTYPE, OUT_NDIM, OUT_SHAPE, OUT_FLAGS,  # of the new array; 0 for what Python fills in
    POOL, POOLED, TURN,  # ids of arrays to use again, how many, the one to give up next
    RESULT_BLOCK,
) = range(10)  # fmt: skip

# A gate: one way of calling a plan.
(
    PLAN, API,
    TRUSTED,  # called with fitting arrays only, by whoever holds the plan's lock
    TAKES, SPECS,  # the arguments: how many, what they have to be
    RANGES, RANGED,  # memory that arguments must not share: ends, then beginnings
    EXCLUDED, EXCLUDES,  # objects that arguments must not be
    BOX,  # the type of tensors, 0 for arrays; then where it keeps array and flag, the flag of a plain one
    BOX_ARRAY, BOX_FLAG, BOX_PLAIN,
    BOX_NEW, BOX_ARGS, BOX_FIELDS, BOX_FIELD,  # how to make one: function, arguments, (place, object) pairs, how many
    MAKE, PUT, GET,  # functions of the container of the results, 0 for the one result itself
    GATE_BLOCK,
) = range(21)  # fmt: skip

# One argument of a gate.
(
    SAME,  # not 0: the very object that it has to be; else an array
    IN_DTYPE, IN_NDIM, IN_SHAPE, IN_BYTES,
    BARE,  # not 0: no tensor of an array
    SPEC_BLOCK,
) = range(7)  # fmt: skip

# Addresses of functions of Python and NumPy.
(
    INCREF, DECREF, SAVE_THREAD, RESTORE_THREAD, CHECK_SIGNALS, CLEAR_ERROR, NONE, NDARRAY, NEW_ARRAY, COPY_INTO, API_BLOCK,
) = range(11)  # fmt: skip

# Python's objects. NumPy's header is part of its ABI: extension modules read these fields by macros.
HEADER = object.__basicsize__
TYPE = HEADER - 8
DATA_OFFSET, NDIM, SHAPE, STRIDES, BASE, DTYPE, FLAGS, WEAK = (HEADER + 8 * i for i in range(8))
CONTIGUOUS = 1
REFERENCES = HEADER - 16
INT = 0xFFFFFFFF
"""Mask of C's int in an int64."""


def check_headers() -> None:
    """Compare the fields of real arrays with what NumPy says. Raises ImportError where they are elsewhere."""
    for shape, dtype in product(((), (3,), (2, 5)), (np.float64, np.int8)):
        whole = np.empty((2, *shape), dtype)
        for array in (whole, whole[1:], whole.T):
            if not (_fields_fit(array) and _extents_fit(array)):
                raise ImportError(
                    "this NumPy keeps the fields of its arrays elsewhere; STATICGRAD_FASTCALL=0 does without reading them"
                )


def _word(array: np.ndarray, place: int) -> int:
    return ctypes.c_int64.from_address(id(array) + place).value


def _fields_fit(array: np.ndarray) -> bool:
    found = (
        _word(array, DATA_OFFSET), _word(array, NDIM) & INT, _word(array, DTYPE), _word(array, FLAGS) & INT,
        _word(array, TYPE), _word(array, BASE), _word(array, WEAK),
    )  # fmt: skip
    base = 0 if array.base is None else id(array.base)
    data = array.__array_interface__["data"][0]
    return found == (data, array.ndim, id(array.dtype), array.flags.num, id(np.ndarray), base, 0)


def _extents_fit(array: np.ndarray) -> bool:
    shape, strides = ((ctypes.c_int64 * array.ndim).from_address(_word(array, place)) for place in (SHAPE, STRIDES))
    return tuple(shape) == array.shape and tuple(strides) == array.strides


FASTCALL = os.environ.get("STATICGRAD_FASTCALL", "1") != "0"
"""Whether native code may read the headers of Python's and NumPy's objects: dtypes, extents, addresses, reference counts. With
`STATICGRAD_FASTCALL=0` Python checks arguments, makes results and passes addresses: for an interpreter or a NumPy that keeps
these fields elsewhere, and to find out whether a fault lies there."""

if FASTCALL:
    check_headers()

TICKET, DONE, JOB, OWNER, ASLEEP, SHUN, STOP, CALLS = (64 * line for line in range(8))
"""Places in a pool, in bytes: each on a cache line of its own; `runtime/work_sharing.py` says what they are."""
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

SHARES, ALONE, STREAK, SHARED_TIME, ALONE_TIME = (8 * word for word in range(4, 9))
"""Places behind the error in a plan's status, in bytes; `runtime/instruction_loop.py` says what they are."""
STATUS_WORDS = 9

ENTER, REPEAT, UNLESS, GO, HOST = range(1, 6)
"""What rows without chunks do; `runtime/control_instructions.py` says how."""
T, N, COUNT, REVERSE, BEHIND, HEAD, MOVES, GROWING, PAUSED, SINCE = (8 * word for word in (0, 1, 2, 3, 4, 5, 6, 8, 10, 11))
"""Places in the state of a loop, in bytes."""
LOOP_WORDS = 12
LOOKS, PAUSE = 64, 100_000_000
"""Every how many iterations a loop looks at the clock, and after how many nanoseconds it lets Python look at its signals."""
