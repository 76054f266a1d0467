"""`tf.linalg`: the same as this library's, under TensorFlow's names and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import REGISTRY, F, apply, finfo, linalg, static, triangular
from .dtypes import as_dtype
from .math import norm
from .tensor import Operand, Pair, define, extents_of, operation, pair, tensor


def _t(x: Any) -> Any:
    return F.swapaxes(x, -1, -2)


@operation("matrix_transpose", "Transpose")
def matrix_transpose(a: Operand, conjugate: bool = False) -> Any:
    """The last two axes exchanged."""
    return _t(a)


transpose = matrix_transpose


adjoint = define("adjoint", "Transpose", lambda matrix: _t(matrix), "The last two axes exchanged.", default="adjoint")
inv = define("inv", "MatrixInverse", lambda input, adjoint=False: linalg.inv(_t(input) if adjoint else input))
det = define("det", "MatrixDeterminant", lambda input: linalg.det(input))
logdet = define("logdet", "Logdet", lambda matrix: F.logdet(matrix), "log(det(A)) of a positive definite matrix.")


@operation("Slogdet", "LogMatrixDeterminant")
def slogdet(input: Operand) -> tuple[Any, Any]:
    """(sign, logarithm of the absolute value) of the determinant."""
    sign, value = linalg.slogdet(input)
    return sign, value


cholesky = define("cholesky", "Cholesky", lambda input: linalg.cholesky(input), "The lower Cholesky factor.")


@operation("cholesky_solve")
def cholesky_solve(chol: Any, rhs: Any) -> Any:
    """X with A X = rhs, from the lower Cholesky factor of A."""
    factor, b = pair(chol, rhs, "CholeskySolve")
    return F.cholesky_solve(b, factor)


@operation("MatrixSolve")
def solve(matrix: Pair, rhs: Pair, adjoint: bool = False) -> Any:
    """X with A X = rhs."""
    return linalg.solve(_t(matrix) if adjoint else matrix, rhs)


@operation("MatrixTriangularSolve")
def triangular_solve(matrix: Pair, rhs: Pair, lower: bool = True, adjoint: bool = False) -> Any:
    """X with A X = rhs for a triangular A, of which the other triangle is not read."""
    a = apply(REGISTRY["linalg_regular"], matrix, matrix, of="solve_triangular")
    return triangular(_t(a) if adjoint else a, rhs, upper=bool(lower) is bool(adjoint))


@operation("MatrixSolveLs")
def lstsq(matrix: Pair, rhs: Pair, l2_regularizer: float = 0.0, fast: bool = True) -> Any:
    """X that minimizes |A X - rhs|^2 + l2_regularizer |X|^2."""
    product = F.matmul(_t(matrix), matrix)
    if l2_regularizer:
        ridge = l2_regularizer * np.eye(extents_of(product)[-1])
        product = F.add(product, static.constant(ridge.astype(product.dtype)))
    return F.cholesky_solve(F.matmul(_t(matrix), rhs), linalg.cholesky(product))


@operation("Qr")
def qr(input: Operand, full_matrices: bool = False) -> tuple[Any, Any]:
    q, r = linalg.qr(input, mode="complete" if full_matrices else "reduced")
    return q, r


@operation("Svd")
def svd(tensor_: Operand, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """(s, u, v), or s alone: A = u diag(s) v'."""
    if not compute_uv:
        return linalg.svdvals(tensor_)
    u, s, vh = linalg.svd(tensor_, full_matrices=full_matrices)
    return s, u, _t(vh)


@operation("SelfAdjointEigV2")
def eigh(tensor_: Operand) -> tuple[Any, Any]:
    """(ascending eigenvalues, eigenvectors as columns) of symmetric matrices."""
    values, vectors = linalg.eigh(tensor_)
    return values, vectors


eigvalsh = define("eigvalsh", "SelfAdjointEigV2", lambda tensor_: linalg.eigvalsh(tensor_))
expm = define("expm", "MatrixExponential", lambda input: linalg.matrix_exp(input), default="matrix_exponential")


@operation("Cross")
def cross(a: Any, b: Any) -> Any:
    """The vector product over the last axis, of extent 3."""
    return linalg.cross(*pair(a, b, "Cross"))


@operation("trace", "Trace")
def trace(x: Operand) -> Any:
    """The sum of the diagonal of the last two axes."""
    return F.sum(F.diagonal(x, 0, -2, -1), axis=-1)


def _band(k: Any) -> tuple[int, int]:
    """The lowest and the highest diagonal: below the main one they are negative."""
    low, high = (int(v) for v in np.broadcast_to(np.asarray(k).ravel(), 2))
    if low > high:
        raise ValueError(f"k has to be (lower, upper) with lower <= upper, got {k}")
    return low, high


