"""Norms of vectors and matrices; a few singular vectors of large matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.types import normalize_axis
from ...errors import ArgumentError, ShapeError
from ..operands import extent, extents, integer, ndim_of
from ..operators import F, Tensor, composite, numpy_twin, torch_function
from ..rearranging import movedim
from ..reductions import root
from ..shaping import backwards
from ..slicing import cut
from .decompositions import eigh, qr_packed, svd_packed, svdvals
from .records import as_floats, check_matrices, check_square, linalg
from .triangular_factors import _linalg_cholesky
from .triangular_systems import triangular


@linalg()
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """(sum |x|**ord)**(1 / ord) over `dim`, of all elements for None; ord inf, -inf: the largest, the smallest |x|; 0: how many
    are not 0. Where it is 0, its derivative is 0."""
    x = as_floats(x, dtype)
    x = F.abs(x) if x.dtype.kind == "c" else x
    ord = 2.0 if ord is None else ord if isinstance(ord, float) else float(ord)
    if ord == 2:
        return root(F.sum(F.square(x), dim, keepdim))
    if ord == 0:
        return F.sum(F.square(F.sign(F.where(F.ne(x, x), 1, x))), dim, keepdim)  # NaN is not 0
    size = F.abs(x)
    if ord == 1:
        return F.sum(size, dim, keepdim)
    if abs(ord) == math.inf:
        return (F.amax if ord > 0 else F.amin)(size, dim, keepdim)
    zero, edge = F.eq(size, 0), 0.0 if ord > 0 else math.inf
    total = F.sum(F.where(zero, edge, F.pow(F.where(zero, 1.0, size), ord)), dim, keepdim)
    nothing = F.eq(total, edge)
    return F.where(nothing, 0.0, F.pow(F.where(nothing, 1.0, total), 1 / ord))


def _largest(sizes: Any, axis: int, keepdim: bool = False) -> Any:
    """The largest of numbers >= 0; 0 of none."""
    return (F.amax if sizes.shape[axis] != 0 else F.sum)(sizes, axis, keepdim)


@linalg()
def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of matrices in two axes: "fro", "nuc", inf, -inf, 1, -1, 2, -2. Raises ArgumentError for another one."""
    x = as_floats(A, dtype)
    n = ndim_of(x)
    a, b = (normalize_axis(d, n) for d in dim)
    if a == b:
        raise ArgumentError(f"linalg.matrix_norm: dims must be different. Got {dim}")
    if ord == "fro":
        return vector_norm(x, 2, (a, b), keepdim)
    if ord in (1, -1, math.inf, -math.inf):
        first, second = (a, b) if abs(ord) == 1 else (b, a)
        sums = F.sum(F.abs(x), first, True)
        out = _largest(sums, second, True) if ord > 0 else F.amin(sums, second, True)
    elif ord in ("nuc", 2, -2):
        values = svdvals(movedim(x, (a, b), (-2, -1)))
        out = F.sum(values, -1) if ord == "nuc" else _largest(values, -1) if ord == 2 else F.amin(values, -1)
        return F.expand_dims(out, tuple(sorted((a, b)))) if keepdim else out
    else:
        raise ArgumentError(f"linalg.matrix_norm: Order {ord} not supported.")
    return out if keepdim else F.squeeze(out, (a, b))


@linalg(name="norm")
def _linalg_norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`vector_norm` along one axis, or of all elements; `matrix_norm` along two, or of a matrix where `ord` is given.

    Examples:
        >>> sg.linalg.norm(sg.tensor([[3.0, 4.0]]))
        tensor(5.)
    """
    if dim is not None:
        axes = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
        if len(axes) == 2 and ord is not None:
            return matrix_norm(A, ord, axes, keepdim, dtype=dtype)
        return vector_norm(A, 2 if ord is None else ord, axes, keepdim, dtype=dtype)
    if ord is None:
        x = as_floats(A, dtype)
        out = vector_norm(F.reshape(x, (-1,)))
        return F.reshape(out, (1,) * ndim_of(x)) if keepdim else out
    return (vector_norm if ndim_of(A) == 1 else matrix_norm)(A, ord, keepdim=keepdim, dtype=dtype)


@numpy_twin(np.linalg.norm)
def _numpy_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return _linalg_norm(x, ord, axis, keepdims)


@torch_function()
@composite
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The p-norm of the elements along `dim`, of all for None; "fro" is 2, "nuc" the sum of singular values of a matrix.

    Examples:
        >>> sg.norm(sg.tensor([3.0, 4.0]))
        tensor(5.)
    """
    if p == "nuc":
        if dim is None:
            result: Tensor = matrix_norm(input, "nuc", (-2, -1), keepdim, dtype=dtype)
            return result
        result = matrix_norm(input, "nuc", dim, keepdim, dtype=dtype)
        return result
    order = 2 if p in ("fro", None) else p
    if isinstance(order, str):
        raise ArgumentError(f"norm: only 'fro' and 'nuc' are names of norms, got {p!r}")
    if dim is None or dim in ((), []):
        x = as_floats(input, dtype)
        out = vector_norm(F.reshape(x, (-1,)), order)
        return F.reshape(out, (1,) * ndim_of(x)) if keepdim else out
    result = vector_norm(input, order, dim, keepdim, dtype=dtype)
    return result


