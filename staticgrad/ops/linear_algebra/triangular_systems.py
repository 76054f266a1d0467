"""Systems of equations: those with triangles by substitution, which reads one triangle, and general ones; inverses.

The gradients are substitutions and products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.dtypes import SHORT
from ...base.types import TensorType, broadcast_shapes, shape_text
from ...errors import LinAlgError, ShapeError
from ...ir import Call, Copy, Expand, Layout, Native, Node, OpDef, OverComplex, Routine, define
from .. import return_types
from .. import rules as at
from ..operands import in_mode_of, ndim_of
from ..operators import F, Tensor, apply, enter_as, torch_function
from ..over_complex import HOLOMORPHIC
from ..rules import keep, leading, solved, unbroadcast
from .records import BLOCK, check_square, factored, host_record, linalg, routine, same_type, zeros_info


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
    return triangular(F.adjoint(factor), triangular(factor, b, upper=False), upper=True)


# inverses and linear systems -----------------------------------------------------------------------------------------


def _regular_eval(x: np.ndarray, like: np.ndarray, of: str) -> np.ndarray:
    n, flat = like.shape[-1], x.reshape(*like.shape[:-2], math.prod(x.shape[like.ndim - 2 :]))
    if not flat[..., :: n + 1][..., :n].all():
        raise _singular(of)
    return x


def _singular(of: str) -> LinAlgError:
    why = "the matrix is not invertible: its diagonal has a 0" if of == "solve_triangular" else "Singular matrix"
    return LinAlgError(f"linalg_{of}: {why}")


def _regular_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    *lead, n = node.inputs[1].type.shape[:-1]
    span, shape = math.prod(lead), node.type.shape
    sizes, kernel = (n, math.prod(shape[len(lead) :])), f"regular_{SHORT[node.type.dtype]}"
    check = Routine("factorizations", kernel, span, sizes, span * n, chunked=False, name=node.op.name, operands=())
    return [Copy(0, Layout.contiguous(shape)), check]


_REGULAR = Native(_regular_plan, inplace=0, check=lambda node, row: _singular(node.attrs["of"]), alike=True)
regular_op = define(
    "linalg_regular",
    lambda x, like, of: x,
    _regular_eval,
    (lambda g, node, out, x, like: g, None),
    _REGULAR,
    keep,
    shape_only=(1,),
    attrs={"of": at.text},
    batch=leading,
    complex=OverComplex("holomorphic", emit=_REGULAR),
    doc="Matrices like the second operand, or such matrices flat, without a 0 on their diagonals. of: whose error it is.",
)


def _by_factors(node: Node, *operands: Any) -> Any:
    """An op over complex numbers, as the rule for real ones writes it."""
    from ..rewrites.algebra import FACTORS  # with the compiler

    return next(rule for rule in FACTORS if node.op.name in rule.ops).apply(node, *operands)


BY_FACTORS = OverComplex("holomorphic", emit=Expand(_by_factors))


inv_op = host_record(
    "inv", same_type, np.linalg.inv,
    (lambda g, node, out, x: -F.matmul(out.mT, F.matmul(g, out.mT)),), doc="The inverse of square matrices.",
    complex=BY_FACTORS,
)  # fmt: skip


@linalg(twin=np.linalg.inv)
def inv(A: Any) -> Tensor:
    """The inverse of square matrices. Raises ShapeError, LinAlgError for a singular one.

    Examples:
        >>> sg.linalg.inv(sg.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    check_square("inv", A)
    return apply(inv_op, A)


enter_as("inverse", inv)


def check_system(name: str, a: TensorType, b: TensorType, left: bool = True) -> TensorType:
    """The type of X with A X = B, or X A = B for left=False. Raises ShapeError."""
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != a.shape[-2] or a.shape[-1] != b.shape[-2 if left else -1]:
        raise ShapeError(f"linalg.{name}: A {shape_text(a.shape)} and B {shape_text(b.shape)} don't fit")
    return b.with_shape((*broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]))


def of_columns(A: Any, B: Any, solver: Callable[[Any], Any]) -> Any:
    """What a solver of systems makes of B, or of the vectors that it holds."""
    vector = ndim_of(B) == 1 or (ndim_of(B) + 1 == ndim_of(A) and tuple(B.shape) == tuple(A.shape[:-1]))
    return F.squeeze(solver(F.expand_dims(B, ndim_of(B))), -1) if vector else solver(B)


def over_shared(a: Any, b: Any, left: bool, solver: Callable[[Any, Any], Any]) -> Any:
    """solver(A, B), where the leading axes along which B has one matrix A for all are axes of sides instead: the matrix is read
    once for them, and its gradient is one product. The solver may reduce the rows of X, or its columns for left=False."""
    rank, lead = ndim_of(b), max(ndim_of(b) - ndim_of(a), 0)
    extents = [*[1] * lead, *a.shape[: ndim_of(a) - 2]]
    shared = [i for i in range(rank - 2) if len(extents) == rank - 2 and extents[i] == 1 and b.shape[i] != 1]
    if not shared or None in b.shape:
        return solver(a, b)
    kept = [i for i in range(rank - 2) if i not in shared]
    sides = [rank - 2, rank - 1, *shared] if left else [*shared, rank - 2, rank - 1]
    order, own, wide = [*kept, *sides], [b.shape[i] for i in kept], [b.shape[i] for i in sides]
    matrices = F.reshape(a, (*(extents[i] for i in kept), *a.shape[-2:]))
    found = solver(matrices, F.reshape(F.permute(b, order), (*own, *((wide[0], -1) if left else (-1, wide[-1])))))
    wide[0 if left else -1] = found.shape[-2 if left else -1]
    return F.permute(F.reshape(found, (*found.shape[:-2], *wide)), [order.index(i) for i in range(rank)])


def _solve_da(g: Any, node: Any, out: Any, a: Any, b: Any) -> Any:
    return unbroadcast(-F.matmul(apply(solve_op, a.mT, g), out.mT), a)


def _solve_db(g: Any, node: Any, out: Any, a: Any, b: Any) -> Any:
    return unbroadcast(apply(solve_op, a.mT, g), b)


solve_op: OpDef = host_record(
    "solve",
    lambda a, b: check_system("solve", a, b),
    np.linalg.solve,
    (_solve_da, _solve_db),
    doc="X with A X = B.",
    batch=solved,
    complex=BY_FACTORS,
)


@linalg(twin=np.linalg.solve)
def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """X with A X = B, or X A = B for left=False. B: matrices, or vectors. Raises ShapeError, LinAlgError.

    Examples:
        >>> sg.linalg.solve(sg.tensor([[2.0, 0.0], [0.0, 4.0]]), sg.tensor([2.0, 4.0]))
        tensor([1., 1.])
    """
    check_square("solve", A)
    if left:
        return of_columns(A, B, lambda b: _solved(A, b))
    turned = F.swapaxes(A, -1, -2)
    return of_columns(A, B, lambda b: F.swapaxes(_solved(turned, F.swapaxes(b, -1, -2)), -1, -2))


def _solved(a: Any, b: Any) -> Any:
    return over_shared(a, b, True, lambda a, b: apply(solve_op, a, b))


@linalg()
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """The named tuple (result, info) of `solve`."""
    return return_types.solve_ex(solve(A, B, left=left), in_mode_of(zeros_info("solve_ex", A), A))


@linalg()
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    """The named tuple (inverse, info) of `inv`."""
    return return_types.inv_ex(inv(A), in_mode_of(zeros_info("inv_ex", A), A))
