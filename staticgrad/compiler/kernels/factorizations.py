"""Factors of matrices, row by row in memory, and systems that are solved with them, of real and of complex numbers. The range
is over matrices, over chunks of these, or over blocks of 64 sides of matrices.

An operand that is read where it lies has five sizes: matrix i begins at `i // every % count * step`, and the distances of its
rows and of its columns. Small matrices are factored and solved by the loops here, others by LAPACK, to which a matrix is its
transpose. Systems with several sides that fit into the L2 cache (NEAR elements) are solved by blocks of rows and by products,
in half of LAPACK's time.

cholesky: sizes = n, the operand; buffers = matrices, result, status. inverse: sizes = n; buffers = factors, result, status: of
L L.H, of which the lower triangle of L is read. lu: sizes = matrices, chunks, rows, columns, the operand; buffers = matrices,
result: L and U in one matrix, then which rows were exchanged, from 1 on, as numbers of its type; for each chunk memory for as
many elements. reflections: sizes = matrices, chunks, rows, columns, columns of Q, the operand; buffers = matrices, result: Q
and R, or, for no columns of Q, R with the reflections below it and their weights; for each chunk memory for a matrix, weights
and WORK rows. exponential: sizes = matrices, chunks, n, the operand; buffers = matrices, result, for each chunk memory for
eight matrices and a row. regular: sizes = n, elements of a matrix; buffers = matrices, status. order: sizes = rows, exchanges,
whether the last one comes first; buffers = numbers of exchanged rows, result: which row is in each place then, status: a
number that is none of a row. inverse, cholesky and regular report the number of the row that has no pivot. cofactor: sizes =
matrices, chunks, n, the operand; buffers = matrices, result, for each chunk memory for two matrices and three rows. The range
is over chunks.

substitute: sizes = n, sides, whether A is to the right of X, whether it is upper, whether its diagonal counts as 1, blocks,
the operands; buffers = A, B, result. apply_lu: sizes = n, sides, whether it is the transposed system, blocks, every and count
of the factors, the operand B; buffers = factors, B, result.
"""

from staticgrad.compiler.backend.dialect import *

# kernels
from staticgrad.compiler.backend.intrinsics.lapack import geqrf, getrf, orgqr, potrf, potri, trsm
from staticgrad.compiler.backend.intrinsics.matrix_products import product_c64, product_c128, product_f32, product_f64
from staticgrad.compiler.backend.intrinsics.vector_tiles import at

SMALL = 16
FEW = 4
BLOCK = 64
NEAR = 400_000
ACROSS = 8
WORK = 32
LARGEST_NORM = 5.37
"""Of a matrix whose exponential is within rounding of the quotient of polynomials with these coefficients."""
C2 = 0.12
C3 = 0.018333333333333333
C4 = 0.0019927536231884057
C5 = 0.00016304347826086958
C6 = 1.0351966873706003e-05
C7 = 5.175983436853002e-07
C8 = 2.0431513566525008e-08
C9 = 6.306022705717595e-10
C10 = 1.48377004840414e-11
C11 = 2.529153491597966e-13
C12 = 2.8101705462199623e-15
C13 = 1.5440497506703088e-17


@inline
def begin(sizes, first, item):
    """Where a matrix of an operand begins."""
    return item // sizes[first] % sizes[first + 1] * sizes[first + 2]


@inline
def copied(source, start, row, column, result, to, stride, rows, columns):
    """Copy a matrix, row by row; by squares where its columns lie one after another."""
    if row >= column:
        for i in range(rows):
            for j in range(columns):
                result[to + i * stride + j] = source[start + i * row + j * column]
    else:
        for left in range(0, columns, ACROSS):
            right = min(left + ACROSS, columns)
            for i in range(rows):
                for j in range(left, right):
                    result[to + i * stride + j] = source[start + i * row + j * column]