def _length(rows: int, columns: int, offset: int) -> int:
    return min(rows + min(offset, 0), columns - max(offset, 0))


def _starts(offset: int, length: int, longest: int, align: str) -> int:
    """Where a diagonal begins among `longest` elements. align: "RIGHT_LEFT" for those above and below the main one."""
    above, below = align.split("_")
    return longest - length if (above if offset >= 0 else below) == "RIGHT" else 0


DIAGONALS = frozenset({"k", "num_rows", "num_cols"})


def _places(rows: int, columns: int, low: int, high: int, align: str) -> tuple[np.ndarray, np.ndarray]:
    """For each element of a matrix, which of the packed diagonals holds it and where; and the mask of those that do."""
    longest = max(_length(rows, columns, d) for d in range(low, high + 1))
    row, column = np.indices((rows, columns))
    offset = column - row
    inside = (offset >= low) & (offset <= high)
    starts = np.array([_starts(d, _length(rows, columns, d), longest, align) for d in range(low, high + 1)])
    at = np.where(inside, offset, low)
    place = np.where(at >= 0, row, column) + starts[at - low]
    return np.where(inside, (high - at) * longest + place, 0), inside


def _packed(x: Any, low: int, high: int) -> Any:
    """Diagonals (..., count, longest) in one axis."""
    return x if low == high else F.reshape(x, (*extents_of(x)[:-2], -1))


