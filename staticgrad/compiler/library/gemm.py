"""Matrix products C = alpha op(A) op(B) + E, row major, batched, see `tiles.py`.

sizes: transpose A, transpose B, m, n, k, lda, ldb, ldc, batches, the bits of alpha (float64), lde (-1: nothing is added, 0:
one row for all), then for each batch the offsets of A, B, C and E in elements.
buffers: A, B, C, E. E is C, or shares nothing with it.
The range is over rows of C for a single batch, else over batches.
"""

from staticgrad.compiler.lang import *

# kernels
from staticgrad.compiler.tiles import multiply_f32, multiply_f64


@kernel
def gemm_f32(buffers, sizes, start, stop):
    a, b, c, e = f32_at(buffers, 0), f32_at(buffers, 1), f32_at(buffers, 2), f32_at(buffers, 3)
    multiply_f32(sizes, a, b, c, e, start, stop)


@kernel
def gemm_f64(buffers, sizes, start, stop):
    a, b, c, e = f64_at(buffers, 0), f64_at(buffers, 1), f64_at(buffers, 2), f64_at(buffers, 3)
    multiply_f64(sizes, a, b, c, e, start, stop)
