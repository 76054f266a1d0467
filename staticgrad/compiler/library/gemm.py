"""Matrix products C = op(A) op(B), row major, batched: tiles in registers, and SciPy's BLAS, through its address, for
what they leave over.

sizes: transpose A, transpose B, m, n, k, lda, ldb, ldc, batches, then for each batch the offsets of A, B and C in
elements.
The range is over rows of C for a single batch, else over batches. Row-major C = A B is column-major C' = B' A'.
"""

from staticgrad.compiler.blas import dgemm, sgemm
from staticgrad.compiler.lang import *

# kernels
from staticgrad.compiler.blas import dgemm, sgemm
from staticgrad.compiler.tiles import DEPTH, move, product_tile, put, room_for_panel
from staticgrad.compiler.vector import at, transpose_block


@merged
def panel(b, first, ldb, tb, count, width, room):
    """`count` rows of `width` columns of B, one after another on the stack; turned where B is stored transposed."""
    row = at(b, width) - at(b, 0)
    if tb:
        for j in range(0, width, 8):
            for r in range(0, count // 8 * 8, 8):
                to = room + r * row + (at(b, j) - at(b, 0))
                transpose_block(b, at(b, first + j * ldb + r), ldb, to, width)
            for r in range(count // 8 * 8, count):
                for i in range(j, j + 8):
                    put(b, room + r * row + (at(b, i) - at(b, 0)), b[first + i * ldb + r])
    else:
        for r in range(count):
            for j in range(0, row, 64):
                move(b, at(b, first + r * ldb) + j, room + r * row + j)


@merged
def tiles(a, first_a, row, step, b, first_b, ldb, tb, c, first_c, ldc, m, n, k, lanes):
    """m rows, a multiple of 8, and n columns, a multiple of `lanes`."""
    room = room_for_panel(a)
    packs = tb or (ldb > 256 and m >= 64)  # far apart, rows share few places of the L1 cache
    block = max(131072 // k // 8 * 8, 64)  # rows of A that stay in the L2 cache while all of B passes by
    for top in range(0, m, block):
        bottom = min(top + block, m)
        for j in range(0, n, 2 * lanes):
            width = min(2 * lanes, n - j)
            for r in range(0, k, DEPTH):
                count = min(DEPTH, k - r)
                source = first_b + (j * ldb + r if tb else r * ldb + j)
                rows, ahead = at(b, source), ldb
                if packs:
                    panel(b, source, ldb, tb, count, width, room)
                    rows, ahead = room, width
                for i in range(top, bottom, 8):
                    left, to = at(a, first_a + i * row + r * step), at(c, first_c + i * ldc + j)
                    if width == lanes:
                        product_tile(a, left, row, step, count, rows, ahead, to, ldc, r, 1)
                    else:
                        product_tile(a, left, row, step, count, rows, ahead, to, ldc, r, 2)


@merged
def tall_enough(m, k, tb):
    """How many of m rows go to tiles: none where a panel's packing would cost as much as its use."""
    return m // 8 * 8 if k > 0 and (m >= 32 or not tb) else 0


@kernel
def gemm_f32(buffers, sizes, start, stop):
    a, b, c = f32_at(buffers, 0), f32_at(buffers, 1), f32_at(buffers, 2)
    ta, tb, n, k = sizes[0], sizes[1], sizes[3], sizes[4]
    lda, ldb, ldc, batches = sizes[5], sizes[6], sizes[7], sizes[8]
    row, step = (1, lda) if ta else (lda, 1)
    first = start if batches == 1 else 0
    m = stop - start if batches == 1 else sizes[2]
    tall, wide = tall_enough(m, k, tb), n // 16 * 16
    if wide == 0:
        tall = 0
    for i in range(0 if batches == 1 else start, 1 if batches == 1 else stop):
        x, y, z = sizes[9 + 3 * i] + first * row, sizes[10 + 3 * i], sizes[11 + 3 * i] + first * ldc
        if tall:
            tiles(a, x, row, step, b, y, ldb, tb, c, z, ldc, tall, wide, k, 16)
            if wide < n:
                rest = y + (wide * ldb if tb else wide)
                sgemm(tb, ta, n - wide, tall, k, b, rest, ldb, a, x, lda, c, z + wide, ldc)
        if tall < m:
            sgemm(tb, ta, n, m - tall, k, b, y, ldb, a, x + tall * row, lda, c, z + tall * ldc, ldc)


@kernel
def gemm_f64(buffers, sizes, start, stop):
    a, b, c = f64_at(buffers, 0), f64_at(buffers, 1), f64_at(buffers, 2)
    ta, tb, n, k = sizes[0], sizes[1], sizes[3], sizes[4]
    lda, ldb, ldc, batches = sizes[5], sizes[6], sizes[7], sizes[8]
    row, step = (1, lda) if ta else (lda, 1)
    first = start if batches == 1 else 0
    m = stop - start if batches == 1 else sizes[2]
    tall, wide = tall_enough(m, k, tb), n // 8 * 8
    if wide == 0:
        tall = 0
    for i in range(0 if batches == 1 else start, 1 if batches == 1 else stop):
        x, y, z = sizes[9 + 3 * i] + first * row, sizes[10 + 3 * i], sizes[11 + 3 * i] + first * ldc
        if tall:
            tiles(a, x, row, step, b, y, ldb, tb, c, z, ldc, tall, wide, k, 8)
            if wide < n:
                rest = y + (wide * ldb if tb else wide)
                dgemm(tb, ta, n - wide, tall, k, b, rest, ldb, a, x, lda, c, z + wide, ldc)
        if tall < m:
            dgemm(tb, ta, n, m - tall, k, b, y, ldb, a, x + tall * row, lda, c, z + tall * ldc, ldc)
