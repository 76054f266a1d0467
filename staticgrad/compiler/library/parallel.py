"""The driver that cuts the rows of a plan over OpenMP threads; otherwise as `driver.py`.

Chunk t of n covers the range [start + len * t // n, start + len * (t + 1) // n): for a given number of chunks the
result does not depend on which thread runs which. Kernels that accumulate have as many rows as chunks, and a closing
row of their own.
"""

# kernels
from numba import njit, prange

from staticgrad.compiler.address import atomic_add, call_get, call_kernel, call_set, peek, poke
from staticgrad.compiler.table import DATA_OFFSET, ROW


@njit("int64(int64, int64, int64, int64, int64, int64, int64, int64)", nogil=True, parallel=True, cache=True)
def step(patches, count, objects, table, first, last, status, hold):
    """As the serial `step`, each row cut into its number of chunks.

    patches: `count` rows of (which object, address to write, bytes to add), by which the data pointers of the ndarrays
    whose ids are in `objects` get to where kernels read them. hold: 0, or (holders, threads before, address of get
    and of set): BLAS is put at one thread while somebody holds it, and the last holder restores it.
    """
    for p in range(count):
        which, to, add = peek(patches + 24 * p), peek(patches + 24 * p + 8), peek(patches + 24 * p + 16)
        poke(to, peek(peek(objects + 8 * which) + DATA_OFFSET) + add)
    if hold != 0 and atomic_add(hold, 1) == 0:
        poke(hold + 8, call_get(peek(hold + 16)))
        call_set(peek(hold + 24), 1)
    failed = -1
    for r in range(first, last):
        row = table + 8 * ROW * r
        kernel, buffers, sizes, start, stop = peek(row), peek(row + 8), peek(row + 16), peek(row + 24), peek(row + 32)
        chunks, span = peek(row + 40), stop - start
        if chunks <= 1:
            call_kernel(kernel, buffers, sizes, start, stop)
        else:
            for t in prange(chunks):
                call_kernel(kernel, buffers, sizes, start + span * t // chunks, start + span * (t + 1) // chunks)
        if peek(row + 48) != 0 and peek(status) != 0:
            failed = r
            break
    if hold != 0 and atomic_add(hold, -1) == 1:
        call_set(peek(hold + 24), peek(hold + 8))
    return failed
