"""The native driver, compiled (or loaded from the kernel cache) when this module is imported. See
`library/driver.py`, `gate.py` and `loop.py`."""

from __future__ import annotations

from functools import cache

from . import jit

_native = jit.module("pool", "driver", "gate", "loop")

step = _native.step
"""step(patches, count, objects, table, first, last, status, hold): bind arrays and run rows; see
`library/driver.py`."""

call = _native.call
"""The C function of gates, with its `address`; see `library/gate.py`."""

steps = _native.steps
"""steps(plan, table, width, ids, first, last, copies, count, random, draws): many runs; see `library/loop.py`."""


@cache
def turn() -> int:
    """The address of what rows of loops and branches do."""
    return jit.module("turns").turn.address
