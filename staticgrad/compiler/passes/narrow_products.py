"""Products of which one slice is read: the slice of the operand before the product, whose other elements nobody needs.

The gradient of a concatenation is such a slice: of the cotangent of `concat([x, h])` a recurrence needs the part of h alone. A
rewrite rule sees no readers, and slices of a product that is read as a whole, or in parts, would multiply products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import REGISTRY, Graph, Node
from ...operators import Symbol, apply
from .specialize import copy, rebuild


def narrow_products(
    graph: Graph, results: Sequence[Node], log: list[tuple[str, str]] | None = None
) -> tuple[Graph, dict[Node, Node]]:
    """(A B)[rows, columns] = A[rows] B[columns], where a product is read by one slice only."""
    read = _slices(graph, results)
    if not read:
        return graph, {node: node for node in graph.nodes}

    def rewrite(new: Graph, node: Node, inputs: tuple[Node, ...]) -> Node:
        if node not in read:
            return copy(new, node, inputs)
        rows, columns = read[node]
        a, b = (Symbol(new, i) for i in inputs[0].inputs)
        if log is not None:
            log.append(("slice of a product", node.op.name))
        sliced: Node = apply(node.inputs[0].op, _sliced(a, rows, -2), _sliced(b, columns, -1)).node
        return sliced

    rebuilt, moved = rebuild(graph, results, rewrite)
    rebuilt.prune([moved[r] for r in results])  # of the products as a whole
    kept = rebuilt.pred
    return rebuilt, {old: new for old, new in moved.items() if new in kept}


def _slices(graph: Graph, results: Sequence[Node]) -> dict[Node, tuple[Any, Any]]:
    """Slices that are the only readers of a product, with those of its rows and columns."""
    product, piece, found = REGISTRY["matmul"], REGISTRY["slice"], dict[Node, tuple[Any, Any]]()
    candidates = [node for node in graph.nodes if node.op is piece and node.inputs[0].op is product]
    if not candidates:
        return found
    kept = set(results)
    for node in candidates:
        whole = node.inputs[0]
        if whole in kept or len(graph.succ[whole]) != 1 or any(i.type.ndim < 2 for i in whole.inputs):
            continue
        slices = (*node.attrs["slices"], *[(None, None, 1)] * (whole.type.ndim - len(node.attrs["slices"])))
        leading, (rows, columns) = slices[:-2], slices[-2:]
        if any(not _whole(s, d) for s, d in zip(leading, whole.type.shape, strict=False)):
            continue
        if all(isinstance(s, tuple) and s[2] in (None, 1) for s in (rows, columns)):
            found[node] = rows, columns
    return found


def _whole(s: Any, extent: Any) -> bool:
    return isinstance(s, tuple) and s[0] in (None, 0) and s[1] in (None, extent) and s[2] in (None, 1)


def _sliced(x: Any, s: Any, axis: int) -> Any:
    if _whole(s, x.shape[axis]):
        return x
    slices = [(None, None, 1)] * len(x.shape)
    slices[axis] = s
    return apply(REGISTRY["slice"], x, slices=tuple(slices))
