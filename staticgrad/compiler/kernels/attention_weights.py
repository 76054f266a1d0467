"""Attention weights: softmax(scale * scores) row by row, each row read and written once.

sizes = rows, chunks, queries, keys, whether query i attends to keys 0 to i only, the bits of scale (float64, above 0).
buffers = scores, weights. The range is over chunks of rows. Masked keys cost only the store of a zero.
"""

from staticgrad.compiler.backend.dialect import *

# kernels
from staticgrad.compiler.backend.intrinsics.vector_tiles import as_float, at, top_of


@kernel
def softmax_T(buffers, sizes, start, stop):
    x, y = T_at(buffers, 0), T_at(buffers, 1)
    rows, chunks, queries, keys, causal = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    scale = T(as_float(sizes[5]))
    for c in range(start, stop):
        for i in range(rows * c // chunks, rows * (c + 1) // chunks):
            row = i * keys
            seen = min(i % queries + 1, keys) if causal else keys
            top = top_of(x, at(x, row), seen // 16)
            for j in range(seen // 16 * 16, seen):
                top = max(top, x[row + j])
            total, whole = T(0), min((seen + 15) // 16 * 16, keys)  # vectors without a rest
            for j in range(whole):
                e = exp_to_one_T((x[row + j] - top) * scale)
                e = e if j < seen else T(0)
                y[row + j] = e
                total = plus_T(total, e)
            share = T(1) / total
            for j in range(seen):
                y[row + j] = y[row + j] * share
            for j in range(whole, keys):
                y[row + j] = T(0)
