"""Cholesky and LU factors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.types import TensorType, shape_text
from ...errors import ArgumentError, ShapeError
from ...ir import define
from ...operators import F, Tensor, apply, torch_function
from .. import attributes as at
from .. import return_types
from ..batching import leading
from ..operands import dtype_of, extent, extents, in_mode_of, ndim_of
from ..over_complex import HOLOMORPHIC, LINEAR
from ..slicing import cut
from .decompositions import Packed
from .records import (
    check_matrices,
    check_square,
    each_matrix,
    host_record,
    linalg,
    routine,
    same_type,
    zeros_info,
)
from .solving import of_columns
from .triangular_systems import positive_definite, right_triangular, triangular


def _half(x: Any) -> Any:
    """The lower triangle, with half the diagonal."""
    n = x.shape[-1]
    return x * (np.tril(np.ones((n, n)), -1) + 0.5 * np.eye(n)).astype(dtype_of(x))


def _cholesky_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """L^-H half(L^H g) L^-1, made symmetric."""
    middle = _half(F.matmul(F.adjoint(out), g))
    half = right_triangular(out, triangular(F.adjoint(out), middle, upper=True), upper=False)
    return (half + F.adjoint(half)) * 0.5


cholesky_op = host_record("cholesky", same_type, np.linalg.cholesky, (_cholesky_vjp,), doc="The lower Cholesky factor.",
                          complex=LINEAR)  # fmt: skip


@linalg(name="cholesky", twin=np.linalg.cholesky)
def _linalg_cholesky(A: Any, *, upper: bool = False) -> Any:
    """L with A = L L.H, of symmetric positive definite matrices; L.H for upper=True. Raises LinAlgError.

    Examples:
        >>> sg.linalg.cholesky(sg.tensor([[4.0, 0.0], [0.0, 9.0]]))
        tensor([[2., 0.],
                [0., 3.]])
    """
    check_square("cholesky", A)
    lower = apply(cholesky_op, A)
    return F.adjoint(lower) if upper else lower


@torch_function()
def cholesky(input: Any, upper: bool = False) -> Tensor:
    """`linalg.cholesky` by an older name."""
    result: Tensor = _linalg_cholesky(F.adjoint(input) if upper else input, upper=upper)
    return result


@linalg()
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The named tuple (L, info) of `cholesky`."""
    return return_types.cholesky_ex(_linalg_cholesky(A, upper=upper), in_mode_of(zeros_info("cholesky_ex", A), A))


@torch_function(words={"L": "input"})
def cholesky_inverse(input: Any, upper: bool = False) -> Tensor:
    """The inverse of A from its Cholesky factor."""
    check_square("cholesky_inverse", input)
    result: Tensor = apply(inverse_op, F.adjoint(input) if upper else input)
    return result


def _inverse_eval(factor: np.ndarray) -> np.ndarray:
    """LAPACK fills the triangle of the inverse that it was given the factor in."""
    potri = routine("lapack", "potri", factor.dtype)

    def one(m: np.ndarray) -> np.ndarray:
        found, info = potri(m.T, lower=False)  # the transpose lies in LAPACK's order; its inverse is the conjugate
        if info > 0:
            raise np.linalg.LinAlgError(f"element {info} of the diagonal is 0, so the matrix is singular")
        return np.asarray(np.triu(found).T + np.triu(found, 1).conj())

    return np.asarray(each_matrix(one)(factor))


def _inverse_vjp(g: Any, node: Any, out: Any, factor: Any) -> Any:
    """-tril(A^-1 (g + g^H) A^-1 L)"""
    return -F.tril(F.matmul(out, F.matmul(g + F.adjoint(g), F.matmul(out, F.tril(factor)))))


inverse_op = host_record("cholesky_inverse", same_type, _inverse_eval, (_inverse_vjp,), complex=LINEAR,
                         doc="The inverse of L L^H, of which L's lower triangle is read.")  # fmt: skip


