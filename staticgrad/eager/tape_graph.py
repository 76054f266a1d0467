"""The tape as a Graph: the same IR as that of a define-then-run program."""

from __future__ import annotations

from typing import Any

from ..base.types import shape_text, type_of
from ..errors import GraphError
from ..ir import REGISTRY, Cell, Expand, Graph, Node, lasting, literal
from ..operators import Symbol, lines_of
from ..operators import Tensor as AnyTensor
from .grad_mode import modes
from .tape import FreedTensor, Record, changed, edge
from .tensor import Tensor

Edge = tuple[Record | None, Any]


def graph_of(*tensors: AnyTensor, backward: bool | None = None) -> Graph:
    """The graph that computes tensors or symbols.

    For eager tensors: the tape; leaves that require grad become variables, other values constants. With `backward`
    (default: when a single floating tensor requires grad) the gradients with respect to the variables are appended, so
    forward and backward are one graph. `graph.outputs` names the results: `output`, `grad/<variable>`. Nodes have the lines of
    the user's that made them. A thread notes those of its first 20,000 records only, which costs later ones no time; where a
    line is missing, this call has the next 20,000 note theirs. Raises GraphError when the tape has been freed.

    Examples:
        >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
        >>> x.name = "x"
        >>> print(sg.to_text(sg.graph_of((x * x).sum(), backward=False), lines=False))
        %0  f32[2]  variable "x"
        %1  f32[2]  mul(%0, %0)
        %2  f32[]   sum(%1, axis=(0,), keepdims=False)
        outputs: output = %2
    """
    if any(isinstance(t, Symbol) for t in tensors):
        return _of_symbols(tensors)
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise GraphError(f"graph_of needs tensors, got {type(tensor).__name__}")
    graph = Graph()
    known: dict[int, Any] = {}
    leaves: list[tuple[str, Node]] = []
    nodes = [_node(graph, t, edge(t, _NOW), known, leaves) for t in tensors]
    outputs = {"output" if len(nodes) == 1 else f"output{i}": node for i, node in enumerate(nodes)}
    if any(not node.op.leaf and node.where is None for node in graph.nodes):
        modes.now.note_lines()
    if backward is None:
        backward = len(tensors) == 1 and tensors[0].requires_grad
    if backward:
        from ..autodiff.reverse import gradients

        roots = [Symbol(graph, n) for n in nodes]
        found = gradients(roots, [Symbol(graph, n) for _, n in leaves])
        outputs |= {f"grad/{name}": g.node for (name, _), g in zip(leaves, found, strict=True) if g is not None}
    graph.outputs = outputs
    return graph


_NOW = 1 << 62


def symbols_of(graph: Graph, nodes: Any) -> Any:
    """The symbols of a node, or of the results of a call."""
    return tuple(symbols_of(graph, n) for n in nodes) if isinstance(nodes, tuple) else Symbol(graph, nodes)


def nodes_of(symbols: Any) -> Any:
    """The reverse of `symbols_of`."""
    return tuple(map(nodes_of, symbols)) if isinstance(symbols, tuple) else symbols.node


def _of_symbols(symbols: tuple[Any, ...]) -> Graph:
    graph, result = symbols[0].graph, Graph()
    for node in graph.reaching([s.node for s in symbols]):
        result.append(node)
    result.outputs = {s.name if len(symbols) > 1 else "output": s.node for s in symbols}
    return result


def _node(graph: Graph, tensor: Any, source: Edge, known: dict[int, Any], leaves: list[Any]) -> Node:
    """The node of a tensor's value. Iterative, as tapes are deep. source: the tensor's edge at that time, see `edge`."""
    stack: list[tuple[Any, Edge]] = [(tensor, source)]
    while stack:
        tensor, source = stack[-1]
        record = source[0]
        if _key(tensor, source) in known:
            stack.pop()
            continue
        if record is None:
            known[_key(tensor, source)] = _leaf(graph, tensor, source[1] is not None, leaves)
            stack.pop()
            continue
        known_op = lasting(record.op)
        if not known_op and not isinstance(record.op.emit, Expand):
            raise GraphError(
                f"{record.name()} is the call of an autograd.Function: the tape does not hold the operations that it is made "
                "of",
                "build the graph from symbols: the function appends its operations there",
            )
        if record.freed:
            raise GraphError("the tape of this tensor was freed by backward()", "use backward(retain_graph=True)")
        operands = [(t, edge(t, record.clock)) for t in record.inputs]
        missing = [operand for operand in operands if _key(*operand) not in known]
        if missing:
            stack.extend(reversed(missing))
            continue
        _check_unchanged(record)
        inputs = tuple(known[_key(*operand)] for operand in operands)
        if known_op:
            made: Any = graph.add(record.op, inputs, record.attrs, type_of(record.out), where=record.where)
        else:
            rule: Any = record.op.emit.rule  # type: ignore[union-attr]
            with lines_of(record.where):
                made = nodes_of(rule(record, *[symbols_of(graph, x) for x in inputs]))
        known[_key(tensor, source)] = made
        stack.pop()
    found: Node = known[_key(tensor, source)]
    return found


def _key(tensor: Any, source: Edge) -> int:
    return id(tensor) if source[0] is None else id(source[0])


def _check_unchanged(record: Record) -> None:
    """Raises GraphError for a constant or leaf whose value has changed: the graph would compute something else."""
    for tensor in record.inputs:
        if edge(tensor, record.clock)[0] is None and not isinstance(tensor, FreedTensor) and changed(tensor) > record.clock:
            raise GraphError(
                f"a tensor of shape {shape_text(tensor.shape)} that {record.name()} read has been changed in place since",
                "take graph_of before the change, or change a clone()",
            )


def _leaf(graph: Graph, tensor: Any, tracked: bool, leaves: list[Any]) -> Node:
    if isinstance(tensor, FreedTensor):
        tensor.refuse()
    kind = type_of(tensor._data)
    if not tracked:
        return graph.add(REGISTRY["constant"], (), literal(tensor._data), kind)
    name = graph.claim_name(tensor.name if tensor.name else "leaf")
    node = graph.add(REGISTRY["variable"], (), {"cell": Cell(name, kind, tensor=tensor)}, kind, name)
    leaves.append((name, node))
    return node
