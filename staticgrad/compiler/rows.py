"""A plan's memory and rows: what the builder makes and the plan runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..ir import Layout, Node

PER_RUN = ("feed", "output")
"""Kinds of slots whose memory is another array in each run."""


@dataclass(eq=False)
class Slot:
    """Memory of one value: part of the arena, a result's own array, or an array from outside."""

    kind: str  # arena, feed, output, state, fixed
    shape: tuple[int, ...]
    dtype: np.dtype
    first: int = 0
    last: int = 0
    offset: int = -1
    index: int = -1
    """Which of the arrays of a run: the feeds, then the outputs."""
    memory: np.ndarray | None = None
    layout: Layout | None = None
    base: Slot | None = None

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def root(self) -> Slot:
        """The slot that owns the memory."""
        return self.base if self.base is not None else self

    def array(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The value as an ndarray (a view of its memory), given the arrays of a run."""
        root = self.root
        memory = arrays[root.index] if root.kind in PER_RUN else root.memory
        assert memory is not None
        if self.layout is None:
            return memory
        flat = memory.reshape(-1)
        step = self.dtype.itemsize
        if not math.prod(self.layout.shape):
            return np.empty(self.layout.shape, self.dtype)
        return np.lib.stride_tricks.as_strided(
            flat[self.layout.offset :], self.layout.shape, tuple(s * step for s in self.layout.strides), writeable=False
        )


@dataclass(eq=False)
class Row:
    """A row of the table, and what `explain` says about it."""

    kind: str  # kernel, gemm, copy, clear, gather, scatter, check, host
    name: str
    node: Node | None
    buffers: list[tuple[Slot, int]] = field(default_factory=list)
    """(memory, bytes to add)"""
    sizes: list[int] = field(default_factory=list)
    address: int = 0
    start: int = 0
    stop: int = 0
    chunks: int = 1
    pool: int = 0
    """Address of the pool of threads that shares the chunks."""
    check: bool = False
    source: str = ""
    nodes: list[Node] = field(default_factory=list)
    work: int = 0
    large_gemm: bool = False

    def __post_init__(self) -> None:
        self.pointers = np.zeros(len(self.buffers), np.int64)
        self.size_array = np.array(self.sizes, np.int64)

    def entry(self) -> list[int]:
        return [
            self.address, self.pointers.ctypes.data, self.size_array.ctypes.data, self.start, self.stop, self.chunks,
            int(self.check), self.pool,
        ]  # fmt: skip
