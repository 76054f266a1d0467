"""Repeated entries of an index.

first_of: sizes = 1, 1, length; buffers = index, first, a position for each row of the table. A position is read only after it
was written, so the rows of the table are not visited.
"""

from staticgrad.compiler.backend.dialect import *

# kernels


@kernel
def first_of(buffers, sizes, start, stop):
    index, first, place = i64_at(buffers, 0), i64_at(buffers, 1), i64_at(buffers, 2)
    n = sizes[2]
    for i in range(n):
        place[index[n - 1 - i]] = n - 1 - i
    for i in range(n):
        first[i] = place[index[i]]
