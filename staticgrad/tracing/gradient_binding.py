"""The gradients that a compiled step leaves in `.grad`."""

from __future__ import annotations

from collections.abc import Mapping
from sys import getrefcount
from typing import Any

import numpy as np

from ..compiler.passes.symbolic_extents import Filler
from ..eager.sparse_gradients import DeferredGradient, SparseGradient, deferred
from ..eager.tensor import Tensor, wrap
from ..ir import Cell


class GradientBinding:
    """The tensor that a step leaves in `holder.grad`; `cell` is where the plan writes it.

    Eager steps make a new tensor each time, so a tensor that the user still holds must not be written again. The only access
    to it is `.grad`, whose reads `Structure.reads` counts: usually no reference count has to be taken.
    """

    __slots__ = ("alone", "cell", "cells", "holder")

    def __init__(self, holder: Tensor, cell: Cell):
        self.holder = holder
        self.cell = cell
        self.cells = [cell]
        self.alone: tuple[int, int] | None = None
        """Reference counts of the tensor and of its array when only this binding holds them."""

    @property
    def tensor(self) -> Tensor:
        """What the step leaves in `.grad`."""
        return self.cell.tensor

    def release(self) -> None:
        """Let go of the tensor, which is now another binding's: that one counts who holds it."""
        self.cell.tensor = None

    def again(self, filler: Filler, cells: Mapping[Cell, Cell]) -> GradientBinding:
        """The same for a plan over other storage."""
        return GradientBinding(self.holder, cells[self.cell])

    def held(self) -> bool:
        """Whether somebody else holds the tensor or its array. The first call, when nobody can, sets the baseline."""
        tensor = self.cell.tensor
        counts = getrefcount(tensor) - (self.holder._grad is tensor), getrefcount(tensor._data)
        if self.alone is None:
            self.alone = counts
        return counts[0] > self.alone[0] or counts[1] > self.alone[1]

    def renew(self) -> Tensor:
        """Give the step a new tensor; those who hold the old one keep it."""
        old = self.cell.tensor._data
        self.cell.tensor = wrap(np.empty(old.shape, old.dtype))
        return self.cell.tensor


def fits(g: Tensor, cell: Cell) -> bool:
    """Whether a gradient has the type of a cell, and memory that a plan may write."""
    data, kind = g._data, cell.type
    return (
        g._record is None
        and data.shape == kind.shape
        and data.dtype == kind.dtype
        and data.flags.c_contiguous
        and data.flags.writeable
    )


# Gradients of compiled steps that are 0 except for a few rows (`eager/sparse_gradients.py`): a step writes their parts.


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
