"""Inverses and linear systems."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.dtypes import SHORT
from ...base.types import TensorType, broadcast_shapes, shape_text
from ...errors import LinAlgError, ShapeError
from ...ir import Call, Copy, Layout, Native, Node, OpDef, Routine, define
from ...operators import F, Tensor, apply, enter_as
from .. import attributes as at
from .. import return_types
from ..batching import leading, solved
from ..operands import in_mode_of, ndim_of
from ..over_complex import HOLOMORPHIC
from ..rules import keep, unbroadcast
from .records import check_square, host_record, linalg, same_type, zeros_info


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


regular_op = define(
    "linalg_regular",
    lambda x, like, of: x,
    _regular_eval,
    (lambda g, node, out, x, like: g, None),
    Native(_regular_plan, inplace=0, check=lambda node, row: _singular(node.attrs["of"]), alike=True),
    keep,
    shape_only=(1,),
    attrs={"of": at.text},
    batch=leading,
    complex=HOLOMORPHIC,
    doc="Matrices like the second operand, or such matrices flat, without a 0 on their diagonals. of: whose error it is.",
)


inv_op = host_record(
    "inv", same_type, np.linalg.inv,
    (lambda g, node, out, x: -F.matmul(out.mT, F.matmul(g, out.mT)),), doc="The inverse of square matrices.",
    complex=HOLOMORPHIC,
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
    complex=HOLOMORPHIC,
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
