"""The arrays of variables that plans are bound to, and how often plans refer to them.

A plan uses such an array only when it is run, so `tracing/segments` does not count these references where it asks
who else sees an array. It asks before anything is compiled, so this module imports none of the compiler.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
