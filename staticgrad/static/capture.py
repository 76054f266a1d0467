"""Eager tensors that are used in a static graph: variables and constants of that graph."""

from __future__ import annotations

import weakref
from typing import Any

from ..eager.tensor import Tensor
from ..errors import GraphError
from ..ir import REGISTRY, Node
from ..operators import append, frontends
from ..types import type_of
from .control import control_dependencies
from .graphs import Captured, Graph
from .inputs import frozen
from .variables import Variable


def capture(graph: Any, tensor: Tensor) -> Node:
    """The node of `graph` that stands for an eager tensor.

    A leaf that requires grad becomes a trainable variable, one per tensor and graph, which starts from a copy of the
    tensor's data at the time it is initialized. Any other tensor becomes a constant: its value when it is first used,
    and again after an in-place change. Raises GraphError for a result that requires grad, whose tape would be lost.
    """
    if not isinstance(graph, Graph):
        raise GraphError(f"eager tensors can't enter {graph!r}, which was not made by sg.Graph()")
    if tensor._record is not None and tensor._tracked:
        raise GraphError(
            "an eager result that requires grad can't enter a static graph: its tape would be lost",
            "use its value, x.detach(), or compute it from the leaves inside the graph",
        )
    with graph.lock:
        known = graph.captured.get(id(tensor))
        if known is not None and known.tensor() is tensor and known.version == _version(tensor):
            return known.node
        node = _capture_variable(graph, tensor) if tensor._tracked else _snapshot(graph, tensor)
        graph.captured[id(tensor)] = Captured(_keep(tensor), node, _version(tensor))
    return node


def _version(tensor: Tensor) -> int:
    return -1 if tensor._tracked else tensor._version


def _keep(tensor: Tensor) -> Any:
    """A variable needs its tensor for its initial value; a snapshot does not keep it alive."""
    return (lambda: tensor) if tensor._tracked else weakref.ref(tensor)


def _snapshot(graph: Graph, tensor: Tensor) -> Node:
    with control_dependencies(None):
        return append(graph, REGISTRY["constant"], (), frozen(tensor._data)).node


def _capture_variable(graph: Graph, tensor: Tensor) -> Node:
    """A variable whose initial value is a placeholder that feeds itself with the tensor's data."""
    name = tensor.name or "captured"
    kind = type_of(tensor._data)
    with control_dependencies(None):
        start = append(graph, REGISTRY["placeholder"], (), {"type": kind}, name=f"{name}/initial")
        graph.sources[start.node] = lambda: tensor._data
        variable = Variable.__new__(Variable)
        variable._enter(graph, start, True, name)
    return variable.node


frontends.capture = capture
