"""Cholesky and LU factors, and determinants, which are products of their diagonals; QR and LDL factors as LAPACK keeps them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.dtypes import SHORT
from ...base.types import TensorType, broadcast_shapes, finfo, shape_text
from ...errors import ArgumentError, DTypeError, IndexRangeError, LinAlgError, ShapeError
from ...ir import Call, Layout, Native, Node, OpDef, Routine, Scratch, define
from .. import return_types
from .. import rules as at
from ..indexing import cut
from ..operands import dtype_of, extent, extents, in_mode_of, ndim_of
from ..operators import F, Tensor, apply, enter_as, torch_function
from ..over_complex import HOLOMORPHIC, LINEAR, OWN
from ..rules import leading, unbroadcast, with_axes
from .decompositions import Packed, reflections
from .records import (
    BLOCK,
    LETTERS,
    check_matrices,
    check_square,
    each_matrix,
    factored,
    host_record,
    linalg,
    matrices_of,
    routine,
    same_type,
    zeros_info,
)
from .triangular_systems import BY_FACTORS, inv, of_columns, positive_definite, right_triangular, triangular


def _half(x: Any) -> Any:
    """The lower triangle, with half the diagonal."""
    n = x.shape[-1]
    return x * (np.tril(np.ones((n, n)), -1) + 0.5 * np.eye(n)).astype(dtype_of(x))


def _cholesky_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """L^-H half(L^H g) L^-1, made symmetric. Both systems have L^H to the left, where sides are solved together."""
    factor = F.adjoint(out)
    middle = _half(F.matmul(factor, g))
    half = triangular(factor, F.adjoint(triangular(factor, F.adjoint(middle), upper=True)), upper=True)
    return (half + F.adjoint(half)) * 0.5


def _cholesky_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    *lead, n, _ = node.inputs[0].type.shape
    span = math.prod(lead)
    return factored("cholesky", node, ((0, layouts[0]),), (n,), span, span * n * n * n // 3, lead)


def _lu_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    *lead, m, n = node.inputs[0].type.shape
    span, few = math.prod(lead) if m * n else 0, min(m, n)
    room = (Scratch(m * n + few),)
    return factored("lu", node, ((0, layouts[0]),), (m, n), span, span * m * n * few // 3, lead, scratch=room)


def _indefinite(node: Node | None, row: int) -> LinAlgError:
    return LinAlgError("linalg_cholesky: Matrix is not positive definite")


cholesky_op = host_record("cholesky", same_type, np.linalg.cholesky, (_cholesky_vjp,), doc="The lower Cholesky factor.",
                          complex=LINEAR, emit=Native(_cholesky_plan, check=_indefinite, alike=True))  # fmt: skip


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
    return _linalg_cholesky(F.adjoint(input) if upper else input, upper=upper)


@linalg()
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The named tuple (L, info) of `cholesky`."""
    return return_types.cholesky_ex(_linalg_cholesky(A, upper=upper), in_mode_of(zeros_info("cholesky_ex", A), A))


@torch_function(words={"L": "input"})
def cholesky_inverse(input: Any, upper: bool = False) -> Tensor:
    """The inverse of A from its Cholesky factor."""
    check_square("cholesky_inverse", input)
    return apply(inverse_op, F.adjoint(input) if upper else input)


ZERO = "element {} of the diagonal is 0, so the matrix is singular"


def _inverse_eval(factor: np.ndarray) -> np.ndarray:
    """LAPACK fills the triangle of the inverse that it was given the factor in."""
    potri = routine("lapack", "potri", factor.dtype)

    def one(m: np.ndarray) -> np.ndarray:
        found, info = potri(m.T, lower=False)  # the transpose lies in LAPACK's order; its inverse is the conjugate
        if info > 0:
            raise np.linalg.LinAlgError(ZERO.format(info))
        return np.asarray(np.triu(found).T + np.triu(found, 1).conj())

    return np.asarray(each_matrix(one)(factor))


