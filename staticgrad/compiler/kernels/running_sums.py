"""Running sums: sizes = extent, inner; buffers = values, result. The range is over outer: [outer, extent, inner].

carried: totals are float64, in a third buffer [outer, inner], because rounding errors of float32 totals add up along the axis.
"""

from staticgrad.compiler.backend.dialect import *

# kernels


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
    running(T_at(buffers, 0), T_at(buffers, 1), sizes, start, stop)


@kernel
def carried_T(buffers, sizes, start, stop):
    carried(T_at(buffers, 0), T_at(buffers, 1), f64_at(buffers, 2), sizes, start, stop)
