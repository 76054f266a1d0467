"""The machine code that many programs need, compiled once per machine: `python -m staticgrad warm`.

Products, convolutions, pooling, moves and the runtime belong to no program, and are listed here. Kernels that are generated for
the operations of a program don't depend on extents, so those of typical steps (`command_line/cache.py`) serve many
programs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from .backend import disk_cache, kernel_cache
from .backend.abi import in_place
from .backend.abi import kernel as product
from .backend.compile_pool import pool
from .backend.kernel_cache import Wanted, code, tiers

FLOATS = {"f32": 4, "f64": 8}
"""The types that most kernels are for, with their bytes."""
TYPES = {
    ("strided_moves", "copy_T"): ("i8", "i16", "i32", "i64"),
    ("row_moves", "gather_T"): ("i8", "i16", "i32", "i64"),
    ("row_moves", "index_copy_T"): ("i8", "i16", "i32", "i64"),
    ("positions", "bounded_T"): ("i32", "i64"),
    ("positions", "nonzero_T"): ("i32", "i64"),
    ("integer_products", "product_T"): ("i32", "i64"),
}
"""Those that others are for."""
VECTOR = 64
"""Bytes of the vectors by which lanes are counted."""


def package_kernels() -> Iterator[Wanted]:
    """Kernels that are part of the package, for the types and numbers of lanes that are in common use."""
    for element in FLOATS:
        yield Wanted(*in_place(element))
        for kind in (element, f"{element}_packed"):
            yield Wanted(*product(kind))
    for path in sorted((Path(__file__).parent / "kernels").glob("*.py")):
        if path.name != "__init__.py":
            for kernel in kernel_cache.library_kernels(path.stem):
                for name in sorted(_names(path.stem, kernel)):
                    yield Wanted(kernel_cache.library_source(path.stem, name), name)


def _names(module: str, kernel: str) -> set[str]:
    """The kernels of one text, by name."""
    if "_T" not in kernel:
        return {kernel}
    found = set()
    for kind in TYPES.get((module, kernel), FLOATS):
        name = kernel.replace("_T", f"_{kind}")
        lanes = VECTOR // FLOATS.get(kind, 8)
        choices = {"depthwise_convolution": (lanes,), "fourier": (1, 16)}.get(module, (8, lanes, 2 * lanes))
        found |= {name.replace("_N", f"_{n}") for n in choices}
    return found


def warm(steps: Iterable[Callable[[], None]] = ()) -> str:
    """Compile all of these that the kernel cache lacks, and then what the steps of programs need, which are run; what was done,
    in words. Raises CompileError, and OSError where the cache can't keep them."""
    _check_cache(disk_cache.unwritable())
    begin, before = time.monotonic(), _kept()
    from .runtime import loader

    loader.begin()
    wanted = list(package_kernels())
    codes = [code(one, tiers()) for one in wanted]
    pool().wait()
    for one in codes:
        one.arrive()
    lost = sum(disk_cache.read(*kernel_cache.file(one.text)) is None for one in wanted)
    _check_cache(f"it has no place for {lost} of {len(wanted)} kernels" if lost else "")
    for step in steps:
        step()
    seconds, kept = time.monotonic() - begin, _kept()
    new, size = len(kept.keys() - before.keys()), sum(kept.values()) / 1e6
    return f"{new} of {len(kept)} kernels compiled in {seconds:.1f} s; {size:.1f} MB of them are in {disk_cache.path()}"


def _kept() -> dict[str, int]:
    """The sizes of the kernels in the cache, by file."""
    return {file.name: file.stat().st_size for file in Path(disk_cache.folder()).glob("k*.o")}


def _check_cache(reason: str) -> None:
    """Raises OSError for a reason why kernels are not kept."""
    if reason:
        raise OSError(
            f"the kernel cache {disk_cache.where()} can't keep kernels: {reason}\n"
            "  set STATICGRAD_CACHE_DIR to a folder of yours that only you can write to"
        )