@torch_function(inplace=True)
@composite
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Tensor:
    """`input` whose slices along `dim` have a p-norm of at most `maxnorm`."""
    axis = normalize_axis(dim, ndim_of(input))
    others = tuple(i for i in range(ndim_of(input)) if i != axis)
    size = vector_norm(input, p, others, True)
    return input * F.where(F.gt(size, maxnorm), maxnorm / (size + 1e-7), F.ones_like(size))


@torch_function()
@composite
def dist(input: Any, other: Any, p: float = 2) -> Tensor:
    """The p-norm of input - other."""
    return vector_norm(F.reshape(input - other, (-1,)), p)


@torch_function(method=False)
@composite
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The p-norms of the differences of rows: (..., n, d) and (..., m, d) give (..., n, m). Raises ShapeError."""
    if extent("cdist", x1, ndim_of(x1) - 1) != extent("cdist", x2, ndim_of(x2) - 1):
        raise ShapeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    return vector_norm(F.expand_dims(x1, ndim_of(x1) - 1) - F.expand_dims(x2, ndim_of(x2) - 2), p, -1)


# a few singular vectors or eigenvectors of large matrices ------------------------------------------------------------


def _basis(A: Any, q: int, niter: int) -> Any:
    """q orthonormal columns that nearly span A's. Source: Halko, Martinsson and Tropp, "Finding structure with randomness",
    2009, algorithm 4.4."""
    (n,) = extents("svd_lowrank", A, -1)
    draws = F.randn_like(F.broadcast_to(F.zeros_like(F.sum(F.stop_gradient(A))), (n, q)))
    span = qr_packed(F.matmul(A, draws), mode="reduced")[0]
    for _ in range(niter):
        span = qr_packed(F.matmul(F.adjoint(A), span), mode="reduced")[0]
        span = qr_packed(F.matmul(A, span), mode="reduced")[0]
    return span


@torch_function(method=False)
def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with A - M close to U diag(S) V.H, of q columns, found with `niter` rounds from random vectors."""
    check_matrices("svd_lowrank", A)
    x = as_floats(A) if M is None else as_floats(A) - F.broadcast_to(as_floats(M), A.shape)
    m, n = extents("svd_lowrank", x, -2)
    wide = m < n
    x = F.adjoint(x) if wide else x
    q, niter = (default if v is None else integer("svd_lowrank", w, v) for w, v, default in (("q", q, 6), ("niter", niter, 2)))
    span = _basis(x, q, niter)
    u, s, vh = svd_packed(F.matmul(F.adjoint(span), x), full=False)
    u, v = F.matmul(span, u), F.adjoint(vh)
    return (v, s, u) if wide else (u, s, v)


@torch_function(method=False)
def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) of `svd_lowrank` for A whose columns have their means taken away, unless center is False: V's columns are the
    principal directions. q: min(6, m, n) unless given. Raises ArgumentError."""
    check_matrices("pca_lowrank", A)
    m, n = extents("pca_lowrank", A, -2)
    q = min(6, m, n) if q is None else integer("pca_lowrank", "q", q)
    if not 0 <= q <= min(m, n):
        raise ArgumentError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ArgumentError(f"niter(={niter}) must be non-negative integer")
    x = as_floats(A)
    return svd_lowrank(x - F.mean(x, -2, True) if center else x, q, niter)


@torch_function(method=False)
def lobpcg(
    A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None, iK: Any = None, niter: int | None = None,
    tol: float | None = None, largest: bool | None = None, method: str | None = None, tracker: Any = None,
    ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The k largest (or smallest) eigenvalues and their vectors, A v = w B v, of symmetric A and positive definite B.

    LAPACK finds all of them at once, so start values (X), preconditioners (iK) and what else steers PyTorch's iteration change
    nothing. Raises ArgumentError for a tracker, which there is no iteration to call.
    """
    if tracker is not None:
        raise ArgumentError("lobpcg: there is no iteration here that a tracker could follow", "leave tracker out")
    check_square("lobpcg", A)
    m = extents("lobpcg", A, -1)[0]
    count = (1 if X is None else X.shape[-1]) if k is None else integer("lobpcg", "k", k)
    if not 0 < count <= m:
        raise ShapeError(f"lobpcg: k has to be in 1 to {m}, got {count}")
    x = as_floats(A)
    if B is None:
        values, vectors = eigh(x)
    else:
        factor = _linalg_cholesky(B)
        inner = triangular(factor, F.swapaxes(triangular(factor, x, upper=False), -1, -2), upper=False)
        values, whitened = eigh(inner)
        vectors = triangular(F.swapaxes(factor, -1, -2), whitened, upper=True)
    axis = ndim_of(x) - 2
    if largest is False:
        return cut(values, axis, 0, count), cut(vectors, axis + 1, 0, count)
    return backwards(cut(values, axis, m - count, m), (axis,)), backwards(cut(vectors, axis + 1, m - count, m), (axis + 1,))
