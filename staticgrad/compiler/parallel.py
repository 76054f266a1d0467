"""The driver that cuts the rows of a plan over OpenMP threads.

Chunk t of n covers the range [start + len * t // n, start + len * (t + 1) // n): for a given number of chunks the result does
not depend on which thread runs which. Kernels that accumulate have as many rows as chunks, and a closing row of their own.
"""

from __future__ import annotations

import numba
from numba import njit, prange

from .driver import ROW, call_kernel, peek

if numba.config.THREADING_LAYER == "default":
    numba.config.THREADING_LAYER = "omp"  # workqueue aborts under concurrent callers


@njit("int64(int64, int64, int64, int64)", nogil=True, parallel=True, cache=True)
def run_parallel(table: int, first: int, last: int, status: int) -> int:
    """Rows [first, last), each cut into its number of chunks. Returns the row that reported an error, or -1."""
    for r in range(first, last):
        row = table + 8 * ROW * r
        kernel, buffers, sizes, start, stop = peek(row), peek(row + 8), peek(row + 16), peek(row + 24), peek(row + 32)
        chunks = peek(row + 40)
        if chunks <= 1:
            call_kernel(kernel, buffers, sizes, start, stop)
        else:
            span = stop - start
            for t in prange(chunks):
                call_kernel(kernel, buffers, sizes, start + span * t // chunks, start + span * (t + 1) // chunks)
        if peek(row + 48) != 0 and peek(status) != 0:
            return r
    return -1
