"""A plan's memory and rows: what the builder makes and the plan runs."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...ir import Layout, Node
from ..backend.abi import HOST
from ..codegen.loop_ir import Kernel
from ..runtime import loader

PER_RUN = ("feed", "output")
"""Kinds of slots whose memory is another array in each run."""


@dataclass(eq=False, slots=True, repr=False)
class Buffer:
    """Memory of one value: part of the arena, a result's own array, or an array from outside."""

    kind: str  # arena, feed, output, state, fixed; view and part of another; stack
    shape: tuple[int, ...]
    dtype: np.dtype
    first: int = 0
    last: int = 0
    offset: int = -1
    index: int = -1
    """Which of the arrays of a run: the feeds, then the outputs."""
    memory: np.ndarray | None = None
    layout: Layout | None = None
    base: Buffer | None = None
    place: Any = None
    """Of a part of another slot (`base`) that moves from iteration to iteration: the loop that moves it."""

    def __repr__(self) -> str:
        return f"<{self.kind} {self.dtype}{list(self.shape)}>"

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def root(self) -> Buffer:
        """The slot that owns the memory."""
        return self.base.root if self.base is not None else self

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


@dataclass(eq=False, slots=True, repr=False)
class Instruction:
    """A row of the table, and what `explain` says about it."""

    kind: str  # kernel, gemm, copy, clear, gather, scatter, check, host
    name: str
    node: Node | None
    buffers: list[tuple[Buffer, int]] = field(default_factory=list)
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
    kernel: Kernel | None = None
    """The loops of which `source` is the text."""
    nodes: list[Node] = field(default_factory=list)
    work: int = 0
    large_gemm: bool = False
    turn: int = 0
    """What a row of a loop or branch does; see `table`."""
    frame: Any = None
    """The body of a loop or branch that a host call belongs to."""
    pointers: np.ndarray = field(init=False)
    size_array: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.pointers = np.zeros(len(self.buffers), np.int64)
        self.size_array = np.array(self.sizes, np.int64)

    def __repr__(self) -> str:
        return f"<row {self.kind} {self.name}>"

    def entry(self) -> list[int]:
        if self.kind == "host":
            return [0, 0, 0, HOST, 0, 0, 0, 0]
        if self.turn:
            return [0, self.pointers.ctypes.data, self.size_array.ctypes.data, self.turn, 0, 0, 0, loader.address["turn"]]
        return [
            self.address, self.pointers.ctypes.data, self.size_array.ctypes.data, self.start, self.stop, self.chunks,
            int(self.check), self.pool,
        ]  # fmt: skip


def memory_of(slot: Buffer, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The elements of a slot as they are now; of a part that a loop moves, those of the iteration under way."""
    if slot.kind != "part":
        memory = arrays[slot.index] if slot.kind in PER_RUN else slot.memory
        assert memory is not None
        return memory
    if not slot.nbytes:
        return np.empty(slot.shape, slot.dtype)
    block = (ctypes.c_byte * slot.nbytes).from_address(address_of(slot, arrays))
    return np.frombuffer(memoryview(block), slot.dtype).reshape(slot.shape)


def address_of(slot: Buffer, arrays: Sequence[np.ndarray]) -> int:
    """Where a slot begins; see `memory_of`."""
    if slot.place is not None:
        return slot.place.address(slot)
    if slot.kind == "part":
        assert slot.base is not None
        return address_of(slot.base, arrays) + slot.offset
    return memory_of(slot, arrays).ctypes.data
