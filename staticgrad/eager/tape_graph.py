"""The tape as a Graph: the same IR as a program that was written define-then-run."""

from __future__ import annotations

from typing import Any

from ..errors import GraphError
from ..ir import REGISTRY, Cell, Graph, Node, literal
from ..operators import Symbol
from ..types import type_of
from .tape import Ghost, Record, leaf_of, source
from .tensor import Tensor


def graph_of(*tensors: Any, backward: bool | None = None) -> Graph:
    """The graph behind tensors or symbols.

    For eager tensors: the tape; leaves that require grad become variables, other values constants. With `backward`
    (default: when a single floating tensor requires grad) the gradients with respect to the variables are appended, so
    forward and backward are one graph. `graph.outputs` names the results: `output`, `grad/<variable>`.
    Raises GraphError when the tape has been freed.
    """
    if any(isinstance(t, Symbol) for t in tensors):
        return _of_symbols(tensors)
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise GraphError(f"graph_of needs tensors, got {type(tensor).__name__}")
    graph, known = Graph(), {}
    leaves: list[tuple[str, Node]] = []
    nodes = [_node(graph, t, source(t, _NOW), known, leaves) for t in tensors]
    outputs = {"output" if len(nodes) == 1 else f"output{i}": node for i, node in enumerate(nodes)}
    if backward is None:
        backward = len(tensors) == 1 and tensors[0]._tracked
    if backward:
        from ..compiler.grad import gradients

        roots = [Symbol(graph, n) for n in nodes]
        found = gradients(roots, [Symbol(graph, n) for _, n in leaves])
        outputs |= {f"grad/{name}": g.node for (name, _), g in zip(leaves, found, strict=True) if g is not None}
    graph.outputs = outputs  # type: ignore[attr-defined]
    return graph


_NOW = 1 << 62


def _of_symbols(symbols: tuple[Any, ...]) -> Graph:
    graph, result = symbols[0].graph, Graph()
    for node in graph.reaching([s.node for s in symbols]):
        result.append(node)
    result.outputs = {s.name if len(symbols) > 1 else "output": s.node for s in symbols}  # type: ignore[attr-defined]
    return result


def _node(graph: Graph, tensor: Any, record: Record | None, known: dict[int, Node], leaves: list[Any]) -> Node:
    """The node of a tensor's value; iterative, as tapes are deep."""
    stack: list[tuple[Any, Record | None]] = [(tensor, record)]
    while stack:
        tensor, record = stack[-1]
        key = id(tensor) if record is None else id(record)
        if key in known:
            stack.pop()
            continue
        if record is None:
            known[key] = _leaf(graph, tensor, leaves)
            stack.pop()
            continue
        if record.freed:
            raise GraphError("the graph behind this tensor was freed by backward()", "use backward(retain_graph=True)")
        operands = [(t, source(t, record.clock)) for t in record.inputs]
        missing = [(t, r) for t, r in operands if (id(t) if r is None else id(r)) not in known]
        if missing:
            stack.extend(missing)
            continue
        inputs = tuple(known[id(t) if r is None else id(r)] for t, r in operands)
        type_ = type_of(record.out)
        known[key] = graph.add(record.op, inputs, record.attrs, type_, where=record.where)
        stack.pop()
    return known[id(tensor) if record is None else id(record)]


def _leaf(graph: Graph, tensor: Any, leaves: list[Any]) -> Node:
    if isinstance(tensor, Ghost):
        tensor.refuse()
    kind = type_of(tensor._data)
    if leaf_of(tensor) is None:
        return graph.add(REGISTRY["constant"], (), literal(tensor._data), kind)
    name = graph.unique_name(tensor.name if tensor.name else "leaf")
    node = graph.add(REGISTRY["variable"], (), {"cell": Cell(name, kind, tensor=tensor)}, kind, name)
    leaves.append((name, node))
    return node