@inline
def small_cholesky(a, to, n):
    """L in the lower triangle. Returns the number of the first row without a positive pivot, from 1 on, or 0."""
    bad = 0
    for i in range(n):
        row = to + i * n
        for j in range(i + 1):
            other, rest = to + j * n, a[row + j]
            for k in range(j):
                rest -= a[row + k] * conjugate(a[other + k])
            if j < i:
                a[row + j] = quotient(rest, a[other + j])
            else:
                if real_part(rest) <= 0 and bad == 0:
                    bad = i + 1
                a[row + i] = np.sqrt(real_part(rest))
    return bad


@kernel
def cholesky_T(buffers, sizes, start, stop):
    x, a, status = T_at(buffers, 0), T_at(buffers, 1), i64_at(buffers, 2)
    n, row, column = sizes[0], sizes[4], sizes[5]
    for item in range(start, stop):
        source, to = begin(sizes, 1, item), item * n * n
        for i in range(n):
            for j in range(i + 1):
                a[to + i * n + j] = x[source + i * row + j * column]
            for j in range(i + 1, n):
                a[to + i * n + j] = T(0)
        bad = 0
        if n <= SMALL:
            bad = small_cholesky(a, to, n)
        else:
            bad = potrf(a, n, at(a, to), n)
        if bad != 0:
            status[0], status[1], status[2], status[3] = 1, bad, n, 0
            return


@kernel
def inverse_T(buffers, sizes, start, stop):
    x, a, status, n = T_at(buffers, 0), T_at(buffers, 1), i64_at(buffers, 2), sizes[0]
    for item in range(start, stop):
        to = item * n * n
        for i in range(n * n):
            a[to + i] = x[to + i]
        bad = potri(a, n, at(a, to), n)
        if bad != 0:
            status[0], status[1], status[2], status[3] = 1, bad, n, 0
            return
        for i in range(n):
            for j in range(i):
                a[to + j * n + i] = conjugate(a[to + i * n + j])


@inline
def small_lu(a, to, pivots, m, n):
    """L and U in place, by rows of the largest element of each column."""
    for j in range(min(m, n)):
        best, most = j, reach(a[to + j * n + j])
        for i in range(j + 1, m):
            other = reach(a[to + i * n + j])
            if other > most:
                best, most = i, other
        a[pivots + j] = best + 1
        own = to + j * n
        if best != j:
            row = to + best * n
            for k in range(n):
                a[own + k], a[row + k] = a[row + k], a[own + k]
        if most > 0:
            pivot = a[own + j]
            for i in range(j + 1, m):
                row = to + i * n
                factor = quotient(a[row + j], pivot)
                a[row + j] = factor
                for k in range(j + 1, n):
                    a[row + k] -= factor * a[own + k]


