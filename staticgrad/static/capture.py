"""Eager tensors that are used in a static graph: variables, constants, and their tape written into the graph."""

from __future__ import annotations

import weakref
from collections.abc import MutableMapping
from functools import partial
from typing import Any

import numpy as np

from ..base.types import TensorType, shape_text, type_of
from ..eager.tape import FreedTensor, Record, changed, edge
from ..eager.tape_graph import nodes_of, symbols_of
from ..eager.tensor import Tensor
from ..errors import GraphError, ShapeError, user_line
from ..ir import REGISTRY, Expand, Node, lasting
from ..ir.walks import postorder
from ..ops.operators import Symbol, append, control_of, frontends
from ..ops.operators.dispatch import no_capture
from .dependencies import control_dependencies
from .feeds import frozen
from .graphs import Captured, Graph, Kept, SourceRun
from .variables import Variable, assign


def capture(graph: Any, tensor: Tensor) -> Node:
    """The node of `graph` that stands for an eager tensor.

    A leaf that requires grad becomes a trainable variable, one per tensor and graph, which starts from a copy of the
    tensor's data at the time it is initialized. A tensor that requires no grad becomes a constant: its value at its
    first use, and again after an in-place change. A result that requires grad (`weight.T`) is computed in the graph, as its
    tape says, from the variables and constants of its leaves. Raises GraphError when that tape has been freed, and for
    random numbers, which a graph draws anew in each run.
    """
    if not isinstance(graph, Graph):
        return no_capture(graph, tensor)
    with graph.lock:
        if not tensor._tracked:
            state = _known(graph, tensor, -1)
            return _constant(graph, tensor) if state is None else state
        return _variable(graph, tensor) if tensor._record is None else _replay(graph, tensor._record)


def operand(graph: Any, tensor: Tensor) -> Node:
    """The operand that stands for an eager tensor in an op applied now: as `capture`, except for variables under
    `control_dependencies`."""
    node = capture(graph, tensor)
    variable = graph.variable_of.get(node)
    return node if variable is None else variable.operand()


frontends.capture = operand


def kept(graph: Any, tensor: Tensor) -> Variable:
    """The variable that stands for a tensor which a module keeps as state: it starts from the tensor's data."""
    with graph.lock:
        return graph.variable_of[_variable(graph, tensor, trainable=False)]


def renew(x: Symbol, tensor: Tensor | Symbol, value: Any) -> None:
    """Assign to the state `tensor`, or to a variable, whenever a train step needs `x`, or when it is fetched ("update_ops")."""
    graph: Any = x.graph
    state = tensor if isinstance(tensor, Symbol) else kept(graph, tensor)
    graph.updates.append((x.node, assign(state, value)))


frontends.kept, frontends.renew = kept, renew


def _known(graph: Graph, tensor: Tensor, version: int) -> Node | None:
    known = graph.captured.get(id(tensor))
    return known.node if known is not None and known.tensor() is tensor and known.version == version else None


def _constant(graph: Graph, tensor: Tensor) -> Node:
    if tensor._drawn:
        raise GraphError(
            f"random numbers of shape {shape_text(tensor.shape)} were drawn when the tensor was made: in a graph they would "
            "be a constant, the same in every run",
            "to draw anew in each run, make them inside `with sg.get_default_graph().as_default():` (or that of the graph)",
            "to keep these numbers, say so: sg.constant(tensor); to change them from run to run, feed a placeholder",
        )
    version = changed(tensor)
    node = _known(graph, tensor, version)
    if node is None:
        with control_dependencies(None):
            node = append(graph, REGISTRY["constant"], (), frozen(tensor._data)).node
        graph.captured[id(tensor)] = Captured(weakref.ref(tensor), node, version)
    return node


def _as_captured(tensor: Tensor, kind: TensorType, name: str, run: SourceRun) -> np.ndarray:
    """The tensor's data. Raises ShapeError where it has another shape or dtype than it had."""
    data = tensor._data
    if data.shape != kind.shape or data.dtype != kind.dtype:
        raise ShapeError(
            f"the eager tensor '{name}' was {shape_text(kind.shape)} {kind.dtype} when the graph captured it, and is "
            f"{shape_text(data.shape)} {data.dtype} now"
        )
    return data


def _variable(graph: Graph, tensor: Tensor, trainable: bool = True) -> Node:
    """A variable whose initial value is a placeholder that feeds itself with the tensor's data."""
    node = _known(graph, tensor, -1)
    if node is not None:
        return node
    name = tensor.name or "captured"
    with control_dependencies(None):
        kind = type_of(tensor._data)
        start = append(graph, REGISTRY["placeholder"], (), {"type": kind}, name=f"{name}/initial")
        graph.sources[start.node] = partial(_as_captured, tensor, kind, name)
        variable = Variable.__new__(Variable)
        variable._enter(graph, start, trainable, name)
    graph.captured[id(tensor)] = Captured(Kept(tensor), variable.node, -1)
    return variable.node


def _replay(graph: Graph, last: Record) -> Node:
    """The operations that a record depends on, as nodes."""
    after = control_of(graph)
    known: MutableMapping[Record, Any] = {} if after else graph.replayed  # ordered reads are not shared

    def makers(record: Record) -> list[Record | None]:
        if record.freed:
            raise GraphError(
                "the tape of this tensor was freed by backward()",
                "compute it again, or keep it with backward(retain_graph=True)",
            )
        return [edge(t, record.clock)[0] for t in record.inputs]

    for record in postorder([last], lambda record: [m for m in makers(record) if m is not None], known):
        inputs = tuple(
            _leaf(graph, tensor, record) if maker is None else known[maker]
            for tensor, maker in zip(record.inputs, makers(record), strict=True)
        )
        if isinstance(record.op.emit, Expand) and not lasting(record.op):
            with graph.as_default(), control_dependencies([Symbol(graph, node) for node in after]):
                known[record] = nodes_of(record.op.emit.rule(record, *[symbols_of(graph, x) for x in inputs]))
        else:
            known[record] = graph.add(record.op, inputs, record.attrs, type_of(record.out), "", user_line(), after)
    return known[last]


def _leaf(graph: Graph, tensor: Any, record: Record) -> Node:
    """An operand that no operation made: a variable, or a constant with its value at that time."""
    leaf = edge(tensor, record.clock)[1]
    if leaf is not None:
        return operand(graph, leaf)
    if isinstance(tensor, FreedTensor) or changed(tensor) > record.clock:
        raise GraphError(
            f"a tensor of shape {shape_text(tensor.shape)} that {record.name()} read has been changed in place since",
            "compute the result again, or change a clone()",
        )
    return _constant(graph, tensor)
