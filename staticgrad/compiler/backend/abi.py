"""The layouts on which machine code and its callers agree: instructions, control blocks, the thread pool, matrix products,
and the headers of Python's and NumPy's objects."""

from __future__ import annotations

import ctypes
import os
from itertools import product

import numpy as np

from .cpu import BYTES, L2, REGISTERS

ROW = 8
"""Int64 words per instruction; see `runtime/instruction_loop.py`."""
MAX_BUFFERS = 48
"""The most buffers of a kernel: each has an alias scope of its own."""

# A plan's control block, in int64 words.
(
    BUSY,  # not 0: its memory is in use; calls without the lock, or from a signal handler, decline
    PATCHES, PATCHED,  # the patches, how many
    OBJECTS,  # ids of the arrays of a run: the feeds, then the results
    TABLE, ROWS,
    STATUS, HOLD,  # see `step` in `runtime/instruction_loop.py`
    FAILED,  # the instruction that reported an error, -1, or NO_ROOM
    RUNS,  # 1: a call runs the whole plan; 0: it only puts the arrays in place
    EXCHANGES,  # the first instruction that begins an exchange: from there on a run can't begin anew, but go on
    RELEASES,  # 1: the plan takes long enough to release the GIL
    RESULTS, FETCHED,  # the results, how many
    PLAN_BLOCK,
) = range(15)  # fmt: skip

NO_ROOM = -2
"""There was no memory for the results, and nothing was run."""

# One result of a plan.
(
    DIRECT,  # not 0: instructions write the result; 1 + its number among the objects
    SOURCE,  # else an ndarray that is copied after the run
    OUT_DTYPE, OUT_NDIM, OUT_SHAPE, OUT_FLAGS,  # of the new array; 0 for results that Python fills in
    POOL, POOLED, NEXT,  # ids of arrays to use again, how many, the next one to replace
    RESULT_BLOCK,
) = range(10)  # fmt: skip

# A fast call.
(
    PLAN, API,
    TRUSTED,  # 1: the arguments fit, and the caller holds the plan's lock
    TAKES, SPECS,  # the arguments: how many, and their conditions
    RANGES, RANGED,  # memory that arguments may not share: ends, then beginnings
    EXCLUDED, EXCLUDES,  # objects that may not be arguments
    BOX,  # the type of tensors, 0 for arrays; then the offsets of array and flag, the flag of a plain tensor
    BOX_ARRAY, BOX_FLAG, BOX_PLAIN,
    BOX_NEW, BOX_ARGS, BOX_FIELDS, BOX_FIELD,  # how to make one: function, arguments, (offset, object) pairs, how many
    MAKE, PUT, GET,  # functions of the container of the results, 0 for the one result itself
    FAST_CALL_BLOCK,
) = range(21)  # fmt: skip

# One argument of a fast call.
(
    SAME,  # not 0: the object that the argument has to be
    IN_DTYPE, IN_NDIM, IN_SHAPE, IN_BYTES,
    BARE,  # 1: an array, not a tensor of one; 2: a tensor
    SPEC_BLOCK,
) = range(7)  # fmt: skip
KINDS = {None: 0, True: 1, False: 2}
"""The values of `BARE`."""

# Addresses of functions of Python and NumPy.
(
    INCREF, DECREF, SAVE_THREAD, RESTORE_THREAD, CHECK_SIGNALS, CLEAR_ERROR, NONE, NDARRAY, NEW_ARRAY, COPY_INTO, API_BLOCK,
) = range(11)  # fmt: skip

# Offsets of the fields of Python's objects. NumPy's header is part of its ABI: extension modules read it by macros.
HEADER = object.__basicsize__
TYPE = HEADER - 8
DATA_OFFSET, NDIM, SHAPE, STRIDES, BASE, DTYPE, FLAGS, WEAK = (HEADER + 8 * i for i in range(8))
CONTIGUOUS = 1
REFERENCES = HEADER - 16
INT = 0xFFFFFFFF
"""Mask of C's int in an int64."""


def check_headers() -> None:
    """Compare the fields of real arrays with NumPy's attributes. Raises ImportError where they differ."""
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
these fields elsewhere, and to find out whether they cause a fault."""

if FASTCALL:
    check_headers()

TICKET, DONE, JOB, OWNER, ASLEEP, SHUN, STOP, CALLS = (64 * line for line in range(8))
"""Offsets in a thread pool, in bytes, each on a cache line of its own; see `runtime/work_sharing.py`."""
STARTED, LOCKS, PLACES = 64 * 9, 64 * 10, 64 * 12
"""Offsets in a thread pool: how many workers have started; a mutex, which a condition variable follows 64 bytes later; a place
for each of the first `PLACED` workers."""
PLACED, PLACE_BYTES, CPU_SET_BYTES = 8, 64 * 7, 128
"""Systems find an idle CPU by themselves where there are many; the bytes of a place, and of a set of 1024 CPUs."""
POOL_BYTES = PLACES + PLACED * PLACE_BYTES
LINGER = 5_000
"""Iterations (some 20 ns each) for which a worker waits for work before it sleeps: about the time between two steps."""
STINT = 500_000
"""Nanoseconds after which a worker lets other processes run: less than the time that the system gives one without
interruption."""
PATIENCE = 500
"""Iterations after which a plan that waits for a worker yields its CPU."""
GRACE = 20_000
"""Nanoseconds by which a worker may take longer than the plan's own thread."""
SHUNNED, LONGEST = 20, 500_000_000
"""The factor by which workers are left out for longer than they were late, and the most nanoseconds."""

