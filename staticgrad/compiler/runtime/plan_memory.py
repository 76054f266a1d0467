"""Arrays of plans: memory for new ones, and the arrays that plans are bound to.

Where memory is short, the spare arrays that plans keep for large results are released first.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from ...errors import OutOfMemoryError

keepers: WeakSet[Any] = WeakSet()
"""Objects whose `pools` are lists of object arrays that hold spare arrays."""


def give_up_spare() -> None:
    """Release the spare arrays of all plans."""
    for keeper in list(keepers):
        for pool in keeper.pools:
            pool[:] = None


def room(make: Callable[[], list[np.ndarray]], *texts: str) -> list[np.ndarray]:
    """The new arrays of `make`. Raises OutOfMemoryError with these texts where there is no memory, spare arrays included."""
    for last in (False, True):
        try:
            return make()
        except (MemoryError, ValueError):  # ValueError: the size exceeds the address space
            if last:
                raise OutOfMemoryError(*texts) from None
        give_up_spare()
    raise AssertionError


# arrays that plans are bound to ----------------------------------------------------------------------------------------

# A plan uses such an array only when it is run, so `tracing/segments` does not count these references where it asks who else
# sees an array. It asks before anything is compiled, so this module imports none of the compiler.

plans: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
"""All plans, by id."""


class _Counts:
    """By id of the array, as long as no plan is made, bound or dropped."""

    bindings = 0
    """Counts changes of what plans are bound to."""
    made = 0
    known: tuple[int, int, int] = (-1, -1, -1)
    of: dict[int, int] = {}


def made(plan: Any) -> None:
    """A plan has been made."""
    plans[id(plan)] = plan
    _Counts.made += 1


def changed() -> None:
    """A plan has been bound to other arrays, or lets go of one."""
    _Counts.bindings += 1


def references(array: Any) -> int:
    """How many references plans have to an array, or to one by its views."""
    now = _Counts.bindings, _Counts.made, len(plans)
    if now != _Counts.known:
        found: dict[int, int] = {}
        for alive in plans.valuerefs():  # one step of the interpreter: other threads make plans, of kernels that are ready
            if (plan := alive()) is None:
                continue
            buffers = plan.builder.cell_buffers
            held: list[Any] = [x for cell, bound in list(plan.bound.items()) for x in (bound, buffers[cell].memory)]
            own = set(map(id, held))
            held += [view if id(view) in own else view.base for _, view in plan.results.copies]
            for x in held:
                found[id(x)] = found.get(id(x), 0) + 1
        _Counts.of, _Counts.known = found, now
    return _Counts.of.get(id(array), 0)


def disjoint(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of the ranges, as ascending ranges that don't overlap."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found