@operation("MatrixDiag", "MatrixDiagV3", DIAGONALS)
def diag(
    diagonal: Operand, k: Any = 0, num_rows: int = -1, num_cols: int = -1, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Any:
    """Matrices with the last axis on their diagonal k, or the last two on the band k = (lowest, highest)."""
    x, (low, high) = diagonal, _band(k)
    if (low, high, num_rows, num_cols) == (0, 0, -1, -1):
        return F.diag_embed(x)
    longest = extents_of(x)[-1]
    rows, columns = _sizes(longest, low, high, num_rows, num_cols)
    place, inside = _places(rows, columns, low, high, align)
    taken = F.take(_packed(x, low, high), static.constant(place), axis=-1)
    return F.where(static.constant(inside), taken, static.constant(np.asarray(padding_value, x.dtype)))


def _sizes(longest: int, low: int, high: int, rows: int, columns: int) -> tuple[int, int]:
    """The smallest matrix that has such a longest diagonal, as far as its sizes are not given."""
    least_rows, least_columns = longest - min(high, 0), longest + max(low, 0)
    if rows < 0 and columns < 0:
        return max(least_rows, least_columns), max(least_rows, least_columns)
    return (least_rows if rows < 0 else rows), (least_columns if columns < 0 else columns)


@operation("MatrixDiagPart", "MatrixDiagPartV3", DIAGONALS)
def diag_part(input: Operand, k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """The diagonal k of the last two axes, or those of the band k = (lowest, highest), the highest first, padded."""
    x, (low, high) = input, _band(k)
    if low == high:
        return F.diagonal(x, low, -2, -1)
    rows, columns = extents_of(x)[-2:]
    longest = max(_length(rows, columns, d) for d in range(low, high + 1))
    index, mask = np.zeros((high - low + 1, longest), np.int64), np.zeros((high - low + 1, longest), bool)
    for line, offset in enumerate(range(high, low - 1, -1)):
        length = _length(rows, columns, offset)
        start = _starts(offset, length, longest, align)
        i = np.arange(length)
        index[line, start : start + length] = (i - min(offset, 0)) * columns + i + max(offset, 0)
        mask[line, start : start + length] = True
    taken = F.take(F.reshape(x, (*extents_of(x)[:-2], rows * columns)), static.constant(index), axis=-1)
    return F.where(static.constant(mask), taken, static.constant(np.asarray(padding_value, x.dtype)))


@operation("MatrixSetDiag", "MatrixSetDiagV3", DIAGONALS)
def set_diag(input: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """Matrices with another diagonal k, or band k = (lowest, highest)."""
    x, d = pair(input, diagonal, "MatrixSetDiag")
    rows, columns = extents_of(x)[-2:]
    place, inside = _places(rows, columns, *_band(k), align)
    return F.where(static.constant(inside), F.take(_packed(d, *_band(k)), static.constant(place), axis=-1), x)


@operation("matvec")
def matvec(
    a: Pair, b: Pair, transpose_a: bool = False, adjoint_a: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False
) -> Any:
    """The product of matrices and vectors over the last axis."""
    return F.squeeze(F.matmul(_t(a) if transpose_a or adjoint_a else a, F.expand_dims(b, -1)), -1)


# factorizations and what is solved with them --------------------------------------------------------------------------


@operation("Lu")
def lu(input: Operand, output_idx_type: Any = np.int32) -> tuple[Any, Any]:
    """(L and U in one matrix, permutation): row i of L U is row permutation[i] of the input."""
    n = extents_of(input)[-1]
    packed, pivots = linalg.lu_factor(input)
    order, _, _ = F.lu_unpack(packed, pivots)
    places = F.sum(F.mul(F.astype(_t(order), np.int64), static.constant(np.arange(n))), axis=-1)
    return packed, F.astype(places, as_dtype(output_idx_type).numpy)


def _factors(lower_upper: Any) -> tuple[Any, Any]:
    x = tensor(lower_upper)
    eye = static.constant(np.eye(extents_of(x)[-1], dtype=x.dtype))
    return F.add(F.tril(x, -1), eye), F.triu(x)


def _rows(x: Any, places: Any) -> Any:
    """The rows of matrices in another order."""
    index = F.broadcast_to(F.expand_dims(F.astype(tensor(places), np.int64), -1), extents_of(x))
    return F.gather(x, -2, index)


@operation("lu_reconstruct", sizes=frozenset())
def lu_reconstruct(lower_upper: Any, perm: Operand, validate_args: bool = False) -> Any:
    """The matrix of the result of `lu`."""
    lower, upper = _factors(lower_upper)
    return _rows(F.matmul(lower, upper), F.argsort(perm, -1))


def _solved(factors: Any, perm: Any, rhs: Any) -> Any:
    lower, upper = _factors(factors)
    inner = linalg.solve_triangular(lower, _rows(rhs, perm), upper=False)
    return linalg.solve_triangular(upper, inner, upper=True)


@operation("lu_solve", sizes=frozenset())
def lu_solve(lower_upper: Operand, perm: Any, rhs: Any, validate_args: bool = False) -> Any:
    """X with A X = rhs, from the result of `lu` of A."""
    return _solved(lower_upper, perm, tensor(rhs, lower_upper.dtype))


@operation("lu_matrix_inverse", sizes=frozenset())
def lu_matrix_inverse(lower_upper: Operand, perm: Any, validate_args: bool = False) -> Any:
    """The inverse of A, from the result of `lu` of A."""
    eye = np.broadcast_to(np.eye(extents_of(lower_upper)[-1], dtype=lower_upper.dtype), extents_of(lower_upper))
    return _solved(lower_upper, perm, static.constant(eye))


@operation("matrix_rank")
def matrix_rank(a: Operand, tol: Any = None, validate_args: bool = False) -> Any:
    """How many singular values are larger than `tol` (int32): eps * max(rows, columns) * the largest unless given."""
    values = linalg.svdvals(a)
    if tol is None:
        share = float(finfo(a.dtype).eps) * max(extents_of(a)[-2:])
        limit = F.mul(F.amax(values, axis=-1, keepdims=True), share)
    else:
        limit = F.expand_dims(tensor(tol, a.dtype), -1)
    return F.astype(F.sum(F.astype(F.gt(values, limit), np.int32), axis=-1), np.int32)


@operation("pinv")
def pinv(a: Operand, rcond: Any = None, validate_args: bool = False) -> Any:
    """The pseudoinverse: singular values up to rcond * the largest count as 0, 10 * max(rows, columns) * eps unless given."""
    share = 10 * max(extents_of(a)[-2:]) * float(finfo(a.dtype).eps) if rcond is None else rcond
    u, s, vh = linalg.svd(a, full_matrices=False)
    small = F.le(s, F.mul(F.amax(s, axis=-1, keepdims=True), share))
    inverse = F.where(small, F.zeros_like(s), F.div(1.0, F.where(small, F.ones_like(s), s)))
    return F.matmul(F.mul(_t(vh), F.expand_dims(inverse, -2)), _t(u))


def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """(the tensor divided by its norm along the axes, that norm)."""
    size = norm(tensor, ord, axis, keepdims=True)
    return _quotient(tensor, size, name=name), size


@operation("normalize", "RealDiv")
def _quotient(x: Any, y: Any) -> Any:
    return F.div(*pair(x, y, "RealDiv"))


# functions of matrices ------------------------------------------------------------------------------------------------

ITERATIONS = 14
"""Of Denman and Beavers' iteration, which converges quadratically: enough for float64 and condition numbers up to 1e8."""


@operation("MatrixSquareRoot")
def sqrtm(input: Operand) -> Any:
    """The principal square root of matrices without eigenvalues on the negative real axis.

    Denman and Beavers' iteration with determinantal scaling; Higham, "Functions of Matrices", 2008, section 6.3.
    """
    n = extents_of(input)[-1]
    z: Any = static.constant(np.broadcast_to(np.eye(n, dtype=input.dtype), extents_of(input)))
    for _ in range(ITERATIONS):
        y_inverse, z_inverse = linalg.inv(input), linalg.inv(z)
        input, z = F.mul(F.add(input, z_inverse), 0.5), F.mul(F.add(z, y_inverse), 0.5)
    return input


# tridiagonal matrices -------------------------------------------------------------------------------------------------


def _diagonals(diagonals: Any, form: str, like: Any) -> tuple[Any, Any, Any]:
    """(superdiagonal with a last 0, diagonal, subdiagonal with a first 0), each (..., n)."""
    if form == "compact":
        x = tensor(diagonals)
        upper, middle, lower = x[..., 0, :], x[..., 1, :], x[..., 2, :]
    elif form == "sequence":
        upper, middle, lower = (tensor(d) for d in diagonals)
        n = extents_of(middle)[-1]
        gap = F.zeros_like(middle[..., :1])
        upper = upper if extents_of(upper)[-1] == n else F.concatenate([upper, gap], axis=-1)
        lower = lower if extents_of(lower)[-1] == n else F.concatenate([gap, lower], axis=-1)
    elif form == "matrix":
        x = tensor(diagonals)
        middle = F.diagonal(x, 0, -2, -1)
        gap = F.zeros_like(middle[..., :1])
        upper = F.concatenate([F.diagonal(x, 1, -2, -1), gap], axis=-1)
        lower = F.concatenate([gap, F.diagonal(x, -1, -2, -1)], axis=-1)
    else:
        raise ValueError(f'diagonals_format must be "compact", "sequence" or "matrix", got {form!r}')
    n = extents_of(middle)[-1]
    first, last = (static.constant((np.arange(n) != edge).astype(middle.dtype)) for edge in (0, n - 1))
    return F.mul(upper, last), middle, F.mul(lower, first)


@operation("TridiagonalMatMul")
def tridiagonal_matmul(diagonals: Any, rhs: Operand, diagonals_format: str = "compact") -> Any:
    """The product of tridiagonal matrices and matrices (..., n, columns)."""
    upper, middle, lower = (F.expand_dims(d, -1) for d in _diagonals(diagonals, diagonals_format, rhs))
    gap = F.zeros_like(rhs[..., :1, :])
    below = F.concatenate([rhs[..., 1:, :], gap], axis=-2)
    above = F.concatenate([gap, rhs[..., :-1, :]], axis=-2)
    return F.add(F.add(F.mul(upper, below), F.mul(middle, rhs)), F.mul(lower, above))


def _matrix(upper: Any, middle: Any, lower: Any) -> Any:
    n = extents_of(middle)[-1]
    out = F.diag_embed(middle)
    return out if n == 1 else F.add(F.add(out, F.diag_embed(upper[..., :-1], 1)), F.diag_embed(lower[..., 1:], -1))


@operation("TridiagonalSolve")
def tridiagonal_solve(
    diagonals: Any, rhs: Operand, diagonals_format: str = "compact", transpose_rhs: bool = False, conjugate_rhs: bool = False,
    partial_pivoting: bool = True, perturb_singular: bool = False,
) -> Any:  # fmt: skip
    """X with A X = rhs for tridiagonal A; rhs (..., n) or (..., n, columns)."""
    upper, middle, lower = _diagonals(diagonals, diagonals_format, rhs)
    vector = rhs.ndim == middle.ndim
    columns = F.expand_dims(rhs, -1) if vector else _t(rhs) if transpose_rhs else rhs
    out = linalg.solve(_matrix(upper, middle, lower), columns)
    return F.squeeze(out, -1) if vector else out


@operation("eigh_tridiagonal", sizes=frozenset({"select_range"}))
def eigh_tridiagonal(
    alpha: Pair, beta: Pair, eigvals_only: bool = True, select: str = "a", select_range: Any = None, tol: Any = None
) -> Any:
    """The ascending eigenvalues (and eigenvectors) of a symmetric matrix with diagonal alpha (n,) and off-diagonal beta.

    select: "a" all, "i" those of the numbers select_range (both ends count).
    """
    gap = F.zeros_like(alpha[..., :1])
    matrix = _matrix(F.concatenate([beta, gap], axis=-1), alpha, F.concatenate([gap, beta], axis=-1))
    if select not in ("a", "i"):
        raise ValueError('eigh_tridiagonal: select has to be "a" or "i"; choose values from all of them')
    first, last = (0, extents_of(alpha)[-1] - 1) if select == "a" else (int(n) for n in select_range)
    if eigvals_only:
        return linalg.eigvalsh(matrix)[..., first : last + 1]
    values, vectors = linalg.eigh(matrix)
    return values[..., first : last + 1], vectors[..., first : last + 1]
