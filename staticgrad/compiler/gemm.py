"""The kernels of matrix products: compiled from what `tiles.py` writes, or loaded from the kernel cache, without Numba."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from . import jit, objects

MADE_BY = ("blas", "capsules", "code", "objects", "tiles")


@cache
def kernel(element: str) -> int:
    """The address of the kernel for f32 or f64."""
    name = f"gemm_{element}"
    files = (Path(__file__).with_name(f"{file}.py") for file in MADE_BY)
    made = objects.made_or_kept(name, files, lambda: _compiled(element), [name])
    if made.found:
        jit.Counters.from_disk += 1
    else:
        jit.Counters.compiled += 1
    return made.addresses[name]


def _compiled(element: str) -> bytes:
    from .tiles import module

    return objects.compiled(module(element))
