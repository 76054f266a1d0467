"""The native driver: walks a plan's table and calls each row's kernel. The same compiled functions serve every plan.

A row of the table is ROW int64 numbers: kernel address, address of its buffer list, address of its sizes, start,
stop, number of chunks to cut the range into, whether to look at the status afterwards, and the pool of threads that
shares the chunks. A row without chunks is a part of a loop or branch (`turns.py`), or stops the driver for the host. The
functions of `pool.py` precede these in one module.
"""

from ..table import DATA_OFFSET, HOST, ROW
from ..words import atomic_add, call_2, call_get, call_kernel, call_set, entry, peek, poke
from .pool import share


def hold_blas(hold):
    """Put BLAS at one thread while somebody holds it. hold: 0, or (holders, threads before, address of get and of set)."""
    if hold != 0 and atomic_add(hold, 1) == 0:
        poke(hold + 8, call_get(peek(hold + 16)))
        call_set(peek(hold + 24), 1)


def release_blas(hold):
    """The last holder restores the number of threads."""
    if hold != 0 and atomic_add(hold, -1) == 1:
        call_set(peek(hold + 24), peek(hold + 8))


@entry
def step(patches, count, objects, table, first, last, status, hold):
    """Bind the caller's arrays, then run rows [first, last). Returns the row that reported an error, or that the host has
    to run, or -1.

    patches: `count` rows of (which object, address to write, bytes to add), by which the data pointers of the ndarrays
    whose ids are in `objects` get to where kernels read them. hold: see `hold_blas`.
    """
    for p in range(count):
        which, to, add = peek(patches + 24 * p), peek(patches + 24 * p + 8), peek(patches + 24 * p + 16)
        poke(to, peek(peek(objects + 8 * which) + DATA_OFFSET) + add)
    hold_blas(hold)
    failed = -1
    r = first
    while r < last:
        row = table + 8 * ROW * r
        kernel, buffers, sizes, start, stop = peek(row), peek(row + 8), peek(row + 16), peek(row + 24), peek(row + 32)
        chunks = peek(row + 40)
        if chunks == 0:
            r = call_2(peek(row + 56), row, r) if start != HOST else -1 - r
            if r < 0:
                failed = -1 - r
                break
            continue
        if chunks == 1:
            call_kernel(kernel, buffers, sizes, start, stop)
        else:
            share(peek(row + 56), kernel, buffers, sizes, start, stop, chunks)
        if peek(row + 48) != 0 and peek(status) != 0:
            failed = r
            break
        r += 1
    release_blas(hold)
    return failed
