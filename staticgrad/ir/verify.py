"""The rules of the IR, checked: by tests after each stage, and by the compiler after each pass that a user adds."""

from __future__ import annotations

from ..base.types import TensorType
from ..errors import StaticgradError, VerifyError
from . import Graph, Node, Subgraph


def verify(graph: Graph, *, static: bool = False) -> Graph:
    """Raise VerifyError unless the graph is well formed; returns it.

    Operands come first, belong to the graph, and fit: inferring each node again gives its type. The edges are those of the
    nodes. With `static`, every extent is known.
    """
    seen = set()
    for position, node in enumerate(graph.nodes):
        what = f"%{position} {node.op.name}"
        for parent in node.parents:
            if parent not in seen:
                raise VerifyError(f"{what} uses {parent!r}, which does not come before it")
        if static and not node.type.static:
            raise VerifyError(f"{what} has unknown extents: {node.type}")
        _check_operands(node, what)
        for name, value in node.attrs.items():
            if isinstance(value, Subgraph):
                _check_body(value, f"{what}, {name}", static=static)
        seen.add(node)
    if len(seen) != len(graph.nodes):
        raise VerifyError("a node is listed twice")
    again = Graph.of(graph.nodes)
    if graph.nodes != list(graph.pred) or (graph.succ, graph.pred) != (again.succ, again.pred):
        raise VerifyError("the edges of the graph are not those of its nodes", "change graphs by `append` and `prune` only")
    return graph


def _check_body(body: Subgraph, what: str, *, static: bool) -> None:
    """Raise VerifyError unless a subgraph is well formed and reads outside values only through its parameters."""
    try:
        verify(body.graph, static=static)
    except VerifyError as error:
        raise VerifyError(f"{what}: {error.summary}") from error
    leaves = {node for node in body.nodes if node.op.leaf not in ("", "constant", "shape")}
    if leaves:
        raise VerifyError(f"{what} reads {sorted(leaf.op.name for leaf in leaves)}, which are not its parameters")
    if any(node.op.effect for node in body.nodes):
        raise VerifyError(f"{what} has effects")


def _check_operands(node: Node, what: str) -> None:
    """Raise VerifyError unless the node's type follows from its inputs and attributes."""
    try:
        again = node.op.typed([i.type for i in node.inputs], node.attrs)
    except StaticgradError as error:
        raise VerifyError(f"{what} does not fit its operands: {error.summary}") from error
    if not (_binds(again, node.type) if node.op.leaf else again == node.type):
        raise VerifyError(f"{what} is {node.type}, its operands give {again}")
    try:
        hash(node.key)
    except TypeError as error:
        raise VerifyError(f"{what} has an attribute that can't be hashed: {error}") from error


def _binds(declared: TensorType, type_: TensorType) -> bool:
    """A leaf may know more extents than its declaration: those that a run has bound."""
    return (
        declared.dtype == type_.dtype
        and declared.ndim == type_.ndim
        and all(a is None or a == b for a, b in zip(declared.shape, type_.shape, strict=True))
    )
