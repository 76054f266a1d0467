"""Attention, some queries at a time: their scores stay in the cache, and keys that none of them sees are left out.

forward: buffers = query, key, value, result, scratch. sizes = span, chunks, matrices, queries, keys, their width, the width of
values, whether query i sees keys 0 to i only, the bits of scale (float64, above 0), queries at a time, elements of a row of
scores, elements of scratch of a chunk, the number of axes of matrices, their extents, then for each operand the distance of its
rows and of its matrices along these axes. The range is over chunks of blocks of queries.

backward: buffers = query, key, value, cotangent, result, scratch. The result holds the cotangents of query, key and value one
after another. The range is over chunks of matrices. Blocks pass from the last one to the first: with a mask, the last one
reaches the most keys, so that it writes what others add to.
"""

from staticgrad.compiler.backend.dialect import *

# kernels
from staticgrad.compiler.backend.intrinsics.matrix_products import product
from staticgrad.compiler.backend.intrinsics.vector_tiles import as_float, at, top_of


@inline
def place(sizes, operand, item):
    """Where in an operand a matrix begins."""
    axes = sizes[12]
    at, extents = 13 + axes + operand * (axes + 1), 13
    result = 0
    for axis in range(axes - 1, -1, -1):
        result += item % sizes[extents + axis] * sizes[at + 1 + axis]
        item = item // sizes[extents + axis]
    return result


@inline
def distance(sizes, operand):
    """From one row of an operand to the next."""
    return sizes[13 + sizes[12] + operand * (sizes[12] + 1)]


@merged
def weigh(p, start, rows, row, first, seen, causal, scale, zero, exp, plus):
    """Scores of the queries from `first` on become weights. The block sees `seen` keys."""
    for i in range(rows):
        line = start + i * row
        own = min(first + i + 1, seen) if causal else seen
        whole = (own + 15) // 16 * 16  # vectors without a rest
        top = top_of(p, at(p, line), own // 16)
        for j in range(own // 16 * 16, own):
            top = max(top, p[line + j])
        total = zero
        for j in range(own, whole):
            p[line + j] = top
        for j in range(whole):
            e = exp((p[line + j] - top) * scale)
            e = e if j < own else zero
            p[line + j] = e
            total = plus(total, e)
        for j in range(own):
            p[line + j] = p[line + j] / total
        for j in range(own, seen):
            p[line + j] = zero


@kernel
def forward_T(buffers, sizes, start, stop):
    q, k, v, out, p = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), T_at(buffers, 3), T_at(buffers, 4)
    span, chunks, queries, keys, wide, broad = sizes[0], sizes[1], sizes[3], sizes[4], sizes[5], sizes[6]
    causal, scale, high, row, room = sizes[7], T(as_float(sizes[8])), sizes[9], sizes[10], sizes[11]
    blocks = (queries + high - 1) // high
    q_row, k_row, v_row = distance(sizes, 0), distance(sizes, 1), distance(sizes, 2)
    for c in range(start, stop):
        scores = at(p, c * room)
        for u in range(span * c // chunks, span * (c + 1) // chunks):
            item, first = u // blocks, u % blocks * high
            rows = min(high, queries - first)
            seen = min(first + rows, keys) if causal else keys
            x = at(q, place(sizes, 0, item) + first * q_row)
            y, z = at(k, place(sizes, 1, item)), at(v, place(sizes, 2, item))
            product(q, 0, 1, rows, seen, wide, x, q_row, y, k_row, 0, scores, row)
            weigh(p, c * room, rows, row, first, seen, causal, scale, T(0), exp_T, plus_T)
            product(q, 0, 0, rows, broad, seen, scores, row, z, v_row, 0, at(out, (item * queries + first) * broad), broad)


@kernel
def backward_T(buffers, sizes, start, stop):
    q, k, v, g, out, p = (
        T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), T_at(buffers, 3), T_at(buffers, 4), T_at(buffers, 5)
    )  # fmt: skip
    span, chunks, items, queries, keys, wide, broad = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6]
    causal, scale, high, row, room = sizes[7], T(as_float(sizes[8])), sizes[9], sizes[10], sizes[11]
    blocks = (queries + high - 1) // high
    q_row, k_row, v_row, g_row = distance(sizes, 0), distance(sizes, 1), distance(sizes, 2), distance(sizes, 3)
    for c in range(start, stop):
        weights, scores = at(p, c * room), at(p, c * room + high * row)
        for item in range(span * c // chunks, span * (c + 1) // chunks):
            of_keys = items * queries * wide + item * keys * wide
            of_values = items * (queries + keys) * wide + item * keys * broad
            y, z = at(k, place(sizes, 1, item)), at(v, place(sizes, 2, item))
            for b in range(blocks):
                first = (blocks - 1 - b) * high
                rows = min(high, queries - first)
                seen = min(first + rows, keys) if causal else keys
                if b == 0:
                    for j in range(seen * wide, keys * wide):
                        out[of_keys + j] = T(0)
                    for j in range(seen * broad, keys * broad):
                        out[of_values + j] = T(0)
                x = at(q, place(sizes, 0, item) + first * q_row)
                w = at(g, place(sizes, 3, item) + first * g_row)
                product(q, 0, 1, rows, seen, wide, x, q_row, y, k_row, 0, weights, row)
                weigh(p, c * room, rows, row, first, seen, causal, scale, T(0), exp_T, plus_T)
                product(q, 0, 1, rows, seen, broad, w, g_row, z, v_row, 0, scores, row)
                for i in range(rows):
                    line = c * room + i * row
                    other, total = line + high * row, T(0)
                    own = min(first + i + 1, seen) if causal else seen
                    for j in range(own):
                        total = plus_T(total, p[line + j] * p[other + j])
                    for j in range(own):
                        p[other + j] = p[line + j] * (p[other + j] - total) * scale
                    for j in range(own, seen):
                        p[other + j] = T(0)
                product(q, 0, 0, rows, wide, seen, scores, row, y, k_row, 0, at(out, (item * queries + first) * wide), wide)
                product(q, 1, 0, seen, wide, rows, scores, row, x, q_row, b, at(out, of_keys), wide)
                product(q, 1, 0, seen, broad, rows, weights, row, w, g_row, b, at(out, of_values), broad)
