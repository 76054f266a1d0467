"""Determinants; QR and LDL factors as LAPACK keeps them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.types import TensorType, broadcast_shapes, finfo, shape_text
from ...errors import DTypeError, ShapeError
from ...ir import Call, Layout, Native, Node, OpDef, Scratch, define
from .. import attributes as at
from .. import return_types
from ..batching import leading
from ..operands import dtype_of, extent, extents, in_mode_of, ndim_of
from ..operators import F, Tensor, apply, enter_as, torch_function
from ..over_complex import HOLOMORPHIC, OWN
from ..slicing import cut
from .decompositions import Packed, reflections
from .records import LETTERS, check_matrices, check_square, factored, host_record, linalg, routine, same_type, zeros_info
from .triangular_systems import BY_FACTORS, inv


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
