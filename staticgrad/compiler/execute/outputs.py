"""The results of a plan: arrays of their own that rows write, or copies; large ones are used again when nobody holds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..backend import abi as t
from ..lower.instructions import Buffer
from ..runtime.allocation import keepers
from .fastcall import Block, address, block, numbers

LARGE = 1 << 16
"""Bytes from which fresh memory costs more than to look for an array that can be used again."""
SPARE = 3
"""Arrays that a plan remembers per large result: the one that the user holds, one that is being made, one to swap."""


class Results:
    """The control blocks of a plan's results, and `late`: those that Python fills in (views of feeds)."""

    def __init__(self, fetches: Sequence[Buffer]):
        self.fetches = fetches
        self.shapes = [numbers(slot.shape) for slot in fetches]
        self.pools: list[np.ndarray] = []
        self.block: Block = block(t.RESULT_BLOCK * len(fetches))
        self.late = [(i, slot) for i, slot in enumerate(fetches) if slot.root.kind == "feed"]
        self.moving = any(slot.root.kind == "state" for slot in fetches)
        """Some lie in variables, whose memory can be another in each run."""
        self.copies: list[tuple[int, np.ndarray]] = []
        for i, (slot, shape) in enumerate(zip(fetches, self.shapes, strict=True)):
            if slot.root.kind != "feed":
                self._made(self.words(i), slot, shape)
            if slot.root.kind == "output":
                self._direct(self.words(i), slot)
        if not self.moving:
            self.point()
        self.block.kept = (self.shapes, self.pools)
        keepers.add(self)

    def words(self, i: int) -> np.ndarray:
        return self.block[t.RESULT_BLOCK * i : t.RESULT_BLOCK * (i + 1)]

    def _made(self, words: np.ndarray, slot: Buffer, shape: np.ndarray) -> None:
        """A new array before each run."""
        words[t.OUT_DTYPE], words[t.OUT_NDIM], words[t.OUT_SHAPE] = id(slot.dtype), len(slot.shape), address(shape)
        words[t.OUT_FLAGS] = np.empty([min(d, 2) for d in slot.shape], slot.dtype).flags.num

    def _direct(self, words: np.ndarray, slot: Buffer) -> None:
        """Written by rows."""
        words[t.DIRECT] = slot.root.index + 1
        if slot.nbytes >= LARGE:
            pool = np.full(SPARE, None, object)
            self.pools.append(pool)
            words[t.POOL], words[t.POOLED] = address(pool), SPARE

    def point(self) -> None:
        """Find the memory of results that are copied."""
        self.copies = [
            (i, slot.array(())) for i, slot in enumerate(self.fetches) if slot.root.kind not in ("output", "feed")
        ]
        for i, view in self.copies:
            self.words(i)[t.SOURCE] = id(view)

    def made(self) -> list[np.ndarray | None]:
        """New arrays for a run, None for those that Python fills in. Raises MemoryError."""
        return [None if slot.root.kind == "feed" else np.empty(slot.shape, slot.dtype) for slot in self.fetches]

    def fill(self, values: Sequence[np.ndarray | None]) -> None:
        """Copy what rows don't write to the arrays that were made for it."""
        for i, view in self.copies:
            array = values[i]
            assert array is not None
            np.copyto(array, view)

    def outputs(self, values: Sequence[np.ndarray | None]) -> list[np.ndarray]:
        """Of the results, those that rows write."""
        found = (value for slot, value in zip(self.fetches, values, strict=True) if slot.root.kind == "output")
        return [value for value in found if value is not None]
