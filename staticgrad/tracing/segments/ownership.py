"""Who else sees the memory of a tensor of a run in segments."""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any
from weakref import ref

import numpy as np

from ...compiler.execute.bound_arrays import references
from ...eager.pending import Pending
from ...eager.tensor import Tensor

ndarray = np.ndarray


def _passed(x: object) -> int:
    return getrefcount(x)


def _measured() -> tuple[int, int]:
    x = object()
    at_hand = getrefcount(x)
    return _passed(x) - at_hand, at_hand - 1


PASSED, COUNTED = _measured()
"""References that a function has to a variable of its caller, and `getrefcount` to one of its caller: none in CPython 3.14,
which lends them."""


def viewed(x: Tensor) -> bool:
    """Whether other tensors share the memory of x by the tape."""
    return bool(x._views) and any(view() is not None for view in x._views)  # type: ignore[union-attr]


def exclusive(array: ndarray, count: int, views: Callable[[Any], int] | None = None) -> bool:
    """Whether nobody else holds an array, or the memory that it is a part of. array: a variable of the caller; count:
    references that it knows of, this one among them; views: how many other views of an object with that memory it knows of.
    The call has no branch among its arguments, across which CPython 3.14 lends no references. Plans that are bound to the array
    don't count: none of them runs before what was noted."""
    count += PASSED + COUNTED  # and those of this call
    if getrefcount(array) > count and getrefcount(array) > count + references(array):
        return False
    held: Any = array
    while True:
        below = held.obj if isinstance(held, memoryview) else held.base if isinstance(held, ndarray) else None
        if below is None:
            return True
        count = 2 + COUNTED
        if getrefcount(below) > count and getrefcount(below) > count + references(below) + (views(below) if views else 0):
            return False
        held = below


def only_copied(tensor: Tensor) -> bool:
    """Whether only the tables of copied tensors hold one, and a variable of the caller, and only it holds its array."""
    return getrefcount(tensor) <= 3 + PASSED + COUNTED and getrefcount(tensor._data) <= 2


class Detached:
    """The results of `x.data` and `x.detach()` in one run, each with its x."""

    def __init__(self) -> None:
        self._owners: dict[int, tuple[ref[Tensor], ref[Tensor]]] = {}

    def add(self, x: Tensor, owner: Tensor) -> None:
        """Note that x was detached from its owner."""
        self._owners[id(x)] = ref(x), ref(owner)

    def owner(self, x: Any) -> Any:
        """The tensor that x was detached from, as long as they share memory; otherwise None."""
        noted: Any = self._owners.get(id(x))
        if noted is None or noted[0]() is not x:
            return None
        owner = noted[1]()
        if owner is None or owner.__class__ is not x.__class__:
            return None
        same = owner._value is x._value if owner.__class__ is Pending else owner._data is x._data
        return owner if same else None
