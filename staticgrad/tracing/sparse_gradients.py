"""Gradients that are 0 but for a few rows: a step leaves what they are made of, and `.grad` makes the array when it is
looked at.

A training step that updates the rows it used then never walks the table: neither for the update (see `ops/sparse_laws`) nor
for a gradient that nobody reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from ..eager.tensor import PublicTensor, Tensor, new, wrap
from ..ir import Cell, Node, Pointwise, View

ARRAY: Any = Tensor.__dict__["_data"]


class SparseGradient:
    """How to make the value of a node from those of `parts`, which are smaller."""

    def __init__(self, node: Node, parts: list[Node], order: list[Node]):
        self.node, self.parts, self.order = node, parts, order

    def make(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The value, in memory of its own."""
        values = dict(zip(self.parts, arrays, strict=True))
        for node in self.order:
            if node not in values:
                only = node.op.shape_only
                operands = [_stand_in(i) if p in only else values[i] for p, i in enumerate(node.inputs)]
                values[node] = node.op.eval(*operands, **node.attrs)
        return values[self.node]


def _stand_in(node: Node) -> np.ndarray:
    """For an operand of which only the shape is read."""
    return np.broadcast_to(np.zeros((), node.type.dtype), node.type.shape)


def recipe(node: Node) -> SparseGradient | None:
    """How to make a sparse value, or sum of such, from what was put into it; None for other values."""
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
    """It holds the elements of its one operand, all of them or several times."""
    operands = [i for p, i in enumerate(node.inputs) if p not in node.op.shape_only]
    if len(operands) != 1 or operands[0].type.size > node.type.size:
        return False
    emit = node.op.emit
    return isinstance(emit, View) or bool(node.op.shape_only) or (isinstance(emit, Pointwise) and emit.template == "{0}")


class Deferred(Tensor):
    """A tensor whose array is made when it is first asked for; from then on it is a Tensor like any other."""

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
    """As `Home`: the tensor that a step leaves in `holder.grad`, of which the plan writes the parts."""

    __slots__ = ("cells", "holder", "how", "tensor")

    def __init__(self, holder: Tensor, how: SparseGradient, cells: list[Cell]):
        self.holder, self.how, self.cells = holder, how, cells
        self.tensor = self._deferred()

    def _deferred(self) -> Any:
        tensor: Any = new(Deferred)
        tensor._record = tensor._base = tensor._views = None
        tensor._tracked = False
        tensor.__dict__["_pending"] = self.how, [cell.tensor for cell in self.cells]
        return tensor

    def held(self) -> bool:
        """Whether the array was made, or somebody has the tensor and may ask for it: beside this home, the list of what to
        put in `.grad` (and `.grad`), and the argument of the count."""
        return self.tensor.__class__ is not Deferred or getrefcount(self.tensor) - (self.holder._grad is self.tensor) > 3

    def renew(self) -> Tensor:
        """Leave the parts to the tensor that is held."""
        for cell in self.cells:
            old = cell.tensor._data
            cell.tensor = wrap(np.empty(old.shape, old.dtype))
        fresh: Tensor = self._deferred()
        self.tensor = fresh
        return fresh
