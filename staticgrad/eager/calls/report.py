"""What the tables of calls hold, for `staticgrad cache eager`."""

from __future__ import annotations

from collections.abc import Hashable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ...base.dtypes import ANY_DTYPE
from ...ir import OpDef
from ...ops.operators import no_route
from ..grad_mode import modes
from . import call_cache
from .call_cache import CallCache, by_numpy, shared
from .kernels import PlannedCall, Waiting
from .routes import USES
from .signature import SEQUENCES

FORM = "backward of a tape"
"""The first part of the key of a tape's form; see `tape_form.py`."""


class Row(NamedTuple):
    """A signature in a table. what: the op or function, the shapes of its tensors, its other arguments; runs: of its route or
    plan, where they are counted."""

    what: str
    state: str
    """What computes it: a plan, a route, or NumPy and until when."""
    runs: int
    nbytes: int


class Report(NamedTuple):
    """The tables of this thread and of the process, and that of plans that NumPy runs. facts: entries, bytes, misses, keys that
    were dropped, of each."""

    rows: list[Row]
    facts: dict[str, dict[str, int]]


def report() -> Report:
    """The calls that this thread has met, those with the most runs first."""
    rows = []
    for key, value in modes.now.calls.everything().items():
        if isinstance(value, Waiting):
            rows.append(Row(_text(key), f"NumPy, {value.last - value.left} of {value.last} calls", 0, 0))
        elif isinstance(value, PlannedCall):
            state = (
                "plan"
                if value.plan is not None
                else "views"
                if value.use is not None
                else f"NumPy: {value.why or 'its kernels failed'}"
            )
            rows.append(Row(_text(key), state, _runs(value.run), value.nbytes))
    routes = set()
    for key, value in shared.everything().items():
        if isinstance(value, FunctionType) and isinstance(key, tuple) and (value is no_route or value not in routes):
            routes.add(value)
            state = "the function itself, there is no route" if value is no_route else "route"
            rows.append(Row(_text(key), state, _runs(value), 0))
        elif value.__class__ is tuple and isinstance(key, tuple) and key[0] == USES and shared[key[1]] is None:
            rows.append(Row(_text(key[1]), f"the function itself, {value[0]} of {USES} calls", 0, 0))
    rows.sort(key=lambda row: (-row.runs, row.what))
    return Report(rows, {"thread": _facts(modes.now.calls), "process": _facts(shared), "by NumPy": _facts(by_numpy)})


def _runs(run: Hashable) -> int:
    return 0 if call_cache.runs is None else call_cache.runs[run]


def _facts(table: CallCache) -> dict[str, int]:
    entries = table.everything()
    held = sum([getattr(value, "nbytes", 0) for value in entries.values()])
    return {"entries": len(entries), "bytes": held, "misses": table.misses, "dropped": table.dropped}


def _text(key: Any) -> str:
    """A signature: the name, the shapes of tensors, other arguments, dtypes other than float32."""
    first, *rest = key if isinstance(key, tuple) else (key,)
    name = first.name if isinstance(first, OpDef) else first.__name__ if callable(first) else str(first)
    if name == FORM:  # what follows is a hash
        return name
    shapes: list[str] = []
    others: list[str] = []
    dtypes: dict[str, None] = {}
    items = iter(rest)
    for part in items:
        if part.__class__ is tuple and all(extent.__class__ is int for extent in part):
            shapes.append("x".join(map(str, part)) or "scalar")
        elif part.__class__ in (int, float, str):
            others.append(f"{part:.6g}" if part.__class__ is float else str(part))
        elif isinstance(part, ANY_DTYPE) and part != np.float32:
            dtypes[str(part)] = None
        elif isinstance(part, type) and part in SEQUENCES:
            value = next(items)  # the length, or integers
            others += map(str, value) if value.__class__ is tuple else ()
    return " ".join([name, *shapes, *others, *dtypes])
