"""Cholesky and LU factors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ...ir import OpDef, define
from ...operators import F, Tensor, apply, torch_function
from ...signals import module
from ...types import TensorType, shape_text
from .. import attributes as at
from .. import return_types
from ..batching import leading
from ..operands import dtype_of, extent, extents, ndim_of
from ..over_complex import HOLOMORPHIC, LINEAR
from ..slicing import cut
from .records import check_matrices, check_square, each_matrix, host_record, in_mode_of, linalg, same_type, zeros_info
from .solving import inv, solve


def _half(x: Any) -> Any:
    """The lower triangle, with half the diagonal."""
    n = x.shape[-1]
    return x * (np.tril(np.ones((n, n)), -1) + 0.5 * np.eye(n)).astype(dtype_of(x))


def _cholesky_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """L^-H half(L^H g) L^-1, made symmetric."""
    middle = _half(F.matmul(F.adjoint(out), g))
    half = F.swapaxes(solve(out.mT, F.swapaxes(solve(F.adjoint(out), middle), -1, -2)), -1, -2)
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
    factor = F.triu(input) if upper else F.tril(input)
    product = F.matmul(F.adjoint(factor), factor) if upper else F.matmul(factor, F.adjoint(factor))
    result: Tensor = inv(product)
    return result


@torch_function(words={"B": "input", "input2": "L"})
def cholesky_solve(input: Any, L: Any, upper: bool = False) -> Tensor:
    """X with A X = input, from A's Cholesky factor."""
    factor = F.adjoint(F.triu(L)) if upper else F.tril(L)
    result: Tensor = solve(F.adjoint(factor), solve(factor, input))
    return result


def _lu_eval(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = each_matrix(lambda m: _getrf(m)[0])(x)
    return result


def _getrf(m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (getrf,) = module("scipy.linalg").get_lapack_funcs(("getrf",), (m,))
    lu_, pivots, _ = getrf(m)
    return lu_, pivots


def _lu_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """P L^-T (tril(L.T gL, -1) + triu(gU U.T)) U^-T, of square matrices.

    Further columns are U2 = L^-1 A2, further rows L2 = A2 U^-1: their cotangents are solutions, and part of the middle.
    """
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
    inside = _over(solve(lower.mT, middle), upper)
    if n > k:
        inside = F.concatenate([inside, solve(lower.mT, g_rest)], columns)
    if m > k:
        inside = F.concatenate([inside, _over(g_rest, upper)], rows)
    return F.matmul(permutation(apply(pivots_op, x), m, dtype_of(out)), inside)


def _over(x: Any, upper: Any) -> Any:
    """x U^-T"""
    return F.swapaxes(solve(upper, F.swapaxes(x, -1, -2)), -1, -2)


def _pivots_infer(x: TensorType) -> TensorType:
    return TensorType((*x.shape[:-2], min(extents("lu_factor", x, -2))), np.dtype(np.int32))


def _pivots_eval(x: np.ndarray) -> np.ndarray:
    rows = [_getrf(m)[1] + 1 for m in x.reshape(-1, *x.shape[-2:])] if x.size else []
    return np.array(rows, np.int32).reshape(*x.shape[:-2], min(x.shape[-2:]))


lu_op = host_record("lu_factor", same_type, _lu_eval, (_lu_vjp,), doc="L without its diagonal of 1, and U, in one matrix.",
                    complex=HOLOMORPHIC)  # fmt: skip
pivots_op = host_record("lu_pivots", _pivots_infer, _pivots_eval, None, doc="Which rows were exchanged, counted from 1.",
                        complex=LINEAR)  # fmt: skip


def _permutation_eval(pivots: np.ndarray, rows: int) -> np.ndarray:
    """P with A = P L U."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    out = np.empty((len(flat), rows, rows))
    for i, swaps in enumerate(flat):
        order = np.arange(rows)
        for j, p in enumerate(swaps - 1):
            order[[j, p]] = order[[p, j]]
        out[i] = np.eye(rows)[order].T
    return out.reshape(*pivots.shape[:-1], rows, rows)


permutation_op = define(
    OpDef("lu_permutation", lambda pivots, rows: TensorType((*pivots.shape[:-1], rows, rows), np.dtype(np.float64)),
          _permutation_eval, attrs={"rows": at.integer(0)}, promote=None, batch=leading, doc="The matrix of row exchanges.")
)  # fmt: skip


def permutation(pivots: Any, rows: int, dtype: np.dtype) -> Any:
    return F.astype(apply(permutation_op, pivots, rows=rows), dtype)


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
    return return_types.lu_factor(apply(lu_op, A), apply(pivots_op, A))


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
    return return_types.lu(permutation(pivots, A.shape[-2], dtype_of(packed)), lower, upper)


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
    p = permutation(LU_pivots, extent("lu_unpack", LU_data, -2), dtype_of(LU_data)) if unpack_pivots else empty
    return return_types.lu(p, lower, upper)


@linalg(name="lu_solve")
def _linalg_lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """X with A X = B from `lu_factor`'s results; X A = B for left=False, with A.H for adjoint=True."""
    check_square("lu_solve", LU)
    check_matrices("lu_solve", B)
    if ndim_of(pivots) != ndim_of(LU) - 1:
        raise ShapeError(f"linalg.lu_solve: pivots {shape_text(pivots.shape)} don't fit LU {shape_text(LU.shape)}")
    lower, upper = _factors("lu_solve", LU)
    A = F.matmul(permutation(pivots, LU.shape[-2], dtype_of(LU)), F.matmul(lower, upper))
    return solve(F.adjoint(A) if adjoint else A, B, left=left)


@torch_function(words={"b": "input"})
def lu_solve(input: Any, LU_data: Any, LU_pivots: Any) -> Tensor:
    """`linalg.lu_solve` by an older name."""
    result: Tensor = _linalg_lu_solve(LU_data, LU_pivots, input)
    return result
