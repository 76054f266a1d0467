"""The kernels of matrix products: compiled from the code of `gemm_products.py`, or loaded from the kernel cache."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from . import disk_cache as disk
from . import kernel_cache, object_code


@cache
def file(kind: str) -> disk.File:
    """The file of the kernel's machine code."""
    return object_code.file_of(f"gemm_{kind}", [Path(__file__)])


def made(kind: str) -> bytes:
    """The content of that file."""
    return disk.kept(*file(kind), lambda: _compiled(kind))[0]


@cache
def kernel(kind: str) -> int:
    """The address of a kernel; see `gemm_products.module`."""
    name = f"gemm_{kind}"
    made = object_code.made_or_kept(name, [Path(__file__)], lambda: _compiled(kind), [name])
    if made.found:
        kernel_cache.Counters.from_disk += 1
    else:
        kernel_cache.Counters.compiled += 1
    return made.addresses[name]


def _compiled(kind: str) -> bytes:
    from . import code_generation
    from .gemm_products import module

    return code_generation.compiled(module(kind))
