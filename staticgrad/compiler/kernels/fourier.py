"""Fourier transforms along an axis, for lengths without large prime factors.

lines: sizes = lines, chunks, n, inner, m, kind, inverse, divisor, stages, a radix for each; buffers = source, result, for each
chunk memory for the parts of N transforms of m numbers twice, and for n roots of unity. The range is over chunks of lines. The
elements of a line are `inner` apart. again: the same without a source, in place of the result.

kind: 0 from complex numbers to complex numbers, m = n. 1 from real numbers to half a spectrum, 2 back. With m = n / 2 a real
line is taken as m complex numbers, whose transform gives both halves of that of the line; with m = n its imaginary parts are 0.
divisor: the result is divided by the power of n with half of this exponent.

N lines go side by side through stages of one radix each (`intrinsics/fourier_stages.py`), which read one memory and write the
other in the order of the next stage.
Source: P. Swarztrauber, "FFT algorithms for vector computers", 1984 (Stockham's form).
"""

from staticgrad.compiler.backend.dialect import *

# kernels
from staticgrad.compiler.backend.elementary import cos_f64, sin_f64
from staticgrad.compiler.backend.intrinsics.fourier_stages import stage
from staticgrad.compiler.backend.intrinsics.vector_tiles import (
    at,
    join_four_pairs,
    join_pairs,
    split_four_pairs,
    split_pairs,
    turn_pairs,
    turn_pairs_back,
)

TURN = 6.283185307179586


@inline
def run_of(line, lanes, inner):
    """How many of these lines begin at equal distances: rows, or neighbors."""
    return 1 if N == 1 else lanes if inner == 1 else min(lanes, inner - line % inner)


@inline
def pairs_taken(source, x, y, to, place, apart, side, run, count):
    """`count` pairs, `apart` from each other, of each of `run` lines, whose beginnings are `side` apart. The first numbers go
    to x and the second ones to y, those of all lines side by side."""
    done = 0
    if N == 16 and side == 2 and run >= 4:  # the last vector of a run overlaps the one before it
        done = count
        for j in range(count):
            own, there = place + j * apart, to + j * N
            if run >= 8:
                split_pairs(source, at(source, own), at(x, there), at(y, there))
                split_pairs(source, at(source, own + 2 * (run - 8)), at(x, there + run - 8), at(y, there + run - 8))
            else:
                split_four_pairs(source, at(source, own), at(x, there), at(y, there))
                split_four_pairs(source, at(source, own + 2 * (run - 4)), at(x, there + run - 4), at(y, there + run - 4))
    elif N == 16 and run == N and apart == 2:
        done = count // 8 * 8
        for j in range(0, done, 8):
            turn_pairs(source, at(source, place + 2 * j), side, at(x, to + j * N), at(y, to + j * N))
    for j in range(done, count):
        for k in range(run):
            own = place + j * apart + k * side
            x[to + j * N + k] = source[own]
            y[to + j * N + k] = source[own + 1]


@inline
def pairs_given(x, y, own, result, place, apart, side, run, count):
    """The inverse of `pairs_taken`."""
    done = 0
    if N == 16 and side == 2 and run >= 4:
        done = count
        for j in range(count):
            to, here = place + j * apart, own + j * N
            if run >= 8:
                join_pairs(x, at(x, here), at(y, here), at(result, to))
                join_pairs(x, at(x, here + run - 8), at(y, here + run - 8), at(result, to + 2 * (run - 8)))
            else:
                join_four_pairs(x, at(x, here), at(y, here), at(result, to))
                join_four_pairs(x, at(x, here + run - 4), at(y, here + run - 4), at(result, to + 2 * (run - 4)))
    elif N == 16 and run == N and apart == 2:
        done = count // 8 * 8
        for j in range(0, done, 8):
            turn_pairs_back(x, at(x, own + j * N), at(y, own + j * N), at(result, place + 2 * j), side)
    for j in range(done, count):
        for k in range(run):
            to = place + j * apart + k * side
            result[to] = x[own + j * N + k]
            result[to + 1] = y[own + j * N + k]


@inline
def taken(source, x, y, u, v, first, begin, lanes, n, inner, m, kind, roots, root):
    """Lines of the source as N transforms side by side in x and y, an element of each at a time. u, v: memory for the same."""
    lane, half = 0, n // 2 + 1
    length = half if kind == 2 else n
    while lane < lanes:
        line, to = begin + lane, first + lane
        run, side = run_of(line, lanes - lane, inner), length if inner == 1 else 1
        place = line // inner * length * inner + line % inner
        if kind == 0:
            pairs_taken(source, x, y, to, 2 * place, 2 * inner, 2 * side, run, m)
        elif kind == 1:
            if m == n:
                for j in range(n):
                    for k in range(run):
                        x[to + j * N + k] = source[place + j * inner + k * side]
                        y[to + j * N + k] = T(0)
            elif inner == 1:
                pairs_taken(source, x, y, to, place, 2, side, run, m)
            else:
                for j in range(m):
                    own, there = place + 2 * j * inner, to + j * N
                    for k in range(run):
                        x[there + k] = source[own + k]
                        y[there + k] = source[own + inner + k]
        elif m == n:
            pairs_taken(source, x, y, to, 2 * place, 2 * inner, 2 * side, run, half)
            for k in range(run):
                y[to + k] = T(0)  # of a real signal
            for j in range(1, half):
                here, there = to + j * N, to + (n - j) * N
                for k in range(run):
                    x[there + k] = x[here + k]
                    y[there + k] = -y[here + k]
        else:
            pairs_taken(source, u, v, to, 2 * place, 2 * inner, 2 * side, run, m)
            for k in range(run):
                last = source[2 * (place + m * inner + k * side)]
                x[to + k], y[to + k] = u[to + k] + last, u[to + k] - last
            for j in range(1, m):
                c, s = roots[root + j], roots[root + n + j]
                here, there = to + j * N, to + (m - j) * N
                for k in range(run):
                    ex, ey = u[here + k] + u[there + k], v[here + k] - v[there + k]
                    ox, oy = u[here + k] - u[there + k], v[here + k] + v[there + k]
                    x[here + k] = ex - (oy * c + ox * s)
                    y[here + k] = ey + (ox * c - oy * s)
        lane += run


