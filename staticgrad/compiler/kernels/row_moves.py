"""Rows by number: gathers, scatters, sums of bags, updates in place. Indices are int64 and were checked.

gather: sizes = extent, picked, inner; buffers = values, indices, result. The range is over outer * picked rows. scatter: sizes
= extent, picked, inner, group, far, near, outer: value row p lies at (p // group) * far + (p % group) * near, and `outer` is
the step from one outer index to the next; buffers = values, indices, result. The range is over `outer`. scatter_rows: as
scatter, for one outer index, with a mark per row of the result after the buffers, 0 before and after; rows that no index names
become 0, and the range is over the result's rows, each of which one thread writes. gather_sum: sizes = bag, inner; buffers =
values, indices, result. The range is over bags. index_add: sizes and buffers as for scatter (extent and outer are not read),
then a counter per row of the result, 0 before and after, and memory for the sums of rows that occur several times. index_copy:
sizes = picked, inner; buffers = values, indices, result.

along_gather, along_scatter: an index for each element, along the axis in the middle. The gather computes result[o, i, j] =
values[o, indices[o, i, j], j]; the scatter clears the result and adds values in the other direction. sizes = extent, picked,
inner, and for the scatter the number of blocks of 64 columns; buffers = values, indices, result. The range is over outer *
picked rows, and over outer * blocks.
"""

from staticgrad.compiler.backend.dialect import *

# kernels


@inline
def gathered(values, indices, result, sizes, start, stop):
    extent, picked, inner = sizes[0], sizes[1], sizes[2]
    if start >= stop:
        return
    for o in range(start // picked, (stop - 1) // picked + 1):
        base, first = o * extent, o * picked
        for i in range(max(start, first), min(stop, first + picked)):
            at = (base + indices[i - first]) * inner
            if inner == 1:
                result[i] = values[at]
            else:
                for j in range(inner):
                    result[i * inner + j] = values[at + j]


@inline
def scattered(values, indices, result, sizes, start, stop):
    extent, picked, inner = sizes[0], sizes[1], sizes[2]
    group, far, near, outer = sizes[3], sizes[4], sizes[5], sizes[6]
    for o in range(start, stop):
        for first in range(0, picked, group):
            at = o * outer + first // group * far
            for p in range(first, min(first + group, picked)):
                to = (o * extent + indices[p]) * inner
                if inner == 1:
                    result[to] += values[at]
                else:
                    for j in range(inner):
                        result[to + j] += values[at + j]
                at += near


@inline
def rows_scattered(values, indices, result, named, sizes, start, stop, zero):
    """The first value of a row is written, so that no memory is cleared only to be read again.

    named: 1 for rows that were written."""
    picked, inner = sizes[1], sizes[2]
    group, far, near = sizes[3], sizes[4], sizes[5]
    for first in range(0, picked, group):
        at = first // group * far
        for p in range(first, min(first + group, picked)):
            row = indices[p]
            if row >= start and row < stop:
                if named[row] == 0:
                    named[row] = 1
                    for j in range(inner):
                        result[row * inner + j] = values[at + j] + zero  # -0.0 becomes 0.0, as in a sum
                else:
                    for j in range(inner):
                        result[row * inner + j] += values[at + j]
            at += near
    for row in range(start, stop):
        if named[row] == 0:
            for j in range(inner):
                result[row * inner + j] = zero
        named[row] = 0


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
    for first in range(0, picked, group):
        at = first // group * far
        for p in range(first, min(first + group, picked)):
            row = indices[p]
            n = count[row]
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
            at += near
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


@inline
def along_gathered(values, indices, result, sizes, start, stop):
    extent, picked, inner = sizes[0], sizes[1], sizes[2]
    if start >= stop:
        return
    for o in range(start // picked, (stop - 1) // picked + 1):
        base, first = o * extent, o * picked
        for i in range(max(start, first), min(stop, first + picked)):
            if inner == 1:
                result[i] = values[base + indices[i]]
            else:
                for j in range(inner):
                    result[i * inner + j] = values[(base + indices[i * inner + j]) * inner + j]


@inline
def along_rows_scattered(values, indices, result, extent, picked, start, stop):
    for o in range(start, stop):
        base = o * extent
        for i in range(base, base + extent):
            result[i] = 0
        for i in range(o * picked, (o + 1) * picked):
            result[base + indices[i]] += values[i]


@inline
def along_scattered(values, indices, result, sizes, start, stop):
    extent, picked, inner, blocks = sizes[0], sizes[1], sizes[2], sizes[3]
    for block in range(start, stop):
        o, first = block // blocks, block % blocks * 64
        end = min(first + 64, inner)
        for i in range(o * extent, (o + 1) * extent):
            for j in range(i * inner + first, i * inner + end):
                result[j] = 0
        for i in range(o * picked, (o + 1) * picked):
            for j in range(first, end):
                result[(o * extent + indices[i * inner + j]) * inner + j] += values[i * inner + j]


@kernel
def along_gather_T(buffers, sizes, start, stop):
    along_gathered(T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2), sizes, start, stop)


@kernel
def along_scatter_T(buffers, sizes, start, stop):
    values, indices, result = T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2)
    if sizes[2] == 1:
        along_rows_scattered(values, indices, result, sizes[0], sizes[1], start, stop)
    else:
        along_scattered(values, indices, result, sizes, start, stop)


@kernel
def gather_T(buffers, sizes, start, stop):
    gathered(T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2), sizes, start, stop)


@kernel
def scatter_T(buffers, sizes, start, stop):
    scattered(T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2), sizes, start, stop)


@kernel
def scatter_rows_T(buffers, sizes, start, stop):
    values, indices, result = T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2)
    rows_scattered(values, indices, result, i32_at(buffers, 3), sizes, start, stop, T(0))


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
