"""Copies of arrays that are not in row-major order, by the kernel that plans use (`kernels/strided_moves.py`)."""

from __future__ import annotations

import time

import numpy as np

from ...ir import collapse
from ..backend import abi as t
from ..backend import kernel_cache
from ..backend.machine_code import Code, Wanted, code, tiers
from ..lower.instructions import STRIDED, WORD
from ..runtime import loader, thread_pool
from ..runtime.threads import get_num_threads

SHARED = 1 << 16
"""Elements from which threads share a copy."""

_codes: dict[int, Code] = {}


def copied(array: np.ndarray) -> np.ndarray:
    """A row-major copy. Raises MemoryError."""
    kernel = _kernel(array)
    if not kernel:
        return np.array(array, order="C")
    out = np.empty(array.shape, array.dtype)
    size, word = array.itemsize, min(array.itemsize, WORD)
    places, to, source = array.shape, out.strides, array.strides
    if size > WORD:
        places, to, source = (*places, size // WORD), (*to, WORD), (*source, WORD)
    shape, *steps = collapse(places, [s // word for s in to], [s // word for s in source])
    sizes = np.array([len(shape), *shape, *steps[0], *steps[1]], np.int64)
    buffers = np.array([array.ctypes.data, out.ctypes.data], np.int64)
    threads = min(get_num_threads(), shape[0]) if array.size >= SHARED else 1
    thread_pool.ensure(threads)
    row = (kernel, buffers.ctypes.data, sizes.ctypes.data, 0, shape[0], threads, 0, thread_pool.address)
    table, status = np.array(row, np.int64), np.zeros(t.STATUS_WORDS, np.int64)
    loader.step(0, 0, 0, table.ctypes.data, 0, 1, status.ctypes.data, 0)
    return out


def _kernel(array: np.ndarray) -> int:
    """The address of the kernel; 0 where NumPy copies the array: a small one, elements that are no numbers or lie at odd
    places, a kernel that is still being compiled."""
    word = min(array.itemsize, WORD)
    if array.size < STRIDED or array.flags.c_contiguous or array.dtype.kind not in "biufc" or array.itemsize % word:
        return 0
    if not array.flags.aligned or any(s % word for s in array.strides):
        return 0
    found = _codes.get(word)
    if found is None:
        name = f"copy_i{8 * word}"
        found = _codes[word] = code(Wanted(kernel_cache.library_source("strided_moves", name), name), tiers(time.monotonic()))
    if not found.address and found.over:
        found.arrive()
    return found.address
