"""Fourier transforms of real rows whose length is a power of two, and the parts of complex numbers, which are pairs in memory.

half: sizes = rows, chunks, n, by which power of the root of n the result is divided; buffers = rows, result, for each chunk
memory for the parts of LANES transforms of n / 2 twice, and for n parts of roots of unity. The range is over chunks of rows. A
row is taken as n / 2 complex numbers, whose transform gives both halves of that of the row; LANES rows go side by side through
stages of radix 2, each of which reads one memory and writes the other in the order of the next stage (Stockham).

part: sizes = which; buffers = complex numbers, result. The range is over numbers.
"""

from staticgrad.compiler.backend.dialect import *

# kernels
from staticgrad.compiler.backend.elementary import cos_f64, sin_f64

LANES = 16
TURN = 6.283185307179586


@inline
def stage(x, y, u, v, first, roots, root, m, count, apart):
    """Transforms of `count` numbers, `apart` from each other, from (x, y) to (u, v)."""
    half, wide, step = count // 2, apart * LANES, 2 * m // count
    for p in range(half):
        c, s = roots[root + p * step], roots[root + m + p * step]
        a, b, to = first + p * wide, first + (p + half) * wide, first + 2 * p * wide
        for j in range(wide):
            ax, ay, bx, by = x[a + j], y[a + j], x[b + j], y[b + j]
            dx, dy = ax - bx, ay - by
            u[to + j] = ax + bx
            v[to + j] = ay + by
            u[to + wide + j] = dx * c + dy * s
            v[to + wide + j] = dy * c - dx * s


@inline
def joined(x, y, first, result, to, lanes, roots, root, m, scale):
    """From the transforms of pairs to those of rows: X[k] = E[k] + w^k O[k]."""
    for k in range(m + 1):
        own, other = first + k % m * LANES, first + (m - k) % m * LANES
        c = roots[root + k] if k < m else -roots[root]
        s = roots[root + m + k] if k < m else roots[root + m]
        for lane in range(lanes):
            ex, ey = x[own + lane] + x[other + lane], y[own + lane] - y[other + lane]
            ox, oy = y[own + lane] + y[other + lane], x[other + lane] - x[own + lane]
            result[to + lane * (2 * m + 2) + 2 * k] = (ex + c * ox + s * oy) * scale
            result[to + lane * (2 * m + 2) + 2 * k + 1] = (ey + c * oy - s * ox) * scale


@kernel
def half_T(buffers, sizes, start, stop):
    source, result, roots = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 6)
    x, y, u, v = T_at(buffers, 2), T_at(buffers, 3), T_at(buffers, 4), T_at(buffers, 5)
    rows, chunks, n, m = sizes[0], sizes[1], sizes[2], sizes[2] // 2
    root_of_n = np.sqrt(f64(n))
    scale = T(0.5)
    for _ in range(sizes[3]):
        scale = T(scale / T(root_of_n))
    for c in range(start, stop):
        first, root = c * m * LANES, c * n
        for k in range(m):
            roots[root + k] = T(cos_f64(TURN * k / n))
            roots[root + m + k] = T(sin_f64(TURN * k / n))
        begin = rows * c // chunks
        while begin < rows * (c + 1) // chunks:
            lanes = min(LANES, rows * (c + 1) // chunks - begin)
            for lane in range(lanes):
                for j in range(m):
                    x[first + j * LANES + lane] = source[(begin + lane) * n + 2 * j]
                    y[first + j * LANES + lane] = source[(begin + lane) * n + 2 * j + 1]
            count, apart, back = m, 1, 0
            while count > 1:
                if back == 0:
                    stage(x, y, u, v, first, roots, root, m, count, apart)
                else:
                    stage(u, v, x, y, first, roots, root, m, count, apart)
                count, apart, back = count // 2, 2 * apart, 1 - back
            if back == 0:
                joined(x, y, first, result, begin * (n + 2), lanes, roots, root, m, scale)
            else:
                joined(u, v, first, result, begin * (n + 2), lanes, roots, root, m, scale)
            begin += lanes


@kernel
def part_T(buffers, sizes, start, stop):
    x, part, which = T_at(buffers, 0), T_at(buffers, 1), sizes[0]
    for i in range(start, stop):
        part[i] = x[2 * i + which]
