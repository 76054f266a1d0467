"""The arena: offsets of a plan's own buffers in one allocation, in which buffers that are never live together may overlap.

The live-set bound, the most bytes that are live in any instruction, is a lower bound of all layouts. Source of the greedy
layouts: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020), greedy by size.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any, NamedTuple

from .instructions import ALIGN, Buffer

MANY = 1000
"""The number of buffers from which they are placed in the order of instructions: placement by size takes quadratic time."""
LOOSE, MOST = 1.15, 4 * MANY
"""The ratio to the bound above which one layout by size is tried too, and the most buffers for which it is."""
RETRIES = 30
"""The most further layouts that are tried while the bound is not met."""


def size_of(buffer: Buffer) -> int:
    """Bytes in the arena."""
    return -(-max(buffer.nbytes, 1) // ALIGN) * ALIGN


def bound(buffers: Sequence[Buffer]) -> int:
    """The most bytes that are live in one instruction."""
    change: dict[int, int] = {}
    for buffer in buffers:
        change[buffer.first] = change.get(buffer.first, 0) + size_of(buffer)
        change[buffer.last + 1] = change.get(buffer.last + 1, 0) - size_of(buffer)
    alive = most = 0
    for row in sorted(change):
        alive += change[row]
        most = max(most, alive)
    return most


ORDERS: tuple[Callable[[Buffer], Any], ...] = (
    lambda s: (-size_of(s), s.first),
    lambda s: (s.first, -size_of(s)),
    lambda s: (-s.last, -size_of(s)),
    lambda s: (-size_of(s) * (s.last - s.first + 1), s.first),
)
"""The orders in which buffers are placed: by size, by first use, by last use, by size times lifetime."""


def lay_out(buffers: Sequence[Buffer]) -> int:
    """Set the offsets. Returns the bytes of the arena.

    The layout is the best of some orders, and of variations that place the topmost buffer first, or the first that meets the
    bound. For many buffers it is the better of two layouts instruction by instruction.
    """
    least, best = bound(buffers), Layout(0, [], [])
    if len(buffers) >= MANY:
        best = min(_by_instruction(buffers), _by_instruction(buffers, backwards=True), key=lambda layout: layout.size)
    orders = ORDERS if len(buffers) < MANY else ORDERS[:1] if best.size > LOOSE * least and len(buffers) <= MOST else ()
    for key in orders:
        tried = _place(sorted(buffers, key=key))
        best = tried if not best.order or tried.size < best.size else best
        if best.size == least:
            break
    order: Sequence[Buffer] = best.order
    retries = RETRIES if len(buffers) < MANY else 0
    while best.size > least and retries:
        top = max(order, key=lambda buffer: buffer.offset + size_of(buffer))
        order = [top, *(buffer for buffer in order if buffer is not top)]
        tried = _place(order)
        best = tried if tried.size < best.size else best
        retries -= 1
    for buffer, offset in zip(best.order, best.offsets, strict=True):
        buffer.offset = offset
    return best.size


class Layout(NamedTuple):
    """Bytes of the arena, and the offsets of buffers in the order in which they were placed."""

    size: int
    order: Sequence[Buffer]
    offsets: list[int]


def _by_instruction(buffers: Sequence[Buffer], backwards: bool = False) -> Layout:
    """Instruction by instruction, forwards or backwards: buffers whose life begins get the smallest gap that fits, large ones
    first; buffers whose life ends leave a gap."""
    begins, ends = (attrgetter("last"), attrgetter("first")) if backwards else (attrgetter("first"), attrgetter("last"))
    sign = -1 if backwards else 1
    order = sorted(buffers, key=lambda buffer: (sign * begins(buffer), -size_of(buffer)))
    ending: list[tuple[int, int, Buffer]] = []
    gaps = Gaps()
    for number, buffer in enumerate(order):
        at = sign * begins(buffer)
        while ending and ending[0][0] < at:
            over = heappop(ending)[2]
            gaps.leave(over.offset, over.offset + size_of(over))
        buffer.offset = gaps.take(size_of(buffer))
        heappush(ending, (sign * ends(buffer), number, buffer))
    return Layout(gaps.end, order, [buffer.offset for buffer in order])


class Gaps:
    """The gaps below `end`, by size, by start and by stop."""

    def __init__(self) -> None:
        self.end = 0
        self.by_size: list[tuple[int, int]] = []
        self.stop_of: dict[int, int] = {}
        self.start_of: dict[int, int] = {}

    def take(self, size: int) -> int:
        """The start of the smallest gap that is large enough, or the end."""
        at = bisect_left(self.by_size, (size, 0))
        if at == len(self.by_size):
            begin = self.start_of.get(self.end, self.end)
            if begin != self.end:
                self._remove(begin, self.end)
            self.end = begin + size
            return begin
        _, begin = self.by_size[at]
        stop = self.stop_of[begin]
        self._remove(begin, stop)
        if begin + size < stop:
            self._insert(begin + size, stop)
        return begin

    def leave(self, begin: int, stop: int) -> None:
        before, after = self.start_of.get(begin), self.stop_of.get(stop)
        if before is not None:
            self._remove(before, begin)
            begin = before
        if after is not None:
            self._remove(stop, after)
            stop = after
        self._insert(begin, stop)

    def _insert(self, begin: int, stop: int) -> None:
        insort(self.by_size, (stop - begin, begin))
        self.stop_of[begin], self.start_of[stop] = stop, begin

    def _remove(self, begin: int, stop: int) -> None:
        del self.by_size[bisect_left(self.by_size, (stop - begin, begin))]
        del self.stop_of[begin], self.start_of[stop]


def _place(order: Sequence[Buffer]) -> Layout:
    """Place each buffer in turn at the lowest offset that is free in all instructions of its lifetime."""
    placed: list[tuple[int, int, int, int]] = []
    peak = 0
    for buffer in order:
        first, last, size = buffer.first, buffer.last, size_of(buffer)
        at = 0
        for begin, end in sorted([place[:2] for place in placed if place[2] <= last and first <= place[3]]):
            if begin - at >= size:
                break
            at = max(at, end)
        buffer.offset = at
        placed.append((at, at + size, first, last))
        peak = max(peak, at + size)
    return Layout(peak, order, [buffer.offset for buffer in order])
