"""A loop whose rows work on rows of a batch, cut into lanes: each runs all iterations on its part of the batch, and no
lane waits for another.

sizes: address of the plan's table, then for each lane its first row and the one behind its last.
"""

from ..backend.abi import ROW
from ..backend.runtime_builtins import call_2, call_kernel, entry, peek


@entry
def lanes(buffers, sizes, start, stop):
    """A kernel; the range is over lanes."""
    table = peek(sizes)
    for lane in range(start, stop):
        r, last = peek(sizes + 8 + 16 * lane), peek(sizes + 16 + 16 * lane)
        while r < last:
            row = table + 8 * ROW * r
            if peek(row + 40) == 0:
                to = call_2(peek(row + 56), row, r)
                r = to if to >= 0 else r  # a lane does not pause: it comes back to the row, which goes on
            else:
                call_kernel(peek(row), peek(row + 8), peek(row + 16), peek(row + 24), peek(row + 32))
                r += 1
