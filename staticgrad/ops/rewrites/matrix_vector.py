"""Rewrite rules for products of a matrix and a vector: kernels compute them among other work, BLAS in calls of its own.

A product with one column is a sum over the elements of each row, and its transpose is a sum over rows. Fused with their
neighbors, a loss and its gradient read their matrix once. The rules apply where an extent is 1 because a weight is a vector.
They don't apply where a batch happens to hold one example, which uses the kernels of any other batch.
"""

from __future__ import annotations

from typing import Any

from ...ir import REGISTRY, Node
from ...operators import F, Symbol


def _turned(x: Any) -> Any:
    """The matrix that x is the transpose of, else None."""
    return Symbol(x.graph, x.node.inputs[0]) if x.node.op is REGISTRY["permute"] else None


def _weight(x: Any) -> bool:
    """Extents of variables and constants are never those of a batch."""
    inner = _turned(x)
    source = x if inner is None else inner
    return source.node.op.leaf in ("variable", "constant")


def outer_product(node: Node, a: Any, b: Any) -> Any:
    """(m, 1) @ (1, n) is a product by broadcasting."""
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != 1:
        return None
    if _turned(a) is not None and not _weight(a):
        return None
    return F.mul(a, b)


def times_column(node: Node, a: Any, b: Any) -> Any:
    """(m, k) @ (k, 1), summed along the rows of a, or down the columns of its transpose."""
    if len(a.shape) != 2 or len(b.shape) != 2 or b.shape[1] != 1 or node.type.dtype.kind != "f":
        return None
    if _turned(b) is not None and not _weight(b):
        return None
    other = _turned(a)
    if other is None:
        total = F.sum(F.mul(a, F.reshape(b, (b.shape[0],))), 1)
    else:
        total = F.sum(F.mul(other, b), 0)
    return F.reshape(total, node.type.shape)


def row_times(node: Node, a: Any, b: Any) -> Any:
    """(1, k) @ (k, n) for a transposed column: summed down the columns of b, or along rows of what it is the transpose
    of."""
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[0] != 1 or node.type.dtype.kind != "f":
        return None
    column = _turned(a)
    if column is None and not _weight(a):
        return None
    other = _turned(b)
    vector = F.reshape(a, (a.shape[1],)) if column is None else F.reshape(column, (a.shape[1],))
    if other is None:
        total = F.sum(F.mul(b, F.expand_dims(vector, 1)), 0)
    else:
        total = F.sum(F.mul(other, vector), 1)
    return F.reshape(total, node.type.shape)
