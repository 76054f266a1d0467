"""Running sums: sizes = extent, inner; buffers = values, result. The range is over outer: [outer, extent, inner].

carried: totals are float64, in a third buffer [outer, inner], because rounding errors of float32 totals add up along the axis.
Along rows (inner is 1) totals stay in registers, those of several rows at once, because each addition waits for the one before.
"""

from staticgrad.compiler.backend.dialect import *

# kernels


@inline
def along_rows(values, result, extent, start, stop, number):
    """number: the type of the totals."""
    several = start + (stop - start) // 4 * 4
    for o in range(start, several, 4):
        p = o * extent
        q, r, s = p + extent, p + 2 * extent, p + 3 * extent
        a, b, c, d = number(values[p]), number(values[q]), number(values[r]), number(values[s])
        result[p], result[q], result[r], result[s] = a, b, c, d
        for i in range(1, extent):
            a += number(values[p + i])
            b += number(values[q + i])
            c += number(values[r + i])
            d += number(values[s + i])
            result[p + i], result[q + i], result[r + i], result[s + i] = a, b, c, d
    for o in range(several, stop):
        at = o * extent
        total = number(values[at])
        result[at] = total
        for i in range(at + 1, at + extent):
            total += number(values[i])
            result[i] = total


@inline
def running(values, result, sizes, start, stop):
    extent, inner = sizes[0], sizes[1]
    for o in range(start, stop):
        at = o * extent * inner
        for j in range(inner):
            result[at + j] = values[at + j]
        for i in range(at + inner, at + extent * inner, inner):
            for j in range(inner):
                result[i + j] = result[i - inner + j] + values[i + j]


@inline
def carried(values, result, totals, sizes, start, stop):
    extent, inner = sizes[0], sizes[1]
    for o in range(start, stop):
        at, total = o * extent * inner, o * inner
        for j in range(inner):
            totals[total + j] = values[at + j]
            result[at + j] = values[at + j]
        for i in range(at + inner, at + extent * inner, inner):
            for j in range(inner):
                totals[total + j] += values[i + j]
                result[i + j] = totals[total + j]


@kernel
def running_T(buffers, sizes, start, stop):
    if sizes[1] == 1:
        along_rows(T_at(buffers, 0), T_at(buffers, 1), sizes[0], start, stop, T)
    else:
        running(T_at(buffers, 0), T_at(buffers, 1), sizes, start, stop)


@kernel
def carried_T(buffers, sizes, start, stop):
    if sizes[1] == 1:
        along_rows(T_at(buffers, 0), T_at(buffers, 1), sizes[0], start, stop, f64)
    else:
        carried(T_at(buffers, 0), T_at(buffers, 1), f64_at(buffers, 2), sizes, start, stop)
