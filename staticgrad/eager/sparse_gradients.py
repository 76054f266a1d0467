"""Gradients that are 0 except for a few rows: their parts are computed, and the array is made when it is first read.

A training step that updates only the rows it used then never passes over the whole table, neither for the update (see
`ops/rewrites/layer_rules.py`) nor for a gradient that nobody reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.types import TensorType
from ..ir import REGISTRY, Node, Pointwise, View
from ..ops.sparse_rows import carry
from .calls.op_calls import value_of_sparse
from .tensor import PublicTensor, Tensor, new

if TYPE_CHECKING:
    from ..compiler.passes.symbolic_extents import Filler

ARRAY: Any = Tensor.__dict__["_data"]


class SparseGradient:
    """The computation of a node's value from the values of `parts`, which are smaller."""

    def __init__(self, node: Node, parts: list[Node], order: list[Node]):
        self.node, self.parts, self.order = node, parts, order
        self.stand_ins: dict[Node, np.ndarray] = {}
        """Arrays that occupy no memory, for operands of which only the shape is read."""

    def __reduce__(self) -> Any:
        return SparseGradient, (self.node, self.parts, self.order)

    def described(self) -> tuple[Any, ...]:
        """What it computes: its operations, with operands by number or, of others, by type."""
        number: dict[Node, Any] = {node: i for i, node in enumerate((*self.parts, *self.order))}
        rows = [(node.op, node.attrs, node.type, tuple([number.get(i, i.type) for i in node.inputs])) for node in self.order]
        return tuple([part.type for part in self.parts]), tuple(rows), number[self.node]

    def filled(self, filler: Filler) -> SparseGradient:
        """The same computation for other extents."""
        moved: dict[Node, Node] = {}
        for part in self.parts:
            moved[part] = _stand_in_node(filler.type(part.type))
        for node in self.order:
            inputs = [moved[i] if i in moved else _stand_in_node(filler.type(i.type)) for i in node.inputs]
            attrs = {name: filler.attribute(value) for name, value in node.attrs.items()}
            moved[node] = Node(node.op, tuple(inputs), attrs, filler.type(node.type), node.name, node.where)
        return SparseGradient(moved[self.node], [moved[n] for n in self.parts], [moved[n] for n in self.order])

    def make(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The value, in memory of its own."""
        values = dict(zip(self.parts, arrays, strict=True))
        for node in self.order:
            if node not in values:
                only = node.op.shape_only
                operands = [self._stand_in(i) if p in only else values[i] for p, i in enumerate(node.inputs)]
                if node.op.sparse:
                    values[node] = value_of_sparse(node.op, operands, node.attrs)
                else:
                    values[node] = node.op.eval(*operands, **node.attrs)
                if isinstance(node.op.emit, Pointwise) and node.op.emit.linear:
                    carry(values[node], *operands)
        return values[self.node]

    def _stand_in(self, node: Node) -> np.ndarray:
        found = self.stand_ins.get(node)
        if found is None:
            found = self.stand_ins[node] = np.broadcast_to(np.zeros((), node.type.dtype), node.type.shape)
        return found


def _stand_in_node(kind: TensorType) -> Node:
    """A node for an operand of which only the type is read."""
    return Node(REGISTRY["shape"], (), {"type": kind}, kind)


def sparse_gradient_of(node: Node) -> SparseGradient | None:
    """The computation of a sparse value, or of a sum of such, from the rows that were put into it; None for other values."""
    if not _sparse(node):
        return None
    parts: dict[Node, None] = {}
    order: dict[Node, None] = {}

    def visit(node: Node, inside: bool) -> None:
        if inside or _repeats(node):
            for p, i in enumerate(node.inputs):
                if p not in node.op.shape_only and i not in order and i not in parts:
                    visit(i, _sparse(i))
            order[node] = None
        else:
            parts[node] = None

    visit(node, True)
    return SparseGradient(node, list(parts), list(order))


def _sparse(node: Node) -> bool:
    if node.op.sparse:
        return True
    return isinstance(node.op.emit, Pointwise) and bool(node.inputs) and all(_sparse(i) for i in node.inputs)


def _repeats(node: Node) -> bool:
    """Whether a node only repeats the elements of its one operand: a view, a broadcast, a copy."""
    operands = [i for p, i in enumerate(node.inputs) if p not in node.op.shape_only]
    if len(operands) != 1 or operands[0].type.size > node.type.size:
        return False
    emit = node.op.emit
    return isinstance(emit, View) or bool(node.op.shape_only) or (isinstance(emit, Pointwise) and emit.scalar == "identity")


class DeferredGradient(Tensor):
    """A tensor whose array is made at the first access; from then on it is an ordinary Tensor."""

    __slots__ = ()

    @property
    def pending(self) -> tuple[SparseGradient, Sequence[Tensor]]:
        """How the array is made, and of what."""
        return self.__dict__["_pending"]

    @property
    def _data(self) -> np.ndarray:
        pending = self.__dict__.get("_pending")
        if pending is not None:
            how, parts = pending
            self._data = how.make([part._data for part in parts])
        return ARRAY.__get__(self)

    @_data.setter
    def _data(self, array: np.ndarray) -> None:
        ARRAY.__set__(self, array)
        self.__class__ = PublicTensor  # type: ignore[assignment]
        self.__dict__.pop("_pending", None)


def deferred(how: SparseGradient, parts: Sequence[Tensor]) -> Any:
    """The tensor of a sparse gradient."""
    tensor: Any = new(DeferredGradient)
    tensor._record = tensor._base = tensor._views = None
    tensor._tracked = False
    tensor.__dict__["_pending"] = how, parts
    return tensor