@inline
def rows_lu(x, source, row, column, a, to, m, n, room, numbers, own):
    """The factors of a matrix, and the exchanged rows after them. room, numbers, own: memory for as many elements, the same as
    int32, and where in it."""
    count, pivots = min(m, n), to + m * n
    if max(m, n) <= SMALL:
        copied(x, source, row, column, a, to, n, m, n)
        small_lu(a, to, pivots, m, n)
    else:
        copied(x, source, column, row, room, own, m, n, m)
        getrf(room, m, n, at(room, own), at(room, own + m * n))
        copied(room, own, 1, m, a, to, n, m, n)
        first = (own + m * n) * ((at(room, 1) - at(room, 0)) // 4)
        for i in range(count):
            a[pivots + i] = numbers[first + i]


@kernel
def lu_T(buffers, sizes, start, stop):
    x, a, room, numbers = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), i32_at(buffers, 2)
    span, chunks, m, n, row, column = sizes[0], sizes[1], sizes[2], sizes[3], sizes[7], sizes[8]
    size = m * n + min(m, n)
    for c in range(start, stop):
        for item in range(span * c // chunks, span * (c + 1) // chunks):
            rows_lu(x, begin(sizes, 4, item), row, column, a, item * size, m, n, room, numbers, c * size)


@kernel
def reflections_T(buffers, sizes, start, stop):
    x, result, a = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2)
    span, chunks, m, n, across, row, column = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[8], sizes[9]
    count, wide = min(m, n), max(n, across)
    room = WORK * wide
    for c in range(start, stop):
        own = c * (m * wide + count + room)
        weights = own + m * wide
        work = weights + count
        for item in range(span * c // chunks, span * (c + 1) // chunks):
            copied(x, begin(sizes, 5, item), column, row, a, own, m, n, m)
            geqrf(a, m, n, at(a, own), at(a, weights), at(a, work), room)
            if across == 0:
                to = item * (m * n + count)
                copied(a, own, 1, m, result, to, n, m, n)
                for i in range(count):
                    result[to + m * n + i] = a[weights + i]
            else:
                to = item * (m * across + across * n)
                upper = to + m * across
                for i in range(across):
                    for j in range(min(i, n)):
                        result[upper + i * n + j] = T(0)
                    for j in range(min(i, n), n):
                        result[upper + i * n + j] = a[own + j * m + i]
                orgqr(a, m, across, count, at(a, own), at(a, weights), at(a, work), room)
                copied(a, own, 1, m, result, to, across, m, across)


@inline
def complete_pivots(a, to, rows, columns, n):
    """L, D and U in place, L and U with a diagonal of 1, of the matrix with its rows and columns in the order that is written
    to `rows` and `columns`: each pivot is the largest element of what is left. Returns whether it is odd."""
    odd = 0
    for i in range(n):
        a[rows + i] = i
        a[columns + i] = i
    for j in range(n):
        row, column, most = j, j, reach(a[to + j * n + j])
        for i in range(j, n):
            for k in range(j, n):
                other = reach(a[to + i * n + k])
                if other > most:
                    row, column, most = i, k, other
        if row != j:
            odd = 1 - odd
            a[rows + j], a[rows + row] = a[rows + row], a[rows + j]
            for k in range(n):
                a[to + j * n + k], a[to + row * n + k] = a[to + row * n + k], a[to + j * n + k]
        if column != j:
            odd = 1 - odd
            a[columns + j], a[columns + column] = a[columns + column], a[columns + j]
            for i in range(n):
                a[to + i * n + j], a[to + i * n + column] = a[to + i * n + column], a[to + i * n + j]
        own = to + j * n
        pivot = a[own + j]
        if most > 0:  # else all that is left is 0
            for k in range(j + 1, n):
                a[own + k] = quotient(a[own + k], pivot)
            for i in range(j + 1, n):
                row = to + i * n
                factor = a[row + j]
                a[row + j] = quotient(factor, pivot)
                for k in range(j + 1, n):
                    a[row + k] -= factor * a[own + k]
    return odd


@inline
def cofactors(a, factors, to, others, n, sign, zero, one):
    """L'^-1 diag(the product of the other pivots) U'^-1, which divides by no pivot."""
    for i in range(n):
        row = to + i * n
        for j in range(n):
            a[row + j] = one if j == i else zero
        for k in range(i):
            factor, other = a[factors + k * n + i], to + k * n
            for j in range(k + 1):
                a[row + j] -= factor * a[other + j]
    product = sign
    for i in range(n):
        a[others + i] = product
        product *= a[factors + i * n + i]
    product = one
    for i in range(n - 1, -1, -1):
        factor = a[others + i] * product
        product *= a[factors + i * n + i]
        for j in range(i + 1):
            a[to + i * n + j] *= factor
    for i in range(n - 1, -1, -1):
        row = to + i * n
        for k in range(i + 1, n):
            factor, other = a[factors + k * n + i], to + k * n
            for j in range(n):
                a[row + j] -= factor * a[other + j]


@kernel
def cofactor_T(buffers, sizes, start, stop):
    x, result, a = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2)
    span, chunks, n, row, column = sizes[0], sizes[1], sizes[2], sizes[6], sizes[7]
    for c in range(start, stop):
        first = c * n * (2 * n + 3)
        second, rows = first + n * n, first + 2 * n * n
        for item in range(span * c // chunks, span * (c + 1) // chunks):
            copied(x, begin(sizes, 3, item), row, column, a, first, n, n, n)
            finite = T(0)
            for i in range(n * n):
                finite += a[first + i] * T(0)
            if finite != finite:
                for i in range(n * n):
                    result[item * n * n + i] = finite
                continue
            odd = complete_pivots(a, first, rows, rows + n, n)
            cofactors(a, first, second, rows + 2 * n, n, T(1 - 2 * odd), T(0), T(1))
            for i in range(n):
                to = item * n * n + i64(real_part(a[rows + i])) * n
                for j in range(n):
                    result[to + i64(real_part(a[rows + n + j]))] = a[second + i * n + j]


@kernel
def regular_T(buffers, sizes, start, stop):
    a, status, n = T_at(buffers, 0), i64_at(buffers, 1), sizes[0]
    for item in range(start, stop):
        for i in range(n):
            if a[item * sizes[1] + i * (n + 1)] == 0:
                status[0], status[1], status[2], status[3] = 1, i + 1, n, 0
                return


@kernel
def order_T(buffers, sizes, start, stop):
    pivots, result, status = T_at(buffers, 0), i64_at(buffers, 1), i64_at(buffers, 2)
    rows, count = sizes[0], sizes[1]
    for item in range(start, stop):
        to = item * rows
        for i in range(rows):
            result[to + i] = i
        for turn in range(count):
            i = count - 1 - turn if sizes[2] else turn
            p = i64(pivots[item * count + i]) - 1
            if p < 0 or p >= rows:
                status[0], status[1], status[2], status[3] = 1, p + 1, rows, 0
                return
            result[to + i], result[to + p] = result[to + p], result[to + i]


@inline
def solve_rows(a, start, row, column, upper, unit, n, x, to, stride, first, last):
    """A X = B by rows of X, columns `first` to `last`."""
    for step in range(n):
        i = n - 1 - step if upper else step
        own = to + i * stride
        low, high = (i + 1, n) if upper else (0, i)
        for k in range(low, high):
            factor, other = a[start + i * row + k * column], to + k * stride
            for j in range(first, last):
                x[own + j] -= factor * x[other + j]
        if unit == 0:
            pivot = a[start + i * row + i * column]
            for j in range(first, last):
                x[own + j] = quotient(x[own + j], pivot)


@inline
def negated(x, to, stride, rows, first, last):
    for i in range(rows):
        for j in range(first, last):
            x[to + i * stride + j] = -x[to + i * stride + j]


@inline
def solve_blocks(a, start, row, column, upper, unit, n, x, to, stride, first, last):
    """A X = B by blocks of rows of X, of which each takes a product with all that are solved. These have the other sign
    meanwhile, so that products are added."""
    turned = i64(column != 1)
    width = column if turned else row
    for done in range(0, n, SMALL):
        size = min(SMALL, n - done)
        low, solved = (n - done - size, n - done) if upper else (done, 0)
        own = to + low * stride
        if done > 0:
            product_T(
                turned, 0, size, last - first, done, at(a, start + low * row + solved * column), width,
                at(x, to + solved * stride + first), stride, 1, at(x, own + first), stride,
            )  # fmt: skip
        solve_rows(a, start + low * (row + column), row, column, upper, unit, size, x, own, stride, first, last)
        negated(x, own, stride, size, first, last)
    negated(x, to, stride, n, first, last)


@inline
def solve_vector(a, start, row, column, upper, unit, n, x, to, zero, plus):
    """x A = b for a vector, along the rows of A or, where its columns lie one after another, along these."""
    for step in range(n):
        i = step if upper else n - 1 - step
        own = to + i
        if column == 1:
            if unit == 0:
                x[own] = quotient(x[own], a[start + i * row + i])
            factor, low, high = x[own], 0 if upper == 0 else i + 1, i if upper == 0 else n
            line = start + i * row
            for j in range(low, high):
                x[to + j] -= factor * a[line + j]
        else:
            total, low, high = zero, 0 if upper else i + 1, i if upper else n
            line = start + i * column
            for j in range(low, high):
                total = plus(total, x[to + j] * a[line + j * row])
            rest = x[own] - total
            x[own] = rest if unit else quotient(rest, a[line + i * row])


@inline
def triangle(a, start, row, column, right, upper, unit, n, x, to, stride, first, last, zero, plus):
    """Substitution in the columns `first` to `last` of X, or in its rows, for A to the right."""
    count = last - first
    if right and (n <= SMALL or count <= FEW):
        for i in range(first, last):
            solve_vector(a, start, row, column, upper, unit, n, x, to + i * stride, zero, plus)
    elif n <= SMALL:
        solve_rows(a, start, row, column, upper, unit, n, x, to, stride, first, last)
    elif right == 0 and stride >= SMALL and n * (n + stride) <= NEAR:
        solve_blocks(a, start, row, column, upper, unit, n, x, to, stride, first, last)
    else:
        turned = i64(column != 1)
        width = column if turned else row
        flipped = upper if turned else 1 - upper
        if right:
            trsm(a, 0, flipped, turned, unit, n, count, at(a, start), width, at(x, to + first * stride), stride)
        else:
            trsm(a, 1, flipped, turned, unit, count, n, at(a, start), width, at(x, to + first), stride)


@inline
def exchanged(x, i, p, stride, to, first, last):
    if p != i:
        own, other = to + i * stride, to + p * stride
        for j in range(first, last):
            x[own + j], x[other + j] = x[other + j], x[own + j]


@inline
def weighted(a, to, u, v, w, x, second, fourth, sixth, size, n):
    """x I + u A^2 + v A^4 + w A^6, added to what is there."""
    for i in range(size):
        a[to + i] += u * a[second + i] + v * a[fourth + i] + w * a[sixth + i]
    for i in range(n):
        a[to + i * (n + 1)] += x


@kernel
def exponential_T(buffers, sizes, start, stop):
    x, result, a, numbers = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), i32_at(buffers, 2)
    span, chunks, n, row, column = sizes[0], sizes[1], sizes[2], sizes[6], sizes[7]
    size = n * n
    for c in range(start, stop):
        first = c * (8 * size + n)
        second, fourth, sixth, inner = first + size, first + 2 * size, first + 3 * size, first + 4 * size
        odd, even, factors = first + 5 * size, first + 6 * size, first + 7 * size
        for item in range(span * c // chunks, span * (c + 1) // chunks):
            copied(x, begin(sizes, 3, item), row, column, a, first, n, n, n)
            norm, squares, scale = 0.0, 0, 1.0
            for i in range(n):
                total = 0.0
                for j in range(n):
                    total += f64(reach(a[first + i * n + j]))
                norm = max(norm, total)
            if norm - norm == 0.0:
                while norm * scale > LARGEST_NORM:
                    scale *= 0.5
                    squares += 1
            for i in range(size):
                a[first + i] = a[first + i] * T(scale)
            product_T(0, 0, n, n, n, at(a, first), n, at(a, first), n, 0, at(a, second), n)
            product_T(0, 0, n, n, n, at(a, second), n, at(a, second), n, 0, at(a, fourth), n)
            product_T(0, 0, n, n, n, at(a, second), n, at(a, fourth), n, 0, at(a, sixth), n)
            for i in range(2 * size):
                a[inner + i] = T(0)
            weighted(a, inner, T(C9), T(C11), T(C13), T(0), second, fourth, sixth, size, n)
            weighted(a, odd, T(C3), T(C5), T(C7), T(0.5), second, fourth, sixth, size, n)
            product_T(0, 0, n, n, n, at(a, sixth), n, at(a, inner), n, 1, at(a, odd), n)
            product_T(0, 0, n, n, n, at(a, first), n, at(a, odd), n, 0, at(a, inner), n)
            for i in range(2 * size):
                a[odd + i] = T(0)
            weighted(a, odd, T(C8), T(C10), T(C12), T(0), second, fourth, sixth, size, n)
            weighted(a, even, T(C2), T(C4), T(C6), T(1), second, fourth, sixth, size, n)
            product_T(0, 0, n, n, n, at(a, sixth), n, at(a, odd), n, 1, at(a, even), n)
            for i in range(size):
                u, v = a[inner + i], a[even + i]
                a[inner + i] = v - u
                a[odd + i] = v + u
            rows_lu(a, inner, n, 1, a, factors, n, n, a, numbers, second)
            for i in range(n):
                exchanged(a, i, i64(real_part(a[factors + size + i])) - 1, n, odd, 0, n)
            triangle(a, factors, n, 1, 0, 0, 1, n, a, odd, n, 0, n, T(0), plus_T)
            triangle(a, factors, n, 1, 0, 1, 0, n, a, odd, n, 0, n, T(0), plus_T)
            for _turn in range(squares):
                product_T(0, 0, n, n, n, at(a, odd), n, at(a, odd), n, 0, at(a, even), n)
                for j in range(size):
                    a[odd + j] = a[even + j]
            for i in range(size):
                result[item * size + i] = a[odd + i]


@kernel
def substitute_T(buffers, sizes, start, stop):
    a, b, x = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2)
    n, sides, right, upper, unit, blocks = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    unit_at = start
    while unit_at < stop:
        item, block = unit_at // blocks, unit_at % blocks
        more = min(blocks - block, stop - unit_at)
        first, last = block * BLOCK, min((block + more) * BLOCK, sides)
        source, to = begin(sizes, 11, item), item * n * sides
        b_row, b_column, stride = sizes[14], sizes[15], n if right else sides
        if right:
            copied(b, source + first * b_row, b_row, b_column, x, to + first * stride, stride, last - first, n)
        else:
            copied(b, source + first * b_column, b_row, b_column, x, to + first, stride, n, last - first)
        triangle(a, begin(sizes, 6, item), sizes[9], sizes[10], right, upper, unit, n, x, to, stride, first, last, T(0), plus_T)
        unit_at += more


