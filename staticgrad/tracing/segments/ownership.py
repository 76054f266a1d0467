"""Who else sees the memory of a tensor of a run in segments."""

from __future__ import annotations

from sys import getrefcount

import numpy as np

from ...compiler.execute.bound_arrays import references
from ...eager.tensor import Tensor

ndarray = np.ndarray


def viewed(x: Tensor) -> bool:
    """Whether other tensors share the memory of x by the tape."""
    return bool(x._views) and any(view() is not None for view in x._views)  # type: ignore[union-attr]


def exclusive(array: ndarray, count: int) -> bool:
    """Whether nobody else holds an array, or the memory that it is a part of. count: references that the caller knows of. Plans
    that are bound to the array don't count: none of them runs before what was noted."""
    count += 2  # and those of this call
    if getrefcount(array) > count and getrefcount(array) > count + references(array):
        return False
    base = array.base
    return base is None or (getrefcount(base) <= 3 and not (isinstance(base, ndarray) and base.base is not None))


def only_copied(tensor: Tensor) -> bool:
    """Whether only the tables of copied tensors hold one, and only it holds its array."""
    return getrefcount(tensor) <= 5 and getrefcount(tensor._data) <= 2