@outlined
def given(x, y, u, v, first, result, begin, lanes, n, inner, m, kind, roots, root, scale):
    """N transforms in x and y as lines of the result. u, v: memory for the same."""
    lane, half = 0, n // 2 + 1
    length = half if kind == 1 else n
    if scale != T(1):
        for k in range(first, first + m * N):
            x[k] *= scale
            y[k] *= scale
    while lane < lanes:
        line, own = begin + lane, first + lane
        run, side = run_of(line, lanes - lane, inner), length if inner == 1 else 1
        place = line // inner * length * inner + line % inner
        if kind == 0:
            pairs_given(x, y, own, result, 2 * place, 2 * inner, 2 * side, run, n)
        elif kind == 1:
            if m == n:
                for k in range(run):
                    y[own + k] = T(0)  # of a real signal
                pairs_given(x, y, own, result, 2 * place, 2 * inner, 2 * side, run, half)
            else:
                for k in range(run):
                    last = 2 * (place + m * inner + k * side)
                    result[last], result[last + 1] = x[own + k] - y[own + k], T(0)
                    u[own + k], v[own + k] = x[own + k] + y[own + k], T(0)
                for j in range(1, m):
                    here, there, c, s = own + j * N, own + (m - j) * N, roots[root + j], roots[root + n + j]
                    for k in range(run):
                        ex, ey = x[here + k] + x[there + k], y[here + k] - y[there + k]
                        ox, oy = y[here + k] + y[there + k], x[there + k] - x[here + k]
                        u[here + k] = (ex + c * ox + s * oy) * T(0.5)
                        v[here + k] = (ey + c * oy - s * ox) * T(0.5)
                pairs_given(u, v, own, result, 2 * place, 2 * inner, 2 * side, run, m)
        elif m == n:
            for j in range(n):
                for k in range(run):
                    result[place + j * inner + k * side] = x[own + j * N + k]
        elif inner == 1:
            pairs_given(x, y, own, result, place, 2, side, run, m)
        else:
            for j in range(m):
                to, here = place + 2 * j * inner, own + j * N
                for k in range(run):
                    result[to + k] = x[here + k]
                    result[to + inner + k] = y[here + k]
        lane += run


@inline
def transformed(source, result, x, y, u, v, roots, sizes, start, stop):
    lines, chunks, n, inner, m, kind = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    stages, scale = sizes[8], T(1)
    if sizes[7] == 1:
        scale = T(1 / np.sqrt(f64(n)))
    if sizes[7] == 2:
        scale = T(1 / f64(n))
    for c in range(start, stop):
        first, root = c * m * N, 2 * c * n
        for k in range(n):
            roots[root + k] = T(cos_f64(TURN * k / n))
            roots[root + n + k] = T(sin_f64(TURN * k / n))
        begin = lines * c // chunks
        while begin < lines * (c + 1) // chunks:
            lanes = min(N, lines * (c + 1) // chunks - begin)
            taken(source, x, y, u, v, first, begin, lanes, n, inner, m, kind, roots, root)
            here_x, here_y, there_x, there_y = at(x, first), at(y, first), at(u, first), at(v, first)
            if sizes[6] != 0:  # an inverse transform: the same with real and imaginary parts swapped
                here_x, here_y, there_x, there_y = here_y, here_x, there_y, there_x
            count, apart = m, 1
            for k in range(stages):
                radix, wide = sizes[9 + k], apart * N
                if N == 16 or wide % 16 == 0:
                    stage(x, here_x, here_y, there_x, there_y, at(roots, root), n, count, wide, radix, 16)
                else:
                    stage(x, here_x, here_y, there_x, there_y, at(roots, root), n, count, wide, radix, 1)
                count, apart = count // radix, radix * apart
                here_x, here_y, there_x, there_y = there_x, there_y, here_x, here_y
            if stages % 2 == 0:
                given(x, y, u, v, first, result, begin, lanes, n, inner, m, kind, roots, root, scale)
            else:
                given(u, v, x, y, first, result, begin, lanes, n, inner, m, kind, roots, root, scale)
            begin += lanes


@kernel
def lines_T_N(buffers, sizes, start, stop):
    x, y, u, v = T_at(buffers, 2), T_at(buffers, 3), T_at(buffers, 4), T_at(buffers, 5)
    transformed(T_at(buffers, 0), T_at(buffers, 1), x, y, u, v, T_at(buffers, 6), sizes, start, stop)


@kernel
def again_T_N(buffers, sizes, start, stop):
    x, y, u, v = T_at(buffers, 1), T_at(buffers, 2), T_at(buffers, 3), T_at(buffers, 4)
    transformed(T_at(buffers, 0), T_at(buffers, 0), x, y, u, v, T_at(buffers, 5), sizes, start, stop)
