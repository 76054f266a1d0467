"""The tape as a Graph: the same IR as that of a define-then-run program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.types import shape_text, type_of
from ..errors import CompileError, GraphError, StaticgradError
from ..ir import REGISTRY, Cell, Expand, Graph, Node, Region, Result, Subgraph, lasting, literal
from ..ops.custom_gradient import call_op
from ..ops.operands import LoopOperands
from ..ops.operators import F, Symbol, frontends, lines_of
from ..ops.operators import Tensor as AnyTensor
from ..ops.shaping import adjoint_op
from .backward_engine import BackwardEngine
from .calls.kernels import OFF
from .execution import run
from .grad_mode import modes
from .tape import FreedTensor, Record, changed, edge
from .tensor import Tensor, wrap

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
    return known[_key(tensor, source)]


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


# A program of the IR on the tape: every operation runs and is recorded as in eager mode, loops and branches by Python.
#
# The backward pass over that tape computes the gradients of loops and branches, so they have the bits of eager mode:
# cotangents are added one by one, in the order in which the operations ran. `compiler/passes/specialize.py` uses it.

Values = dict[Node, Any]


class Replay:
    """The function of the `leaves`, nodes without inputs, that computes `results`. order: all nodes, operands first."""

    def __init__(self, order: Sequence[Node], leaves: Sequence[Node], results: Sequence[Node]):
        self.leaves, self.results = leaves, results
        self.order = order
        self.sources = {x for node in order if node.op is adjoint_op for x in _parts(node)[2]}
        self.apart = self.sources | {x for node in order if node.op is adjoint_op for x in _parts(node)[3]}
        """Nodes whose tensors are objects of their own, also where they only name the value of another node."""
        if self.sources:
            _check_functions(order)

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        mode = modes.now
        saved = mode.grad, mode.anomaly, mode.arrays, mode.kernels
        mode.grad, mode.anomaly, mode.arrays, mode.kernels = True, False, False, OFF
        try:
            values = self._run(arrays)
        finally:
            mode.grad, mode.anomaly, mode.arrays, mode.kernels = saved
        return tuple(values[node]._data for node in self.results)

    def _run(self, arrays: Sequence[np.ndarray]) -> Values:
        values: Values = {node: wrap(array) for node, array in zip(self.leaves, arrays, strict=True)}
        groups: dict[Any, list[Any]] = {}
        for node in self.order:
            if node.op is not adjoint_op:
                if node not in values:
                    made = values[node] = _value(node, values)
                    if node in self.apart and any(made is values[i] for i in node.inputs):
                        values[node] = _renamed(made)
            else:
                group = _group(node)
                if group not in groups:
                    groups[group] = self._gradients(node, values)
                g = groups[group][node.attrs["index"]]
                values[node] = wrap(np.zeros(node.type.shape, node.type.dtype)) if g is None else g
            if node in self.sources and not values[node]._tracked:
                values[node].requires_grad_(True)
        return values

    def _gradients(self, node: Node, values: Values) -> list[Any]:
        """The cotangents of one group; None where nothing flows in this run."""
        ys, seeds, xs, stops = ([values[n] for n in part] for part in _parts(node))
        roots = [(y, seed) for y, seed in zip(ys, seeds, strict=True) if y._tracked]
        engine = BackwardEngine([y for y, _ in roots], [seed for _, seed in roots], True, xs)
        assert engine.needed is not None
        for stop in stops:
            engine.needed.pop(stop._record, None)
        engine.run(True)
        return [engine.found.get(id(x), (None, None))[1] for x in xs]


def _check_functions(order: Sequence[Node]) -> None:
    """Raises CompileError for a call of an `autograd.Function`, whose own gradient the tape of a replay would not have."""
    for node in order:
        if node.op is call_op:
            raise CompileError(
                f'numerics="strict" can\'t repeat the gradient of {node.attrs["call"]}, an autograd.Function, beside loops or '
                "branches",
                "use fast numerics, or move the function out of the compiled step",
                where=node.where,
            )
        for value in node.attrs.values():
            if isinstance(value, Subgraph):
                _check_functions(value.graph.nodes)


def _group(node: Node) -> Any:
    return node.inputs[1:], node.attrs["ys"], node.attrs["xs"]


def _parts(node: Node) -> list[Sequence[Node]]:
    """The differentiated results, their cotangents, the tensors with respect to which they are differentiated, and the tensors
    held constant."""
    n, m = node.attrs["ys"], node.attrs["xs"]
    rest = node.inputs[1:]
    return [rest[:n], rest[n : 2 * n], rest[2 * n : 2 * n + m], rest[2 * n + m :]]


def _value(node: Node, values: Values) -> Any:
    """One operation. Raises its errors with the user's line."""
    op = node.op
    if op.leaf:
        return wrap(op.eval(**node.attrs))
    operands = [values[i] for i in node.inputs]
    try:
        if isinstance(op.emit, Result):
            return operands[0][node.attrs["index"]]
        if isinstance(op.emit, Region):
            return (_loop if "body" in node.attrs else _branch)(node, operands)
        if op.equals is not None:
            return operands[1]
        if op.name == "identity":  # it only names a value, and has no eager counterpart
            return operands[0]
        return run(op, tuple(operands), dict(node.attrs))
    except StaticgradError as error:
        raise type(error)(error.summary, *error.details, where=node.where) from None


