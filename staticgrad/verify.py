"""The rules of the IR, checked: run between passes in tests, and by `Program` when asked."""

from __future__ import annotations

from .errors import StaticgradError, VerifyError
from .ir import Graph, Leaf


def verify(graph: Graph, *, static: bool = False) -> Graph:
    """Raise VerifyError unless the graph is well formed; returns it.

    Operands come first, belong to the graph, and fit: inferring each node again gives its type. With `static`, every
    extent is known.
    """
    seen = set()
    for position, node in enumerate(graph.nodes):
        for parent in node.parents:
            if parent not in seen:
                raise VerifyError(f"%{position} {node.op.name} uses {parent!r}, which does not come before it")
        if static and not node.type.static:
            raise VerifyError(f"%{position} {node.op.name} has unknown extents: {node.type}")
        if not isinstance(node.op.emit, Leaf):
            try:
                again = node.op.infer(*(i.type for i in node.inputs), **node.attrs)
            except StaticgradError as error:
                raise VerifyError(f"%{position} {node.op.name} does not fit its operands: {error.summary}") from error
            if again != node.type:
                raise VerifyError(f"%{position} {node.op.name} is {node.type}, its operands give {again}")
        hash(node.key)
        seen.add(node)
    if len(seen) != len(graph.nodes):
        raise VerifyError("a node is listed twice")
    return graph
