"""The native driver, compiled (or loaded from the kernel cache) when this module is imported. See
`library/driver.py`."""

from __future__ import annotations

from functools import cache
from typing import Any

from . import jit

_native = jit.module("driver")

step = _native.step
"""step(patches, count, objects, table, first, last, status, hold): bind arrays and run rows; see
`library/driver.py`."""

call = _native.call
"""The C function of gates, with its `address`; see `gate.py`."""


@cache
def parallel_step() -> Any:
    """`step` with ranges cut over threads; compiled (or loaded) when a plan first wants it."""
    import numba

    config: Any = numba.config
    if config.THREADING_LAYER == "default":
        config.THREADING_LAYER = "omp"  # workqueue aborts under concurrent callers
    return jit.module("parallel").step
