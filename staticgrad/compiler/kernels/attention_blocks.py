"""Attention, some queries at a time: their scores stay in the cache, and keys that none of them sees are left out.

forward: buffers = query, key, value, mask, seed, result, scratch. backward: buffers = query, key, value, cotangent, mask, seed,
result, scratch; the result holds the cotangents of query, key and value, and of the mask where it is wanted, one after another.
Any operand stands for a mask or a seed that is not there.

sizes = span, chunks, matrices, queries, keys, their width, the width of values, whether query i sees keys 0 to i only, the bits
of scale (float64, above 0), queries at a time, elements of a row of scores, elements of scratch of a chunk, what the mask holds
(0: there is none, 1: whether a query sees a key, 2: numbers to add), its distance from one key to the next (0 or 1), the bits
of the probability (float64) that a weight becomes 0, how the cotangent of the mask is made (0: not at all, 1: each element
belongs to one score, 2: to several), the number of axes of matrices, their extents, then for each operand up to the mask, and
for the cotangent of the mask, the distance of its rows and of its matrices along these axes.

The range is over chunks of blocks of queries. In a matrix, long blocks and short ones take turns, so chunks have about the same
work with `causal`, too. A chunk that begins within a matrix holds its part of the cotangents of key and value in its scratch,
and each chunk its part of a mask's cotangent whose elements belong to several scores; `join` adds them up.
"""

from staticgrad.compiler.backend.dialect import *

# kernels
from staticgrad.compiler.backend.intrinsics.matrix_products import product_f32, product_f64
from staticgrad.compiler.backend.intrinsics.vector_tiles import as_float, at, top_of

UNSEEN = -np.inf


@inline
def place(sizes, operand, item):
    """Where in an operand a matrix begins."""
    axes = sizes[16]
    at, extents = 17 + axes + operand * (axes + 1), 16
    result = 0
    for axis in range(axes, 0, -1):
        result += item % sizes[extents + axis] * sizes[at + axis]
        item = item // sizes[extents + axis]
    return result


@inline
def distance(sizes, operand):
    """From one row of an operand to the next."""
    return sizes[17 + sizes[16] + operand * (sizes[16] + 1)]


@inline
def block_of(u, blocks):
    """The blocks from both ends in turn."""
    return blocks - 1 - u // 2 if u % 2 == 0 else u // 2


@outlined
def some_seen(flags, numbers, kind, start, rows, row, begin, end, unseen) -> i64:
    """Not 0 where a query of the block sees a key from `begin` to `end`."""
    found = 0
    for i in range(rows):
        line = start + i * row
        if kind == 1:
            for j in range(begin, end):
                found |= i64(flags[line + j])
        else:
            for j in range(begin, end):
                found |= i64(numbers[line + j] != unseen)
    return found


@inline
def keys_seen(flags, numbers, kind, start, rows, row, step, keys, unseen):
    """The keys, from one to before another, outside of which the mask hides all of them from a block of queries."""
    different = rows if row else min(rows, 1)
    if step == 0:
        return 0, keys if some_seen(flags, numbers, kind, start, different, row, 0, 1, unseen) != 0 else 0
    end, begin = keys, 0
    while end > 0 and some_seen(flags, numbers, kind, start, different, row, max(end - 64, 0), end, unseen) == 0:
        end = max(end - 64, 0)
    while begin + 64 < end and some_seen(flags, numbers, kind, start, different, row, begin, begin + 64, unseen) == 0:
        begin += 64
    return begin, end


@outlined
def hide(p, start, rows, row, width, kind, flags, numbers, first, m_row, step, scale, unseen):
    """Apply the mask to scores: where it is numbers, the scores are scaled, too."""
    for i in range(rows):
        line, m = start + i * row, first + i * m_row
        if kind == 1 and step:
            for j in range(width):
                p[line + j] = p[line + j] if flags[m + j] else unseen
        elif kind == 1:
            if not flags[m]:
                for j in range(width):
                    p[line + j] = unseen
        elif step:
            for j in range(width):
                p[line + j] = p[line + j] * scale + numbers[m + j]
        else:
            for j in range(width):
                p[line + j] = p[line + j] * scale + numbers[m]


