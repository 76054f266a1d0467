"""Numbers of rows and elements: their checks, their first occurrences, and those of the first elements in order.

bounded: out[i] = index[i] as int64, counted from the end when negative; the first bad index is written to `status`. nonzero:
out[i] = divisor[i]; the first 0 is written to `status`. sizes = extent, lowest allowed index, id of the check; buffers =
indices, result, status (code, index, extent, id).

first_of: sizes = 1, 1, length; buffers = index, first, a position for each row of the table. A position is read only after it
was written, so the rows of the table are not visited.

largest, smallest: the positions of the first k elements of each row in the order of values, equal ones in the order of
positions. sizes = extent, inner, k, blocks; buffers = values [outer, extent, inner], positions [outer, k, inner]. The range is
over outer * blocks: a block is 16 neighbouring rows, so that rows that don't lie in one piece are read by cache lines. The
positions found so far are kept sorted; most elements are only compared with the last of them.
"""

from staticgrad.compiler.backend.dialect import *

# kernels


@inline
def checked(indices, result, status, sizes, start, stop):
    extent, low = sizes[0], sizes[1]
    for first in range(start, stop, 1024):  # without a way out of the loop, it is vectorized
        end = min(first + 1024, stop)
        bad = 0
        for i in range(first, end):
            k = i64(indices[i])
            bad |= 1 if k < low else 0
            bad |= 1 if k >= extent else 0
            result[i] = k + extent if k < 0 else k
        if bad != 0:
            for i in range(first, end):
                k = i64(indices[i])
                if k < low or k >= extent:
                    status[0], status[1], status[2], status[3] = 1, k, extent, sizes[2]
                    return


@kernel
def bounded_T(buffers, sizes, start, stop):
    checked(T_at(buffers, 0), i64_at(buffers, 1), i64_at(buffers, 2), sizes, start, stop)


@kernel
def nonzero_T(buffers, sizes, start, stop):
    divisors, result, status = T_at(buffers, 0), T_at(buffers, 1), i64_at(buffers, 2)
    for i in range(start, stop):
        if divisors[i] == 0:
            status[0], status[1], status[2], status[3] = 1, 0, 0, sizes[2]
            return
        result[i] = divisors[i]


@kernel
def first_of(buffers, sizes, start, stop):
    index, first, place = i64_at(buffers, 0), i64_at(buffers, 1), i64_at(buffers, 2)
    n = sizes[2]
    for i in range(n):
        place[index[n - 1 - i]] = n - 1 - i
    for i in range(n):
        first[i] = place[index[i]]


@inline
def before(a, b, sign):
    """Whether a comes before b; a NaN is the largest."""
    return (a > b or (a != a and b == b)) if sign > 0 else (a < b or (b != b and a == a))


@inline
def top(values, positions, sizes, start, stop, sign):
    extent, inner, k, blocks = sizes[0], sizes[1], sizes[2], sizes[3]
    for block in range(start, stop):
        first = block % blocks * 16
        end = min(first + 16, inner)
        at, to = block // blocks * extent * inner, block // blocks * k * inner
        for i in range(extent):
            last = min(i, k) - 1
            for j in range(first, end):
                x = values[at + i * inner + j]
                r = last
                if i < k:
                    r += 1
                elif not before(x, values[at + positions[to + r * inner + j] * inner + j], sign):
                    continue
                while r > 0 and before(x, values[at + positions[to + (r - 1) * inner + j] * inner + j], sign):
                    positions[to + r * inner + j] = positions[to + (r - 1) * inner + j]
                    r -= 1
                positions[to + r * inner + j] = i


@kernel
def largest_T(buffers, sizes, start, stop):
    top(T_at(buffers, 0), i64_at(buffers, 1), sizes, start, stop, 1)


@kernel
def smallest_T(buffers, sizes, start, stop):
    top(T_at(buffers, 0), i64_at(buffers, 1), sizes, start, stop, -1)
