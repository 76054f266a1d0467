"""The native driver, compiled (or loaded from the kernel cache) when this module is imported. See `library/driver.py`."""

from __future__ import annotations

from functools import cache
from typing import Any

from . import jit

_native = jit.module("driver")

bind = _native.bind
"""bind(patches, count, objects): write the data pointers of the caller's arrays where kernels read them."""
run = _native.run
"""run(table, first, last, status): rows in this thread; the row that reported an error, or -1."""
step = _native.step
"""step(patches, count, objects, table, first, last, status, hold): bind and run, with BLAS held."""
hold_blas = _native.hold_blas
release_blas = _native.release_blas


@cache
def parallel_driver() -> Any:
    """The driver that cuts ranges over threads; compiled (or loaded) when a plan first wants it."""
    import numba

    config: Any = numba.config
    if config.THREADING_LAYER == "default":
        config.THREADING_LAYER = "omp"  # workqueue aborts under concurrent callers
    return jit.module("parallel").run_parallel