@torch_function(words={"B": "input", "input2": "L"})
def cholesky_solve(input: Any, L: Any, upper: bool = False) -> Tensor:
    """X with A X = input, from A's Cholesky factor."""
    check_square("cholesky_solve", L)
    factor = F.adjoint(L) if upper else L
    result: Tensor = of_columns(L, input, lambda b: positive_definite(factor, b))
    return result


def _lu_eval(x: np.ndarray) -> list[np.ndarray]:
    found = [routine("lapack", "getrf", m.dtype)(m)[:2] for m in x.reshape(-1, *x.shape[-2:])]
    return [np.array([factors for factors, _ in found]), np.array([pivots + 1 for _, pivots in found])]


def _lu_rule(gs: list[Any], results: list[Any], x: Any) -> Any:
    """P L^-T (tril(L.T gL, -1) + triu(gU U.T)) U^-T, of square matrices.

    Further columns are U2 = L^-1 A2, further rows L2 = A2 U^-1: their cotangents are solutions, and part of the middle.
    """
    (g, _), (out, pivots) = gs, results
    m, n = x.shape[-2:]
    k, rows, columns = min(m, n), ndim_of(x) - 2, ndim_of(x) - 1
    corner, g_corner = (cut(cut(v, rows, 0, k), columns, 0, k) for v in (out, g))
    lower, upper = F.tril(corner, -1) + np.eye(k, dtype=dtype_of(out)), F.triu(corner)
    left, right = F.matmul(lower.mT, F.tril(g_corner, -1)), F.matmul(F.triu(g_corner), upper.mT)
    if n > k:
        g_rest = cut(g, columns, k, None)
        left = left - F.matmul(g_rest, cut(out, columns, k, None).mT)
    if m > k:
        g_rest = cut(g, rows, k, None)
        right = right - F.matmul(cut(out, rows, k, None).mT, g_rest)
    middle = F.tril(left, -1) + F.triu(right)
    inside = _over(triangular(corner.mT, middle, upper=True, unit=True), corner)
    if n > k:
        inside = F.concatenate([inside, triangular(corner.mT, g_rest, upper=True, unit=True)], columns)
    if m > k:
        inside = F.concatenate([inside, _over(g_rest, corner)], rows)
    return _rows(inside, F.argsort(row_order(F.astype(F.real(pivots), np.int32), m), -1))


def _over(x: Any, upper: Any) -> Any:
    """x U^-T"""
    return right_triangular(upper.mT, x, upper=False)


lu_packed = Packed("lu_factor", lambda m, n: ((m, n), (min(m, n),)), _lu_eval, _lu_rule, complex=HOLOMORPHIC, integers=1)
"""L without its diagonal of 1, and U, in one matrix; and which rows were exchanged, counted from 1."""


def _order_eval(pivots: np.ndarray, rows: int) -> np.ndarray:
    orders = []
    for swaps in pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1]).tolist():
        order = list(range(rows))
        for j, p in enumerate(swaps):
            order[j], order[p - 1] = order[p - 1], order[j]
        orders.append(order)
    return np.array(orders, np.int64).reshape(*pivots.shape[:-1], rows)


order_op = define(
    "lu_order", lambda pivots, rows: TensorType((*pivots.shape[:-1], rows), np.dtype(np.int64)),
          _order_eval, attrs={"rows": at.integer(0)}, promote=None, batch=leading,
          doc="Which row of A is in each place after the exchanges: A[order] = L U.")  # fmt: skip


def row_order(pivots: Any, rows: int) -> Any:
    return apply(order_op, pivots, rows=rows)


def _rows(x: Any, order: Any) -> Any:
    """The rows of matrices in another order; leading axes broadcast."""
    rank, index = max(ndim_of(x), ndim_of(order) + 1), F.expand_dims(order, ndim_of(order))
    x, index = (F.expand_dims(v, tuple(range(rank - ndim_of(v)))) if ndim_of(v) < rank else v for v in (x, index))
    return F.take_along_axis(x, index, -2)