WAYS, WAY, STREAK, FASTEST, SPENT, END, HOME, TRIED, REST, INTERVAL, TIMES = (8 * word for word in range(4, 15))
"""Offsets after the error in a plan's status, in bytes; see `runtime/instruction_loop.py`."""
TOGETHER, ALONE, LARGE = range(3)
"""Ways to run a plan. Each has a word from TIMES on."""
STATUS_WORDS = TIMES // 8 + 3
TRIAL = 5
"""Runs after which the ways of running a plan are compared."""
OFTEN, SELDOM = 64, 4096
"""The least and most runs between two trials."""
TIE = 16
"""Two ways take the same time where they differ by less than this part of it."""
LARGE_WORK = 1_000_000
"""Cost units (some 0.02 ns) from which an instruction is shared in the way LARGE: many times what a hand-over takes."""

ENTER, REPEAT, UNLESS, GO, HOST, START, WAIT, LOOK, MATCH = range(1, 10)
"""Operations of control-flow instructions, see `runtime/control_instructions.py`, and from START on of exchanges, see
`runtime/exchange_instructions.py`."""
T, N, COUNT, REVERSE, EXIT, HEAD, MOVES, GROWING, PAUSED, SINCE = (8 * word for word in (0, 1, 2, 3, 4, 5, 6, 8, 10, 11))
"""Offsets in the state of a loop, in bytes."""
LOOP_WORDS = 12
LOOKS, PAUSE = 64, 100_000_000
"""The number of iterations after which a loop reads the clock, and of nanoseconds after which it pauses for Python to handle
signals."""

FUNCTION, OPERANDS, SENT, RECEIVED = (8 * word for word in (0, 1, 9, 12))
(
    TEST,
    REQUEST,
    DONE_FLAG,
    ACTIVE,
    ERROR,
    BEGUN,
    WAITED,
    ENDED,
    TIMEOUT,
    MINE,
    FOUND,
    MEMBERS,
    DIGEST,
    COUNT_OF_GROUP,
    MPI_STATUS,
) = (8 * word for word in range(13, 28))
"""Offsets in the state of an exchange, in bytes; PAUSED and SINCE lie where loops have them."""
EXCHANGE_WORDS = MPI_STATUS // 8 + 8
LATE, DIFFERENT, UNDER_WAY = -1, -2, -3
"""Errors of exchanges that MPI does not know."""
SQUARES = 4, 8, 16
"""Rows and columns of squares that kernels transpose in registers: the smallest that holds a row is taken."""


# matrix products: the numbers of their kernel, see `gemm_products.py` -------------------------------------------------

FIRST, FORM = 3, 13
"""The position of the first product in the sizes, and the number of its sizes before the offsets of its batches."""
NO_ADDEND = -1
"""The distance between rows of E where nothing is added."""
AMPLE = REGISTERS * BYTES >= 2048
"""Whether registers hold the sums of large tiles, as those of AVX-512 do: 32 of 64 bytes. AVX2 has 16 of 32, arm64 32 of 16."""
WIDE = 2 if AMPLE else 3
"""Vectors of a whole tile's width."""
DEPTH = 256
"""Steps of a product done at a time: a panel of B of this height and a tile's width stays in the L1 cache."""
NEAR = 8192 * BYTES
"""Bytes of a block of A, which stays in the L2 cache."""
ROOMY = AMPLE and L2 >= 4 * NEAR
"""Whether the L2 cache holds a block of B, beside which rows of A pass, or else a block of A."""
SHALLOW = DEPTH // 2
"""Steps up to which tiles of a packed product take all panels of B for one panel of A."""
BLOCK = SHALLOW if ROOMY else DEPTH
"""Steps of a packed product done at a time."""
BROAD = 3 if ROOMY else WIDE
"""Vectors of a whole packed tile's width."""
FAR = L2 // 2 if ROOMY else 4 * NEAR
"""Bytes of a block of B."""


def scratch_of(size: int, columns: int) -> int:
    """Bytes of scratch for a packed product. size: bytes of an element; columns: those of B that one chunk takes."""
    panels = -(-columns * size // (BROAD * BYTES))
    return NEAR + min(panels, FAR // (BROAD * BYTES * BLOCK)) * BROAD * BYTES * BLOCK


IN_PLACE = "m, n, k, ta, tb, a, a_row, a_step, b, b_row, c, c_row, e, e_row, adds, alpha"
"""The words of a function of products with operands in place: addresses and bytes, and the bits of alpha as a float64."""


def in_place(element: str) -> tuple[str, str]:
    """The source and the name of the function of products of f32 or f64 with operands in place, which kernels share."""
    routine, name = f"place_{element}", f"in_place_{element}"
    imported = f"from staticgrad.compiler.backend.gemm_products import {routine}\n"
    imported += "from staticgrad.compiler.backend.kernel_compiler import entry\n\n\n"
    return f"{imported}@entry\ndef {name}({IN_PLACE}):\n    {routine}({IN_PLACE})\n    return 0\n", name


def kernel(kind: str) -> tuple[str, str]:
    """The source and the name of the kernel of products of f32, f64, f32_packed or f64_packed; see `gemm_products.py`."""
    routine, name = f"multiply_{kind}", f"gemm_{kind}"
    imported = f"from staticgrad.compiler.backend.gemm_products import {routine}\n\n\n"
    return f"{imported}@kernel\ndef {name}(buffers, sizes, start, stop):\n    {routine}(buffers, sizes, start, stop)\n", name
