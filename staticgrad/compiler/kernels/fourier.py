"""Fourier transforms along an axis, for lengths without large prime factors.

lines: sizes = lines, chunks, n, inner, m, kind, inverse, divisor, stages, a radix for each; buffers = source, result, for each
chunk memory for the parts of N transforms of m numbers twice, and for n roots of unity. The range is over chunks of lines. The
elements of a line are `inner` apart. again: the same without a source, in place of the result.

kind: 0 from complex numbers to complex numbers, m = n. 1 from real numbers to half a spectrum, 2 back. With m = n / 2 a real
line is taken as m complex numbers, whose transform gives both halves of that of the line; with m = n its imaginary parts are 0.
divisor: the result is divided by the power of n with half of this exponent.

N lines go side by side through stages of one radix each, which read one memory and write the other in the order of the next
stage.
Source: P. Swarztrauber, "FFT algorithms for vector computers", 1984 (Stockham's form).
"""

from staticgrad.compiler.backend.dialect import *

# kernels
from staticgrad.compiler.backend.elementary import cos_f64, sin_f64

TURN = 6.283185307179586
SIN_60, COS_72, SIN_72, COS_144, SIN_144 = (
    0.8660254037844386, 0.30901699437494745, 0.9510565162951535, -0.8090169943749475, 0.5877852522924731
)  # fmt: skip


@inline
def put(u, v, at, x, y, c, s):
    """(x + iy) times a root of unity."""
    u[at] = x * c + y * s
    v[at] = y * c - x * s