def _renamed(x: Any) -> Any:
    """The same value at another point of the tape."""
    return wrap(x._data, Record(REGISTRY["identity"], (x,), {}, x._data) if x._tracked else None)


def _call(body: Subgraph, operands: Sequence[Any]) -> list[Any]:
    body = body if body.written is None else body.written
    values: Values = dict(zip(body.params, operands, strict=True))
    for node in body.graph.reaching(body.results):
        if node not in values:
            values[node] = _value(node, values)
    return [values[result] for result in body.results]


def _branch(node: Node, operands: Sequence[Any]) -> list[Any]:
    pred, *given = operands
    return [F.clone(x) for x in _call(node.attrs["then" if pred._data else "orelse"], given)]


def _loop(node: Node, operands: Sequence[Any]) -> Sequence[Any]:
    """Run a loop as `scan` and `while_loop` do on eager tensors."""
    loop = LoopOperands(node.attrs, operands)
    n, carries = len(loop.inits), list(loop.inits)
    made: list[list[Any]] = []
    for t in _steps(node, loop):
        if loop.cond is not None and not loop.cond.eval([x._data for x in (*loop.consts, *carries)])[0]:
            break
        found = _call(loop.body, [*loop.consts, *carries, *(x[t] for x in loop.stacks)])
        carries = found[:n]
        made.append(found[n:])
    done = [wrap(np.asarray(len(made)))] if loop.cond is not None else []
    stacks: list[Any]
    if not made:  # stacks of no items
        stacks = [wrap(x) for x in node.op.eval(*(x._data for x in operands), **node.attrs)[n : n + len(loop.items)]]
    else:
        if node.attrs["reverse"]:
            made.reverse()
        stacks = [F.stack(values) for values in zip(*made, strict=True)]
    return [*(F.clone(c) for c in carries), *stacks, *done]


def _steps(node: Node, loop: LoopOperands) -> Any:
    if loop.cond is not None:
        return iter(int, 1)
    length = node.attrs["length"]
    n = int(loop.count._data) if loop.count is not None else loop.stacks[0].shape[0] if length is None else length
    return reversed(range(n)) if node.attrs["reverse"] else range(n)


def replay(order: Sequence[Node], leaves: Sequence[Node], results: Sequence[Node]) -> Callable[..., Any]:
    """See `Replay`."""
    return Replay(order, leaves, results)


frontends.replay = replay
