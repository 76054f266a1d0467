"""Where the plan's own buffers lie in one arena: buffers that are never alive together may share memory.

The live-set bound, the most bytes that are alive in any row, is what no layout can be below. Source of the layouts that
are tried: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020), greedy by size.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any, NamedTuple

from .instructions import Buffer

ALIGN = 64
MANY = 1000
"""Buffers from which they get their places in the order of their rows: by size, it takes time by the square of their number."""
LOOSE, MOST = 1.15, 4 * MANY
"""How much more than the bound that may take before one layout by size is tried too, and up to how many buffers."""
RETRIES = 30
"""Layouts that are tried beyond those of the orders, while the bound is not met."""


def size_of(slot: Buffer) -> int:
    """Bytes in the arena."""
    return -(-max(slot.nbytes, 1) // ALIGN) * ALIGN


def bound(slots: Sequence[Buffer]) -> int:
    """The most bytes that are alive in one row."""
    change: dict[int, int] = {}
    for slot in slots:
        change[slot.first] = change.get(slot.first, 0) + size_of(slot)
        change[slot.last + 1] = change.get(slot.last + 1, 0) - size_of(slot)
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
"""In which buffers get their places: the large first, those of the first rows, of the last ones, the large and long first."""


def lay_out(slots: Sequence[Buffer]) -> int:
    """Set the offsets; returns the bytes of the arena. The best of some orders, or of these with buffers moved to their front
    that came to lie on top; the first that meets the bound. Of many buffers, the better of two layouts row by row."""
    least, best = bound(slots), Layout(0, [], [])
    if len(slots) >= MANY:
        best = min(_by_row(slots), _by_row(slots, backwards=True), key=lambda layout: layout.size)
    orders = ORDERS if len(slots) < MANY else ORDERS[:1] if best.size > LOOSE * least and len(slots) <= MOST else ()
    for key in orders:
        tried = _place(sorted(slots, key=key))
        best = tried if not best.order or tried.size < best.size else best
        if best.size == least:
            break
    order: Sequence[Buffer] = best.order
    retries = RETRIES if len(slots) < MANY else 0
    while best.size > least and retries:
        top = max(order, key=lambda slot: slot.offset + size_of(slot))
        order = [top, *(slot for slot in order if slot is not top)]
        tried = _place(order)
        best = tried if tried.size < best.size else best
        retries -= 1
    for slot, offset in zip(best.order, best.offsets, strict=True):
        slot.offset = offset
    return best.size


class Memory(NamedTuple):
    """Bytes of a plan's arena, and the most that are alive in one row: no arena can be smaller."""

    arena: int
    bound: int

    @property
    def ratio(self) -> float:
        return self.arena / self.bound if self.bound else 1.0


class Layout(NamedTuple):
    """Bytes of the arena, and the offsets of buffers in the order in which they were placed."""

    size: int
    order: Sequence[Buffer]
    offsets: list[int]


def _by_row(slots: Sequence[Buffer], backwards: bool = False) -> Layout:
    """Row after row, forwards or backwards: what begins there gets the smallest gap that it fits in, the large first; then what
    ends there leaves one."""
    begins, ends = (attrgetter("last"), attrgetter("first")) if backwards else (attrgetter("first"), attrgetter("last"))
    turn = -1 if backwards else 1
    order = sorted(slots, key=lambda slot: (turn * begins(slot), -size_of(slot)))
    ending: list[tuple[int, int, Buffer]] = []
    gaps = Gaps()
    for number, slot in enumerate(order):
        row = turn * begins(slot)
        while ending and ending[0][0] < row:
            over = heappop(ending)[2]
            gaps.leave(over.offset, over.offset + size_of(over))
        slot.offset = gaps.take(size_of(slot))
        heappush(ending, (turn * ends(slot), number, slot))
    return Layout(gaps.end, order, [slot.offset for slot in order])


class Gaps:
    """What is free below `end`, found by size, by where it begins and by where it ends."""

    def __init__(self) -> None:
        self.end = 0
        self.by_size: list[tuple[int, int]] = []
        self.stop_of: dict[int, int] = {}
        self.start_of: dict[int, int] = {}

    def take(self, size: int) -> int:
        """Where the smallest gap that is large enough begins; at the end there is always room."""
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
    """Give each buffer in turn the lowest place that is free in all of its rows."""
    placed: list[tuple[int, int, int, int]] = []
    peak = 0
    for slot in order:
        first, last, size = slot.first, slot.last, size_of(slot)
        at = 0
        for begin, end in sorted([place[:2] for place in placed if place[2] <= last and first <= place[3]]):
            if begin - at >= size:
                break
            at = max(at, end)
        slot.offset = at
        placed.append((at, at + size, first, last))
        peak = max(peak, at + size)
    return Layout(peak, order, [slot.offset for slot in order])
