"""Decompositions with several results: eigenvectors, singular values, QR.

One record holds the results flat, one after another; they are cut out of it, so that it is computed once and its gradient takes
the cotangents of all of them together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.types import TensorType, part_dtype, shape_text
from ...errors import ArgumentError, LinAlgError, UnknownExtentError
from ...ir import Call, Emit, Layout, Native, Node, OpDef, OverComplex, Scratch
from .. import return_types
from .. import rules as at
from ..complex_numbers import complex_dtype
from ..indexing import cut
from ..operands import dtype_of, in_mode_of, ndim_of, operand
from ..operators import F, apply, torch_function
from ..over_complex import LINEAR
from ..rules import Rule
from .records import as_floats, check_square, factored, host_record, lapack, linalg
from .triangular_systems import right_triangular, solve


class Packed:
    """A decomposition: parts(m, n, **attrs) gives the shapes of its results for one matrix.

    rule(cotangents, results, x, **attrs) -> cotangent of x; None where there is none. complex: what it holds for. real: the
    number of the result that is real for complex matrices, too; integers: of that which is integers.
    """

    def __init__(
        self, name: str, parts: Rule, evaluate: Rule, rule: Rule | None, attrs: Any = None, *,
        complex: OverComplex = LINEAR, real: int | None = None, integers: int | None = None, emit: Emit = None,
        fails: bool | None = None,
    ):  # fmt: skip
        self.parts, self.real, self.integers = parts, real, integers

        def infer(x: TensorType, **attrs: Any) -> TensorType:
            if x.ndim < 2 or None in x.shape[-2:]:
                raise UnknownExtentError(f"linalg.{name}: expected matrices of known extents, got {shape_text(x.shape)}")
            total = sum(math.prod(s) for s in parts(*x.shape[-2:], **attrs))
            return x.with_shape((*x.shape[:-2], total))

        def packed(x: np.ndarray, **attrs: Any) -> np.ndarray:
            lead = x.shape[:-2]
            shapes = parts(*x.shape[-2:], **attrs)
            arrays = lapack(name, evaluate)(x, **attrs) if x.size or not any(shapes) else [
                np.broadcast_to(np.eye(*s) if len(s) == 2 else np.zeros(s), (*lead, *s)) for s in shapes]  # fmt: skip
            flat = [np.ascontiguousarray(a).reshape(*lead, math.prod(s)) for a, s in zip(arrays, shapes, strict=True)]
            return np.concatenate(flat, -1).astype(x.dtype, copy=False)

        def vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
            assert rule is not None
            return rule(self.cut(g, x, node.attrs), self.cut(out, x, node.attrs), x, **node.attrs)

        vjps = None if rule is None else (vjp,)
        self.op = host_record(name, infer, packed, vjps, attrs, complex=complex, emit=emit, fails=fails)

    def cut(self, flat: Any, x: Any, attrs: Any) -> list[Any]:
        lead, axis, at_, results = [-1 if d is None else d for d in x.shape[:-2]], ndim_of(x) - 2, 0, []
        for shape in self.parts(*x.shape[-2:], **attrs):
            size = math.prod(shape)
            results.append(F.reshape(cut(flat, axis, at_, at_ + size), (*lead, *shape)))
            at_ += size
        return results

    def __call__(self, x: Any, **attrs: Any) -> list[Any]:
        x = as_floats(x)
        found = self.cut(apply(self.op, x, **attrs), x, attrs)
        found = [F.real(part) if i in (self.real, self.integers) else part for i, part in enumerate(found)]
        return [F.astype(part, np.int32) if i == self.integers else part for i, part in enumerate(found)]


def values_record(name: str, count: Rule, evaluate: Rule, rule: Rule, attrs: Any = None) -> OpDef:
    """The record of values without their vectors, of which there are count(m, n) for each matrix. Only the rule computes
    these, by the whole decomposition: rule(g, x, **attrs) -> cotangent of x."""

    def infer(x: TensorType, **attrs: Any) -> TensorType:
        if x.ndim < 2 or None in x.shape[-2:]:
            raise UnknownExtentError(f"linalg.{name}: expected matrices of known extents, got {shape_text(x.shape)}")
        return TensorType((*x.shape[:-2], count(*x.shape[-2:])), x.dtype)

    def vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
        return rule(g, x, **node.attrs)

    return host_record(
        name, infer, lambda x, **attrs: evaluate(x, **attrs).astype(x.dtype, copy=False), (vjp,), attrs, complex=LINEAR
    )


def _column(v: Any) -> Any:
    return F.expand_dims(v, ndim_of(v) - 1)


def _row(v: Any) -> Any:
    return F.expand_dims(v, ndim_of(v))


def _diagonal_matrix(v: Any) -> Any:
    return F.diag_embed(v)


def _over_gaps(x: Any, v: Any) -> Any:
    """x[i, j] / (v[j] - v[i]), 0 on the diagonal. Where both are 0 it is 0, too: repeated values have a gradient where their
    vectors don't matter."""
    difference = _column(v) - _row(v)
    zero = F.logical_or(np.eye(v.shape[-1], dtype=bool), F.logical_and(F.eq(difference, 0), F.eq(x, 0)))
    return F.where(zero, 0.0, x / F.where(zero, 1.0, difference))


