"""The positions of the first k elements of each row in the order of values, equal ones in the order of positions.

sizes = extent, inner, k, blocks; buffers = values [outer, extent, inner], positions [outer, k, inner]. The range is over
outer * blocks: a block is 16 neighbouring rows, so that rows that don't lie in one piece are read by cache lines. The
positions found so far are kept sorted; most elements are only compared with the last of them.
"""

from staticgrad.compiler.backend.dialect import *

# kernels


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