def _inverse_vjp(g: Any, node: Any, out: Any, factor: Any) -> Any:
    """-tril(A^-1 (g + g^H) A^-1 L)"""
    return -F.tril(F.matmul(out, F.matmul(g + F.adjoint(g), F.matmul(out, F.tril(factor)))))


def _inverse_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    *lead, n, _ = node.type.shape
    span = math.prod(lead)
    kernel = f"inverse_{SHORT[node.type.dtype]}"
    work = span * n * n * n * 2 // 3
    return [Routine("factorizations", kernel, span if n else 0, (n,), work, name=node.op.name, chunked=False)]


inverse_op = host_record("cholesky_inverse", same_type, _inverse_eval, (_inverse_vjp,), complex=LINEAR,
                         doc="The inverse of L L^H, of which L's lower triangle is read.",
                         emit=Native(_inverse_plan, check=lambda node, row: LinAlgError(
                             f"linalg_cholesky_inverse: {ZERO.format(row)}")))  # fmt: skip


@torch_function(words={"B": "input", "input2": "L"})
def cholesky_solve(input: Any, L: Any, upper: bool = False) -> Tensor:
    """X with A X = input, from A's Cholesky factor."""
    check_square("cholesky_solve", L)
    factor = F.adjoint(L) if upper else L
    return of_columns(L, input, lambda b: positive_definite(factor, b))


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
    return _rows(inside, row_order(F.astype(F.real(pivots), np.int32), m, back=True))


def _over(x: Any, upper: Any) -> Any:
    """x U^-T"""
    return right_triangular(upper.mT, x, upper=False)


lu_packed = Packed("lu_factor", lambda m, n: ((m, n), (min(m, n),)), _lu_eval, _lu_rule, complex=HOLOMORPHIC, integers=1,
                   emit=Native(_lu_plan), fails=False)  # fmt: skip
"""L without its diagonal of 1, and U, in one matrix; and which rows were exchanged, counted from 1."""


def _no_row(node: Node | None, pivot: int) -> IndexRangeError:
    return IndexRangeError(f"lu_order: pivot {pivot} is the number of no row", "rows are counted from 1")


def _order_eval(pivots: np.ndarray, rows: int, back: bool = False) -> np.ndarray:
    orders = []
    if pivots.size and (pivots.min() < 1 or pivots.max() > rows):
        raise _no_row(None, int(pivots[(pivots < 1) | (pivots > rows)][0]))
    for swaps in pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1]).tolist():
        order = list(range(rows))
        for j, p in [*enumerate(swaps)][:: -1 if back else 1]:
            order[j], order[p - 1] = order[p - 1], order[j]
        orders.append(order)
    return np.array(orders, np.int64).reshape(*pivots.shape[:-1], rows)


def _order_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    *lead, count = node.inputs[0].type.shape
    kernel, span, rows = f"order_{SHORT[node.inputs[0].type.dtype]}", math.prod(lead), node.attrs["rows"]
    if kernel not in ("order_i32", "order_i64"):
        return None
    return [
        Routine(
            "factorizations",
            kernel,
            span,
            (rows, count, int(node.attrs["back"])),
            span * rows,
            name=node.op.name,
            chunked=False,
        )
    ]


order_op = define(
    "lu_order", lambda pivots, rows, back: TensorType((*pivots.shape[:-1], rows), np.dtype(np.int64)),
          _order_eval, attrs={"rows": at.integer(0), "back": at.flag}, promote=None, batch=leading,
          emit=Native(_order_plan, check=_no_row),
          range=lambda types, attrs, *ranges: (0, max(attrs["rows"] - 1, 0)),
          doc="Which row is in each place after exchanges: A[order] = L U; back: in which place each row is.")  # fmt: skip


def row_order(pivots: Any, rows: int, back: bool = False) -> Any:
    return apply(order_op, pivots, rows=rows, back=back)


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


