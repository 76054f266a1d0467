"""Functions of whole matrices: exponential, pseudoinverse, rank, least squares, condition number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.interpreter import module
from ...base.types import TensorType, broadcast_shapes, finfo, normalize_axis, part_dtype, shape_text, to_float
from ...errors import ArgumentError, ShapeError
from ...ir import Call, Layout, Native, Node, OpDef, Scratch
from .. import return_types
from .. import rules as at
from ..indexing import cut
from ..leaves import fits
from ..operands import dtype_of, extents, in_mode_of, integer, ndim_of
from ..operators import F, Operators, Tensor, apply, torch_function
from ..over_complex import HOLOMORPHIC, LINEAR
from ..rearranging import movedim
from .decompositions import eigvalsh, svdvals
from .products import matrix_norm
from .records import as_floats, check_matrices, check_square, each_matrix, factored, host_record, linalg, routine, same_type
from .triangular_systems import inv, solve


def _exp_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """The upper right block of exp([[x.T, g], [0, x.T]])."""
    n, axis = x.shape[-1], ndim_of(x) - 1
    t = x.mT
    upper = F.concatenate([t, g], axis)
    lower = F.concatenate([F.zeros_like(t), t], axis)
    whole = apply(exp_op, F.concatenate([upper, lower], axis - 1))
    return cut(cut(whole, axis - 1, 0, n), axis, n, None)


def _exp_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    """By scaling, a quotient of polynomials, and squares. Source: N. Higham, "The scaling and squaring method for the matrix
    exponential revisited", 2005."""
    *lead, n, _ = node.type.shape
    span, room = math.prod(lead), (Scratch(8 * n * n + n),)
    return factored("exponential", node, ((0, layouts[0]),), (n,), span, 20 * span * n**3, lead, scratch=room) if n else None


exp_op: OpDef = host_record(
    "matrix_exp",
    same_type,
    lambda x: each_matrix(lambda m: module("scipy.linalg").expm(m))(x),
    (_exp_vjp,),
    doc="exp(A).",
    complex=HOLOMORPHIC,
    emit=Native(_exp_plan),
    fails=False,
)


@linalg(public=True)
def matrix_exp(A: Any) -> Tensor:
    """The exponential of square matrices."""
    check_square("matrix_exp", A)
    return apply(exp_op, A)


def _pinv_infer(x: TensorType, tolerances: TensorType, hermitian: bool) -> TensorType:
    return x.with_shape((*x.shape[:-2], x.shape[-1], x.shape[-2]))


def _pinv_eval(x: np.ndarray, tolerances: np.ndarray, hermitian: bool) -> np.ndarray:
    if not x.size:
        return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    if hermitian:
        w, v = np.linalg.eigh(x)
        u, s, vh = v * np.sign(w)[..., None, :], np.abs(w), np.swapaxes(v.conj(), -1, -2)
    else:
        u, s, vh = np.linalg.svd(x, full_matrices=False)
    tolerances = tolerances.real
    small = np.maximum(tolerances[..., 0], tolerances[..., 1] * s.max(-1))[..., None]
    with np.errstate(divide="ignore"):
        inverse = np.where(s > small, 1 / s, 0)
    v = np.swapaxes(vh.conj(), -1, -2)
    return (v * inverse[..., None, :] @ np.swapaxes(u.conj(), -1, -2)).astype(x.dtype)


def _pinv_vjp(g: Any, node: Any, out: Any, x: Any, tolerances: Any) -> Any:
    """Source: Golub and Pereyra, "The differentiation of pseudo-inverses", 1973."""
    m, n = x.shape[-2:]
    left = np.eye(m, dtype=dtype_of(x)) - F.matmul(x, out)
    right = np.eye(n, dtype=dtype_of(x)) - F.matmul(out, x)
    first = -F.matmul(F.adjoint(out), F.matmul(g, F.adjoint(out)))
    second = F.matmul(left, F.matmul(F.adjoint(g), F.matmul(out, F.adjoint(out))))
    third = F.matmul(F.matmul(F.adjoint(out), out), F.matmul(F.adjoint(g), right))
    return first + second + third


pinv_op = host_record("pinv", _pinv_infer, _pinv_eval, (_pinv_vjp, None), {"hermitian": at.flag}, "The pseudoinverse.",
                      complex=LINEAR)  # fmt: skip


