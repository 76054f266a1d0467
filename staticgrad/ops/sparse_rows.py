"""Which rows of an array may be other than 0: noted where a scatter makes it, so that an optimizer can leave the others alone.

Eager gradients are dense arrays. Their sparse origin is kept beside them while they live.
"""

from __future__ import annotations

import weakref

import numpy as np

noted: dict[int, tuple[weakref.ref[np.ndarray], np.ndarray]] = {}
"""By id of the array: the array, and positions of rows, in any order and repeated."""


def note(array: np.ndarray, rows: np.ndarray) -> None:
    """`array` is 0 but for these rows."""
    key, table = id(array), noted  # the module may be gone when the array dies
    table[key] = weakref.ref(array, lambda _: table.pop(key, None)), rows.reshape(-1)


def rows_of(array: np.ndarray) -> np.ndarray | None:
    """The positions of rows that were noted; None for other arrays."""
    found = noted.get(id(array))
    return None if found is None else found[1]


def carry(to: np.ndarray, *parts: np.ndarray) -> np.ndarray:
    """Record for `to`, the sum (or copy) of the parts, the union of their rows; forget it where one of them has no record."""
    if noted:
        rows = [rows_of(part) for part in parts]
        known = [r for r in rows if r is not None]
        if len(known) == len(rows):
            note(to, np.concatenate(known))
        else:
            noted.pop(id(to), None)
    return to
