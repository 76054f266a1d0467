"""Products of matrices of integers, modulo the range of their dtype, so that signed and unsigned ones have the same bits.

product: sizes = rows, chunks, m, n, k, axes of the batch, their extents, steps of A and of B along them; buffers = A, B,
result. The range is over chunks of the rows of all matrices.
"""

from staticgrad.compiler.backend.dialect import *

# kernels

BLOCK = 256


@inline
def added(a, b, c, at_a, at_b, at_c, k, n, columns):
    """One row of A times `columns` columns of B, four rows of B at a time."""
    for j in range(columns):
        c[at_c + j] = 0
    whole = k // 4 * 4
    for p in range(0, whole, 4):
        a0, a1, a2, a3 = a[at_a + p], a[at_a + p + 1], a[at_a + p + 2], a[at_a + p + 3]
        row = at_b + p * n
        for j in range(columns):
            q = row + j
            c[at_c + j] = c[at_c + j] + a0 * b[q] + a1 * b[q + n] + a2 * b[q + 2 * n] + a3 * b[q + 3 * n]
    for p in range(whole, k):
        a0, row = a[at_a + p], at_b + p * n
        for j in range(columns):
            c[at_c + j] = c[at_c + j] + a0 * b[row + j]


@kernel
def product_T(buffers, sizes, start, stop):
    a, b, c = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2)
    rows, chunks, m, n, k, axes = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    for chunk in range(start, stop):
        first, last = rows * chunk // chunks, rows * (chunk + 1) // chunks
        while first < last:
            rest, at_a, at_b = first // m, first % m * k, 0
            for axis in range(axes - 1, -1, -1):
                extent = sizes[6 + axis]
                at_a += rest % extent * sizes[6 + axes + axis]
                at_b += rest % extent * sizes[6 + 2 * axes + axis]
                rest //= extent
            count = min(last - first, m - first % m)  # rows of one matrix
            for left in range(0, n, BLOCK):
                columns = min(BLOCK, n - left)
                for i in range(count):
                    added(a, b, c, at_a + i * k, at_b + left, (first + i) * n + left, k, n, columns)
            first += count
