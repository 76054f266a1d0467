"""The native driver, compiled (or loaded from the kernel cache) when this module is imported. See
`library/driver.py`."""

from __future__ import annotations

from . import jit

_native = jit.module("pool", "turns", "driver")

step = _native.step
"""step(patches, count, objects, table, first, last, status, hold): bind arrays and run rows; see
`library/driver.py`."""
