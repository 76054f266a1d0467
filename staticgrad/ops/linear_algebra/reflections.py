"""QR factors as Householder reflections, and LDL factors, as LAPACK keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.types import TensorType, broadcast_shapes, shape_text
from ...errors import DTypeError, ShapeError
from ...ir import define
from ...operators import F, Tensor, apply, enter_as, torch_function
from .. import attributes as at
from .. import return_types
from ..batching import leading
from ..operands import dtype_of, extent, extents, in_mode_of, ndim_of
from ..over_complex import OWN
from ..slicing import cut
from .decompositions import Packed
from .records import LETTERS, check_matrices, check_square, linalg, routine, zeros_info


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
    result: Tensor = F.matmul(q, other) if left else F.matmul(other, q)
    return result


def _geqrf_eval(x: np.ndarray) -> list[np.ndarray]:
    found = [routine("lapack", "geqrf", m.dtype)(m)[:2] for m in x.reshape(-1, *x.shape[-2:])]
    return [np.array(results) for results in zip(*found, strict=True)]


geqrf_packed = Packed("geqrf", lambda m, n: ((m, n), (min(m, n),)), _geqrf_eval, None, complex=OWN)
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
