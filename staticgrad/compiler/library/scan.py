"""Running sums: sizes = extent, inner; buffers = values, result. The range is over outer: [outer, extent, inner]."""

from staticgrad.compiler.lang import *

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


@kernel
def running_T(buffers, sizes, start, stop):
    running(T_at(buffers, 0), T_at(buffers, 1), sizes, start, stop)
