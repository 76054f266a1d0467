"""`tf.linalg`: the same as this library's, under TensorFlow's names and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import linalg, static
from ...operators import F
from ...ops.linear_algebra.triangular_systems import triangular
from .arrays import eye
from .gathering import matrix_band_part as band_part
from .math import einsum, global_norm, matmul, norm, tensordot
from .nn.functions import l2_normalize
from .tensor import extents_of, operation, pair, tensor


def _t(x: Any) -> Any:
    return F.swapaxes(x, -1, -2)


@operation("matrix_transpose", "Transpose")
def matrix_transpose(a: Any, conjugate: bool = False) -> Any:
    """The last two axes exchanged."""
    return _t(tensor(a))


transpose = matrix_transpose


@operation("adjoint", "Transpose")
def adjoint(matrix: Any) -> Any:
    """The last two axes exchanged."""
    return _t(tensor(matrix))


@operation("MatrixInverse")
def inv(input: Any, adjoint: bool = False) -> Any:
    x = tensor(input)
    return linalg.inv(_t(x) if adjoint else x)


@operation("MatrixDeterminant")
def det(input: Any) -> Any:
    return linalg.det(tensor(input))


@operation("Logdet")
def logdet(matrix: Any) -> Any:
    """log(det(A)) of a positive definite matrix."""
    return F.logdet(tensor(matrix))


@operation("Slogdet", "LogMatrixDeterminant")
def slogdet(input: Any) -> tuple[Any, Any]:
    """(sign, logarithm of the absolute value) of the determinant."""
    sign, value = linalg.slogdet(tensor(input))
    return sign, value


@operation("Cholesky")
def cholesky(input: Any) -> Any:
    """The lower Cholesky factor."""
    return linalg.cholesky(tensor(input))


@operation("cholesky_solve")
def cholesky_solve(chol: Any, rhs: Any) -> Any:
    """X with A X = rhs, from the lower Cholesky factor of A."""
    factor, b = pair(chol, rhs, "CholeskySolve")
    return F.cholesky_solve(b, factor)


@operation("MatrixSolve")
def solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    """X with A X = rhs."""
    a, b = pair(matrix, rhs, "MatrixSolve")
    return linalg.solve(_t(a) if adjoint else a, b)


@operation("MatrixTriangularSolve")
def triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False) -> Any:
    """X with A X = rhs for a triangular A, of which the other triangle is not read."""
    a, b = pair(matrix, rhs, "MatrixTriangularSolve")
    return triangular(_t(a) if adjoint else a, b, upper=bool(lower) is bool(adjoint), regular=True)


@operation("MatrixSolveLs")
def lstsq(matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True) -> Any:
    """X that minimizes |A X - rhs|^2 + l2_regularizer |X|^2."""
    a, b = pair(matrix, rhs, "MatrixSolveLs")
    product = F.matmul(_t(a), a)
    if l2_regularizer:
        ridge = l2_regularizer * np.eye(extents_of(product)[-1])
        product = F.add(product, static.constant(ridge.astype(product.dtype)))
    return F.cholesky_solve(F.matmul(_t(a), b), linalg.cholesky(product))


@operation("Qr")
def qr(input: Any, full_matrices: bool = False) -> tuple[Any, Any]:
    q, r = linalg.qr(tensor(input), mode="complete" if full_matrices else "reduced")
    return q, r


@operation("Svd")
def svd(tensor_: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """(s, u, v), or s alone: A = u diag(s) v'."""
    x = tensor(tensor_)
    if not compute_uv:
        return linalg.svdvals(x)
    u, s, vh = linalg.svd(x, full_matrices=full_matrices)
    return s, u, _t(vh)


@operation("SelfAdjointEigV2")
def eigh(tensor_: Any) -> tuple[Any, Any]:
    """(ascending eigenvalues, eigenvectors as columns) of symmetric matrices."""
    values, vectors = linalg.eigh(tensor(tensor_))
    return values, vectors


@operation("SelfAdjointEigV2")
def eigvalsh(tensor_: Any) -> Any:
    return linalg.eigvalsh(tensor(tensor_))


@operation("matrix_exponential", "MatrixExponential")
def expm(input: Any) -> Any:
    return linalg.matrix_exp(tensor(input))


@operation("Cross")
def cross(a: Any, b: Any) -> Any:
    """The vector product over the last axis, of extent 3."""
    return linalg.cross(*pair(a, b, "Cross"))


@operation("trace", "Trace")
def trace(x: Any) -> Any:
    """The sum of the diagonal of the last two axes."""
    return F.sum(F.diagonal(tensor(x), 0, -2, -1), axis=-1)


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
    diagonal: Any, k: Any = 0, num_rows: int = -1, num_cols: int = -1, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Any:
    """Matrices with the last axis on their diagonal k, or the last two on the band k = (lowest, highest)."""
    x, (low, high) = tensor(diagonal), _band(k)
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
def diag_part(input: Any, k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """The diagonal k of the last two axes, or those of the band k = (lowest, highest), the highest first, padded."""
    x, (low, high) = tensor(input), _band(k)
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
    a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False
) -> Any:
    """The product of matrices and vectors over the last axis."""
    a, b = pair(a, b, "matvec")
    return F.squeeze(F.matmul(_t(a) if transpose_a or adjoint_a else a, F.expand_dims(b, -1)), -1)


TOP = {
    "cholesky": cholesky, "cholesky_solve": cholesky_solve, "cross": cross, "matrix_determinant": det,
    "matrix_diag": diag, "matrix_diag_part": diag_part, "matrix_inverse": inv, "matrix_set_diag": set_diag,
    "matrix_solve": solve, "matrix_solve_ls": lstsq, "matrix_transpose": matrix_transpose,
    "matrix_triangular_solve": triangular_solve, "norm": norm, "qr": qr, "self_adjoint_eig": eigh,
    "self_adjoint_eigvals": eigvalsh, "svd": svd, "trace": trace,
}  # fmt: skip
"""Names at the top of the dialect."""

__all__ = [
    "adjoint", "band_part", "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part", "eigh", "eigvalsh",
    "einsum", "expm", "eye", "global_norm", "inv", "l2_normalize", "logdet", "lstsq", "matmul", "matrix_transpose",
    "matvec", "norm", "qr", "set_diag", "slogdet", "solve", "svd", "tensordot", "trace", "transpose",
    "triangular_solve",
]  # fmt: skip