def _eigh_rule(gs: list[Any], results: list[Any], x: Any, upper: bool) -> Any:
    """V (diag(gw) + half(V.H gV - gV.H V) / (w[j] - w[i])) V.H, which is Hermitian."""
    (gw, gv), (w, v) = gs, results
    turned = F.matmul(F.adjoint(v), gv)
    middle = _diagonal_matrix(gw) + _over_gaps((turned - F.adjoint(turned)) * 0.5, F.real(w))
    return F.matmul(v, F.matmul(middle, F.adjoint(v)))


def _eigh_eval(x: np.ndarray, upper: bool) -> Sequence[np.ndarray]:
    return np.linalg.eigh(x, "U" if upper else "L")


eigh_packed = Packed("eigh", lambda m, n, upper: ((n,), (n, n)), _eigh_eval, _eigh_rule, {"upper": at.flag}, real=0)


@linalg(twin=np.linalg.eigh)
def eigh(A: Any, UPLO: str = "L") -> return_types.eigh:
    """The named tuple (eigenvalues, eigenvectors) of symmetric matrices, of which one triangle is read; ascending."""
    return return_types.eigh(*eigh_packed(A, upper=_upper("eigh", A, UPLO)))


def _upper(name: str, A: Any, UPLO: str) -> bool:
    """Whether the upper triangle is read."""
    check_square(name, A)
    if str(UPLO).upper() not in ("L", "U"):
        raise ArgumentError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "U"


def _eig_eval(x: np.ndarray) -> Sequence[np.ndarray]:
    return np.linalg.eig(x if x.imag.any() else x.real)


def _eig_rule(gs: list[Any], results: list[Any], x: Any) -> Any:
    """V^-H (diag(gw) + (V.H gV - V.H V diag(Re(V.H gV))) / conj(w[j] - w[i])) V.H"""
    (gw, gv), (w, v) = gs, results
    turned = F.matmul(F.adjoint(v), gv)
    along = F.expand_dims(F.real(F.diagonal(turned, dim1=-2, dim2=-1)), ndim_of(turned) - 2)
    middle = _diagonal_matrix(gw) + _over_gaps(turned - F.matmul(F.adjoint(v), v) * along, F.conj(w))
    return solve(F.adjoint(v), F.matmul(middle, F.adjoint(v)))


eig_packed = Packed("eig", lambda m, n: ((n,), (n, n)), _eig_eval, _eig_rule)


@linalg(twin=np.linalg.eig)
def eig(A: Any) -> return_types.eig:
    """The named tuple (eigenvalues, eigenvectors) of square matrices, complex. The gradient is that of eigenvectors of norm 1
    whose phases don't change the loss."""
    check_square("eig", A)
    return return_types.eig(*eig_packed(F.astype(operand(A), complex_dtype(A))))


def _eigvals_rule(g: Any, x: Any) -> Any:
    v = F.adjoint(eig_packed(x)[1])
    return solve(v, _row(g) * v)


