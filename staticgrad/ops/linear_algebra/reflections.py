"""QR factors as Householder reflections, and LDL factors, as LAPACK keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DTypeError, ShapeError
from ...ir import OpDef, define
from ...operators import F, Tensor, apply, enter_as, torch_function
from ...signals import module
from ...types import TensorType, broadcast_shapes, shape_text
from .. import attributes as at
from .. import return_types
from ..batching import leading
from ..operands import dtype_of, extent, extents, in_mode_of, ndim_of
from ..over_complex import OWN
from ..slicing import cut
from .records import as_floats, check_matrices, check_square, host_record, linalg, same_type, zeros_info


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


def _stacked(function: Any, x: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Results of `function` for each matrix of x, (..., rows, columns)."""
    if not x.size:
        return np.zeros((*x.shape[:-2], rows, columns), x.dtype)
    found = [function(m) for m in x.reshape(-1, *x.shape[-2:])]
    return np.array(found, x.dtype).reshape(*x.shape[:-2], rows, columns)


def _geqrf_eval(x: np.ndarray) -> np.ndarray:
    """A row of tau below the factors: (..., m + 1, n)."""
    m, n = x.shape[-2:]

    def factors(a: np.ndarray) -> np.ndarray:
        (geqrf,) = module("scipy.linalg").get_lapack_funcs(("geqrf",), (a,))
        packed, tau, _, _ = geqrf(a)
        return np.concatenate([packed, np.pad(tau, (0, n - len(tau)))[None]])

    return _stacked(factors, x, m + 1, n)


geqrf_op = host_record(
    "geqrf", lambda x: x.with_shape((*x.shape[:-2], extents("geqrf", x, -2)[0] + 1, x.shape[-1])), _geqrf_eval, None,
    doc="R and the vectors of reflections, and below them their weights.", complex=OWN,
)  # fmt: skip


@torch_function()
def geqrf(input: Any) -> return_types.geqrf:
    """The named tuple (a, tau): R in the upper triangle of `a`, reflections of Q below it. It has no derivative."""
    check_matrices("geqrf", input)
    m, n = extents("geqrf", input, -2)
    packed, rows = apply(geqrf_op, as_floats(input)), ndim_of(input) - 2
    tau = F.squeeze(cut(cut(packed, rows, m, m + 1), rows + 1, 0, min(m, n)), rows)
    return return_types.geqrf(cut(packed, rows, 0, m), tau)


def _kind(a: np.ndarray, hermitian: bool) -> str:
    """LAPACK's name of the kind of matrices."""
    return "he" if hermitian and a.dtype.kind == "c" else "sy"


def _factored(a: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray]:
    (factor,) = module("scipy.linalg").get_lapack_funcs((f"{_kind(a, hermitian)}trf",), (a,))
    packed, pivots, _ = factor(a, lower=1)
    return np.tril(packed), pivots


def _ldl_eval(x: np.ndarray, hermitian: bool) -> np.ndarray:
    return _stacked(lambda a: _factored(a, hermitian)[0], x, *x.shape[-2:])


def _ldl_pivots_eval(x: np.ndarray, hermitian: bool) -> np.ndarray:
    rows = [_factored(a, hermitian)[1] for a in x.reshape(-1, *x.shape[-2:])] if x.size else []
    return np.array(rows, np.int32).reshape(x.shape[:-1])


ldl_op = host_record(
    "ldl_factor", same_type, _ldl_eval, None, attrs={"hermitian": at.flag}, doc="L and D in one triangle.", complex=OWN
)
ldl_pivots_op = host_record(
    "ldl_pivots", lambda x, hermitian: TensorType(x.shape[:-1], np.dtype(np.int32)), _ldl_pivots_eval, None,
    attrs={"hermitian": at.flag}, shown="ldl_factor", complex=OWN,
    doc="Exchanged rows, counted from 1; negative for blocks of two rows.",
)  # fmt: skip


@linalg()
def ldl_factor(A: Any, *, hermitian: bool = False) -> Any:
    """The named tuple (LD, pivots) with A = L D L.T (L.H where hermitian), of which the lower triangle is read: L below the
    diagonal, D of blocks of one or two rows on and below it. It has no derivative."""
    check_square("ldl_factor", A)
    x = as_floats(A)
    return return_types.ldl_factor(*(apply(op, x, hermitian=bool(hermitian)) for op in (ldl_op, ldl_pivots_op)))


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
    (solved,) = module("scipy.linalg").get_lapack_funcs((f"{_kind(packed, hermitian)}trs",), (packed, b))
    for i in np.ndindex(*lead) if out.size else ():
        out[i] = solved(matrices[i], rows[i], right[i], lower=1)[0]
    return out


def _ldl_solve_infer(packed: TensorType, pivots: TensorType, b: TensorType, hermitian: bool) -> TensorType:
    if packed.shape[-1] != b.shape[-2] or pivots.shape != packed.shape[:-1]:
        shapes = ", ".join(shape_text(t.shape) for t in (packed, pivots, b))
        raise ShapeError(f"linalg.ldl_solve: LD, pivots and B don't fit: {shapes}")
    return b.with_shape((*broadcast_shapes(packed.shape[:-2], b.shape[:-2]), *b.shape[-2:]))


ldl_solve_op = define(
    OpDef(
        "linalg_ldl_solve",
        _ldl_solve_infer,
        _ldl_solve_eval,
        promote=None,
        batch=leading,
        attrs={"hermitian": at.flag},
        doc="X with A X = B.",
        complex=OWN,
    )
)


@linalg()
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False) -> Any:
    """X with A X = B, from `ldl_factor`'s results. It has no derivative. Raises ShapeError, DTypeError."""
    check_square("ldl_solve", LD)
    check_matrices("ldl_solve", B)
    if dtype_of(pivots).kind != "i" or dtype_of(LD) != dtype_of(B):
        got = f"{dtype_of(LD)}, {dtype_of(pivots)} and {dtype_of(B)}"
        raise DTypeError(f"linalg.ldl_solve: LD and B have one floating dtype, pivots are integers, got {got}")
    return apply(ldl_solve_op, LD, pivots, B, hermitian=bool(hermitian))
