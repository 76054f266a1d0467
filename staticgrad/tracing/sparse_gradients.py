"""Gradients of compiled steps that are 0 except for a few rows (`eager/sparse_gradients.py`): a step writes their parts."""

from __future__ import annotations

from collections.abc import Mapping
from sys import getrefcount
from typing import Any

import numpy as np

from ..compiler.passes.symbolic_extents import Filler
from ..eager.sparse_gradients import DeferredGradient, SparseGradient, deferred
from ..eager.tensor import Tensor, wrap
from ..ir import Cell


class DeferredGradientBinding:
    """As `gradient_binding.GradientBinding`: the tensor that a step leaves in `holder.grad`, of which the plan writes only the
    parts."""

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
        return deferred(self.how, [cell.tensor for cell in self.cells])

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