@inline
def stage(x, y, u, v, first, roots, root, n, count, apart, radix, turn):
    """Transforms of `count` numbers, `apart` from each other, from (x, y) to (u, v). turn: 1, or -1 for the inverse one."""
    third = count // radix
    wide, leap, step = apart * N, third * apart * N, n // count
    for p in range(third):
        a, to, at = first + p * wide, first + radix * p * wide, root + p * step
        c, s = roots[at], roots[at + n]
        if radix == 4:
            c2, s2 = roots[root + 2 * p * step], roots[root + n + 2 * p * step]
            c3, s3 = roots[root + 3 * p * step], roots[root + n + 3 * p * step]
            for j in range(wide):
                q = a + j
                ax, ay = x[q] + x[q + 2 * leap], y[q] + y[q + 2 * leap]
                bx, by = x[q] - x[q + 2 * leap], y[q] - y[q + 2 * leap]
                dx, dy = x[q + leap] + x[q + 3 * leap], y[q + leap] + y[q + 3 * leap]
                ex, ey = turn * (y[q + leap] - y[q + 3 * leap]), turn * (x[q + 3 * leap] - x[q + leap])
                u[to + j] = ax + dx
                v[to + j] = ay + dy
                put(u, v, to + wide + j, bx + ex, by + ey, c, s)
                put(u, v, to + 2 * wide + j, ax - dx, ay - dy, c2, s2)
                put(u, v, to + 3 * wide + j, bx - ex, by - ey, c3, s3)
        elif radix == 2:
            for j in range(wide):
                q = a + j
                u[to + j] = x[q] + x[q + leap]
                v[to + j] = y[q] + y[q + leap]
                put(u, v, to + wide + j, x[q] - x[q + leap], y[q] - y[q + leap], c, s)
        elif radix == 3:
            c2, s2 = roots[root + 2 * p * step], roots[root + n + 2 * p * step]
            for j in range(wide):
                q = a + j
                ax, ay = x[q + leap] + x[q + 2 * leap], y[q + leap] + y[q + 2 * leap]
                bx, by = x[q] - T(0.5) * ax, y[q] - T(0.5) * ay
                k = turn * T(SIN_60)
                ex, ey = k * (y[q + leap] - y[q + 2 * leap]), k * (x[q + 2 * leap] - x[q + leap])
                u[to + j] = x[q] + ax
                v[to + j] = y[q] + ay
                put(u, v, to + wide + j, bx + ex, by + ey, c, s)
                put(u, v, to + 2 * wide + j, bx - ex, by - ey, c2, s2)
        elif radix == 5:
            c2, s2 = roots[root + 2 * p * step], roots[root + n + 2 * p * step]
            c3, s3 = roots[root + 3 * p * step], roots[root + n + 3 * p * step]
            c4, s4 = roots[root + 4 * p * step], roots[root + n + 4 * p * step]
            for j in range(wide):
                q = a + j
                ax, ay = x[q + leap] + x[q + 4 * leap], y[q + leap] + y[q + 4 * leap]
                bx, by = x[q + 2 * leap] + x[q + 3 * leap], y[q + 2 * leap] + y[q + 3 * leap]
                dx, dy = x[q + leap] - x[q + 4 * leap], y[q + leap] - y[q + 4 * leap]
                ex, ey = x[q + 2 * leap] - x[q + 3 * leap], y[q + 2 * leap] - y[q + 3 * leap]
                gx, gy = x[q] + T(COS_72) * ax + T(COS_144) * bx, y[q] + T(COS_72) * ay + T(COS_144) * by
                hx, hy = x[q] + T(COS_144) * ax + T(COS_72) * bx, y[q] + T(COS_144) * ay + T(COS_72) * by
                k, o = turn * T(SIN_72), turn * T(SIN_144)
                kx, ky = k * dy + o * ey, -(k * dx + o * ex)
                lx, ly = o * dy - k * ey, -(o * dx - k * ex)
                u[to + j] = x[q] + ax + bx
                v[to + j] = y[q] + ay + by
                put(u, v, to + wide + j, gx + kx, gy + ky, c, s)
                put(u, v, to + 2 * wide + j, hx + lx, hy + ly, c2, s2)
                put(u, v, to + 3 * wide + j, hx - lx, hy - ly, c3, s3)
                put(u, v, to + 4 * wide + j, gx - kx, gy - ky, c4, s4)
        else:
            for k in range(radix):
                for j in range(wide):
                    u[to + k * wide + j] = T(0)
                    v[to + k * wide + j] = T(0)
                for i in range(radix):
                    # Of order radix for the place in the sum, of order count for the place of the sum.
                    place = (i * k % radix * (n // radix) + p * k * step) % n
                    ck, sk = roots[root + place], roots[root + n + place]
                    for j in range(wide):
                        q = a + i * leap + j
                        u[to + k * wide + j] += x[q] * ck + y[q] * sk
                        v[to + k * wide + j] += y[q] * ck - x[q] * sk


@inline
def run_of(line, lanes, inner):
    """How many of these lines begin at equal distances: rows, or neighbors."""
    return 1 if N == 1 else lanes if inner == 1 else min(lanes, inner - line % inner)


@inline
def taken(source, x, y, first, begin, lanes, n, inner, m, kind, roots, root):
    """Lines of the source as N transforms side by side, an element of each at a time."""
    lane, half = 0, n // 2 + 1
    length = half if kind == 2 else n
    while lane < lanes:
        line, to = begin + lane, first + lane
        run, side = run_of(line, lanes - lane, inner), length if inner == 1 else 1
        at = line // inner * length * inner + line % inner
        if kind == 0:
            for j in range(m):
                for k in range(run):
                    own = 2 * (at + j * inner + k * side)
                    x[to + j * N + k] = source[own]
                    y[to + j * N + k] = source[own + 1]
        elif kind == 1:
            if m == n:
                for j in range(n):
                    for k in range(run):
                        x[to + j * N + k] = source[at + j * inner + k * side]
                        y[to + j * N + k] = T(0)
            else:
                for j in range(m):
                    for k in range(run):
                        x[to + j * N + k] = source[at + 2 * j * inner + k * side]
                        y[to + j * N + k] = source[at + (2 * j + 1) * inner + k * side]
        elif m == n:
            for k in range(run):
                x[to + k], y[to + k] = source[2 * (at + k * side)], T(0)
            for j in range(1, half):
                for k in range(run):
                    own = 2 * (at + j * inner + k * side)
                    x[to + j * N + k] = source[own]
                    y[to + j * N + k] = source[own + 1]
                    x[to + (n - j) * N + k] = source[own]
                    y[to + (n - j) * N + k] = -source[own + 1]
        else:
            for j in range(m):
                c, s = roots[root + j], roots[root + n + j]
                for k in range(run):
                    own, other = 2 * (at + j * inner + k * side), 2 * (at + (m - j) * inner + k * side)
                    ax, ay, bx, by = source[own], source[own + 1], source[other], source[other + 1]
                    if j == 0:
                        ay, by = T(0), T(0)  # of a real signal
                    ex, ey, ox, oy = ax + bx, ay - by, ax - bx, ay + by
                    x[to + j * N + k] = ex - (oy * c - ox * s)
                    y[to + j * N + k] = ey + (ox * c + oy * s)
        lane += run


@inline
def given(x, y, first, result, begin, lanes, n, inner, m, kind, roots, root, scale):
    """N transforms as lines of the result."""
    lane, half = 0, n // 2 + 1
    length = half if kind == 1 else n
    while lane < lanes:
        line, own = begin + lane, first + lane
        run, side = run_of(line, lanes - lane, inner), length if inner == 1 else 1
        at = line // inner * length * inner + line % inner
        if kind == 0:
            for j in range(n):
                for k in range(run):
                    to = 2 * (at + j * inner + k * side)
                    result[to] = x[own + j * N + k] * scale
                    result[to + 1] = y[own + j * N + k] * scale
        elif kind == 1:
            if m == n:
                for j in range(half):
                    for k in range(run):
                        to = 2 * (at + j * inner + k * side)
                        result[to] = x[own + j * N + k] * scale
                        result[to + 1] = (y[own + j * N + k] if j > 0 else T(0)) * scale
            else:
                for j in range(m + 1):
                    here, there = own + j % m * N, own + (m - j) % m * N
                    c = roots[root + j] if j < m else -roots[root]
                    s = roots[root + n + j] if j < m else roots[root + n]
                    for k in range(run):
                        ex, ey = x[here + k] + x[there + k], y[here + k] - y[there + k]
                        ox, oy = y[here + k] + y[there + k], x[there + k] - x[here + k]
                        to = 2 * (at + j * inner + k * side)
                        result[to] = (ex + c * ox + s * oy) * scale * T(0.5)
                        result[to + 1] = (ey + c * oy - s * ox) * scale * T(0.5)
        elif m == n:
            for j in range(n):
                for k in range(run):
                    result[at + j * inner + k * side] = x[own + j * N + k] * scale
        else:
            for j in range(m):
                for k in range(run):
                    result[at + 2 * j * inner + k * side] = x[own + j * N + k] * scale
                    result[at + (2 * j + 1) * inner + k * side] = y[own + j * N + k] * scale
        lane += run


@inline
def transformed(source, result, x, y, u, v, roots, sizes, start, stop):
    lines, chunks, n, inner, m, kind = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    turn, scale = T(1), T(1)
    if sizes[6] != 0:
        turn = T(-1)
    if sizes[7] == 1:
        scale = T(1 / np.sqrt(f64(n)))
    if sizes[7] == 2:
        scale = T(1 / f64(n))
    for c in range(start, stop):
        first, root = c * m * N, 2 * c * n
        for k in range(n):
            roots[root + k] = T(cos_f64(TURN * k / n))
            roots[root + n + k] = turn * T(sin_f64(TURN * k / n))
        begin = lines * c // chunks
        while begin < lines * (c + 1) // chunks:
            lanes = min(N, lines * (c + 1) // chunks - begin)
            taken(source, x, y, first, begin, lanes, n, inner, m, kind, roots, root)
            count, apart, back = m, 1, 0
            for k in range(sizes[8]):
                radix = sizes[9 + k]
                if back == 0:
                    stage(x, y, u, v, first, roots, root, n, count, apart, radix, turn)
                else:
                    stage(u, v, x, y, first, roots, root, n, count, apart, radix, turn)
                count, apart, back = count // radix, radix * apart, 1 - back
            if back == 0:
                given(x, y, first, result, begin, lanes, n, inner, m, kind, roots, root, scale)
            else:
                given(u, v, first, result, begin, lanes, n, inner, m, kind, roots, root, scale)
            begin += lanes


@kernel
def lines_T_N(buffers, sizes, start, stop):
    x, y, u, v = T_at(buffers, 2), T_at(buffers, 3), T_at(buffers, 4), T_at(buffers, 5)
    transformed(T_at(buffers, 0), T_at(buffers, 1), x, y, u, v, T_at(buffers, 6), sizes, start, stop)


@kernel
def again_T_N(buffers, sizes, start, stop):
    x, y, u, v = T_at(buffers, 1), T_at(buffers, 2), T_at(buffers, 3), T_at(buffers, 4)
    transformed(T_at(buffers, 0), T_at(buffers, 0), x, y, u, v, T_at(buffers, 5), sizes, start, stop)