eigvals_op = values_record("eigvals", lambda m, n: n, lambda x: np.linalg.eigvals(x if x.imag.any() else x.real), _eigvals_rule)


@linalg(twin=np.linalg.eigvals)
def eigvals(A: Any) -> Any:
    """The eigenvalues of square matrices, complex."""
    check_square("eigvals", A)
    return apply(eigvals_op, F.astype(operand(A), complex_dtype(A)))


def _eigvalsh_rule(g: Any, x: Any, upper: bool) -> Any:
    v = eigh_packed(x, upper=upper)[1]
    return F.matmul(v * _column(g), F.adjoint(v))


eigvalsh_op = values_record(
    "eigvalsh",
    lambda m, n: n,
    lambda x, upper: np.linalg.eigvalsh(x, "U" if upper else "L"),
    _eigvalsh_rule,
    {"upper": at.flag},
)


@linalg(twin=np.linalg.eigvalsh)
def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric matrices, ascending.

    Examples:
        >>> sg.linalg.eigvalsh(sg.tensor([[2.0, 0.0], [0.0, 3.0]]))
        tensor([2., 3.])
    """
    return F.real(apply(eigvalsh_op, as_floats(A), upper=_upper("eigvalsh", A, UPLO)))


def _svd_parts(m: int, n: int, full: bool) -> tuple[tuple[int, ...], ...]:
    k = min(m, n)
    return ((m, m if full else k), (k,), (n if full else k, n))


def _svd_rule(gs: list[Any], results: list[Any], x: Any, full: bool) -> Any:
    """By the differential of A = U S V.H; see Townsend, "Differentiating the singular value decomposition", 2016.

    For complex matrices the phases of U and V are those that keep the loss the same."""
    (gu, gs_, gvh), (u, s, vh) = gs, results
    m, n = x.shape[-2:]
    k = min(m, n)
    if full and m != n:
        u, gu = cut(u, ndim_of(u) - 1, 0, k), cut(gu, ndim_of(gu) - 1, 0, k)
        vh, gvh = cut(vh, ndim_of(vh) - 2, 0, k), cut(gvh, ndim_of(gvh) - 2, 0, k)
    s = F.real(s)
    squares = F.square(s)
    left, right = F.matmul(F.adjoint(u), gu), F.matmul(vh, F.adjoint(gvh))
    left_turn, right_turn = left - F.adjoint(left), right - F.adjoint(right)
    left_part, right_part = _over_gaps(left_turn, squares), _over_gaps(right_turn, squares)
    middle = left_part * _column(s) + _row(s) * right_part + _diagonal_matrix(gs_)
    safe = F.where(F.eq(s, 0), 1.0, s)
    inverse = F.where(F.eq(s, 0), 0.0, 1.0 / safe)
    if x.dtype.kind == "c":
        middle = middle + _diagonal_matrix(F.diagonal(left_turn, dim1=-2, dim2=-1) * (0.5 * inverse))
    out = F.matmul(u, F.matmul(middle, vh))
    if m > k:
        rest = (gu - F.matmul(u, left)) * _column(inverse)
        out = out + F.matmul(rest, vh)
    if n > k:
        rest = _row(inverse) * (gvh - F.matmul(F.matmul(gvh, F.adjoint(vh)), vh))
        out = out + F.matmul(u, rest)
    return out


svd_packed = Packed("svd", _svd_parts, lambda x, full: np.linalg.svd(x, full), _svd_rule, {"full": at.flag}, real=1)


@linalg(name="svd", twin=np.linalg.svd)
def _linalg_svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> return_types.svd:
    """The named tuple (U, S, Vh) with A = U diag(S) Vh. Gradients need different singular values."""
    return return_types.svd(*svd_packed(A, full=bool(full_matrices)))


@torch_function()
def svd(input: Any, some: bool = True, compute_uv: bool = True) -> return_types.svd_v:
    """The named tuple (U, S, V) with input = U diag(S) V.H, by an older name."""
    u, s, vh = svd_packed(input, full=not some)
    if not compute_uv:
        zeros = (F.zeros_like(u), F.zeros_like(F.adjoint(vh)))
        return return_types.svd_v(zeros[0], s, zeros[1])
    return return_types.svd_v(u, s, F.adjoint(vh))


def _svdvals_rule(g: Any, x: Any) -> Any:
    u, _, vh = svd_packed(x, full=False)
    return F.matmul(u * _column(g), vh)


svdvals_op = values_record("svdvals", min, lambda x: np.linalg.svd(x, compute_uv=False), _svdvals_rule)


@linalg()
def svdvals(A: Any, *, driver: str | None = None) -> Any:
    """The singular values, descending.

    Examples:
        >>> sg.linalg.svdvals(sg.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor([4., 3.])
    """
    return F.real(apply(svdvals_op, as_floats(A)))


def _qr_parts(m: int, n: int, mode: str) -> tuple[tuple[int, ...], ...]:
    k = m if mode == "complete" else min(m, n)
    return ((m, k), (k, n))


def _qr_rule(gs: list[Any], results: list[Any], x: Any, mode: str) -> Any:
    """Of the wide case, the first columns, and the others by R's right part. Source: Walter and Lehmann, "Walter and
    Lehmann's algorithmic differentiation of linear algebra functions", 2018."""
    (gq, gr), (q, r) = gs, results
    m, n = x.shape[-2:]
    if mode == "complete" and m > n:
        raise LinAlgError("linalg.qr: the derivative of the complete decomposition needs nrows <= ncols", 'use mode="reduced"')
    if m >= n:
        return _qr_tall(gq, gr, q, r)
    axis = ndim_of(x) - 1
    rest, gr1, gr2 = cut(x, axis, m, None), cut(gr, axis, 0, m), cut(gr, axis, m, None)
    first = _qr_tall(gq + F.matmul(rest, F.adjoint(gr2)), gr1, q, cut(r, axis, 0, m))
    return F.concatenate([first, F.matmul(q, gr2)], axis)


def _qr_tall(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    middle = F.matmul(r, F.adjoint(gr)) - F.matmul(F.adjoint(gq), q)
    lower = F.tril(middle, -1)
    symmetric = lower + F.adjoint(lower) + F.real(middle) * np.eye(middle.shape[-1], dtype=part_dtype(dtype_of(middle)))
    return right_triangular(F.adjoint(r), gq + F.matmul(q, symmetric), upper=False)


WORK = 32
"""Rows of memory that LAPACK has for products of reflections, which it takes by blocks."""


def reflections(node: Node, layouts: Sequence[Layout], columns: int) -> Sequence[Call] | None:
    """QR factors with so many columns of Q, or, for 0, as LAPACK keeps them."""
    *lead, m, n = node.inputs[0].type.shape
    if not m * n:
        return None
    span, wide = math.prod(lead), max(n, columns)
    room = (Scratch(m * wide + min(m, n) + WORK * wide),)
    return factored("reflections", node, ((0, layouts[0]),), (m, n, columns), span, 4 * span * m * n * wide, lead, scratch=room)


def _qr_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    return reflections(node, layouts, _qr_parts(*node.inputs[0].type.shape[-2:], **node.attrs)[0][1])


qr_packed = Packed(
    "qr", _qr_parts, lambda x, mode: np.linalg.qr(x, mode), _qr_rule, {"mode": at.text}, emit=Native(_qr_plan), fails=False
)


@linalg(name="qr", twin=np.linalg.qr)
def _linalg_qr(A: Any, mode: str = "reduced") -> return_types.qr:
    """The named tuple (Q, R) with A = Q R: Q orthonormal, R upper triangular. mode: "reduced", "complete", or "r".

    Examples:
        >>> q, r = sg.linalg.qr(sg.tensor([[3.0, 1.0], [4.0, 1.0]]))
        >>> sg.allclose(q @ r, sg.tensor([[3.0, 1.0], [4.0, 1.0]]), atol=1e-5)
        True
    """
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    q, r = qr_packed(A, mode="reduced" if mode == "r" else mode)
    return return_types.qr(in_mode_of(np.zeros((0,), dtype_of(A)), A) if mode == "r" else q, r)


@torch_function()
def qr(input: Any, some: bool = True) -> return_types.qr:
    """`linalg.qr` by an older name."""
    return _linalg_qr(input, "reduced" if some else "complete")
