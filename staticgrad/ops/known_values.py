"""Values of tensors before the run, as far as they follow from constants, extents and given leaves."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.types import TensorType
from ..errors import UnknownExtentError
from ..ir import Deferred, Graph, Node, Region
from ..ir.walks import postorder
from .operators import Symbol


class NeedsValues(UnknownExtentError):
    """A value depends on these leaves, which have none before the run."""

    def __init__(self, reader: Node, leaves: Sequence[Node]):
        names = ", ".join(repr(n.name or n.op.leaf or n.op.name) for n in leaves)
        super().__init__(
            f"{reader.name or reader.op.name}: its shape depends on the value of {names}",
            "shapes, axes and sizes may depend on constants, on shapes, and on what is fed",
            where=reader.where,
        )
        self.leaves = leaves


class Values:
    """The values of tensors of a graph, as far as they follow from constants, known extents and the given leaves. outside: of
    the graph of a body, the values of its parameters, as far as they are known."""

    def __init__(self, given: Mapping[Node, np.ndarray] | None = None, outside: Callable[[Node], Any] = lambda leaf: None):
        self.found: dict[Node, Any] = dict(given or {})
        self.outside = outside
        self.decisions: list[str] = []
        """How the operations were written that the values decide."""
        self.written: dict[Any, Any] = {}
        """Definitions that were written with these values, by themselves and their operands."""

    def __call__(self, node: Node, reader: Node) -> np.ndarray:
        """Raises NeedsValues, at the line of `reader`, where the value depends on other leaves."""
        order = list(postorder([node], _read, self.found))
        unknown = [n for n in order if _unknown(n) and not self._found(n)]
        if unknown:
            raise NeedsValues(reader, unknown)
        for each in order:
            if each in self.found:
                continue
            arrays = [_stand_in(i.type) if p in each.op.shape_only else self.found[i] for p, i in enumerate(each.inputs)]
            with np.errstate(all="ignore"):
                value = each.op.eval(*arrays, **each.attrs)
            self.found[each] = value if isinstance(value, tuple) else np.asarray(value)
        value = self.found[node]
        return value

    def _found(self, leaf: Node) -> bool:
        value = self.outside(leaf)
        if value is not None:
            self.found[leaf] = value
        return value is not None


def _read(node: Node) -> list[Node]:
    return [i for p, i in enumerate(node.inputs) if p not in node.op.shape_only]


def _unknown(node: Node) -> bool:
    if node.op.leaf not in ("", "constant", "shape") or node.op.effect:
        return True
    return any(not node.inputs[p].type.static for p in node.op.shape_only if p < len(node.inputs))


def _stand_in(kind: TensorType) -> np.ndarray:
    return np.broadcast_to(np.zeros((), kind.dtype), kind.shape)


KNOWN: weakref.WeakKeyDictionary[Graph, Values] = weakref.WeakKeyDictionary()
"""The values found in a graph."""


def value_of(x: Symbol) -> np.ndarray:
    """The value of a symbol that follows from constants and known extents, or is given to the definition that is being
    written. Raises NeedsValues for others."""
    return KNOWN.setdefault(x.graph, Values())(x.node, x.node)


def computed(x: Symbol) -> bool:
    """Whether the value of a tensor follows from more than constants, extents and integers that are fed."""
    try:
        value_of(x)
    except NeedsValues as error:
        return any(
            leaf.op.leaf != "placeholder" or leaf.type.dtype.kind not in "iub"
            for leaf in error.leaves
            if not leaf.op.shape_only
        )
    return False


def decided(graph: Graph, how: str) -> None:
    """Note how an operation is written in a graph, for the explanation of the plan."""
    KNOWN.setdefault(graph, Values()).decisions.append(how)


def value_operands(graph: Graph) -> set[Node]:
    """The placeholders of a graph whose values decide how its deferred nodes are written."""
    roots = _value_roots(graph.nodes)
    return {node for node in postorder(roots, _read) if node.op.leaf == "placeholder"} if roots else set()


def _value_roots(nodes: Sequence[Node]) -> list[Node]:
    """The operands whose values decide, of nodes and of the bodies in them."""
    roots: list[Node] = []
    for node in nodes:
        if isinstance(node.op.emit, Deferred):
            roots += [node.inputs[p] for p in node.attrs["values"]]
        elif isinstance(node.op.emit, Region):
            for key, given in node.op.emit.parameters(node.attrs, [i.type for i in node.inputs]).items():
                body = node.attrs[key]
                operands = {p: operand for p, (_, operand) in zip(body.params, given, strict=True)}
                inner = postorder(_value_roots(body.nodes), _read)
                roots += [node.inputs[operands[n]] for n in inner if operands.get(n) is not None]  # type: ignore[index]
    return roots
