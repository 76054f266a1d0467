"""Matrix products by SciPy's BLAS, through its address: C = op(A) op(B), row major, batched.

sizes: transpose A, transpose B, m, n, k, lda, ldb, ldc, batches, then for each batch the offsets of A, B and C in
elements.
The range is over rows of C for a single batch, else over batches. Row-major C = A B is column-major C' = B' A'.

A sum over many rows (A is transposed, as in gradients of weights) goes in pieces of k that OpenBLAS takes for small
products, of at most 100^3: those it does without packing, which for a narrow C takes up to half of the time.
"""

from staticgrad.compiler.blas import dgemm, dgemm_more, sgemm, sgemm_more
from staticgrad.compiler.lang import *

# kernels
from staticgrad.compiler.blas import dgemm, dgemm_more, sgemm, sgemm_more

SMALL, NARROW = 960_000, 24


@kernel
def gemm_f32(buffers, sizes, start, stop):
    a, b, c = f32_at(buffers, 0), f32_at(buffers, 1), f32_at(buffers, 2)
    ta, tb, m, n, k = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    lda, ldb, ldc, batches = sizes[5], sizes[6], sizes[7], sizes[8]
    if batches == 1:
        rows = stop - start
        at = start if ta else start * lda
        piece = SMALL // max(n * rows, 1)
        if ta == 0 or tb != 0 or piece < NARROW or k < 2 * piece:
            piece = k
        sgemm(tb, ta, n, rows, piece, b, sizes[10], ldb, a, sizes[9] + at, lda, c, sizes[11] + start * ldc, ldc)
        for s in range(piece, k, max(piece, 1)):
            sgemm_more(
                tb, ta, n, rows, min(piece, k - s), b, sizes[10] + s * ldb, ldb, a, sizes[9] + at + s * lda, lda,
                c, sizes[11] + start * ldc, ldc,
            )
    else:
        for i in range(start, stop):
            sgemm(tb, ta, n, m, k, b, sizes[10 + 3 * i], ldb, a, sizes[9 + 3 * i], lda, c, sizes[11 + 3 * i], ldc)


@kernel
def gemm_f64(buffers, sizes, start, stop):
    a, b, c = f64_at(buffers, 0), f64_at(buffers, 1), f64_at(buffers, 2)
    ta, tb, m, n, k = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    lda, ldb, ldc, batches = sizes[5], sizes[6], sizes[7], sizes[8]
    if batches == 1:
        rows = stop - start
        at = start if ta else start * lda
        piece = SMALL // max(n * rows, 1)
        if ta == 0 or tb != 0 or piece < NARROW or k < 2 * piece:
            piece = k
        dgemm(tb, ta, n, rows, piece, b, sizes[10], ldb, a, sizes[9] + at, lda, c, sizes[11] + start * ldc, ldc)
        for s in range(piece, k, max(piece, 1)):
            dgemm_more(
                tb, ta, n, rows, min(piece, k - s), b, sizes[10] + s * ldb, ldb, a, sizes[9] + at + s * lda, lda,
                c, sizes[11] + start * ldc, ldc,
            )
    else:
        for i in range(start, stop):
            dgemm(tb, ta, n, m, k, b, sizes[10 + 3 * i], ldb, a, sizes[9 + 3 * i], lda, c, sizes[11 + 3 * i], ldc)