def _apply_eval(factors: np.ndarray, b: np.ndarray, turned: bool) -> np.ndarray:
    n = b.shape[-2]
    corner = factors[..., : n * n].reshape(*factors.shape[:-1], n, n)
    order = _order_eval(factors[..., n * n :].real.astype(np.int64), n)
    matrices = np.empty_like(corner)
    lower = np.tril(corner, -1) + np.eye(n, dtype=b.dtype)
    np.put_along_axis(matrices, order[..., None], np.matmul(lower, np.triu(corner)), -2)
    return np.asarray(np.linalg.solve(matrices.swapaxes(-1, -2) if turned else matrices, b))


def _apply_infer(factors: TensorType, b: TensorType, turned: bool) -> TensorType:
    n = b.shape[-2]
    if factors.dtype != b.dtype or factors.shape[-1] != n * (n + 1):
        raise ShapeError(f"linalg_apply_lu: factors {factors} and sides {b} don't fit")
    return b.with_shape((*broadcast_shapes(factors.shape[:-1], b.shape[:-2]), *b.shape[-2:]))


def _apply_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    *lead, n, sides = node.type.shape
    blocks, span = -(-sides // BLOCK), math.prod(lead)
    spread = matrices_of(Layout.contiguous((*node.inputs[0].type.shape, 1)), lead)
    if spread is None:
        return None
    sizes = n, sides, int(node.attrs["turned"]), blocks, *spread[:2]
    return factored("apply_lu", node, ((1, layouts[1]),), sizes, span * blocks, span * n * n * sides * 2, lead)


def _apply_of_factors(g: Any, node: Any, out: Any, factors: Any, b: Any) -> Any:
    """Of L and U with P L U = A, where the cotangent of A is that of a system."""
    n, axis = b.shape[-2], ndim_of(factors) - 1
    of_b = apply(apply_lu_op, factors, g, turned=not node.attrs["turned"])
    of_a = -(F.matmul(out, of_b.mT) if node.attrs["turned"] else F.matmul(of_b, out.mT))
    pivots = cut(factors, axis, n * n, n * n + n)
    flat = cut(factors, axis, 0, n * n)
    lower, upper = _factors("lu_solve", F.reshape(flat, (*flat.shape[:-1], n, n)))
    middle = _rows(of_a, row_order(F.astype(F.real(pivots), np.int32), n))
    both = F.tril(F.matmul(middle, upper.mT), -1) + F.triu(F.matmul(lower.mT, middle))
    both = unbroadcast(F.reshape(both, (*both.shape[:-2], n * n)), flat)
    return F.concatenate([both, F.zeros_like(pivots)], axis)


def _apply_batch(samples: Any, node: Any, factors: Any, b: Any) -> Any:
    """As of other systems; the factors have one axis less than the matrix."""
    given, sides = (t.ndim for t in node.types)
    rank = max(given + 1, sides)
    packed, b = samples.spread([factors, b])
    return apply(node.op, with_axes(packed, True, given, rank - 1), with_axes(b, True, sides, rank), **node.attrs)


apply_lu_op: OpDef = host_record(
    "apply_lu", _apply_infer, _apply_eval,
    (_apply_of_factors, lambda g, node, out, factors, b: unbroadcast(
        apply(apply_lu_op, factors, g, turned=not node.attrs["turned"]), b)),
    {"turned": at.flag}, "X with A X = B from the flat factors of A, or with A.T X = B.",
    batch=_apply_batch, emit=Native(_apply_plan), fails=False, complex=HOLOMORPHIC,
)  # fmt: skip


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
    rows, factors = extent("lu_solve", LU, -2), F.conj(LU) if adjoint else LU

    def solver(b: Any) -> Any:
        if adjoint is not left:
            return triangular(
                factors, triangular(factors, _rows(b, row_order(pivots, rows)), upper=False, unit=True), upper=True
            )
        inner = triangular(factors.mT, b, upper=False)
        return _rows(triangular(factors.mT, inner, upper=True, unit=True), row_order(pivots, rows, back=True))

    if left:
        return of_columns(LU, B, solver)
    return of_columns(LU, B, lambda b: F.swapaxes(solver(F.swapaxes(b, -1, -2)), -1, -2))


@torch_function(words={"b": "input"})
def lu_solve(input: Any, LU_data: Any, LU_pivots: Any) -> Tensor:
    """`linalg.lu_solve` by an older name."""
    return _linalg_lu_solve(LU_data, LU_pivots, input)


# determinants ---------------------------------------------------------------------------------------------------------


def _scalar_infer(x: TensorType) -> TensorType:
    return x.with_shape(x.shape[:-2])


def _wide(g: Any) -> Any:
    return F.expand_dims(g, (ndim_of(g), ndim_of(g) + 1))


def _cofactor_eval(x: np.ndarray) -> np.ndarray:
    """det(x) inv(x).T, where the inverse has half of its digits at least. NaN where an element is infinite or NaN."""
    finite = np.isfinite(x).all((-2, -1))
    if not finite.all():
        whole = np.full_like(x, np.nan)
        whole[finite] = _cofactor_eval(x[finite])
        return whole
    try:
        with np.errstate(all="ignore"):
            inverse = np.linalg.inv(x)
            result = np.asarray(np.linalg.det(x)[..., None, None] * inverse.swapaxes(-1, -2), x.dtype, order="C")
            condition = np.abs(x).sum(-2).max(-1, initial=0) * np.abs(inverse).sum(-2).max(-1, initial=0)
    except np.linalg.LinAlgError:
        return _cofactors_by_values(x)
    rest = ~(condition < finfo(x.dtype).eps ** -0.5)
    if rest.any():
        result[rest] = _cofactors_by_values(x[rest])
    return result


def _cofactors_by_values(x: np.ndarray) -> np.ndarray:
    """U diag(products of the other singular values) V.T det(U) det(V), where x may be singular; of complex numbers with the
    conjugates of U and V."""
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.stack([np.prod(np.delete(s, i, -1), -1) for i in range(n)], -1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return ((u.conj() * (others * sign[..., None])[..., None, :]) @ vh.conj()).astype(x.dtype)


PIVOTED = 64
"""Rows of a matrix up to which loops find cofactors sooner than LAPACK the inverse."""


def _cofactor_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    *lead, n, _ = node.type.shape
    if n > PIVOTED:
        return None
    span, room = math.prod(lead), (Scratch(n * (2 * n + 3)),)
    return factored("cofactor", node, ((0, layouts[0]),), (n,), span if n else 0, 3 * span * n**3, lead, scratch=room)


def _cofactor_vjp(h: Any, node: Any, out: Any, x: Any) -> Any:
    inverse = inv(x).mT
    det_ = apply(det_op, x)
    return _wide(F.sum(h * inverse, (-2, -1))) * out - _wide(det_) * F.matmul(inverse, F.matmul(h.mT, inverse))


cofactor_op: OpDef = host_record(
    "cofactor",
    same_type,
    _cofactor_eval,
    (_cofactor_vjp,),
    doc="The derivative of the determinant.",
    complex=HOLOMORPHIC,
    emit=Native(_cofactor_plan),
)
det_op: OpDef = host_record(
    "det", _scalar_infer, lambda x: np.asarray(np.linalg.det(x), x.dtype),
    (lambda g, node, out, x: _wide(g) * apply(cofactor_op, x),), doc="The determinant.", complex=BY_FACTORS,
)  # fmt: skip


def _slogdet_rule(gs: list[Any], results: list[Any], x: Any) -> Any:
    (g_sign, g), (sign, _) = gs, results
    if x.dtype.kind == "c":
        g = F.real(g) + F.imag(F.conj(sign) * g_sign) * 1j
    return _wide(g) * F.adjoint(inv(x))


slogdet_packed = Packed(
    "slogdet",
    lambda m, n: ((), ()),
    np.linalg.slogdet,
    _slogdet_rule,
    real=1,
    complex=dataclasses.replace(BY_FACTORS, rule="linear"),
)
"""The sign of the determinant, and log|det|."""


@linalg(public=True, twin=np.linalg.det)
def det(A: Any) -> Tensor:
    """The determinant of square matrices.

    Examples:
        >>> sg.linalg.det(sg.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor(8.)
    """
    check_square("det", A)
    return apply(det_op, A)


@linalg(public=True, twin=np.linalg.slogdet)
def slogdet(A: Any) -> return_types.slogdet:
    """The named tuple (sign, logabsdet) of square matrices."""
    check_square("slogdet", A)
    return return_types.slogdet(*slogdet_packed(A))


@torch_function()
def logdet(input: Any) -> Tensor:
    """log(det), NaN for a negative determinant of real matrices."""
    sign, value = slogdet(input)
    if sign.dtype.kind == "c":
        return value + F.log(sign)
    return F.where(F.lt(sign, 0), float("nan"), value)


# QR factors as Householder reflections, and LDL factors, as LAPACK keeps them ----------------------------------------


@linalg(words={"input2": "tau"})
def householder_product(A: Any, tau: Any) -> Tensor:
    """The first columns of the product of Householder reflections I - tau v v.H, whose v lie below A's diagonal."""
    check_matrices("householder_product", A)
    *lead, m, n = extents("householder_product", A)
    if ndim_of(tau) != ndim_of(A) - 1 or tau.shape[-1] > n:
        raise ShapeError(
            "linalg.householder_product: tau needs an axis less than A, and at most its columns",
            f"got {shape_text(A.shape)} and {shape_text(tau.shape)}",
        )
    eye = np.eye(m, dtype=dtype_of(A))
    out = F.broadcast_to(in_mode_of(np.eye(m, n, dtype=dtype_of(A)), A), (*lead, m, n))
    lower = F.tril(A, -1) + np.eye(m, n, dtype=dtype_of(A))
    for i in reversed(range(extent("householder_product", tau, ndim_of(tau) - 1))):
        v = cut(lower, ndim_of(A) - 1, i, i + 1)
        weight = F.expand_dims(cut(tau, ndim_of(tau) - 1, i, i + 1), ndim_of(tau))
        out = F.matmul(eye - weight * F.matmul(v, F.adjoint(v)), out)
    return out


enter_as("orgqr", householder_product)


@torch_function(words={"input2": "tau", "input3": "other"})
def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Tensor:
    """Q other, or other Q for left=False, with the whole unitary Q of reflections; Q.H for transpose=True."""
    check_matrices("ormqr", input)
    check_matrices("ormqr", other)
    if ndim_of(tau) != ndim_of(input) - 1:
        raise ShapeError(f"ormqr: tau needs an axis less than input, got {shape_text(tau.shape)}", "use geqrf's results")
    *lead, m, n = extents("ormqr", input)
    count = extent("ormqr", tau, ndim_of(tau) - 1)
    if count > min(m, n):
        raise ShapeError(f"ormqr: tau.shape[-1] must be at most min(input.shape[-2:]), got {count} and {(m, n)}")
    rest = in_mode_of(np.zeros((*lead, m, max(m - n, 0)), dtype_of(input)), input)
    columns = cut(F.concatenate([input, rest], len(lead) + 1), len(lead) + 1, 0, m)
    q = householder_product(columns, tau)
    q = F.adjoint(q) if transpose else q
    return F.matmul(q, other) if left else F.matmul(other, q)


def _geqrf_eval(x: np.ndarray) -> list[np.ndarray]:
    found = [routine("lapack", "geqrf", m.dtype)(m)[:2] for m in x.reshape(-1, *x.shape[-2:])]
    return [np.array(results) for results in zip(*found, strict=True)]


geqrf_packed = Packed(
    "geqrf", lambda m, n: ((m, n), (min(m, n),)), _geqrf_eval, None, complex=OWN,
    emit=Native(lambda node, layouts: reflections(node, layouts, 0)),
)  # fmt: skip
"""R and the vectors of reflections; and their weights."""


@torch_function()
def geqrf(input: Any) -> return_types.geqrf:
    """The named tuple (a, tau): R in the upper triangle of `a`, reflections of Q below it. It has no derivative."""
    check_matrices("geqrf", input)
    return return_types.geqrf(*geqrf_packed(input))


def _kind(a: np.ndarray, hermitian: bool) -> str:
    """LAPACK's name of the kind of matrices."""
    return "he" if hermitian and a.dtype.kind == "c" else "sy"


def _ldl_eval(x: np.ndarray, hermitian: bool) -> list[np.ndarray]:
    factor = routine("lapack", f"{_kind(x, hermitian)}trf", x.dtype)
    found = [factor(m, lower=1)[:2] for m in x.reshape(-1, *x.shape[-2:])]
    return [np.array([np.tril(factors) for factors, _ in found]), np.array([pivots for _, pivots in found])]


ldl_packed = Packed(
    "ldl_factor", lambda m, n, hermitian: ((m, n), (n,)), _ldl_eval, None, {"hermitian": at.flag}, complex=OWN, integers=1
)
"""L and D in one triangle; and exchanged rows, counted from 1, negative for blocks of two rows."""


@linalg()
def ldl_factor(A: Any, *, hermitian: bool = False) -> Any:
    """The named tuple (LD, pivots) with A = L D L.T (L.H where hermitian), of which the lower triangle is read: L below the
    diagonal, D of blocks of one or two rows on and below it. It has no derivative."""
    check_square("ldl_factor", A)
    return return_types.ldl_factor(*ldl_packed(A, hermitian=bool(hermitian)))


@linalg()
def ldl_factor_ex(A: Any, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """The named tuple (LD, pivots, info)."""
    packed, pivots = ldl_factor(A, hermitian=hermitian)
    return return_types.ldl_factor_ex(packed, pivots, in_mode_of(zeros_info("ldl_factor_ex", A), A))


def _ldl_solve_eval(packed: np.ndarray, pivots: np.ndarray, b: np.ndarray, hermitian: bool) -> np.ndarray:
    lead = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    out = np.empty((*lead, *b.shape[-2:]), b.dtype)
    matrices = np.broadcast_to(packed, (*lead, *packed.shape[-2:]))
    rows, right = np.broadcast_to(pivots, (*lead, pivots.shape[-1])), np.broadcast_to(b, out.shape)
    solved = routine("lapack", f"{_kind(packed, hermitian)}trs", b.dtype)
    for i in np.ndindex(*lead) if out.size else ():
        out[i] = solved(matrices[i], rows[i], right[i], lower=1)[0]
    return out


def _ldl_solve_infer(packed: TensorType, pivots: TensorType, b: TensorType, hermitian: bool) -> TensorType:
    if packed.shape[-1] != b.shape[-2] or pivots.shape != packed.shape[:-1]:
        shapes = ", ".join(shape_text(t.shape) for t in (packed, pivots, b))
        raise ShapeError(f"linalg.ldl_solve: LD, pivots and B don't fit: {shapes}")
    return b.with_shape((*broadcast_shapes(packed.shape[:-2], b.shape[:-2]), *b.shape[-2:]))


ldl_solve_op = define(
    "linalg_ldl_solve",
    _ldl_solve_infer,
    _ldl_solve_eval,
    promote=None,
    batch=leading,
    attrs={"hermitian": at.flag},
    doc="X with A X = B.",
    complex=OWN,
)


@linalg()
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False) -> Any:
    """X with A X = B, from `ldl_factor`'s results. It has no derivative. Raises ShapeError, DTypeError."""
    check_square("ldl_solve", LD)
    check_matrices("ldl_solve", B)
    if dtype_of(pivots).kind != "i" or dtype_of(LD) != dtype_of(B) or dtype_of(LD) not in LETTERS:
        got = f"{dtype_of(LD)}, {dtype_of(pivots)} and {dtype_of(B)}"
        raise DTypeError(f"linalg.ldl_solve: LD and B have one floating dtype, pivots are integers, got {got}")
    return apply(ldl_solve_op, LD, pivots, B, hermitian=bool(hermitian))
