"""Gradients that are 0 except for a few rows: a step writes their parts, and the array is made when `.grad` is first read.

A training step that updates only the rows it used then never passes over the whole table, neither for the update (see
`ops/rewrites/sparse_rules.py`) nor for a gradient that nobody reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from ..compiler.passes.symbolic_extents import Filler
from ..eager.tensor import PublicTensor, Tensor, new, wrap
from ..ir import REGISTRY, Cell, Node, Pointwise, View
from ..types import TensorType

ARRAY: Any = Tensor.__dict__["_data"]


class SparseGradient:
    """The computation of a node's value from the values of `parts`, which are smaller."""

    def __init__(self, node: Node, parts: list[Node], order: list[Node]):
        self.node, self.parts, self.order = node, parts, order

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
                operands = [_stand_in(i) if p in only else values[i] for p, i in enumerate(node.inputs)]
                values[node] = node.op.eval(*operands, **node.attrs)
        return values[self.node]


def _stand_in_node(kind: TensorType) -> Node:
    """A node for an operand of which only the type is read."""
    return Node(REGISTRY["shape"], (), {"type": kind}, kind)


def _stand_in(node: Node) -> np.ndarray:
    """An array that occupies no memory, for an operand of which only the shape is read."""
    return np.broadcast_to(np.zeros((), node.type.dtype), node.type.shape)


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
    def _data(self) -> np.ndarray:
        pending = self.__dict__.get("_pending")
        if pending is not None:
            how, parts = pending
            self._data = how.make([part._data for part in parts])
        array: np.ndarray = ARRAY.__get__(self)
        return array

    @_data.setter
    def _data(self, array: np.ndarray) -> None:
        ARRAY.__set__(self, array)
        self.__class__ = PublicTensor  # type: ignore[assignment]
        self.__dict__.pop("_pending", None)


class DeferredGradientBinding:
    """As `GradientBinding`: the tensor that a step leaves in `holder.grad`, of which the plan writes only the parts."""

    __slots__ = ("cells", "holder", "how", "tensor")

    def __init__(self, holder: Tensor, how: SparseGradient, cells: list[Cell]):
        self.holder, self.how, self.cells = holder, how, cells
        self.tensor = self._deferred()

    def again(self, filler: Filler, cells: Mapping[Cell, Cell]) -> DeferredGradientBinding:
        """The same for a plan over other storage."""
        return DeferredGradientBinding(self.holder, self.how.filled(filler), [cells[cell] for cell in self.cells])

    def release(self) -> None:
        """Let go of the tensors, which are now another binding's."""
        self.tensor = None
        for cell in self.cells:
            cell.tensor = None

    def _deferred(self) -> Any:
        tensor: Any = new(DeferredGradient)
        tensor._record = tensor._base = tensor._views = None
        tensor._tracked = False
        tensor.__dict__["_pending"] = self.how, [cell.tensor for cell in self.cells]
        return tensor

    def held(self) -> bool:
        """Whether the array was made, or somebody else has the tensor and may ask for it. Three references are ours: this
        binding, the specialization's list of gradients, and the argument of `getrefcount`."""
        if self.tensor.__class__ is not DeferredGradient:
            return True
        return getrefcount(self.tensor) - (self.holder._grad is self.tensor) > 3

    def renew(self) -> Tensor:
        """Give the step new parts; the tensor that is held keeps its own."""
        for cell in self.cells:
            old = cell.tensor._data
            cell.tensor = wrap(np.empty(old.shape, old.dtype))
        fresh: Tensor = self._deferred()
        self.tensor = fresh
        return fresh
