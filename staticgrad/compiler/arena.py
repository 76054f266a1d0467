"""Where the plan's own buffers lie in one arena: buffers that are never alive together may share memory.

The live-set bound, the most bytes that are alive in any row, is what no layout can be below. Source of the layouts that
are tried: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020), greedy by size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .rows import Slot

ALIGN = 64
MANY = 1000
"""Buffers from which one layout is enough: trying one takes time by their square."""
RETRIES = 30
"""Layouts that are tried beyond those of the orders, while the bound is not met."""


def size_of(slot: Slot) -> int:
    """Bytes in the arena."""
    return -(-max(slot.nbytes, 1) // ALIGN) * ALIGN


def bound(slots: Sequence[Slot]) -> int:
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


ORDERS: tuple[Callable[[Slot], Any], ...] = (
    lambda s: (-size_of(s), s.first),
    lambda s: (s.first, -size_of(s)),
    lambda s: (-s.last, -size_of(s)),
    lambda s: (-size_of(s) * (s.last - s.first + 1), s.first),
)
"""In which buffers get their places: the large first, those of the first rows, of the last ones, the large and long first."""


def lay_out(slots: Sequence[Slot]) -> int:
    """Set the offsets; returns the bytes of the arena. The best of some orders, or of these with buffers moved to their front
    that came to lie on top; the first that meets the bound."""
    least, best = bound(slots), Layout(0, [], [])
    for key in ORDERS if len(slots) < MANY else ORDERS[:1]:
        tried = _place(sorted(slots, key=key))
        best = tried if not best.order or tried.size < best.size else best
        if best.size == least:
            break
    order: Sequence[Slot] = best.order
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
    order: Sequence[Slot]
    offsets: list[int]


def _place(order: Sequence[Slot]) -> Layout:
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
