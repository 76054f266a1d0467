"""A few singular vectors or eigenvectors of large matrices."""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentError, ShapeError
from ...operators import F, Tensor, torch_function
from ..operands import extents, integer, ndim_of
from ..shaping import backwards
from ..slicing import cut
from .decompositions import eigh, qr_packed, svd_packed
from .records import as_floats, check_matrices, check_square
from .triangular_factors import _linalg_cholesky
from .triangular_systems import triangular


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
