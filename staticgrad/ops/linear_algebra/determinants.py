"""Determinants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.number_limits import finfo
from ...base.types import TensorType
from ...ir import Call, Layout, Native, Node, OpDef, Scratch
from ...operators import F, Tensor, apply, torch_function
from .. import return_types
from ..operands import ndim_of
from ..over_complex import HOLOMORPHIC
from .decompositions import Packed
from .records import check_square, factored, host_record, linalg, same_type
from .solving import inv


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
            result = np.asarray(np.linalg.det(x)[..., None, None] * inverse.swapaxes(-1, -2), x.dtype)
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
    result: np.ndarray = ((u.conj() * (others * sign[..., None])[..., None, :]) @ vh.conj()).astype(x.dtype)
    return result


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
    (lambda g, node, out, x: _wide(g) * apply(cofactor_op, x),), doc="The determinant.", complex=HOLOMORPHIC,
)  # fmt: skip


def _slogdet_rule(gs: list[Any], results: list[Any], x: Any) -> Any:
    (g_sign, g), (sign, _) = gs, results
    if x.dtype.kind == "c":
        g = F.real(g) + F.imag(F.conj(sign) * g_sign) * 1j
    return _wide(g) * F.adjoint(inv(x))


slogdet_packed = Packed("slogdet", lambda m, n: ((), ()), np.linalg.slogdet, _slogdet_rule, real=1)
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
        whole: Tensor = value + F.log(sign)
        return whole
    return F.where(F.lt(sign, 0), float("nan"), value)