def _tolerances(A: Any, atol: Any, rtol: Any, rcond: Any = None) -> Any:
    """(absolute, relative) tolerance of singular values, in the last axis."""
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        eps = float(finfo(to_float(dtype_of(A))).eps) * max(extents("pinv", A, -2))
        rtol = (
            eps
            if atol is None
            else F.where(F.gt(atol, 0), 0.0, eps)
            if isinstance(atol, Operators)
            else (0.0 if atol > 0 else eps)
        )
    atol = 0.0 if atol is None else atol
    kind = part_dtype(to_float(dtype_of(A)))
    if not isinstance(atol, Operators) and not isinstance(rtol, Operators):
        given = np.broadcast_arrays(np.asarray(atol, kind), np.asarray(rtol, kind))
        return np.broadcast_to(np.stack(given, -1), (*broadcast_shapes(given[0].shape, extents("pinv", A, 0, -2)), 2))
    both = [F.astype(v, kind) if isinstance(v, Operators) else np.asarray(v, kind) for v in (atol, rtol)]
    shape = broadcast_shapes(*(extents("pinv", v) for v in both), extents("pinv", A, 0, -2))
    return F.stack([F.broadcast_to(v, shape) for v in both], -1)


@linalg(twin=np.linalg.pinv)
def pinv(A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """The pseudoinverse; singular values up to max(atol, rtol * the largest one) count as 0."""
    check_matrices("pinv", A)
    x = as_floats(A)
    limits = _tolerances(x, atol, rtol, rcond)
    if tuple(limits.shape[:-1]) != tuple(x.shape[:-2]):
        raise ShapeError(f"linalg.pinv: tolerances {shape_text(limits.shape[:-1])} don't fit matrices {shape_text(x.shape)}")
    return apply(pinv_op, x, limits, hermitian=bool(hermitian))


@torch_function()
def pinverse(input: Any, rcond: float = 1e-15) -> Tensor:
    """`linalg.pinv` by an older name."""
    return pinv(input, rcond)


@linalg(twin=np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """How many singular values are above max(atol, rtol * the largest one); int64."""
    if tol is not None:
        atol, rtol = tol, 0.0
    x = F.stop_gradient(as_floats(A))
    if 0 in x.shape[-2:]:
        return in_mode_of(np.zeros(extents("matrix_rank", x, 0, -2), np.int64), x)
    values = F.abs(eigvalsh(x)) if hermitian else svdvals(x)
    limits = _tolerances(x, atol, rtol)
    absolute, relative = F.select(limits, -1, 0), F.select(limits, -1, 1)
    small = F.maximum(absolute, relative * F.amax(values, -1))
    return F.sum(F.gt(values, F.expand_dims(small, ndim_of(small))), -1)


def _least_infer(a: TensorType, b: TensorType, rcond: float) -> TensorType:
    if a.ndim < 2 or b.ndim < 2 or None in (a.shape[-1], b.shape[-1]) or not fits(a.shape[:-1], b.shape[:-1]):
        raise ShapeError(f"linalg.lstsq: A {shape_text(a.shape)} and B {shape_text(b.shape)} don't fit")
    return b.with_shape((*b.shape[:-2], a.shape[-1] * b.shape[-1] + 1))


def _least_eval(a: np.ndarray, b: np.ndarray, rcond: float) -> np.ndarray:
    """The solution, then the rank: by LAPACK's QR factors with exchanged columns."""
    (m, n), k = a.shape[-2:], b.shape[-1]
    out = np.zeros((*b.shape[:-2], n * k + 1), b.dtype)
    if not a.size or not b.size:
        return out
    gelsy, work = (routine("lapack", name, b.dtype) for name in ("gelsy", "gelsy_lwork"))
    room = int(work(m, n, k, rcond)[0].real)
    right = np.zeros((max(m, n), k), b.dtype)
    for place in np.ndindex(b.shape[:-2]):
        right[:m] = b[place]
        _, x, _, rank, _ = gelsy(a[place], right, np.zeros((n, 1), np.int32), rcond, room)
        out[place][:-1], out[place][-1] = x[:n].reshape(-1), rank
    return out


def _solution(flat: Any, a: Any, b: Any) -> Any:
    n, k = a.shape[-1], b.shape[-1]
    return F.reshape(cut(flat, ndim_of(flat) - 1, 0, n * k), (*b.shape[:-2], n, k))


def _least_da(g: Any, node: Any, out: Any, a: Any, b: Any) -> Any:
    """`_pinv_vjp` for the product of the pseudoinverse and B."""
    x, gx, inverse = _solution(out, a, b), F.adjoint(_solution(g, a, b)), pinv(a, node.attrs["rcond"])
    first = F.matmul(F.adjoint(F.matmul(gx, inverse)), F.adjoint(x))
    second = F.matmul(b - F.matmul(a, x), F.matmul(F.matmul(gx, inverse), F.adjoint(inverse)))
    third = F.matmul(F.adjoint(inverse), F.matmul(x, gx - F.matmul(F.matmul(gx, inverse), a)))
    return second + third - first


def _least_db(g: Any, node: Any, out: Any, a: Any, b: Any) -> Any:
    return F.matmul(F.adjoint(pinv(a, node.attrs["rcond"])), _solution(g, a, b))


least_squares_op = host_record("lstsq", _least_infer, _least_eval, (_least_da, _least_db), {"rcond": at.number},
                               "X that minimizes |A X - B|, and A's rank.", complex=LINEAR)  # fmt: skip


@linalg(twin=np.linalg.lstsq)
def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> return_types.lstsq:
    """The named tuple (solution, residuals, rank, singular_values) that minimizes |A X - B|.

    As with PyTorch's default driver, the last two are empty, and residuals are given where A has more rows than columns.
    """
    check_matrices("lstsq", A)
    if not ndim_of(B):
        raise ShapeError("linalg.lstsq: other must have at least 1 dimension.")
    m, n = extents("lstsq", A, -2)
    vector = ndim_of(B) == 1 or (ndim_of(B) + 1 == ndim_of(A) and tuple(B.shape) == tuple(A.shape[:-1]))
    b = F.expand_dims(B, ndim_of(B)) if vector else B
    kind = dtype_of(as_floats(A))
    limit = float(finfo(kind).eps) * max(m, n) if rcond is None else float(rcond)
    flat = apply(least_squares_op, A, b, rcond=limit)
    x = _solution(flat, A, b)
    if m > n and driver != "gelsy":
        missed = F.matmul(A, x) - b
        residuals = F.sum(F.square(F.abs(missed) if missed.dtype.kind == "c" else missed), -2)
    else:
        residuals = in_mode_of(np.zeros((0,), part_dtype(dtype_of(x))), x)
    empty = in_mode_of(np.zeros((0,), part_dtype(dtype_of(x))), x)
    if driver == "gels":
        rank = in_mode_of(np.zeros((0,), np.int64), x)
    else:
        rank = F.astype(F.real(F.select(F.stop_gradient(flat), -1, n * x.shape[-1])), np.int64)
    values = svdvals(A) if driver in ("gelss", "gelsd") else empty
    return return_types.lstsq(F.squeeze(x, -1) if vector else x, residuals, rank, values)


@linalg()
def cond(A: Any, p: Any = None) -> Any:
    """The condition number: |A| |inv(A)| in the norm p; for None and 2 the quotient of singular values."""
    if p in (None, 2, -2):
        values = svdvals(A)
        if 0 in A.shape[-2:]:
            return F.sum(values, -1)
        top, low = F.select(values, -1, 0), F.select(values, -1, values.shape[-1] - 1)
        return low / top if p == -2 else top / low
    check_square("cond", A)
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


@linalg(twin=np.linalg.tensorinv)
def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse for `tensordot(..., ind)`. Raises ArgumentError, ShapeError."""
    shape, ind = extents("tensorinv", A), integer("tensorinv", "ind", ind)
    if ind <= 0:
        raise ArgumentError(f"Expected a strictly positive integer for 'ind', got {ind}")
    head, tail = shape[:ind], shape[ind:]
    if math.prod(head) != math.prod(tail):
        raise ShapeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), got {A.shape}"
        )
    return F.reshape(inv(F.reshape(A, (math.prod(head), -1)) if A.shape and 0 not in A.shape else A), (*tail, *head))


@linalg(twin=np.linalg.tensorsolve)
def tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:
    """X with tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        axes = [normalize_axis(d, ndim_of(A)) for d in dims]
        A = movedim(A, axes, list(range(ndim_of(A) - len(axes), ndim_of(A))))
    shape = extents("tensorsolve", A, ndim_of(B))
    size = math.prod(shape)
    if size != math.prod(extents("tensorsolve", B)):
        raise ShapeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim])",
            f"got {shape_text(A.shape)}",
        )
    return F.reshape(solve(F.reshape(A, (size, size)), F.reshape(B, (size,))), shape)
