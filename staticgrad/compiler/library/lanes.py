"""A loop whose rows work on rows of a batch, cut into lanes: each runs all iterations on its part of the batch, and no
lane waits for another.

sizes: address of the plan's table, then for each lane its first row and the one behind its last.
"""

# kernels
from staticgrad.compiler.address import call_2, call_kernel, peek
from staticgrad.compiler.lang import kernel
from staticgrad.compiler.table import ROW


@kernel
def lanes(buffers, sizes, start, stop):
    for lane in range(start, stop):
        r, last = sizes[1 + 2 * lane], sizes[2 + 2 * lane]
        while r < last:
            row = sizes[0] + 8 * ROW * r
            if peek(row + 40) == 0:
                r = call_2(peek(row + 56), row, r)
            else:
                call_kernel(peek(row), peek(row + 8), peek(row + 16), peek(row + 24), peek(row + 32))
                r += 1
