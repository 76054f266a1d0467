"""Whose memory the cotangents of a backward pass are in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..ops.sparse_rows import carry
from .execution import link
from .tensor import Tensor, ndarray, wrap


class Held:
    """Tensors that somebody outside of a backward pass may hold: seeds, arguments and results of hooks, gradients given away.

    by_tensors: the rules compute on tensors, else on arrays.
    """

    __slots__ = ("by_tensors", "tensors")

    def __init__(self, tensors: Iterable[Any], by_tensors: bool = False):
        self.by_tensors = by_tensors
        self.tensors: dict[int, Tensor] = {}
        """By id of the tensor, or of its array and of the array that owns the memory."""
        for tensor in tensors:
            self.add(tensor)

    def add(self, tensor: Any) -> None:
        if self.by_tensors:
            self.tensors[id(tensor)] = tensor
            return
        data = tensor._data
        self.tensors[id(data)] = tensor
        if data.base is not None:
            self.tensors.setdefault(id(owner(data)), tensor)

    def has(self, tensor: Any) -> bool:
        return id(tensor) in self.tensors

    def tensor(self, data: np.ndarray) -> Tensor:
        """An array as a tensor, as PyTorch's `grad` returns it: one that a rule passed on unchanged is one tensor for all who
        get it, and one that a rule took a view of is a view of it."""
        found = self.tensors.get(id(data))
        if found is None or (found._data is not data and owner(found._data) is not data):  # a hook may give a tensor other data
            found = self.tensors[id(data)] = wrap(data)
            if data.base is not None and (whole := owner(data)) is not data:
                link(found, self.tensor(whole))
        return found

    def own(self, data: np.ndarray) -> Tensor:
        """An array, or a copy of it, as a tensor whose memory nobody else holds."""
        if data.base is not None or id(data) in self.tensors or not data.flags.writeable:
            data = carry(data.copy(), data)
        found = self.tensors[id(data)] = wrap(data)
        return found


def owner(array: np.ndarray) -> np.ndarray:
    """The array whose memory it is."""
    base: Any = array.base
    while base is not None:
        if base.__class__ is ndarray:
            array = base
        base = getattr(base, "base", None)
    return array
