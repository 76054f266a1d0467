"""Matrix products C = alpha op(A) op(B) + E, row major, batched, see `tiles.py`; several of them, one after another.

sizes: how many products, chunks, then for each product: transpose A, transpose B, m, n, k, lda, ldb, ldc, batches, the bits of
alpha (float64), lde (-1: nothing is added, 0: one row for all), then for each batch the offsets of A, B, C and E in elements.
buffers: for each product A, B, C, E. E is C, or shares nothing with it.
The range of one product is over rows of C for a single batch, else over batches; that of several over chunks, each of which
takes its share of every product.
"""

from staticgrad.compiler.lang import *

# kernels
from staticgrad.compiler.tiles import multiply_f32, multiply_f64


@kernel
def gemm_f32(buffers, sizes, start, stop):
    multiply_f32(buffers, sizes, start, stop)


@kernel
def gemm_f64(buffers, sizes, start, stop):
    multiply_f64(buffers, sizes, start, stop)
