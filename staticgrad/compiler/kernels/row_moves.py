"""Rows by number: gathers, scatters, sums of bags, updates in place. Indices are int64 and were checked.

gather: sizes = extent, picked, inner; buffers = values, indices, result. The range is over outer * picked rows. scatter:
sizes = extent, picked, inner, group, far, near, outer: value row p lies at (p // group) * far + (p % group) * near, and
`outer` is the step from one outer index to the next; buffers = values, indices, result. The range is over `outer`.
gather_sum: sizes = bag, inner; buffers = values, indices, result. The range is over bags. index_add: sizes and buffers as for
scatter (extent and outer are not read), then a counter per row of the result, 0 before and after, and memory for the sums of
rows that occur several times. index_copy: sizes = picked, inner; buffers = values, indices, result.
"""

from staticgrad.compiler.backend.dialect import *

# kernels


@inline
def gathered(values, indices, result, sizes, start, stop):
    extent, picked, inner = sizes[0], sizes[1], sizes[2]
    for i in range(start, stop):
        at = (i // picked * extent + indices[i % picked]) * inner
        for j in range(inner):
            result[i * inner + j] = values[at + j]


@inline
def scattered(values, indices, result, sizes, start, stop):
    extent, picked, inner = sizes[0], sizes[1], sizes[2]
    group, far, near, outer = sizes[3], sizes[4], sizes[5], sizes[6]
    for o in range(start, stop):
        for p in range(picked):
            to = (o * extent + indices[p]) * inner
            at = o * outer + p // group * far + p % group * near
            for j in range(inner):
                result[to + j] += values[at + j]


@inline
def bags(values, indices, result, sizes, start, stop):
    bag, inner = sizes[0], sizes[1]
    for i in range(start, stop):
        to = i * inner
        for j in range(inner):
            result[to + j] = 0
        for p in range(i * bag, (i + 1) * bag):
            at = indices[p] * inner
            for j in range(inner):
                result[to + j] += values[at + j]


@inline
def rows_added(values, indices, result, count, sums, sizes, start, stop):
    """A row that occurs once is added as it is; the sum of the others is added once.

    count: how often a row occurs, then -1 - the number of its sum."""
    picked, inner, group, far, near = sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    for p in range(picked):
        count[indices[p]] += 1
    several = 0
    for p in range(picked):
        row = indices[p]
        at, n = p // group * far + p % group * near, count[row]
        if n == 1:
            for j in range(inner):
                result[row * inner + j] += values[at + j]
        elif n > 1:
            for j in range(inner):
                sums[several * inner + j] = values[at + j]
            several += 1
            count[row] = -several
        else:
            to = (-1 - n) * inner
            for j in range(inner):
                sums[to + j] += values[at + j]
    for p in range(picked):
        row = indices[p]
        if count[row] < 0:
            at = (-1 - count[row]) * inner
            for j in range(inner):
                result[row * inner + j] += sums[at + j]
        count[row] = 0


@inline
def rows_written(values, indices, result, sizes, start, stop):
    picked, inner = sizes[0], sizes[1]
    for p in range(picked):
        to = indices[p] * inner
        for j in range(inner):
            result[to + j] = values[p * inner + j]


@kernel
def gather_T(buffers, sizes, start, stop):
    gathered(T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2), sizes, start, stop)


@kernel
def scatter_T(buffers, sizes, start, stop):
    scattered(T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2), sizes, start, stop)


@kernel
def gather_sum_T(buffers, sizes, start, stop):
    bags(T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2), sizes, start, stop)


@kernel
def index_add_T(buffers, sizes, start, stop):
    values, indices, result = T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2)
    rows_added(values, indices, result, i32_at(buffers, 3), T_at(buffers, 4), sizes, start, stop)


@kernel
def index_copy_T(buffers, sizes, start, stop):
    rows_written(T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2), sizes, start, stop)
