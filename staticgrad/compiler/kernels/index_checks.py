"""Index checks: out[i] = index[i] as int64, counted from the end when negative; the first bad index is written to `status`.
Checks of divisors: out[i] = divisor[i]; the first 0 is written to `status`.

sizes = extent, lowest allowed index, id of the check; buffers = indices, result, status (code, index, extent, id).
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