@kernel
def apply_lu_T(buffers, sizes, start, stop):
    a, b, x = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2)
    n, sides, turned, blocks = sizes[0], sizes[1], sizes[2], sizes[3]
    unit_at = start
    while unit_at < stop:
        item, block = unit_at // blocks, unit_at % blocks
        more = min(blocks - block, stop - unit_at)
        first, last = block * BLOCK, min((block + more) * BLOCK, sides)
        source, to = begin(sizes, 6, item), item * n * sides
        factors = item // sizes[4] % sizes[5] * n * (n + 1)
        pivots = factors + n * n
        copied(b, source + first * sizes[10], sizes[9], sizes[10], x, to + first, sides, n, last - first)
        if turned == 0:
            for i in range(n):
                exchanged(x, i, i64(real_part(a[pivots + i])) - 1, sides, to, first, last)
        right = i64(sides == 1)  # one side is a row to the right of the transposed matrix
        stride = n if right else sides
        for half in range(2):
            lower = i64(half == turned)
            if turned != right:
                triangle(a, factors, 1, n, right, lower, lower, n, x, to, stride, first, last, T(0), plus_T)
            else:
                triangle(a, factors, n, 1, right, 1 - lower, lower, n, x, to, stride, first, last, T(0), plus_T)
        if turned != 0:
            for i in range(n - 1, -1, -1):
                exchanged(x, i, i64(real_part(a[pivots + i])) - 1, sides, to, first, last)
        unit_at += more
