"""Factors of square matrices, row by row in memory, and systems that are solved with them. The range is over matrices, or over
blocks of 64 sides of matrices.

An operand that is read where it lies has five sizes: matrix i begins at `i // every % count * step`, and the distances of its
rows and of its columns. Small matrices are factored and solved by the loops here, others by LAPACK, to which a matrix is its
transpose. Systems with several sides that fit into the L2 cache (NEAR elements) are solved by blocks of rows and by products,
in half of LAPACK's time.

cholesky: sizes = n, the operand; buffers = matrices, result, status. inverse: sizes = n; buffers = factors, result, status: of
L L.T, of which the lower triangle of L is read. lu: sizes = n, the operand; buffers = matrices, result: L and U in one matrix,
then which rows were exchanged, from 1 on, as floats. regular: sizes = n, elements of a matrix; buffers = matrices, status.
order: sizes = rows, exchanges, whether the last one comes first; buffers = numbers of exchanged rows, result: which row is in
each place then, status: a number that is none of a row.
inverse, cholesky and regular report the number of the row that has no pivot.
cofactor: sizes = matrices, chunks, n, the operand; buffers = matrices, result, for each chunk memory for two matrices and three
rows. The range is over chunks.

substitute: sizes = n, sides, whether A is to the right of X, whether it is upper, whether its diagonal counts as 1, blocks, the
operands; buffers = A, B, result. apply_lu: sizes = n, sides, whether it is the transposed system, blocks, every and
count of the factors, the operand B; buffers = factors, B, result.
"""

from staticgrad.compiler.backend.dialect import *

# kernels
from staticgrad.compiler.backend.intrinsics.lapack import getrf, potrf, potri, trsm
from staticgrad.compiler.backend.intrinsics.matrix_products import product_f32, product_f64
from staticgrad.compiler.backend.intrinsics.vector_tiles import at

SMALL = 16
FEW = 4
BLOCK = 64
NEAR = 400_000
ACROSS = 8


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
def in_place_transposed(a, to, n):
    for i in range(n):
        for j in range(i):
            a[to + i * n + j], a[to + j * n + i] = a[to + j * n + i], a[to + i * n + j]


@inline
def small_cholesky(a, to, n, zero):
    """L in the lower triangle. Returns the number of the first row without a positive pivot, from 1 on, or 0."""
    bad = 0
    for i in range(n):
        row = to + i * n
        for j in range(i + 1):
            other, rest = to + j * n, a[row + j]
            for k in range(j):
                rest -= a[row + k] * a[other + k]
            if j < i:
                a[row + j] = rest / a[other + j]
            else:
                if rest <= zero and bad == 0:
                    bad = i + 1
                a[row + i] = np.sqrt(rest)
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
            bad = small_cholesky(a, to, n, T(0))
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
                a[to + j * n + i] = a[to + i * n + j]


@inline
def small_lu(a, to, pivots, n, zero):
    """L and U in place, by rows of the largest element of each column."""
    for j in range(n):
        best, most = j, abs(a[to + j * n + j])
        for i in range(j + 1, n):
            other = abs(a[to + i * n + j])
            if other > most:
                best, most = i, other
        a[pivots + j] = best + 1
        own = to + j * n
        if best != j:
            row = to + best * n
            for k in range(n):
                a[own + k], a[row + k] = a[row + k], a[own + k]
        if most > zero:
            pivot = a[own + j]
            for i in range(j + 1, n):
                row = to + i * n
                factor = a[row + j] / pivot
                a[row + j] = factor
                for k in range(j + 1, n):
                    a[row + k] -= factor * a[own + k]


@kernel
def lu_T(buffers, sizes, start, stop):
    x, a, numbers = T_at(buffers, 0), T_at(buffers, 1), i32_at(buffers, 1)
    n, row, column = sizes[0], sizes[4], sizes[5]
    for item in range(start, stop):
        source, to = begin(sizes, 1, item), item * n * (n + 1)
        pivots = to + n * n
        if n <= SMALL:
            copied(x, source, row, column, a, to, n, n, n)
            small_lu(a, to, pivots, n, T(0))
        else:
            copied(x, source, column, row, a, to, n, n, n)
            getrf(a, n, at(a, to), n, at(a, pivots))
            in_place_transposed(a, to, n)
            first = pivots * ((at(a, 1) - at(a, 0)) // 4)
            for i in range(n - 1, -1, -1):
                a[pivots + i] = numbers[first + i]


@inline
def complete_pivots(a, to, rows, columns, n, zero):
    """L, D and U in place, L and U with a diagonal of 1, of the matrix with its rows and columns in the order that is written
    to `rows` and `columns`: each pivot is the largest element of what is left. Returns whether it is odd."""
    odd = 0
    for i in range(n):
        a[rows + i] = i
        a[columns + i] = i
    for j in range(n):
        row, column, most = j, j, zero
        for i in range(j, n):
            for k in range(j, n):
                other = abs(a[to + i * n + k])
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
        if pivot != zero:  # else all that is left is 0
            for k in range(j + 1, n):
                a[own + k] = a[own + k] / pivot
            for i in range(j + 1, n):
                other = to + i * n
                factor = a[other + j]
                a[other + j] = factor / pivot
                for k in range(j + 1, n):
                    a[other + k] -= factor * a[own + k]
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
            odd = complete_pivots(a, first, rows, rows + n, n, T(0))
            cofactors(a, first, second, rows + 2 * n, n, T(1 - 2 * odd), T(0), T(1))
            for i in range(n):
                to = item * n * n + i64(a[rows + i]) * n
                for j in range(n):
                    result[to + i64(a[rows + n + j])] = a[second + i * n + j]


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
                x[own + j] = x[own + j] / pivot


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
                x[own] = x[own] / a[start + i * row + i]
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
            x[own] = rest if unit else rest / a[line + i * row]


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


@inline
def exchanged(x, i, p, stride, to, first, last):
    if p != i:
        own, other = to + i * stride, to + p * stride
        for j in range(first, last):
            x[own + j], x[other + j] = x[other + j], x[own + j]


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
                exchanged(x, i, i64(a[pivots + i]) - 1, sides, to, first, last)
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
                exchanged(x, i, i64(a[pivots + i]) - 1, sides, to, first, last)
        unit_at += more
