"""`tf.linalg` beside `linalg.py`: factorizations and what is solved with them, functions of matrices, tridiagonal systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import linalg, static
from ...operators import F
from .dtypes import as_dtype
from .elements import tensor_diag, tensor_diag_part
from .math import norm
from .tensor import extents_of, operation, pair, tensor


def _t(x: Any) -> Any:
    return F.swapaxes(x, -1, -2)


@operation("Lu")
def lu(input: Any, output_idx_type: Any = np.int32) -> tuple[Any, Any]:
    """(L and U in one matrix, permutation): row i of L U is row permutation[i] of the input."""
    x = tensor(input)
    n = extents_of(x)[-1]
    packed, pivots = linalg.lu_factor(x)
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
def lu_reconstruct(lower_upper: Any, perm: Any, validate_args: bool = False) -> Any:
    """The matrix of the result of `lu`."""
    lower, upper = _factors(lower_upper)
    return _rows(F.matmul(lower, upper), F.argsort(tensor(perm), -1))


@operation("lu_solve", sizes=frozenset())
def lu_solve(lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False) -> Any:
    """X with A X = rhs, from the result of `lu` of A."""
    lower, upper = _factors(lower_upper)
    b = _rows(tensor(rhs, lower.dtype), perm)
    inner = linalg.solve_triangular(lower, b, upper=False)
    return linalg.solve_triangular(upper, inner, upper=True)


@operation("lu_matrix_inverse", sizes=frozenset())
def lu_matrix_inverse(lower_upper: Any, perm: Any, validate_args: bool = False) -> Any:
    """The inverse of A, from the result of `lu` of A."""
    x = tensor(lower_upper)
    eye = np.broadcast_to(np.eye(extents_of(x)[-1], dtype=x.dtype), extents_of(x))
    lower, upper = _factors(x)
    inner = linalg.solve_triangular(lower, _rows(static.constant(eye), perm), upper=False)
    return linalg.solve_triangular(upper, inner, upper=True)


@operation("matrix_rank")
def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False) -> Any:
    """How many singular values are larger than `tol` (int32): eps * max(rows, columns) * the largest unless given."""
    x = tensor(a)
    values = linalg.svdvals(x)
    if tol is None:
        share = float(np.finfo(x.dtype).eps) * max(extents_of(x)[-2:])
        limit = F.mul(F.amax(values, axis=-1, keepdims=True), share)
    else:
        limit = F.expand_dims(tensor(tol, x.dtype), -1)
    return F.astype(F.sum(F.astype(F.gt(values, limit), np.int32), axis=-1), np.int32)


@operation("pinv")
def pinv(a: Any, rcond: Any = None, validate_args: bool = False) -> Any:
    """The pseudoinverse: singular values up to rcond * the largest count as 0, 10 * max(rows, columns) * eps unless given."""
    x = tensor(a)
    share = 10 * max(extents_of(x)[-2:]) * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    u, s, vh = linalg.svd(x, full_matrices=False)
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
def sqrtm(input: Any) -> Any:
    """The principal square root of matrices without eigenvalues on the negative real axis.

    Denman and Beavers' iteration with determinantal scaling; Higham, "Functions of Matrices", 2008, section 6.3.
    """
    y = tensor(input)
    n = extents_of(y)[-1]
    z: Any = static.constant(np.broadcast_to(np.eye(n, dtype=y.dtype), extents_of(y)))
    for _ in range(ITERATIONS):
        y_inverse, z_inverse = linalg.inv(y), linalg.inv(z)
        y, z = F.mul(F.add(y, z_inverse), 0.5), F.mul(F.add(z, y_inverse), 0.5)
    return y


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
def tridiagonal_matmul(diagonals: Any, rhs: Any, diagonals_format: str = "compact") -> Any:
    """The product of tridiagonal matrices and matrices (..., n, columns)."""
    b = tensor(rhs)
    upper, middle, lower = (F.expand_dims(d, -1) for d in _diagonals(diagonals, diagonals_format, b))
    gap = F.zeros_like(b[..., :1, :])
    below = F.concatenate([b[..., 1:, :], gap], axis=-2)
    above = F.concatenate([gap, b[..., :-1, :]], axis=-2)
    return F.add(F.add(F.mul(upper, below), F.mul(middle, b)), F.mul(lower, above))


def _matrix(upper: Any, middle: Any, lower: Any) -> Any:
    n = extents_of(middle)[-1]
    out = F.diag_embed(middle)
    return out if n == 1 else F.add(F.add(out, F.diag_embed(upper[..., :-1], 1)), F.diag_embed(lower[..., 1:], -1))


@operation("TridiagonalSolve")
def tridiagonal_solve(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", transpose_rhs: bool = False, conjugate_rhs: bool = False,
    partial_pivoting: bool = True, perturb_singular: bool = False,
) -> Any:  # fmt: skip
    """X with A X = rhs for tridiagonal A; rhs (..., n) or (..., n, columns)."""
    b = tensor(rhs)
    upper, middle, lower = _diagonals(diagonals, diagonals_format, b)
    vector = b.ndim == middle.ndim
    columns = F.expand_dims(b, -1) if vector else _t(b) if transpose_rhs else b
    out = linalg.solve(_matrix(upper, middle, lower), columns)
    return F.squeeze(out, -1) if vector else out


@operation("eigh_tridiagonal", sizes=frozenset({"select_range"}))
def eigh_tridiagonal(
    alpha: Any, beta: Any, eigvals_only: bool = True, select: str = "a", select_range: Any = None, tol: Any = None
) -> Any:
    """The ascending eigenvalues (and eigenvectors) of a symmetric matrix with diagonal alpha (n,) and off-diagonal beta.

    select: "a" all, "i" those of the numbers select_range (both ends count).
    """
    a, b = pair(alpha, beta, "eigh_tridiagonal")
    gap = F.zeros_like(a[..., :1])
    matrix = _matrix(F.concatenate([b, gap], axis=-1), a, F.concatenate([gap, b], axis=-1))
    if select not in ("a", "i"):
        raise ValueError('eigh_tridiagonal: select has to be "a" or "i"; choose values from all of them')
    first, last = (0, extents_of(a)[-1] - 1) if select == "a" else (int(n) for n in select_range)
    if eigvals_only:
        return linalg.eigvalsh(matrix)[..., first : last + 1]
    values, vectors = linalg.eigh(matrix)
    return values[..., first : last + 1], vectors[..., first : last + 1]


LINALG = (
    "eigh_tridiagonal", "lu", "lu_matrix_inverse", "lu_reconstruct", "lu_solve", "matrix_rank", "normalize", "pinv", "sqrtm",
    "tensor_diag", "tensor_diag_part", "tridiagonal_matmul", "tridiagonal_solve",
)  # fmt: skip
"""Names of `tf.linalg`."""
TOP = {"matrix_square_root": sqrtm}
__all__ = ["LINALG", "TOP", "tensor_diag", "tensor_diag_part"]
