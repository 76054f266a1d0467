"""The kernels of matrix products: compiled from what `tiles.py` writes, or loaded from the kernel cache, without Numba."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from . import jit, objects

MADE_BY = ("blas", "capsules", "code", "objects", "tiles")


@cache
def kernel(element: str) -> int:
    """The address of the kernel for f32 or f64."""
    digest = hashlib.sha256((objects.cpu() + element).encode())
    for name in MADE_BY:
        digest.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    code, found = objects.kept(jit.cache_dir() / f"g{digest.hexdigest()[:24]}.o", lambda: _compiled(element))
    if found:
        jit.Counters.from_disk += 1
    else:
        jit.Counters.compiled += 1
    name = f"gemm_{element}"
    return objects.loaded([code], [name])[name]


def _compiled(element: str) -> bytes:
    from .tiles import module

    return objects.compiled(module(element))