@inline
def weigh(p, start, rows, row, first, seen, causal, scale, zero, one, unseen, exp, plus):
    """Scores of the queries from `first` on become weights. The block sees `seen` keys; a query without keys has weights 0."""
    for i in range(rows):
        line = start + i * row
        own = min(first + i + 1, seen) if causal else seen
        whole = (own + 15) // 16 * 16  # vectors without a rest
        top = top_of(p, at(p, line), own // 16)
        for j in range(own // 16 * 16, own):
            top = max(top, p[line + j])
        top = zero if top == unseen else top
        total = zero
        for j in range(own, whole):
            p[line + j] = unseen
        for j in range(whole):
            e = exp((p[line + j] - top) * scale)
            p[line + j] = e
            total = plus(total, e)
        share = one / (one if total == zero else total)
        for j in range(own):
            p[line + j] = p[line + j] * share
        for j in range(own, seen):
            p[line + j] = zero


@outlined
def drop(p, start, rows, row, width, element, keys, seed, draw, rate, kept, dropped, uniform):
    """Multiply each weight by `kept` or, with the probability `rate`, by `dropped`."""
    for i in range(rows):
        line, number = start + i * row, element + i * keys
        for j in range(width):
            p[line + j] = p[line + j] * (kept if uniform(seed, draw, number + j) >= rate else dropped)


@inline
def clear(to, first, rows, row, width, zero):
    for i in range(rows):
        for j in range(width):
            to[first + i * row + j] = zero


@outlined
def add_to_mask(p, start, rows, row, width, to, first, m_row, step, scale, zero, plus):
    """Add cotangents of scores to those of the mask, and scale them."""
    for i in range(rows):
        line, m = start + i * row, first + i * m_row
        if step:
            for j in range(width):
                to[m + j] += p[line + j]
        else:
            total = zero
            for j in range(width):
                total = plus(total, p[line + j])
            to[m] += total
        for j in range(width):
            p[line + j] = p[line + j] * scale


@kernel
def forward_T(buffers, sizes, start, stop):
    q, k, v, flags, numbers = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), u8_at(buffers, 3), T_at(buffers, 3)
    seeds, out, p = i64_at(buffers, 4), T_at(buffers, 5), T_at(buffers, 6)
    span, chunks, queries, keys, wide, broad = sizes[0], sizes[1], sizes[3], sizes[4], sizes[5], sizes[6]
    causal, scale, high, row, room = sizes[7], T(as_float(sizes[8])), sizes[9], sizes[10], sizes[11]
    kind, step, rate, unseen = sizes[12], sizes[13], as_float(sizes[14]), T(UNSEEN)
    blocks = (queries + high - 1) // high
    q_row, k_row, v_row, m_row = distance(sizes, 0), distance(sizes, 1), distance(sizes, 2), distance(sizes, 3)
    for c in range(start, stop):
        scores = at(p, c * room)
        for u in range(span * c // chunks, span * (c + 1) // chunks):
            item, first = u // blocks, block_of(u % blocks, blocks) * high
            rows = min(high, queries - first)
            begin, end, m = 0, min(first + rows, keys) if causal else keys, 0
            if kind:
                m = place(sizes, 3, item) + first * m_row
                begin, end = keys_seen(flags, numbers, kind, m, rows, m_row, step, keys, unseen)
            seen, to = end - begin, (item * queries + first) * broad
            if seen == 0:
                for j in range(rows * broad):
                    out[to + j] = T(0)
                continue
            x = at(q, place(sizes, 0, item) + first * q_row)
            y, z = at(k, place(sizes, 1, item) + begin * k_row), at(v, place(sizes, 2, item) + begin * v_row)
            product_T(0, 1, rows, seen, wide, x, q_row, y, k_row, 0, scores, row)
            if kind:
                hide(p, c * room, rows, row, seen, kind, flags, numbers, m + begin * step, m_row, step, scale, unseen)
            by = T(1) if kind == 2 else scale
            weigh(p, c * room, rows, row, first, seen, causal, by, T(0), T(1), unseen, exp_to_one_T, plus_T)
            if rate > 0:
                element, kept = (item * queries + first) * keys + begin, T(1 / (1 - rate))
                drop(p, c * room, rows, row, seen, element, keys, seeds[0], seeds[1], T(rate), kept, T(0), uniform_T)
            product_T(0, 0, rows, broad, seen, scores, row, z, v_row, 0, at(out, to), broad)


@kernel
def backward_T(buffers, sizes, start, stop):
    q, k, v, g, flags, numbers = (
        T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), T_at(buffers, 3), u8_at(buffers, 4), T_at(buffers, 4)
    )  # fmt: skip
    seeds, out, p = i64_at(buffers, 5), T_at(buffers, 6), T_at(buffers, 7)
    span, chunks, items, queries, keys, wide, broad = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6]
    causal, scale, high, row, room = sizes[7], T(as_float(sizes[8])), sizes[9], sizes[10], sizes[11]
    kind, step, rate, unseen = sizes[12], sizes[13], as_float(sizes[14]), T(UNSEEN)
    blocks, kept = (queries + high - 1) // high, T(1 / (1 - rate))
    q_row, k_row, v_row, g_row, m_row = (
        distance(sizes, 0), distance(sizes, 1), distance(sizes, 2), distance(sizes, 3), distance(sizes, 4)
    )  # fmt: skip
    of_mask, mask_row = sizes[15], distance(sizes, 5) if sizes[15] else 0
    mask_at = items * (queries + keys) * wide + items * keys * broad
    own_size, by_scale = room - 2 * high * row - keys * (wide + broad), T(1) if of_mask else scale
    for c in range(start, stop):
        weights, scores = at(p, c * room), at(p, c * room + high * row)
        own_keys = c * room + 2 * high * row
        own_values = own_keys + keys * wide
        own_mask = own_values + keys * broad
        for j in range(own_size):
            p[own_mask + j] = T(0)
        lowest = span * c // chunks
        for u in range(lowest, span * (c + 1) // chunks):
            item, first = u // blocks, block_of(u % blocks, blocks) * high
            of_keys = items * queries * wide + item * keys * wide
            of_values = items * (queries + keys) * wide + item * keys * broad
            inside = lowest > item * blocks  # others begin with this matrix
            if inside and u == lowest:
                for j in range(keys * (wide + broad)):
                    p[own_keys + j] = T(0)
            elif u % blocks == 0:
                for j in range(keys * wide):
                    out[of_keys + j] = T(0)
                for j in range(keys * broad):
                    out[of_values + j] = T(0)
            rows = min(high, queries - first)
            begin, end, m = 0, min(first + rows, keys) if causal else keys, 0
            if kind:
                m = place(sizes, 4, item) + first * m_row
                begin, end = keys_seen(flags, numbers, kind, m, rows, m_row, step, keys, unseen)
            seen, to = end - begin, (item * queries + first) * wide
            to_mask = place(sizes, 5, item) + first * mask_row if of_mask else 0
            if of_mask == 1:
                clear(out, mask_at + to_mask, rows, mask_row, keys, T(0))
            if seen == 0:
                for j in range(rows * wide):
                    out[to + j] = T(0)
                continue
            x = at(q, place(sizes, 0, item) + first * q_row)
            w = at(g, place(sizes, 3, item) + first * g_row)
            y, z = at(k, place(sizes, 1, item) + begin * k_row), at(v, place(sizes, 2, item) + begin * v_row)
            to_keys = at(p, own_keys + begin * wide) if inside else at(out, of_keys + begin * wide)
            to_values = at(p, own_values + begin * broad) if inside else at(out, of_values + begin * broad)
            product_T(0, 1, rows, seen, wide, x, q_row, y, k_row, 0, weights, row)
            if kind:
                hide(p, c * room, rows, row, seen, kind, flags, numbers, m + begin * step, m_row, step, scale, unseen)
            by = T(1) if kind == 2 else scale
            weigh(p, c * room, rows, row, first, seen, causal, by, T(0), T(1), unseen, exp_to_one_T, plus_T)
            product_T(0, 1, rows, seen, broad, w, g_row, z, v_row, 0, scores, row)
            if rate > 0:  # the sign tells which weights are dropped
                element = (item * queries + first) * keys + begin
                drop(p, c * room, rows, row, seen, element, keys, seeds[0], seeds[1], T(rate), T(1), T(-1), uniform_T)
            for i in range(rows):
                line = c * room + i * row
                other, total = line + high * row, T(0)
                own = min(first + i + 1, seen) if causal else seen
                if rate > 0:
                    for j in range(own):
                        p[other + j] = p[other + j] * kept if p[line + j] > 0 else T(0)
                        total = plus_T(total, p[line + j] * p[other + j])
                    for j in range(own):
                        p[other + j] = abs(p[line + j]) * (p[other + j] - total) * by_scale
                        p[line + j] = p[line + j] * kept if p[line + j] > 0 else T(0)
                else:
                    for j in range(own):
                        total = plus_T(total, p[line + j] * p[other + j])
                    for j in range(own):
                        p[other + j] = p[line + j] * (p[other + j] - total) * by_scale
                for j in range(own, seen):
                    p[other + j] = T(0)
            if of_mask:
                to_mask += begin * step + (mask_at if of_mask == 1 else own_mask)
                block = c * room + high * row
                if of_mask == 1:
                    add_to_mask(p, block, rows, row, seen, out, to_mask, mask_row, step, scale, T(0), plus_T)
                else:
                    add_to_mask(p, block, rows, row, seen, p, to_mask, mask_row, step, scale, T(0), plus_T)
            product_T(0, 0, rows, wide, seen, scores, row, y, k_row, 0, at(out, to), wide)
            product_T(1, 0, seen, wide, rows, scores, row, x, q_row, 1, to_keys, wide)
            product_T(1, 0, seen, broad, rows, weights, row, w, g_row, 1, to_values, broad)


@kernel
def join_T(buffers, sizes, start, stop):
    out, p = T_at(buffers, 6), T_at(buffers, 7)
    span, chunks, items, queries, keys, wide, broad = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6]
    high, row, room = sizes[9], sizes[10], sizes[11]
    blocks = (queries + high - 1) // high
    own_mask = 2 * high * row + keys * (wide + broad)
    mask_at, own_size = items * (queries + keys) * wide + items * keys * broad, room - own_mask
    for c in range(chunks):
        for j in range(own_size):
            out[mask_at + j] = p[c * room + own_mask + j] + (out[mask_at + j] if c else T(0))
    for c in range(1, chunks):
        item, inside = span * c // chunks // blocks, span * c // chunks % blocks
        if inside and span * c // chunks < span * (c + 1) // chunks:
            part = c * room + 2 * high * row
            of_keys = items * queries * wide + item * keys * wide
            of_values = items * (queries + keys) * wide + item * keys * broad
            for j in range(keys * wide):
                out[of_keys + j] += p[part + j]
            for j in range(keys * broad):
                out[of_values + j] += p[part + keys * wide + j]
