"""Decompositions with several results: eigenvectors, singular values, QR.

One record holds the results flat, one after another; they are cut out of it, so that it is computed once and its gradient takes
the cotangents of all of them together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, LinAlgError, UnknownExtentError
from ...operators import F, apply, torch_function
from ...types import TensorType, shape_text
from .. import attributes as at
from .. import return_types
from ..operands import dtype_of, ndim_of
from ..rules import Rule
from ..slicing import cut
from .records import as_floats, check_square, host_record, in_mode_of, lapack, linalg
from .solving import solve


class Packed:
    """A decomposition: parts(m, n, **attrs) gives the shapes of its results for one matrix.

    rule(cotangents, results, x, **attrs) -> cotangent of x.
    """

    def __init__(self, name: str, parts: Rule, evaluate: Rule, rule: Rule, attrs: Any = None):
        self.parts, self.rule = parts, rule

        def infer(x: TensorType, **attrs: Any) -> TensorType:
            if x.ndim < 2 or None in x.shape:
                raise UnknownExtentError(f"linalg.{name}: expected matrices of known extents, got {shape_text(x.shape)}")
            total = sum(math.prod(s) for s in parts(*x.shape[-2:], **attrs))
            return x.with_shape((*x.shape[:-2], total))

        def packed(x: np.ndarray, **attrs: Any) -> np.ndarray:
            lead = x.shape[:-2]
            shapes = parts(*x.shape[-2:], **attrs)
            arrays = lapack(name, evaluate)(x, **attrs) if x.size else [
                np.broadcast_to(np.eye(*s) if len(s) == 2 else np.zeros(s), (*lead, *s)) for s in shapes]  # fmt: skip
            flat = [np.ascontiguousarray(a).reshape(*lead, math.prod(s)) for a, s in zip(arrays, shapes, strict=True)]
            return np.concatenate(flat, -1).astype(x.dtype, copy=False)

        def vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
            return rule(self.cut(g, x, node.attrs), self.cut(out, x, node.attrs), x, **node.attrs)

        self.op = host_record(name, infer, packed, (vjp,), attrs)

    def cut(self, flat: Any, x: Any, attrs: Any) -> list[Any]:
        lead, axis, at_, results = tuple(x.shape[:-2]), ndim_of(x) - 2, 0, []
        for shape in self.parts(*x.shape[-2:], **attrs):
            size = math.prod(shape)
            results.append(F.reshape(cut(flat, axis, at_, at_ + size), (*lead, *shape)))
            at_ += size
        return results

    def __call__(self, x: Any, **attrs: Any) -> list[Any]:
        x = as_floats(x)
        return self.cut(apply(self.op, x, **attrs), x, attrs)


def _column(v: Any) -> Any:
    return F.expand_dims(v, ndim_of(v) - 1)


def _row(v: Any) -> Any:
    return F.expand_dims(v, ndim_of(v))


def _diagonal_matrix(v: Any) -> Any:
    return F.diag_embed(v)


def _gaps(v: Any) -> Any:
    """1 / (v[j] - v[i]), 0 on the diagonal."""
    n = v.shape[-1]
    difference = _column(v) - _row(v)
    eye = np.eye(n, dtype=bool)
    return F.where(eye, 0.0, 1.0 / F.where(eye, 1.0, difference))


def _eigh_rule(gs: list[Any], results: list[Any], x: Any, upper: bool) -> Any:
    """V (diag(gw) + half(V.T gV - gV.T V) / (w[j] - w[i])) V.T, which is symmetric."""
    (gw, gv), (w, v) = gs, results
    turned = F.matmul(v.mT, gv)
    middle = _diagonal_matrix(gw) + (turned - turned.mT) * 0.5 * _gaps(w)
    return F.matmul(v, F.matmul(middle, v.mT))


def _eigh_eval(x: np.ndarray, upper: bool) -> Sequence[np.ndarray]:
    return np.linalg.eigh(x, "U" if upper else "L")


eigh_packed = Packed("eigh", lambda m, n, upper: ((n,), (n, n)), _eigh_eval, _eigh_rule, {"upper": at.flag})


@linalg(twin=np.linalg.eigh)
def eigh(A: Any, UPLO: str = "L") -> Any:
    """The named tuple (eigenvalues, eigenvectors) of symmetric matrices, of which one triangle is read; ascending."""
    check_square("eigh", A)
    if str(UPLO).upper() not in ("L", "U"):
        raise ArgumentError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return return_types.eigh(*eigh_packed(A, upper=UPLO.upper() == "U"))


@linalg(twin=np.linalg.eigvalsh)
def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric matrices, ascending."""
    return eigh(A, UPLO).eigenvalues


