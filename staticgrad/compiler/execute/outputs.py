"""The results of a plan: arrays of their own, or copies. Large arrays are used again when nothing refers to them any more."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...ir import collapse
from ..backend import abi as t
from ..backend import kernel_cache
from ..backend.machine_code import Code, Wanted, code, tiers
from ..lower.instructions import STRIDED, WORD, Buffer
from ..runtime import loader, thread_pool
from ..runtime.plan_memory import keepers
from ..runtime.threads import get_num_threads
from .fastcall import Block, address, block, numbers

if TYPE_CHECKING:
    pass

LARGE = 1 << 16
"""Bytes from which new memory costs more than the search for an array that can be used again."""
SPARE = 3
"""Arrays that a plan keeps per large result: the one that the user holds, the one being written, one to swap."""


class Results:
    """The control blocks of a plan's results, and `late`: the results that Python fills in (views of feeds)."""

    def __init__(self, fetches: Sequence[Buffer]):
        self.fetches = fetches
        self.shapes = [numbers(buffer.shape) for buffer in fetches]
        self.pools: list[np.ndarray] = []
        self.block: Block = block(t.RESULT_BLOCK * len(fetches))
        self.late = [(i, buffer) for i, buffer in enumerate(fetches) if buffer.root.kind == "feed"]
        self.moving = any(buffer.root.kind == "state" for buffer in fetches)
        """Whether some are in the memory of variables, which may differ from run to run."""
        self.copies: list[tuple[int, np.ndarray]] = []
        for i, (buffer, shape) in enumerate(zip(fetches, self.shapes, strict=True)):
            if buffer.root.kind != "feed":
                self._made(self.words(i), buffer, shape)
            if buffer.root.kind == "output":
                self._direct(self.words(i), buffer)
        if not self.moving:
            self.point()
        self.block.kept = (self.shapes, self.pools)
        keepers.add(self)

    def words(self, i: int) -> np.ndarray:
        return self.block[t.RESULT_BLOCK * i : t.RESULT_BLOCK * (i + 1)]

    def _made(self, words: np.ndarray, buffer: Buffer, shape: np.ndarray) -> None:
        """A result with a new array in each run."""
        words[t.OUT_DTYPE], words[t.OUT_NDIM], words[t.OUT_SHAPE] = id(buffer.dtype), len(buffer.shape), address(shape)
        words[t.OUT_FLAGS] = np.empty([min(d, 2) for d in buffer.shape], buffer.dtype).flags.num

    def _direct(self, words: np.ndarray, buffer: Buffer) -> None:
        """A result that instructions write."""
        words[t.DIRECT] = buffer.root.index + 1
        if buffer.nbytes >= LARGE:
            pool = np.full(SPARE, None, object)
            self.pools.append(pool)
            words[t.POOL], words[t.POOLED] = address(pool), SPARE

    def share(self, pools: MutableMapping[tuple[tuple[int, ...], np.dtype], np.ndarray], spare: int) -> None:
        """Keep spare arrays of large results together with other plans: `spare` for each shape and dtype, in `pools`, and one
        more for each further result of them."""
        self.pools.clear()
        large = [
            (self.words(i), (buffer.shape, buffer.dtype)) for i, buffer in enumerate(self.fetches) if self.words(i)[t.POOL]
        ]
        count = Counter(key for _, key in large)
        for key, results in count.items():
            if key not in pools or len(pools[key]) < spare + results - 1:
                self.pools.append(np.full(spare + results - 1, None, object))
                pools[key] = self.pools[-1]
            else:
                self.pools.append(pools[key])
        for words, key in large:
            words[t.POOL], words[t.POOLED] = address(pools[key]), len(pools[key])

    def point(self) -> None:
        """Find the memory of the results that are copied."""
        self.copies = [
            (i, buffer.array(())) for i, buffer in enumerate(self.fetches) if buffer.root.kind not in ("output", "feed")
        ]
        for i, view in self.copies:
            self.words(i)[t.SOURCE] = id(view)

    def made(self) -> list[np.ndarray | None]:
        """New arrays for a run, None for those that Python fills in. Raises MemoryError."""
        return [None if buffer.root.kind == "feed" else np.empty(buffer.shape, buffer.dtype) for buffer in self.fetches]

    def fill(self, values: Sequence[np.ndarray | None]) -> None:
        """Copy the results that no instruction writes to their arrays."""
        for i, view in self.copies:
            array = values[i]
            assert array is not None
            np.copyto(array, view)

    def outputs(self, values: Sequence[np.ndarray | None]) -> list[np.ndarray]:
        """The results that instructions write."""
        found = (value for buffer, value in zip(self.fetches, values, strict=True) if buffer.root.kind == "output")
        return [value for value in found if value is not None]


# Copies of arrays that are not in row-major order, by the kernel that plans use (`kernels/strided_moves.py`).

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
    if array.size < STRIDED or array.flags.c_contiguous or array.dtype.kind not in "biufcV" or array.itemsize % word:
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