def _permutation(pivots: Any, rows: int, dtype: np.dtype) -> Any:
    """P with A = P L U."""
    order = F.expand_dims(row_order(pivots, rows), ndim_of(pivots) - 1)
    return F.astype(F.eq(np.arange(rows)[:, None], order), dtype)


def _factors(name: str, packed: Any) -> tuple[Any, Any]:
    """L and U of the matrix that holds both."""
    m, n = extents(name, packed, -2)
    k = min(m, n)
    lower = F.tril(cut(packed, ndim_of(packed) - 1, 0, k), -1) + np.eye(m, k, dtype=dtype_of(packed))
    return lower, F.triu(cut(packed, ndim_of(packed) - 2, 0, k))


@linalg()
def lu_factor(A: Any, *, pivot: bool = True) -> return_types.lu_factor:
    """The named tuple (LU, pivots). Raises ArgumentError for pivot=False."""
    if not pivot:
        raise ArgumentError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    check_matrices("lu_factor", A)
    return return_types.lu_factor(*lu_packed(A))


@linalg()
def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """The named tuple (LU, pivots, info)."""
    packed, pivots = lu_factor(A, pivot=pivot)
    return return_types.lu_factor_ex(packed, pivots, in_mode_of(zeros_info("lu_factor_ex", A), A))


@linalg(name="lu")
def _linalg_lu(A: Any, *, pivot: bool = True) -> Any:
    """The named tuple (P, L, U) with A = P L U."""
    packed, pivots = lu_factor(A, pivot=pivot)
    lower, upper = _factors("lu", packed)
    return return_types.lu(_permutation(pivots, A.shape[-2], dtype_of(packed)), lower, upper)


@torch_function()
def lu(input: Any, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """(LU, pivots), with get_infos also the infos, by an older name."""
    packed, pivots = lu_factor(input, pivot=pivot)
    return (packed, pivots, in_mode_of(zeros_info("lu", input), input)) if get_infos else (packed, pivots)


@torch_function(method=False)
def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> return_types.lu:
    """The named tuple (P, L, U) of `lu_factor`'s results; empty tensors for what is not asked for."""
    empty = in_mode_of(np.zeros((0,), dtype_of(LU_data)), LU_data)
    lower, upper = _factors("lu_unpack", LU_data) if unpack_data else (empty, empty)
    p = _permutation(LU_pivots, extent("lu_unpack", LU_data, -2), dtype_of(LU_data)) if unpack_pivots else empty
    return return_types.lu(p, lower, upper)


@linalg(name="lu_solve")
def _linalg_lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """X with A X = B from `lu_factor`'s results; X A = B for left=False, with A.H for adjoint=True."""
    check_square("lu_solve", LU)
    check_matrices("lu_solve", B)
    if ndim_of(pivots) != ndim_of(LU) - 1:
        raise ShapeError(f"linalg.lu_solve: pivots {shape_text(pivots.shape)} don't fit LU {shape_text(LU.shape)}")
    order, factors = row_order(pivots, extent("lu_solve", LU, -2)), F.conj(LU) if adjoint else LU

    def solver(b: Any) -> Any:
        if adjoint is not left:
            return triangular(factors, triangular(factors, _rows(b, order), upper=False, unit=True), upper=True)
        inner = triangular(factors.mT, b, upper=False)
        return _rows(triangular(factors.mT, inner, upper=True, unit=True), F.argsort(order, -1))

    if left:
        return of_columns(LU, B, solver)
    return of_columns(LU, B, lambda b: F.swapaxes(solver(F.swapaxes(b, -1, -2)), -1, -2))


@torch_function(words={"b": "input"})
def lu_solve(input: Any, LU_data: Any, LU_pivots: Any) -> Tensor:
    """`linalg.lu_solve` by an older name."""
    result: Tensor = _linalg_lu_solve(LU_data, LU_pivots, input)
    return result