def _svd_parts(m: int, n: int, full: bool) -> tuple[tuple[int, ...], ...]:
    k = min(m, n)
    return ((m, m if full else k), (k,), (n if full else k, n))


def _svd_rule(gs: list[Any], results: list[Any], x: Any, full: bool) -> Any:
    """By the differential of A = U S V.T; see Townsend, "Differentiating the singular value decomposition", 2016."""
    (gu, gs_, gvh), (u, s, vh) = gs, results
    m, n = x.shape[-2:]
    k = min(m, n)
    if full and m != n:
        u, gu = cut(u, ndim_of(u) - 1, 0, k), cut(gu, ndim_of(gu) - 1, 0, k)
        vh, gvh = cut(vh, ndim_of(vh) - 2, 0, k), cut(gvh, ndim_of(gvh) - 2, 0, k)
    gaps = _gaps(F.square(s))
    left, right = F.matmul(u.mT, gu), F.matmul(vh, gvh.mT)
    middle = ((left - left.mT) * gaps) * _column(s) + _row(s) * ((right - right.mT) * gaps) + _diagonal_matrix(gs_)
    out = F.matmul(u, F.matmul(middle, vh))
    safe = F.where(F.eq(s, 0), 1.0, s)
    inverse = F.where(F.eq(s, 0), 0.0, 1.0 / safe)
    if m > k:
        rest = (gu - F.matmul(u, left)) * _column(inverse)
        out = out + F.matmul(rest, vh)
    if n > k:
        rest = _row(inverse) * (gvh - F.matmul(F.matmul(gvh, vh.mT), vh))
        out = out + F.matmul(u, rest)
    return out


svd_packed = Packed("svd", _svd_parts, lambda x, full: np.linalg.svd(x, full), _svd_rule, {"full": at.flag})


@linalg(name="svd", twin=np.linalg.svd)
def _linalg_svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """The named tuple (U, S, Vh) with A = U diag(S) Vh. Gradients need different singular values."""
    return return_types.svd(*svd_packed(A, full=bool(full_matrices)))


@torch_function()
def svd(input: Any, some: bool = True, compute_uv: bool = True) -> return_types.svd_v:
    """The named tuple (U, S, V) with input = U diag(S) V.T, by an older name."""
    u, s, vh = svd_packed(input, full=not some)
    if not compute_uv:
        zeros = (F.zeros_like(u), F.zeros_like(F.swapaxes(vh, -1, -2)))
        return return_types.svd_v(zeros[0], s, zeros[1])
    return return_types.svd_v(u, s, F.swapaxes(vh, -1, -2))


@linalg()
def svdvals(A: Any, *, driver: str | None = None) -> Any:
    """The singular values, descending."""
    return svd_packed(A, full=False)[1]


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
    first = _qr_tall(gq + F.matmul(rest, gr2.mT), gr1, q, cut(r, axis, 0, m))
    return F.concatenate([first, F.matmul(q, gr2)], axis)


def _qr_tall(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    middle = F.matmul(r, gr.mT) - F.matmul(gq.mT, q)
    lower = F.tril(middle, -1)
    symmetric = lower + lower.mT + middle * np.eye(middle.shape[-1], dtype=dtype_of(middle))
    return F.swapaxes(solve(r, F.swapaxes(gq + F.matmul(q, symmetric), -1, -2)), -1, -2)


qr_packed = Packed("qr", _qr_parts, lambda x, mode: np.linalg.qr(x, mode), _qr_rule, {"mode": at.text})


@linalg(name="qr", twin=np.linalg.qr)
def _linalg_qr(A: Any, mode: str = "reduced") -> Any:
    """The named tuple (Q, R) with A = Q R: Q orthonormal, R upper triangular. mode: "reduced", "complete", or "r"."""
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    q, r = qr_packed(A, mode="reduced" if mode == "r" else mode)
    return return_types.qr(in_mode_of(np.zeros((0,), dtype_of(A)), A) if mode == "r" else q, r)


@torch_function()
def qr(input: Any, some: bool = True) -> return_types.qr:
    """`linalg.qr` by an older name."""
    result: return_types.qr = _linalg_qr(input, "reduced" if some else "complete")
    return result
