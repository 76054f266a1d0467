"""The short way of a call: what an entry does for the usual arguments, with everything looked up beforehand.

It does what `Entry.ready`, `take` and `run` do, for arrays that need no conversion and a state that is as it was; for
anything else it returns MISS, before anything is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler import driver
from ..eager.tensor import Structure, Tensor, wrap

if TYPE_CHECKING:
    from .entry import Entry

ndarray = np.ndarray
MISS: Any = object()


def miss(args: tuple[Any, ...]) -> Any:
    """For entries that have no short way."""
    return MISS


def short_way(entry: Entry) -> Callable[[tuple[Any, ...]], Any]:
    """A function of the arguments of a call, for the memory that the entry is bound to now."""
    plan, specs, reach = entry.plan, entry.specs, entry.reach
    if specs is None or plan.views is None:
        return miss
    numbered = [(at, dtype, shape) for at, (dtype, shape) in enumerate(specs)]
    count, changes, names, cells = len(specs), entry.changes, reach.names, reach.cells
    more = {reach.current: reach.members, entry.unmoved: entry.hooks or entry.entry_grads}
    checks = [check for check, needed in more.items() if needed]
    written, captured, apart = entry.memory, entry.captured_ids, entry.apart
    ids, step, call, simple = plan.ids, driver.step, plan.call, plan.simple
    read_numbers = plan.read_numbers if plan.reads_numbers else None
    homes, finish = entry.homes, entry.finish if entry.touched or entry.grads else None
    view = plan.views[0] if entry.results.single else None

    def run(args: tuple[Any, ...]) -> Any:
        if len(args) != count or changes != Structure.changes:
            return MISS
        try:
            for scope, name, value in names:
                if scope[name] is not value:
                    return MISS
            for cell, value in cells:
                if cell.cell_contents is not value:
                    return MISS
        except (KeyError, ValueError):
            return MISS
        for check in checks:
            if not check():
                return MISS
        if homes and entry.reads != Structure.reads:
            return MISS
        at = 0
        arrays = []
        for i, dtype, shape in numbered:
            array = args[i]
            if array.__class__ is not ndarray:
                if array.__class__ is Tensor and not array._tracked and id(array) not in captured:
                    array = array._data
                elif dtype is None and array is shape:
                    continue
                else:
                    return MISS
            if array.dtype is not dtype or array.shape != shape or not array.flags.c_contiguous:
                return MISS
            if written:
                base = array.base
                if base is None:
                    if id(array) in written:
                        array = apart(array)
                elif base.__class__ is not ndarray or id(base) in written or base.base is not None:
                    array = apart(array)
            arrays.append(array)
            ids[at] = id(array)
            at += 1
        if not simple:
            return entry.run(arrays, ())
        if read_numbers is not None:
            read_numbers()
        failed = step(*call)
        if failed >= 0:
            entry.fail(failed)
        if finish is not None:
            finish()
        if view is not None:
            return wrap(view.copy())
        return entry.built(arrays, ())

    return run
