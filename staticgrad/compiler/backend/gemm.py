"""The kernels of matrix products: compiled from the code of `gemm_products.py`, or loaded from the kernel cache, without
Numba."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from . import disk_cache as disk
from . import kernel_cache, object_code


@cache
def file(element: str) -> disk.File:
    """The file of the kernel's machine code."""
    return object_code.file_of(f"gemm_{element}", [Path(__file__)])


def made(element: str) -> bytes:
    """The content of that file."""
    return disk.kept(*file(element), lambda: _compiled(element))[0]


@cache
def kernel(element: str) -> int:
    """The address of the kernel for f32 or f64."""
    name = f"gemm_{element}"
    made = object_code.made_or_kept(name, [Path(__file__)], lambda: _compiled(element), [name])
    if made.found:
        kernel_cache.Counters.from_disk += 1
    else:
        kernel_cache.Counters.compiled += 1
    return made.addresses[name]


def _compiled(element: str) -> bytes:
    from .gemm_products import module

    return object_code.compiled(module(element))
