"""Rewrite rules for systems, inverses and determinants of matrices, which are written in the factors L and U: a system, that of
its gradient with the transposed matrix, and a determinant share them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import REGISTRY, Node
from ...operators import F, Symbol, apply
from .rule import RewriteRule


def _lu(x: Any) -> tuple[Any, bool]:
    """(factors, turned): L, U and the exchanged rows in one array, of x, or of a matrix of which x is the transposed one."""
    axes, turned = tuple(range(x.ndim)), False
    if x.node.op is REGISTRY["permute"] and x.node.attrs["axes"] == (*axes[:-2], axes[-1], axes[-2]):
        x, turned = Symbol(x.graph, x.node.inputs[0]), True
    return apply(REGISTRY["linalg_lu_factor"], x), turned


def _applied(a: Any, b: Any, name: str) -> Any:
    """X with A X = B. A function of this name has an error where A is singular."""
    factors, turned = _lu(a)
    return apply(REGISTRY["linalg_apply_lu"], apply(REGISTRY["linalg_regular"], factors, a, of=name), b, turned=turned)


def _solve(node: Node, a: Any, b: Any) -> Any:
    return _applied(a, b, "solve")


def _inv(node: Node, x: Any) -> Any:
    rows, columns = (F.index_along(x, x.ndim - k) for k in (2, 1))
    return _applied(x, F.reshape(F.astype(F.eq(rows, columns), x.dtype), x.shape[-2:]), "inv")


def _diagonal(x: Any) -> tuple[Any, Any]:
    """The diagonal of U, and the sign of the exchanges of rows."""
    n, flat = x.shape[-1], _lu(x)[0]
    pivots = flat[..., n * n :]
    exchanges = F.sum(F.astype(F.ne(pivots, F.index_along(pivots, pivots.ndim - 1) + 1), np.int64), -1)
    return flat[..., : n * n : n + 1], 1 - F.astype(exchanges % 2, flat.dtype) * 2


def _det(node: Node, x: Any) -> Any:
    diagonal, sign = _diagonal(x)
    return F.prod(diagonal, -1) * sign


def _slogdet(node: Node, x: Any) -> Any:
    diagonal, sign = _diagonal(x)
    return F.stack([F.prod(F.sign(diagonal), -1) * sign, F.sum(F.log(F.abs(diagonal)), -1)], -1)


FACTORS = (
    RewriteRule("system by factors", "A X = B: X = U^-1 L^-1 P' B", ("linalg_solve",), _solve),
    RewriteRule("inverse by factors", "A^-1 = U^-1 L^-1 P'", ("linalg_inv",), _inv),
    RewriteRule("determinant by factors", "det(A) = det(P) prod(diag(U))", ("linalg_det",), _det),
    RewriteRule("logarithm by factors", "log|det(A)| = sum(log|diag(U)|)", ("linalg_slogdet",), _slogdet),
)
