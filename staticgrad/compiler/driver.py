"""The runtime, translated and compiled (or loaded from the kernel cache) when this module is imported. See `runtime/`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from . import objects
from .runtime import driver, gate, lanes, loop, turns, worker

ENTRIES = {
    "step": driver.step,
    "steps": loop.steps,
    "call": gate.call,
    "turn": turns.turn,
    "lanes": lanes.lanes,
    "worker": worker.worker,
}
MADE_BY = ("code", "objects", "table", "translate", "words")


def _addresses() -> dict[str, int]:
    folder = Path(__file__).parent
    files = (*sorted((folder / "runtime").glob("*.py")), *(folder / f"{name}.py" for name in MADE_BY))
    return objects.made_or_kept("runtime", files, _compiled, ENTRIES).addresses


def _compiled() -> bytes:
    from .translate import translated

    return objects.compiled(translated(ENTRIES))


def _function(name: str) -> Callable[..., int]:
    operands = ENTRIES[name].__code__.co_argcount
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * operands)(address[name])


address = _addresses()
"""Where the functions of the runtime lie."""

step = _function("step")
"""step(patches, count, objects, table, first, last, status, hold): bind arrays and run rows; see `runtime/driver.py`."""

steps = _function("steps")
"""steps(plan, table, width, ids, first, last, copies, count, random, draws, resume): many runs; see `runtime/loop.py`."""
