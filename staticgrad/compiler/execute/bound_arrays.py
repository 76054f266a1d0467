"""The arrays of variables that plans are bound to, and how often plans refer to them.

A plan uses such an array only when it is run, so `tracing/segments` does not count these references where it asks
who else sees an array.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from .plan import Plan

plans: weakref.WeakValueDictionary[int, Plan] = weakref.WeakValueDictionary()
"""All plans, by id."""


class _Counts:
    """By id of the array, as long as no plan is made, bound or dropped."""

    bindings = 0
    """Counts changes of what plans are bound to."""
    made = 0
    known: tuple[int, int, int] = (-1, -1, -1)
    of: dict[int, int] = {}


def made(plan: Plan) -> None:
    """A plan has been made."""
    plans[id(plan)] = plan
    _Counts.made += 1


def changed() -> None:
    """A plan has been bound to other arrays, or lets go of one."""
    _Counts.bindings += 1


def references(array: np.ndarray) -> int:
    """How many references plans have to an array."""
    now = _Counts.bindings, _Counts.made, len(plans)
    if now != _Counts.known:
        found: dict[int, int] = {}
        for alive in plans.valuerefs():  # one step of the interpreter: other threads make plans, of kernels that are ready
            if (plan := alive()) is None:
                continue
            buffers = plan.builder.cell_buffers
            for cell, bound in list(plan.bound.items()):
                fetched = sum([view is bound or view.base is bound for _, view in plan.results.copies])
                found[id(bound)] = found.get(id(bound), 0) + 1 + (buffers[cell].memory is bound) + fetched
        _Counts.of, _Counts.known = found, now
    return _Counts.of.get(id(array), 0)
