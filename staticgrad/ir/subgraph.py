"""The body of a loop or branch, a graph with parameters and results, as an attribute of a node; and the evaluator of graphs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..base.types import TensorType
from ..errors import IndexRangeError, StaticgradError
from .graph import Graph, Node
from .lowering import Region, Result

_watch = threading.local()
"""`look`, `seen`: see `watched`."""


@contextmanager
def watched(look: Callable[[], None], seen: Callable[[Node, dict[Node, Any]], None] | None = None) -> Iterator[None]:
    """In this thread, have bodies of loops and branches call `look` whenever they are evaluated, and `seen` with each node and
    the values so far; either raises to stop that."""
    before = getattr(_watch, "look", None), getattr(_watch, "seen", None)
    _watch.look, _watch.seen = look, seen
    try:
        yield
    finally:
        _watch.look, _watch.seen = before


class Subgraph:
    """A pure function: `params` are placeholders of `graph`, `results` nodes of it. Frozen; compared by identity.

    Results may repeat, and may be parameters. All other nodes that the results need are in the graph: a body
    reads outside values only through its parameters. `written`: the same function with every operation that the user wrote, in
    that order, if it is known; for numerics that repeat them one by one.
    """

    __slots__ = ("_order", "_types", "graph", "params", "results", "written")

    def __init__(self, graph: Graph, params: Sequence[Node], results: Sequence[Node], written: Subgraph | None = None):
        self.graph = graph
        self.params = tuple(params)
        self.results = tuple(results)
        self.written = written
        self._order = [n for n in graph.reaching(self.results) if n not in set(self.params)]
        self._types: dict[tuple[TensorType, ...], dict[Node, TensorType]] = {}

    def __reduce__(self) -> Any:
        number = {node: i for i, node in enumerate(self.graph.nodes)}
        params, results = ([number[node] for node in nodes] for nodes in (self.params, self.results))
        return _subgraph, (self.graph, params, results, self.written)

    def __lt__(self, other: Subgraph) -> bool:  # attributes are sorted by key; equal keys never compare values
        return id(self) < id(other)

    @property
    def nodes(self) -> list[Node]:
        """The computed nodes, in order; parameters are not among them."""
        return self._order

    def types(self, given: Sequence[TensorType]) -> dict[Node, TensorType]:
        """The type of every node for parameters of the given types. Raises the ops' errors with the user's line."""
        key = tuple(given)
        if key not in self._types:
            kinds = dict(zip(self.params, key, strict=True))
            for node in self._order:
                kinds[node] = node.type if node.op.leaf else _inferred(node, [kinds[i] for i in node.inputs])
            self._types[key] = kinds
        return self._types[key]

    def infer(self, given: Sequence[TensorType]) -> list[TensorType]:
        """The types of the results."""
        kinds = self.types(given)
        return [kinds[result] for result in self.results]

    def eval(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results in NumPy."""
        look = getattr(_watch, "look", None)
        if look is not None:
            look()
        seen = getattr(_watch, "seen", None)
        values: dict[Node, Any] = dict(zip(self.params, arrays, strict=True))
        evaluate(self._order, values, seen=seen)
        return [values[result] for result in self.results]

    def __repr__(self) -> str:
        return f"<{len(self._order)} nodes>"


def _inferred(node: Node, types: list[TensorType]) -> TensorType:
    try:
        return node.op.typed(types, node.attrs)
    except StaticgradError as error:
        raise type(error)(error.summary, *error.details, where=node.where) from None


def may_fail(node: Node) -> bool:
    """Whether a run of the node may raise an error for the values of its operands: an index out of range, say."""
    if isinstance(node.op.emit, Region):
        bodies = (value for value in node.attrs.values() if isinstance(value, Subgraph))
        return any(may_fail(inner) for body in bodies for inner in body.nodes)
    return not node.op.leaf and bool(node.op.fails)


def failing(node: Node) -> set[Node]:
    """The operations that may fail and that run for this node: itself, or those of the bodies for a result of a loop."""
    if not isinstance(node.op.emit, Result):
        return {node} if node.op.fails and not node.op.leaf else set()
    index, region = node.attrs["index"], node.inputs[0]
    bodies = [value for value in region.attrs.values() if isinstance(value, Subgraph)]
    ends = [(body.graph, body.results[index]) for body in bodies if index < len(body.results)]
    return {inner for graph, end in ends for inner in graph.reaching([end]) if may_fail(inner)}


def _subgraph(graph: Graph, params: Sequence[int], results: Sequence[int], written: Subgraph | None) -> Subgraph:
    """One that arrives by pickle."""
    return Subgraph(graph, [graph.nodes[i] for i in params], [graph.nodes[i] for i in results], written)


# the NumPy interpreter -----------------------------------------------------------------------------------------------

# The reference for every stage of the compiler, and the one loop that evaluates nodes in order.


def evaluate(
    nodes: Iterable[Node], values: dict[Node, Any], leaf: Callable[[Node], Any] | None = None,
    seen: Callable[[Node, dict[Node, Any]], None] | None = None, notes: Sequence[str] = (),
) -> dict[Node, Any]:  # fmt: skip
    """Evaluate nodes in this order into `values`; those that have a value keep it.

    leaf: the values of leaves that are no constants. seen: called with each node and the values so far. Raises the ops' errors
    with the user's line and `notes`.
    """
    for node in nodes:
        if node in values:
            continue
        op = node.op
        try:
            if leaf is None or not op.leaf or op.leaf == "constant":
                value = op.eval(*[values[i] for i in node.inputs], **node.attrs)
            else:
                value = leaf(node)
        except StaticgradError as error:
            raise type(error)(error.summary, *error.details, *notes, where=node.where) from None
        except IndexError as error:
            raise IndexRangeError(f"{op.name}: {error}", *notes, where=node.where) from error
        except ValueError as error:
            raise StaticgradError(f"{op.name}: {error}", *notes, where=node.where) from error
        values[node] = value if isinstance(value, tuple) else np.asarray(value)
        if seen is not None:
            seen(node, values)
    return values


def interpret(
    graph: Graph, targets: Sequence[Node], leaves: Mapping[Node, np.ndarray], leaf: Callable[[Node], Any] | None = None,
    notes: Sequence[str] = (),
) -> dict[Node, Any]:  # fmt: skip
    """`evaluate` of the targets and their ancestors, without NumPy's warnings. `leaves` gives the values of leaves.

    Returns all values by node.
    """
    with np.errstate(all="ignore"):
        return evaluate(graph.reaching(targets, stop=set(leaves)), dict(leaves), leaf, notes=notes)
