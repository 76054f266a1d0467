"""`tf.linalg`: the same as this library's, under TensorFlow's names and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import linalg, static
from ...operators import F
from .arrays import eye
from .gathering import matrix_band_part as band_part
from .math import einsum, global_norm, matmul, norm, tensordot
from .nn.functions import l2_normalize
from .tensor import extents_of, operation, pair, tensor


def _t(x: Any) -> Any:
    return F.swapaxes(x, -1, -2)


@operation("matrix_transpose", "Transpose")
def matrix_transpose(a: Any) -> Any:
    """The last two axes exchanged."""
    return _t(tensor(a))


adjoint = transpose = matrix_transpose


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
    return linalg.solve_triangular(_t(a) if adjoint else a, b, upper=lower is adjoint)


@operation("MatrixSolveLs")
def lstsq(matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True) -> Any:
    """X that minimizes |A X - rhs|^2 + l2_regularizer |X|^2."""
    a, b = pair(matrix, rhs, "MatrixSolveLs")
    product = F.matmul(_t(a), a)
    if l2_regularizer:
        ridge = l2_regularizer * np.eye(extents_of(product)[-1])
        product = F.add(product, static.constant(ridge.astype(product.dtype)))
    return linalg.solve(product, F.matmul(_t(a), b))


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


@operation("MatrixDiag")
def diag(diagonal: Any) -> Any:
    """Matrices with the last axis on their diagonal."""
    return F.diag_embed(tensor(diagonal))


@operation("MatrixDiagPart")
def diag_part(input: Any) -> Any:
    """The diagonal of the last two axes."""
    return F.diagonal(tensor(input), 0, -2, -1)


@operation("MatrixSetDiag")
def set_diag(input: Any, diagonal: Any) -> Any:
    """Matrices with another diagonal."""
    x, d = pair(input, diagonal, "MatrixSetDiag")
    rows, columns = extents_of(x)[-2:]
    spread = F.expand_dims(d, -1) if rows <= columns else F.expand_dims(d, -2)
    return F.where(static.constant(np.eye(rows, columns, dtype=bool)), spread, x)


@operation("matvec")
def matvec(a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False) -> Any:
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
