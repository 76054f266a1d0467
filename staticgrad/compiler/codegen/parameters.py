"""The parameters of a kernel: buffers, sizes, numbers, and the names of its local values.

Extents, strides and numbers are run-time arguments, one per meaning and never per value: a batch whose extents happen
to be equal gives the same source as any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...base.dtypes import SHORT
from ...base.types import INEXACT, bool_, float64, int64
from ...ir import Node
from ..fusion.layout import real
from .loop_ir import Assign, Convert, Expr, Integer, Kernel, Literal, Load, Name, Pointer, Statement, assign

LITERALS = (0.0, 1.0, -1.0, 2.0, 0.5)
"""Numbers that are written into the source; others are arguments."""


HELD = {
    "value": "", "scratch": "one row of ", "rows": "a block of ", "partial": "per chunk: ", "whole": "sums per chunk: ",
    "lost": "what they lost: ", "turned": "columns of ", "places": "where rows begin: ",
}  # fmt: skip
"""Prefixes of buffer names by the contents of the buffer."""


@dataclass(frozen=True)
class BufferRef:
    """A buffer of a kernel: `kind` is value (of `node`, at `offset` elements), scratch, rows, turned, places, partial,
    whole, lost, numbers."""

    kind: str
    node: Node | None = None
    offset: int = 0
    dtype: np.dtype = float64
    length: int = 0
    """Elements per chunk, for all but values and numbers."""
    number: int = 0
    """Of several of one kind for a node."""


@dataclass
class KernelSource:
    """A kernel's text and its arguments."""

    name: str
    body: str
    loops: Kernel
    """The loop IR of which `body` is the text."""
    buffers: list[BufferRef]
    sizes: list[int]
    numbers: list[float]
    rows: int
    chunked: bool
    folds: bool
    """Needs a closing call (start = -1) when the rows are cut into several chunks."""
    chunks_at: int = -1
    """Position in `sizes` of the number of chunks."""
    work: int = 0
    """Cost units (one addition each) of one run."""


@dataclass
class Parameters:
    """The parameters of one kernel, collected while its loops are built."""

    number: Mapping[Node, int]
    """Positions in the listing of the graph, for the comments."""
    pointers: dict[BufferRef, str] = field(default_factory=dict)
    """The names of the buffers' pointers, in the order of the buffers."""
    sizes: list[int] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    prologue: list[Statement] = field(default_factory=list)
    """The statements before the loops."""
    known_sizes: dict[Any, Name] = field(default_factory=dict)
    _read: list[Assign] = field(default_factory=list)
    _known_numbers: dict[str, Name] = field(default_factory=dict)
    _counters: dict[str, int] = field(default_factory=dict)

    def fresh(self, letter: str) -> Name:
        """The next name for a value of one kind: v0, v1, ..."""
        self._counters[letter] = self._counters.get(letter, -1) + 1
        return Name(f"{letter}{self._counters[letter]}")

    def note(self, node: Node) -> str:
        """The node that a line computes, and the user's line."""
        where = f"  {node.where.short}" if node.where is not None else ""
        return f"%{self.number.get(node, 0)} {node.op.name}{where}"

    def size(self, key: Any, value: int, name: str = "") -> Name:
        """A run-time integer; one per meaning."""
        known = self.known_sizes.get(key)
        if known is None:
            position = len(self.sizes)
            known = self.known_sizes[key] = Name(name or f"s{position}")
            self.sizes.append(value)
            self._read.append(assign(known.name, Load("sizes", Integer(position), int64)))
        return known

    def fix(self, key: Any, value: int) -> Name:
        """An integer that is part of the source."""
        known = self.known_sizes[key] = Name(key)
        self._read.append(assign(key, Integer(value)))
        return known

    def buffer(self, ref: BufferRef, name: str) -> str:
        """The name of a buffer's pointer."""
        known = self.pointers.get(ref)
        if known is None:
            known = self.pointers[ref] = f"{name}{len(self.pointers)}"
        return known

    def literal(self, value: Any, dtype: np.dtype) -> Expr:
        """A number: part of the source where it is simple, otherwise an argument."""
        if dtype == bool_:
            return Literal(bool(value), dtype)
        if dtype.kind not in INEXACT:
            return Convert(self.size(("int", value), int(value)), dtype) if abs(value) > 1 else Literal(int(value), dtype)
        negative_zero = value == 0 and math.copysign(1, value) < 0
        if not math.isfinite(value) or (value in LITERALS and not negative_zero):
            return Literal(value, dtype)
        if value not in self.numbers:
            self.numbers.append(value)
        position = self.numbers.index(value)
        name = f"n{position}_{SHORT[dtype]}"
        if name not in self._known_numbers:
            self._known_numbers[name] = Name(name)
            self.prologue.append(assign(name, Convert(Load("numbers", Integer(position), float64), dtype)))
        return self._known_numbers[name]

    def kernel(self, name: str, body: list[Statement]) -> Kernel:
        """The kernel: the loops with the parameters that they use."""
        numbers = []
        if self.numbers:
            numbers.append(assign("numbers", Name(self.buffer(BufferRef("numbers"), "numbers"))))
        pointers = [Pointer(pointer, ref.dtype, self._described(ref)) for ref, pointer in self.pointers.items()]
        return Kernel(name, tuple(pointers), (*self._read, *numbers, *self.prologue), tuple(body))

    def _described(self, ref: BufferRef) -> str:
        """The contents of a buffer, for the comment at its name."""
        if ref.kind == "numbers":
            return ", ".join(f"{n:g}" for n in self.numbers)
        assert ref.node is not None
        label = ref.node.name if ref.node.name else f"%{self.number.get(ref.node, 0)} {ref.node.op.name}"
        return f"{HELD[ref.kind]}{label} {ref.node.type}"


def real_extent(domain: Any, which: str) -> int:
    return real(getattr(domain, which))
