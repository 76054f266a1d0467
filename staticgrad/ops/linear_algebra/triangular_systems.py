"""Triangular systems: substitution, which reads one triangle. The gradients are substitutions and products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.types import TensorType
from ...ir import Call, Layout, Native, Node
from ...operators import F, Tensor, apply, torch_function
from .. import attributes as at
from .. import return_types
from ..batching import solved
from ..over_complex import HOLOMORPHIC
from ..rules import unbroadcast
from .records import BLOCK, check_square, factored, host_record, linalg, routine
from .solving import check_system, of_columns, over_shared


def _eval(a: np.ndarray, b: np.ndarray, upper: bool, unit: bool, left: bool) -> np.ndarray:
    """By BLAS for each matrix; where there are more matrices than rows, row by row for all matrices."""
    if not left:
        turned = _eval(a.swapaxes(-1, -2), b.swapaxes(-1, -2), not upper, unit, True)
        return np.ascontiguousarray(turned.swapaxes(-1, -2))
    lead, (n, columns) = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), b.shape[-2:]
    out = np.empty((*lead, n, columns), np.result_type(a, b))
    if not out.size:
        return out
    matrices, rights = np.broadcast_to(a, (*lead, n, n)), np.broadcast_to(b, out.shape)
    if out.size // (n * columns) <= n:
        trsm = routine("blas", "trsm", out.dtype)
        for place in np.ndindex(lead):  # BLAS reads the transposes: X.T A.T = B.T
            out[place] = trsm(1.0, matrices[place].T, rights[place].T, side=1, lower=upper, diag=unit).T
        return out
    with np.errstate(all="ignore"):
        for i in reversed(range(n)) if upper else range(n):
            known = slice(i + 1, n) if upper else slice(0, i)
            row = rights[..., i : i + 1, :] - matrices[..., i : i + 1, known] @ out[..., known, :]
            out[..., i : i + 1, :] = row if unit else row / matrices[..., i : i + 1, i : i + 1]
    return out


def _infer(a: TensorType, b: TensorType, upper: bool, unit: bool, left: bool) -> TensorType:
    return check_system("solve_triangular", a, b, left)


def _plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    upper, unit, left = (node.attrs[name] for name in ("upper", "unit", "left"))
    *lead, n, sides = node.type.shape if left else (*node.type.shape[:-2], *node.type.shape[:-3:-1])
    turned = left and sides == 1  # a row to the right of the transposed matrix
    if turned:
        left, upper = False, not upper
    blocks = -(-sides // BLOCK)
    sizes = n, sides, int(not left), int(upper), int(unit), blocks
    span, work = math.prod(lead) * blocks, math.prod(lead) * n * n * sides
    return factored("substitute", node, [*enumerate(layouts)], sizes, span, work, lead, turned)


def triangular(a: Any, b: Any, *, upper: bool, unit: bool = False, left: bool = True) -> Any:
    """X with A X = B, or X A = B for left=False, of which one triangle of A is read; unit: its diagonal counts as 1. A 0 on the
    diagonal gives infinities."""
    return over_shared(a, b, left, lambda a, b: apply(triangular_op, a, b, upper=upper, unit=unit, left=left))


def right_triangular(a: Any, b: Any, *, upper: bool, unit: bool = False) -> Any:
    """X with X A = B."""
    return triangular(a, b, upper=upper, unit=unit, left=False)


def _db(g: Any, node: Any, a: Any) -> Any:
    attrs = node.attrs
    return triangular(a.mT, g, upper=not attrs["upper"], unit=attrs["unit"], left=attrs["left"])


def _vjp_a(g: Any, node: Any, out: Any, a: Any, b: Any) -> Any:
    of_b = _db(g, node, a)
    product = -(F.matmul(of_b, out.mT) if node.attrs["left"] else F.matmul(out.mT, of_b))
    unit = int(node.attrs["unit"])
    return unbroadcast(F.triu(product, unit) if node.attrs["upper"] else F.tril(product, -unit), a)


triangular_op = host_record(
    "solve_triangular",
    _infer,
    _eval,
    (_vjp_a, lambda g, node, out, a, b: unbroadcast(_db(g, node, a), b)),
    {"upper": at.flag, "unit": at.flag, "left": at.flag},
    doc="X with A X = B or X A = B, of which one triangle of A is read.",
    batch=solved,
    complex=HOLOMORPHIC,
    emit=Native(_plan),
    fails=False,
)


@linalg()
def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """`solve` with the upper or the lower triangle of A, whose diagonal counts as 1 where it is unitriangular. The other
    triangle is not read; a 0 on the diagonal gives infinities."""
    check_square("solve_triangular", A)
    solver = triangular if left else right_triangular
    return of_columns(A, B, lambda b: solver(A, b, upper=bool(upper), unit=bool(unitriangular)))


@torch_function(words={"b": "input"})
def triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> return_types.triangular_solve:
    """The named tuple (solution, cloned_coefficient) of A X = input with a triangle of A."""
    t = F.swapaxes(A, -1, -2) if transpose else A
    solution = solve_triangular(t, input, upper=upper != transpose, unitriangular=unitriangular)
    return return_types.triangular_solve(solution, F.clone(F.broadcast_to(A, (*solution.shape[:-2], *A.shape[-2:]))))


def positive_definite(factor: Any, b: Any) -> Tensor:
    """X with A X = B from A's lower Cholesky factor."""
    result: Tensor = triangular(F.adjoint(factor), triangular(factor, b, upper=False), upper=True)
    return result
